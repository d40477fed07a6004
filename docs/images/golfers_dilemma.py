"""Draw the path of a ball in a pipe, and its height over time: python docs/images/golfers_dilemma.py."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import sarrus as sr
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from examples import rolling_on_surfaces as example  # noqa: E402


def main() -> None:
    """Write the picture beside this file."""
    system = sr.System(example.pipe())
    turning = 6.0
    q, v = example.round_the_pipe(system, turning)
    motion = sr.simulate(system, q, v, duration=4.0, dt=1e-3)
    figure = new_figure(9.0, 4.0)
    space = figure.add_subplot(1, 2, 1, projection="3d")
    angle = np.linspace(0, 2 * np.pi, 73)
    low = motion.q[:, 2].min()
    for z in np.linspace(low - 0.1, 0.1, 6):
        space.plot(
            example.AROUND * np.cos(angle), example.AROUND * np.sin(angle), z, color=FAINT, linewidth=0.7
        )
    for a in angle[::9]:
        x, y = example.AROUND * np.cos(a), example.AROUND * np.sin(a)
        space.plot([x, x], [y, y], [low - 0.1, 0.1], color=FAINT, linewidth=0.5)
    fine = np.linspace(0, motion.t[-1], 800)
    path = np.array([np.interp(fine, motion.t, motion.q[:, k]) for k in range(3)])
    space.plot(*path, color=colour(0), linewidth=1.2)
    space.plot(*path[:, :1], "o", color=INK, markersize=4)
    space.set_box_aspect((1, 1, (0.2 - low) / (2 * example.AROUND)))
    space.set_axis_off()
    height = figure.add_subplot(1, 2, 2)
    dress(height)
    exact = -5 * example.GRAVITY / (2 * turning**2) * (1 - np.cos(np.sqrt(2 / 7) * turning * fine))
    height.plot(fine, exact, color=FAINT, linewidth=3.0, label="closed form")
    height.plot(fine, path[2], color=colour(0), linewidth=1.2, label="sarrus")
    height.set_xlabel("t [s]")
    height.set_ylabel("height of the ball [m]")
    height.legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
