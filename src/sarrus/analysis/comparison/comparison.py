"""`compare`: one motion by several formulations, side by side."""

from __future__ import annotations

import csv
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.comparison.comparison_row import ComparisonRow
from sarrus.analysis.comparison.tolerances import BRIEF_RUN, COMPARISON_STEP
from sarrus.base.arrays import Array
from sarrus.base.errors import AccuracyWarning, ArgumentError, check_is, check_known, unknown_name
from sarrus.base.files.atomic import checked_path, write_text
from sarrus.base.files.netcdf import Dataset, Variable
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import real_array
from sarrus.base.status import Status
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.system import System
from sarrus.formulations import LEAST_CONDITION, METHODS, SOFTENED
from sarrus.motion.inputs.run_options import Stabilization, what_acts
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.simulate import simulate

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure
    from rich.console import Group

# The run in independent coordinates lies on the constraints by itself, whatever stabilises the others.
PARTITION = {"coordinates": "partition", "stabilization": "projection"}
RUNS: dict[str, dict[str, Any]] = {
    "kernel": {},
    "partition": PARTITION,
    **{name: {"formulation": name} for name in METHODS},
}
# Runs by name: "all" are the above, which solve the same equations; softened formulations solve others, and those of
# least condition are done twice.
NAMED = {**RUNS, **{name: {"formulation": name} for name in (*SOFTENED, *LEAST_CONDITION)}}

# Arguments of `simulate` that `compare` gives by itself.
_OWN = ("system", "q", "v", "duration", "progress", "throw")

Formulations = str | Iterable[str] | Mapping[str, Mapping[str, Any]]
Reference = str | Trajectory | Callable[[float], ArrayLike]

_COLUMNS = [field.name for field in fields(ComparisonRow)]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The runs of `compare`.

    Attributes
    ----------
    name : name of the system.
    trajectories : label → `Trajectory`, in order of the runs; a failed one holds the motion so far.
    options : label → its options of `simulate`.
    conservative : True if the energy should be constant.
    reference : the motion with which positions are compared: label of a run, a `Trajectory` or a function of time; None
        for none.
    """

    name: str
    trajectories: dict[str, Trajectory]
    options: dict[str, dict[str, Any]]
    conservative: bool = True
    reference: Reference | None = None

    def __getitem__(self, label: str) -> Trajectory:
        check_known("run", label, self.trajectories)
        return self.trajectories[label]

    @cached_property
    def velocity_residuals(self) -> dict[str, Array]:
        """Largest entry of ψ in absolute value at every sample of every run [m/s, rad/s]."""
        return {label: _velocity_residual(run) for label, run in self.trajectories.items()}

    @cached_property
    def position_errors(self) -> dict[str, Array]:
        """Largest entry of q − q_reference in absolute value at every sample of every run [m, rad].

        Taken along velocities, so that a quaternion counts as an angle. NaN at times that the reference does not cover,
        and without a reference.
        """
        return {label: self._position_error(run) for label, run in self.trajectories.items()}

    def _position_error(self, run: Trajectory) -> Array:
        reference, errors = self.reference, np.full(len(run.t), np.nan)
        if isinstance(reference, str):
            reference = self.trajectories.get(reference)
        if reference is None or run.system is None:
            return errors
        covered = np.ones(len(run.t), dtype=bool)
        if isinstance(reference, Trajectory):
            first, last = (reference.t[0], reference.t[-1]) if len(reference.t) else (np.inf, -np.inf)
            covered = (run.t >= first - BRIEF_RUN) & (run.t <= last + BRIEF_RUN)
            expected = reference.at(np.clip(run.t[covered], first, last))
        else:
            expected = np.array([real_array(reference(float(t))) for t in run.t])
        system = run.system.workspace()
        errors[covered] = [
            np.abs(difference(system, right, q)).max() for right, q in zip(expected, run.q[covered])
        ]
        return errors

    def table(self) -> tuple[ComparisonRow, ...]:
        """Return a `ComparisonRow` for each run."""
        return tuple(self._row(label, run) for label, run in self.trajectories.items())

    def _row(self, label: str, run: Trajectory) -> ComparisonRow:
        return ComparisonRow(
            formulation=label,
            position_error=_largest(self.position_errors[label]),
            energy_error=run.energy_drift if len(run.t) else np.nan,
            closure_residual=_largest(run.residual),
            velocity_residual=_largest(self.velocity_residuals[label]),
            condition_median=float(np.median(run.condition)) if len(run.t) else np.nan,
            condition_largest=_largest(run.condition),
            steps_per_second=run.steps / run.wall_seconds if len(run.t) and run.wall_seconds > 0 else np.nan,
            status=run.status,
            message=run.message,
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """Return a figure of errors over time; see `sarrus.plot.comparison`."""
        return lazy_import("pictures.plots.plot", "comparison")(self, path)

    def to_xarray(self) -> xr.Dataset:
        """Return the table as an `xarray.Dataset` over ``formulation``; statuses are their names.

        The motions are in ``trajectories[label].to_xarray()``.
        """
        records, columns = self._records(), {}
        for field in fields(ComparisonRow):
            unit, values = field.metadata.get("unit"), np.array([record[field.name] for record in records])
            columns[field.name] = Variable(("formulation",), values, {"units": unit} if unit else {})
        return Dataset(columns, {"formulation": columns.pop("formulation")}, {"name": self.name}).to_xarray()

    def to_csv(self, path: str | Path) -> Path:
        """Write the table to a .csv file, a row for each run; return its path."""
        path = checked_path(path, (".csv",), "a table is saved as CSV")
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, _COLUMNS)
        writer.writeheader()
        writer.writerows(self._records())
        write_text(path, text.getvalue(), kept="the comparison is still in memory")
        return path

    def _records(self) -> list[dict[str, Any]]:
        return [{**asdict(row), "status": str(row.status)} for row in self.table()]

    def __rich__(self) -> Group:
        from sarrus.analysis.comparison.comparison_table import comparison_table  # rich, for start-up time

        return comparison_table(self.name, self.conservative, self.table())

    def __str__(self) -> str:
        from rich.console import Console  # for start-up time

        text = io.StringIO()
        Console(file=text, width=120, color_system=None).print(self.__rich__())
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def __repr__(self) -> str:
        runs = ", ".join(f"{label}: {run.status}" for label, run in self.trajectories.items())
        return f"Comparison({self.name!r}: {runs})"


def compare(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    duration: float,
    formulations: Formulations = "all",
    reference: Reference | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Comparison:
    """Return a `Comparison`: one motion simulated by several formulations, with energy, residuals and speed of each.

    Parameters
    ----------
    q, v, duration : as for `simulate`.
    formulations : "all"; a name or names out of "kernel" (the compiled solve), "partition" (local state-space form in
        independent coordinates, for any stabilization of the others), `sarrus.formulations.METHODS`, where
        "lagrange:baumgarte" has its own stabilization, `SOFTENED` and `LEAST_CONDITION`, which "all" leaves out; or a
        mapping from labels to options of `simulate`, such as ``{"textbook": {"formulation": "lagrange",
        "stabilization": "baumgarte"}, "kernel": {}}``.
    reference : the motion with which positions are compared, which adds a column to the table: label of a run, a
        `Trajectory` (interpolated at other times), or q(t) (nq,) in closed form.
    progress : a line for each run on stderr, with a bar in a terminal; default: in a terminal.
    options : options of `simulate` for every run, such as ``dt`` or ``stabilization``; those of a mapping have
        priority. Default: the same fixed steps of 1 ms for all runs. If a run has a formulation or coordinates,
        contacts with friction, limits and dry friction are left out of all runs (``switching=False``). Errors are not
        estimated, because the runs are compared with each other.

    A formulation that cannot continue keeps its row, with status and message, and the other runs are done: `lagrange`
    and `kkt` refuse redundant rows, for instance. Formulations are solved in Python, a hundred times slower than the
    kernel: five seconds at 1 ms take some ten seconds each. An interrupt from the keyboard ends the present run and
    omits the following ones.

    Returns
    -------
    Comparison
        ``print(comparison)`` shows the table, ``comparison.plot(path)`` the figure.

    Raises
    ------
    ArgumentError
        Before the first run: an unknown name or option, a start that violates the constraints, other invalid arguments.
    """
    check_is("compare", system, System)
    runs = {label: _filled({**options, **own}) for label, own in _runs(formulations, options).items()}
    _check_reference(system, reference, runs)
    own = ("formulation", "coordinates")
    if what_acts(system) and any(given.get(name) is not None for given in runs.values() for name in own):
        runs = {label: {"switching": False, **given} for label, given in runs.items()}
    brief = min(duration, BRIEF_RUN) if isinstance(duration, Real) else duration
    for label, given in runs.items():
        try:
            _run(system, q, v, duration=brief, progress=False, **given)
        except ArgumentError as error:
            raise ArgumentError(
                f"run {label!r}: {error}", element=error.element, valid=error.valid
            ) from error
    shown = sys.stderr.isatty() if progress is None else progress
    trajectories: dict[str, Trajectory] = {}
    for label, given in runs.items():
        if shown:
            print(f"{len(trajectories) + 1:3} of {len(runs)}  {label}", file=sys.stderr, flush=True)
        bar = None if shown else False
        run = _run(system, q, v, duration=duration, progress=bar, **given)
        trajectories[label] = run
        if run.status is Status.INTERRUPTED:
            break
    driven = any(given.get(name) is not None for given in runs.values() for name in ("control", "force"))
    return Comparison(
        name=system.name,
        trajectories=trajectories,
        options={label: runs[label] for label in trajectories},
        conservative=system.equations.conservative and not driven,
        reference=reference,
    )


def _run(system: System, q: ArrayLike, v: ArrayLike | None, **given: Any) -> Trajectory:
    """Return a run without warnings on its accuracy, which is in its row of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return simulate(system, q, v, throw=False, **given)


def _check_reference(system: System, reference: object, runs: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` for a reference that is no motion of the system."""
    if isinstance(reference, str):
        check_known("reference", reference, runs)
    elif isinstance(reference, Trajectory):
        if reference.coordinate_names != system.coordinate_names:
            raise ArgumentError(
                f"reference: {reference.name!r} has the coordinates {', '.join(reference.coordinate_names)}; it must "
                f"have those of {system.name}, {', '.join(system.coordinate_names)}",
                element="reference",
            )
    elif callable(reference):
        shape = np.shape(reference(0.0))
        if shape != (system.nq,):
            raise ArgumentError(
                f"reference: q(t) must be ({system.nq},), got shape {shape}", element="reference"
            )
    elif reference is not None:
        raise ArgumentError(
            "reference must be the label of a run, a Trajectory or a function of time, got "
            f"{type(reference).__name__}",
            element="reference",
        )


def _runs(formulations: Formulations, options: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return label → own options; every name of a run and of an option is known."""
    if isinstance(formulations, Mapping):
        runs = dict(formulations)
        for label, own in runs.items():
            if not isinstance(own, Mapping):
                raise ArgumentError(
                    f"formulations: {label!r} must map to options of simulate, such as "
                    f"{{'formulation': 'null-space'}}, got {own!r}",
                    element=str(label),
                )
    else:
        labels = [formulations] if isinstance(formulations, str) else list(formulations)
        if "formulation" in options:
            raise ArgumentError("give the formulation in formulations=", element="formulation")
        kept = Stabilization.of(options.get("stabilization", "projection"))
        runs = {label: _named(label, kept) for label in (RUNS if labels == ["all"] else labels)}
    if not runs:
        raise ArgumentError("formulations is empty: nothing to compare", element="formulations")
    known = [name for name in inspect.signature(simulate).parameters if name not in _OWN]
    for name in (*options, *(name for own in runs.values() for name in own)):
        check_known("option", name, known)
    return runs


def _filled(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a run with the default steps filled in."""
    steps = (
        {}
        if any(given.get(name) is not None for name in ("dt", "method", "rtol", "atol"))
        else {"dt": COMPARISON_STEP}
    )
    return {"error_estimate": False, **given, **steps}


def _named(label: str, kept: Stabilization) -> dict[str, Any]:
    """Return the options of a run from its name, or "name:stabilization", with the numbers of ``kept``."""
    name, colon, stabilization = str(label).partition(":")
    if name not in NAMED:
        raise ArgumentError(
            unknown_name("formulation", name, ("all", *NAMED)), element=str(label), valid=NAMED
        )
    if not colon:
        return dict(NAMED[name])
    try:
        invariants = kept.invariants if stabilization in ("projection", "energy") else ()
        return {**NAMED[name], "stabilization": replace(kept, kind=stabilization, invariants=invariants)}
    except ArgumentError as error:
        raise ArgumentError(f"run {label!r}: {error}", element=error.element, valid=error.valid) from error


def _largest(values: Array) -> float:
    return float(values.max()) if len(values) else np.nan


def _velocity_residual(run: Trajectory) -> Array:
    system = run.system
    if system is None or system.nc == 0:
        return np.zeros(len(run.t))
    return np.array(
        [np.abs(system.velocity_residual(q, v, float(t))).max() for q, v, t in zip(run.q, run.v, run.t)]
    )
