"""`Measurements`: a log of times, coordinates, velocities, accelerations and controls, checked and completed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline, make_smoothing_spline
from scipy.signal import butter, sosfiltfilt

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.design.identification.periods import Periods
from sarrus.design.identification.tolerances import SPLINE_EDGE, TURNED_POSES, UNEVEN_FOR_FILTER, WRAPPED_PART
from sarrus.dynamics.closing.manifold import rate_matrix
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked

_LABELS = {"q": "coordinate", "v": "velocity", "a": "velocity", "u": "actuator"}
_FEWEST = 6  # samples
# Order of the low-pass filter, which runs forth and back; a filtered log keeps two samples for each period of the cut.
_ORDER = 4


@dataclass(frozen=True, eq=False)
class Measurements:
    """A log: t (T,), q (T, nq), v (T, nv), a (T, nv), u (T, nu), applied forces tau (T, nv).

    ``periods``: number of periods averaged in each sample; ``scatter`` (3 nv + nu,): standard deviations from the
    scatter of the periods, NaN if unknown.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    tau: Array
    periods: int
    scatter: Array

    def __len__(self) -> int:
        return len(self.t)

    def at(self, keep: np.ndarray | slice) -> Measurements:
        """Return the selected samples."""
        series = {name: getattr(self, name)[keep] for name in ("t", "q", "v", "a", "u", "tau")}
        return replace(self, **series)


def read(
    system: System,
    log: Any,
    arrays: Mapping[str, Any],
    cutoff: float | None = None,
    period: float | None = None,
) -> Measurements:
    """Return a log from arrays, or from a `Trajectory` or its dataset; see `sarrus.identification.identify`."""
    given = {name: value for name, value in arrays.items() if value is not None}
    if log is not None:
        given = _of_log(system, log) | given
    for name in ("t", "q"):
        if name not in given:
            raise ArgumentError(
                f"{system.name}: the log has no {name!r}; give at least t, q and u", element=name
            )
    if system.nu and "u" not in given:
        raise ArgumentError(
            f"{system.name}: the log has no 'u'; controls of {', '.join(system.actuator_names)} must be known",
            element="u",
        )
    t = _times(system, given["t"])
    shapes = {"q": system.nq, "v": system.nv, "a": system.nv, "u": system.nu, "tau": system.nv}
    found = {
        name: _array(system, name, given[name], len(t), n) for name, n in shapes.items() if name in given
    }
    found["q"] = _continuous(system, found["q"])
    found |= {
        "u": found.get("u", np.zeros((len(t), 0))),
        "tau": found.get("tau", np.zeros((len(t), system.nv))),
    }
    splines = "v" not in given or "a" not in given
    repeated, scatter = 1, np.full(3 * system.nv + system.nu, np.nan)
    if period is not None:
        if cutoff is not None:
            raise ArgumentError(
                f"{system.name}: give either cutoff= or period=; the mean of periods needs no filter",
                element="cutoff",
            )
        t, found, repeated, scatter = _mean_period(system, t, found, period)
    inner = slice(0, len(t))
    if period is not None and splines:  # beyond both ends, so that splines end where nothing of them is used
        t, found, inner = _wrapped(t, found, period)
    q, v, a = found["q"], found.get("v"), found.get("a")
    if v is None:
        v = _velocity(system, t, q)
        a = _slopes(t, v, smooth=False) if a is None else a
    if a is None:
        a = _slopes(t, v, smooth=True)
    whole = Measurements(t, q, v, a, found["u"], found["tau"], repeated, scatter).at(inner)
    whole = whole if cutoff is None else _filtered(system, whole, cutoff)
    if splines and period is None:  # splines have no second derivative at their ends
        edge = max(2, int(np.ceil(SPLINE_EDGE * len(whole))))
        whole = whole.at(slice(edge, len(whole) - edge))
    return replace(whole, q=np.array([system.normalized(row) for row in whole.q]))


def _mean_period(
    system: System, t: Array, found: dict[str, Array], period: float
) -> tuple[Array, dict[str, Array], int, Array]:
    """Return the mean of all whole periods, their number, and the noise of the mean if q, v, a, u are all given."""
    periods = Periods(system.name, t, period)
    means = {name: periods.mean(x) for name, x in found.items()}
    means["q"] = np.array([system.normalized(row) for row in means["q"]])
    labels = {"q": system.coordinate_names, "u": system.actuator_names}
    parts = {
        name: periods.scatter(found[name], means[name], labels.get(name, system.velocity_names))
        for name in "qvau"
        if name in found
    }
    scatter = np.full(3 * system.nv + system.nu, np.nan)
    if len(parts) == len("qvau"):
        rows = range(0, periods.count, max(1, periods.count // TURNED_POSES))
        turned = [np.abs(ranked(rate_matrix(system, means["q"][k])).inverse) for k in rows]
        along = np.sqrt((np.mean(turned, axis=0) ** 2) @ parts["q"] ** 2)
        scatter = np.concatenate([along, parts["v"], parts["a"], parts["u"]])
    return t[: periods.count], means, periods.whole, scatter


def _wrapped(t: Array, found: dict[str, Array], period: float) -> tuple[Array, dict[str, Array], slice]:
    """Return a period extended by a part of itself before and after, and its place there."""
    n = len(t)
    more = min(n, max(_FEWEST, int(np.ceil(WRAPPED_PART * n))))
    around = np.arange(-more, n + more)
    times = t[around % n] + period * (around // n)
    return times, {name: x[around % n] for name, x in found.items()}, slice(more, more + n)


def _of_log(system: System, log: Any) -> dict[str, Any]:
    """Return the arrays of a dataset by its labels, in the order of the system's names; of a trajectory unchanged."""
    if hasattr(log, "to_xarray"):
        log = log.to_xarray()
    if not (hasattr(log, "coords") and hasattr(log, "data_vars")):
        raise ArgumentError(
            f"{system.name}: a log must be a Trajectory or an xarray Dataset as its to_xarray gives, got "
            f"{type(log).__name__}",
            element="log",
        )
    found: dict[str, Any] = {}
    if "time" in log.coords:
        found["t"] = np.asarray(log["time"])
    names = {
        "coordinate": system.coordinate_names,
        "velocity": system.velocity_names,
        "actuator": system.actuator_names,
    }
    for name, label in _LABELS.items():
        if name not in log.data_vars:
            continue
        array = log[name]
        if label in log.coords:
            own, wanted = [str(x) for x in np.asarray(log[label])], names[label]
            missing = [n for n in wanted if n not in own]
            if missing:
                raise ArgumentError(
                    f"{system.name}: the log has no {label} {missing[0]!r}; it has {', '.join(own)}",
                    element=missing[0],
                    valid=own,
                )
            array = array.isel({label: [own.index(n) for n in wanted]})
        found[name] = np.asarray(array)
    return found


def _times(system: System, given: Any) -> Array:
    t = np.asarray(real_array(given))
    if t.ndim != 1 or len(t) < _FEWEST:
        raise ArgumentError(
            f"{system.name}: t must be a vector of {_FEWEST} times at least, got shape {t.shape}", element="t"
        )
    if not np.isfinite(t).all():
        at = int(np.argmin(np.isfinite(t)))
        raise ArgumentError(f"{system.name}: t must be finite, sample {at} is {t[at]}", element="t")
    wrong = np.flatnonzero(np.diff(t) <= 0.0)
    if len(wrong):
        k = int(wrong[0])
        raise ArgumentError(
            f"{system.name}: t must increase; sample {k + 1} at {t[k + 1]:g} s follows {t[k]:g} s",
            element="t",
        )
    return t


def _array(system: System, name: str, given: Any, count: int, width: int) -> Array:
    labels = system.coordinate_names if name == "q" else system.velocity_names
    labels = system.actuator_names if name == "u" else labels
    array = np.asarray(real_array(given))
    if array.shape != (count, width):
        raise ArgumentError(
            f"{system.name}: {name} must have shape ({count}, {width}), one row for each time and a column for each of "
            f"{', '.join(labels) or 'none'}, got {array.shape}",
            element=name,
        )
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        k, j = map(int, wrong[0])
        raise ArgumentError(
            f"{system.name}: {name} must be finite; sample {k} of {labels[j]!r} is {array[k, j]}",
            element=labels[j],
        )
    return array


def _continuous(system: System, q: Array) -> Array:
    """Return q with unit quaternions without changes of sign between samples."""
    out = np.array([system.normalized(row) for row in q])
    for start in system.equations.quaternions:
        part = out[:, start : start + 4]
        flips = np.where((part[1:] * part[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
        part[1:] *= np.cumprod(flips)[:, None]
    return out


def _velocity(system: System, t: Array, q: Array) -> Array:
    """Return v from smoothing splines of q: N v = q̇ in the least-squares sense."""
    rates = _slopes(t, q, smooth=True)
    return np.array([ranked(rate_matrix(system, x)).inverse @ rate for x, rate in zip(q, rates)])


def _slopes(t: Array, values: Array, *, smooth: bool) -> Array:
    """Return the derivatives of columns by splines, interpolating or smoothing."""
    step = float(np.diff(t).mean())
    s = (t - t[0]) / step  # about one between samples, which the choice of the smoothing relies on
    spline = make_smoothing_spline if smooth else make_interp_spline
    return np.stack([spline(s, x).derivative()(s) for x in values.T], axis=1) / step


def _filtered(system: System, log: Measurements, cutoff: float) -> Measurements:
    """Return the log after a zero-phase low-pass filter, with as many samples as have independent noise."""
    steps = np.diff(log.t)
    rate = 1.0 / steps.mean()
    if np.ptp(steps) > UNEVEN_FOR_FILTER * steps.mean():
        raise ArgumentError(f"{system.name}: cutoff= needs samples at even times", element="cutoff")
    if not 0.0 < cutoff < 0.5 * rate:
        raise ArgumentError(
            f"{system.name}: cutoff must be between 0 and half the sample rate, {0.5 * rate:g} Hz, got {cutoff}",
            element="cutoff",
        )
    sections = butter(_ORDER, cutoff, fs=rate, output="sos")
    pad = min(len(log) - 1, int(3 * rate / cutoff))
    series = {name: getattr(log, name) for name in ("q", "v", "a", "u", "tau")}
    smooth = {
        name: sosfiltfilt(sections, x, axis=0, padlen=pad) if x.shape[1] else x for name, x in series.items()
    }
    every = max(1, int(rate / (2.0 * cutoff)))
    edge = min(int(rate / cutoff), len(log) // 4)
    return replace(log, **smooth).at(slice(edge, len(log) - edge, every))
