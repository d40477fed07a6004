"""Constrained forward dynamics against Pinocchio: as called from Python, and inside the compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pinocchio as pin

from benchmarks.kernel import kernel_batch
from benchmarks.models import MODELS, Case, case
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.rows import Row, conditions
from benchmarks.timing import batch, interleave, summarize
from sarrus.base.arrays import Array

AGREEMENT = 1e-8


def python_rows(quick: bool) -> list[Row]:
    """Return `System.forward_dynamics` and its accelerations, read, against the calls of Pinocchio."""
    repeats = 11 if quick else 61
    found = []
    for name in MODELS:
        c = case(name)
        plain = batch(_call(c, None))
        forced = batch(_call(c, np.zeros(c.system.nv)))
        call, note = peer_call(name)
        for label, ours in (("forward_dynamics", plain), ("forward_dynamics, τ given", forced)):
            result = interleave(ours, batch(call), repeats)
            found.append(
                Row(
                    name=label,
                    model=name,
                    ours_us=result.ours_us,
                    peer="Pinocchio constraintDynamics",
                    peer_us=result.peer_us,
                    ratio=result.ratio,
                    conditions=conditions("pin", note=note, repeats=repeats),
                    at_least=1.0,
                )
            )
    return found


def kernel_rows(quick: bool) -> list[Row]:
    """Return one evaluation in the kernel against Pinocchio's call, and the share of Python in that.

    The share of Python is estimated by `pin.integrate`, which hands over two vectors and returns one, and
    whose own work on these models is a fraction of it: the bound that it gives for Pinocchio is a low one.
    """
    repeats = 11 if quick else 61
    found = []
    for name in MODELS:
        c = case(name)
        call, note = peer_call(name)
        kernel = kernel_batch(c.system, c.q, c.v, 2000)
        peer, binding = batch(call), batch(_cheap_call(c))
        kernel(), peer(), binding()
        taken = [(kernel(), peer(), binding()) for _ in range(repeats)]
        ours, theirs, cheap = zip(*taken)
        result = summarize(ours, theirs)
        inside = summarize(ours, [max(t - b, 1e-9) for t, b in zip(theirs, cheap)])
        overhead = summarize(ours, cheap).peer_us
        note += f"; Pinocchio's time holds a Python call, about {overhead:.2f} µs (pin.integrate, same model)"
        found.append(
            Row(
                name="kernel evaluation",
                model=name,
                ours_us=result.ours_us,
                peer="Pinocchio constraintDynamics",
                peer_us=result.peer_us,
                ratio=result.ratio,
                conditions=conditions("pin", note=note, repeats=repeats),
                at_least=4.0,
                extra={"peer_call_us": overhead, "ratio_without_call": inside.ratio},
            )
        )
    return found


@cache
def peer_call(name: str) -> tuple[Callable[[], object], str]:
    """Return Pinocchio's call at its cheapest proximal settings that give the accelerations of sarrus."""
    c, (mu, iterations, note) = case(name), peer_settings(name)
    return PinocchioPeer(c.mechanism).forward_dynamics(c.q, c.v, mu, iterations), note


@cache
def peer_settings(name: str) -> tuple[float, int, str]:
    """Return mu and the number of iterations of Pinocchio's proximal method, and what they are chosen by."""
    c = case(name)
    ours = c.system.forward_dynamics(c.q, c.v, contacts=False).a
    scale = 1.0 + np.abs(ours).max()
    peer = PinocchioPeer(c.mechanism)
    for iterations in (1, 2, 3, 5, 10):
        for mu in (1e-14, 1e-12, 1e-10, 1e-8):
            call = peer.forward_dynamics(c.q, c.v, mu, iterations)
            difference = np.abs(peer.acceleration(c.q, c.v, call()) - ours).max() / scale
            if difference < AGREEMENT:
                note = (
                    f"same mechanism and state, accelerations agree to {difference:.0e} relative; "
                    f"Pinocchio: mu {mu:g}, proximal iterations {iterations}, rows {peer.n_rows}; "
                    f"sarrus: rows {c.system.nc}"
                )
                return mu, iterations, note
    raise RuntimeError(f"{name}: Pinocchio and sarrus disagree at all proximal settings")


def _call(c: Case, tau: Array | None) -> Callable[[], object]:
    forward_dynamics, q, v = c.system.forward_dynamics, c.q, c.v
    if tau is None:
        return lambda: forward_dynamics(q, v).a
    return lambda: forward_dynamics(q, v, tau=tau).a


def _cheap_call(c: Case) -> Callable[[], object]:
    peer = PinocchioPeer(c.mechanism)
    model, q, v = peer.model, peer.q(c.q), peer.v(c.q, c.v)
    integrate = pin.integrate
    return lambda: integrate(model, q, v)
