"""A chain of N parallel four-bars: at every half turn all links lie on one line and the rank drops by N.

N + 1 cranks stand on ground pivots 1 m apart and are joined at their tips by N couplers: 2 N + 1 uniform rods
of 1 m and 1 kg in the x-y plane, gravity along −y. It starts upright, the tips at 1 m/s. As long as the
cranks stay parallel the crank angle θ from the vertical is that of a pendulum, θ″ = κ sin θ with κ = 3 (3 N +
1) / (2 (4 N + 1)) g, and the first tip is (sin θ, cos θ), θ = 2 am(t/2 | −4 κ).
(Problem A02 of the IFToMM benchmark library; González, Dopico, Pastorino and Cuadrado, Nonlinear Dynamics 85,
2016.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

# x, y of the first tip by (N, t), from the elliptic functions at 30 digits.
TIP = {
    (2, 10.0): (0.32845811154081538, 0.94451853817860096),
    (40, 2.0): (0.034466307300407162, 0.99940586032956296),
}


def build(n: int = 2) -> sr.Mechanism:
    """Return the chain of n four-bars: n + 1 cranks and n couplers, 2 n closure rows.

    Crank k turns on the ground at x = k, at zero it stands upright, positive angles lean it towards +x.
    Coupler k hangs on the tip of crank k − 1, its angle is relative to that crank, and is pinned to the tip
    of crank k.
    """
    mechanism = sr.Mechanism(f"four_bar_chain_{n}", gravity=(0.0, -9.81, 0.0))
    rod = {"mass": 1.0, "inertia": (0.0, 1 / 12, 1 / 12)}
    for k in range(n + 1):
        mechanism.add_body(f"crank{k}", 1.0, com=(0, 0.5, 0), inertia=(1 / 12, 0.0, 1 / 12))
        mechanism.add_joint(
            f"crank{k}", "revolute", "world", f"crank{k}", axis=(0, 0, -1), parent_pose=(k, 0, 0)
        )
        if k < n:
            mechanism.add_body(f"coupler{k + 1}", com=(0.5, 0, 0), **rod)
            mechanism.add_joint(
                f"coupler{k + 1}",
                "revolute",
                f"crank{k}",
                f"coupler{k + 1}",
                axis=(0, 0, -1),
                parent_pose=(0, 1, 0),
            )
    for k in range(1, n + 1):
        mechanism.add_closure(
            f"pin{k}",
            "point_on_line",
            f"crank{k}",
            f"coupler{k}",
            axis=(0, 0, 1),
            pose1=(0, 1, 0),
            pose2=(1, 0, 0),
        )
    return mechanism


def start(system: sr.System) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return q, v: upright, every crank at 1 rad/s, the couplers keep their direction."""
    rates = [1.0 if name.startswith("crank") else -1.0 for name in system.velocity_names]
    return np.zeros(system.nq), np.array(rates)


def main() -> None:
    """Turn the chain of two for ten seconds and the chain of forty for two."""
    figures: dict[str, float] = {}
    for (n, duration), tip in TIP.items():
        system = sr.System(build(n))
        dt, allowed = (1e-3, 1e-6) if n == 2 else (2.5e-3, 1e-7)
        motion = sr.simulate(system, *start(system), duration=duration, dt=dt)
        print(motion)
        angle = motion.q[-1, 0]
        error = float(np.hypot(np.sin(angle) - tip[0], np.cos(angle) - tip[1]))
        assert error < allowed, error
        assert motion.residual.max() < 1e-13
        assert motion.energy_drift < 1e-5
        # Two singular configurations per turn, with all links on one line.
        assert len(motion.passages) == {2: 10, 40: 2}[n]
        assert all(p.crossed for p in motion.passages)
        figures |= {
            f"tip_error_{n}": error,
            f"passages_{n}": len(motion.passages),
            f"energy_drift_{n}": motion.energy_drift,
            f"residual_{n}": float(motion.residual.max()),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
