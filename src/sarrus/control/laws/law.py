"""`Law`: base of all control laws, a list of demands on a constrained motion that one kernel solves level by level."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import real_array
from sarrus.base.status import Status
from sarrus.control.laws.demands import (
    Command,
    Demand,
    ForceDemand,
    Level,
    Settings,
    SettingValues,
)
from sarrus.control.laws.explanation import Explanation, LimitUse, explained
from sarrus.control.laws.hand_over import ContactUnknowns, with_hand_overs
from sarrus.control.laws.law_arrays import LawArrays, law_table
from sarrus.control.laws.law_command import command_of
from sarrus.control.laws.law_failure import gap_place, is_too_large, no_answer, refusal, what_was_open
from sarrus.control.laws.law_limits import LawLimits
from sarrus.control.laws.law_options import LawOptions, chosen
from sarrus.control.laws.law_outputs import law_outputs
from sarrus.control.laws.least_norm import constant_norm, norm_levels
from sarrus.control.laws.plant_contacts import PlantContacts, contacts_of_plant
from sarrus.control.laws.row_units import in_characteristic_units
from sarrus.control.laws.tolerances import LEVEL_CUT, MEASURED
from sarrus.dynamics.closing.closed_state import largest_opening, what_is_open
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.model.control_metric import control_norm, unit_of_controls
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.options import Options
from sarrus.dynamics.solve.ranks import look_around
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.platform.c_function import hierarchy, hierarchy_in_cones, law_on_contacts
from sarrus.symbolic.equations.symbolic import ParameterValues

# For so many topologies the rank of A is kept.
_KEPT = 1024


class Law:
    """A control law u = law(q, v, t) of a constrained system; `sarrus.control` lists the laws.

    A law is a list of demands on accelerations, multipliers and generalized forces, in order of priority, over the
    equations of ``system``: the model of the law, which may have other parameters than the plant.
    `sarrus.kernels.laws.hierarchy` solves them for any rank of A and any number of degrees of freedom. Demands that
    contradict demands above them are met in the least-squares sense, in characteristic units if ``Demand.units``
    distinguishes lengths, angles and forces. Remaining freedom of u minimises the distance to ``preferred`` in the
    norm uᵀ diag(weights) u or that of the ``metric`` of the options; default:
    `sarrus.dynamics.model.control_metric.default_weights`, which does not depend on units of measurement.

    Limits are those of ``options`` (`LawOptions`, or each by its name), by default those of the mechanism's actuators.
    They are never exceeded; if a limit prevents the demands, levels give way to it, the last one first.
    ``sr.simulate(control=law)`` runs the law in the compiled loop, with or without a ``sample_time``. ``settings``
    holds its gains and targets by name: assignment to an item compiles nothing.
    Contacts that are constraints are active as the parameters say. Other contacts, ropes, limits of joints and dry
    friction of the model act as they do at the state (`sarrus.kernels.laws.plant_contacts`): forward dynamics with u
    gives the accelerations of the law.

    Threads may share a law: calls wait for each other, and a simulation works on a `copy`. The memory from sample to
    sample exists once per law: a thread that samples a law itself needs a copy.
    """

    def __init__(
        self,
        system: System,
        levels: Sequence[Demand | ForceDemand],
        settings: Settings,
        *,
        weights: ArrayLike | None = None,
        preferred: ArrayLike | None = None,
        options: LawOptions | None = None,
        **by_name: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        system.require_no_activations("control laws")
        options = chosen(options, LawOptions, by_name)
        self.system = system
        nearest = np.zeros(system.nu)
        if preferred is not None:
            nearest[:] = system.checked(preferred, system.nu, "preferred")
        self.name = type(self).__name__
        self.unknowns, self.constraint_rows = self._dimensions()
        self.hand_overs, levels = with_hand_overs(self, levels, options.hand_overs, settings)
        self.levels = self._in_order(levels, options.traced_bounds(system, settings))
        self.states, self.measured = tuple(settings.states), settings.measured
        self.needs_samples = not all(state.optional for state in settings.states)
        self.symbols = (*settings.symbols, settings.period)
        self._check_levels()
        if options.relaxation is None:  # else ρ says what counts as much as what
            self.levels = tuple(in_characteristic_units(system, level) for level in self.levels)
        self.norm = constant_norm(system, control_norm(system, weights, options.metric))
        self.levels += norm_levels(self, options, nearest)
        if system.nu == 0:
            raise ArgumentError(f"{self.name}: {system.name} has no actuators to drive", element=system.name)
        self.native = system.compiled.compile(self.name, self.outputs(), list(self.symbols))
        self.unit = unit_of_controls(system, self.norm.weights)
        table = law_table(self, settings.measured_at)
        self.arrays = LawArrays(
            table=table,
            input=np.zeros(self.native.n_in),
            tolerances=ll.LawSettings.zeros(),
            roots=self._roots(),
            preferred=np.append(nearest, np.zeros(self.unknowns - system.nu)),
            state=np.zeros(system.nq + system.nv + system.nu + 1),
            answer=np.zeros(self.unknowns + 1 + ll.PER_LEVEL * len(self.levels)),
            work=np.zeros(sum(ll.law_sizes(table))),
        )
        self.settings = SettingValues(f"{self.name} of {system.name}", settings.values, self._own_input())
        self.arrays.tolerances.damping = options.checked_damping(self.name)
        self.limits = self._limits(options)
        self.plain_kernel = hierarchy if self.limits is None else hierarchy_in_cones
        self.arrays.tolerances.level_cut = LEVEL_CUT
        self.plant = contacts_of_plant(self, options)
        self.kernel = self.plain_kernel if self.plant is None else law_on_contacts
        self.is_prepared = False
        self._ranks: dict[tuple[float, ...], tuple[int, Array, list[float]]] = {}
        self._seen: tuple[int, Options | None] = (0, None)
        self._values: ParameterValues | None = None  # those in the input, after so many changes
        self._changes = -1
        self._run_workspace: Workspace | None = None
        self._sees_run = False
        self.gap_place, self.opening = gap_place(self.native), np.inf  # where it is, and how much it may be
        self._lock = threading.RLock()

    def _in_order(
        self, levels: Sequence[Demand | ForceDemand], bounds: Sequence[Demand]
    ) -> tuple[Demand | ForceDemand, ...]:
        """Return all levels in order, with those of bounds inserted."""
        return *bounds, *levels

    @property
    def first_task(self) -> int:
        """Number of the first level that is a task."""
        return 0

    @property
    def own_contacts(self) -> ContactUnknowns | None:
        """The contacts whose forces are unknowns of the law."""
        return None

    def _roots(self) -> Array:
        """Return the units in which the kernel has the unknowns."""
        return self.unit / np.sqrt(self.norm.weights)

    def _limits(self, options: LawOptions) -> LawLimits | None:
        """Return the limits for the kernel; None without limits."""
        physics = options.physics(self.name, self.system, self.unknowns, len(self.levels), unit=self.unit)
        lower, upper = physics[: self.system.nu], physics[self.system.nu : 2 * self.system.nu]
        own = any(isinstance(x, Demand) and (x.at_most or x.active is not None) for x in self.levels)
        limited = np.isfinite([lower, upper]).any() or options.largest_rate > 0.0
        if not (own or limited or options.constraints is not None):
            return None
        self.arrays.preferred[:] = np.clip(self.arrays.preferred, lower, upper)
        return LawLimits(
            self.name, self.table, self.levels, physics, actuators=self.system.actuator_names,
            constraints=options.constraints, hold=options.hold, first_soft=options.first_soft(self.name, self.levels),
        )  # fmt: skip

    @property
    def loop(self) -> tuple[int, int]:
        """Addresses of the table and of the kernel for the loop of a run."""
        return (self.table.ctypes.data, self.kernel.address) if self.plant is None else self.plant.loop

    @property
    def acting(self) -> PlantContacts | None:
        """The contacts of the plant, if any took part at the last call."""
        return self.plant if self.plant is not None and self.plant.acts else None

    @property
    def outcome(self) -> str:
        """Outcome of the last call, see `Command`."""
        limits = self.acting or self.limits
        return "exact" if limits is None else limits.outcome

    def __call__(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return u (nu,) at a state; `solve` returns more.

        Raises `SolveError` if there is no acceleration (M not positive definite on the motions), if u is not finite, if
        no solution lies within all limits (unless ``hold`` damps the joints), and, NOT_CLOSED, if the loops are open by
        more than 3e-3 rad or characteristic lengths, more than encoder errors explain; below that, u belongs to q as it
        is. ``solve(q, v, t, throw=False)`` uses q as it is, whatever the gap.
        """
        return self._run(q, v, t, ll.ANSWER_ONLY, MEASURED)

    def _run(self, q: ArrayLike, v: ArrayLike, t: float, what: int, most_open: float = np.inf) -> Array:
        system, state = self.system, self.arrays.state
        with self._lock:
            if not self.is_prepared or system.parameters:
                self.prepare(q, v, t)
            state[: system.nq] = q
            state[system.nq : system.nq + system.nv] = v
            state[-1] = t
            if self.plant is not None:
                self.plant.look(q, v, t)
            arrays = self.arrays if self.plant is None else self.plant.arrays
            if self.kernel.entry(*arrays.addresses, what) < 0:
                self._fail(q, v, t)
            if self.arrays.work.item(self.gap_place) > most_open and (told := what_was_open(self, q, t)):
                raise Status.NOT_CLOSED.error(f"{self.name} of {system.name}", told)
            return self.arrays.answer[: system.nu].copy()

    def sample(
        self, q: ArrayLike, v: ArrayLike, t: float, period: float, multipliers: ArrayLike | None = None
    ) -> Array:
        """Return u (nu,) at a sample and advance the law's memory by ``period`` [s]; λ (nc,) are measured
        ``multipliers``.
        """
        with self._lock:
            if not self.is_prepared:
                self.prepare(q, v, t)
            if self.measured and multipliers is not None:
                known = real_array(multipliers)
                if known.shape != (self.system.nc,) or not np.isfinite(known).all():
                    raise ArgumentError(
                        f"{self.name}: multipliers must be {self.system.nc} finite numbers, got {multipliers!r}",
                        element="multipliers",
                    )
                at = self.table.measured
                self.arrays.input[at] = 1.0
                self.arrays.input[at + 1 :][: len(self.measured)] = known[list(self.measured)]
            self.period = period
            return self._run(q, v, t, ll.SAMPLE)

    def solve(self, q: ArrayLike, v: ArrayLike, t: float = 0.0, *, throw: bool = True) -> Command:
        """Return a `Command`: u with a `Level` for each demand; raises `SolveError` if one is missed, unless ``throw``
        is False.

        INFEASIBLE: no solution within all limits. ``conflict`` names limits that contradict each other, any one less of
        which does not, and u damps the joints within the limits of the actuators, as with ``hold``. Values that are not
        finite and states without an acceleration raise in any case. NOT_CLOSED: the loops are open by more than runs
        accept; u then belongs to q as it is, for instance as measured.
        """
        with self._lock:
            result = self._command(q, v, t)
        if throw and result.status is not Status.OK:
            told = result.message
            if result.outcome == "infeasible":
                told = refusal(result.conflict, self.table.n_contacts > 0)
            if result.status is Status.NOT_CLOSED:
                told = what_is_open(self.workspace(), self.system.normalized(q), t)
            raise result.status.error(f"{self.name} of {self.system.name}", told, result=result)
        return result

    def explain(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Explanation:
        """Return an `Explanation`: demand, residual and cost of each level at a state, and the limits reached;
        ``print`` it.

        The memory of the law does not change. Raises `SolveError` if no solution lies within all limits.
        """
        return explained(self, q, v, t)

    def _limits_in_use(self) -> tuple[LimitUse, ...]:
        """Return all limits with their values at the last call."""
        limits = self.acting or self.limits
        if limits is None:
            return ()
        wanted = self.native(self.arrays.input)[self.native.outputs["wanted"][0]]
        if isinstance(limits, PlantContacts):
            return limits.uses(wanted)
        return limits.uses(self.arrays, self.levels, int(self.arrays.answer[self.unknowns]), wanted)

    @property
    def cost_weights(self) -> Array:
        """W (nu,) of the minimised norm of the controls, which a level "least norm" precedes if there is one."""
        return self.norm.weights

    def _told(self) -> tuple[Level, ...]:
        """Return a `Level` for each demand of the last call."""
        facts = self.arrays.answer[self.unknowns + 1 :].reshape(-1, ll.PER_LEVEL).tolist()
        return tuple(
            Level(level.name, int(rank), rest, demanded, level.soft)
            for level, (rank, rest, demanded) in zip(self.levels, facts)
        )

    def _command(self, q: ArrayLike, v: ArrayLike, t: float) -> Command:
        """Return u with a `Level` for each demand."""
        return command_of(self, q, v, t)

    @property
    def period(self) -> float:
        """The time by which the memory advances at a sample [s]."""
        return float(self.arrays.input[self.table.period])

    @period.setter
    def period(self, value: float) -> None:
        self.arrays.input[self.table.period] = value

    def reset(self) -> None:
        """Clear measurements, memory and the last controls, as at the start of a simulation."""
        if self.limits is not None:
            self.limits.forget()
        if self.measured:
            self.arrays.input[self.table.measured :][: 1 + len(self.measured)] = 0.0
        self.period, own = 0.0, self._own_input()
        for state in self.states:
            size = len(state.start)
            own[state.place :][:size] = state.start if state.like is None else own[state.like :][:size]

    def copy(self) -> Law:
        """Return this law with arrays of its own and the same compiled code, for another thread; its settings are
        copies too.
        """
        with self._lock:
            return self._copy()

    def of_run(self, given: System, surfaces_of: System | None = None) -> Law:
        """Return a copy for a run of the system ``given``, whose parameters it uses if that is its own model.

        ``surfaces_of``: ``given`` is this system with all gaps in closed form, and the copy of a law of it is, too.
        """
        duplicate, closed_form = self.copy(), self.system is surfaces_of and given is not surfaces_of
        surfaces = closed_form and tuple(given.parameters) == tuple(self.system.parameters)
        if surfaces and duplicate.plant is not None:
            duplicate.plant = duplicate.plant.copy(duplicate, given)
        duplicate._sees_run = self.system is given or surfaces  # noqa: SLF001  of this class
        duplicate.forget_ranks()  # a run does not depend on calls before it
        return duplicate

    def join(self, run: Workspace) -> None:
        """Use the parameters of a run from now on, if it is a run of the law's own model."""
        self._run_workspace = run if self._sees_run else None
        self.forget_ranks()

    def forget_ranks(self) -> None:
        """Find the ranks of A anew at the next call."""
        self.is_prepared, self._ranks, self._seen = False, {}, (0, None)

    @property
    def table(self) -> ll.LawTable:
        """The table of the kernel; see `sarrus.kernels.memory.law_layout`."""
        return self.arrays.table

    def _own_input(self) -> Array:
        """Return the settings, with memory and measurements, then the period: the law's part of the native input."""
        return self.arrays.input[self.system.parts.tau.stop :]

    def workspace(self) -> Workspace:
        """Return the workspace for rank analyses, with the parameters of the run or of this thread."""
        return self._run_workspace or self.system.workspace()

    def __reduce__(self) -> str:
        raise ArgumentError(
            f"{self.name}: a law is compiled code for its system and cannot be pickled. Make it again in the process "
            "that uses it, or take law.copy() for another thread",
            element=self.name,
        )

    def _copy(self) -> Law:
        duplicate = object.__new__(type(self))
        vars(duplicate).update(vars(self))
        duplicate._lock = threading.RLock()
        duplicate._ranks = dict(self._ranks)
        duplicate.arrays = self.arrays.copy()
        if self.limits is not None:
            duplicate.limits = self.limits.copy(duplicate.table)
        if self.plant is not None:
            duplicate.plant = self.plant.copy(duplicate)
        duplicate.settings = SettingValues(
            f"{self.name} of {self.system.name}",
            {name: self.settings[name] for name in self.settings},
            duplicate._own_input(),
        )
        return duplicate

    def fit(self, system: Evaluations, *, sampled: bool) -> None:
        """Raise `ArgumentError` unless the law can drive ``system``: the same coordinates and actuators as its
        model.
        """
        if self.needs_samples and not sampled:
            raise ArgumentError(
                f"{self.name}: feedback with memory (integrals or measured forces) needs samples; give sample_time=, "
                "or set its gains to zero",
                element="sample_time",
            )
        own = self.system
        for what in ("coordinate_names", "velocity_names", "actuator_names"):
            mine, other = getattr(own, what), getattr(system, what)
            if mine != other:
                raise ArgumentError(
                    f"{self.name}: its model {own.name} has {what.replace('_', ' ')} {', '.join(mine)}, "
                    f"{system.name} has {', '.join(other)}",
                    element=what,
                )

    def prepare(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> None:
        """Take over the system's parameters and the rank of A for them; every call, and a run at each switch, does
        this.

        The rank of A is found once for each topology, the values of the parameters that shape A, near the state where
        the law first meets it.
        """
        work = self.workspace()
        values, seen = work.parameters, self._seen
        known = values is self._values and values.changes == self._changes and seen[1] is work.options
        if self.is_prepared and known:
            return
        if not self.is_prepared or seen[0] != values.switched or seen[1] is not work.options:
            topology = tuple([values[name] for name in self.shaping_parameters])
            if seen[1] is not work.options or len(self._ranks) >= _KEPT:
                self._ranks.clear()
            found = self._ranks.get(topology)
            if found is None:
                counts = [one.counts(work, q, v, t) for one in self.hand_overs]
                found = self._ranks[topology] = (*self.rank_near(work, q, v, t), counts)
            tolerances = self.arrays.tolerances
            self.table.generic_rank, (tolerances.singular_cut, tolerances.scale_of_rows), counts = found
            self._own_input()[[one.counts_at for one in self.hand_overs]] = counts
            self.is_prepared, self._seen = True, (values.switched, work.options)
            self.opening = largest_opening(work) if work.nh > 0 else np.inf
        self.arrays.input[self.system.parts.p] = list(values.values())
        self._values, self._changes = values, values.changes

    @property
    def shaping_parameters(self) -> tuple[str, ...]:
        """Names of the parameters on which the rank of the constraint rows of the law depends."""
        equations = self.system.equations
        return self.system.model.cached("shaping parameters", lambda: equations.shaping_parameters)

    def rank_near(self, work: Workspace, q: ArrayLike, v: ArrayLike, t: float) -> tuple[int, Array]:
        """Return the rank of the constraint rows near a state, and the cut and scale of their pivots."""
        x = self.system.pack(q, v, None, t)
        near, _, tolerances = look_around(work, x[self.system.parts.q], t, x[self.system.parts.v])
        scale = tolerances.scale_of_rows if data_of(work).exact else 0.0  # of rows that are not scaled
        return near.rank, np.array([tolerances.singular_cut, scale])

    def _dimensions(self) -> tuple[int, int]:
        """Return the number of unknowns and of constraint rows."""
        return self.system.nu, self.system.nc

    def _check_levels(self) -> None:
        """Raise `ArgumentError` unless the demands have the symbols of the system and settings, and the right sizes."""
        e = self.system.equations
        symbols = ca.vertcat(e.q, e.v, e.t, e.p, e.u, *self.symbols)
        sizes = {"jacobian": e.nv, "wanted": 1, "multipliers": e.nc, "unknowns": self.unknowns}
        for level in self.levels:
            level.check(self.name, sizes, symbols)

    @property
    def contact_count(self) -> int:
        """Number of contacts whose state the native function returns."""
        return 0

    def _fail(self, q: ArrayLike, v: ArrayLike, t: float) -> None:
        if self.outcome == "infeasible" and not is_too_large(self):
            text = refusal(self._conflict(), self.table.n_contacts > 0)
            raise Status.INFEASIBLE.error(f"{self.name} of {self.system.name}", text)
        raise no_answer(self, q, v, t)

    def _conflict(self) -> tuple[str, ...]:
        """Return the names of the owners of limits in conflict at the last call."""
        if acting := self.acting:
            return acting.conflict()
        if self.limits is None:
            return ()
        return self.limits.conflict(self.arrays, self.levels, int(self.arrays.answer[self.unknowns]))

    def outputs(self) -> dict[str, ca.SX]:
        """Return the outputs of the native function, expressions of the symbols of the system and the settings."""
        return law_outputs(self)

    def timed_expressions(self) -> list[ca.SX]:
        """Return the expressions of the law in which the time may occur."""
        of_system = ("mass", "force", "rows", "bias", "actuation", "gap")
        return [value for name, value in self.outputs().items() if name not in of_system]

    def __repr__(self) -> str:
        return f"{self.name}({self.system.name!r}: {', '.join(level.name for level in self.levels)})"
