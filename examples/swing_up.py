"""Swing-up of the five-bar by optimal control: two weak motors, a loop that stays closed, IPOPT.

The mechanism of `models/five_bar.xml` hangs at rest and is to stand upright. At full torque all the way its motors
would do less work than the climb takes, so it has to swing, and the long links have to fold over each other on the way,
where the motors alone do not determine the motion.

Direct multiple shooting with the controls held over N intervals. A step is what `sr.simulate` does: Runge–Kutta with
the constrained dynamics, then a projection onto the constraints, with μ and ν as unknowns of the optimisation,

    q⁺ = q̃ + Aᵀ(q⁺) μ,  φ(q⁺) = 0,      v⁺ = ṽ + Aᵀ(q⁺) ν,  A(q⁺) v⁺ = 0.

They are as small as the error of Runge–Kutta, and must be told so: free ones would carry the linkage to the
other side in one interval. `system.to_casadi("forward_dynamics")` has an answer wherever the loop has full rank; the
one configuration where it does not, all links on the ground line, lies away from this motion.

The result is replayed in the simulator, once open loop and once with the feedback of the discrete Riccati
equation along the motion, whose linear models are those of the whole mechanism (Spencer 2004, equation (4.4)), so that
no coordinates need to be chosen which would fail on the way.
"""

from __future__ import annotations

import json
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import expm

import sarrus as sr

Array = NDArray[np.float64]

MODEL = Path(__file__).resolve().parent.parent / "models" / "five_bar.xml"
LIMIT = 35.0  # N m, of each motor
DURATION, INTERVALS, SUBSTEPS = 2.5, 50, 2
STEP = DURATION / INTERVALS
SMALL = 0.01  # bound of μ and ν
# A rough idea of the motion, in degrees: swing back, come up, fold the long links over each other.
SKETCH = [(-126, 83, -156, 83), (0, -72, 0, -108), (60, -30, 120, -90)]


def step_function(system: sr.System) -> ca.Function:
    """Return (q, v, u) → (q̃, ṽ), Runge–Kutta of order four with u held."""
    dynamics = system.to_casadi("forward_dynamics")
    q, v, u = (ca.SX.sym(name, size) for name, size in (("q", system.nq), ("v", system.nv), ("u", system.nu)))

    def rate(x: ca.SX) -> ca.SX:
        answer = dynamics(q=x[: system.nq], v=x[system.nq :], u=u)
        return ca.vertcat(answer["rate"], answer["a"])

    x, h = ca.vertcat(q, v), STEP / SUBSTEPS
    for _ in range(SUBSTEPS):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return ca.Function("step", [q, v, u], [x[: system.nq], x[system.nq :]])


def sketch(system: sr.System, start: Array, end: Array) -> tuple[Array, Array]:
    """Return closed configurations and admissible velocities along the sketch."""
    knots = np.array([start, *np.radians(SKETCH), end])
    spline = CubicSpline(np.linspace(0.0, DURATION, len(knots)), knots, bc_type="clamped")
    q = np.array([system.assemble(at).q for at in spline(np.linspace(0.0, DURATION, INTERVALS + 1))])
    v = np.array([system.project_velocity(at, rate) for at, rate in zip(q, np.gradient(q, STEP, axis=0))])
    return q, v


def optimise(system: sr.System, start: Array, end: Array) -> tuple[Array, Array, Array, int]:
    """Return q (N + 1, nq), v (N + 1, nv), u (N, nu) of least ∫ u², and the number of iterations."""
    n, step = INTERVALS, step_function(system)
    residual, jacobian = system.to_casadi("constraint_residual"), system.to_casadi("constraint_jacobian")
    rows = [i for i, name in enumerate(system.constraint_names) if name != "tips.y"]  # the loop is planar
    problem = ca.Opti()
    q, v = problem.variable(system.nq, n + 1), problem.variable(system.nv, n + 1)
    effort = problem.variable(system.nu, n)  # u / LIMIT
    shift, kick = problem.variable(len(rows), n), problem.variable(len(rows), n)  # μ, ν
    reached_q, reached_v = step.map(n)(q[:, :-1], v[:, :-1], LIMIT * effort)
    for k in range(n):
        A = jacobian(q=q[:, k + 1])["constraint_jacobian"][rows, :]
        problem.subject_to(q[:, k + 1] == reached_q[:, k] + A.T @ shift[:, k])
        problem.subject_to(v[:, k + 1] == reached_v[:, k] + A.T @ kick[:, k])
        problem.subject_to(residual(q=q[:, k + 1])["constraint_residual"][rows] == 0)
        problem.subject_to(A @ v[:, k + 1] == 0)
    problem.subject_to(q[:, 0] == start)
    problem.subject_to(v[:, 0] == 0)
    # The end lies on the loop already: as many conditions as there are degrees of freedom.
    for index in map(system.coordinate_names.index, ("left", "right")):
        problem.subject_to(q[index, n] == end[index])
        problem.subject_to(v[index, n] == 0)
    for bounded, most in ((effort, 1.0), (shift, SMALL), (kick, SMALL)):
        problem.subject_to(problem.bounded(-most, ca.vec(bounded), most))
    problem.minimize(STEP * ca.sumsqr(effort) + 1e-4 * ca.sumsqr(effort[:, 1:] - effort[:, :-1]))
    for variable, values in zip((q, v), sketch(system, start, end)):
        problem.set_initial(variable, values.T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 300})
    solution = problem.solve()
    values = (solution.value(variable).T for variable in (q, v, LIMIT * effort))
    return *values, solution.stats()["iter_count"]


def feedback(system: sr.System, q: Array, v: Array, u: Array) -> Array:
    """Return gains (N, nu, 2 nv) of the discrete regulator along the motion, for deviations (δq, δv)."""
    cost = 100.0 * np.eye(2 * system.nv)
    gains = []
    for k in reversed(range(INTERVALS)):
        model = sr.linearize_at(system, q[k], v[k], u[k])
        allowed = model.tangent @ np.linalg.pinv(model.tangent)
        n, nu = model.A_full.shape[0], system.nu
        block = np.zeros((n + nu, n + nu))
        block[:n] = np.hstack([model.A_full, model.tangent @ model.B])
        step = expm(STEP * block)[:n]
        A, B = step[:, :n] @ allowed, step[:, n:]
        gain = np.linalg.solve(np.eye(nu) / LIMIT**2 + B.T @ cost @ B, B.T @ cost @ A)
        cost = STEP * np.eye(n) + A.T @ cost @ (A - B @ gain)
        gains.append(gain)
    return np.array(gains[::-1])


def main() -> None:
    """Optimise, then replay the controls in the simulator."""
    mechanism = sr.load(MODEL)
    system = sr.System(mechanism)
    start = np.array(sr.equilibrium(system, -mechanism.keyframes["symmetric"].q, stable=True).q)  # it hangs
    end = -start  # it stands: the mirror image
    climb = system.potential_energy(end) - system.potential_energy(start)
    at_full_torque = LIMIT * np.abs(end - start)[[0, 2]].sum()
    assert not sr.equilibrium(system, end).stable
    assert at_full_torque < climb

    q, v, u, iterations = optimise(system, start, end)
    closure = max(np.abs(system.constraint_residual(at)).max() for at in q)
    away = min(np.linalg.svd(system.constraint_jacobian(at), compute_uv=False)[1] for at in q)
    print(f"{iterations} iterations, climb {climb:.0f} J, |u| ≤ {np.abs(u).max():.1f} N m, σ ≥ {away:.2f}")
    assert np.abs(u).max() < LIMIT * (1 + 1e-6)
    assert closure < 1e-7
    assert away > 0.3

    gains = feedback(system, q, v, u)

    def replay(closed_loop: float) -> sr.Trajectory:
        def control(q_now: Array, v_now: Array, t: float) -> Array:
            k = min(round(t / STEP), INTERVALS - 1)
            deviation = np.concatenate([q_now - q[k], v_now - v[k]])
            return np.clip(u[k] - closed_loop * gains[k] @ deviation, -LIMIT, LIMIT)

        return sr.simulate(system, start, duration=DURATION, dt=1e-3, control=control, sample_time=STEP)

    alone, held = replay(0.0), replay(1.0)
    error = {name: np.abs(run.q[::50] - q).max(axis=1) for name, run in (("open", alone), ("closed", held))}
    print(held, {name: f"{values[-1]:.1e} rad at the end" for name, values in error.items()})
    assert held.residual.max() < 1e-12
    assert np.abs(held.u).max() <= LIMIT
    assert error["closed"].max() < 2e-3
    assert error["closed"][-1] < 5e-4
    assert np.abs(held.v[-1]).max() < 5e-3
    assert error["open"][-1] < 0.3  # the way up is unstable: small errors grow without feedback
    figures = {
        "climb": climb,
        "work_at_full_torque": float(at_full_torque),
        "largest_torque": float(np.abs(held.u).max()),
        "closure_of_the_optimum": float(closure),
        "end_error": float(error["closed"][-1]),
        "end_error_open_loop": float(error["open"][-1]),
        "residual": float(held.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
