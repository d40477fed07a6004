"""The table of docs/contacts.md: in which functions contacts, stops and dry friction act, are refused, or left out.

A carriage that slides along x carries a block along z, at rest where what a column says keeps it from falling. A
function that gives another answer than for the block that falls has it acting; one that gives the same answer leaves it
out, and must say so in its docstring or header.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus import control
from sarrus.base.errors import ArgumentError, SolveError

DOCS = Path(__file__).parent.parent / "docs" / "contacts.md"
COLUMNS = ("constraint", "coulomb", "closed form", "gearings", "limits", "dry", "geometries", "ropes")
# The name of what acts in each scene, and the words with which a description leaves it out.
NAMES = {
    "coulomb": "floor",
    "gearings": "rack",
    "limits": "z",
    "dry": "z",
    "closed form": "ground-ball",
    "geometries": "ground-ball",
    "constraint": "floor|contacts",
    "ropes": "rope",
}
WORDS = {
    "coulomb": "Coulomb friction",
    "gearings": "Coulomb friction",
    "limits": "limits of joints",
    "dry": "dry friction",
    "closed form": "Coulomb friction",
    "geometries": "between geometries",
    "ropes": "ropes",
}
Q, V, WEIGHT, DT = [0.0, 0.0], [0.5, 0.0], 2.0 * 9.81, 1e-3


def scene(column: str | None) -> sr.System:
    """Return the block on its carriage, kept from falling by what a column says."""
    mechanism = sr.Mechanism("probe")
    mechanism.add_body("carriage", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("x", "prismatic", "world", "carriage", axis=(1, 0, 0), stiffness=50.0)
    mechanism.add_body("block", 2.0, inertia=(0.1,) * 3)
    options = {"limits": {"limits": (0.0, 1.0)}, "dry": {"friction": 30.0}}.get(column or "", {})
    mechanism.add_joint("z", "prismatic", "carriage", "block", axis=(0, 0, 1), stiffness=50.0, **options)
    mechanism.add_actuator("lift", "z")
    mechanism.add_actuator("push", "x")
    mechanism.add_sensor("felt", "accelerometer", "block")
    if column == "coulomb":
        mechanism.add_contact("floor", "block", friction="coulomb", friction_coefficient=0.3)
    if column == "gearings":  # a way that flanks hold
        mechanism.add_gearing("rack", {"z": 1.0}, {"z": 1.0}, friction_coefficient=0.3)
    if column == "constraint":
        mechanism.add_contact("floor", "block", friction="frictionless", active=True)
    if column in ("closed form", "geometries"):
        mechanism.add_geom("ground", "world", "plane")
        mechanism.add_geom("ball", "block", "sphere", (0.1,), (0, 0, 0.1), friction=0.3)
        mechanism.add_geometry_contacts(closed_form=column == "closed form")
    if column == "ropes":
        mechanism.add_rope("rope", [("carriage", (0, 0, 1)), "block"], length=1.0)
    return sr.System(mechanism)


def at_rest(system: sr.System) -> np.ndarray:
    """Return the derivatives by the inputs where something carries a part of the block, or the winch all of it."""
    try:
        return sr.sensitivity.equilibrium_derivatives(system, Q, [0.5 * WEIGHT, 0.0]).dq_du
    except ArgumentError as error:
        if "is no equilibrium" not in str(error):
            raise
    return sr.sensitivity.equilibrium_derivatives(system, Q, [WEIGHT, 0.0]).dq_du


def at_equilibrium(system: sr.System) -> np.ndarray:
    """Return the linear model where something carries a part of the block, or where the winch carries all of it."""
    try:
        return sr.linearize(system, Q, [0.5 * WEIGHT, 0.0]).A
    except ArgumentError as error:
        if "is no equilibrium" not in str(error):
            raise
    return sr.linearize(system, Q, [WEIGHT, 0.0]).A


def settled(system: sr.System) -> tuple[np.ndarray, np.ndarray]:
    """Return the state after a moment, in which flanks have met."""
    run = sr.simulate(system, Q, V, duration=1e-3, error_estimate=False)
    return run.q[-1], run.v[-1]


def freedoms(system: sr.System) -> tuple[object, ...]:
    """Return what mobility says of motions."""
    found = sr.mobility(system, Q)
    return found.dof, () if found.contacts is None else found.contacts.closed


def hold(system: sr.System) -> control.ProjectedInverseDynamics:
    """Return a law that lets the block neither rise nor fall."""
    return control.ProjectedInverseDynamics(system, ["z", "x"], [0.0, 0.0], damping=0.0)


def law(system: sr.System) -> np.ndarray:
    """Return the controls of a law that lets the block neither rise nor fall."""
    return hold(system)(Q, V)


def environment(system: sr.System) -> np.ndarray:
    """Return where a step of an environment leads."""
    pytest.importorskip("gymnasium")
    made = sr.gym.make(system, q=Q, v=V, sample_time=0.05)
    made.reset(seed=0)
    return made.step(np.zeros(2))[0]


def traced(system: sr.System) -> np.ndarray:
    """Return the acceleration by a CasADi function with the modes of what is there."""
    contacts = None if system.contact_geometries else system.forward_dynamics(Q, V).contacts
    modes = {} if contacts is None else contacts.modes
    function = system.to_casadi("forward_dynamics", contacts=modes, rows="independent")
    return np.array(function(q=Q, v=V, p=list(system.parameters.values()))["a"])


def many(system: sr.System, **more: object) -> np.ndarray:
    """Return where many runs end."""
    return sr.rollout(system, Q, V, duration=0.05, dt=DT, **more).final_q


def single(system: sr.System, **more: object) -> np.ndarray:
    """Return where a run ends."""
    return sr.simulate(system, Q, V, duration=0.05, error_estimate=False, **more).q[-1]


def exported(system: sr.System, function: str, folder: Path) -> str:
    """Return the description of a function, or of a law, in C."""
    if function == "law":
        sr.export.c_code(hold(system), folder, name="probe")
    else:
        sr.export.c_code(system, folder, [function], name="probe", q=Q)
    header = " ".join((folder / "probe.h").read_text().replace("*", " ").split())
    return header[header.index("Left out:") :] if "Left out:" in header else "all"


STILL = [0.0, 0.0]
# row → calls, and the objects whose docstrings say what is left out
ROWS: dict[str, tuple[list[Callable[[sr.System], object]], list[object]]] = {
    "`simulate`": ([single], []),
    '`simulate(method="moreau-jean")`': ([partial(single, method="moreau-jean", dt=DT)], []),
    "`simulate(coordinates=)`, `(formulation=)`": (
        [partial(single, dt=DT, coordinates="partition"), partial(single, dt=DT, formulation="null-space")],
        [],
    ),
    "`rollout`, `study`": (
        [many, lambda s: sr.study(s, grid={"v.x": [0.5, 0.6]}, q=Q, duration=0.05, outputs=["q"]).q.values],
        [],
    ),
    '`rollout(method="rk4")`': ([partial(many, method="rk4")], []),
    "`gym.make`": ([environment], []),
    "`forward_dynamics`": ([lambda s: s.forward_dynamics(Q, V).a], []),
    "`inverse_dynamics`": ([lambda s: s.inverse_dynamics(Q, STILL, STILL).u], []),
    "`equilibrium`": ([lambda s: sr.equilibrium(s, Q, hold=True).u], []),
    "`mobility`": ([freedoms], [sr.mobility]),
    "`sensors`": ([lambda s: s.sensors(Q, V)["felt"]], []),
    "`reactions`, `reactions_along`": (
        [
            lambda s: sr.reactions(s, Q, V).force,
            lambda s: sr.simulate(s, Q, V, duration=0.05, error_estimate=False).reactions().force[-1],
        ],
        [],
    ),
    "`linearize`, `linearize_at`": (
        [at_equilibrium, lambda s: sr.linearize_at(s, Q, V).A],
        [],
    ),
    "`linearize_along`": ([lambda s: sr.linearize_along(s, [Q], [V]).A], []),
    "`step_derivatives`": ([lambda s: sr.sensitivity.step_derivatives(s, *settled(s)).F], []),
    "`motion_derivatives`": (
        [lambda s: sr.sensitivity.motion_derivatives(s, *settled(s), duration=0.02).by_start[-1]],
        [],
    ),
    "`equilibrium_derivatives`": ([at_rest], []),
    "`impact`": ([lambda s: sr.impact(s, Q, [0.5, -1.0]).v], [sr.impact]),
    "`control` laws, `controllability`": (
        [law, lambda s: control.controllability(s, Q).dof],
        [],
    ),
    "`to_casadi`": ([traced], [sr.export.casadi_function]),
}
IN_C = {
    "C: `forward_dynamics`, `inverse_dynamics`, `step`": ("forward_dynamics", "inverse_dynamics", "step"),
    "C and FMI: laws": ("law",),
    "C: `contact_step`": ("contact_step",),
}


def table() -> dict[str, dict[str, str]]:
    """Return the cells of the table in the documentation."""
    rows = {}
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        said = [cell.partition(":")[0] for cell in cells[1:]]  # "no effect: the reason of mathematics"
        if len(said) == len(COLUMNS) and set(said) <= {"acts", "refuses", "left out", "no effect"}:
            rows[cells[0]] = dict(zip(COLUMNS, said))
    return rows


@pytest.fixture(scope="module")
def systems() -> dict[str | None, sr.System]:
    return {column: scene(column) for column in (None, *COLUMNS)}


def outcome(call: Callable[[sr.System], object], system: sr.System, falling: sr.System, name: str) -> str:
    """Return what a function does, by its answer."""
    try:
        found = call(system)
    except (ArgumentError, SolveError) as error:
        return "refuses" if re.search(name, str(error)) else f"another error: {error}"
    plain = call(falling)
    if isinstance(found, tuple):
        return "left out" if found == plain else "acts"
    found, plain = np.asarray(found), np.asarray(plain)
    same = found.shape == plain.shape and bool(np.allclose(found, plain, rtol=1e-9, atol=1e-9))
    return "left out" if same else "acts"


def test_the_table_has_all_rows() -> None:
    assert set(table()) == {*ROWS, *IN_C}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_true(row: str, systems: dict[str | None, sr.System]) -> None:
    calls, described = ROWS[row]
    for column, said in table()[row].items():
        for call in calls:
            found = outcome(call, systems[column], systems[None], NAMES[column])
            assert found == ("left out" if said == "no effect" else said), (row, column)
        if said in ("left out", "no effect"):
            texts = [" ".join((each.__doc__ or "").split()) for each in described]
            assert texts
            assert all(WORDS[column] in text and "left out" in text for text in texts), (row, column)


@pytest.mark.parametrize("row", IN_C)
def test_headers_say_what_is_left_out(row: str, systems: dict[str | None, sr.System], tmp_path: Path) -> None:
    for column, said in table()[row].items():
        for function in IN_C[row]:
            if function == "contact_step" and column == "constraint":
                continue  # it is for systems with contacts that have friction
            try:
                text = exported(systems[column], function, tmp_path / f"{column}_{function}")
            except ArgumentError as error:
                text = f"refused: {error}"
            if said == "refuses":
                assert text.startswith("refused")
                assert NAMES[column] in text
                continue
            assert not text.startswith("refused"), text
            assert (WORDS.get(column, "-") in text) is (said == "left out"), (row, column, text)


def test_what_is_left_out_on_purpose_is_left_out(systems: dict[str | None, sr.System]) -> None:
    """With contacts=False all answers are those of the block that falls, refused ones too."""
    falling = systems[None]
    for column in COLUMNS[1:]:
        system = systems[column]
        for call in (
            lambda s, **more: s.forward_dynamics(Q, V, **more).a,
            lambda s, **more: s.inverse_dynamics(Q, STILL, STILL, **more).u,
            lambda s, **more: sr.equilibrium(s, Q, hold=True, **more).u,
            lambda s, **more: s.sensors(Q, V, **more)["felt"],
            lambda s, **more: sr.reactions(s, Q, V, **more)["z"].force,
            lambda s, **more: sr.linearize_at(s, Q, V, **more).A,
            lambda s, **more: sr.linearize(s, Q, [WEIGHT, 0.0], **more).A,
            lambda s, **more: sr.linearize_along(s, [Q], [V], **more).A,
        ):
            np.testing.assert_allclose(call(system, contacts=False), call(falling), rtol=1e-12, atol=1e-12)
        assert sr.mobility(system, Q, contacts=False).contacts is None
        for run in (partial(many, switching=False), partial(single, switching=False, method="dopri5")):
            np.testing.assert_allclose(run(system), run(falling), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("column", ["coulomb", "closed form", "limits", "ropes"])
def test_where_all_is_open_nothing_changes(column: str, systems: dict[str | None, sr.System]) -> None:
    system, falling, up = systems[column], systems[None], [0.0, 0.5]
    for call in (
        lambda s: s.forward_dynamics(up, V).a,
        lambda s: s.inverse_dynamics(up, STILL, STILL).u,
        lambda s: sr.linearize_at(s, up, V).A,
        lambda s: sr.linearize_along(s, [up], [V]).A,
    ):
        # Geometries and contacts count in the characteristic length, the unit of least norms: rounding may differ.
        np.testing.assert_allclose(call(system), call(falling), rtol=1e-14, atol=1e-15)
    assert system.forward_dynamics(up, V).contacts is None


def test_a_joint_that_slides_has_a_linear_model_with_its_friction(
    systems: dict[str | None, sr.System],
) -> None:
    falling = [0.0, -0.5]
    model, plain = (sr.linearize_at(systems[column], Q, falling) for column in ("dry", None))
    np.testing.assert_array_equal(model.A, plain.A)
    np.testing.assert_allclose(model.affine - plain.affine, [0.0, 0.0, 0.0, 30.0 / 2.0], atol=1e-12)
