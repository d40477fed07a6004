"""Exact linear models in minimal coordinates, in the compiled loop, against forward dynamics, Pinocchio and MuJoCo."""

from __future__ import annotations

from benchmarks.dynamics import peer_settings
from benchmarks.kernel import kernel_batch, linear_batch
from benchmarks.models import LINEAR_MODELS, case
from benchmarks.mujoco_peer import MujocoPeer
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.rows import Row, conditions
from benchmarks.timing import batch, summarize

NAME = "linear model"


def rows(quick: bool) -> list[Row]:
    """Return three comparisons of each model; all four sides take turns.

    Pinocchio finds accelerations, then ∂a/∂q, ∂a/∂v and ∂a/∂τ of all velocities, not yet reduced to those that the
    loops leave. MuJoCo's centred differences are of one step of its soft loops. Both times hold a call from Python.
    """
    repeats = 11 if quick else 61
    found = []
    for name in LINEAR_MODELS:
        c, (mu, iterations, note) = case(name), peer_settings(name)
        peer = PinocchioPeer(c.mechanism)
        soft = MujocoPeer(c.mechanism, c.system, c.q, c.v)
        sides = (
            linear_batch(c.system, c.q, c.v, 1000),
            kernel_batch(c.system, c.q, c.v, 2000),
            batch(peer.linear_model(c.q, c.v, mu, iterations)),
            batch(soft.linear_model()),
        )
        for side in sides:
            side()
        ours, forward, pinocchio, mujoco = zip(*(tuple(side() for side in sides) for _ in range(repeats)))
        deviation = PinocchioPeer(c.mechanism).deviation(c.q, c.v, mu, iterations)
        note += (
            f"; Pinocchio's first ∂a/∂q deviates by {deviation:.0e} from differences of its own accelerations"
        )
        peers = (
            ("forward_dynamics, kernel", forward, None, 4.0, (), "same state, 1000 models in one call"),
            ("Pinocchio, with derivatives", pinocchio, 2.0, None, ("pin",), note),
            ("MuJoCo mjd_transitionFD", mujoco, 10.0, None, ("mujoco",), "centred; PGS, no contacts, same M"),
        )
        for peer, theirs, at_least, at_most, packages, text in peers:
            result = summarize(ours, theirs)
            cost = summarize(theirs, ours).ratio
            found.append(
                Row(
                    name=NAME,
                    model=name,
                    ours_us=result.ours_us,
                    peer=peer,
                    peer_us=result.peer_us,
                    ratio=result.ratio,
                    conditions=conditions(*packages, note=text, repeats=repeats),
                    at_least=at_least,
                    at_most=at_most,
                    extra={"cost": cost},
                )
            )
    return found
