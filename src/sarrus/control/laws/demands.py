"""What laws are made of: demands, settings, memory; and what became of them, a `Command` with its levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.control.laws.tolerances import ACHIEVED
from sarrus.symbolic.equations.symbolic import ParameterValues

# Units that rows of a level may have, up to powers of time, as powers of length and mass.
UNITS = {"m": (1, 0), "rad": (0, 0), "1": (0, 0), "N": (1, 1), "N m": (2, 1), "": (0, 0)}
# Of a streamed reference: the settings NAME.reference_rate and NAME.reference_acceleration.
DERIVATIVES = ("rate", "acceleration")


@dataclass(frozen=True, eq=False)
class Demand:
    """One level: rows J a + E λ = r, or ≤ r, over the symbols of a system, as all laws are made of.

    The symbols are ``system.equations``: e.q, e.v, e.t, with e.rate for q̇, and the expressions made of them, such as
    e.mass_matrix, e.jacobian and e.kinetic_energy; and those that `Settings.add` returns. λ are the multipliers, Aᵀλ is
    the force on the mechanism. Of a demand on some s(q, v, t), J = ∂s/∂v, and −∂s/∂q q̇ − ∂s/∂t is part of r.

    Rows that depend on others, or vanish, are no error: they lose rank, and what they ask for is then missed, in the
    least-squares sense, or follows. Rows that contradict those of levels above give way to them. A `Law` raises
    `ArgumentError` for a demand that does not fit its system.

    Attributes
    ----------
    name : of the level, in ``levels`` and ``missed`` of a `Command`.
    rows : names of the rows (m).
    jacobian : J (m, nv), as an SX matrix.
    wanted : r (m), as an SX column.
    multipliers : E (m, nc), or None where λ does not matter.
    unknowns : F (m, nu), of F u on the left side, or None; in laws with contacts their forces come after the controls.
    soft : coming close is good enough: the level is never missed.
    at_most : the rows are inequalities, J a + E λ + F u ≤ r.
    active : by row, an SX column (m) of what is 1 where the row counts, 0 where it does not, and between these while it
        comes or goes: then the controls are between those with and those without it. None: all count.
    units : of the rows, up to powers of time: "m", "rad", "1", "N" (kg m/s too), "N m", "" where unknown; () for none.
        Where they differ, a law multiplies the rows by the numbers ``scale`` that bring them to characteristic units,
        and what it tells of the level is in these.
    """

    name: str
    rows: tuple[str, ...]
    jacobian: ca.SX
    wanted: ca.SX
    multipliers: ca.SX | None = None
    unknowns: ca.SX | None = None
    soft: bool = False
    at_most: bool = False
    active: ca.SX | None = None
    units: tuple[str, ...] = ()
    scale: Array | None = None

    def check(self, law: str, sizes: Mapping[str, int], symbols: ca.SX) -> None:
        """Raise `ArgumentError` where a matrix has another size than (rows, ``sizes`` of it), or unknown symbols."""
        count = len(self.rows)
        if self.units and (len(self.units) != count or not set(self.units) <= set(UNITS)):
            raise ArgumentError(
                f"{law}: units of the demand {self.name!r} must be {count} of "
                f"{', '.join(map(repr, UNITS))}, a unit for each row, got {self.units!r}",
                element=self.name,
            )
        for part, width in sizes.items():
            given = getattr(self, part)
            if given is None:
                continue
            if not isinstance(given, ca.SX) or given.shape != (count, width):
                got = f"{given.shape[0]} × {given.shape[1]}" if isinstance(given, ca.SX) else repr(given)
                raise ArgumentError(
                    f"{law}: {part} of the demand {self.name!r} must be a CasADi SX matrix of {count} × {width}, "
                    f"a row for each of ({', '.join(self.rows)}), got {got}",
                    element=self.name,
                )
            check_symbols(law, self.name, given, symbols)
        if self.active is not None:
            if not isinstance(self.active, ca.SX) or self.active.shape != (count, 1):
                raise ArgumentError(
                    f"{law}: active of the demand {self.name!r} must be a CasADi SX column of {count}",
                    element=self.name,
                )
            check_symbols(law, self.name, self.active, symbols)


def check_symbols(law: str, name: str, expression: ca.SX, symbols: ca.SX) -> None:
    """Raise `ArgumentError` where an expression of the level ``name`` has symbols that are not among ``symbols``."""
    strange = ca.Function("level", [symbols], [expression], {"allow_free": True}).get_free()
    if strange:
        raise ArgumentError(
            f"{law}: the demand {name!r} has symbols of its own, {', '.join(strange)}: it may have those of "
            "system.equations (q, v, t, p) and of its settings",
            element=name,
        )


def stacked(demands: Sequence[Demand], part: str, width: int) -> ca.SX:
    """Return the ``multipliers`` or the ``unknowns`` of demands below each other, zeros where one has none."""
    blocks = (getattr(demand, part) for demand in demands)
    still = (ca.SX.zeros(demand.wanted.numel(), width) for demand in demands)
    return ca.vertcat(*(zero if block is None else block for block, zero in zip(blocks, still)))


@dataclass(frozen=True, eq=False)
class ForceDemand:
    """One level: S u acts on the motions as the generalized force g (nv,) does; None asks for none at all.

    ``soft`` says that coming close is good enough, as it is for what tasks leave over. Where the actuators cannot
    do that, the accelerations come as close as they can in the kinetic metric.
    """

    name: str
    force: ca.SX | None = None
    soft: bool = False

    def check(self, law: str, sizes: Mapping[str, int], symbols: ca.SX) -> None:
        """Raise `ArgumentError` where the force has another size than (nv,), or unknown symbols."""
        nv = sizes["jacobian"]
        if self.force is None:
            return
        if not isinstance(self.force, ca.SX) or self.force.shape != (nv, 1):
            got = self.force.shape if isinstance(self.force, ca.SX) else repr(self.force)
            raise ArgumentError(
                f"{law}: the force of the demand {self.name!r} must be a CasADi SX column of {nv}, got {got}",
                element=self.name,
            )
        check_symbols(law, self.name, self.force, symbols)


@dataclass(frozen=True)
class Level:
    """What became of one level of demands: its rank in the controls that were free, what is left, what was demanded.

    A ``soft`` one counts as achieved however much of it is left.
    """

    name: str
    rank: int
    residual: float
    demanded: float
    soft: bool = False

    @property
    def misses(self) -> bool:
        """Whether something of the demand is missed, also where coming close is good enough."""
        return self.residual > ACHIEVED * (1.0 + self.demanded)

    @property
    def achieved(self) -> bool:
        """Whether the demand is fulfilled."""
        return self.soft or not self.misses


@dataclass(frozen=True, eq=False)
class Command(Answer):
    """The controls that a law asks for at a state.

    Attributes
    ----------
    u : (nu,).
    rank : of the constraints.
    levels : what became of each demand, in order.
    status : OK; NOT_ACHIEVABLE where a demand is not fulfilled (least squares, after those above it); INFEASIBLE where
        joints are damped.
    outcome : "exact": all levels, or of soft ones what those before them leave; "unreachable": less, for the motors and
        loops cannot do more, whatever the limits; "relaxed": less, for the limits; "jumped": relaxed, and the
        rate of the controls not kept; "damped": nothing inside all limits, joints lose their velocities; "infeasible":
        the same without ``hold``, with these controls in u all the same.
    conflict : names of what has the limits that stand against each other, or against the levels where these are
        relaxed; those that count most first. Limits that stand against each other have no answer together, and all but
        any one of them have one; () where that could not be proven.
    relaxed : names of the levels that miss something for the limits, where these are in the way. Where they are
        ``soft`` ones alone the status is OK, and ``message`` says so: the last ones of these give way at a share of
        each limit, or at what the levels above need where that is more (``soft_share`` of `LawOptions`).
    """

    u: Array
    rank: int
    levels: tuple[Level, ...]
    status: Status
    outcome: str = "exact"
    conflict: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()

    @property
    def gives_way(self) -> str:
        """Which soft levels alone give way to which limits, empty where none do."""
        if not (self.success and self.relaxed):
            return ""
        names = ", ".join(map(repr, self.relaxed))
        limits = ", ".join(self.conflict)
        return (
            f"only {names}, of which coming close is enough, gives way to the limits of {limits}: it drives nothing "
            "farther than their soft_share"
        )

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the demands that are not fulfilled."""
        return tuple(level.name for level in self.levels if not level.achieved)

    @property
    def message(self) -> str:
        """What is missed of which demand."""
        missed = (
            f"{level.name!r} misses {level.residual:.3g} of {level.demanded:.3g}"
            for level in self.levels
            if not level.achieved
        )
        limits = f", for the limits of {', '.join(self.conflict)}" if self.conflict else ""
        return "; ".join(missed) + limits if not self.success else self.gives_way or self.status.diagnosis


@dataclass(eq=False)
class State:
    """Numbers that a law remembers from sample to sample: settings of it, and what each sample leaves in them.

    Attributes
    ----------
    value : symbols (size,), what a sample finds. place : of the first of them among the settings.
    start : what they begin with (size,). like : the first of the settings that they begin with instead, if any.
    next : what they are at the next sample (size,), over the symbols of the system, the settings and
        ``Settings.period``; as they are, unless it is assigned.
    optional : whether the law is as it should be without samples, too, when it stays as it begins.
    """

    value: ca.SX
    place: int
    start: Array
    like: int | None
    next: ca.SX
    optional: bool = False


@dataclass(eq=False)
class Settings:
    """Numbers of a law that may change without compiling: symbols while the law is traced.

    Some of them the law changes itself, at samples: ``states`` by rules of its own (`remember`); and ``measured``, rows
    of the constraints, whose multipliers of the plant are written to the settings ``measured_at`` on, after one that is
    1 as soon as they are known. ``period`` is the time until the next sample [s].
    """

    values: dict[str, float] = field(default_factory=dict)
    symbols: list[ca.SX] = field(default_factory=list)
    period: ca.SX = field(default_factory=lambda: ca.SX.sym("period"))
    states: list[State] = field(default_factory=list)
    measured: tuple[int, ...] = ()
    measured_at: int = 0

    @property
    def count(self) -> int:
        """The number of settings so far."""
        return len(self.values)

    def add(self, name: str, value: ArrayLike, size: int, law: str) -> ca.SX:
        """Return symbols (size,) for a number or ``size`` numbers, named name or name[k]."""
        numbers = real_array(value)
        if numbers.shape not in ((), (size,)) or not np.isfinite(numbers).all():
            raise ArgumentError(
                f"{law}: {name} must be a finite number or {size} of them, got {value!r}", element=name
            )
        column = ca.SX.sym(name, size)
        for k, number in enumerate(np.broadcast_to(numbers, (size,))):
            self.values[f"{name}[{k}]" if size > 1 else name] = float(number)
        self.symbols.append(column)
        return column

    def remember(
        self,
        name: str,
        start: ArrayLike,
        size: int,
        law: str,
        *,
        like: str | None = None,
        optional: bool = False,
    ) -> State:
        """Return a state (size,) that begins with ``start``, or as the settings from ``like`` on are; assign its
        ``next``."""
        place = self.count
        value = self.add(name, start, size, law)
        numbers = np.broadcast_to(real_array(start), (size,))
        first = None if like is None else list(self.values).index(like)
        state = State(value, place, numbers, first, value, optional)
        self.states.append(state)
        return state


class SettingValues(ParameterValues):
    """The settings of a law by name; what is assigned goes to the input of its native function."""

    def __init__(self, law: str, values: dict[str, float], target: Array) -> None:
        super().__init__(law, values)
        self._target, self._place = target, {name: k for k, name in enumerate(values)}
        target[: len(values)] = list(values.values())

    def __getitem__(self, name: str) -> float:
        return float(self._target[self._place[name]]) if name in self else super().__getitem__(name)

    def update(self, values: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:  # type: ignore[override]
        """Assign several at once: all of them, or none where one is refused."""
        values = dict(values)
        super().update(values)
        for name, value in values.items():
            self._target[self._place[name]] = value

    def set_reference(
        self, name: str, x: ArrayLike, rate: ArrayLike = 0.0, acceleration: ArrayLike = 0.0
    ) -> None:
        """Set what the task ``name`` is to follow: x_d, ẋ_d and ẍ_d, numbers or one for each row, in the units of the
        task; it holds until the next call.

        Its reference must be `sarrus.control.streamed`. Raises `ArgumentError` where it is not, and for what is not
        finite or has another size, and then nothing changes.
        """
        what = f"{name}.reference"
        if not any(f"{what}_rate{end}" in self for end in ("", "[0]")):
            streamed = [key.removesuffix("[0]") for key in self if key.endswith(("_rate", "_rate[0]"))]
            names = [key.removesuffix(".reference_rate") for key in streamed]
            raise ArgumentError(
                f"{self._system}: {name!r} is no task with a streamed reference; there are "
                f"{', '.join(names) or 'none'}",
                element=name,
                valid=names,
            )
        values: dict[str, float] = {}
        for setting, given in zip(
            (what, *(f"{what}_{part}" for part in DERIVATIVES)), (x, rate, acceleration)
        ):
            keys = self._keys(setting)
            numbers = real_array(given)
            if numbers.shape not in ((), (len(keys),)):
                raise ArgumentError(
                    f"{self._system}: {setting} must be a number or {len(keys)} of them, got {given!r}",
                    element=setting,
                )
            values.update(zip(keys, np.broadcast_to(numbers, (len(keys),)).tolist()))
        self.update(values)

    def _keys(self, name: str) -> list[str]:
        """Return the names of all entries of a setting."""
        if name in self:
            return [name]
        return [f"{name}[{k}]" for k in range(len(self)) if f"{name}[{k}]" in self]
