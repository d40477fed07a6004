"""Times of one cone program: the forces of a quadruped that stands on four feet with friction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from time import perf_counter
from typing import Any

import mujoco
import numpy as np
from numba import njit

import sarrus as sr
from benchmarks.clarabel_peer import clarabel_solver
from benchmarks.cone_instances import Instance
from benchmarks.models import ROOT
from benchmarks.rows import Row, conditions
from benchmarks.timing import batch, summarize
from sarrus.base.arrays import Array
from sarrus.dynamics.optimize import ConeProgram, bounds, friction_cone, stack
from sarrus.kernels.memory.cone_layout import COLD, WARM
from sarrus.kernels.platform.c_function import cone_program

try:
    from proxsuite import proxqp
except ImportError:  # no wheels for every platform
    proxqp = None

FRICTION, TORQUE, RADIUS = 0.5, 40.0, 0.02  # –, N·m, m
PUSH, CHANGE = 3.5, 0.01  # m/s², and by how much of it the right-hand sides differ
FEET = ("FL", "FR", "RL", "RR")
# Clarabel's own tolerance, and the one that ProxQP is asked for.
TOLERANCE, PROXQP = 1e-8, 1e-9
# Calls of the kernel in one batch; how far Clarabel at its tolerance may be from the answer, relative to 1 + |u|.
CALLS, AGREEMENT = 200, 1e-5


def standing(push: float) -> Instance:
    """Return torques u of least norm and forces λ = (n, t1, t2) at four feet with S u + Jᵀλ = M a + h.

    The robot stands as in its key frame and accelerates as one body, by ``push`` [m/s²] times (1, 0.6, 0).
    """
    path = ROOT / "models" / "quadruped.xml"
    system, model = sr.System(sr.load(path)), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    nv, nu = model.nv, model.nu
    contacts = []
    for foot in FEET:
        slopes = np.zeros((3, nv))
        touch = data.site(foot).xpos - np.array([0.0, 0.0, RADIUS])
        mujoco.mj_jac(model, data, slopes, None, touch, model.site(foot).bodyid[0])
        contacts.append(slopes[[2, 0, 1]])
    n = nu + 3 * len(FEET)
    acceleration = np.zeros(nv)
    acceleration[:2] = push * np.array([1.0, 0.6])
    P = np.zeros((n, n))
    P[:nu, :nu] = 2.0 * np.eye(nu)
    limit = np.concatenate([np.full(nu, TORQUE), np.full(n - nu, np.inf)])
    cones = [friction_cone(np.eye(3, n, nu + 3 * k), coefficient=FRICTION) for k in range(len(FEET))]
    A = np.hstack([system.actuation_matrix(data.qpos), np.vstack(contacts).T])
    b = system.mass_matrix(data.qpos) @ acceleration + system.bias_force(data.qpos, np.zeros(nv))
    return Instance("standing", nu, P, np.zeros(n), A, b, stack([bounds(-limit, limit), *cones]))


def speed_rows(quick: bool) -> list[Row]:
    """Return cold solves against Clarabel, warm ones against Clarabel with new data and ProxQP on pyramids."""
    repeats = 11 if quick else 61
    one, other = standing(PUSH), standing(PUSH * (1.0 + CHANGE))
    round_cones = "the same round cones on both sides"
    anew, updated = _clarabel_anew(one, other), _clarabel_updated(one, other)
    found = [
        _row("cold", one, other, "Clarabel, built anew", anew, round_cones, None, repeats),
        _row("warm", one, other, "Clarabel, built anew", anew, round_cones, 10.0, repeats),
        _row("warm", one, other, "Clarabel, updated", updated, round_cones, None, repeats),
    ]
    if proxqp is not None:
        note = f"ProxQP: cones cut to pyramids of four sides, warm, eps_abs {PROXQP:g}"
        found.append(
            _row("warm", one, other, "ProxQP, pyramids", _proxqp(one, other), note, 1.0, repeats, "proxsuite")
        )
    return found


def _row(
    start: str,
    one: Instance,
    other: Instance,
    peer: str,
    call: Callable[[], Any],
    note: str,
    target: float | None,
    repeats: int,
    package: str = "clarabel",
) -> Row:
    ours, inside = _python(one, other, start == "warm"), _kernel(one, other, start == "warm")
    python, theirs = batch(ours, 0.02), batch(call, 0.02)
    python(), inside(), theirs()
    calls, kernels, others = zip(*[(python(), inside(), theirs()) for _ in range(repeats)])
    result, kernel = summarize(calls, others), summarize(kernels, others)
    told = (
        f"{note}; 24 unknowns, 18 equations, 24 limits and 4 cones, two right-hand sides in turns that differ by "
        f"{CHANGE:.0%}; tolerance of Clarabel {TOLERANCE:g}; from Python all data are handed over at every call"
    )
    return Row(
        name=f"forces of a quadruped, {start}",
        model="quadruped",
        ours_us=result.ours_us,
        peer=peer,
        peer_us=result.peer_us,
        ratio=result.ratio,
        conditions=conditions(package, note=told, repeats=repeats),
        at_least=target,
        extra={"bare_us": kernel.ours_us, "bare_ratio": kernel.ratio},
    )


def _program(one: Instance) -> ConeProgram:
    return ConeProgram(len(one.q), equalities=len(one.b), linear=one.rows.linear, cones=one.rows.cones)


def _python(one: Instance, other: Instance, warm: bool) -> Callable[[], Any]:
    """Return a function that solves both by `ConeProgram.solve`, in turns."""
    solver, turns = _program(one), cycle((one, other))

    def run() -> Any:
        p = next(turns)
        return solver.solve(p.P, p.q, p.rows.G, p.rows.h, p.A, p.b, warm=warm)

    return run


def _kernel(one: Instance, other: Instance, warm: bool) -> Callable[[], float]:
    """Return a function that solves both in turns in compiled code: seconds for one."""
    solver = _program(one)
    solver.solve(one.P, one.q, one.rows.G, one.rows.h, one.A, one.b)
    right = np.vstack([one.b, other.b])

    def run() -> float:
        began = perf_counter()
        _call_many(
            cone_program.entry, solver._table, solver._parts["b"], right, WARM if warm else COLD, CALLS
        )
        return (perf_counter() - began) / CALLS

    return run


@njit
def _call_many(
    function: Callable[..., int], table: Array, place: Array, right: Array, what: int, count: int
) -> None:
    for k in range(count):
        place[:] = right[k % 2]
        function(table.ctypes, place.ctypes, what)


def _clarabel_anew(one: Instance, other: Instance) -> Callable[[], Any]:
    turns = cycle((one, other))
    return lambda: clarabel_solver(next(turns), TOLERANCE).solve()


def _clarabel_updated(one: Instance, other: Instance) -> Callable[[], Any]:
    """Return a function that gives one solver the right-hand sides in turns; it has no warm start."""
    solver = clarabel_solver(one, TOLERANCE, updates=True)
    turns = cycle([np.concatenate([p.b, p.rows.h]) for p in (one, other)])

    def run() -> Any:
        solver.update(b=next(turns))
        return solver.solve()

    _agree(one, np.array(clarabel_solver(one, TOLERANCE).solve().x))
    _agree(one, np.array(run().x))
    return run


def _proxqp(one: Instance, other: Instance) -> Callable[[], Any]:
    """Return a function that solves both in turns with |t1|, |t2| ≤ μ n, warm from the one before."""
    rows, n = one.rows, len(one.q)
    sides = [np.eye(n)[: one.controls]]
    for k in range(len(rows.cones)):
        normal, first, second = np.eye(3, n, one.controls + 3 * k)
        sides.append(
            np.vstack([sign * t - FRICTION * normal for t in (first, second) for sign in (1.0, -1.0)])
        )
    C, count = np.vstack(sides), 4 * len(rows.cones)
    upper = np.concatenate([np.full(one.controls, TORQUE), np.zeros(count)])
    lower = np.concatenate([np.full(one.controls, -TORQUE), np.full(count, -1e20)])
    solver = proxqp.dense.QP(n, len(one.b), len(C))
    solver.settings.eps_abs = PROXQP
    solver.init(one.P, one.q, one.A, one.b, C, lower, upper)
    solver.solve()  # without a result before, the warm start of ProxQP 0.8 reads memory that is not its own
    solver.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
    turns = cycle((one, other))

    def run() -> Any:
        solver.update(b=next(turns).b)
        solver.solve()
        return solver.results.x

    x = run().copy()
    if not (np.abs(one.A @ x - one.b).max() < 1e-6 and (C @ x <= upper + 1e-6).all()):
        raise RuntimeError("ProxQP did not solve the program with pyramids")
    return run


def _agree(program: Instance, x: Array) -> None:
    """Raise where Clarabel's torques differ from ours."""
    p, nu = program, program.controls
    u = _program(p).solve(p.P, p.q, p.rows.G, p.rows.h, p.A, p.b).x[:nu]
    difference = float(np.abs(u - x[:nu]).max() / (1.0 + np.abs(u).max()))
    if not difference < AGREEMENT:
        raise RuntimeError(f"standing quadruped: sarrus and Clarabel differ by {difference:.1e}")
