"""Front loader with Z-bar linkage: eight bodies, three loops, two hydraulic cylinders.

The lift cylinder raises the boom. The tilt cylinder turns the bellcrank on the boom, which turns the bucket
through a link. Dimensions and masses are those of a wheel loader of the 20 t class, rounded.
(Topology: Spencer 2004, Applications of the local state-space form of constrained mechanical systems, section
4.5.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

# Points in the x-z plane [m]; the boom's pivot is the origin of the chassis, 1.9 m above the ground.
LIFT_BASE, TILT_BASE = (-0.20, -0.70), (0.25, 0.35)  # on the chassis
LIFT_PIN, CRANK_PIVOT, BUCKET_PIVOT = (1.50, -0.15), (1.60, 0.45), (2.80, 0.0)  # on the boom
CRANK_UPPER, CRANK_LOWER = 0.55, 0.60  # arms of the bellcrank, in line, along its z axis
LINK = 1.0
LINK_PIN = (-0.22, 0.31)  # on the bucket, whose x axis runs along its floor
# body: (mass [kg], centre of mass, moment of inertia in the plane [kg m²])
INERTIAS = {
    "boom": (1500.0, (1.45, 0.08), 1100.0),
    "lift_barrel": (120.0, (0.5, 0.0), 12.0),
    "lift_rod": (80.0, (-0.5, 0.0), 8.0),
    "bellcrank": (250.0, (0.0, 0.0), 30.0),
    "tilt_barrel": (90.0, (0.4, 0.0), 8.0),
    "tilt_rod": (60.0, (-0.4, 0.0), 5.0),
    "link": (60.0, (0.5, 0.0), 5.0),
    "bucket": (1100.0, (0.55, 0.25), 350.0),
}
# joint: (kind, parent, child, place on the parent)
JOINTS = {
    "boom": ("revolute", "world", "boom", (0.0, 0.0)),
    "bellcrank": ("revolute", "boom", "bellcrank", CRANK_PIVOT),
    "link": ("revolute", "bellcrank", "link", (0.0, -CRANK_LOWER)),
    "bucket": ("revolute", "boom", "bucket", BUCKET_PIVOT),
    "lift_angle": ("revolute", "world", "lift_barrel", LIFT_BASE),
    "lift": ("prismatic", "lift_barrel", "lift_rod", (0.0, 0.0)),
    "tilt_angle": ("revolute", "world", "tilt_barrel", TILT_BASE),
    "tilt": ("prismatic", "tilt_barrel", "tilt_rod", (0.0, 0.0)),
}
# closure: (body 1, point, body 2, point)
CLOSURES = {
    "lift_pin": ("boom", LIFT_PIN, "lift_rod", (0.0, 0.0)),
    "tilt_pin": ("bellcrank", (0.0, CRANK_UPPER), "tilt_rod", (0.0, 0.0)),
    "link_pin": ("bucket", LINK_PIN, "link", (LINK, 0.0)),
}


def build() -> sr.Mechanism:
    """Return the loader: angles [rad], cylinder lengths lift and tilt [m], a force on each cylinder [N].

    Positive angles lift +x towards +z and are relative to the parent. Cylinders lie along their own x axis.
    """
    mechanism = sr.Mechanism("front_loader")
    for name, (mass, (x, z), moment) in INERTIAS.items():
        mechanism.add_body(name, mass, com=(x, 0, z), inertia=(0.5 * moment, moment, moment))
    for name, (kind, parent, child, (x, z)) in JOINTS.items():
        axis = (0, -1, 0) if kind == "revolute" else (1, 0, 0)
        mechanism.add_joint(name, kind, parent, child, axis=axis, parent_pose=(x, 0, z))
    for name, (body1, (x1, z1), body2, (x2, z2)) in CLOSURES.items():
        mechanism.add_closure(
            name, "point_on_line", body1, body2, axis=(0, 1, 0), pose1=(x1, 0, z1), pose2=(x2, 0, z2)
        )
    for cylinder in ("lift", "tilt"):
        mechanism.add_actuator(cylinder, cylinder)
    return mechanism


def pose(system: sr.System, boom: float, bucket: float) -> NDArray[np.float64]:
    """Return q with the boom at an angle to the horizontal and the bucket's floor at another [rad]."""
    guess = dict.fromkeys(system.coordinate_names, 0.0)
    guess |= {"boom": boom, "bucket": bucket - boom, "bellcrank": 0.1, "link": 0.3, "lift": 1.3, "tilt": 1.6}
    guess |= {"lift_angle": boom + 0.4, "tilt_angle": boom + 0.3}
    start = [guess[name] for name in system.coordinate_names]
    return system.assemble(start, locked=["boom", "bucket"]).q


def main() -> None:
    """Visit digging, carrying and dumping poses, then let the loader sink without hydraulic pressure."""
    system = sr.System(build())
    names = list(system.coordinate_names)
    lift, tilt = names.index("lift"), names.index("tilt")
    assert len(system.mechanism.bodies) == 8
    assert len(system.mechanism.closures) == 3
    work_error = length_error = 0.0
    forces = {}
    for label, boom, bucket in (
        ("dig", -0.70, 0.0),
        ("carry", -0.55, 0.7),
        ("level", 0.0, 0.3),
        ("dump", 0.7, -0.7),
    ):
        q, rest = pose(system, boom, bucket), np.zeros(8)
        forward = system.forward_dynamics(q, rest)
        assert (forward.rank, forward.dof) == (6, 2)
        pin = sr.Pose.of(rpy=(0, -boom, 0)).apply((LIFT_PIN[0], 0, LIFT_PIN[1]))
        length = np.hypot(pin[0] - LIFT_BASE[0], pin[2] - LIFT_BASE[1])
        length_error = max(length_error, abs(q[lift] - length))
        # Virtual work: the cylinders' forces times their rates are the power against gravity.
        u = system.inverse_dynamics(q, rest, rest).u
        for direction in np.eye(8):
            v = system.project_velocity(q, direction)
            work_error = max(work_error, abs(v[[lift, tilt]] @ u - v @ system.bias_force(q, rest)))
        forces[label] = {"lift": float(u[0]), "tilt": float(u[1])}
    print(*(f"{label}: {force}" for label, force in forces.items()), sep="\n")
    assert work_error < 1e-9
    assert length_error < 1e-12
    sink = sr.simulate(system, pose(system, 0.2, 0.5), duration=0.5, dt=1e-3)
    print(sink)
    assert sink.energy_drift < 1e-4
    assert sink.residual.max() < 1e-13
    figures = {
        "forces": forces,
        "work_error": work_error,
        "length_error": length_error,
        "energy_drift": sink.energy_drift,
        "residual": float(sink.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
