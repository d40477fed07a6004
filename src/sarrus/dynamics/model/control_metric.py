"""The norm of the controls, which selects u among all controls with the same effect, independent of units.

A force in newtons and a torque in newton metres cannot be added (Aghili 2005, section 7.2). A metric W of the
velocities makes them comparable: the norm of the generalized force f = S u is fᵀW⁻¹f (eq. (49) there), and the norm of
the controls uᵀ(SᵀW⁻¹S)u. Without a given metric, controls are scaled by the limits of the motors, or by the force of a
unit control in characteristic units (eq. (50) there): `default_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import finite_array
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.tolerances import DEFINITE_METRIC, DIAGONAL_METRIC, SMALL_FORCE
from sarrus.kernels.linalg import dense
from sarrus.model.mechanism.elements import Actuator
from sarrus.model.mechanism.transmissions import ParentTransmission, SiteTransmission


@dataclass(frozen=True, eq=False)
class ControlNorm:
    """The norm uᵀ diag(``weights``) u of the controls, or, if ``root`` is given, |R S u|² with R = W^(−1/2).

    Attributes
    ----------
    weights : (nu,) positive. With ``root`` they decide only what it leaves open.
    root : R (k, nv) of a metric of the velocities, or (k, nu) of the controls; None if the weights are the norm.
    of_velocities : whether ``root`` is a metric of the velocities.
    """

    weights: Array
    root: Array | None = None
    of_velocities: bool = True

    def rows(self, actuation: Array) -> Array | None:
        """Return the matrix (k, nu) whose product with u has the norm, for S (nv, nu); None if weights are the norm."""
        if self.root is None:
            return None
        return self.root @ actuation if self.of_velocities else self.root

    def at(self, actuation: Array) -> ControlNorm:
        """Return the same norm for a constant S (nv, nu): weights alone if SᵀW⁻¹S is diagonal."""
        rows = self.rows(actuation)
        if rows is None:
            return self
        gram = rows.T @ rows
        sizes = np.diag(gram)
        away = np.abs(gram - np.diag(sizes))
        alone = away <= DIAGONAL_METRIC * np.sqrt(np.outer(sizes, sizes))
        if not (sizes > 0.0).all() or not alone.all():
            return self
        return ControlNorm(read_only(sizes.copy()))


def control_norm(
    system: Evaluations, weights: ArrayLike | None = None, metric: ArrayLike | None = None
) -> ControlNorm:
    """Return the norm in which controls are minimal.

    Parameters
    ----------
    weights : (nu,) positive: uᵀ diag(weights) u.
    metric : W, symmetric and positive definite, or its diagonal, as made by `sarrus.formulations.actuator_metric` and
        `sarrus.formulations.characteristic_metric`: (nv, nv) of the velocities, with the norm fᵀW⁻¹f of f = S u; or
        (nu, nu) of the controls, uᵀW⁻¹u. If nu = nv it is a metric of the velocities. Controls with the same f (two
        motors on one joint) are decided by `default_weights`.

    Raises
    ------
    ArgumentError
        Both are given, a size is wrong, or a matrix or weight is not positive.
    """
    if metric is None:
        return ControlNorm(default_weights(system) if weights is None else _positive(system, weights))
    if weights is not None:
        raise ArgumentError(
            f"{system.name}: weights= and metric= both define the norm of the controls; give one",
            element="metric",
        )
    given = finite_array(metric)
    nv, nu = system.nv, system.nu
    if given is None or given.shape not in ((nv,), (nv, nv), (nu,), (nu, nu)):
        got = repr(metric) if given is None else f"shape {given.shape}"
        raise ArgumentError(
            f"{system.name}: metric must be {nv} × {nv}, of the velocities, or {nu} × {nu}, of the controls, or the "
            f"diagonal of such a matrix, got {got}",
            element="metric",
        )
    of_velocities, diagonal = (
        given.shape[0] == nv,
        given.ndim == 1 or not (given - np.diag(np.diag(given))).any(),
    )
    sizes = given if given.ndim == 1 else np.diag(given)
    root = None
    if (sizes > 0.0).all():
        root = np.diag(sizes**-0.5) if diagonal else _inverse_root(given)
    if root is None:
        raise ArgumentError(
            f"{system.name}: metric must be symmetric and positive definite", element="metric"
        )
    if not of_velocities and diagonal:
        return ControlNorm(read_only(1.0 / sizes))
    return ControlNorm(default_weights(system), root, of_velocities)


def default_weights(system: Evaluations) -> Array:
    """Return the default weights (nu,) of the controls: (s₀ / s)², with the scale s of each control, s₀ of the first.

    For motors with limits, s is the larger absolute limit of the control, or of the force divided by the gain
    (`sarrus.dynamics.model.control_limits.control_bounds`): u is measured relative to the capability of the motor. If
    no motor has limits, s = 1/e, with e the force of a unit control (gain and gear) in characteristic units: a force
    counts as its torque at the characteristic length. If only some motors have limits, the others get s = max(s e) /
    e, as if they were as strong as the strongest limited one. Equations without a mechanism have unknown units: ones.
    """
    key = "control weights", *system.parameters.values()
    return system.model.cached_lru(key, lambda: _default_weights(system))


def force_weight(system: Evaluations, weights: Array) -> float:
    """Return the weight of the square of a force [N] equivalent to the mean weight of the controls: equal cost for a
    control with the same effect as the force at the characteristic length."""
    return float(np.mean(weights / effects(system) ** 2)) * system.characteristic.length**2


def unit_of_controls(system: Evaluations, weights: Array) -> float:
    """Return √(uᵀ diag(weights) u) of controls that exert about 1/64 of the weight of all bodies at the characteristic
    length.

    Solvers for u use it as unit. It is a power of two, so that scaling by it does not round.
    """
    size = system.characteristic
    gravity = float(dense.norm(np.array(system.mechanism.gravity))) if system.mechanism else 1.0
    force = size.mass * max(gravity, size.length)
    return float(2.0 ** np.round(np.log2(SMALL_FORCE * force * np.sqrt(force_weight(system, weights)))))


def effects(system: Evaluations) -> Array:
    """Return e (nu,), the force of a unit of each control in characteristic units [N m]; ones if units are unknown."""
    found = np.ones(system.nu)
    if system.mechanism:
        size = system.characteristic
        columns = dict(zip(system.velocity_names, size.columns.tolist()))
        for k, actuator in enumerate(system.current_mechanism().actuators.values()):
            found[k] = _effect(actuator, columns, size.length)
    return found


def _default_weights(system: Evaluations) -> Array:
    exerted, limits = effects(system), np.abs(control_bounds(system)).max(axis=0)
    limited = np.isfinite(limits) & (limits > 0.0)
    scale = np.max(limits[limited] * exerted[limited], initial=0.0) if limited.any() else 1.0
    scales = np.where(limited, limits, scale / exerted)
    return read_only((scales[:1] / scales) ** 2)


def _effect(actuator: Actuator, columns: dict[str, float], length: float) -> float:
    """Return the force of a unit control: gain times its largest gear; never zero."""
    way, gain = actuator.transmission, abs(actuator.gain) or 1.0
    if isinstance(way, tuple):
        gears = [gear / columns[name] for name, gear in way]
    elif isinstance(way, SiteTransmission) or (isinstance(way, ParentTransmission) and len(way.gear) == 6):
        gears = [gear * size for gear, size in zip(way.gear, (length,) * 3 + (1.0,) * 3)]
    elif isinstance(way, ParentTransmission):
        gears = list(way.gear)
    else:
        gears = [way.gear * length]
    return gain * max((abs(gear) for gear in gears), default=0.0) or 1.0


def _positive(system: Evaluations, weights: ArrayLike) -> Array:
    """Return checked weights; raises `ArgumentError` unless all are positive."""
    given = system.checked(weights, system.nu, "weights")
    if not np.all(given > 0.0):
        raise ArgumentError(
            f"{system.name}: weights must be {system.nu} positive numbers, one per actuator",
            element="weights",
        )
    return given


def _inverse_root(metric: Array) -> Array | None:
    """Return R with RᵀR = W⁻¹, None if W is not symmetric and positive definite."""
    scale = np.sqrt(np.diag(metric))
    relative = metric / np.outer(scale, scale)
    if np.abs(relative - relative.T).max() > DEFINITE_METRIC * len(metric):
        return None
    values, vectors = np.linalg.eigh(0.5 * (relative + relative.T))
    if not values[0] > DEFINITE_METRIC:
        return None
    return np.asarray((vectors / np.sqrt(values)).T / scale)
