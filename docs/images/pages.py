"""Pictures of what pages of the documentation compute: the blocks of a page run, and what they leave is drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from outputs import computed, workplace

import sarrus as sr
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure


def reactions_picture() -> Figure:
    """Draw what the bearings of the engine on that page carry over a turn, and the load of its crank pin."""
    space = computed("reactions", until="loads")
    loads, run = space["loads"], space["round_trip"]
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


def drives_picture() -> Figure:
    """Draw what the page on drives computes: the torque of its pump, and the force of its cam at three speeds."""
    space = computed("drives", until="force_of_follower")
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
    space = computed("drives", until="chopped")
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
    space = computed("drives", until="hoisted")
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
    space = computed("synthesis", until="design")
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


def singularity_bound_picture() -> Figure:
    """Draw the platform that is told to cross singular configurations, with and without a bound."""
    space = computed("control", until="kept")
    runs = (("without", space["bare"], colour(1)), ("with the bound", space["kept"], colour(0)))
    figure = new_figure(9.0, 6.4)
    measure, turn, torque = figure.subplots(3, 1, sharex=True)
    for name, run, paint in runs:
        t = run.motion.t
        measure.plot(t, run.measure / run.regular, color=paint, label=name)
        turn.plot(t, run.motion.q[:, 8], color=paint)
        torque.plot(t, np.abs(run.motion.u).max(axis=1), color=paint)
    told = [space["crossing"].turn_at(float(x)) for x in t]
    turn.plot(t, np.array(told, float), color=INK, linewidth=0.9, linestyle=":", label="command")
    measure.axhline(space["crossing"].SHARE, color=FAINT, linewidth=0.9, linestyle="--")
    measure.annotate(
        "lower", (0.05, space["crossing"].SHARE), (0, 3), textcoords="offset points", size=8, color=INK
    )
    turn.axhline(0.0, color=FAINT, linewidth=0.9, linestyle="--")
    turn.annotate("singular", (0.05, 0.0), (0, 3), textcoords="offset points", size=8, color=INK)
    torque.set_yscale("log")
    measure.set_ylabel("measure / that at the start")
    turn.set_ylabel("orientation [rad]")
    torque.set_ylabel("largest torque [N m]")
    torque.set_xlabel("t [s]")
    measure.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    turn.legend(frameon=False, fontsize=8, loc="upper right")
    for axes in (measure, turn, torque):
        dress(axes)
        axes.set_xlim(0.0, t[-1])
    return figure


def hand_over_picture() -> Figure:
    """Draw the torques of the arm that grasps and carries, with hand-overs and without, and who carries the crate."""
    with workplace():
        import grasp_carry

        runs = [
            ("without", grasp_carry.run(handed_over=False)),
            ("handed over", grasp_carry.run(handed_over=True)),
        ]
    figure = new_figure(9.0, 7.2)
    torques = figure.subplots(3, 1, sharex=True)
    for axes, (name, run) in zip(torques, runs):
        for k in range(4):
            axes.plot(
                run.motion.t, run.motion.u[:, k], color=colour(k), linewidth=1.2, label=f"motor {k + 1}"
            )
        axes.set_ylabel(f"torque [N m]\n{name}")
        axes.set_ylim(-10, 95)
    motion, load = runs[1][1].motion, torques[2]
    for k, name in enumerate(("grasp", "first stand", "second stand")):
        force = motion.multipliers[:, motion.constraint_names.index(f"{name}.z")]
        load.plot(motion.t, force, color=colour(k), linewidth=1.2, label=name)
    load.set_ylabel("vertical force [N]\nhanded over")
    load.set_xlabel("t [s]")
    for axes in torques:
        dress(axes)
        axes.set_xlim(0.0, motion.t[-1])
        for t in (grasp_carry.GRASP, grasp_carry.LIFT, grasp_carry.LAND, grasp_carry.RELEASE):
            axes.axvline(t, color=FAINT, linewidth=0.9, linestyle="--")
    torques[0].legend(frameon=False, fontsize=8, loc="upper right", ncols=4)
    load.legend(frameon=False, fontsize=8, loc="upper center", ncols=3)
    return figure


def straight_line_picture() -> Figure:
    """Draw the published five points on a line, the linkage that passes them and its whole coupler curve."""
    space = computed("synthesis", until="straight")
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
        links = np.array([system.jacobian(q, body=body, point=place).position[:2] for body, place in corners])
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
            places.append(system.jacobian(here, body="coupler", point=(0.2, 0.1, 0)).position[:2])
        sides.append(places[::-1] if way < 0.0 else places)
    zero, pin = np.zeros(3), system.mechanism.closures["pin"].pose1.position
    corners = [
        ("crank", zero),
        ("coupler", zero),
        ("coupler", (0.2, 0.1, 0)),
        ("coupler", pin),
        ("rocker", zero),
    ]
    links = [system.jacobian(q, body=body, point=point).position[:2] for body, point in corners]
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


def softened_picture() -> Figure:
    """Draw what softening does where the slider of the page on formulations turns back: acceleration and errors."""
    back = computed("theory/formulations", until="compared")["compared"][1.002]
    shown = ("null space", "damped, 0.03", "damped, 0.3", "truncated, 0.3", "Tikhonov, 0.3")
    figure = new_figure(10.0, 3.6)
    spike, energy, angle = figure.subplots(1, 3)
    for k, name in enumerate(shown):
        run, line = back[name], ("-", "-", "-", "--", ":")[k]
        look = {"color": colour(k), "linestyle": line, "linewidth": 1.4, "label": name}
        spike.plot(run.t, run.a[:, :2].sum(axis=1), **look)
        for axes, errors, least in (
            (energy, np.abs(run.energy - run.energy[0]), 1e-6),
            (angle, back.position_errors[name], 1e-8),
        ):
            axes.plot(run.t, np.where(errors > least, errors, np.nan), **look)
    spike.set_title("angular acceleration of the rod [rad/s²]", loc="left", size=9, color=INK)
    energy.set_title("energy error [J]", loc="left", size=9, color=INK)
    angle.set_title("error of the angles [rad]", loc="left", size=9, color=INK)
    spike.legend(frameon=False, fontsize=8)
    for axes in (energy, angle):
        axes.set_yscale("log")
    for axes in (spike, energy, angle):
        dress(axes)
        axes.set_xlim(0.0, 0.32)
        axes.set_xlabel("time [s]")
    return figure


def told_picture() -> Figure:
    """Draw σ of slider-cranks and of the press of the page on ranks over time, and what was told at the start."""
    space = computed("theory/rank", until="press")
    slider_crank, press = space["slider_crank"], space["press"]
    figure = new_figure(10.0, 3.4)
    near, dead = figure.subplots(1, 2)
    for k, rod in enumerate((1.0, 1.0005, 1.002, 1.01)):
        crank = sr.System(slider_crank.build(rod))
        q = crank.assemble([1.4, -2.8], locked=["crank"]).q
        v = crank.project_velocity(q, [2.0, -4.0])
        told = sr.forecast_singularity(crank, q, v)
        run = sr.simulate(crank, q, v, duration=0.18, rtol=1e-10, dt=5e-4)
        near.plot(run.t, run.smallest_singular_value, color=colour(k), label=f"δ = {1e3 * (rod - 1):.1f} mm")
        near.plot(told.time, told.least, "o", color=colour(k), markersize=6, markerfacecolor="white")
    near.set_title("told at t = 0: ○ passes, turns back", loc="left", size=9, color=INK)
    near.legend(frameon=False, fontsize=8)
    q = press.assemble([0.5, -0.3]).q
    v = press.project_velocity(q, [0.0, 0.0])
    told = sr.forecast_singularity(press, q, v)
    run = sr.simulate(press, q, v, duration=0.499, rtol=1e-10, dt=5e-4)
    dead.plot(run.t, run.smallest_singular_value, color=colour(0), label="σ")
    dead.plot(run.t, 0.02 * run.spike_acceleration, color=colour(1), label="|uᵀȦv| / σ, in 50 1/s²")
    dead.plot(told.time, 0.0, "x", color=INK, markersize=8, markeredgewidth=2)
    dead.set_title("told at t = 0: × locks up", loc="left", size=9, color=INK)
    dead.set_ylim(-0.03, 1.0)
    dead.legend(frameon=False, fontsize=8, loc="upper left")
    for axes in (near, dead):
        axes.set_xlabel("time [s]")
        axes.set_ylabel("smallest singular value σ")
        dress(axes)
    return figure
