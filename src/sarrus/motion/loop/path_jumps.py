"""Tendons whose path jumps off a wrapping geometry, or to its other side, and back within one step of a run.

The length of the tendon jumps, and its force with it. Error control shortens steps at a jump, unless the path is the
same again at the end of the step: then the run has missed it. So lengths are evaluated every `APART` along the straight
line between two records. A change of length that its rate does not explain, however short the part, is a jump. A rope
that is taut at a jump stops there, as no step leads on: so lengths are also evaluated just beyond each record.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.contact.tolerances import STILL
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.tendons import Wrap
from sarrus.model.mechanism.transmissions import TendonTransmission
from sarrus.motion.loop.tolerances import LEAST_JUMP, PATH_LOOK, PATH_LOOKS, PATH_NEAR, PATH_SHORT
from sarrus.motion.records.quantities import Quantities
from sarrus.symbolic.forces.forces import damped, elastic
from sarrus.symbolic.multibody.powers import tendon_paths


class _Seen(NamedTuple):
    """Lengths (n,) [m] of the tendons at a configuration, and their derivatives (n, nv) with respect to the
    velocities; or both at several configurations (k, …).
    """

    lengths: Array
    moments: Array


def missed_jump(system: Evaluations, run: Quantities) -> str:
    """Return the message on a tendon whose path jumps and jumps back within a step; "" if there is none.

    ``run`` has a record for every step.
    """
    mechanism, e = system.mechanism, system.equations
    if mechanism is None or e.tree is None:
        return ""
    names = system.model.cached("wrapping tendons", lambda: _that_wrap(mechanism))
    if not names:
        return ""
    native = system.compiled.named("tendon paths", lambda: tendon_paths(mechanism, e, names))
    size = system.characteristic
    least = LEAST_JUMP * size.length
    stopping = np.array([bool(mechanism.tendons[name].ropes and _sided(mechanism, name)) for name in names])

    def seen(q: Array, t: float) -> _Seen:
        found = native.evaluate(system.pack(q, t=t))
        return _Seen(found["lengths"][:, 0], found["moments"])

    steps = _steps(system, run.q)
    ways = np.linalg.norm(size.columns * steps, axis=1)
    counts = np.minimum((ways / PATH_LOOK).astype(int) + 1, PATH_LOOKS)
    suspect = counts > 1
    if stopping.any():
        x = np.tile(system.pack(run.q[0]), (2, len(run.t), 1))
        speeds = np.linalg.norm(size.columns * run.v, axis=1)
        beyond = PATH_NEAR / np.maximum(speeds, STILL)[:, None] * run.v
        x[0, :, system.parts.q], x[1, :, system.parts.q] = run.q, _moved(system, run.q, beyond)
        x[:, :, system.parts.t] = run.t
        here, ahead = (_Seen(f["lengths"][..., 0], f["moments"]) for f in map(native.evaluate_each, x))
        left = stopping * _torn(here, ahead, beyond)
        if left.max() > least:
            k, i = np.unravel_index(int((left > least).argmax()), left.shape)
            return _message(mechanism, names[i], float(left[k, i]), float(run.t[k]))
        one, other = _Seen(here.lengths[:-1], here.moments[:-1]), _Seen(here.lengths[1:], here.moments[1:])
        suspect |= (stopping * _torn(one, other, steps) > least).any(axis=1)
    for k in np.flatnonzero(suspect):
        (t, later), step, way, count = run.t[k : k + 2], steps[k], ways[k], counts[k]
        places = [system.move(run.q[k], share * step) for share in np.linspace(0.0, 1.0, count + 1)]
        looks = [seen(q, t) for q in places]
        for i in np.flatnonzero(
            [_torn(looks[i], looks[i + 1], step / count).max() > least for i in range(count)]
        ):
            first, before, share = i / count, looks[i], 1.0 / count
            while share * way > PATH_SHORT:  # the half in which more is left
                share *= 0.5
                middle = seen(system.move(run.q[k], (first + share) * step), t)
                after = seen(system.move(run.q[k], (first + 2.0 * share) * step), t)
                halves = _torn(before, middle, share * step), _torn(middle, after, share * step)
                if halves[1].max() > halves[0].max():
                    first, before = first + share, middle
                left = np.maximum(*halves)
                if not left.max() > least:
                    break
            else:
                when = t + (first + share) * (later - t)
                return _message(mechanism, names[int(left.argmax())], float(left.max()), when)
    return ""


def _torn(before: _Seen, after: _Seen, step: Array) -> Array:
    """Return what the rates do not explain of the change of each length along a step (nv), or steps (k, nv)."""
    change = 0.5 * (before.moments + after.moments) @ step[..., None]
    return np.abs(after.lengths - before.lengths - change[..., 0])


def _steps(system: Evaluations, q: Array) -> Array:
    """Return the steps (k − 1, nv) between configurations (k, nq)."""
    if len(system.model.quaternions):
        return np.array([difference(system, *pair) for pair in itertools.pairwise(q)])
    return np.diff(q[:, : system.nv], axis=0)


def _moved(system: Evaluations, q: Array, steps: Array) -> Array:
    """Return configurations (k, nq) moved by one step (nv) each."""
    if len(system.model.quaternions):
        return np.array([system.move(one, step) for one, step in zip(q, steps)])
    moved = q.copy()
    moved[:, : system.nv] += steps
    return moved


def _message(mechanism: Mechanism, name: str, jump: float, time: float) -> str:
    """Return the message on a tendon whose path jumps by ``jump`` [m] at ``time`` [s]."""
    if sided := _sided(mechanism, name):
        return (
            f"the path of tendon {name!r} jumps by {jump:.3g} m at t = {time:.6g} s, where an end of it passes the "
            f"wrap on {sided[0].body!r} opposite the side point: a configuration does not say how far a string is "
            "wound. Keep the ends on the near side; a rope that winds up is a drum (joint_terms)"
        )
    return (
        f"the path of tendon {name!r} jumps by {jump:.3g} m and back within the step about t = {time:.6g} s, which the "
        "run has missed. Shorten the steps with method=sr.Stepping(max_step=...), or give the wrapping geometry a side "
        "point"
    )


def _sided(mechanism: Mechanism, name: str) -> list[Wrap]:
    """Return the wraps of a tendon that have a side point."""
    return [item for item in mechanism.tendons[name].path if isinstance(item, Wrap) and item.side is not None]


def _that_wrap(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of the tendons that wrap around a geometry and carry a force."""
    pulled = {
        actuator.transmission.tendon
        for actuator in mechanism.actuators.values()
        if isinstance(actuator.transmission, TendonTransmission)
    }
    return tuple(
        name
        for name, tendon in mechanism.tendons.items()
        if any(isinstance(item, Wrap) for item in tendon.path)
        and (elastic(tendon) or damped(tendon) or tendon.ropes or name in pulled)
    )
