"""Inputs of a simulation: control laws u(q, v, t), applied forces τ(q, v, t) and event functions.

A function that returns CasADi expressions of the symbols (q, v, t) is compiled into the kernel. A Python function with
a sample time is called once per sample, and its value is held until the next sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.state_functions import StateFunction, arguments_beyond, trace_function
from sarrus.dynamics.solve.workspace import Workspace


@dataclass(frozen=True)
class Event:
    """An event function(q, v, t) or function(q, v, t, p), a CasADi expression, whose zeros are located within a step.

    direction : 1 counts rising zeros, −1 falling ones, 0 both. terminal : the run stops there.
    Raises `ArgumentError` for another direction.
    """

    name: str
    function: StateFunction
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ArgumentError(
                f"event {self.name!r}: direction must be -1, 0 or 1, got {self.direction!r}",
                element=self.name,
            )


def check_events(events: Sequence[Event]) -> None:
    """Raise `ArgumentError` unless ``events`` is a sequence of `Event` with different names."""
    if not (isinstance(events, Sequence) and all(isinstance(event, Event) for event in events)):
        raise ArgumentError(f"events must be a sequence of Event, got {events!r}", element="events")
    names = [event.name for event in events]
    if len(set(names)) != len(names):
        raise ArgumentError(f"events: names must be unique, got {names}", element="events")


def compile_control(system: Evaluations, control: StateFunction) -> NativeFunction:
    """Compile a control law u(q, v, t) over CasADi symbols."""
    return system.compiled.compile("control", {"u": trace_function(system, control, system.nu, "control")})


def compile_events(system: Evaluations, events: Sequence[Event]) -> tuple[NativeFunction, Array]:
    """Compile event functions; return them with their (direction, terminal) rows."""
    rows = [trace_function(system, event.function, 1, f"event {event.name!r}") for event in events]
    modes = np.array([[float(np.sign(event.direction)), float(event.terminal)] for event in events])
    return system.compiled.compile("events", {"g": ca.vertcat(*rows)}), modes


def with_force(work: Workspace, force: StateFunction) -> Workspace:
    """Return a workspace with the applied generalized force force(q, v, t) compiled into the passive forces."""
    e = work.equations
    value = trace_function(work, force, work.nv, "force")
    driven = replace(e, passive_force=e.passive_force + value, conservative=False)
    return work.on(work.model.with_equations(driven))


def sampled(system: Evaluations, function: StateFunction, q: Array, v: Array, t: float, what: str) -> Array:
    """Return the value of a Python function at a sample; errors name ``what``, and the caller adds the time."""
    size = system.nu if what == "control" else system.nv
    more = arguments_beyond(function, system.parameters, system.parameters.values())
    value = real_array(function(q, v, t, *more))
    if value.ndim == 0 and size == 1:
        value = value[None]
    if value.shape != (size,):
        raise ArgumentError(f"{what} must return {size} entries, got shape {value.shape}", element=what)
    if not np.isfinite(value).all():
        raise ArgumentError(f"{what} returned {value}; every entry must be finite", element=what)
    return value
