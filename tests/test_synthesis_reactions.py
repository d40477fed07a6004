"""Forces and couples in joints and closures as goals: against free bodies in 80 digits, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import sarrus as sr
from four_bars import COUPLER_COM, DRIVES, LENGTHS, MASSES, centres, coordinates, derivative, four_bar, guess
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus import synthesis as sy

ANGLES = [0.3, 1.5, 4.6]
RATE, GROWTH, GRAVITY = 7.0, 3.0, 9.81
INERTIA = {"crank": 0.002, "coupler": 0.004, "rocker": 0.003}
START = {**LENGTHS, "x": 0.1, "y": 0.02}
PARTS = ("force", "couple", "bearing_force", "bearing_couple")


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """Have eighty digits."""
    with mp.workdps(80):
        yield


def moving(angles: list[float] = ANGLES) -> tuple[sy.Configuration, ...]:
    """Return configurations that move."""
    return sy.sweep(
        {"crank": angles}, rates={"crank": RATE}, accelerations={"crank": GROWTH}, guess=guess(angles[0])
    )


def problem(*goals: sy.Goal, closure: str = "revolute", **options: Any) -> sy.Problem:
    """Return a problem with all lengths and the rocker's centre of mass free."""
    made = four_bar(closure=closure)
    drives = {**DRIVES, "x": "rocker.com.x", "y": "rocker.com.y"}
    built = sr.System(made, drives).with_parameters(START)
    return sy.Problem(built.current_mechanism(), drives, goals, **options)


def in_time(f: Any, angle: Any) -> Any:
    """Return the second derivative by time of a function of the crank's angle."""
    h, x = mp.mpf("1e-20"), mp.mpf(angle)
    second = (f(x + h) - 2 * f(x) + f(x - h)) / h**2
    return second * RATE**2 + derivative(f, x, "1e-24") * GROWTH


def cross(a: Any, b: Any) -> Any:
    """Return the product of two vectors of the plane that are complex numbers."""
    return mp.im(mp.conj(a) * b)


def balance(angle: float, p: dict[str, Any]) -> dict[str, Any]:
    """Return forces as complex numbers and the torque of the crank, from the balances of the three bodies."""
    com = {"crank": (0.05, 0.0), "coupler": COUPLER_COM, "rocker": (p["x"], p["y"])}
    names = ("crank", "coupler", "rocker")

    def turn(x: Any) -> tuple[Any, Any, Any]:
        crank, relative, rocker = coordinates(x, p)
        return crank, crank + relative, rocker

    needs, spins = {}, {}
    for k, name in enumerate(names):
        acceleration = in_time(lambda x, k=k: centres(x, p, com)[k], angle)
        needs[name] = mp.mpf(MASSES[name]) * (acceleration + mp.mpc(0, mp.mpf(GRAVITY)))
        spins[name] = mp.mpf(INERTIA[name]) * in_time(lambda x, k=k: turn(x)[k], angle)
    where = dict(zip(names, centres(angle, p, com)))
    tip = mp.mpf(p["a"]) * mp.expj(angle)
    pin = tip + mp.mpf(p["b"]) * mp.expj(turn(angle)[1])
    ground = mp.mpf(p["g"])
    arm1, arm2 = pin - ground, tip - pin
    right = mp.matrix(
        [
            cross(where["rocker"] - ground, needs["rocker"]) + spins["rocker"],
            cross(where["coupler"] - tip, needs["coupler"]) + spins["coupler"],
        ]
    )
    rows = mp.matrix([[-mp.im(arm1), mp.re(arm1)], [-mp.im(arm2), mp.re(arm2)]])
    f = mp.lu_solve(rows, right)
    at_pin = mp.mpc(f[0], f[1])
    second = needs["coupler"] + at_pin
    torque = cross(where["crank"], needs["crank"]) + spins["crank"] + cross(tip, second)
    return {
        "pin": at_pin,
        "rocker": needs["rocker"] - at_pin,
        "coupler": second,
        "crank": needs["crank"] + second,
        "torque": torque,
        "turn of rocker": turn(angle)[2],
    }


def check(found: sy.Value, cost: Any) -> None:
    """Compare a cost and its gradient by all that is free."""
    exact = [float(derivative(lambda x, n=n: cost({**START, n: x}), START[n], "1e-12")) for n in found.names]
    assert found.cost == pytest.approx(float(cost(START)), rel=1e-10)
    assert np.abs(found.gradient - exact).max() < 1e-9 * np.abs(exact).max()


# --- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", ["crank", "coupler", "rocker", "pin"])
def test_forces_in_joints_of_a_four_bar(joint: str) -> None:
    """The pin has three redundant rows; forces in the plane are determined."""
    found = problem(sy.reaction(joint, moving(), axes="xy")).evaluate()
    check(found, lambda p: sum(abs(balance(angle, p)[joint]) ** 2 for angle in ANGLES))


def test_couples_and_forces_in_axes_of_bodies() -> None:
    """The load of the crank's joint has the torque of its driver in it, the bearing has not."""
    goals = [
        sy.reaction("crank", moving(), part="couple", axes="z"),
        sy.cost(lambda s: s.reaction("pin", "rocker").force[0] ** 3, moving()),
        sy.reaction("crank", moving(), part="bearing_couple", axes="z"),
    ]

    def cost(p: dict[str, Any]) -> Any:
        total = mp.mpf(0)
        for angle in ANGLES:
            at = balance(angle, p)
            total += at["torque"] ** 2 + mp.re(at["pin"] * mp.expj(-at["turn of rocker"])) ** 3
        return total

    found = problem(*goals).evaluate()
    check(found, cost)
    assert np.abs(found.goals["bearing couple of crank"]).max() < 1e-12


def test_couples_of_a_loop_whose_bodies_are_out_of_its_plane() -> None:
    """A pin that slides along z leaves nothing open: a coupler at a height tilts the crank's bearing, as it needs."""
    made = four_bar(closure="point_on_line")
    drives = {**DRIVES, "z": "coupler.com.z"}
    start = {**LENGTHS, "z": 0.07}
    at = moving()
    system = sr.System(made, drives).with_parameters(start)
    goals = [
        sy.reaction("crank", at, part="bearing_couple"),
        sy.reaction("coupler", at, part="couple", axes="yx", frame="coupler"),
        sy.cost(lambda s: s.reaction("crank", "joint").bearing_couple[0], at, weight=1e-3),
    ]
    found = sy.Problem(system.current_mechanism(), drives, goals).evaluate()

    def cost(p: dict[str, Any]) -> Any:
        com = {"crank": (0.05, 0.0), "coupler": COUPLER_COM, "rocker": (0.1, 0.0)}
        total = mp.mpf(0)
        for angle in ANGLES:
            acceleration = in_time(lambda x: centres(x, p, com)[1], angle)
            need = mp.mpf(p["z"]) * mp.mpf(MASSES["coupler"]) * (acceleration + mp.mpc(0, mp.mpf(GRAVITY)))
            total += 2 * abs(need) ** 2  # a lever along z turns it by a right angle, and tilts both bearings
            total += mp.mpf(1e-3) * mp.re(1j * need * mp.expj(-angle))
        return total

    exact = [float(derivative(lambda x, n=n: cost({**start, n: x}), start[n], "1e-12")) for n in found.names]
    assert found.cost == pytest.approx(float(cost(start)), rel=1e-10)
    assert np.abs(found.gradient - exact).max() < 1e-9 * np.abs(exact).max()


def test_couples_in_space() -> None:
    """Two hinges in a row about z and y, open: bearing couples of the first from momenta in 80 digits."""
    arm = sr.Mechanism("arm", gravity=(0, 0, -9.81))
    for name, parent, place, axis in (
        ("upper", "world", (0, 0, 0.2), (0, 0, 1)),
        ("fore", "upper", (0.3, 0, 0), (0, 1, 0)),
    ):
        arm.add_body(name, 1.5, (0.2, 0.05, 0.1), (0.01, 0.02, 0.03))
        arm.add_joint(name, "revolute", parent, name, parent_pose=place, axis=axis)
    at = sy.sweep(
        {"upper": [0.4, 1.1], "fore": [0.3, -0.5]},
        rates={"upper": 2.0, "fore": -3.0},
        accelerations={"upper": 1.0, "fore": 5.0},
    )
    drives = {"l": "fore.placement.x", "m": "fore.mass", "z": "fore.com.z", "i": "fore.inertia.yy"}
    start = {"l": 0.3, "m": 1.5, "z": 0.1, "i": 0.02}
    made = sy.Problem(
        arm, drives, [sy.reaction("upper", at, part="bearing_couple"), sy.reaction("upper", at)]
    )

    def turned(angle: Any, axis: str) -> Any:
        c, s = mp.cos(angle), mp.sin(angle)
        if axis == "z":
            return mp.matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return mp.matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]])

    def load(first: float, second: float, p: dict[str, Any]) -> tuple[Any, Any]:
        """Return force, and couple about the hinge, that change momenta so against weight."""

        def momenta(t: Any) -> tuple[Any, Any]:
            def pose(t: Any) -> list[tuple[Any, Any, Any, Any]]:
                one = turned(first + 2 * t + t**2 / 2, "z")
                two = one * turned(second - 3 * t + mp.mpf(5) / 2 * t**2, "y")
                start1, start2 = mp.matrix([0, 0, 0]), one * mp.matrix([p["l"], 0, 0])
                com1, com2 = mp.matrix([0.2, 0.05, 0.1]), mp.matrix([0.2, 0.05, p["z"]])
                return [
                    (one, start1 + one * com1, mp.mpf(1.5), (0.01, 0.02, 0.03)),
                    (two, start2 + two * com2, mp.mpf(p["m"]), (0.01, p["i"], 0.03)),
                ]

            h = mp.mpf("1e-22")
            linear, angular = mp.matrix(3, 1), mp.matrix(3, 1)
            for now, after, before in zip(pose(t), pose(t + h), pose(t - h)):
                v = (after[1] - before[1]) / (2 * h)
                spin = (after[0] - before[0]) / (2 * h) * now[0].T
                w = now[0].T * mp.matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
                own = now[0] * mp.matrix([mp.mpf(i) * x for i, x in zip(now[3], w)])
                linear += now[2] * v
                angular += own + now[2] * cross3(now[1], v)
            return linear, angular

        h = mp.mpf("1e-16")
        (p1, l1), (p0, l0) = momenta(h), momenta(-h)
        force, couple = (p1 - p0) / (2 * h), (l1 - l0) / (2 * h)
        weights = [(mp.mpf(1.5), 0.1, (0.2, 0.05)), (mp.mpf(p["m"]), None, None)]
        one = turned(first, "z")
        com1 = one * mp.matrix([0.2, 0.05, 0.1])
        com2 = one * (mp.matrix([p["l"], 0, 0]) + turned(second, "y") * mp.matrix([0.2, 0.05, p["z"]]))
        for mass, place in ((weights[0][0], com1), (weights[1][0], com2)):
            pull = mp.matrix([0, 0, mass * mp.mpf(GRAVITY)])
            force, couple = force + pull, couple + cross3(place, pull)
        return force, couple

    def cross3(a: Any, b: Any) -> Any:
        return mp.matrix([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    def cost(p: dict[str, Any]) -> Any:
        total = mp.mpf(0)
        for first, second in ((0.4, 0.3), (1.1, -0.5)):
            force, couple = load(mp.mpf(first), mp.mpf(second), p)
            total += couple[0] ** 2 + couple[1] ** 2 + sum(x**2 for x in force)
        return total

    found = made.evaluate()
    exact = [float(derivative(lambda x, n=n: cost({**start, n: x}), start[n], "1e-10")) for n in found.names]
    assert found.cost == pytest.approx(float(cost(start)), rel=1e-12)
    assert np.abs(found.gradient - exact).max() < 1e-9 * np.abs(exact).max()


# --- all kinds against the reactions of a state -----------------------------------------------------

LINKAGES = [
    (40, ("revolute", "universal", "revolute", "revolute"), "point", "world"),
    (43, ("revolute", "prismatic", "revolute"), "point_on_plane", "joint"),
    (45, ("revolute", "spherical", "universal"), "revolute", "world"),
    (46, ("revolute", "screw", "planar"), "weld", "joint"),
]


@pytest.mark.parametrize(("seed", "joints", "closure", "frame"), LINKAGES)
def test_loads_are_those_of_a_state(seed: int, joints: tuple[str, ...], closure: str, frame: str) -> None:
    """Values as `reactions` has them under the forces of the drivers, what is not determined refused by name."""
    plan = random_tree(seed, joints)
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, (closure,))
    system = sr.System(mechanism)
    q = np.array(system.assemble(q).q)
    names = [n for n in system.coordinate_names if n in system.velocity_names]
    drivers = independent(system, q, names)
    rates = {name: 0.5 + 0.1 * k for k, name in enumerate(drivers)}
    values = {name: float(q[system.coordinate_names.index(name)]) for name in drivers}
    at = sy.Configuration(values, rates=rates, accelerations=dict.fromkeys(drivers, 1.0), guess=q)
    body = next(iter(mechanism.bodies))
    plain = sy.Problem(
        mechanism, {"m": f"{body}.mass"}, [sy.squares(lambda s: ca.vertcat(*s.drive.values()), at)]
    )
    state, tau = plain.evaluation, np.zeros(system.nv)
    force = plain.evaluate().goals["squares"]
    tau[[system.velocity_names.index(n) for n in drivers]] = force
    found = state.last.states[0]
    exact = sr.reactions(system, plain.evaluate().q[0], found.v, tau=tau, frame=frame)
    assert np.allclose(exact.a, found.a, atol=1e-9 * (1.0 + np.abs(exact.a).max()))
    rows, wanted, shared = [], [], []
    for name in exact:
        one = exact[name]
        for k, part in enumerate(PARTS):
            for axis in range(3):
                sure = one.determined[3 * (k % 2) + axis]
                (rows if sure else shared).append((name, part, axis))
                if sure:
                    wanted.append(getattr(one, part)[axis])
    goal = sy.squares(
        lambda s: ca.vertcat(*(getattr(s.reaction(n, frame), p)[a] for n, p, a in rows)),
        at,
        name="all",
    )
    got = sy.Problem(mechanism, {"m": f"{body}.mass"}, [goal]).evaluate().goals["all"]
    assert np.allclose(got, wanted, atol=1e-9 * (1.0 + np.abs(wanted).max()))
    for name, part, axis in shared[:1]:
        bad = sy.squares(lambda s, n=name, p=part, a=axis: getattr(s.reaction(n, frame), p)[a], at)
        with pytest.raises(sr.ArgumentError, match=f"the {part.replace('_', ' ')} of '{name}' along"):
            sy.Problem(mechanism, {"m": f"{body}.mass"}, [bad]).evaluate()


def independent(system: sr.System, q: np.ndarray, names: list[str]) -> list[str]:
    """Return coordinates, the first that do, which with the loops hold everything."""
    rows, chosen = np.array(system.constraint_jacobian(q)), []
    rank = np.linalg.matrix_rank(rows, 1e-8)
    for name in names:
        unit = np.eye(system.nv)[system.velocity_names.index(name)]
        if np.linalg.matrix_rank(np.vstack([rows, unit]), 1e-8) > rank:
            rows, rank = np.vstack([rows, unit]), rank + 1
            chosen.append(name)
    assert rank == system.nv
    return chosen


# --- goals -----------------------------------------------------------------------------------------


def test_a_peak_of_a_bearing_force_is_as_low_as_a_fine_grid_finds() -> None:
    at = moving(list(np.linspace(0.0, 6.0, 13)))
    made = sy.Problem(
        four_bar(),
        {"x": "rocker.com.x"},
        [sy.peak_reaction("rocker", at, part="bearing_force", axes="xy")],
        bounds={"x": (-0.2, 0.2)},
    )
    design = made.solve()
    assert design.status is sr.Status.OK
    grid = [made.evaluate({"x": x}).cost for x in np.linspace(-0.2, 0.2, 81)]
    assert design.cost <= min(grid) + 1e-9
    system = sr.System(design.mechanism)
    peaks = []
    for k, q in enumerate(design.q):
        state = made.evaluation.at(np.array([design.parameters["x"]])).states[k]
        tau = np.array([state.drive[0], 0.0, 0.0])
        one = sr.reactions(system, q, state.v, tau=tau)["rocker"]
        peaks.append(np.hypot(*one.bearing_force[:2]))
    assert design.cost == pytest.approx(max(peaks), rel=1e-8)


def test_a_load_of_a_pin_is_kept_below_a_limit() -> None:
    """The heaviest rocker whose pin carries no more than this; the limit holds exactly where it is reached."""
    at = moving(list(np.linspace(0.0, 6.0, 13)))
    heavy = sy.cost(lambda s: -s.parameters["m"], at[0], name="mass")
    design = sy.Problem(
        four_bar(),
        {"m": "rocker.mass"},
        [heavy, sy.reaction_below("pin", at, 8.0, axes="xy")],
        bounds={"m": (0.1, 5.0)},
    ).solve()
    assert design.status is sr.Status.OK
    assert not design.active
    assert design.goals["force of pin"] == pytest.approx(8.0, rel=1e-7)


def test_a_load_that_vanishes_has_a_derivative() -> None:
    """Hanging still under no weight: the magnitude is zero, and so is its derivative."""
    arm = sr.Mechanism("arm", gravity=(0, 0, 0))
    arm.add_body("arm", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
    arm.add_joint("hinge", "revolute", "world", "arm")
    still = sy.Configuration({"hinge": 0.0})
    found = sy.Problem(arm, {"m": "arm.mass"}, [sy.peak_reaction("hinge", still)]).evaluate()
    assert (found.cost, found.gradient[0]) == (0.0, 0.0)


REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("the force of 'crank' along z, which", "crank", {}),
    ("the couple of 'pin' along x of its own axes", "pin", {"part": "couple", "frame": "joint"}),
    (
        "the bearing force of 'rocker' along z of 'crank'",
        "rocker",
        {"part": "bearing_force", "frame": "crank"},
    ),
    ("unknown joint 'knee'", "knee", {}),
    ("unknown frame 'knee'", "pin", {"frame": "knee"}),
]


@pytest.mark.parametrize(("message", "joint", "options"), REFUSED)
def test_what_is_shared_or_unknown_is_refused_by_name(
    message: str, joint: str, options: dict[str, Any]
) -> None:
    with pytest.raises(sr.ArgumentError, match=message):
        sy.Problem(
            four_bar(closure="revolute"),
            {"m": "crank.mass"},
            [sy.peak_reaction(joint, moving()[:1], **options)],
        ).evaluate()


def doubled() -> sr.Mechanism:
    """Return a four-bar whose pin is two hinges at one place, which share whatever they carry."""
    made = sr.System(four_bar(closure="revolute"), {"x": "rocker.com.x", "y": "rocker.com.y"})
    made = made.with_parameters({"x": START["x"], "y": START["y"]}).current_mechanism()
    ends = {"pose1": (LENGTHS["b"], 0, 0), "pose2": (LENGTHS["c"], 0, 0)}
    made.add_closure("again", "revolute", "coupler", "rocker", **ends)
    return made


def test_what_is_determined_as_a_whole_has_a_derivative() -> None:
    """Of two hinges at one place the sum of their forces is determined, of either none; torque by its power too."""
    drives = {"g": DRIVES["g"], "a": DRIVES["a"], "x": "rocker.com.x", "y": "rocker.com.y"}

    def both(s: sy.Quantities) -> ca.SX:
        return (s.reaction("pin").force + s.reaction("again").force)[:2]

    found = sy.Problem(doubled(), drives, [sy.squares(both, moving(), name="both")]).evaluate()
    check(found, lambda p: sum(abs(balance(angle, p)["pin"]) ** 2 for angle in ANGLES))
    for one in (
        lambda s: s.reaction("pin").force[0],
        lambda s: (s.reaction("pin").force - s.reaction("again").force)[:2],
        lambda s: s.reaction("pin").force[2] ** 2,  # zero, with its derivative, in the share of least norm
        lambda s: ca.fmax(s.reaction("crank").force[2], -1e3),
        lambda s: s.multipliers[0] * s.multipliers[5],
    ):
        with pytest.raises(sr.ArgumentError, match="redundant closures share"):
            sy.Problem(doubled(), drives, [sy.cost(one, moving()[:1])]).evaluate()


def test_drivers_that_share_are_refused() -> None:
    """Crank and rocker driven at once, as they move together: what each of them does is open."""
    q = guess(1.0)
    at = sy.Configuration({"crank": q[0], "rocker": q[2]}, guess=q)
    made = sy.Problem(four_bar(), {"m": "coupler.mass"}, [sy.drive_force("rocker", at)])
    with pytest.raises(sr.ArgumentError, match="depends on the force of 'rocker'"):
        made.evaluate()
    with pytest.raises(sr.ArgumentError, match="most must be a positive number"):
        sy.reaction_below("pin", at, 0.0)
    with pytest.raises(sr.ArgumentError, match="part must be one of"):
        sy.reaction("pin", at, part="weight")  # type: ignore[arg-type]


def test_multipliers_are_looked_at_one_by_one() -> None:
    """Rows x and y of a pin with redundant rows are determined, wherever they stand in an expression."""
    made = sy.Problem(
        four_bar(closure="revolute"),
        {"m": "coupler.mass"},
        [sy.squares(lambda s: ca.vertcat(0.0, 0.0, s.multipliers[1], s.multipliers[0]), moving()[:1])],
    )
    assert made.evaluate().cost > 0.0
    dead = sy.squares(lambda s: ca.vertcat(s.multipliers[0], s.multipliers[2]), moving()[:1])
    with pytest.raises(sr.ArgumentError, match=r"depends on the multiplier of 'pin\.z'"):
        sy.Problem(four_bar(closure="revolute"), {"m": "coupler.mass"}, [dead]).evaluate()
