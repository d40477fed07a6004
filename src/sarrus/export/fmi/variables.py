"""The variables of a unit: consecutive value references in blocks of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sarrus.base.arrays import Array
from sarrus.control.laws.law import Law
from sarrus.dynamics.contacts.contact_elements import contact_names
from sarrus.dynamics.model.units import constraint_units, coordinate_units, velocity_units
from sarrus.dynamics.system import System
from sarrus.export.fmi.units import derived, of_force

TIME = 0
BLOCKS = (
    "U TAU Q V P STEP_SIZE CLOSURE_TOLERANCE DQ DV MULTIPLIERS PUSHES OTHERS MEASURED SETTINGS".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Variable:
    """One variable: a number with the attributes that FMI has for it."""

    name: str
    reference: int
    causality: str
    variability: str
    unit: str = ""
    start: float | None = None
    derivative: int | None = None
    description: str = ""

    @property
    def is_calculated(self) -> bool:
        """Whether its initial value is computed from other variables."""
        return self.start is None and self.reference != TIME


@dataclass
class Block:
    """Consecutive variables of one kind."""

    first: int
    variables: list[Variable] = field(default_factory=list)


@dataclass(frozen=True)
class Options:
    """Optional variables of a unit, besides coordinates, velocities, controls and parameters."""

    q: Array
    v: Array
    step: float
    tolerance: float
    forces: bool
    energies: bool
    multipliers: bool
    contacts: bool
    derivatives: bool
    law: bool = False


class Variables:
    """All variables of a unit in blocks, named as in the C source."""

    def __init__(self) -> None:
        self.blocks: dict[str, Block] = {key: Block(1) for key in BLOCKS}
        self.n_sensors = 0
        self._next = 1

    def _own(self, block: str, name: str, unit: str, value: float, description: str) -> None:
        self._add(block, "", (name,), (unit,), "parameter", "fixed", description, [value])

    def _tuned(self, block: str, kind: str, values: Mapping[str, float], said: str) -> None:
        none, starts = ("",) * len(values), list(values.values())
        self._add(block, kind, tuple(values), none, "parameter", "tunable", said, starts)

    def _inputs(self, block: str, kind: str, names: Sequence[str], units: Sequence[str], said: str) -> None:
        self._add(block, kind, names, units, "input", "continuous", said, [0.0] * len(names))

    def _add(
        self,
        block: str,
        kind: str,
        names: Sequence[str],
        units: Sequence[str],
        causality: str,
        variability: str,
        description: str,
        starts: Sequence[float] | None = None,
        of: int | None = None,
    ) -> None:
        """Append a block."""
        self.blocks[block] = made = Block(self._next)
        for k, (name, unit) in enumerate(zip(names, units, strict=True)):
            full = f"{kind}.{name}" if kind else name
            start = None if starts is None else float(starts[k])
            whose = None if of is None else of + k
            made.variables.append(
                Variable(full, self._next + k, causality, variability, unit, start, whose, description)
            )
        self._next += len(made.variables)

    @property
    def all(self) -> list[Variable]:
        """All variables in the order of their value references, time first."""
        time = Variable("time", TIME, "independent", "continuous", "s")
        known = [one for block in self.blocks.values() for one in block.variables]
        return [time, *sorted(known, key=lambda one: one.reference)]


class SystemVariables(Variables):
    """The variables of a system: controls are inputs, state and readings are outputs."""

    def __init__(self, system: System, options: Options) -> None:
        super().__init__()
        s = system
        in_q, in_v = coordinate_units(s), velocity_units(s)
        q, v = list(map(float, options.q)), list(map(float, options.v))
        self._inputs("U", "u", s.actuator_names, ("",) * s.nu, "control")
        applied = tuple(of_force(unit) for unit in in_v)
        pushed = s.velocity_names if options.forces else ()
        self._inputs("TAU", "tau", pushed, applied[: len(pushed)], "applied force")
        self._add("Q", "q", s.coordinate_names, in_q, "output", "continuous", "coordinate", q)
        self._add("V", "v", s.velocity_names, in_v, "output", "continuous", "velocity", v)
        self._tuned("P", "p", s.parameters, "parameter")
        self._own("STEP_SIZE", "step_size", "s", options.step, "longest step of co-simulation")
        said = "violation of the constraints, in characteristic units, at which model exchange projects"
        self._own("CLOSURE_TOLERANCE", "closure_tolerance", "1", options.tolerance, said)
        smooth = not options.contacts
        for block, kind, names, units, of in (
            ("DQ", "q", s.coordinate_names, in_q, "Q"),
            ("DV", "v", s.velocity_names, in_v, "V"),
        ):
            first, count = self.blocks[of].first, len(names) if smooth else 0
            own = [f"der({kind}.{name})" for name in names[:count]]
            rates = [derived(unit) for unit in units[:count]]
            self._add(block, "", own, rates, "local", "continuous", "rate", of=first)
        rows = s.constraint_names if smooth and options.multipliers else ()
        units = constraint_units(s)[: len(rows)]
        self._add("MULTIPLIERS", "lambda", rows, units, "output", "continuous", "multiplier")
        names = contact_names(s) if options.contacts else ()
        said = "force of contact, mean of the last step"
        self._add(
            "PUSHES", "contact", names, ("",) * len(names), "output", "discrete", said, [0.0] * len(names)
        )
        sensors = list(s.mechanism.sensors.values()) if s.mechanism and smooth else []
        labels = [(f"sensor.{label}", one.unit) for one in sensors for label in one.labels]
        self.n_sensors = len(labels)
        others = [*labels, ("residual", "")]
        if options.energies:
            others += [("energy.kinetic", "J"), ("energy.potential", "J")]
        names, units = tuple(label for label, _ in others), tuple(unit for _, unit in others)
        self._add("OTHERS", "", names, units, "output", "continuous", "")


class LawVariables(Variables):
    """The variables of a control law: the state is input, the controls are outputs."""

    def __init__(self, law: Law, options: Options) -> None:
        super().__init__()
        s = law.system
        q, v = list(map(float, options.q)), list(map(float, options.v))
        self._add("Q", "q", s.coordinate_names, coordinate_units(s), "input", "continuous", "coordinate", q)
        self._add("V", "v", s.velocity_names, velocity_units(s), "input", "continuous", "velocity", v)
        rows = s.constraint_names if law.measured else ()
        units = constraint_units(s)[: len(rows)]
        self._inputs("MEASURED", "lambda", rows, units, "multiplier of the plant")
        self._tuned("P", "p", s.parameters, "parameter")
        self._tuned("SETTINGS", "setting", law.settings, "setting of the law")
        self._add("U", "u", s.actuator_names, ("",) * s.nu, "output", "discrete", "control")
