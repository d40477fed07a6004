"""Make the pictures of the documentation from the models that ship: python docs/images/make.py."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from PIL import Image

import sarrus as sr
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path += [str(HERE), str(HERE.parent)]

import golfers_dilemma  # noqa: E402
import pages  # noqa: E402

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
    golfers_dilemma.main()
    save(pages.reactions_picture(), "reactions.png", dpi=90)
    save(pages.drives_picture(), "drives.png", dpi=90)
    save(pages.windings_picture(), "windings.png", dpi=90)
    save(pages.transmissions_picture(), "transmissions.png", dpi=90)
    save(pages.softened_picture(), "softened.png", dpi=90)
    save(pages.told_picture(), "told_before.png", dpi=90)
    save(pages.synthesis_picture(), "synthesis.png", dpi=90)
    save(pages.straight_line_picture(), "straight_line.png", dpi=90)
    save(pages.singularity_bound_picture(), "singularity_bound.png", dpi=90)
    save(pages.hand_over_picture(), "hand_over.png", dpi=90)
    page = pages.computed("linkages")
    beside((page["path"].plot(pose=60), page["angle"].plot()), "linkages.png", dpi=75)
    save(page["reach"].plot(loci=[page["type_1"], page["type_2"]]), "workspace.png", dpi=80)
    loci = [page["type_2"], page["type_1"]]
    save(page["near"].plot(loci=loci), "singularity_map.png", dpi=90, shaded=True)
    save(page["over_tip"].plot(loci=loci), "singularity_map_tip.png", dpi=80, shaded=True)
    save(pages.identification_picture(), "identification.png", dpi=90)


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
