"""Forward dynamics in exported C with contacts, ropes, stops, dry friction and flanks: that of Python."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sarrus as sr
from c_code import Compiled, compiler, contiguous
from contact_phases import FAMILIES, Scene
from families import dead_centres, ropes
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import contact_elements, contact_names
from test_forward_dynamics_with_contacts import ON_GROUND, ball
from test_gearings import random_drive
from test_time_stepping import rod

KINDS = "contact", "stop", "friction"


@dataclass
class Answer:
    """What forward dynamics in C says of contacts."""

    a: Array
    forces: Array
    status: Status
    element: int
    modes: list[int]
    ambiguous: set[str]


def export(system: sr.System, folder: Path, q: Array, *more: str) -> Compiled:
    """Return forward dynamics, and more functions, in C."""
    return Compiled(sr.export.c_code(system, folder, ["forward_dynamics", *more], name="plant", q=q), system)


def names_in_c(system: sr.System) -> list[str]:
    """Return contacts, stops and dry frictions in the order of C."""
    return [one.name for one in sorted(contact_elements(system), key=lambda one: KINDS.index(one.kind))]


def answer(code: Compiled, scene: Scene) -> Answer:
    """Return forward dynamics in C."""
    system, names = code.system, names_in_c(code.system)
    at = 2 * system.nv + system.nc
    end = at + len(contact_names(system))
    out = np.zeros(end + len(names) + 3)
    state = map(contiguous, (scene.q, scene.v, scene.u))
    status = code.call("forward_dynamics", *state, float(scene.t), contiguous(scene.tau), out)
    numbers = out[end:].view(np.int32).tolist()
    modes, doubts = numbers[2 : 2 + len(names)], numbers[2 + len(names) : 2 + 2 * len(names)]
    marked = {name for name, doubt in zip(names, doubts) if doubt}
    return Answer(out[: system.nv], out[at:end], Status(status), numbers[1], modes, marked)


def assert_same(code: Compiled, scene: Scene) -> Answer:
    """Assert that C and Python agree: a to 1e-12 of the largest acceleration with or without contacts."""
    found, arguments = answer(code, scene), (scene.q, scene.v, scene.u, scene.t, scene.tau)
    wanted = code.system.forward_dynamics(*arguments, throw=False)
    free = code.system.forward_dynamics(*arguments, throw=False, contacts=False)
    size = max(np.abs(wanted.a).max(), np.abs(free.a).max())
    assert_allclose(found.a, wanted.a, rtol=0, atol=1e-12 * size)
    if wanted.contacts is None:
        assert (found.status, found.element) == (wanted.status, -1)
        assert not found.forces.any()
        return found
    forces = wanted.contacts.forces
    assert_allclose(found.forces, forces, rtol=0, atol=1e-12 * np.abs(forces).max(initial=1e-300))
    assert found.status is (wanted.status if wanted.contacts.status.ok else wanted.contacts.status)
    if wanted.contacts.status.ok:
        assert found.modes == [int(wanted.contacts.modes[name]) for name in names_in_c(code.system)]
    assert found.ambiguous == set(wanted.contacts.ambiguous)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_families_of_phases(family: str, tmp_path: Path) -> None:
    """Crates, quadrupeds, balls in closed form, legs with loops, chains with stops and brakes, gears: all modes."""
    for seed in range(2):
        scene = FAMILIES[family](np.random.default_rng([seed, 7]))
        if scene is not None:
            assert_same(export(scene.system, tmp_path / str(seed), scene.q), scene)


def test_ropes_slack_and_taut(tmp_path: Path) -> None:
    system = ropes.atwood()
    code, modes = export(system, tmp_path, np.array([-1.0, -1.0])), set()
    for q in ([-1.0, -1.0], [-0.9, -1.0], [-1.0, -0.7]):
        for v in ([0.0, 0.0], [1.0, -1.0], [1.0, 0.5], [-1.0, -1.0]):
            found = assert_same(code, Scene(system, np.array(q), np.array(v), np.zeros(0)))
            modes.add((found.status, *found.modes))
    assert len(modes) == 3  # taut, slack, and taut with a speed that takes an impact


def test_slips_that_begin_at_dead_centres(tmp_path: Path) -> None:
    """The slider neither moves nor is moved there; its friction is that of the next moment."""
    for seed in (0, 1, 3):
        case = dead_centres.make(seed)
        q, v = dead_centres.start(case)
        if seed == 0:
            code = export(case.system, tmp_path, q)
        torque = np.array([case.torque * case.mass * case.length**2])
        found = assert_same(code, Scene(case.system, q, v, torque))
        assert found.forces.any()


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_flanks_of_random_drives(seed: int, tmp_path: Path) -> None:
    """Opposite flanks without play: one of two pushes, chosen by what the other one would do."""
    system, _ = random_drive(seed)
    rng, still, both = np.random.default_rng(seed), np.zeros(system.nv), 0
    code = export(system, tmp_path, np.zeros(system.nq))
    for _ in range(20):
        found = assert_same(code, Scene(system, np.zeros(system.nq), still, 5.0 * rng.normal(size=system.nu)))
        both += any(found.modes)
    assert both > 0


def test_what_is_not_possible(tmp_path: Path) -> None:
    """Impacts that are due, contacts below their planes, Painlevé: a status, the element, and a without contacts."""
    system, nothing = ball(0.3), np.zeros(0)
    code = export(system, tmp_path / "ball", np.array(ON_GROUND))
    hits = assert_same(code, Scene(system, np.array(ON_GROUND), np.array([0, 0, -0.5, 0, 0, 0.0]), nothing))
    assert (hits.status, hits.element) == (Status.INCONSISTENT, 0)
    deep = answer(code, Scene(system, np.array([0, 0, 0.05, 1, 0, 0, 0]), np.zeros(6), nothing))
    assert (deep.status, deep.element, deep.modes) == (Status.NOT_CLOSED, 0, [0])
    assert_allclose(deep.a, [0, 0, -9.81, 0, 0, 0], atol=1e-12)
    bar, found = rod(2.5), set()
    code = export(bar, tmp_path / "rod", np.array([0.0, 1.0, np.pi / 2]))
    for angle in np.linspace(0.3, 1.5, 25):
        for speed in (-1.0, 1.0):
            q = np.array([0.0, np.sin(angle), angle])
            found.add(assert_same(code, Scene(bar, q, np.array([speed, 0, 0]), nothing)).status)
    assert found == {Status.OK, Status.INFEASIBLE}


def test_what_no_acceleration_keeps_from_closing(tmp_path: Path) -> None:
    """Prescribed motions press into a stop or a plane: INFEASIBLE, as Python proves it, too."""
    statuses = set()
    for k, (moved, way) in enumerate([("z", -1.0), ("x", -1.0), ("z", 1.0)]):
        made = sr.Mechanism("pressed")
        for body in "ab":
            made.add_body(body, 1.0, inertia=(0.1,) * 3)
        made.add_joint("x", "prismatic", "world", "a", axis=(1, 0, 0), limits=(0.0, 1.0))
        made.add_joint("z", "prismatic", "a", "b", axis=(0, 0, 1))
        made.add_contact("foot", "b", friction="coulomb", friction_coefficient=0.4)
        made.add_motion("motion", moved, lambda t, way=way: 0.5 * way * t * t)
        system = sr.System(made)
        scene = Scene(system, np.zeros(2), np.zeros(2), np.zeros(0))
        statuses.add(assert_same(export(system, tmp_path / str(k), scene.q), scene).status)
        if way < 0.0:
            pressed = "foot" if moved == "z" else "x.lower stop"
            with pytest.raises(sr.SolveError, match=f"from closing further: '{pressed}'"):
                system.forward_dynamics(np.zeros(2), np.zeros(2))
    assert statuses == {Status.OK, Status.INFEASIBLE}


def inverse(code: Compiled, q: Array, v: Array, a: Array, t: float = 0.0) -> tuple[Status, Array, Array]:
    """Return status, controls and forces of inverse dynamics in C."""
    u, forces = np.zeros(code.system.nu), np.zeros(len(contact_names(code.system)))
    status = code.call("inverse_dynamics", *map(contiguous, (q, v, a)), t, u, forces)
    return Status(status), u, forces


def assert_same_inverse(code: Compiled, q: Array, v: Array, a: Array) -> Status:
    """Assert that inverse dynamics is that of Python: to 1e-12 if it succeeds, forces where the load is supported."""
    status, u, forces = inverse(code, q, v, a)
    wanted = code.system.inverse_dynamics(q, v, a, throw=False)
    assert status is wanted.status
    if not status.ok:
        return status
    known = np.zeros(len(forces)) if wanted.contacts is None else wanted.contacts.forces
    size = max(np.abs(wanted.u).max(), np.abs(known).max())
    assert_allclose(u, wanted.u, rtol=0, atol=1e-12 * size)
    assert_allclose(forces, known, rtol=0, atol=1e-12 * size)
    return status


@pytest.mark.parametrize("family", ["quadruped", "leg sticks", "leg slides"])
def test_inverse_dynamics_of_robots(family: str, tmp_path: Path) -> None:
    """Motions of forward dynamics, rest, and accelerations that no forces of the contacts allow."""
    scene = FAMILIES[family](np.random.default_rng([0, 7]))
    assert scene is not None
    system, still = scene.system, np.zeros(scene.system.nv)
    code = Compiled(sr.export.c_code(system, tmp_path, ["inverse_dynamics"], name="plant", q=scene.q), system)
    a = np.array(system.forward_dynamics(scene.q, scene.v, scene.u, scene.t).a)
    assert assert_same_inverse(code, scene.q, scene.v, a) is Status.OK
    assert assert_same_inverse(code, scene.q, still, still) is Status.OK
    free = np.array(system.forward_dynamics(scene.q, still, contacts=False).a)
    assert assert_same_inverse(code, scene.q, still, free) is not Status.OK  # it falls into the ground
    assert (
        assert_same_inverse(code, scene.q, still, -free) is Status.NOT_ACHIEVABLE
    )  # it jumps, off the ground
    open_ = scene.q + np.eye(system.nq)[-1] * (0.3 if system.nh else np.nan)
    assert inverse(code, open_, still, still)[0] in (Status.NOT_CLOSED, Status.NOT_FINITE)


def test_inverse_dynamics_says_why_there_is_none(tmp_path: Path) -> None:
    """A crate with one motor: friction carries it up to μ g; beyond, and across, statuses are those of Python."""
    mechanism = sr.Mechanism("pushed")
    mechanism.add_body("crate", 2.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("slide", "planar", "world", "crate", axis=(0, -1, 0), axis2=(1, 0, 0))
    for k, x in enumerate((0.2, -0.2)):
        mechanism.add_contact(f"c{k}", "crate", (x, 0, -0.1), friction="coulomb", friction_coefficient=0.5)
    mechanism.add_actuator("turn", "slide.angle")
    system = sr.System(mechanism)
    code = Compiled(sr.export.c_code(system, tmp_path, ["inverse_dynamics"], name="plant"), system)
    q, still, found = np.zeros(3), np.zeros(3), set[Status]()
    q[np.argmax(np.abs(system.forward_dynamics(q, still, contacts=False).a))] = 0.1
    for a in ([0.0, 0, 0], [0, 0.0, 1.0], [2.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0], [-2.0, 0, 0]):
        found.add(assert_same_inverse(code, q, still, np.array(a)))
        found.add(assert_same_inverse(code, q, np.array([0.5, 0.0, 0.0]), np.array(a)))
    assert Status.OK in found
    assert len(found) >= 3


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_inverse_dynamics_on_flanks(seed: int, tmp_path: Path) -> None:
    """Of two opposite flanks the one with the least controls pushes."""
    system, _ = random_drive(seed)
    rng = np.random.default_rng(seed)
    q, still = np.zeros(system.nq), np.zeros(system.nv)
    code = Compiled(sr.export.c_code(system, tmp_path, ["inverse_dynamics"], name="plant"), system)
    for _ in range(10):
        u = 5.0 * rng.normal(size=system.nu)
        a = np.array(system.forward_dynamics(q, still, u).a)
        assert_same_inverse(code, q, still, a)
        assert_same_inverse(code, q, still, still)


def test_without_contacts_on_request_and_step_with_them(tmp_path: Path) -> None:
    """`step` is the step of runs: of time stepping with contacts, of Runge and Kutta without."""
    system = ball(0.3)
    code = export(system, tmp_path / "with", np.array(ON_GROUND), "step")
    plain = sr.export.c_code(
        system, tmp_path / "without", ["forward_dynamics", "step"], name="plant", contacts=False
    )
    assert code.export.functions == ("forward_dynamics", "step", "contact_step")
    assert plain.functions == ("forward_dynamics", "step")
    header = " ".join((tmp_path / "without" / "plant.h").read_text().replace("*", " ").split())
    assert header.count("Left out: contacts with Coulomb friction.") == 2
    without, v = Compiled(plain, system), np.array([1.0, 0, 0, 0, 0, 0])
    assert_allclose(without.forward_dynamics(ON_GROUND, v).a, [0, 0, -9.81, 0, 0, 0], atol=1e-12)
    q, t = np.array(ON_GROUND), np.zeros(1)
    run = sr.simulate(system, ON_GROUND, v, duration=0.5, dt=1e-3, error_estimate=False)
    for _ in range(500):
        assert code.call("step", q, v, None, t, None, 1e-3) == Status.OK
    assert_allclose(q, run.q[-1], rtol=0, atol=1e-9)
    assert_allclose(v[[0, 4]], [5 / 7, 50 / 7], rtol=1e-9)  # it rolls in the end


def test_under_sanitizers(tmp_path: Path) -> None:
    """The example of a leg with loops on two contacts, and its results twice: no memory is read or written beside."""
    scene = FAMILIES["leg sticks"](np.random.default_rng([0, 7]))
    assert scene is not None
    code = export(scene.system, tmp_path, scene.q, "step", "contacts", "inverse_dynamics")
    flags = "-O0 -Werror -DSECONDS=0.0 -fsanitize=address,undefined -fno-sanitize-recover=all"
    make = ["make", "-s", "-C", str(tmp_path), f"CC={compiler()}", f"CFLAGS={flags}"]
    subprocess.run([*make, "LDFLAGS=-fsanitize=address,undefined"], check=True, capture_output=True)
    shown = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True)
    assert "forward dynamics: status 0" in shown.stdout
    assert shown.stderr == ""
    first, again = (answer(code, scene) for _ in range(2))
    assert_array_equal(first.a, again.a)
    assert "malloc" not in (tmp_path / "plant.c").read_text()
