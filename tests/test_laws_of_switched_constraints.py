"""Laws go by the constraints that hold now, whatever was called before: from Python, in runs, from C and CasADi."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

sys.path.insert(0, str(Path(__file__).parent / "families"))

import switched_laws as family

import sarrus as sr
from c_code import Compiled
from sarrus import control
from sarrus.base.status import Status
from sarrus.dynamics.impacts.activity import active
from sarrus.export import c_code

ARM_AT = np.array([0.3, 0.2, 0.1])
GOAL = np.array([1.0, -0.5])
BRAKED = sr.Switching({"brake": [(0.5, np.inf)]})


def arm(**limits: object) -> tuple[sr.System, control.Law]:
    """A system of its own, so that nothing was called before, and its law."""
    system = sr.System(family.arm().system.mechanism)
    return system, control.ProjectedInverseDynamics(
        system, ["l0_joint", "l1_joint"], GOAL, stiffness=25.0, damping=10.0, **limits
    )


def demanded(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return what PD control of the first two joints asks for."""
    return 25.0 * (GOAL - q[..., :2]) - 10.0 * v[..., :2]


@pytest.mark.parametrize("sampled", [{}, {"sample_time": 0.01}])
@pytest.mark.parametrize("limits", [{}, {"limits": (-1e3, 1e3)}])
def test_a_brake_that_comes_on_in_a_run_is_known_to_the_law(sampled, limits):
    system, law = arm(**limits)
    run = sr.simulate(
        system, ARM_AT, duration=1.0, dt=1e-3, every=10, control=law, switching=BRAKED, **sampled
    )
    assert np.ptp(run.q[run.t > 0.5, 2]) < 1e-12
    if not sampled:
        assert_allclose(run.a[:, :2], demanded(run.q, run.v), rtol=0, atol=1e-9 * np.abs(run.a).max())
    else:  # what is held is of this sample, or of that before it
        other, fresh = arm(**limits)
        other.parameters["active.brake"] = 1.0
        for k in range(60, 100):
            asked = [fresh(run.q[j], run.v[j]) - run.u[k] for j in (k - 1, k)]
            assert min(np.abs(x).max() for x in asked) < 1e-6
    law(ARM_AT, np.zeros(3))
    again = sr.simulate(
        system, ARM_AT, duration=1.0, dt=1e-3, every=10, control=law, switching=BRAKED, **sampled
    )
    assert_array_equal(again.q, run.q)


def test_one_law_follows_brake_and_clutch_as_they_come_and_go():
    system, law = arm()
    rng = np.random.default_rng(0)
    for on in ("00", "10", "01", "00", "01", "10"):
        for name, bit in zip(("brake", "clutch"), on):
            system.parameters[f"active.{name}"] = float(bit)
        v = system.project_velocity(ARM_AT, rng.standard_normal(3))
        for u in (law(ARM_AT, v), law.sample(ARM_AT, v, 0.0, 1e-3)):
            a = system.forward_dynamics(ARM_AT, v, u).a
            assert_allclose(a[:2], demanded(ARM_AT, v), rtol=0, atol=1e-9 * np.abs(a).max())


def test_a_law_that_knows_another_model_keeps_to_its_own():
    system, _ = arm()
    _, other = arm()
    run = sr.simulate(
        system, ARM_AT, duration=0.6, dt=1e-3, control=other, switching=BRAKED, error_estimate=False
    )
    late = run.t > 0.51
    assert np.abs(run.a[late, :2] - demanded(run.q, run.v)[late]).max() > 1.0


def test_rollouts_have_the_constraints_that_hold():
    system, law = arm()
    for holds in (0.0, 1.0, 0.0):
        system.parameters.update({"active.brake": holds, "anchor.brake": ARM_AT[2] * holds})
        many = sr.rollout(system, [ARM_AT] * 2, np.zeros(3), duration=0.2, dt=1e-3, control=law, threads=1)
        system_too, anew = arm()
        system_too.parameters.update(system.parameters)
        one = sr.simulate(
            system_too, ARM_AT, duration=0.2, dt=1e-3, control=anew, every=200, error_estimate=False
        )
        assert_allclose(many.q[:, -1], [one.q[-1]] * 2, rtol=0, atol=1e-12)


def test_c_and_casadi_follow_the_brake(tmp_path):
    system, law = arm()
    functions = ("law", "forward_dynamics", "inverse_dynamics", "step")
    code = Compiled(c_code(law, tmp_path, functions, q=ARM_AT), system)
    traced = system.to_casadi("forward_dynamics", rows="independent", q=ARM_AT)
    rng = np.random.default_rng(1)
    for holds in (0.0, 1.0, 0.0, 1.0):
        system.parameters.update({"active.brake": holds, "anchor.brake": ARM_AT[2] * holds})
        code.assign(system.parameters.values())
        v = np.array(system.project_velocity(ARM_AT, rng.standard_normal(3)))
        u = np.zeros(2)
        assert code.call("law", ARM_AT.copy(), v, 0.0, u) == Status.OK
        own = system.forward_dynamics(ARM_AT, v, u)
        assert_allclose(own.a[:2], demanded(ARM_AT, v), rtol=0, atol=1e-9 * np.abs(own.a).max())
        got = code.forward_dynamics(ARM_AT, v, u)
        assert (got.status, got.rank) == (Status.OK, int(holds))
        assert_allclose(got.a, own.a, rtol=0, atol=1e-11 * np.abs(own.a).max())
        expressed = traced(q=ARM_AT, v=v, u=u, p=list(system.parameters.values()))
        assert_allclose(np.ravel(expressed["a"]), own.a, rtol=0, atol=1e-11 * np.abs(own.a).max())
        back = np.zeros(2)
        assert code.call("inverse_dynamics", ARM_AT.copy(), v, own.a.copy(), 0.0, back) == Status.OK
        assert_allclose(back, u, rtol=0, atol=1e-9 * np.abs(u).max())


@pytest.mark.parametrize("number", range(6))
def test_rows_that_straight_lines_choose_follow_what_holds(number):
    own = family.machine(number)
    system, rng = own.system, np.random.default_rng(number)
    system.parameters.update({f"active.{name}": 0.0 for name in active(system)})
    traced = system.to_casadi("forward_dynamics", rows="independent", q=own.q)
    for _ in range(6):
        found = family.state(own, rng)
        assert found is not None
        q, v = found
        u = rng.standard_normal(system.nu)
        want = system.forward_dynamics(q, v, u)
        got = traced(q=q, v=v, u=u, p=list(system.parameters.values()))
        for name, size in (("a", want.a), ("constraint_force", want.constraint_force)):
            assert_allclose(np.ravel(got[name]), size, rtol=0, atol=1e-10 * (1.0 + np.abs(size).max()))


def test_straight_lines_of_other_constraints_than_hold_are_no_numbers():
    system, _ = arm()
    named = system.to_casadi("forward_dynamics", rows=[], q=ARM_AT)
    reduced = system.to_casadi("reduced_dynamics", q=ARM_AT, rows=[])
    system.parameters["active.brake"] = 1.0
    p = list(system.parameters.values())
    assert not np.isfinite(np.array(named(q=ARM_AT, p=p)["a"])).any()
    assert not np.isfinite(np.array(reduced(q=ARM_AT, p=p)["yddot"])).any()


def test_histories_of_switches():
    count = family.Count()
    for number in range(12):
        family.history(number, 2, count, from_c=False)
    assert count.met > 100
    assert not count.wrong
    assert not count.needless


@pytest.mark.parametrize(
    "limits", [{}, {"limits": (-5, 5)}, {"limits": (-5, 5), "relaxation": 10.0}, {"limits": (-100, 100)}]
)
def test_what_is_no_number_leaves_nothing_behind(limits):
    _, law = arm(**limits)
    rest, said = np.zeros(3), ""
    right = law(ARM_AT, rest)
    for bad in (np.nan, np.inf, 1e300, 1e160, 1e60, 1e30, 1e15, 1e11, 1e8, 1e5):
        for q, v in ((ARM_AT, [bad, 0, 0]), ([bad, 0, 0], rest)):
            for call in (law, lambda q, v: law.sample(q, v, 0.0, 1e-3)):
                try:
                    call(np.array(q), np.array(v))
                except sr.SarrusError as error:
                    said += str(error)
                assert_allclose(law(ARM_AT, rest), right, rtol=0, atol=1e-6)  # of the cone program
    assert "mass matrix" not in said
    assert "contradict" not in said


def test_references_that_are_no_numbers_are_named():
    system, _ = arm()
    law = control.ProjectedInverseDynamics(
        system, ["l0_joint", "l1_joint"], lambda t: [(t - 1.0) ** 0.5, 0.0]
    )
    with pytest.raises(sr.SolveError, match=r"the demand of level 'motion' on 'l0_joint' is infinite or NaN"):
        law(ARM_AT, np.zeros(3))
    law(ARM_AT, np.zeros(3), 2.0)
