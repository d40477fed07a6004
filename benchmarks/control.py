"""Control laws: one call from Python, one evaluation in the kernel, against the same laws in NumPy and TSID."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import casadi as ca
import numpy as np

import sarrus as sr
from benchmarks.kernel import law_batch
from benchmarks.models import Case, case
from benchmarks.numpy_law import NumpyLaw
from benchmarks.rows import Row, conditions
from benchmarks.timing import batch, summarize
from sarrus import control
from sarrus.base.arrays import Array

try:
    from benchmarks.tsid_peer import TsidPeer
except ImportError:  # its wheels go with few versions of Pinocchio, such as tsid 1.7.1 with pin 3.4.0
    TsidPeer = None

AGREEMENT = 1e-8
TIME, DT = 0.3, 1e-3  # s


def laws(c: Case) -> dict[str, control.Law]:
    """Return the laws that are compared on a mechanism, each about something that its actuators reach."""
    s, name = c.system, c.mechanism.name
    if name == "three_leg_platform":
        coordinates, body, axes = ["platform.x", "platform.y", "platform.angle"], "platform", "xy"
        tasks = [control.Task(control.point(body, axes=axis), _swing(1)) for axis in axes]
        motors = s.actuator_names
        held, forces = coordinates[:2], {"leg1.p1": 5.0}
    else:
        coordinates = ["FL_roll", "FL_pitch", "FL_knee", "FR_pitch", "FR_knee", "RL_knee"]
        body, axes, motors = "trunk", "xyz", coordinates
        tasks = [
            control.Task(control.point(body), _swing(3)),
            control.Task(control.orientation(body, "z"), _swing(1)),
        ]
        held, forces = coordinates, {"FL_foot.x": 5.0, "FL_foot.z": 40.0}
    size = len(coordinates)
    place = control.point(body, axes=axes)
    return {
        "ProjectedInverseDynamics": control.ProjectedInverseDynamics(s, coordinates, _swing(size)),
        "OperationalSpaceTracking": control.OperationalSpaceTracking(s, place, _swing(len(axes))),
        "HybridMotionForce": control.HybridMotionForce(s, held, _swing(len(held)), forces),
        "ServoConstraint": control.ServoConstraint(
            s, lambda q, t: _pick(s, q, coordinates) - _swing(size)(t)
        ),
        "TaskHierarchy": control.TaskHierarchy(s, tasks),
        "Regulator": control.Regulator(s, place, np.zeros(len(axes)), stiffness=500.0, damping=5.0),
        "ComputedTorque": control.ComputedTorque(s, coordinates, _swing(size), actuators=motors),
    }


def rows(quick: bool) -> list[Row]:
    """Return a row for each law, model and peer, and the wall time of a second in closed loop."""
    repeats = 11 if quick else 61
    found = [
        _against_numpy(name, model, law, repeats)
        for model in ("platform", "quadruped")
        for name, law in laws(case(model)).items()
    ]
    if TsidPeer is not None:
        found.append(_against_tsid(repeats))
    return [*found, _second(repeats, None), _second(repeats, DT)]


def _against_numpy(name: str, model: str, law: control.Law, repeats: int) -> Row:
    c, peer = case(model), NumpyLaw(law)
    difference = _difference(law(c.q, c.v, TIME), peer(c.q, c.v, TIME), f"{name} of {model}")
    note = (
        f"same state, model terms from the same compiled function, controls agree to {difference:.0e} relative; "
        "NumPy: full rank taken for granted, nothing diagnosed"
    )
    if TsidPeer is None:
        note += "; TSID is not compared, for want of a build that goes with this version of Pinocchio"
    told = conditions("numpy", note=note, repeats=repeats)
    return _compare(name, model, law, "NumPy by hand", lambda: peer(c.q, c.v, TIME), told, repeats)


def _against_tsid(repeats: int) -> Row:
    """Return control of place and orientation of the quadruped's trunk against TSID's quadratic programme."""
    c, stiffness, damping = case("quadruped"), 100.0, 20.0
    place = c.q[:3] + np.array([0.02, -0.01, 0.03])
    tasks = [
        control.Task(control.point("trunk"), place, stiffness, damping),
        control.Task(control.orientation("trunk"), np.zeros(3), stiffness, damping),
    ]
    law = control.TaskHierarchy(c.system, tasks)
    peer = TsidPeer(c.mechanism, "trunk", place, stiffness, damping)
    call = peer.control(c.q, c.v)
    call()
    wanted = c.system.forward_dynamics(c.q, c.v, law(c.q, c.v), contacts=False).a
    difference = _difference(wanted, peer.acceleration(), "the quadruped's trunk")
    note = (
        f"same state and gains, accelerations agree to {difference:.0e} relative; feet pinned; TSID: contacts and the "
        "trunk's motion as equalities, forces of the ground of least norm, SolverHQuadProgFast"
    )
    told = conditions("tsid", "pin", note=note, repeats=repeats)
    return _compare("TaskHierarchy, trunk", "quadruped", law, "TSID", call, told, repeats)


def _difference(ours: Array, theirs: Array, what: str) -> float:
    difference = float(np.abs(ours - theirs).max() / (1.0 + np.abs(ours).max()))
    if not difference < AGREEMENT:
        raise RuntimeError(f"{what}: sarrus and its peer differ by {difference:.1e}")
    return difference


def _compare(
    name: str, model: str, law: control.Law, peer: str, call: Callable[[], object], told: str, repeats: int
) -> Row:
    c = case(model)
    ours, inside, theirs = (
        batch(lambda: law(c.q, c.v, TIME)),
        law_batch(law, c.q, c.v, TIME, 2000),
        batch(call),
    )
    ours(), inside(), theirs()
    calls, kernels, others = zip(*[(ours(), inside(), theirs()) for _ in range(repeats)])
    result, kernel = summarize(calls, others), summarize(kernels, others)
    return Row(
        name=name,
        model=model,
        ours_us=result.ours_us,
        peer=peer,
        peer_us=result.peer_us,
        ratio=result.ratio,
        conditions=told,
        at_least=1.0,
        extra={"kernel_us": kernel.ours_us, "kernel_ratio": kernel.ratio},
    )


def _second(repeats: int, sample_time: float | None) -> Row:
    """Return one second of the platform in closed loop, from the call to the trajectory."""
    c = case("platform")
    names = ["platform.x", "platform.y", "platform.angle"]
    law = control.ProjectedInverseDynamics(
        c.system, names, lambda t: ca.vertcat(0.05 * ca.cos(3 * t), -0.03, 0.2)
    )

    def run() -> tuple[float, float]:
        began = perf_counter()
        motion = sr.simulate(
            c.system, c.q, duration=1.0, dt=DT, control=law, sample_time=sample_time, progress=False
        )
        return perf_counter() - began, motion.wall_seconds

    run()
    whole, loop = zip(*[run() for _ in range(repeats)])
    held = "once per step, held" if sample_time else "at every stage of RK4"
    note = (
        f"ProjectedInverseDynamics, evaluated {held}; RK4 at 1 kHz, projected, every step recorded; from the call of "
        "sr.simulate to its Trajectory"
    )
    return Row(
        name=f"second in closed loop{', sampled' if sample_time else ''}",
        model="platform",
        ours_us=1e6 * float(np.median(whole)),
        conditions=conditions(note=note, repeats=repeats),
        within_us=1e4,
        extra={"kernel_us": 1e6 * float(np.median(loop))},
    )


def _swing(size: int) -> Callable[[ca.SX], ca.SX]:
    """Return a smooth reference of ``size`` entries."""
    return lambda t: ca.vertcat(*[0.1 * ca.sin((k + 1) * t) for k in range(size)])


def _pick(system: sr.System, q: ca.SX, names: list[str]) -> ca.SX:
    return ca.vertcat(*[q[system.coordinate_names.index(name)] for name in names])
