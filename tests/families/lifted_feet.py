"""Feet of a biped that are lifted in random states, under a law that hands them over, against a cone program.

With the left foot closed and open the controls have to be the same at the instant of the switch. Where tasks and
hand-over can be met inside the friction cone of the right foot they have to be those of least norm, as Clarabel finds
them; else the law has to name what it misses. `python tests/families/lifted_feet.py --cases 500` prints what came out.
"""

from __future__ import annotations

import argparse
import sys
from functools import lru_cache
from pathlib import Path

import clarabel
import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parent))

from handed_over import AT, RAMP, SAME, Count, report

import sarrus as sr
from sarrus import control
from sarrus.base.status import Status
from sarrus.symbolic.equations.equations import anchor_parameter

FRICTION, HEIGHT = 0.3, 0.92
# Controls that agree where a task is relaxed along a cone: 1e-12 of a cost is 1e-6 of a direction there.
RELAXED = 1e-7


def biped() -> tuple[sr.System, np.ndarray]:
    """A planar trunk on two legs of two links, motors at all four joints."""
    m = sr.Mechanism("biped", gravity=(0, 0, -9.81))
    m.add_body("trunk", 6.0, inertia=(0.2, 0.2, 0.2))
    m.add_joint("base", "planar", "world", "trunk", axis=(0, -1, 0), axis2=(1, 0, 0))
    for side, at in (("left", -0.1), ("right", 0.1)):
        for part, parent, where in (("thigh", "trunk", (at, 0, 0)), ("shank", f"{side}_thigh", (0.5, 0, 0))):
            m.add_body(f"{side}_{part}", 1.0, com=(0.25, 0, 0), inertia=(1e-3, 0.02, 0.02))
            joint = f"{side}_{part}"
            m.add_joint(joint, "revolute", parent, joint, axis=(0, -1, 0), parent_pose=where)
            m.add_actuator(joint, joint)
        m.add_contact(side, f"{side}_shank", (0.5, 0, 0), friction_coefficient=FRICTION)
    m.add_coupling("lock", {"left_shank": 1.0}, active=False)
    q = np.array([0.0, 0.0, 0.0, -1.2, -0.7, -1.9, 0.7])
    q[1] = 0.5 * (np.sin(1.2) + np.sin(1.9))
    return sr.System(m), q


def least_on_one_foot(
    system: sr.System, q: np.ndarray, v: np.ndarray, wanted: dict[int, float]
) -> tuple[np.ndarray, bool]:
    """Return the least u with accelerations ``wanted``, both feet at rest and the left one without a force, by
    Clarabel, and whether there is one."""
    system.parameters.update(
        {f"{what}.{side}": 1.0 for what in ("active", "stick") for side in ("left", "right")}
    )
    nv, nu = system.nv, system.nu
    M, S = system.mass_matrix(q), system.actuation_matrix(q)
    J, gamma = system.constraint_jacobian(q, v), system.constraint_bias(q, v)
    right = [system.constraint_names.index(f"right.{row}") for row in ("n", "t1", "t2")]
    force = system.passive_force(q, v, 0.0) - system.bias_force(q, v)
    live = [k for k in range(len(J)) if np.abs(J[k]).max() > 1e-12]
    rows = np.zeros((len(wanted), nv + nu + 3))
    rows[np.arange(len(wanted)), list(wanted)] = 1.0
    equal = np.vstack(
        [np.hstack([M, -S, -J[right].T]), np.hstack([J[live], np.zeros((len(live), nu + 3))]), rows]
    )
    cone = np.zeros((3, nv + nu + 3))
    cone[0, nv + nu], cone[1, nv + nu + 1], cone[2, nv + nu + 2] = -FRICTION, -1.0, -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(np.concatenate([np.zeros(nv), np.ones(nu), np.full(3, 1e-9)]))),
        np.zeros(nv + nu + 3), sparse.csc_matrix(np.vstack([equal, cone])),
        np.concatenate([force, -gamma[live], list(wanted.values()), np.zeros(3)]),
        [clarabel.ZeroConeT(len(equal)), clarabel.SecondOrderConeT(3)], settings,
    ).solve()  # fmt: skip
    x = np.array(solved.x)
    met = np.abs(equal @ x - np.concatenate([force, -gamma[live], list(wanted.values())])).max() < 1e-6
    return x[nv : nv + nu], bool(met and "Infeasible" not in str(solved.status))


@lru_cache
def walker() -> tuple[sr.System, np.ndarray, tuple[control.Law, control.Law]]:
    """Return the biped with laws that lift its left foot, after their task and before it."""
    system, q = biped()
    laws = tuple(
        control.LeggedController(
            system,
            [control.Task("base.angle", 0.0, 40.0, 12.0, name="upright"),
             control.Task("base.y", HEIGHT, 4.0, 4.0, name="height")], sense=False,
            largest_force=500.0, hand_overs=[control.HandOver("left", AT, RAMP, before_tasks=before)],
        )
        for before in (False, True)
    )  # fmt: skip
    return system, q, (laws[0], laws[1])


def feet(number: int, count: Count) -> None:
    """Lift a foot in a random state: the law with the foot closed and open, against a cone program."""
    system, stand, laws = walker()
    rng = np.random.default_rng(number)
    system.parameters.update(
        {f"{what}.{side}": 1.0 for what in ("active", "stick") for side in ("left", "right")}
    )
    start = stand + np.array([0.0, 0.0, 0.1, 0.15, 0.15, 0.15, 0.15]) * rng.standard_normal(7)
    anchors = zip(map(anchor_parameter, system.constraint_names), system.constraint_residual(start))
    values = system.parameters
    values.update({name: values[name] + float(x) for name, x in anchors if name in values})
    closed = system.assemble(start, throw=False)
    if closed.status is not Status.OK:
        count.refused += 1
        return
    q = np.array(closed.q)
    v = np.array(system.project_velocity(q, 0.2 * rng.standard_normal(7)))
    wanted = {2: -40.0 * q[2] - 12.0 * v[2], 1: 4.0 * (HEIGHT - q[1]) - 4.0 * v[1]}
    for k, law in enumerate(laws):
        label, u, missed = f"feet {number}, {k}", [], set()
        for on in (1.0, 0.0):
            law.settings["left.closed"] = on
            told = law.solve(q, v, AT, throw=False)
            u.append(told.u)
            missed |= set(told.missed) | ({told.outcome} & {"damped", "infeasible"})
        least, possible = least_on_one_foot(system, q, v, wanted if k == 0 else {})
        count.asked += 1
        count.possible += possible
        size = 1.0 + max(np.abs(x).max() for x in u)
        jump = float(np.abs(u[1] - u[0]).max()) / size
        if jump <= (RELAXED if missed else SAME):
            count.continuous += 1
            count.largest = max(count.largest, 0.0 if missed else jump)
            if possible and not missed and np.abs(u[0] - least).max() > 1e-4 * size and k == 0:
                count.wrong.append(f"{label}: not the least, {u[0]} for {least}")
        elif any(name.startswith("left") or name in ("damped", "infeasible") for name in missed):
            count.named += 1
            if possible:
                count.needless.append(f"{label}: jump {jump:.2g} though possible, missed {sorted(missed)}")
        else:
            count.wrong.append(f"{label}: jump {jump:.2g}, missed {sorted(missed)}")


def main() -> None:
    """Do as many cases as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    count = Count()
    for number in range(parser.parse_args().cases):
        feet(number, count)
    print("\n".join(report(count)))


if __name__ == "__main__":
    main()
