"""`MotorLoss`: heat in the windings of motors, along a motion and at a state."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.loads.held_controls import coarseness, held_samples
from sarrus.analysis.loads.tolerances import SYMMETRIC_WEIGHTS
from sarrus.analysis.loads.work_integral import integral
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import finite_array, real_array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.system import System
from sarrus.model.mechanism.elements import Actuator
from sarrus.motion.records.trajectory import Trajectory
from sarrus.symbolic.multibody.powers import actuator_drives, motor_losses


@dataclass(frozen=True, eq=False)
class MotorLoss:
    """Heat in the windings of the motors along a motion; ``print`` shows a table (read-only arrays).

    Attributes
    ----------
    name : name of the system. actuator_names : (nu,) labels. t : (T,) times of the samples [s].
    power : (T, nu) R i² of each motor [W]. energy : (T, nu) its integral from the start [J].
    error : (nu,) estimated error of the last row of ``energy`` [J], as in `sarrus.energy_balance`.
    """

    name: str
    actuator_names: tuple[str, ...]
    t: Array
    power: Array
    energy: Array
    error: Array

    @property
    def total(self) -> float:
        """Heat of all motors over the motion [J]."""
        return float(self.energy[-1].sum())

    @property
    def mean_power(self) -> float:
        """Heat of all motors, averaged over the duration of the motion [W]."""
        return self.total / float(self.t[-1] - self.t[0])

    def __str__(self) -> str:
        rows = [
            (name, f"{joule:.6g} J, at most {peak:.6g} W")
            for name, joule, peak in zip(self.actuator_names, self.energy[-1], self.power.max(axis=0))
        ]
        rows.append(("all", f"{self.total:.6g} J, on average {self.mean_power:.6g} W"))
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join([f"{self.name}: loss of the motors", *(f"{n:<{width}}{x}" for n, x in rows)])


def motor_loss(system: System, q: ArrayLike, v: ArrayLike, u: ArrayLike, t: ArrayLike = 0.0) -> Array:
    """Return the heat R i² in the winding of each motor at states (…, nu) [W].

    For a motor with inductance i is its current in q; for an actuator with a ``motor_constant`` K_m the loss is
    (F/K_m)², F its scalar force within its limits. Leading axes of q (…, nq), v (…, nv), u (…, nu) and t are broadcast,
    so that the function can be a term of a reward in `sarrus.runs.gym`, with the parameters of ``system``.

    Raises `ArgumentError` for an actuator without a motor model; the error names it.
    """
    check_is("motor_loss", system, System)
    _require_motors(system)
    parts = [real_array(part) for part in (q, v, u)]
    sizes = (system.nq, system.nv, system.nu)
    for name, part, size in zip("qvu", parts, sizes):
        if part.ndim == 0 or part.shape[-1] != size:
            raise ArgumentError(
                f"{system.name}: {name} must be of shape (…, {size}), got {part.shape}", element=name
            )
    times = real_array(t)
    shape = np.broadcast_shapes(times.shape, *(part.shape[:-1] for part in parts))
    flat = [
        np.broadcast_to(part, (*shape, size)).reshape(-1, size)
        for part, size in zip((*parts, times[..., None]), (*sizes, 1))
    ]
    p = np.tile(list(system.parameters.values()), (len(flat[0]), 1)).reshape(len(flat[0]), -1)
    rows = np.hstack([*flat, p, np.zeros((len(flat[0]), system.nv))])
    return read_only(_native(system).evaluate_each(rows)["losses"][:, :, 0].reshape(*shape, system.nu))


def motor_loss_along(trajectory: Trajectory, weights: ArrayLike | None = None) -> MotorLoss:
    """Return the `MotorLoss` of a trajectory: the heat in the windings of the motors.

    P_loss = iᵀR i (Aghili 2022, eq. (25)): R i² of a motor with inductance, i its recorded current, and (F/K_m)² of an
    actuator with a ``motor_constant``, F = gain × u + bias within its limits. With ``weights`` W it is uᵀW u (eq.
    (26)); the share of motor j is u_j (W u)_j.

    The integral is that of `sarrus.energy_balance`: splines through the samples that end at doubled records, as at
    impacts and switches. Held controls are integrated as steps. Controls that jump otherwise count as continuous, which
    ``error`` includes. In time stepping the controls are the recorded ones.

    Parameters
    ----------
    weights : (nu,) or symmetric (nu, nu), positive, R/K_t² [W/(N m)², W/N²] of the control, for actuators whose force
        is gain × u; default: the motors of the mechanism.

    Raises
    ------
    ArgumentError
        A trajectory with fewer than two samples (many runs without ``every``), or without a system; weights of a wrong
        shape or not positive; an actuator without a motor model; with ``weights``, an actuator whose force is not
        gain × u. The error names the actuator.
    """
    powers = motor_powers(trajectory, weights)
    found = [integral(powers.t, power) for power in powers.losses.T]
    place = powers.place
    return MotorLoss(
        name=trajectory.name,
        actuator_names=trajectory.actuator_names,
        t=trajectory.t,
        power=read_only(powers.losses_recorded),
        energy=read_only(np.array([energy[place] for energy, _ in found]).reshape(-1, len(place)).T),
        error=read_only(np.array([off for _, off in found]) + powers.doubt),
    )


@dataclass(frozen=True, eq=False)
class MotorPowers:
    """Losses and mechanical powers (n, nu) [W] at times t (n,), of which ``place`` (T,) are the samples of a run.

    ``losses_recorded`` (T, nu) belong to the recorded controls; ``doubt`` (nu,) [J] is the possible contribution of
    held controls that no sample has.
    """

    t: Array
    losses: Array
    mechanical: Array
    place: np.ndarray
    losses_recorded: Array
    doubt: Array


def motor_powers(trajectory: Trajectory, weights: ArrayLike | None) -> MotorPowers:
    """Return the losses and mechanical powers of the motors along a trajectory; see `motor_loss_along` for errors."""
    system = trajectory.moved_system()
    if system is None or len(trajectory.t) < 2:
        why = "it has fewer than two samples" if system else "its system, with the motors, is not known"
        raise ArgumentError(f"trajectory {trajectory.name!r}: {why}", element="trajectory")
    metric = None if weights is None else _checked_weights(system, weights)
    if metric is None:
        _require_motors(system)
    samples = held_samples(trajectory, system)
    native = _native(system)

    def evaluated(states: Array) -> tuple[Array, Array]:
        parts = native.evaluate_each(np.ascontiguousarray(states))
        u = states[:, system.nq + system.nv : system.nq + system.nv + system.nu]
        losses = parts["losses"][:, :, 0] if metric is None else u * (u @ metric)
        return losses, parts["mechanical"][:, :, 0]

    losses, mechanical = evaluated(samples.x)
    recorded = evaluated(samples.recorded)[0]
    doubt = np.abs(np.diff(recorded, axis=0)).T @ samples.unknown  # where no record has the control
    if samples.lower is not samples.x:  # and how good the states between records are
        doubt = doubt + coarseness(samples, losses, evaluated(samples.lower)[0])
    return MotorPowers(samples.t, losses, mechanical, samples.place, recorded, doubt)


def _native(system: System) -> NativeFunction:
    """Return the compiled losses and mechanical powers of all actuators; an unknown loss is zero."""

    def expressions() -> dict[str, ca.SX]:
        e = system.equations
        if system.mechanism is None:
            return {"losses": ca.SX.zeros(e.nu), "mechanical": (e.actuation.T @ e.v) * e.u}
        mechanism = system.model.symbolic_mechanism()
        known = motor_losses(mechanism, e)
        losses = [known.get(name, ca.SX(0)) for name in mechanism.actuators]
        speeds, forces = actuator_drives(mechanism, e)
        return {"losses": ca.vertcat(ca.SX(0, 1), *losses), "mechanical": speeds * forces}

    return system.compiled.named("motor losses", expressions)


def _require_motors(system: System) -> None:
    """Raise `ArgumentError` if the loss of an actuator is unknown, or there is no actuator."""
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: equations of one's own have no motor model; give weights= W of a loss uᵀW u",
            element="weights",
        )
    if not system.nu:
        raise ArgumentError(f"{system.name} has no actuators, so there is no motor loss", element="u")
    known = motor_losses(system.model.symbolic_mechanism(), system.equations)
    missing = [name for name in system.actuator_names if name not in known]
    if missing:
        raise ArgumentError(
            f"{system.name}: the loss of actuators {', '.join(map(repr, missing))} is unknown. Give motor_constant= to "
            "add_actuator, use add_motor, or give weights= W of a loss uᵀW u",
            element=missing[0],
        )


def _checked_weights(system: System, weights: ArrayLike) -> Array:
    """Return W (nu, nu); raises `ArgumentError` unless W is symmetric positive definite and the controls are forces."""
    array, nu = finite_array(weights), system.nu
    metric = None if array is None else np.diag(array) if array.shape == (nu,) else array
    if (
        metric is None
        or nu == 0
        or metric.shape != (nu, nu)
        or not np.allclose(metric, metric.T, rtol=SYMMETRIC_WEIGHTS, atol=0.0)
        or np.linalg.eigvalsh(metric)[0] <= 0.0
    ):
        raise ArgumentError(
            f"{system.name}: weights must be {nu} positive numbers, or a symmetric positive definite matrix ({nu}, "
            f"{nu})",
            element="weights",
        )
    actuators = {} if system.mechanism is None else system.mechanism.actuators
    for name, actuator in actuators.items():
        if not _is_force(actuator):
            raise ArgumentError(
                f"{system.name}: the force of actuator {name!r} is not gain × u, so uᵀW u is not its loss. Give it a "
                "motor_constant, or leave weights out",
                element=name,
            )
    return metric


def _is_force(actuator: Actuator) -> bool:
    """Return whether the force of an actuator is a constant times its control."""
    return actuator.activation is None and not any(actuator.bias) and not any(actuator.gain_slopes)
