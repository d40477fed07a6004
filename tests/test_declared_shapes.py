"""Every array of the main results has the shape that its documentation declares, and every field its declared type.

Sizes of the system are those of the system, other names stand for one size in all arrays of a result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
from beartype.door import is_bearable
from jaxtyping import Bool, Complex, Float, Int, jaxtyped

import sarrus as sr
from mechanisms import four_bar, random_loop
from sarrus.base.arrays import Array

NUMBERS = {"f": Float, "c": Complex, "i": Int, "b": Bool}


@dataclass(frozen=True)
class Start:
    """A system, a state that its loops allow, and the results of the functions that want nothing else."""

    system: sr.System
    q: Array
    v: Array

    @cached_property
    def linear(self) -> sr.LinearSystem:
        return sr.linearize_at(self.system, self.q, self.v)

    @cached_property
    def runs(self) -> sr.Rollout:
        starts = np.tile(self.q, (3, 1)), np.tile(self.v, (3, 1))
        return sr.rollout(self.system, *starts, duration=0.01, dt=1e-3, every=5)


@cache
def loops() -> Start:
    """Return a mechanism whose nq, nv, nu and nc all differ."""
    mechanism, q = random_loop("quaternions")
    mechanism.add_actuator("motor", "j2")
    system = sr.System(mechanism)
    assert len({system.nq, system.nv, system.nu, system.nc}) == 4
    return Start(system, q, system.project_velocity(q, np.ones(system.nv)))


@cache
def planar() -> Start:
    """Return a four-bar, for what has to find a place."""
    system = sr.System(four_bar())
    q = system.assemble(system.neutral() + np.array([1.0, -0.5, -1.0])).q
    return Start(system, q, np.zeros(3))


MODEL = {"A": "f n n", "B": "f n nu", "E": "f n", "affine": "f n"}
OUTPUTS = {"C": "f ny n", "D": "f ny nu"}
FORCES = {"multipliers": "f nc", "constraint_force": "f nv"}
CASES: dict[str, tuple[Callable[[], Start], Callable[[Start], Any], dict[str, str]]] = {
    "Assembly": (loops, lambda s: s.system.assemble(s.q), {"q": "f nq"}),
    "ForwardDynamics": (
        loops,
        lambda s: s.system.forward_dynamics(s.q, s.v),
        {"a": "f nv", **FORCES, "determined": "b nc", "unbalanced": "f nv"},
    ),
    "InverseDynamics": (
        loops,
        lambda s: s.system.inverse_dynamics(s.q, s.v, s.system.forward_dynamics(s.q, s.v).a),
        {"u": "f nu", **FORCES},
    ),
    "Trajectory": (
        loops,
        lambda s: sr.simulate(s.system, s.q, s.v, duration=0.01, dt=1e-3),
        {
            "t": "f T", "q": "f T nq", "v": "f T nv", "a": "f T nv", "u": "f T nu", "multipliers": "f T nc",
            "energy": "f T", "rank": "i T", "dof": "i T", "condition": "f T", "residual": "f T", "error": "f T",
            "contact_forces": "f T 0", "contact_loss": "f T", "invariants": "f T 0", "smallest_singular_value": "f T",
            "spike_indicator": "f T", "spike_acceleration": "f T", "singular_value_rate": "f T",
        },
    ),
    "BodyMotion": (
        loops,
        lambda s: sr.simulate(s.system, s.q, s.v, duration=0.01, dt=1e-3).body_motion("b1", (0.1, 0.2, 0.3)),
        {
            "t": "f T", "point": "f 3", "position": "f T 3", "rotation": "f T 3 3", "velocity": "f T 3",
            "angular_velocity": "f T 3", "acceleration": "f T 3", "angular_acceleration": "f T 3",
        },
    ),
    "Rollout": (
        loops,
        lambda s: s.runs,
        {
            "t": "f samples", "condition": "f runs samples", "rank": "i runs samples", "reached": "f runs",
            "final_q": "f runs nq", "final_v": "f runs nv", "rejected": "i runs", "steps": "i runs",
            "success": "b runs", "status": "O runs", "failed": "i failures",
        },
    ),
    "Quantities": (
        loops,
        lambda s: s.runs.samples,
        {
            "t": "f runs samples", "rank": "f runs samples", "largest_pivot": "f runs samples",
            "smallest_pivot": "f runs samples", "inverted_condition": "f runs samples",
            "q": "f runs samples nq", "v": "f runs samples nv", "a": "f runs samples nv",
            "u": "f runs samples nu", "multipliers": "f runs samples nc", "energy": "f runs samples",
            "residual": "f runs samples",
        },
    ),
    "Mobility": (
        loops,
        lambda s: sr.mobility(s.system, s.q),
        {"q": "f nq", "determined": "b nc", "motions": "f nv dof", "singular_values": "f nc"},
    ),
    "LinearSystem": (
        loops,
        lambda s: s.linear,
        {
            **MODEL, **OUTPUTS, "multipliers": "f nc", "q": "f nq", "v": "f nv", "u": "f nu",
            "A_full": "f 2*nv 2*nv", "tangent": "f 2*nv n", "tangent_rates": "f 2*nv n",
            "coordinate_rows": "f y nq", "eigenvalues": "c n", "mode_shapes": "c nv n",
            "damping_ratios": "f n", "natural_frequencies": "f n",
        },
    ),
    "LinearModels": (
        loops,
        lambda s: sr.linearize_along(s.system, [s.q, s.q, s.q], [s.v, s.v, s.v]),
        {name: shape[:2] + "N " + shape[2:] for name, shape in MODEL.items()} | {"t": "f N"},
    ),
    "DiscreteSystem": (
        loops,
        lambda s: s.linear.discretize(0.01),
        {name: shape for name, shape in (MODEL | OUTPUTS).items() if name != "E"},
    ),
    "Parametrization": (
        loops,
        lambda s: sr.parametrize(s.system, s.q),
        {"q0": "f nq", "v0": "f nv", "y0": "f y"},
    ),
    "Equilibrium": (
        planar,
        lambda s: sr.equilibrium(s.system, s.q),
        {
            "q": "f nq", "u": "f nu", "multipliers": "f nc", "determined": "b nc", "motions": "f nv dof",
            "stiffness": "f dof dof", "eigenvalues": "f dof",
        },
    ),
    "StepDerivatives": (
        loops,
        lambda s: sr.sensitivity.step_derivatives(s.system, s.q, s.v, dt=1e-3),
        {"F": "f 2*nv 2*nv", "G": "f 2*nv nu", "P": "f 2*nv np", "q": "f nq", "v": "f nv"},
    ),
    "Formulation": (
        loops,
        lambda s: sr.formulations.null_space(*matrices(s)),
        {"a": "f nv", "constraint_force": "f nv", "multipliers": "f nc", "determined": "b nc"},
    ),
    "Impact": (
        loops,
        lambda s: sr.impact(s.system, s.q, np.arange(float(s.system.nv))),
        {"v": "f nv", "impulse": "f nc", "generalized_impulse": "f nv", "determined": "b nc"},
    ),
}  # fmt: skip


def matrices(start: Start) -> list[Array]:
    """Return what a formulation takes: M, h, A, γ and τ."""
    system, q, v = start.system, start.q, start.v
    terms = [system.mass_matrix(q), system.bias_force(q, v), system.constraint_jacobian(q, v)]
    return [*terms, system.constraint_bias(q, v), system.passive_force(q, v)]


def arrays_of(result: Any) -> dict[str, np.ndarray]:
    """Return the public attributes that are arrays."""
    found = {name: getattr(result, name) for name in dir(result) if not name.startswith("_")}
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("name", CASES)
def test_arrays(name: str) -> None:
    """Shape and kind of number of each; none is left out of the table."""
    start, make, declared = CASES[name]
    system, result = start().system, make(start())
    assert type(result).__name__ == name
    found = arrays_of(result)
    assert set(found) == set(declared)
    with jaxtyped("context"):
        for size in ("nq", "nv", "nu", "nc"):
            assert isinstance(np.empty(getattr(system, size)), Float[np.ndarray, size])
        for entry, shape in declared.items():
            kind, dimensions = shape[0], shape[2:]
            array = found[entry]
            assert array.dtype.kind == kind, entry
            if kind in NUMBERS:
                assert isinstance(array, NUMBERS[kind][np.ndarray, dimensions]), (entry, array.shape)


@pytest.mark.parametrize("name", CASES)
def test_fields(name: str) -> None:
    """Each field is what its annotation says, the numbers of arrays included."""
    start, make, _ = CASES[name]
    result = make(start())
    public = {key: getattr(sr, key) for key in sr.__all__}
    for kind in type(result).__mro__[:-1]:
        known = {"np": np, **public, **vars(inspect.getmodule(kind))}
        for field, hint in inspect.get_annotations(kind).items():
            try:
                hint = eval(hint, known) if isinstance(hint, str) else hint
            except NameError:
                continue  # of a type that is imported for annotations only
            if hasattr(result, field):
                assert is_bearable(getattr(result, field), hint), (field, hint)
