"""The subject of a view or picture: one system, its initial configuration, and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.plots.skeleton import drawn_mechanism, drawn_system
from sarrus.pictures.scene.tolerances import SHOWN_CLOSED

Viewable: TypeAlias = Mechanism | System | Trajectory


@dataclass(frozen=True, eq=False)
class Subject:
    """The system, the initial configuration, and the runs with their names."""

    system: System
    q: Array
    runs: tuple[Trajectory, ...]
    labels: tuple[str, ...]

    @property
    def motion(self) -> Array:
        """All configurations (frames, nq)."""
        return np.concatenate([run.q for run in self.runs]) if self.runs else self.q[None]

    @property
    def span(self) -> tuple[float, float]:
        """Begin and end of the runs [s]."""
        return min(run.t[0] for run in self.runs), max(run.t[-1] for run in self.runs)


def subjects(
    what: tuple[Viewable | Mapping[str, Trajectory], ...], system: System | None, q: ArrayLike | None
) -> Subject:
    """Return the `Subject` of the arguments of `sarrus.view`."""
    named: list[tuple[str, Viewable]] = []
    for thing in what:
        if isinstance(thing, Mapping):
            named += [(str(name), run) for name, run in thing.items()]
        else:
            named.append((getattr(thing, "name", ""), thing))
    if not named:
        raise ArgumentError("nothing to show: give a Mechanism, a System or trajectories", element="what")
    models = [thing for _, thing in named if not isinstance(thing, Trajectory)]
    runs = [(name, thing) for name, thing in named if isinstance(thing, Trajectory) and len(thing.t)]
    if models and (len(named) > 1 or not isinstance(models[0], (Mechanism, System))):
        kinds = ", ".join(type(thing).__name__ for _, thing in named)
        raise ArgumentError(
            f"give one Mechanism or System, or trajectories (system= says which moved), not {kinds}",
            element="what",
        )
    if models:
        model = models[0]
        shown = model if isinstance(model, System) else System(model)
        drawn_mechanism(shown)
        return Subject(shown, _start(shown, q), (), ())
    if not runs:
        raise ArgumentError("all trajectories are empty: nothing to show", element="what")
    shown, _ = drawn_system(runs[0][1], system)
    for _, run in runs[1:]:
        drawn_system(run, shown)
    start = np.array(runs[0][1].q[0]) if q is None else _start(shown, q)
    return Subject(shown, start, tuple(run for _, run in runs), _distinct([name for name, _ in runs]))


def _start(system: System, q: ArrayLike | None) -> Array:
    """Return a closed configuration at q, at the first keyframe, or at the reference pose."""
    if q is None:
        keyframes = drawn_mechanism(system).keyframes
        q = next(iter(keyframes.values())).q if keyframes else system.neutral()
    start = system.normalized(np.asarray(q, dtype=float))
    if np.abs(system.constraint_residual(start)).max(initial=0.0) <= SHOWN_CLOSED:
        return start
    try:
        return np.array(system.assemble(start).q)
    except SarrusError as error:
        raise ArgumentError(
            f"{error}; give q=, a configuration nearer to a closed one", element="q"
        ) from error


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return the names, numbered if they repeat."""
    return tuple(f"{name} {k + 1}" if names.count(name) > 1 else name for k, name in enumerate(names))


def at(run: Trajectory, time: float) -> Array:
    """Return q of a run at a time, constant before its start and after its end."""
    return run.at(np.clip(time, run.t[0], run.t[-1]))


def sample(run: Trajectory, time: float) -> int:
    """Return the sample at or before a time."""
    return int(np.clip(np.searchsorted(run.t, time, side="right") - 1, 0, len(run.t) - 1))
