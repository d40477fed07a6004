"""`EnergyBalance`: work and power of every element along a motion, against the change of energy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.analysis.loads.held_controls import coarseness, held_samples
from sarrus.analysis.loads.tolerances import APPLIED_POWER, CONTACTS_AGREE, NO_JUMP
from sarrus.analysis.loads.work_integral import integral, sides
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.lazy_import import lazy_import
from sarrus.codegen import NativeFunction
from sarrus.dynamics.contacts.contact_elements import contact_elements, contact_names
from sarrus.dynamics.contacts.contact_functions import contact_gaps
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.system import System
from sarrus.motion.records.trajectory import Trajectory
from sarrus.symbolic.multibody.powers import actuator_drives, element_powers, magnetic_fields

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Kinds of which the run knows the sum.
_KNOWN_IN_ALL = ("contact", "rope", "stop", "dry friction")
# Kinds whose power follows from state and control alone: of held controls it is known between samples.
_OF_STATE = ("actuator", "actuator limits", "joint damping", "damper", "force", "inputs", "passive force")


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energy of a motion against the work of all forces; ``print`` shows it as a table.

    T(t) + V(t) − T(0) − V(0) = Σ work + residual. Springs, gravity and the magnetic energy of windings are in V.

    Attributes
    ----------
    name : name of the system. t : times (T,) [s] of the samples, two equal times where the motion jumps.
    energy : change of kinetic plus potential energy (T,) [J], as recorded by the run.
    kinds, names : (n,) kind and name of each force: "actuator", "actuator limits", "joint damping", "damper", "force";
        "source" (electrical power of drives of motors with inductance) and "winding" (heat in them); "inputs" and
        "passive force" of own equations; "constraint" (closures and nonholonomic rows with prescribed motion);
        "contact", "rope", "stop", "dry friction"; "winch" (the length of a rope as a function of time); "impact" (all
        impacts together) and "constraint in impacts" (prescribed motions that are hit); "driven bodies"; "applied" (the
        ``force`` of the run, and the force that a formulation adds).
    power : (T, n) power delivered to the mechanism [W], negative if taken from it; NaN for contacts and winches in time
        stepping, whose forces are means, and zero for impacts.
    work : (T, n) integral of the power from the start [J].
    error : (n,) estimated error of the last row of ``work`` [J], summed over all intervals between samples; large if a
        peak or a jump lies between samples.
    residual : (T,) energy less all work [J]: the error of quadrature and integration.
    speeds, torques : (T, nu) rate of the length of each actuator and its scalar force [rad/s and N m, or m/s and N].
    """

    name: str
    t: Array
    energy: Array
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    power: Array
    work: Array
    error: Array
    residual: Array
    actuator_names: tuple[str, ...]
    speeds: Array
    torques: Array

    @property
    def labels(self) -> tuple[str, ...]:
        """Kind and name of each column."""
        return tuple(f"{kind} {name}".strip() for kind, name in zip(self.kinds, self.names))

    @property
    def total(self) -> dict[str, float]:
        """Work of each force over the whole motion [J], by label."""
        return dict(zip(self.labels, self.work[-1].tolist()))

    def of(self, kind: str) -> Array:
        """Return the work of all forces of a kind over time (T,) [J]; an unknown kind is an `ArgumentError` that lists
        all.
        """
        if kind not in self.kinds:
            known = ", ".join(dict.fromkeys(self.kinds)) or "none"
            raise ArgumentError(f"{self.name}: no force of kind {kind!r}; kinds: {known}", element=kind)
        return np.asarray(self.work[:, [k == kind for k in self.kinds]].sum(axis=1))

    def plot(self, path: str | Path | None = None) -> Figure:
        """Return a figure of work and residual over time; see `sarrus.plot.energy_shares`."""
        return lazy_import("pictures.plots.plot", "energy_shares")(self, path)

    def __str__(self) -> str:
        rows = [(label, f"{w:.6g} J") for label, w in self.total.items()]
        rows.insert(0, ("energy change", f"{self.energy[-1]:.6g} J"))
        off = sum(e for e, kind in zip(self.error, self.kinds) if kind not in _KNOWN_IN_ALL)
        rows.append(("residual", f"{self.residual[-1]:.2g} J, estimated error of quadrature {off:.1g} J"))
        width = max(len(label) for label, _ in rows) + 2
        return "\n".join([self.name, *(f"{label:<{width}}{text}" for label, text in rows)])


def energy_balance(trajectory: Trajectory) -> EnergyBalance:
    """Return the `EnergyBalance` of a trajectory: the work of every force, and the residual of the balance.

    Powers follow from the recorded states, accelerations, controls and forces. Between samples a smooth power is a
    spline of degree five, otherwise a polynomial through the nearest samples, down to a straight line; the difference
    of these is the error. At impacts and switches the polynomials end. So the accuracy grows with the number of
    samples: give ``dt=`` to the run. Held controls are integrated as steps; controls that jump otherwise count as
    continuous. The total that contacts, stops and dry friction dissipate is taken from the run; between samples it is
    divided in proportion to their powers.

    Ideal constraints do no work, redundant or not. At a singular passage the quadrature misses part of the work of
    forces that spike. Inconsistent rows are met in the least-squares sense, and the work of this compromise is in
    ``residual``. A trajectory of equations of one's own has inputs and one passive force.

    Raises `ArgumentError` for a trajectory without a system, an empty one, and one in which geometries without closed
    form touched: their forces are known as means over whole steps only.
    """
    check_is("energy_balance", trajectory, Trajectory)
    system = trajectory.moved_system()
    if system is None or not len(trajectory.t):
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: {'it is empty' if system else 'its system is not known'}, so no forces "
            "are known",
            element="trajectory",
        )
    s = system.with_parameters()
    s.parameters.update(trajectory.parameters)
    e, t = s.equations, trajectory.t
    keys = list(_elements(s, ca.SX.sym("multipliers", s.nc)))
    values = _evaluated(s, trajectory)
    fields = [] if s.mechanism is None else list(magnetic_fields(s.model.symbolic_mechanism(), e))
    cuts = np.cumsum([len(keys), s.nu, s.nu, 1, 1, 1, len(fields)])
    own, speeds, torques, rest, rate, size, stored, filling = np.split(values, cuts, axis=1)
    rest, moved = rest[:, 0], rate[:, 0] - own.sum(axis=1) - rest[:, 0]
    columns = [(kind, name, power, *integral(t, power)) for (kind, name), power in zip(keys, own.T)]
    columns = _with_held_controls(s, trajectory, columns)
    # The power that fills a field jumps where a limit of the current begins; its energy does not.
    for name, energy, power in zip(fields, stored.T, filling.T):
        k = keys.index(("source", name))
        done, off = integral(t, own[:, k] - power)
        columns[k] = ("source", name, own[:, k], done + (energy - energy[0]), off)

    hits = _hits(trajectory)
    contacts, rest, explained = _contacts(s, trajectory, rest, hits)
    columns += contacts
    if ca.depends_on(ca.vertcat(ca.vec(e.mass_matrix), e.kinetic_energy, e.potential_energy), e.t):
        columns.append(("driven bodies", "", moved, *integral(t, moved)))
    if explained and np.abs(rest).max() > APPLIED_POWER * size.max():
        columns.append(("applied", "", rest, *integral(t, rest)))
    energy = trajectory.energy - trajectory.energy[0]
    struck = _struck(t, energy - hits)
    jumps = bool(
        np.abs(struck).max(initial=0.0) > NO_JUMP * np.abs(trajectory.energy).max()
    )  # of the speed of a drive
    if (hits.any() or jumps) and {"constraint", "driven bodies", "winch"} & {column[0] for column in columns}:
        columns.append(("constraint", "in impacts", np.zeros(len(t)), struck, 0.0))
    work = np.array([column[3] for column in columns]).reshape(len(columns), len(t)).T
    return EnergyBalance(
        name=trajectory.name,
        t=t,
        energy=read_only(energy),
        kinds=tuple(column[0] for column in columns),
        names=tuple(column[1] for column in columns),
        power=read_only(np.array([column[2] for column in columns]).reshape(len(columns), len(t)).T),
        work=read_only(work),
        error=read_only(np.array([column[4] for column in columns])),
        residual=read_only(energy - work.sum(axis=1)),
        actuator_names=trajectory.actuator_names,
        speeds=read_only(speeds),
        torques=read_only(torques),
    )


Column = tuple[str, str, Array, Array, float]


def _with_held_controls(system: System, trajectory: Trajectory, columns: list[Column]) -> list[Column]:
    """Return work and errors of the powers that follow from state and control, if controls were held and jump at
    samples.
    """
    if not trajectory.held_controls:
        return columns
    samples = held_samples(trajectory, system)
    unused = np.zeros((len(samples.t), system.nv + system.nc))  # accelerations and multipliers
    native, count = _native(system), len(columns)
    between, lower = (
        native.each(np.ascontiguousarray(np.hstack((x, unused))))[:, :count]
        for x in (samples.x, samples.lower)
    )
    coarse = coarseness(samples, between, lower)
    jumps = np.abs(np.diff([column[2] for column in columns], axis=1)) @ samples.unknown
    found = []
    for k, (kind, name, power, done, off) in enumerate(columns):
        if kind in _OF_STATE:
            whole, off = integral(samples.t, between[:, k])
            done, off = whole[samples.place], off + float(jumps[k] + coarse[k])
        found.append((kind, name, power, done, off))
    return found


def _hits(trajectory: Trajectory) -> Array:
    """Return the work of all impacts after the first sample up to each sample (T,) [J]."""
    t, hits = trajectory.t, np.zeros(len(trajectory.t))
    for switch in trajectory.switches:
        hits[max(int(np.searchsorted(t, switch.time, side="right")) - 1, 0) :] -= switch.energy_loss
    return hits - hits[:1]


def _struck(t: Array, energy: Array) -> Array:
    """Return the sum of all jumps of the energy up to each sample (T,) [J], at times that occur twice."""
    return np.append(0.0, np.cumsum(np.where(sides(t), np.diff(energy), 0.0)))


def _contacts(
    system: System, trajectory: Trajectory, rest: Array, hits: Array
) -> tuple[list[Column], Array, bool]:
    """Return (columns of contacts, stops, dry friction and impacts; power left over; whether the latter is
    meaningful).
    """
    count, t, lost = len(trajectory.t), trajectory.t, trajectory.contact_loss[:1] - trajectory.contact_loss
    impacts: list[Column] = [("impact", "", np.zeros(count), hits, 0.0)] if hits.any() else []
    if not trajectory.contact_row_names and not len(trajectory.contact_log.table):
        return impacts, rest, True
    blocks, winches = dict[tuple[str, str], Array](), dict[tuple[str, str], Array]()
    if trajectory.contact_row_names == contact_names(system):
        blocks, winches = _touched(system, trajectory)
    powers = np.array(list(blocks.values())).reshape(len(blocks), count)
    splines = [integral(t, power) for power in powers]
    agrees = (
        np.abs(sum((done for done, _ in splines), hits) - lost).max() <= CONTACTS_AGREE * np.abs(lost).max()
    )
    if not blocks or not (trajectory.switches or agrees):  # of steps in time
        unknown = np.full(count, np.nan)
        stepped = _winches_by_steps(system, trajectory) if blocks else {}
        wound: list[Column] = [("winch", name, unknown, done, 0.0) for name, done in stepped.items()]
        return [("contact", "", unknown, lost, 0.0), *wound], rest, False
    columns: list[Column] = [
        (*key, power, done, float(abs(spline[-1] - done[-1])) + off)
        for key, power, done, (spline, off) in zip(blocks, powers, _shares(lost - hits, powers), splines)
    ]
    columns += [(*key, power, *integral(t, power)) for key, power in winches.items()]
    return [*columns, *impacts], rest - powers.sum(axis=0) - sum(winches.values()), True


def _winches_by_steps(system: System, trajectory: Trajectory) -> dict[str, Array]:
    """Return the work (T,) [J] of winches in time stepping, −T ΔL summed over the steps, if all steps are recorded.

    T is the tension at the end of the path.
    """
    e, t = system.equations, trajectory.t
    moved = [k for k, one in enumerate(e.friction_contacts) if ca.depends_on(one.gap, e.t)]
    if trajectory.steps != len(t) - 1 or not moved:
        return {}
    gaps = contact_gaps(system)
    paid_out = np.array(
        [
            gaps(system.pack(q, t=after)) - gaps(system.pack(q, t=before))
            for q, before, after in zip(trajectory.q[1:], t, t[1:])
        ]
    )
    found = trajectory.tensions
    wound = ((k, e.friction_contacts[k].name) for k in moved)
    pulls = ((k, name, found.get(name, found.get(f"{name}.2"))) for k, name in wound)
    return {
        name: np.append(0.0, np.cumsum(-pull[1:] * paid_out[:, k]))
        for k, name, pull in pulls
        if pull is not None
    }


def _shares(lost: Array, powers: Array) -> Array:
    """Return the work (n, T) of contacts with powers (n, T), whose total is known from the run.

    Between two samples the total is divided in proportion to the powers at both ends, equally if all are zero.
    """
    sizes = np.abs(powers[:, 1:]) + np.abs(powers[:, :-1])
    whole = sizes.sum(axis=0)
    parts = np.where(whole > 0.0, sizes / np.where(whole > 0.0, whole, 1.0), 1.0 / len(powers))
    return np.hstack([np.zeros((len(powers), 1)), np.cumsum(parts * np.diff(lost), axis=1)])


def _touched(
    system: System, trajectory: Trajectory
) -> tuple[dict[tuple[str, str], Array], dict[tuple[str, str], Array]]:
    """Return the power (T,) [W] of every contact, rope, stop and joint with dry friction, and that of the winches.

    A rope whose length is a function of time takes the power T ġ, zero while it is taut, and its winch gives −T L̇.
    """
    elements = contact_elements(system)
    found = [contact_row_state(system, q, v, x) for q, v, x in zip(trajectory.q, trajectory.v, trajectory.t)]
    count = trajectory.contact_forces.shape[1]
    powers = trajectory.contact_forces * np.array([one.rates[:count] for one in found])
    own = trajectory.contact_forces * np.array(
        [(one.rows @ v)[:count] for one, v in zip(found, trajectory.v)]
    )
    kinds = {"contact": "contact", "rope": "rope", "stop": "stop", "friction": "dry friction"}
    moved = [
        one.name for one in system.equations.friction_contacts if ca.depends_on(one.gap, system.equations.t)
    ]
    winches = [one for one in elements if one.rope and one.name in moved]
    return (
        {(kinds[one.what], one.name): powers[:, one.rows].sum(axis=1) for one in elements},
        {("winch", one.name): (own - powers)[:, one.rows].sum(axis=1) for one in winches},
    )


def _elements(system: System, multipliers: ca.SX) -> dict[tuple[str, str], ca.SX]:
    """Return the power expressions of all forces in the equations, by kind and name."""
    e = system.equations
    if system.mechanism is not None:
        found = element_powers(system.model.symbolic_mechanism(), e)
    else:
        found = {
            ("inputs", ""): ca.dot(e.input_force, e.v),
            ("passive force", ""): ca.dot(e.passive_force, e.v),
        }
    through = e.jacobian @ e.v
    for name, rows in system.closure_rows.items():
        if rows.stop > e.nh or ca.depends_on(e.position_residual[rows], e.t):
            found["constraint", name] = ca.dot(multipliers[rows], through[rows])
    if not e.non_ideal.is_zero():
        found["constraint", "beside ideal ones"] = ca.dot(e.non_ideal, e.v)
    return {key: power for key, power in found.items() if not power.is_zero()}


def _evaluated(system: System, trajectory: Trajectory) -> Array:
    """Return as columns: powers, speeds and torques of actuators, the remainder of M a + h, dE/dt and a scale.

    The last columns are energies of windings and the powers that flow into them.
    """
    native = _native(system)
    count = len(trajectory.t)
    p = np.array(list({**system.parameters, **trajectory.parameters}.values()))
    parts = (
        trajectory.q, trajectory.v, trajectory.u, trajectory.t[:, None], np.tile(p, (count, 1)),
        np.zeros_like(trajectory.v), trajectory.a, trajectory.multipliers,
    )  # fmt: skip
    rows = np.ascontiguousarray(np.hstack(parts))
    return np.array([native(row) for row in rows]).reshape(count, -1)


def _native(system: System) -> NativeFunction:
    """Return the compiled powers, speeds and torques of `_evaluated` at [x | a | λ]."""
    e = system.equations

    def expressions(a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
        forces = e.bias_force, -e.passive_force, -e.input_force, -e.jacobian.T @ multipliers, -e.non_ideal
        left, size = e.mass_matrix @ a, ca.fabs(e.mass_matrix @ a)
        for force in forces:
            left, size = left + force, size + ca.fabs(force)
        rest = ca.dot(left, e.v)
        energy, along = e.kinetic_energy + e.potential_energy, ca.vertcat(e.q, e.v, e.t)
        rate = ca.jtimes(energy, along, ca.vertcat(e.whole_rate, a, 1))
        own = system.mechanism is None
        drives = (e.actuation.T @ e.v, e.u) if own else actuator_drives(system.model.symbolic_mechanism(), e)
        powers = ca.vertcat(ca.SX(0, 1), *_elements(system, multipliers).values())
        fields = {} if own else magnetic_fields(system.model.symbolic_mechanism(), e)
        stored, filling = ([pair[k] for pair in fields.values()] for k in (0, 1))
        sums = rest, rate, ca.dot(size, ca.fabs(e.v))
        return {"powers": ca.vertcat(powers, *drives, *sums, *stored, *filling)}

    return system.compiled.named("powers", expressions, {"a": system.nv, "multipliers": system.nc})
