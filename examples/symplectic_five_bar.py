"""Implicit midpoint in canonical momenta of a closed loop, next to RK4: what happens to the energy over many steps.

The five-bar swings about its lowest configuration, with the two shoulders as independent coordinates y and their
momenta p = ∂L/∂ẏ on the constraint manifold. Hamilton's equations for (y, p) are not written out anywhere: a step
solves

    φ(q) = 0,  A v = 0,  R(q, v, y, p) = 0,  M a + h = Aᵀλ,  A a + γ = 0,      at y = (y₀ + y₁)/2, p = (p₀ + p₁)/2,
    (y₁ − y₀)/Δt = ẏ,  (p₁ − p₀)/Δt = ṗ,                                      where R_q q̇ + R_v a + R_y ẏ + R_p ṗ = 0

by Newton's method. The midpoint rule is symplectic in canonical coordinates, so the energy stays within a band of
O(Δt²) for exponentially long times; that of RK4 drifts (Hairer, Lubich and Wanner, Geometric Numerical Integration,
2nd ed., 2006, sections VI.4 and IX.8). Momenta on the constraint manifold: Spencer 2004, future work of section 5.2.
"""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus.codegen import compile_function
from sarrus.dynamics.coordinates import Momenta, extend

try:
    from examples import five_bar
except ImportError:  # run from its own folder
    import five_bar  # type: ignore[import-not-found, no-redef]

Array = NDArray[np.float64]

STEP = 0.05  # s
SHOULDERS = Momenta(["left", "right"])
NEWTON, ITERATIONS = 1e-12, 20


class MidpointRule:
    """Steps of the implicit midpoint rule in the coordinates (y, p) of a relation, for a system without inputs."""

    def __init__(self, system: sr.System, q: Array, v: Array, relation: Momenta) -> None:
        larger, _, state = extend(system, q, v, relation=relation)
        e, nv, n = larger.equations, system.nv, larger.nv - system.nv
        self.n, self.nq, self.nv, self.constants = n, system.nq, nv, [*larger.parameters.values()]
        before, step = ca.SX.sym("before", n), ca.SX.sym("step")
        rate, a, force = ca.SX.sym("rate", n), ca.SX.sym("a", nv), ca.SX.sym("force", system.nc)
        own = before + step / 2 * rate  # (y, p) in the middle
        accelerations = e.jacobian @ ca.vertcat(a, rate) + e.constraint_bias  # A a + γ and dR/dt
        balance = system.equations.mass_matrix @ a + system.equations.bias_force
        balance -= system.equations.jacobian.T @ force + system.equations.passive_force
        rows = ca.vertcat(e.position_residual, e.velocity_residual, accelerations, balance)
        unknown = ca.vertcat(e.q, e.v[:nv], rate, a, force)
        rows = ca.substitute(rows, e.v[nv:], own)
        given = [unknown, before, step, e.p]
        outputs = {"rows": rows, "slope": ca.jacobian(rows, unknown)}
        assert not ca.depends_on(rows, ca.vertcat(e.u, e.t))
        self.function = compile_function("midpoint", given, outputs)
        self.own = state[nv:].copy()
        self.unknown = np.zeros(unknown.numel())
        self.unknown[: self.nq], self.unknown[self.nq : self.nq + nv] = q, v

    def advance(self, dt: float) -> None:
        """Take one step."""
        x, size = self.unknown, len(self.unknown)
        for _ in range(ITERATIONS):
            values = self.function(np.concatenate([x, self.own, [dt], self.constants]))
            change = np.linalg.solve(values[size:].reshape(size, size), -values[:size])
            x = x + change
            if np.abs(change[: self.nq + self.nv]).max() < NEWTON:
                break
        else:
            raise RuntimeError("Newton's method does not converge: take a smaller step")
        self.unknown = x
        self.own = self.own + dt * x[self.nq + self.nv : self.nq + self.nv + self.n]


def start() -> tuple[sr.System, Array, Array]:
    """Return the five-bar in motion about its lowest configuration."""
    system = sr.System(five_bar.build())
    low = sr.equilibrium(system, system.assemble([-2.0, 0.9, -1.1, -0.9]).q).q
    q = system.assemble(low + np.array([0.35, 0.0, 0.1, 0.0]), locked=["left", "right"]).q
    return system, q, np.zeros(system.nv)


def energies(steps: int, dt: float = STEP, records: int = 1000) -> tuple[Array, dict[str, Array]]:
    """Return times and energies of the midpoint rule and of RK4 in the same coordinates, and in all of them."""
    system, q, v = start()
    every = max(steps // records, 1)
    rule = MidpointRule(system, q, v, SHOULDERS)
    chart = sr.parametrize(system, q, v, coordinates=SHOULDERS)
    n, found, guess = len(chart.names), [], q
    for k in range(steps + 1):
        if k % every == 0:
            guess, speed = chart.to_full(rule.own[:n], rule.own[n:], guess=rule.unknown[: system.nq])
            found.append(system.kinetic_energy(guess, speed) + system.potential_energy(guess))
        rule.advance(dt)
    runs = {"midpoint rule, momenta": np.array(found)}
    for name, coordinates in (("RK4, momenta", SHOULDERS), ("RK4, all coordinates", None)):
        run = sr.simulate(
            system,
            q,
            v,
            duration=steps * dt,
            dt=dt,
            every=every,
            coordinates=coordinates,
            error_estimate=False,
        )
        runs[name] = run.energy[: len(found)]
    return dt * every * np.arange(len(found)), runs


def main(steps: int = 10_000) -> None:
    """Compare the energies over many steps; those of the midpoint rule stay in a band, those of RK4 drift."""
    _, runs = energies(steps)
    swing = runs["midpoint rule, momenta"][0] - lowest_energy()
    figures: dict[str, float] = {"steps": steps, "energy of the swing": swing}
    for name, energy in runs.items():
        change = (energy - energy[0]) / swing
        half = len(change) // 2
        figures[f"{name}, band of the first half"] = float(np.ptp(change[:half]))
        figures[f"{name}, drift"] = float(change[half:].mean() - change[:half].mean())
    band = figures["midpoint rule, momenta, band of the first half"]
    assert abs(figures["midpoint rule, momenta, drift"]) < 0.05 * band
    for name in ("RK4, momenta", "RK4, all coordinates"):
        assert figures[f"{name}, drift"] < -20 * abs(figures["midpoint rule, momenta, drift"])
    print(json.dumps(figures))


def lowest_energy() -> float:
    """Return the potential energy at rest [J]."""
    system = sr.System(five_bar.build())
    return system.potential_energy(sr.equilibrium(system, system.assemble([-2.0, 0.9, -1.1, -0.9]).q).q)


if __name__ == "__main__":
    main(100_000)
