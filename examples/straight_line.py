"""Peaucellier's straight-line linkage of seven massless bars, which carry one point mass on a spring.

The mass matrix of seven coordinates has rank 2: Liu et al. 2015 demand M > 0 (assumption 1). The constraints hold
every direction without inertia, N(M) ∩ N(A) = {0}, so the motion is determined all the same (Udwadia and Phohomsiri
2006): the tip moves on the line x = (L² − s²) / 2r and swings there as a mass on a spring does,

    y = c cos ω t,    ω² = k / m.

Formulations that invert M refuse; those that need M on the motions alone agree. With the pin at the tip taken out the
last bar is held by nothing, and all of them say so.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

Array = NDArray[np.float64]

CRANK, LONG, SIDE = 0.5, 1.5, 0.6  # lengths of the bars [m]
MASS, STIFFNESS, GRAVITY, SWING = 2.0, 50.0, 9.81, 0.6  # [kg, N/m, m/s², m]
LINE = (LONG**2 - SIDE**2) / (2 * CRANK)  # where the tip moves [m]
OMEGA = np.sqrt(STIFFNESS / MASS)
ANCHOR = 3.0  # height of the spring [m]
# every bar: parent, where on it, length
BARS = {
    "crank": ("world", CRANK, CRANK),
    "upper": ("world", 0.0, LONG),
    "lower": ("world", 0.0, LONG),
    "near_upper": ("crank", CRANK, SIDE),
    "near_lower": ("crank", CRANK, SIDE),
    "far_upper": ("upper", LONG, SIDE),
    "far_lower": ("lower", LONG, SIDE),
}


def build(pinned: bool = True) -> sr.Mechanism:
    """Return the linkage; not ``pinned``: the last bar hangs on one hinge."""
    m = sr.Mechanism("straight_line", gravity=(0, -GRAVITY, 0))
    for name, (parent, place, length) in BARS.items():
        if name == "far_upper":
            m.add_body(name, mass=MASS, com=(length, 0, 0), inertia=(0, 0, 0))
        else:
            m.add_body(name)
        m.add_joint(name, "revolute", parent, name, axis=(0, 0, 1), parent_pose=(place, 0, 0))
    ends = [("near_upper", "upper", LONG), ("near_lower", "lower", LONG)]
    ends += [("far_lower", "far_upper", SIDE)] if pinned else []
    for bar, other, place in ends:
        m.add_closure(f"{bar} on {other}", "point", bar, other, pose1=(SIDE, 0, 0), pose2=(place, 0, 0))
    m.add_spring_damper(
        "spring", "far_upper", "world", point1=(SIDE, 0, 0), point2=(LINE, ANCHOR, 0), stiffness=STIFFNESS,
        rest_length=ANCHOR - MASS * GRAVITY / STIFFNESS,
    )  # fmt: skip
    return m


def angles(system: sr.System, height: float) -> Array:
    """Return the coordinates with the tip at a height, from the geometry of the linkage."""
    turn = np.arctan2(height, LINE)
    inner, tip = 2 * CRANK * np.cos(turn), LINE / np.cos(turn)
    middle, half = (inner + tip) / 2, (tip - inner) / 2
    along, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    rise = np.sqrt(SIDE**2 - half**2)
    A, T = inner * along, tip * along
    B, D = middle * along + rise * across, middle * along - rise * across

    def heading(start: Array, end: Array) -> float:
        return float(np.arctan2(*(end - start)[::-1]))

    own = {
        "crank": heading(np.array([CRANK, 0.0]), A),
        "upper": heading(np.zeros(2), B),
        "lower": heading(np.zeros(2), D),
        "near_upper": heading(A, B),
        "near_lower": heading(A, D),
        "far_upper": heading(B, T),
        "far_lower": heading(D, T),
    }
    relative = [own[name] - own.get(BARS[name][0], 0.0) for name in system.coordinate_names]
    return np.array([(angle + np.pi) % (2 * np.pi) - np.pi for angle in relative])


def tip(system: sr.System, q: Array) -> Array:
    """Return the tip in the plane (2,) [m]."""
    places, turns = system.body_placements(q)
    k = list(system.mechanism.bodies).index("far_upper")
    return (places[k] + turns[k] @ [SIDE, 0, 0])[:2]


def exact(t: Array) -> Array:
    """Return the height of the tip [m] after a start at rest at `SWING`."""
    return SWING * np.cos(OMEGA * t)


def side_by_side(pinned: bool = True, height: float = SWING) -> dict[str, str]:
    """Return of every formulation whether its acceleration of the tip is −ω² y, or the status of its refusal."""
    system = sr.System(build(pinned))
    q = angles(system, height)
    v = system.project_velocity(q, np.ones(system.nv))
    point = system.jacobian(q, v, body="far_upper", point=(SIDE, 0, 0))
    matrices = (
        system.mass_matrix(q),
        system.bias_force(q, v) - system.passive_force(q, v),
        system.constraint_jacobian(q),
        system.constraint_bias(q, v),
    )
    found = {}
    for name, method in sr.formulations.METHODS.items():
        answer = method(*matrices, throw=False)
        if not answer.status.ok:
            found[name] = f"refused, {answer.status}"
            continue
        off = point.acceleration(answer.a) - [0.0, -(OMEGA**2) * height, 0.0]
        found[name] = "agrees with the closed form" if np.abs(off).max() < 1e-12 else f"off by {off}"
    return found


def main(duration: float = 10.0) -> None:
    """Let the tip swing and compare it with the closed form; count what each formulation says."""
    system = sr.System(build())
    q = angles(system, SWING)
    assert np.linalg.matrix_rank(system.mass_matrix(q)) == 2
    mobility = sr.mobility(system, q)
    assert (mobility.dof, mobility.rank, len(mobility.redundant)) == (1, 6, 3)
    motion = sr.simulate(system, q, duration=duration, rtol=1e-10)
    tips = np.array([tip(system, one) for one in motion.q])
    error, off_line = np.abs(tips[:, 1] - exact(motion.t)).max(), np.abs(tips[:, 0] - LINE).max()
    assert error < 1e-9
    assert off_line < 1e-13
    eigenvalues = sr.linearize(system, sr.equilibrium(system, q).q).eigenvalues
    assert np.allclose(np.sort(eigenvalues.imag), [-OMEGA, OMEGA], rtol=1e-9)
    loose = sr.System(build(pinned=False))
    refused = sr.simulate(loose, q, duration=duration, throw=False)
    assert refused.status is sr.Status.ILL_POSED
    assert "'far_lower'" in refused.message
    print(
        json.dumps({"error of the tip [m]": error, "off the line [m]": off_line, "frequency [rad/s]": OMEGA})
    )


if __name__ == "__main__":
    main()
