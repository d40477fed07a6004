"""Samples of a control law inside the loop: measured states, held controls, delay."""

from __future__ import annotations

from sarrus.kernels import law_layout as ll
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, integers_at, internal
from sarrus.kernels.projection import move
from sarrus.kernels.stepping import apply_control, find_control


@internal
def next_sample(state, end):
    """Return the time of the next sample, ``end`` where there is none before."""
    if state.period == 0.0:
        return end
    return min(end, state.first_sample + state.samples * state.period)


@internal
def is_due(state, time):
    """Tell whether a sample is due."""
    return state.period > 0.0 and time >= state.first_sample + (state.samples - 1e-9) * state.period


@internal
def measures(table):
    """Tell whether the law measures multipliers, which are only known after an acceleration."""
    return integers_at(table[la.LAW])[ll.N_MEASURED] > 0


@internal
def take_sample(table, x, state, known, s, ws):
    """Have the law see x, with noise, and hold what it asks for, after its delay; False where it has no answer.

    ``known`` says that the multipliers of the plant are in the workspace. What is held waits in a ring of delay + 1
    controls.
    """
    nq, nv, nu = table[la.NQ], table[la.NV], table[la.NU]
    sample, length = int(state.samples), int(state.delay) + 1
    law, ring = integers_at(table[la.LAW]), flat_at(table[la.RING])
    own = flat_at(law[ll.INPUT])
    if known:
        if law[ll.N_MEASURED] > 0:
            own[law[ll.MEASURED]] = 1.0
        for k in range(law[ll.N_MEASURED]):
            own[law[ll.MEASURED] + 1 + k] = s[ws.lam + law[ll.LEVELS + 3 * law[ll.N_LEVELS] + k]]
    seen = flat_at(table[la.SEEN])
    for i in range(la.input_size(table)):
        seen[i] = x[i]
    if table[la.NOISE] != 0:
        noise = flat_at(table[la.NOISE] + 16 * sample * nv)
        for i in range(nv):
            s[ws.step + i] = noise[i]
            seen[nq + i] += noise[nv + i]
        move(table, seen, s, ws.step, ws.x)
    found = find_control(table, seen, ll.SAMPLE, s, ws)
    for k in range(nu):
        ring[(sample % length) * nu + k] = s[ws.x + k]
    if sample >= length - 1:
        apply_control(table, ring, ((sample + 1) % length) * nu, x)
    state.samples += 1.0
    return found
