"""Exported C of systems: what gcc makes of it computes what Python does, on every shipped model."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from c_code import STRICT, Compiled, assert_same_motion, build, compiler
from linear_precision import SHIPPED, shipped
from mechanisms import close_loops, random_coordinates, random_state, random_tree, system_in_mode
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.export.c.c_code import FUNCTIONS

MODELS = Path(__file__).parent.parent / "models"
DOCS = MODELS.parent / "docs"
ALLOCATION = {"malloc", "calloc", "realloc", "alloca", "free"}
LIBM = {"sin", "cos", "sincos", "sqrt", "tan", "atan2", "pow", "exp", "log", "asin", "acos", "atan", "hypot"}
TIME = 0.3


def states(name: str, count: int) -> list[tuple]:
    """Return closed configurations around that of a shipped model, with admissible velocities, and controls."""
    system, start = shipped(name)
    rng, found = np.random.default_rng(2), []
    while len(found) < count:
        kick, speed, u = (rng.standard_normal(n) for n in (system.nv, system.nv, system.nu))
        closed = system.assemble(system.move(start, 0.3 * kick), throw=False)
        if closed.status is Status.OK:
            found.append(
                (np.array(closed.q), np.array(system.project_velocity(closed.q, speed, TIME)), u, TIME)
            )
    return found


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> dict[str, tuple[Compiled, list[tuple]]]:
    """Every shipped model in C, with states of it; gcc runs on all cores."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    jobs: dict[str, tuple] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, name in enumerate(SHIPPED):
            system, drawn = shipped(name)[0], states(name, 4)
            export = sr.export.c_code(system, folder / str(number), name=f"model {number}", q=drawn[0][0])
            job: Future[Path] = pool.submit(build, export)
            jobs[name] = export, system, drawn, job
        for name, (export, system, drawn, job) in jobs.items():
            found[name] = Compiled(export, system, job.result()), drawn
    return found


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_agree_with_python(libraries, name: str) -> None:
    compiled, drawn = libraries[name]
    system, rng = compiled.system, np.random.default_rng(3)
    for q, v, u, t in drawn:
        tau = rng.standard_normal(system.nv)
        assert_same_motion(compiled.forward_dynamics(q, v, u, t, tau), system, (q, v, u, t, tau))
        assert_same_motion(compiled.forward_dynamics(q, v), system, (q, v, None, 0.0, None))


def test_nothing_but_libm_is_called(libraries) -> None:
    compiled, _ = libraries["three_leg_platform"]
    folder = compiled.export.files[0].parent
    code = folder / "code.o"
    subprocess.run([compiler(), *STRICT, "-O1", "-c", "-o", code, compiled.export.files[0]], check=True)
    symbols = subprocess.run(["nm", code], capture_output=True, text=True, check=True).stdout.split("\n")
    table = [line.split() for line in symbols if line]
    undefined = {entry[-1] for entry in table if entry[-2] == "U"}
    assert undefined <= LIBM
    assert not undefined & ALLOCATION
    assert not [entry for entry in table if entry[-2] in "bBdDC"]  # no data that is written
    public = {entry[-1] for entry in table if entry[-2] == "T"}
    assert public == {f"{compiled.export.name}_{name}" for name in ("init", "forward_dynamics")}


def test_the_page_has_the_sizes_of_today(tmp_path) -> None:
    """docs/export.md but for what depends on the machine."""
    specification = importlib.util.spec_from_file_location("export_page", DOCS / "export.py")
    page = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(page)
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.HEAD.splitlines()[0] in text
    rows = [
        line for line in text.split(page.BEGIN)[1].split(page.END)[0].split("\n") if line.startswith("| ")
    ][2:]
    fresh = []
    for number, name in enumerate(SHIPPED):
        system, q = shipped(name)
        export = sr.export.c_code(system, tmp_path / str(number), name=f"model {number}", q=q)
        fresh.append(page.fixed(name, system, export))
    assert [row[: len(start)] for row, start in zip(rows, fresh, strict=True)] == fresh


# --- redundant, inconsistent, singular, ill-posed ---------------------------------------------------------


def exported(system: sr.System, folder: Path, q: Array, **options) -> Compiled:
    return Compiled(sr.export.c_code(system, folder, q=q, **options), system)


@pytest.mark.parametrize("mode", ["traced", "cholesky", "null_space"])
def test_redundant_and_inconsistent_rows(tmp_path, mode: str) -> None:
    """In every elimination mode; open loops make redundant rows contradict each other."""
    plan = random_tree(9, ("revolute", "prismatic", "spherical", "free"))
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, ("planar", "weld", "weld"))
    system = system_in_mode(mechanism, mode)
    v = np.array(system.project_velocity(q, random_state(system, 1)[1]))
    compiled = exported(system, tmp_path, q)
    assert_same_motion(compiled.forward_dynamics(q, v), system, (q, v, None, 0.0, None))
    beside = random_state(system, 2)[1]  # a velocity that the constraints forbid
    got = compiled.forward_dynamics(q, beside)
    assert got.status is Status.INCONSISTENT
    assert_same_motion(got, system, (q, beside, None, 0.0, None))


def test_singular_configurations(tmp_path, example) -> None:
    module = example("slider_crank")
    system = sr.System(module.build())
    compiled = exported(system, tmp_path, np.array([0.4, -0.8]))
    q, v = np.zeros(2), np.array([8.0, -16.0])
    got = compiled.forward_dynamics(q, v)
    assert (got.status, got.rank) == (Status.OK, 1)
    folded = np.array([np.pi / 2, -np.pi])
    got = compiled.forward_dynamics(folded, v)
    assert (got.status, got.rank) == (Status.SINGULAR, 0)
    assert_same_motion(got, system, (folded, v, None, 0.0, None))


def test_what_has_no_answer_says_so(tmp_path) -> None:
    mechanism = sr.Mechanism("massless")
    mechanism.add_body("link", 0.0)
    mechanism.add_joint("hinge", "revolute", "world", "link")
    system = sr.System(mechanism)
    compiled = exported(system, tmp_path, np.zeros(1))
    assert compiled.forward_dynamics(np.zeros(1), np.ones(1)).status is Status.ILL_POSED
    for place in range(2):
        state = np.zeros((2, 1))
        state[place] = np.nan
        assert compiled.forward_dynamics(*state).status is Status.NOT_FINITE
    assert compiled.forward_dynamics(np.zeros(1), np.ones(1), tau=[np.inf]).status is Status.NOT_FINITE


def test_quaternions_of_any_length(tmp_path) -> None:
    system, ((q, _, _, _),) = shipped("stewart")[0], states("stewart", 1)
    v = np.array(system.project_velocity(q, random_state(system, 3)[1]))
    compiled = exported(system, tmp_path, q)
    first = system.equations.quaternions[-1]
    longer = np.array(q)
    longer[first : first + 4] *= 1.7
    assert_same_motion(compiled.forward_dynamics(longer, v), system, (longer, v, None, 0.0, None))
    assert not np.array_equal(longer, system.normalized(longer))


# --- the other functions ----------------------------------------------------------------------------------


def test_terms_are_those_of_the_equations(tmp_path) -> None:
    system = sr.System(sr.load(MODELS / "quadruped.xml"))
    q, v = random_state(system, 4)
    compiled = exported(system, tmp_path, q, functions=["terms"])
    parts = {
        "mass_matrix": system.mass_matrix(q),
        "bias_force": system.bias_force(q, v, 0.2),
        "passive_force": system.passive_force(q, v, 0.2),
        "actuation_matrix": system.actuation_matrix(q),
        "constraint_residual": system.constraint_residual(q, 0.2),
        "velocity_residual": system.velocity_residual(q, v, 0.2),
        "constraint_jacobian": system.constraint_jacobian(q, v, 0.2),
        "constraint_bias": system.constraint_bias(q, v, 0.2),
        "coordinate_rate": system.coordinate_rate(q, v),
    }
    out = np.zeros(sum(part.size for part in parts.values()))
    compiled.call("terms", q, v, 0.2, out)
    at = 0
    for name, part in parts.items():
        np.testing.assert_allclose(
            out[at : at + part.size],
            part.ravel(),
            rtol=0,
            atol=1e-12 * max(np.abs(part).max(initial=0), 1),
            err_msg=name,
        )
        at += part.size


@pytest.mark.parametrize("name", ["five_bar", "bricard, free bodies", "rolling_disc", "slider_crank"])
def test_steps_are_those_of_the_simulation(tmp_path, name: str) -> None:
    """With controls and applied forces, redundant rows, nonholonomic rows, and quaternions."""
    system, ((q, v, u, _),) = shipped(name)[0], states(name, 1)
    tau = 0.1 * np.random.default_rng(1).standard_normal(system.nv)
    steps, h = 20, 1e-3
    compiled = exported(system, tmp_path, q, functions=["step"])
    motion = sr.simulate(
        system,
        q,
        v,
        duration=steps * h,
        dt=h,
        control=(lambda q, v, t: u) if system.nu else None,
        force=lambda q, v, t: tau,
    )
    q, v, t = np.array(q), np.array(v), np.zeros(1)
    for _ in range(steps):
        assert compiled.call("step", q, v, np.array(u), t, tau, h) == Status.OK
    assert t[0] == pytest.approx(steps * h)
    np.testing.assert_allclose(q, motion.q[-1], rtol=0, atol=1e-12 * max(1.0, np.abs(q).max()))
    np.testing.assert_allclose(v, motion.v[-1], rtol=0, atol=1e-11 * max(1.0, np.abs(v).max()))


def test_a_step_that_fails_leaves_the_state(tmp_path) -> None:
    system = sr.System(sr.load(MODELS / "five_bar.xml"))
    q = np.array(system.mechanism.keyframes["symmetric"].q)
    compiled = exported(system, tmp_path, q, functions=["step"])
    given, v, t = q.copy(), np.full(4, 1e200), np.zeros(1)
    assert compiled.call("step", given, v, None, t, None, 1e-3) == Status.NOT_FINITE  # as of forward dynamics
    v[:] = 3e3
    assert compiled.call("step", given, v, None, t, None, 1.0) in (
        Status.NOT_FINITE,
        Status.PROJECTION_FAILED,
    )
    np.testing.assert_array_equal(given, q)
    assert t[0] == 0.0


def test_a_step_that_is_too_long_says_so(tmp_path) -> None:
    """Rotational damping with z = h d / I of 4, 2.7 and 50; beyond 2.785 errors grow. It takes four steps to know."""
    mechanism = sr.Mechanism("damped")
    mechanism.add_body("rod", 1.0, (0, 0, -1), (0.1, 0.1, 0.01))
    mechanism.add_joint("hinge", "revolute", "world", "rod", axis=(0, 1, 0), damping=4.0 * 1.1 / 1e-2)
    system = sr.System(mechanism)
    compiled = exported(system, tmp_path, np.zeros(1), functions=["step", "forward_dynamics"])

    def answers(h: float, count: int, between: bool = False, restart: bool = False) -> list[Status]:
        q, v, t, found = np.ones(1), np.full(1, 1e-3), np.zeros(1), []
        compiled.call("init")
        for _ in range(count):
            found.append(Status(compiled.call("step", q, v, None, t, None, h)))
            if between:
                compiled.forward_dynamics(np.full(1, 0.3), np.ones(1), None, 0.0)
            if restart:
                q[:], v[:] = 1.0, 1e-3
        return found

    for h in (1e-2, 0.125):
        found = answers(h, 12)
        first = found.index(Status.UNSTABLE_STEP)
        assert 4 <= first <= 7
        assert set(found[:first]) == {Status.OK}
        assert set(found[first:]) == {Status.UNSTABLE_STEP}
        assert answers(h, 12, between=True) == found
    assert set(answers(6.75e-3, 300)) == {Status.OK}
    assert set(answers(1e-2, 12, restart=True)) == {Status.OK}  # no step begins where one ended


@pytest.mark.parametrize("status", [Status.INCONSISTENT, Status.ILL_CONDITIONED])
def test_a_step_from_no_full_answer_says_so(tmp_path, status: Status) -> None:
    """v = 0 and v = 0.9 t; a mass matrix with eigenvalues 1 and 1e-12. The step is done, as the simulation does it."""
    if status is Status.INCONSISTENT:
        system = sr.System.from_equations(
            1, lambda q: [[1e-3]], lambda q, v: [-5e3], velocity=lambda q, v, t: [v[0], v[0] - 0.9 * t]
        )
    else:
        c, s = np.cos(0.4), np.sin(0.4)
        light = 1e-12 * np.array([[s * s, -s * c], [-s * c, c * c]])
        mass = np.array([[c * c, s * c], [s * c, s * s]]) + light
        system = sr.System.from_equations(2, lambda q: mass.tolist(), lambda q, v: [0.3, 0.2])
    compiled = exported(system, tmp_path, system.neutral(), functions=["step"])
    q, v, t = system.neutral(), np.zeros(system.nv), np.zeros(1)
    motion = sr.simulate(system, q, v, duration=3e-3, dt=1e-3, throw=False)
    assert motion.status is status
    for k in range(3):
        assert compiled.call("step", q, v, None, t, None, 1e-3) == status
        assert t[0] == pytest.approx(1e-3 * (k + 1))
    np.testing.assert_allclose(q, motion.q[-1], rtol=1e-6)
    np.testing.assert_allclose(v, motion.v[-1], rtol=1e-6)


def test_inverse_dynamics(tmp_path) -> None:
    system, ((q, v, u, t),) = shipped("front_loader")[0], states("front_loader", 1)
    compiled = exported(system, tmp_path, q, functions="inverse_dynamics")
    a = np.array(system.forward_dynamics(q, v, u, t).a)
    got = np.zeros(system.nu)
    assert compiled.call("inverse_dynamics", q, v, a, t, got) == Status.OK
    np.testing.assert_allclose(got, u, rtol=0, atol=1e-9 * np.abs(system.bias_force(q, v, t)).max())
    np.testing.assert_allclose(got, system.inverse_dynamics(q, v, a, t).u, atol=1e-9)
    assert compiled.call("inverse_dynamics", q, v, a + 1.0, t, got) == Status.NOT_ACHIEVABLE


def test_parameters_are_inputs(tmp_path) -> None:
    system = sr.System(sr.load(MODELS / "five_bar.xml"), {"m": "link1.mass", "heavy_load": "link2.mass"})
    q = np.array(system.mechanism.keyframes["symmetric"].q)
    compiled = exported(system, tmp_path, q)
    header = compiled.export.files[1].read_text()
    assert "FIVE_BAR_P_HEAVY_LOAD = 1" in header
    assert "#define FIVE_BAR_NP 2" in header
    v = np.array(system.project_velocity(q, np.ones(4)))
    state = q, v, np.ones(2), 0.0, None
    before = compiled.forward_dynamics(*state)
    assert_same_motion(before, system, state)
    compiled.memory[:2] = 2.5, 0.75  # the workspace begins with them
    system.parameters.update({"m": 2.5, "heavy_load": 0.75})
    after = compiled.forward_dynamics(*state)
    assert_same_motion(after, system, state)
    assert np.abs(after.a - before.a).max() > 1e-3


# --- files ------------------------------------------------------------------------------------------------


def test_the_example_is_built_by_make_and_runs_clean(tmp_path) -> None:
    """Everything at once under the sanitizers of gcc, by the Makefile that comes with it."""
    system = sr.System(sr.load(MODELS / "five_bar.xml"))
    functions = ["forward_dynamics", "inverse_dynamics", "terms", "step"]
    q = np.array(system.mechanism.keyframes["symmetric"].q)
    export = sr.export.c_code(system, tmp_path / "made", functions, "my five-bar")
    flags = "-O0 -Werror -DSECONDS=0.0 -fsanitize=address,undefined -fno-sanitize-recover=all"
    make = ["make", "-C", str(export.files[0].parent), f"CC={compiler()}", f"CFLAGS={flags}"]
    subprocess.run([*make, "LDFLAGS=-fsanitize=address,undefined"], check=True, capture_output=True)
    done = subprocess.run([export.files[0].parent / "example"], capture_output=True, text=True, check=True)
    a = np.array(done.stdout.split("a = ")[1].split("\n")[0].split(), dtype=float)
    np.testing.assert_allclose(a, system.forward_dynamics(q, np.zeros(system.nv)).a, rtol=0, atol=1e-11)
    assert done.stdout.count("ns per call") == len(functions)


def test_any_name_becomes_c(tmp_path) -> None:
    """Names with spaces, signs, comments and keywords; the header serves C++ too."""
    mechanism = sr.Mechanism("7 bär */ \\")
    for k, name in enumerate(("double", "a-b", "a_b", "ü")):
        mechanism.add_body(f"body {k}", 1.0, inertia=(1, 1, 1))
        mechanism.add_joint(name, "revolute", "world", f"body {k}")
    system = sr.System(mechanism)
    export = sr.export.c_code(system, tmp_path)
    assert export.name == "model_7_b_r"
    header = export.files[1].read_text()
    for macro in ("Q_DOUBLE", "Q_A_B", "Q_A_B_2", "Q_3"):
        assert f"MODEL_7_B_R_{macro} = " in header
    build(export)
    user = tmp_path / "user.cpp"
    user.write_text(f'#include "{export.files[1].name}"\nint main() {{ return MODEL_7_B_R_OK; }}\n')
    subprocess.run([compiler(), "-x", "c++", "-fsyntax-only", "-Wall", "-Werror", user], check=True)


def test_bad_requests_are_named(tmp_path) -> None:
    system = sr.System(sr.load(MODELS / "five_bar.xml"))
    with pytest.raises(ArgumentError, match=r"unknown function to export 'dynamics'.*forward_dynamics"):
        sr.export.c_code(system, tmp_path, ["dynamics"])
    with pytest.raises(ArgumentError, match="'law'"):
        sr.export.c_code(system, tmp_path, ["law"])
    with pytest.raises(ArgumentError, match="functions is empty"):
        sr.export.c_code(system, tmp_path, [])
    with pytest.raises(ArgumentError, match="needs a System or a control law, got Mechanism"):
        sr.export.c_code(system.mechanism, tmp_path)
    assert not list(tmp_path.iterdir())


def test_equations_of_ones_own_with_a_non_ideal_force(tmp_path) -> None:
    """A bead on a rotating circle with friction of the constraint force's own, explicit time and a parameter."""
    system = sr.System.from_lagrangian(
        2,
        lambda q, v, t, p: 0.5 * p.m * ca.sumsqr(v) - 9.81 * p.m * q[1] + ca.erfinv(0.3 * ca.sin(q[0])),
        holonomic=lambda q, t, p: q[0] ** 2 + q[1] ** 2 - (1 + 0.1 * ca.sin(t)) ** 2,
        non_ideal=lambda q, v, t, p: -0.4 * ca.fabs(q[0]) * v,
        parameters={"m": 1.5},
        name="bead",
    )
    t, place, along = 0.7, np.array([0.6, -0.8]), np.array([0.8, 0.6])
    q, v = (1 + 0.1 * np.sin(t)) * place, along + 0.1 * np.cos(t) * place  # on the circle of this time
    compiled = exported(system, tmp_path, q, functions=["forward_dynamics", "terms"])
    assert_same_motion(compiled.forward_dynamics(q, v, None, t), system, (q, v, None, t, None))


def test_a_model_without_a_name_of_its_own(tmp_path) -> None:
    """Names of its functions are none of those inside: "model" is what a nameless model is called."""
    mechanism = sr.Mechanism("model")
    mechanism.add_body("rod", 1.0, (0, 0, -1), (0.1, 0.1, 0.01))
    mechanism.add_joint("hinge", "revolute", "world", "rod", axis=(0, 1, 0))
    mechanism.add_sensor("tip", "framepos", "rod")
    mechanism.add_contact("foot", "rod", friction="coulomb", friction_coefficient=0.3, offset=-3.0)
    system = sr.System(mechanism)
    functions = [name for name in FUNCTIONS if name not in ("law", "inverse_dynamics")]
    assert build(sr.export.c_code(system, tmp_path, functions)).exists()
