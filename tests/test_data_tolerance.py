"""Loops that close to printed digits: what rounding leaves open moves nothing and stops nothing."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sarrus as sr
from printed_digits import coupled_cranks, linkage
from sarrus.dynamics.closing.levenberg_marquardt import data_of

KINDS = {"four-bar": 3, "parallelogram": 3, "five-bar": 4}
# How much more than the rounding a motion of 0.4 s differs from the ideal one: shorter links fall faster.
MAGNIFIED = {"four-bar": 30.0, "parallelogram": 300.0, "five-bar": 300.0}
QUIET = pytest.mark.filterwarnings("ignore::sarrus.base.errors.AccuracyWarning")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_closes_exactly_has_no_tolerance(kind: str) -> None:
    assert data_of(linkage(kind, None)).exact


@pytest.mark.parametrize("digits", range(4, 10))
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_moves_nothing_and_contradicts_nothing(kind: str, digits: int) -> None:
    system = linkage(kind, digits)
    data, q = data_of(system), np.zeros(KINDS[kind])
    assert 0.0 < data.closing_error < 30.0 * 10.0**-digits
    closed = system.assemble(q)
    assert closed.status is sr.Status.OK
    assert np.abs(closed.q).max() <= 10.0 * data.closing_error
    assert closed.rank == system.forward_dynamics(closed.q, q).rank == 2
    assert system.forward_dynamics(closed.q, q).status is sr.Status.OK
    found = sr.mobility(system, closed.q)
    assert found.dof == KINDS[kind] - 2
    assert found.status is sr.Status.OK


@QUIET
@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("digits", [4, 6, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_motion_is_that_of_the_model_that_was_meant(
    kind: str, digits: int, options: dict[str, float]
) -> None:
    """Through the flat parallelogram too, at 0.3 s, where links that differ by 1e-8 turn away by themselves."""
    start, motions = np.zeros(KINDS[kind]), []
    for system in (linkage(kind, None), linkage(kind, digits)):
        motion = sr.simulate(system, start, start, duration=0.4, error_estimate=False, **options)
        assert motion.status is sr.Status.OK
        motions.append(motion)
    assert np.abs(motions[1].q[-1] - motions[0].q[-1]).max() < MAGNIFIED[kind] * 10.0**-digits
    assert motions[1].residual.max() < 30.0 * 10.0**-digits
    assert (motions[1].rank <= 2).all()


def rough_start(system: sr.System, seed: int) -> np.ndarray:
    return 0.2 * np.random.default_rng(seed).standard_normal(system.nq)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rough_guess_is_closed_where_the_exact_model_closes(kind: str) -> None:
    exact, printed = linkage(kind, None), linkage(kind, 7)
    for seed in range(3):
        guess = rough_start(exact, seed)
        ends = [system.assemble(guess).q for system in (exact, printed)]
        assert np.abs(ends[1] - ends[0]).max() < 1e-5


def test_a_gap_that_no_digits_explain_is_still_one() -> None:
    """A link that is 1 mm too short to reach: the residual has a minimum there, and grows along every motion."""
    mechanism = sr.Mechanism("short", gravity=(0, -9.81, 0))
    for name, parent, x in (("upper", "world", 0.0), ("lower", "upper", 1.0)):
        mechanism.add_body(name, 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(x, 0, 0))
    mechanism.add_closure("pin", "point", "lower", "world", pose1=(1, 0, 0), pose2=(2.001, 0, 0))
    system = sr.System(mechanism)
    assert data_of(system).exact
    assert system.assemble([0.0, 0.0], throw=False).status is sr.Status.NOT_CLOSED


# --- two rods that are not quite equal -------------------------------------------------------------


def stiff_fall(times: np.ndarray) -> np.ndarray:
    """Return the coordinates of the coupled cranks by MuJoCo, loops as stiff as it can make them."""
    stiff = 'solref="0.0005 1" solimp="0.9999 0.9999 0.001 0.5 2"'
    model = mujoco.MjModel.from_xml_string(coupled_cranks(stiff))
    model.opt.timestep, model.opt.iterations, model.opt.tolerance = 1e-4, 100, 0.0
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data, found = mujoco.MjData(model), []
    for time in times:
        while data.time < time - 0.5e-4:
            mujoco.mj_step(model, data)
        found.append(data.qpos.copy())
    return np.array(found)


@pytest.fixture(scope="module")
def cranks(tmp_path_factory: pytest.TempPathFactory) -> sr.System:
    file = tmp_path_factory.mktemp("models") / "cranks.xml"
    file.write_text(coupled_cranks())
    return sr.System(sr.load(file))


def test_the_cranks_stay_where_they_were_drawn(cranks: sr.System) -> None:
    found = cranks.assemble(cranks.neutral())
    assert found.status is sr.Status.OK
    assert np.abs(found.q - cranks.neutral()).max() < 1e-7
    assert found.residual < 3e-8
    assert sr.mobility(cranks, found.q).dof == 1


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["adaptive", "fixed"])
def test_the_cranks_fall_as_stiff_loops_do(cranks: sr.System, options: dict[str, float]) -> None:
    still = np.zeros(cranks.nv)
    motion = sr.simulate(cranks, cranks.neutral(), still, duration=0.6, **options)
    times = np.array([0.2, 0.4, 0.6])
    truth = stiff_fall(times)
    assert motion.status is sr.Status.OK
    assert truth[-1, 0] < -0.2
    np.testing.assert_allclose(motion.at(times), truth, atol=1e-3)
    assert motion.residual.max() < 3e-7


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["adaptive", "fixed"])
def test_the_cranks_jam_where_they_would_flatten_and_the_run_says_so(
    cranks: sr.System, options: dict[str, float]
) -> None:
    """The rods would have to stretch by 1e-6 m and more: a head that goes on, or comes off as NaN, is wrong."""
    with pytest.warns(sr.AccuracyWarning, match="the loops jam"):
        motion = sr.simulate(cranks, cranks.neutral(), np.zeros(cranks.nv), duration=5.0, **options)
    assert motion.t[-1] == 5.0
    assert motion.status is sr.Status.INACCURATE
    assert [event.name for event in motion.events] == ["loops jam"]
    assert np.abs(motion.v[-1]).max() < 1e-6
    assert motion.residual.max() < data_of(cranks).accepted(0.0) * cranks.characteristic.length * 1.01
