"""Building blocks of laws: `Demand`, `ForceDemand`, `Settings` and their memory; the result `Command` with
its levels.
"""

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
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.symbolic.equations.symbolic import ParameterValues

# Units that rows of a level may have, up to powers of time, as powers of length and mass.
UNITS = {"m": (1, 0), "rad": (0, 0), "1": (0, 0), "N": (1, 1), "N m": (2, 1), "": (0, 0)}
# Of a streamed reference: the settings NAME.reference_rate and NAME.reference_acceleration.
DERIVATIVES = ("rate", "acceleration")


@dataclass(frozen=True, eq=False)
class Demand:
    """One level of a law: rows J a + E λ + F u = r, or ≤ r, over the symbols of a system.

    The symbols are ``system.equations``: e.q, e.v, e.t, with e.rate for q̇, and expressions of them, such as
    e.mass_matrix, e.jacobian and e.kinetic_energy; and those that `Settings.add` returns. λ are the multipliers, Aᵀλ is
    the constraint force on the mechanism. For a demand on the rate of s(q, v, t), J = ∂s/∂v, and −∂s/∂q q̇ − ∂s/∂t is
    part of r.

    Redundant rows, and rows that vanish, reduce the rank; a part of r that they cannot meet is missed in the
    least-squares sense. Rows that contradict levels above give way to these. A `Law` raises `ArgumentError` for a
    demand that does not fit its system.

    Attributes
    ----------
    name : of the level, in ``levels`` and ``missed`` of a `Command`.
    rows : names of the rows (m).
    jacobian : J (m, nv), as an SX matrix.
    wanted : r (m), as an SX column.
    multipliers : E (m, nc), or None for zero.
    unknowns : F (m, nu), or None for zero; in laws with contacts the contact forces come after the controls.
    soft : the level counts as achieved even if a residual remains.
    at_most : the rows are inequalities, J a + E λ + F u ≤ r.
    active : SX column (m) with the activity of each row, 1 active, 0 inactive; in between, the controls are
        interpolated between those with and without the row. None: all rows are active.
    units : of the rows, up to powers of time: "m", "rad", "1", "N" (kg m/s too), "N m", "" if unknown; () for none. If
        they differ, a law multiplies the rows by ``scale`` to characteristic units, and reports the level in these
        units.
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
        """Raise `ArgumentError` if a matrix does not have the size (rows, ``sizes`` of it), or contains unknown
        symbols.
        """
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
    """Raise `ArgumentError` if an expression of the level ``name`` has symbols that are not in ``symbols``."""
    strange = ca.Function("level", [symbols], [expression], {"allow_free": True}).get_free()
    if strange:
        raise ArgumentError(
            f"{law}: the demand {name!r} has symbols of its own, {', '.join(strange)}. Use the symbols of "
            "system.equations (q, v, t, p) and of its settings only",
            element=name,
        )


def stacked(demands: Sequence[Demand], part: str, width: int) -> ca.SX:
    """Return the ``multipliers`` or ``unknowns`` matrices of demands stacked, zeros for None."""
    blocks = (getattr(demand, part) for demand in demands)
    still = (ca.SX.zeros(demand.wanted.numel(), width) for demand in demands)
    return ca.vertcat(*(zero if block is None else block for block, zero in zip(blocks, still)))


@dataclass(frozen=True, eq=False)
class ForceDemand:
    """One level of a law: the actuators act on the motions as the generalized force g (nv,) does; None stands for g =
    0.

    ``soft``: the level counts as achieved even if a residual remains, as for the remainder after all tasks. If the
    actuators cannot produce g, the accelerations are as near as possible in the kinetic metric.
    """

    name: str
    force: ca.SX | None = None
    soft: bool = False

    def check(self, law: str, sizes: Mapping[str, int], symbols: ca.SX) -> None:
        """Raise `ArgumentError` if the force does not have the size (nv,), or contains unknown symbols."""
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
    """Result of one level of demands: its rank in the controls that were free, the residual, and the size of the
    demand.

    A ``soft`` level counts as achieved with any residual.
    """

    name: str
    rank: int
    residual: float
    demanded: float
    soft: bool = False

    @property
    def misses(self) -> bool:
        """Whether a residual remains, also for a soft level."""
        return self.residual > ACHIEVED * (1.0 + self.demanded)

    @property
    def achieved(self) -> bool:
        """Whether the demand is fulfilled."""
        return self.soft or not self.misses


@dataclass(frozen=True, eq=False)
class Command(Answer):
    """The controls of a law at a state.

    Attributes
    ----------
    u : (nu,).
    rank : of the constraints.
    levels : a `Level` for each demand, in order.
    status : OK; NOT_ACHIEVABLE if a demand is missed (least squares, after those above it); INFEASIBLE if joints are
        damped.
    outcome : "exact": all levels are met, soft ones as far as the levels before them allow; "unreachable": motors and
        loops cannot meet a demand, even without limits; "relaxed": limits prevent it; "jumped": relaxed, and the limit
        of the rate of the controls is exceeded; "damped": no solution within all limits, joints are damped;
        "infeasible": the same without ``hold``, with the damping controls in u.
    conflict : names of the owners of limits that contradict each other (or the levels, if these are relaxed), the most
        important first. Contradicting limits have no common solution, and any one less of them has one; () if that
        could not be proven.
    relaxed : names of the levels with a residual because of limits. If these are ``soft`` ones only the status is OK,
        and ``message`` says so: the last soft levels use a part of each limit only, or what the levels above need if
        that is more (``soft_share`` of `LawOptions`).
    """

    u: Array
    rank: int
    levels: tuple[Level, ...]
    status: Status
    outcome: str = "exact"
    conflict: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()
    modes: Mapping[str, Mode] = field(default_factory=dict)
    otherwise: str = ""

    @property
    def gives_way(self) -> str:
        """The sentence that names soft levels which give way to limits; "" if there are none."""
        if not (self.success and self.relaxed):
            return ""
        names = ", ".join(map(repr, self.relaxed))
        limits = ", ".join(self.conflict)
        return (
            f"only the soft level {names} gives way to the limits of {limits}: soft levels use no more than soft_share "
            "of a limit"
        )

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the demands that are missed."""
        return tuple(level.name for level in self.levels if not level.achieved)

    @property
    def message(self) -> str:
        """The demands that are missed, each with its residual and its size, and the limits that prevent them."""
        missed = (
            f"{level.name!r} misses {level.residual:.3g} of {level.demanded:.3g}"
            for level in self.levels
            if not level.achieved
        )
        limits = f", because of the limits of {', '.join(self.conflict)}" if self.conflict else ""
        if self.success:
            return self.gives_way or self.status.diagnosis
        return "; ".join(part for part in ("; ".join(missed) + limits, self.otherwise) if part)


@dataclass(eq=False)
class State:
    """Numbers (size,) that a law remembers from sample to sample; they are settings whose next values the law computes.

    Attributes
    ----------
    value : symbols (size,), the values at a sample. place : number of the first of them among the settings.
    start : initial values (size,). like : number of the first of the settings that give the initial values instead.
    next : values at the next sample (size,), over the symbols of the system, the settings and ``Settings.period``;
        unchanged unless assigned.
    optional : whether the law is also valid without samples, with the initial values.
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

    The law itself changes some of them at samples: ``states`` by their rules (`remember`); and the multipliers of the
    rows ``measured``, which are written to the settings from number ``measured_at`` on, after one that is 1 once they
    are known. ``period`` is the time until the next sample [s].
    """

    values: dict[str, float] = field(default_factory=dict)
    symbols: list[ca.SX] = field(default_factory=list)
    period: ca.SX = field(default_factory=lambda: ca.SX.sym("period"))
    states: list[State] = field(default_factory=list)
    measured: tuple[int, ...] = ()
    measured_at: int = 0

    @property
    def count(self) -> int:
        """Number of settings so far."""
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
        """Return a state (size,) with initial values ``start``, or those of the settings from ``like`` on; assign its
        ``next``.
        """
        place = self.count
        value = self.add(name, start, size, law)
        numbers = np.broadcast_to(real_array(start), (size,))
        first = None if like is None else list(self.values).index(like)
        state = State(value, place, numbers, first, value, optional)
        self.states.append(state)
        return state


class SettingValues(ParameterValues):
    """The settings of a law by name; an assigned value goes to the input of its native function."""

    def __init__(self, law: str, values: dict[str, float], target: Array) -> None:
        super().__init__(law, values)
        self._target, self._place = target, {name: k for k, name in enumerate(values)}
        target[: len(values)] = list(values.values())

    def __getitem__(self, name: str) -> float:
        return float(self._target[self._place[name]]) if name in self else super().__getitem__(name)

    def update(self, values: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:  # type: ignore[override]
        """Assign several settings at once: all of them, or none if one is refused."""
        values = dict(values)
        super().update(values)
        for name, value in values.items():
            self._target[self._place[name]] = value

    def set_reference(
        self, name: str, x: ArrayLike, rate: ArrayLike = 0.0, acceleration: ArrayLike = 0.0
    ) -> None:
        """Set the reference of the task ``name``: x_d, ẋ_d and ẍ_d, numbers or one for each row, in units of the task.

        The values hold until the next call. The reference must be `sarrus.control.streamed`. Raises `ArgumentError` if
        it is not, and for values that are not finite or have another size; then nothing changes.
        """
        what = f"{name}.reference"
        if not any(f"{what}_rate{end}" in self for end in ("", "[0]")):
            streamed = [key.removesuffix("[0]") for key in self if key.endswith(("_rate", "_rate[0]"))]
            names = [key.removesuffix(".reference_rate") for key in streamed]
            raise ArgumentError(
                f"{self._system}: {name!r} is no task with a streamed reference; those with one are "
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
