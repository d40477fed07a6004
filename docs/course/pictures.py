"""Make the pictures of the course from the runs of its pages: python docs/course/pictures.py [PAGE ...]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ellipk

import sarrus as sr
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "images")]

import outputs  # noqa: E402
from make import save  # noqa: E402

Names = dict[str, Any]


def main(wanted: list[str]) -> None:
    """Run the pages that are asked for, by default all, and draw what they computed."""
    pictures = {
        "1-pendulum": (pendulum, "pendulum.png"),
        "2-double-pendulum": (double_pendulum, "double_pendulum.png"),
        "3-four-bar": (four_bar, "four_bar.png"),
        "4-rank": (linkage, "sarrus.png"),
        "5-singular": (slider_crank, "slider_crank.png"),
        "6-rolling": (rolling, "rolling.png"),
        "7-contacts": (block, "block.png"),
        "8-stewart-platform": (stewart, "stewart.png"),
    }
    for page in wanted or pictures:
        draw, name = pictures[page]
        save(
            draw(outputs.computed(f"course/{page}", above="## Exercises")),
            name,
            dpi=90,
            folder=HERE / "images",
        )


def titled(axes: Axes, title: str, x: str, y: str) -> None:
    """Dress the axes and name them."""
    axes.set_title(title, loc="left", size=9, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    dress(axes)


def pendulum(names: Names) -> Figure:
    """Draw curves of constant energy, and the period with what was simulated."""
    rate = names["w0"]
    figure = new_figure(10.0, 3.6)
    portrait, period = figure.subplots(1, 2)
    angle = np.linspace(-1.5 * np.pi, 1.5 * np.pi, 400)
    speed = np.linspace(-3.1 * rate, 3.1 * rate, 300)
    energy = (speed[:, None] / rate) ** 2 / 2 - np.cos(angle)
    portrait.contour(
        angle, speed, energy, levels=[-0.8, -0.3, 0.3, 0.8], colors=colour(0), linestyles="solid"
    )
    portrait.contour(angle, speed, energy, levels=[1.0], colors=colour(1), linewidths=1.6)
    portrait.contour(angle, speed, energy, levels=[1.6, 2.6], colors=FAINT, linewidths=1.1)
    portrait.set_xticks(np.pi * np.arange(-1, 2), ["−π", "0", "π"])
    titled(portrait, "curves of constant energy; orange: comes to rest upright", "θ [rad]", "rate [rad/s]")
    degrees = np.linspace(0.5, 179.5, 400)
    period.plot(degrees, 4 / rate * ellipk(np.sin(np.deg2rad(degrees) / 2) ** 2), color=colour(0))
    some = np.array([5.0, 45.0, 90.0, 120.0, 150.0, 165.0, 175.0])
    period.plot(
        some,
        [names["period"](s) for s in np.deg2rad(some)],
        "o",
        color=colour(1),
        fillstyle="none",
        label="simulated",
    )
    period.axhline(2 * np.pi / rate, color=FAINT, linestyle=":", linewidth=1)
    period.set(xlim=(0, 180), ylim=(0, 6), xticks=range(0, 181, 30))
    period.legend(frameon=False, fontsize=9)
    titled(period, "period by the elliptic integral, and simulated", "released at [°]", "period [s]")
    return figure


def double_pendulum(names: Names) -> Figure:
    """Draw the way of the tip in both runs, their distance, and the energy."""
    one, two = names["one"], names["two"]
    figure = new_figure(10.0, 4.2)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.5))
    path, apart = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1])
    energy = figure.add_subplot(grid[1, 1], sharex=apart)
    late = (one.t >= 9.0) & (one.t <= 14.0)
    for k, motion in enumerate((one, two)):
        absolute = np.cumsum(motion.q, axis=1)
        tip = -np.stack([np.sin(absolute).sum(axis=1), np.cos(absolute).sum(axis=1)], axis=1)
        path.plot(*tip[late].T, color=colour(k), linewidth=1.1, label=("one", "two")[k])
        path.plot(*tip[late][-1], "o", color=colour(k), markersize=5)
    path.plot(0, 0, "^", color=FAINT, markersize=9)
    path.set_aspect("equal")
    path.legend(frameon=False, fontsize=9, loc="lower right")
    titled(path, "the tip, from 9 s to 14 s", "x [m]", "z [m]")
    apart.semilogy(one.t, np.maximum(names["apart"], 1e-10), color=colour(1))
    titled(apart, "distance of the two runs", "", "[rad]")
    energy.semilogy(one.t[1:], np.maximum(np.abs(one.energy - one.energy[0])[1:], 1e-16), color=colour(0))
    titled(energy, "energy change of the first", "time [s]", "[J]")
    apart.set_xlim(0, 20)
    apart.tick_params(labelbottom=False)
    return figure


def four_bar(names: Names) -> Figure:
    """Draw the gap of the loop and the change of energy for the three ways."""
    figure = new_figure(10.0, 3.4)
    gap, energy = figure.subplots(1, 2)
    for k, (name, motion) in enumerate(names["runs"].items()):
        gap.semilogy(
            motion.t[1:], np.maximum(motion.residual[1:], 1e-17), color=colour(k), linewidth=0.9, label=name
        )
        change = np.abs(motion.energy - motion.energy[0])[1:]
        energy.semilogy(motion.t[1:], np.maximum(change, 1e-10), color=colour(k), linewidth=0.9, label=name)
    gap.set(xlim=(0, 10), ylim=(1e-18, 1e-1))
    energy.set(xlim=(0, 10), ylim=(1e-9, 1e-1))
    gap.legend(frameon=False, fontsize=9, ncols=3, loc="upper center")
    titled(gap, "gap of the loop", "time [s]", "[m]")
    titled(energy, "change of the energy", "time [s]", "[J]")
    return figure


def linkage(names: Names) -> Figure:
    """Draw the linkage at three heights, and the singular values of its rows along the fall."""
    system, fall = names["system"], names["fall"]
    figure = new_figure(10.0, 4.0)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.1, 1.0))
    scene, values = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    across, up = np.array([0.87, -0.5, 0.0]), np.array([0.25, 0.43, 0.87])  # directions of the picture
    flat = lambda points: np.stack([np.array(points) @ across, np.array(points) @ up])  # noqa: E731
    order = list(system.mechanism.bodies)
    for k, time in enumerate((0.0, 0.17, 0.25)):
        positions, _ = system.body_placements(fall.at([time])[0])
        centre = positions[order.index("plate")]
        shift = 1.25 * k * across
        corners = [
            centre + shift + (x, y, 0) for x, y in ((-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.3))
        ]
        scene.fill(*flat(corners), color=colour(0), alpha=0.25, linewidth=0)
        scene.plot(*flat([*corners, corners[0]]), color=colour(0), linewidth=1.2)
        for name, edge, side in (("x", (-0.3, 0, 0), (0, 0.2, 0)), ("y", (0, -0.3, 0), (0.2, 0, 0))):
            foot, knee = (positions[order.index(f"{part} {name}")] for part in ("lower", "upper"))
            for low, high in ((foot, knee), (knee, centre + edge)):
                leaf = [low - side, low + side, high + side, high - side]
                leaf = [np.array(point) + shift for point in leaf]
                scene.fill(*flat(leaf), color=colour(2), alpha=0.18, linewidth=0)
                scene.plot(*flat([*leaf, leaf[0]]), color=colour(2), linewidth=1.0)
        scene.annotate(f"{time:.2f} s", flat(np.array([0.3, -0.75, -0.1]) + shift), size=9, color=INK)
    scene.set_aspect("equal")
    scene.set_axis_off()
    found = np.array(
        [np.linalg.svd(system.constraint_jacobian(q))[1] for q in fall.at(np.linspace(0, 0.3, 61))]
    )
    for k, row in enumerate(found.T):
        values.semilogy(np.linspace(0, 0.3, 61), np.maximum(row, 1e-18), color=colour(1 if k == 4 else 0))
    values.set(xlim=(0, 0.3), ylim=(1e-18, 1e1))
    values.annotate("redundant", (0.15, 3e-15), color=colour(1), size=9, ha="center")
    titled(values, "singular values of A on the way", "time [s]", "")
    return figure


def slider_crank(names: Names) -> Figure:
    """Draw both branches in the plane of the coordinates, with runs, and poses along one."""
    figure = new_figure(10.0, 4.4)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.35))
    poses, plane = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    for k, crank in enumerate(np.deg2rad([20, 50, 75, 90, 105, 130, 160])):
        for branch, rod in ((0, -2 * crank), (1, -np.pi)):
            x = np.cumsum([0.0, np.cos(crank), np.cos(crank + rod)])
            y = np.cumsum([0.0, np.sin(crank), np.sin(crank + rod)])
            wide = 3.2 if k == 3 else 1.4
            shift = -2.6 * branch
            poses.plot(
                x, y + shift, "o-", color=INK if k == 3 else colour(2 * branch), linewidth=wide, markersize=3
            )
    for shift, text in ((0.0, "rod turns back: the slider moves"), (-2.6, "rod on crank: the slider rests")):
        poses.axhline(shift, color=FAINT, linewidth=0.8, zorder=0)
        poses.annotate(text, (0, shift + 1.25), ha="center", size=9, color=INK)
    poses.set(xlim=(-2.1, 2.1), ylim=(-2.9, 1.7))
    poses.set_aspect("equal")
    poses.set_axis_off()
    turn = np.linspace(0, 6 * np.pi, 200)
    plane.plot(turn, -2 * turn, color=FAINT, linewidth=5, alpha=0.5, label="branches")
    for k in range(6):
        plane.axhline(-(2 * k + 1) * np.pi, color=FAINT, linewidth=5, alpha=0.5)
    for k, (name, wide) in enumerate(
        {"RK4, projection": 3.2, "RK4, nothing": 1.2, "order 8, nothing": 1.2}.items()
    ):
        motion = names["runs"][name]
        plane.plot(*motion.q.T, color=colour((4, 1, 3)[k]), linewidth=wide, label=name)
    plane.set(xlim=(0, 6 * np.pi), ylim=(-11 * np.pi - 1, 1))
    plane.set_xticks(np.pi * np.arange(0, 7, 2), ["0", "2π", "4π", "6π"])
    plane.set_yticks(-np.pi * np.arange(0, 12, 2), ["0", *(f"−{k}π" for k in range(2, 12, 2))])
    plane.legend(frameon=False, fontsize=9, loc="lower left")
    titled(plane, "configuration space, and where the runs go", "crank q₁ [rad]", "rod q₂ [rad]")
    return figure


def rolling(names: Names) -> Figure:
    """Draw the way of the sleigh with its blade, and the tilt of the disc at two speeds."""
    ride, disc, example = names["ride"], names["disc"], names["rolling_disc"]
    figure = new_figure(10.0, 3.8)
    path, tilts = figure.subplots(1, 2)
    path.plot(*ride.q[:, :2].T, color=colour(0), linewidth=1.2)
    for q in ride.at(np.linspace(0, ride.t[-1], 15)):
        along = np.array([np.cos(q[2]), np.sin(q[2])])
        path.plot(*np.stack([q[:2] - 0.1 * along, q[:2] + 0.1 * along]).T, color=INK, linewidth=2.2)
        path.plot(*(q[:2] + names["ahead"] * along), "o", color=colour(1), markersize=3.5)
    path.plot(*ride.q[0, :2], "s", color=colour(2), markersize=7)
    path.set_aspect("equal")
    titled(path, "sleigh sent backwards from the square: blade, and centre of mass", "x [m]", "y [m]")
    for k, part in enumerate((0.9, 0.97, 1.05, 1.3)):
        q, v = example.straight(part * names["critical"])
        v = disc.project_velocity(q, v + 0.02 * np.eye(6)[4])
        roll = sr.simulate(disc, q, v, duration=2.0, dt=0.01)
        tilts.plot(roll.t, np.degrees(roll.q[:, 4] - np.pi / 2), color=colour(k), label=f"{part} of critical")
    tilts.legend(frameon=False, fontsize=9)
    tilts.set_xlim(0, 2)
    titled(tilts, "disc, pushed aside by 0.02 rad/s", "time [s]", "tilt [°]")
    return figure


def block(names: Names) -> Figure:
    """Draw the acceleration over the slope, and the speed of a block that is pushed up."""
    build, gravity, mu = names["block"], names["g"], names["mu"]
    figure = new_figure(10.0, 3.4)
    slopes, speeds = figure.subplots(1, 2)
    degrees = np.linspace(0, 45, 200)
    exact = gravity * (np.sin(np.deg2rad(degrees)) - mu * np.cos(np.deg2rad(degrees)))
    slopes.plot(degrees, np.maximum(exact, 0.0), color=colour(0), label="g (sin α − μ cos α), or nothing")
    some = np.arange(5, 46, 5)
    found = [build(np.deg2rad(a)) for a in some]
    found = [s.forward_dynamics(s.neutral(), np.zeros(6)).a[0] for s in found]
    slopes.plot(some, found, "o", color=colour(1), fillstyle="none", label="computed")
    slopes.axvline(np.degrees(np.arctan(mu)), color=FAINT, linestyle=":", linewidth=1)
    slopes.annotate("tan α = μ", (np.degrees(np.arctan(mu)) - 0.6, 1.6), ha="right", size=9, color=INK)
    slopes.legend(frameon=False, fontsize=9)
    titled(slopes, "block on a slope, μ = 0.5", "slope α [°]", "acceleration [m/s²]")
    for k, friction in enumerate((0.1, 0.3, 0.5)):
        slope = build(0.4, friction)
        slide = sr.simulate(slope, slope.neutral(), [-2.0, 0, 0, 0, 0, 0], duration=1.0)
        speeds.plot(slide.t, slide.v[:, 0], color=colour(k), label=f"μ = {friction}")
    speeds.axhline(0.0, color=FAINT, linewidth=0.8)
    speeds.set_xlim(0, 1)
    speeds.legend(frameon=False, fontsize=9)
    titled(speeds, "pushed up a slope of 0.4 rad", "time [s]", "velocity downhill [m/s]")
    return figure


def stewart(names: Names) -> Figure:
    """Draw the platform at both ends of its way, and lengths and forces of the legs."""
    system, move, example = names["system"], names["move"], names["stewart"]
    figure = new_figure(10.0, 4.4)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.25))
    scene = figure.add_subplot(grid[:, 0])
    lengths, forces = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    across, up = np.array([0.9, -0.44, 0.0]), np.array([0.16, 0.32, 0.93])  # directions of the picture
    flat = lambda points: np.stack([np.array(points) @ across, np.array(points) @ up])  # noqa: E731
    base = example.BASE_POINTS
    scene.plot(*flat([*base, base[0]]), color=FAINT, linewidth=2.0)
    index = list(system.mechanism.bodies).index("platform")
    for state, strength in ((move.q[0], 0.35), (move.q[-1], 1.0)):
        positions, rotations = system.body_placements(state)
        top = positions[index] + example.TOP_POINTS @ rotations[index].T
        scene.fill(*flat(top), color=INK, alpha=0.15 * strength, linewidth=0)
        scene.plot(*flat([*top, top[0]]), color=INK, linewidth=1.8, alpha=strength)
        for k in range(6):
            scene.plot(*flat([base[k], top[k]]), color=colour(k), linewidth=3.0, alpha=strength)
    scene.set_aspect("equal")
    scene.set_axis_off()
    for k in range(6):
        lengths.plot(move.t, move.q[:, names["lengths"][k]], color=colour(k), linewidth=1.3)
        forces.plot(move.t, move.u[:, k], color=colour(k), linewidth=1.3)
    lengths.tick_params(labelbottom=False)
    for axes in (lengths, forces):
        axes.set_xlim(0, move.t[-1])
    titled(lengths, "lengths of the legs", "", "[m]")
    titled(forces, "forces of the cylinders", "time [s]", "[N]")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
