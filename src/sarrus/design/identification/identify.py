"""`identify`: base parameters of a mechanism from a log, and physically consistent parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.design.identification.adjustment import Adjuster
from sarrus.design.identification.base import BaseParameters, base_parameters
from sarrus.design.identification.consistent import METRICS, program, solve
from sarrus.design.identification.measurements import Measurements, read
from sarrus.design.identification.noise import noise_levels
from sarrus.design.identification.numbers import rubbing
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.result import Identification
from sarrus.design.identification.tolerances import (
    LEAST_DEVIATION,
    LEAST_VARIANCE,
    NO_RIGHT_SIDE,
    SLOW_DEVIATIONS,
    UNEXCITED,
)
from sarrus.dynamics.system import System


def identify(
    model: Regressor | System,
    log: Any = None,
    *,
    t: ArrayLike | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    u: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    noise: Mapping[str, ArrayLike | float] | None = None,
    cutoff: float | None = None,
    period: float | None = None,
    prior_weight: float = 1.0,
    metric: str = "entropic",
    base: BaseParameters | None = None,
) -> Identification:
    """Return an `Identification`: base parameters with covariance, consistent parameters, and a mechanism with these.

    The base parameters are least-squares estimates without a prior. Each sample is corrected in q, v, a and u, in
    proportion to their noise, until loops close and forces balance (`sarrus.design.identification.adjustment`), so
    that noise in the regressor causes no bias. The parameters of bodies, friction and so on are then the physically
    consistent ones nearest to the mechanism's own that explain the base parameters within their covariance
    (`sarrus.design.identification.consistent`); parameters that the log does not determine stay near the mechanism.

    Multipliers are eliminated, so passive joints, redundant closures and singular configurations are allowed. The rank
    is decided on the loops, sample by sample.

    Parameters
    ----------
    model : a `Regressor`, which selects the parameters, or a system for the default ones.
    log : a `Trajectory`, or a dataset as from its ``to_xarray``, read by its labels; or arrays:
    t : (T,) times [s], increasing. q (T, nq), v (T, nv), a (T, nv), u (T, nu) : in the order of the system. Missing v
        and a are computed by smoothing splines (generalized cross-validation); one twenty-fifth of the samples is then
        left out at both ends, where splines are inaccurate.
    tau : (T, nv) generalized force applied from outside [N, N m], known exactly.
    noise : standard deviations of "q" (along velocities), "v", "a" and "u", numbers or one for each column. Default:
        one percent of the root mean square of each column (of q about its mean); then only their ratios matter, as the
        covariance is scaled by the misfit of the equations of motion.
    cutoff : of a zero-phase low-pass filter of all channels [Hz]; two samples per period of the cutoff are kept.
    period : of a periodic motion [s], such as an exciting trajectory, a whole number of samples. The mean of all whole
        periods, at least two, is used. ``noise`` is that of one sample before averaging; without it, if all of q, v, a
        and u are given, the scatter of the periods is used. Periods that do not repeat are an error.
    prior_weight : weight of the mechanism's own parameters, in units of a standard deviation of about their size.
    metric : "entropic" or "pullback" (needs Clarabel), the distance to the mechanism's parameters.
    base : base parameters of the regressor, if already known.

    Samples in which a joint with dry friction is slower than three standard deviations of its noise are left out.

    Raises `ArgumentError` for logs of other shapes, that are not finite, whose times do not increase, whose loops are
    open or whose velocities would open them, naming sample and column; if gains and all inertias are identified at
    once, so that the scale is undetermined; if there are fewer samples than parameters. `SolveError` if the log does
    not fit the mechanism at all.
    """
    regressor = model if isinstance(model, Regressor) else Regressor(model)
    system = regressor.system
    if metric not in METRICS:
        raise ArgumentError(
            f"metric must be one of {', '.join(METRICS)}, got {metric!r}", element="metric", valid=METRICS
        )
    if not (np.isfinite(prior_weight) and prior_weight > 0.0):
        raise ArgumentError(f"prior_weight must be positive, got {prior_weight}", element="prior_weight")
    base = base_parameters(regressor) if base is None else base
    given = {"t": t, "q": q, "v": v, "a": a, "u": u, "tau": tau}
    whole = read(system, log, given, cutoff, period)
    sigma = noise_levels(system, whole, noise)
    measured = _fast_enough(regressor, whole, sigma)
    adjuster = Adjuster(regressor, measured, sigma)
    kept, shares, start = _start(regressor, adjuster, base)
    found = adjuster.run(start, [base.kept[k] for k in kept])
    k_data = shares @ base.matrix
    scale = 1.0
    if noise is None and np.isnan(whole.scatter).any() and found.freedom > 0:
        scale = max(found.misfit / found.freedom, LEAST_VARIANCE)
    values = k_data @ found.values
    places = [base.kept[k] for k in kept]
    size = regressor.size[places]
    r = np.asarray(np.linalg.qr(found.rows[:, places] * size, mode="r"))
    inverse = np.linalg.inv(r)
    covariance = scale * (inverse @ inverse.T) * np.outer(size, size)
    floor = np.diag((LEAST_DEVIATION * size) ** 2)
    p = program(regressor, k_data, values, _whitening(covariance + floor), prior_weight)
    consistent = regressor.size * solve(p, metric)
    consistent = _untouched(regressor, k_data, consistent)
    singular = np.linalg.svd(r, compute_uv=False)
    return Identification(
        name=system.name,
        base=base,
        kept=tuple(kept),
        matrix=read_only(k_data),
        values=read_only(values),
        prior=read_only(k_data @ regressor.values),
        covariance=read_only(covariance),
        size=read_only(regressor.sizes(k_data, values)),
        condition=float(singular[0] / singular[-1]),
        misfit=found.misfit / found.freedom if found.freedom > 0 else np.nan,
        loop_misfit=found.loop_misfit / found.loop_freedom if found.loop_freedom else np.nan,
        samples=len(measured),
        left_out=len(whole) - len(measured),
        periods=whole.periods,
        iterations=found.iterations,
        names=regressor.names,
        numbers=read_only(consistent),
        prior_numbers=regressor.values,
        mechanism=regressor.numbers.put(consistent),
    )


def _whitening(covariance: Array) -> Array:
    """Return R with RᵀR = C⁻¹."""
    spread = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(spread, spread))
    return np.asarray(np.linalg.inv(root) / spread)


def _fast_enough(regressor: Regressor, log: Measurements, sigma: Array) -> Measurements:
    """Return the samples in which all velocities with dry friction have a definite sign."""
    nv = regressor.system.nv
    columns = rubbing(regressor.numbers)
    keep = np.asarray((np.abs(log.v[:, columns]) > SLOW_DEVIATIONS * sigma[nv:][columns]).all(axis=1))
    if columns and not keep.any():
        names = ", ".join(regressor.system.velocity_names[k] for k in columns)
        raise ArgumentError(
            f"{regressor.system.name}: dry friction cannot be identified: in no sample do all of {names} move faster "
            "than three standard deviations of their noise",
            element=regressor.system.velocity_names[columns[0]],
        )
    return log.at(keep)


def _start(regressor: Regressor, adjuster: Adjuster, base: BaseParameters) -> tuple[list[int], Array, Array]:
    """Return (base parameters that the log distinguishes, their estimates, initial parameters)."""
    rows, right = adjuster.plain_rows()
    columns = rows[:, list(base.kept)]
    size = regressor.size[list(base.kept)]
    kept, shares = base.restricted(columns * size, UNEXCITED)
    if len(rows) <= len(kept) or not kept:
        raise ArgumentError(
            f"{regressor.system.name}: {len(rows)} equations in {len(adjuster.samples)} samples are not enough for "
            f"{len(kept)} base parameters; give a longer log",
            element="t",
        )
    shares = shares * size[kept][:, None] / size
    if np.abs(right).max() <= NO_RIGHT_SIDE * np.abs(rows * regressor.values).max():
        raise ArgumentError(
            f"{regressor.system.name}: nothing in the equations is known, so the scale of all parameters is "
            "undetermined. Fix one with known=, such as a gain or the mass of a body",
            element=regressor.names[0],
        )
    start = regressor.values.copy()
    places = [base.kept[k] for k in kept]
    inner = columns[:, kept] * size[kept]
    step, *_ = np.linalg.lstsq(inner, right - rows @ start, rcond=None)
    start[places] += step * size[kept]
    return kept, shares, start


def _untouched(regressor: Regressor, k: Array, values: Array) -> Array:
    """Return the parameters, with those of the mechanism for bodies on which no equation depends."""
    out = values.copy()
    for places in regressor.numbers.inertial.values():
        at = list(places.values())
        if not k[:, at].any():
            out[at] = regressor.values[at]
    return out
