"""Published problems of path synthesis: designs as printed, their errors, and designs that are as good or better.

Five points with both pivots given: A. P. Morgan, C. W. Wampler: Solving a Planar Four-Bar Design Problem Using
Continuation. Journal of Mechanical Design 112, 1990, problem 7, with the solution that PHCpack prints (12 digits).

Five points with given angles of the crank, six free lengths: A. Kunjur, S. Krishnamurty: Genetic Algorithms in
Mechanism Synthesis. Journal of Applied Mechanisms and Robotics 4, 1997; J. A. Cabrera, A. Simon, M. Prado: Optimal
synthesis of mechanisms with genetic algorithms. Mechanism and Machine Theory 37, 2002; J. A. Cabrera, A. Ortiz,
F. Nadal, J. J. Castillo: An evolutionary algorithm for path synthesis of mechanisms. Mechanism and Machine Theory 46,
2011. Designs as a public program for comparisons has them, not from the papers; the errors are of these digits.
"""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus import synthesis as sy

LENGTHS = {
    "a": "coupler.placement.x",
    "b": "pin.pose1.x",
    "c": "pin.pose2.x",
    "u": "tracer.placement.x",
    "v": "tracer.placement.y",
}
ALL = {**LENGTHS, "g": "rocker.placement.x"}


def linkage(a: float, b: float, c: float, u: float, v: float, g: float) -> sr.Mechanism:
    """Return a four-bar with crank a, coupler b, rocker c, ground g, whose coupler has a point at (u, v)."""
    mechanism = sr.Mechanism("published", gravity=(0, 0, 0))
    for name in ("crank", "coupler", "rocker", "tracer"):
        mechanism.add_body(name, 1.0, (0, 0, 0), (1.0, 1.0, 1.0))
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("coupler", "revolute", "crank", "coupler", parent_pose=(a, 0, 0))
    mechanism.add_joint("tracer", "fixed", "coupler", "tracer", parent_pose=(u, v, 0))
    mechanism.add_joint("rocker", "revolute", "world", "rocker", parent_pose=(g, 0, 0))
    mechanism.add_closure("pin", "revolute", "coupler", "rocker", pose1=(b, 0, 0), pose2=(c, 0, 0))
    return mechanism


# --- five points, pivots at (0, 0) and (1, 0) --------------------------------------------------------

POINTS = np.array([[0.50, 1.06], [-0.83, -0.27], [-0.34, 0.22], [-0.13, 0.43], [0.22, 0.78]])
# From the first point to the ends of crank and rocker, and how far the coupler has turned at the others.
X, Y = complex(-0.0877960434509, -0.851386907516), complex(0.235837391307, -1.41899202704)
TURNS = np.array([0.0, 1.44734213756, 0.928413708131, 0.751699211109, 0.387116282208])


def published() -> tuple[dict[str, float], np.ndarray]:
    """Return lengths and coordinates (5, 3) of the solution."""
    place = POINTS @ [1.0, 1j]
    crank, rocker = (place + arm * np.exp(1j * TURNS) for arm in (X, Y))
    for radius in (abs(crank), abs(rocker - 1.0)):  # links are rigid, to the 11 digits of the turns
        assert np.ptp(radius) < 1e-11
    coupler = rocker - crank
    along = (place - crank)[0] / coupler[0] * abs(coupler[0])
    lengths = {
        "a": abs(crank[0]),
        "b": abs(coupler[0]),
        "c": abs(rocker[0] - 1.0),
        "u": along.real,
        "v": along.imag,
    }
    turns = np.column_stack([np.angle(crank), np.angle(coupler / crank), np.angle(rocker - 1.0)])
    return lengths, turns


def five_points(lengths: dict[str, float], turns: np.ndarray) -> sy.Problem:
    """Return the problem from a start: each point has the crank where it likes, on the branch of the start."""
    at = [sy.Configuration({"crank": q[0]}, free=("crank",), guess=q) for q in turns]
    return sy.Problem(
        linkage(**lengths, g=1.0), LENGTHS, [sy.point("tracer", (0, 0, 0), POINTS, at, axes="xy")]
    )


def test_morgan_and_wamplers_solution_passes_its_points() -> None:
    found = five_points(*published()).evaluate()
    assert np.abs(found.goals["point of tracer"]).max() < 1e-10


def test_morgan_and_wamplers_solution_is_found() -> None:
    """Ten numbers for ten equations: from one digit of each number to the twelve that are printed."""
    exact, turns = published()
    start = {name: float(np.round(value, 1)) for name, value in exact.items()}
    design = five_points(start, np.round(turns, 1)).solve()
    assert design.status is sr.Status.OK
    assert design.goals["point of tracer"] < 1e-9
    for name, value in exact.items():
        assert design.parameters[name] == pytest.approx(value, abs=1e-10)


# --- five points with angles of the crank -------------------------------------------------------------

TIMED = np.array([[3.0, 3.0], [2.759, 3.363], [2.372, 3.663], [1.890, 3.862], [1.355, 3.943]])
ANGLES = np.pi * np.array([1 / 6, 1 / 4, 1 / 3, 5 / 12, 1 / 2])
# Ground, crank, coupler, rocker, the point of the coupler; the sum of squares in closed form, four digits.
DESIGNS = {
    "Kunjur and Krishnamurty 1997": ((3.509643, 1.857606, 4.725835, 3.518721, 1.959538, 1.558898), 9.526e-4),
    "Cabrera, Simon and Prado 2002": (
        (3.0630424, 1.9959624, 3.305823, 2.524706, 1.645158, 1.708959),
        1.827e-6,
    ),
    "Cabrera and others 2011": (
        (3.77326856, 2.00000403, 4.11697104, 2.74615671, 1.67848787, 1.67098007),
        1.284e-6,
    ),
}
BEST = {"g": 3.669728, "a": 1.997812, "b": 3.996316, "c": 2.704886, "u": 1.672046, "v": 1.680132}


def pin(angle: float | np.ndarray, g: float, a: float, b: float, c: float) -> np.ndarray:
    """Return where the pin is, above the line from the crank to the rocker's pivot, as a complex number."""
    tip = a * np.exp(1j * angle)
    base = g - tip
    along = (abs(base) ** 2 + b**2 - c**2) / (2.0 * abs(base))
    return tip + base / abs(base) * (along + 1j * np.sqrt(b**2 - along**2))


def timed(g: float, a: float, b: float, c: float, u: float, v: float) -> sy.Problem:
    """Return the problem from a start, links between 0.1 and 60 as published."""
    first = pin(ANGLES[0], g, a, b, c)
    tip = a * np.exp(1j * ANGLES[0])
    guess = [ANGLES[0], np.angle((first - tip) / tip), np.angle(first - g)]
    at = sy.sweep({"crank": ANGLES}, guess=guess)
    bounds = {**dict.fromkeys("gabc", (0.1, 60.0)), **dict.fromkeys("uv", (-60.0, 60.0))}
    goal = sy.point("tracer", (0, 0, 0), TIMED, at, axes="xy", within=1e-3)
    return sy.Problem(linkage(a, b, c, u, v, g), ALL, [goal], bounds=bounds)


@pytest.mark.parametrize("name", list(DESIGNS))
def test_five_timed_points(name: str) -> None:
    """The printed design has its error, and the search goes from there to one optimum, below all of them."""
    numbers, error = DESIGNS[name]
    g, a, b, c, u, v = numbers
    bar = pin(ANGLES, g, a, b, c) - a * np.exp(1j * ANGLES)
    place = a * np.exp(1j * ANGLES) + complex(u, v) * bar / b
    off = float((abs(place - TIMED @ [1.0, 1j]) ** 2).sum())
    problem = timed(*numbers)
    assert problem.evaluate().cost == pytest.approx(off, rel=1e-9)
    assert off == pytest.approx(error, rel=1e-3)
    design = problem.solve()
    assert design.status is sr.Status.OK
    assert design.cost == pytest.approx(7.4158e-7, rel=1e-4)
    assert design.cost < min(error for _, error in DESIGNS.values())
    for letter, value in BEST.items():
        assert design.parameters[letter] == pytest.approx(value, abs=1e-6)
    links = sorted(design.parameters[letter] for letter in "gabc")
    assert links[0] + links[3] < links[1] + links[2]  # Grashof: the crank, the shortest, turns
    assert links[0] == design.parameters["a"]
    assert design.goals["point of tracer"] < 5.2e-4  # the points are printed to 5e-4


def test_without_the_angles_the_points_are_passed_exactly() -> None:
    numbers, _ = DESIGNS["Cabrera, Simon and Prado 2002"]
    given = timed(*numbers)
    turns = given.evaluate().q
    at = [sy.Configuration({"crank": float(q[0])}, free=("crank",), guess=q) for q in turns]
    goal = sy.point("tracer", (0, 0, 0), TIMED, at, axes="xy", within=1e-9)
    design = sy.Problem(given.mechanism, ALL, [goal]).solve()
    assert design.status is sr.Status.OK
    assert design.goals["point of tracer"] < 1e-9
    assert np.all(np.diff([design.drivers[f"crank[{k}]"] for k in range(5)]) > 0.0)


# --- six points on a vertical line -------------------------------------------------------------------

# Ground, crank, coupler, rocker, the point of the coupler, the pivot of the crank, the turn of the ground, and six
# angles of the crank from the ground: Cabrera and others 2011.
SIX = (31.788264, 8.2046468, 24.932131, 31.385926, 34.193719, 14.415668, -6.366519, 56.83676, 4.015959)
SIX_ANGLES = np.array([1.366547, 2.330773, 2.871039, 3.394591, 3.97096, 4.96349])
MOVED = {
    **LENGTHS,
    "x": "crank.placement.x",
    "y": "crank.placement.y",
    "right": "rocker.placement.x",
    "up": "rocker.placement.y",
}


def test_six_points_on_a_line_are_passed_exactly() -> None:
    """Fifteen numbers for twelve equations: the printed design leaves a sum of squares of 2.057e-4, `solve` none."""
    g, a, b, c, u, v, x, y, turn = SIX
    targets = np.column_stack([np.full(6, 20.0), np.arange(20.0, 46.0, 5.0)])
    tip, end = a * np.exp(1j * SIX_ANGLES), pin(SIX_ANGLES, g, a, b, c)
    place = complex(x, y) + np.exp(1j * turn) * (tip + complex(u, v) * (end - tip) / b)
    off = float((abs(place - targets @ [1.0, 1j]) ** 2).sum())
    assert off == pytest.approx(2.057e-4, rel=1e-3)
    turned = np.column_stack([SIX_ANGLES + turn, np.angle((end - tip) / tip), np.angle(end - g) + turn])
    at = [sy.Configuration({"crank": q[0]}, free=("crank",), guess=q) for q in turned]
    start = sr.System(linkage(a, b, c, u, v, g), MOVED).with_parameters(
        {
            "a": a,
            "b": b,
            "c": c,
            "u": u,
            "v": v,
            "x": x,
            "y": y,
            "right": x + g * np.cos(turn),
            "up": y + g * np.sin(turn),
        }
    )
    goal = sy.point("tracer", (0, 0, 0), targets, at, axes="xy", within=1e-9)
    problem = sy.Problem(start.current_mechanism(), MOVED, [goal])
    assert problem.evaluate().cost == pytest.approx(off, rel=1e-8)
    design = problem.solve()
    assert design.status is sr.Status.OK
    assert design.goals["point of tracer"] < 1e-9
    found = design.parameters
    ground = np.hypot(found["right"] - found["x"], found["up"] - found["y"])
    links = sorted([found["a"], found["b"], found["c"], ground])
    assert links[0] + links[3] < links[1] + links[2]
    assert links[0] == found["a"]  # the crank turns, and passes them in their order
    assert np.all(np.diff([design.drivers[f"crank[{k}]"] for k in range(6)]) > 0.0)
