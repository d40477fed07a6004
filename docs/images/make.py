"""Make the pictures of the documentation from the models that ship: python docs/images/make.py."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi as ca
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from PIL import Image

import sarrus as sr
from sarrus.plotting.style import FAINT, INK, colour, dress, new_figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(HERE.parent))

import outputs  # noqa: E402

BEFORE, AT, AFTER = colour(4), colour(1), colour(0)  # poses before, at and after the singular configuration
POSES_BEFORE, POSES_AFTER = 7, 3


def main() -> None:
    """Write every picture beside this file."""
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    system = sr.System(mechanism)
    start = mechanism.keyframes["symmetric"].q
    fall = sr.simulate(system, start, duration=5.0, dt=1e-3)
    save(passage_picture(system, fall), "five_bar.png")
    save(fall.plot(), "history.png")

    bricard = sr.System(example("bricard").build())
    swing = sr.simulate(bricard, bricard.neutral(), duration=1.3, dt=1e-3)
    save(swing.draw(frames=7), "bricard.png", dpi=75)
    save(landing_picture(), "landing.png", dpi=90)
    save(bicycle_picture(), "bicycle.png", dpi=90)
    save(reactions_picture(), "reactions.png", dpi=90)
    save(drives_picture(), "drives.png", dpi=90)
    save(windings_picture(), "windings.png", dpi=90)
    save(transmissions_picture(), "transmissions.png", dpi=90)
    save(synthesis_picture(), "synthesis.png", dpi=90)
    save(straight_line_picture(), "straight_line.png", dpi=90)
    page = computed("linkages")
    beside((page["path"].plot(pose=60), page["angle"].plot()), "linkages.png", dpi=75)
    save(page["reach"].plot(loci=[page["stretched"], page["lets_go"]]), "workspace.png", dpi=80)
    loci = [page["lets_go"], page["stretched"]]
    save(page["near"].plot(loci=loci), "singularity_map.png", dpi=90, shaded=True)
    save(page["over_tip"].plot(loci=loci), "singularity_map_tip.png", dpi=80, shaded=True)
    save(identification_picture(), "identification.png", dpi=90)


def passage_picture(system: sr.System, fall: sr.Trajectory) -> Figure:
    """Draw the five-bar through its first singular configuration, beside what happens in five seconds."""
    figure = new_figure(10.0, 5.0)
    grid = figure.add_gridspec(3, 2, width_ratios=(1.0, 1.25), height_ratios=(1.6, 1.0, 1.0), wspace=0.06)
    stroboscope(figure.add_subplot(grid[:, 0]), system, fall)

    condition = figure.add_subplot(grid[0, 1])
    gap = figure.add_subplot(grid[1, 1], sharex=condition)
    energy = figure.add_subplot(grid[2, 1], sharex=condition)
    change = np.abs(fall.energy - fall.energy[0])
    curve(condition, fall.t, fall.condition, colour(1), "condition\nnumber")
    curve(gap, fall.t, np.maximum(fall.residual, 1e-17), colour(2), "loop gap\n[m]", width=0.5)
    curve(energy, fall.t, np.maximum(change, 1e-16), colour(0), "energy\nchange [J]")
    energy.set_xlabel("time [s]")
    energy.set_xlim(fall.t[0], fall.t[-1])
    condition.set_ylim(1, 3e3)
    gap.set_ylim(1e-17, 1e-13)
    energy.set_ylim(1e-14, 1e-6)
    for axes in (condition, gap):
        axes.tick_params(labelbottom=False)
    for axes in (condition, gap, energy):
        for passage in fall.passages:
            axes.axvline(passage.time, color=INK, linestyle=":", linewidth=0.9)
    for passage in fall.passages:
        condition.annotate(
            f"{passage.time:.3f} s",
            (passage.time, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            size=9,
            color=INK,
        )
    figure.align_ylabels([condition, gap, energy])
    return figure


def landing_picture() -> Figure:
    """Draw what the corners of the feet carry where the biped with four-bar knees lands, and what that takes."""
    module = example("biped_four_bar")
    mechanism = module.build()
    pose = module.standing(sr.System(mechanism))
    for name, contact in list(mechanism.contacts.items()):
        mechanism.contacts[name] = replace(contact, friction="coulomb", friction_coefficient=0.6)
    plant = sr.System(mechanism)
    hold = sr.equilibrium(plant, pose, hold=True).u
    at = [plant.coordinate_names.index(name) for name in plant.actuator_names]
    of = [plant.velocity_names.index(name) for name in plant.actuator_names]
    high = pose.copy()
    high[2] += 0.02
    fall = sr.simulate(
        plant, high, duration=0.25, control=lambda q, v, t: hold + 800.0 * (pose[at] - q[at]) - 40.0 * v[of]
    )
    figure = new_figure(10.0, 5.0)
    loads = figure.subplots(3, 1, sharex=True, height_ratios=(2.0, 2.0, 1.0))
    for axes, foot in zip(loads, ("left", "right")):
        for k in range(1, 5):
            force = fall.contact_forces[:, fall.contact_row_names.index(f"{foot}.{k}.n")]
            axes.plot(fall.t, force, color=colour(k), linewidth=1.0, label=f"corner {k}")
        axes.set_ylabel(f"{foot} foot\n[N]")
        axes.set_ylim(0.0, 400.0)
    loads[0].legend(loc="upper right", ncols=4, frameon=False, fontsize=8)
    loads[2].plot(fall.t, fall.contact_loss, color=colour(0))
    loads[2].set_ylabel("lost by\ncontacts [J]")
    loads[2].set_xlabel("time [s]")
    loads[2].set_xlim(0.04, fall.t[-1])
    for axes in loads:
        dress(axes)
    figure.align_ylabels(loads)
    return figure


def bicycle_picture() -> Figure:
    """Draw the eigenvalues of the benchmark bicycle over its speed, with those that are printed in the paper."""
    bicycle = example("rolling")
    system = sr.System(bicycle.bicycle())
    speeds = np.linspace(0.0, 10.0, 201)
    values = np.array([bicycle.eigenvalues(system, float(speed))[0] for speed in speeds])
    figure = new_figure(8.0, 4.6)
    axes = figure.add_subplot()
    axes.axvspan(bicycle.WEAVE, bicycle.CAPSIZE, color=colour(2), alpha=0.12, linewidth=0)
    axes.axhline(0.0, color=FAINT, linewidth=0.8)
    for k in range(4):
        axes.plot(
            speeds,
            values.real[:, k],
            ".",
            color=colour(0),
            markersize=2.5,
            label="real part" if not k else None,
        )
        swings = np.where(values.imag[:, k] > 1e-9, values.imag[:, k], np.nan)
        axes.plot(
            speeds, swings, ".", color=FAINT, markersize=2.5, label="imaginary part" if k == 3 else None
        )
    for n, (speed, printed) in enumerate(bicycle.PUBLISHED.items()):
        label = "printed in the paper" if n == 0 else None
        axes.plot(
            [speed] * 4, np.real(printed), "o", color=colour(1), fillstyle="none", markersize=7, label=label
        )
    axes.set_xlim(-0.1, 10.1)
    axes.set_ylim(-12.0, 12.0)
    axes.set_xlabel("speed [m/s]")
    axes.set_ylabel("eigenvalues [1/s]")
    axes.text((bicycle.WEAVE + bicycle.CAPSIZE) / 2, 10.6, "stable", ha="center", color=INK)
    for speed, height, name in ((8.6, -4.3, "weave"), (8.8, 0.5, "capsize"), (2.6, -9.0, "castering")):
        axes.text(speed, height, name, color=colour(0))
    axes.legend(loc="upper left", frameon=False)
    dress(axes)
    return figure


def reactions_picture() -> Figure:
    """Draw what the bearings of the engine on that page carry over a turn, and the load of its crank pin."""
    page = (HERE.parent / "reactions.md").read_text()
    block = next(part for part in page.split("```") if 'sr.Mechanism("engine"' in part)
    names: dict[str, Any] = {"sr": sr, "ca": ca}
    exec(block.removeprefix("python").split("print(loads")[0], names)
    loads, run = names["loads"], names["round_trip"]
    figure = new_figure(10.0, 4.6)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.35, 1.0), wspace=0.06)
    over, polar = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    turn = np.degrees(run.q[:, 0])
    whole = turn <= 360.0
    for k, name in enumerate(("main", "crank pin", "wrist pin", "bore")):
        size = np.sqrt((loads[name].bearing_force ** 2).sum(axis=1)) / 1e3
        over.plot(turn[whole], size[whole], color=colour(k), linewidth=1.4, label=name)
    over.legend(frameon=False, fontsize=9, labelcolor=INK)
    over.set(xlabel="crank angle [°]", ylabel="bearing force [kN]", xlim=(0, 360), xticks=range(0, 361, 60))
    x, _, z = loads["crank pin"].bearing_force.T / 1e3
    polar.plot(x[whole], z[whole], color=colour(1), linewidth=1.4)
    polar.plot(0, 0, "+", color=INK, markersize=10)
    for angle in range(0, 360, 60):
        k = int(np.argmin(np.abs(turn - angle)))
        polar.plot(x[k], z[k], "o", color=colour(1), markersize=4)
        polar.annotate(f"{angle}°", (x[k], z[k]), (5, 4), textcoords="offset points", size=8, color=INK)
    polar.set(xlabel="along x of the crank [kN]", ylabel="along z of the crank [kN]")
    polar.set_title("crank pin, load on the rod", loc="left", size=10, color=INK)
    polar.set_aspect("equal", adjustable="datalim")
    for axes in (over, polar):
        dress(axes)
    return figure


def computed(name: str, until: str = "") -> dict[str, Any]:
    """Return what the blocks of a page compute, or those before a name is there."""
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    for block in outputs.blocks(page):
        if block.kind == "python":
            exec(block.text, space)
        if until in space:
            break
    return space


def drives_picture() -> Figure:
    """Draw what the page on drives computes: the torque of its pump, and the force of its cam at three speeds."""
    space = computed("drives", "force_of_follower")
    figure = new_figure(10.0, 3.4)
    pump, cam = figure.subplots(1, 2)
    pump.plot(np.degrees(space["turn"].q[:, 0]), space["torque"], color=colour(0))
    pump.set_ylabel("torque of the motor [N m]")
    pump.set_title("pump, 955 turns per minute", loc="left", size=9, color=INK)
    for k, speed in enumerate((100.0, 120.0, 140.0)):
        angle, force = space["force_of_follower"](speed)
        cam.plot(np.degrees(angle), force, color=colour(k), label=f"{speed:.0f} rad/s")
    cam.set_ylabel("force between cam and follower [N]")
    cam.set_title("cam: below zero the follower would lift off", loc="left", size=9, color=INK)
    cam.legend(frameon=False, fontsize=8)
    for axes in (pump, cam):
        axes.axhline(0.0, color=FAINT, linewidth=0.8)
        axes.set_xlim(0, 360)
        axes.set_xticks(range(0, 361, 90))
        axes.set_xlabel("angle [°]")
        dress(axes)
    return figure


def windings_picture() -> Figure:
    """Draw current and speed of the pump of the page on drives as it starts, with and without a limit."""
    space = computed("drives", "chopped")
    figure = new_figure(10.0, 3.2)
    current, speed = figure.subplots(1, 2)
    for k, (label, run) in enumerate((("no limit", space["free"]), ("limit of 15 A", space["chopped"]))):
        current.plot(1000 * run.t, run.currents["motor"], color=colour(k), label=label)
        speed.plot(1000 * run.t, run.v[:, 0], color=colour(k))
    current.set_ylabel("current [A]")
    speed.set_ylabel("speed of the crank [rad/s]")
    current.legend(frameon=False, fontsize=8)
    for axes in (current, speed):
        axes.set_xlabel("time [ms]")
        axes.set_xlim(0, 50)
        axes.axhline(0.0, color=FAINT, linewidth=0.8)
        dress(axes)
    return figure


def transmissions_picture() -> Figure:
    """Draw the efficiency of screws by formula and by runs, and what the hoist of the page on drives lifts."""
    space = computed("drives", "hoisted")
    figure = new_figure(10.0, 3.4)
    screws, hoist = figure.subplots(1, 2)
    lead, friction = np.radians(np.linspace(0.5, 60.0, 200)), np.arctan(0.15)
    screws.plot(
        np.degrees(lead), np.tan(lead) / np.tan(lead + friction), color=colour(0), label="screw drives"
    )
    back = np.tan(lead - friction) / np.tan(lead)
    screws.plot(np.degrees(lead[back > 0]), back[back > 0], color=colour(1), label="load drives")
    for k, way in enumerate((1.0, -1.0)):
        angles = np.radians(np.arange(5.0 if k == 0 else 15.0, 60.0, 10.0))
        found = [efficiency_of_run(angle, 0.15, way) for angle in angles]
        screws.plot(np.degrees(angles), found, "o", color=colour(k), markersize=5)
    screws.axvspan(0.0, np.degrees(friction), color=FAINT, alpha=0.25, linewidth=0.0)
    screws.set_xlim(0, 60)
    screws.set_ylim(0, 1)
    screws.set_xlabel("lead angle [°]")
    screws.set_title("efficiency of a screw, μ = 0.15: books, and runs", loc="left", size=9, color=INK)
    screws.text(0.4, 0.93, "holds", size=8, color=INK)
    screws.legend(frameon=False, fontsize=8, loc="lower right")
    for k, mu in enumerate((0.12, 0.05)):
        run = space["hoisted"](mu)
        time = np.linspace(0.0, 3.0, 301)
        hoist.plot(time, run.at(time)[:, 2], color=colour(k), label=f"μ = {mu}")
    for switched in (1.0, 2.0):
        hoist.axvline(switched, color=FAINT, linewidth=0.8)
    hoist.set_xlim(0, 3)
    hoist.set_xlabel("time [s]")
    hoist.set_ylabel("height of the load [m]")
    hoist.set_title("hoist: motor up, off, down", loc="left", size=9, color=INK)
    hoist.legend(frameon=False, fontsize=8, loc="upper left")
    for axes in (screws, hoist):
        dress(axes)
    return figure


def efficiency_of_run(lead: float, mu: float, way: float) -> float:
    """Return work that comes out over work that goes in, of a screw that lifts its load (1) or is turned by it (−1)."""
    screw = sr.Mechanism("screw")
    screw.add_body("screw", 1.0, inertia=(1e-3, 1e-3, 1e-3))
    screw.add_joint("screw", "revolute", "world", "screw", axis=(0, 0, 1))
    screw.add_body("load", 10.0, inertia=(1, 1, 1))
    screw.add_joint("load", "prismatic", "world", "load", axis=(0, 0, 1))
    pitch = 0.02 * np.pi * np.tan(lead)
    screw.add_lead_screw("thread", "load", "screw", pitch, diameter=0.02, friction_coefficient=mu)
    screw.add_motion("motor", "screw", lambda t: way * 5.0 * t)
    run = sr.simulate(sr.System(screw), [0, 0], [way * 5.0, way * 5.0 * pitch / (2 * np.pi)], duration=1.0)
    turned = abs(sr.energy_balance(run).of("constraint")[-1])
    lifted = abs(run.energy[-1] - run.energy[0])
    return float(lifted / turned if way > 0.0 else turned / lifted)


def synthesis_picture() -> Figure:
    """Draw the coupler curve of the page on synthesis before and after, with its points."""
    page = (ROOT / "docs" / "synthesis.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    exec(next(block.text for block in outputs.blocks(page) if block.kind == "python"), space)
    design, points = space["design"], space["points"]
    before = space["path"].evaluate().q[2]
    figure = new_figure(7.0, 4.6)
    axes = figure.add_subplot()
    for k, (label, mechanism, q) in enumerate(
        (("before", space["start"], before), ("after", design.mechanism, design.q[2]))
    ):
        curve_of, links = coupler_curve(sr.System(mechanism), q)
        axes.plot(*curve_of.T, color=colour(k), linewidth=1.8, label=f"coupler curve {label}")
        axes.plot(*links.T, color=colour(k), linewidth=1.2, alpha=0.45, marker="o", markersize=4)
    axes.plot(
        *points.T, linestyle="", marker="o", markersize=8, markerfacecolor="none", color=INK, label="points"
    )
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(frameon=False, fontsize=8, loc="center right")
    dress(axes)
    return figure


def straight_line_picture() -> Figure:
    """Draw the published five points on a line, the linkage that passes them and its whole coupler curve."""
    page = (ROOT / "docs" / "synthesis.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    for block in [block for block in outputs.blocks(page) if block.kind == "python"][:2]:
        exec(block.text, space)
    design, points = space["straight"], space["line"]
    system = sr.System(design.mechanism)
    path = sr.coupler_curve(system, design.q[0], "crank", "tracer").points
    figure = new_figure(6.0, 5.0)
    axes = figure.add_subplot()
    axes.plot(*path[:, :2].T, color=colour(0), linewidth=1.8, label="coupler curve")
    pin = system.mechanism.closures["pin"].pose1.position
    zero = np.zeros(3)
    corners = [
        ("crank", zero),
        ("coupler", zero),
        ("tracer", zero),
        ("coupler", pin),
        ("coupler", zero),
        ("coupler", pin),
        ("rocker", zero),
    ]
    for k, q in enumerate(design.q):
        links = np.array([system.jacobian(body, q, point=place).position[:2] for body, place in corners])
        axes.plot(
            *links.T, color=colour(1), alpha=0.9 if k == 0 else 0.25, linewidth=1.2, marker="o", markersize=3
        )
    axes.plot(
        *points.T, linestyle="", marker="o", markersize=8, markerfacecolor="none", color=INK, label="points"
    )
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    dress(axes)
    return figure


def coupler_curve(system: sr.System, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the coupler point as far as the crank turns both ways, and the links at q as a line."""
    sides = []
    for way in (-1.0, 1.0):
        here, places = np.array(q), []
        for _ in range(180):
            trial = here.copy()
            trial[0] += way * np.pi / 180.0
            found = system.assemble(trial, locked=["crank"], throw=False)
            if not found.success or found.left_branch or found.q[0] != trial[0]:
                break
            here = np.array(found.q)
            places.append(system.jacobian("coupler", here, point=(0.2, 0.1, 0)).position[:2])
        sides.append(places[::-1] if way < 0.0 else places)
    zero, pin = np.zeros(3), system.mechanism.closures["pin"].pose1.position
    corners = [
        ("crank", zero),
        ("coupler", zero),
        ("coupler", (0.2, 0.1, 0)),
        ("coupler", pin),
        ("rocker", zero),
    ]
    links = [system.jacobian(body, q, point=point).position[:2] for body, point in corners]
    return np.array([*sides[0], *sides[1]]), np.array(links)


def identification_picture() -> Figure:
    """Draw what the page on identification computes: torques of a motor, and errors of the base parameters."""
    space = computed("identification")
    q, v, a, u = (space[name] for name in "qvau")
    t = space["one"]
    figure = new_figure(10.0, 3.6)
    torques, errors = figure.subplots(1, 2, width_ratios=(1.2, 1.0))
    some = slice(None, None, 2)
    for name, system, k in (("as loaded", space["system"], 1), ("identified", space["again"], 0)):
        model = np.array([system.inverse_dynamics(*state).u for state in zip(q[some], v[some], a[some])])
        torques.plot(t[some], (model - u[some])[:, 0], color=colour(k), label=name)
    torques.set_xlabel("time [s]")
    torques.set_ylabel("error of the left torque [N m]")
    torques.set_title("torques of the model less those of the mechanism", loc="left", size=9, color=INK)
    torques.legend(frameon=False, fontsize=8)
    found = space["found"]
    truth = sr.identification.Regressor(space["plant"]).values
    names = sr.identification.Regressor(space["plant"]).names
    own = dict(zip(names, truth))
    own["link2.mass"] += own["load.mass"]
    # the load is fixed to link 2 at (1.2, 0, 0.1)
    at, mass = np.array([1.2, 0.0, 0.1]), own["load.mass"]
    for k, axis in enumerate("xyz"):
        own[f"link2.first_moment.{axis}"] += mass * at[k]
    own["link2.origin_inertia.yy"] += own["load.origin_inertia.yy"] + mass * (at[0] ** 2 + at[2] ** 2)
    true = found.matrix @ np.array([own[name] for name in found.names])
    places = np.arange(len(true))
    errors.errorbar(
        places,
        found.values - true,
        2.0 * found.std,
        fmt="o",
        color=colour(0),
        markersize=4,
        label="identified, ± 2 σ",
    )
    errors.plot(places, found.prior - true, "x", color=colour(1), label="as loaded")
    errors.set_yscale("symlog", linthresh=0.02)
    errors.set_xlabel("base parameter")
    errors.set_ylabel("error [kg, kg m, kg m²]")
    errors.set_xticks(places, [str(k + 1) for k in places])
    errors.set_title("base parameters less the true ones", loc="left", size=9, color=INK)
    errors.legend(frameon=False, fontsize=8, loc="lower right")
    for axes in (torques, errors):
        axes.axhline(0.0, color=FAINT, linewidth=0.8)
        dress(axes)
    return figure


def curve(
    axes: Axes, t: np.ndarray, values: np.ndarray, line_colour: str, label: str, width: float = 1.0
) -> None:
    """Plot values on a logarithmic axis."""
    axes.set_yscale("log")
    axes.plot(t, values, color=line_colour, linewidth=width)
    axes.set_ylabel(label)
    dress(axes)
    axes.yaxis.set_major_locator(LogLocator(numticks=5))
    axes.yaxis.set_minor_locator(NullLocator())


def stroboscope(axes: Axes, system: sr.System, fall: sr.Trajectory) -> None:
    """Draw poses at equal intervals of time, one of them at the first passage."""
    at_passage = fall.passages[0].time
    interval = at_passage / POSES_BEFORE
    times = interval * np.arange(POSES_BEFORE + 1 + POSES_AFTER)
    names = list(system.mechanism.bodies)  # type: ignore[union-attr]
    origin = {name: names.index(name) for name in ("link1", "link2", "link3", "link4")}
    z_start = 0.0
    for k, q in enumerate(fall.at(times)):
        positions, rotations = system.body_placements(q)
        tip = positions[origin["link2"]] + rotations[origin["link2"]] @ (1.5, 0.0, 0.0)
        chain = [positions[origin[name]] for name in ("link1", "link2")]
        chain += [tip, positions[origin["link3"]], positions[origin["link4"]]]
        x, _, z = np.array(chain).T
        z_start = z[2] if k == 0 else z_start
        singular, last = k == POSES_BEFORE, k == len(times) - 1
        strength = 1.0 if singular or last else 0.25 + 0.5 * k / len(times)
        stroke = AT if singular else BEFORE if k < POSES_BEFORE else AFTER
        width = 3.6 if singular or last else 1.8
        axes.plot(
            x, z, color=stroke, alpha=strength, linewidth=width, solid_joinstyle="round", zorder=3 + singular
        )
        size, edge = (5.5, INK) if singular or last else (3.0, stroke)
        axes.plot(
            x,
            z,
            "o",
            color="white",
            markersize=size,
            markeredgecolor=edge,
            alpha=max(strength, 0.4),
            zorder=5,
        )
    for pivot in (0.0, 1.0):
        axes.plot(pivot, -0.07, "^", markersize=12, color="#d5dbdf", markeredgecolor=INK, zorder=2)
    for text, height, shift in (("at rest, 0 s", z_start, 8), (f"{times[-1]:.2f} s", z[2], -17)):
        axes.annotate(
            text, (0.5, height), xytext=(0, shift), textcoords="offset points", ha="center", size=9, color=INK
        )
    axes.set_aspect("equal")
    axes.set_xlim(-1.15, 2.15)
    axes.set_ylim(-2.55, 2.35)
    dress(axes)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.set_xlabel("x [m]")
    axes.set_ylabel("z [m]")
    axes.set_title(
        f"{at_passage:.3f} s: all links on one line, the loop loses rank", loc="left", size=9, color=AT, pad=4
    )
    axes.annotate(
        f"a pose every {1e3 * interval:.0f} ms", (0.02, 0.02), xycoords="axes fraction", size=8, color=INK
    )


def save(figure: Figure, name: str, dpi: int = 130, folder: Path = HERE, *, shaded: bool = False) -> None:
    """Save a figure with few colours, which keeps the file small; ``shaded``: those of thin lines are among them."""
    path = folder / name
    figure.savefig(path, dpi=dpi)
    with Image.open(path) as image:
        method = Image.Quantize.MAXCOVERAGE if shaded else Image.Quantize.MEDIANCUT
        small = image.convert("RGB").quantize(256 if shaded else 128, method, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1024:.0f} kB")


def beside(figures: Sequence[Figure], name: str, dpi: int) -> None:
    """Save figures side by side, in one picture."""
    path, images = HERE / name, []
    for figure in figures:
        figure.savefig(path, dpi=dpi)
        with Image.open(path) as image:
            images.append(image.convert("RGB"))
    whole = Image.new("RGB", (sum(i.width for i in images), max(i.height for i in images)), "white")
    left = 0
    for image in images:
        whole.paste(image, (left, (whole.height - image.height) // 2))
        left += image.width
    whole.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1024:.0f} kB")


def example(name: str) -> ModuleType:
    """Return the module examples/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
