"""Draw the figures of the works from the examples that reproduce them: python docs/gallery/published_figures.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "examples"))

import decoupled_slider_crank  # noqa: E402
import floating_ring  # noqa: E402
import platform_control  # noqa: E402
import sarrus as sr  # noqa: E402
import slider_crank_control  # noqa: E402
import sliding_arm  # noqa: E402
import symplectic_five_bar  # noqa: E402
import two_arms  # noqa: E402
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure  # noqa: E402

COLOURS = {"consistent": colour(0), "printed": colour(1)}


def arms() -> Figure:
    """Liu et al. 2015, figures 4 to 14: angles of the links and torques of the motors, printed and consistent."""
    system = sr.System(two_arms.build())
    runs = {"printed": two_arms.lift_by_law(system, printed=True)}
    runs["consistent"] = two_arms.lift_by_law(system, printed=False)
    figure = new_figure(10, 8)
    axes = figure.subplots(3, 4).ravel()
    for k in range(5):
        for name, line in (("consistent", "-"), ("printed", "--")):
            axes[k].plot(runs[name].t, np.cumsum(runs[name].q, axis=1)[:, k], line, color=COLOURS[name])
        axes[k].set_title(f"figure {4 + k}: θ{k + 1} [rad]")
    axes[2].set_ylim(-0.1, 0.1)
    for k, words in enumerate(two_arms.WORDS):
        panel = axes[5 + k]
        for name, line in (("consistent", "-"), ("printed", "--")):
            panel.plot(runs[name].t, runs[name].u[:, k], line, color=COLOURS[name], label=name)
        for level in words:
            panel.axhline(level, color=INK, linewidth=1.2, linestyle=":", label="range, in words")
        panel.set_title(f"figure {9 + k}: u{k + 1} [N m]")
    for panel in axes[:11]:
        dress(panel)
        panel.set_xlabel("t [s]")
    handles, labels = axes[5].get_legend_handles_labels()
    axes[11].axis("off")
    axes[11].legend(handles[:3], labels[:3], loc="center")
    return figure


def platform() -> Figure:
    """De Sapio and Park 2010, figures 5 and 6: place and orientation of the platform, torques of the joints."""
    system, motion = platform_control.goal_motion()
    torques = platform_control.joint_torques(system, motion)
    figure = new_figure(10, 6)
    place, angle, active, passive = figure.subplots(2, 2).ravel()
    early = motion.t <= 2.0
    for k, name in ((6, "x"), (7, "y")):
        place.plot(motion.t[early], motion.q[early, k], label=name)
        place.axhline(platform_control.GOAL[k - 6], color=FAINT, linewidth=0.8, linestyle=":")
    place.set_title("figure 5: place [m]")
    angle.plot(motion.t, motion.q[:, 8])
    angle.set_title("figure 5: orientation [rad]")
    for k in (1, 3, 5):
        active.plot(motion.t[early], torques[early, k], label=f"τ{k + 1}")
    active.set_title("figure 6: elbows [N m]")
    for k in (0, 2, 4):
        passive.plot(motion.t[early], torques[early, k], label=f"τ{k + 1}", linewidth=0.7)
    passive.set_title("figure 6: shoulders [N m]")
    for panel in (place, angle, active, passive):
        dress(panel)
        panel.set_xlabel("t [s]")
    for panel in (place, active, passive):
        panel.legend()
    return figure


def slider_crank() -> Figure:
    """Aghili 2005, section 8: path, error and torques of the slider-crank through its singular configurations."""
    figure = new_figure(10, 3.5)
    path, error, torque = figure.subplots(1, 3)
    for motors in slider_crank_control.SHARES:
        motion = slider_crank_control.follow(motors)
        if motors == "crank":
            path.plot(motion.t, motion.q[:, 0], label="crank")
            path.plot(motion.t, motion.q[:, 1], label="rod")
            error.semilogy(motion.t, np.abs(slider_crank_control.tracking_error(motion)) + 1e-17)
            torque.plot(motion.t, motion.u[:, 0], label="crank, rod passive")
        else:
            torque.plot(motion.t, motion.u[:, 0], "--", label="crank, of two")
            torque.plot(motion.t, motion.u[:, 1], "--", label="rod, of two")
        for passage in motion.passages:
            for panel in (path, error, torque):
                panel.axvline(passage.time, color=FAINT, linewidth=0.8, linestyle=":")
    path.set_title("angles [rad]; dotted: singular")
    error.set_title("error of the crank [rad]")
    torque.set_title("motors [N m]")
    for panel in (path, error, torque):
        dress(panel)
        panel.set_xlabel("t [s]")
    path.legend()
    torque.set_ylim(-24.0, 36.0)
    torque.legend(loc="upper right", fontsize=9)
    return figure


def decoupling() -> Figure:
    """Aghili 2005, proposition 3: force on the guide of a slider-crank before and after the design that decouples."""
    figure = new_figure(10, 3.5)
    force, crank = figure.subplots(1, 2)
    runs = {
        "before": decoupled_slider_crank.press(decoupled_slider_crank.build()),
        "after the design": decoupled_slider_crank.press(decoupled_slider_crank.design().mechanism),
    }
    for k, (name, run) in enumerate(runs.items()):
        force.plot(run.t, -run.multipliers[:, 0], color=colour(k), label=name)
        crank.plot(run.t, run.q[:, 0], color=colour(k))
    force.plot(run.t, decoupled_slider_crank.wanted(run.t), ":", color=INK, linewidth=1.2, label="asked for")
    force.set_title("force on the guide [N]")
    crank.set_title("angle of the crank [rad]")
    for panel in (force, crank):
        dress(panel)
        panel.set_xlabel("t [s]")
    force.legend(fontsize=9)
    return figure


def sliding() -> Figure:
    """Aghili 2022: normal force, loss and friction that would hold the tip of an arm that wipes a table, by law."""
    system = sr.System(sliding_arm.build())
    figure = new_figure(10, 3.5)
    push, loss, hold = figure.subplots(1, 3)
    for k, law in enumerate(sliding_arm.LAWS):
        run = sliding_arm.wipe(system, law)
        push.plot(run.t, sliding_arm.contact_force(run)[0], color=colour(k), label=law)
        loss.semilogy(run.t, run.motor_loss().power.sum(axis=1), color=colour(k))
        hold.plot(run.t, sliding_arm.friction_to_hold(system, run), color=colour(k))
    hold.axhline(sliding_arm.FRICTION, color=FAINT, linewidth=0.8, linestyle=":")
    push.set_title("normal force [N]")
    loss.set_title("loss of the motors [W]")
    hold.set_title("friction that holds; dotted: μ")
    hold.set_ylim(0.2, 0.6)
    for panel in (push, loss, hold):
        dress(panel)
        panel.set_xlabel("t [s]")
    push.legend(fontsize=9)
    return figure


def momenta(steps: int = 100_000) -> Figure:
    """Spencer 2004, future work: energy over many steps by the midpoint rule in momenta, and by RK4."""
    times, runs = symplectic_five_bar.energies(steps)
    swing = runs["midpoint rule, momenta"][0] - symplectic_five_bar.lowest_energy()
    figure = new_figure(10, 3.5)
    whole, band = figure.subplots(1, 2)
    for k, (name, energy) in enumerate(runs.items()):
        change = (energy - energy[0]) / swing
        whole.plot(times, 100.0 * change, color=colour(k), linewidth=0.9, label=name)
        if k == 0:
            band.plot(times, 1e3 * change, ".", color=colour(k), markersize=2)
    whole.set_title("change of the energy [% of the swing]")
    band.set_title("midpoint rule alone [‰ of the swing]")
    for panel in (whole, band):
        dress(panel)
        panel.set_xlabel("t [s]")
    whole.legend()
    return figure


def invariants(duration: float = 2000.0) -> Figure:
    """Spencer 2004, 3.1.3: invariants of a floating ring over a long time, kept by projection or not."""
    times, found = floating_ring.drifts(duration)
    figure = new_figure(10, 3.5)
    panels = figure.subplots(1, 3)
    for k, (way, own) in enumerate(found.items()):
        for panel, (what, off) in zip(panels, own.items()):
            panel.semilogy(times[1:], off[1:] + 1e-17, color=colour(k), linewidth=0.9, label=way)
            panel.set_title(what)
    for panel in panels:
        dress(panel)
        panel.set_xlabel("t [s]")
        panel.set_ylim(1e-17, 1.0)
    panels[1].legend(loc="center right")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "published_arms": arms, "published_platform": platform, "published_slider_crank": slider_crank,
    "published_decoupling": decoupling, "published_sliding_arm": sliding, "published_momenta": momenta,
    "published_invariants": invariants,
}  # fmt: skip


def main() -> None:
    """Draw those that are named beside the page, all by default."""
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]().savefig(HERE / f"{name}.png", dpi=70)


if __name__ == "__main__":
    main()
