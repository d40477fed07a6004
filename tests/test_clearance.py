"""`clearance` of shapes: distances against closed forms and an optimizer, derivatives, capsules that never touch."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize

import sarrus as sr
from mechanisms import random_state, random_tree
from quantity_rates import largest_difference
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control import Capsule, Plane, Sphere
from sarrus.control.quantities.quantities import quantity

ONE = Capsule("b1", (0.0, 0.1, -0.2), (0.3, 0.2, 0.4), 0.05)
OTHER = Capsule("b4", (0.1, 0.0, 0.2), (-0.2, 0.5, 0.3), 0.08)
BALL = Sphere("b3", (0.1, -0.2, 0.3), 0.1)
FLOOR = Plane((0.1, 0.2, -0.3), (0.2, -0.1, 1.0))
PAIRS: dict[str, tuple[Any, Any]] = {
    "capsules": (ONE, OTHER),
    "ball and capsule": (BALL, OTHER),
    "capsule and ball": (ONE, BALL),
    "balls": (BALL, Sphere("world", (0.5, 0.5, 0.5), 0.2)),
    "ball and plane": (BALL, FLOOR),
    "plane and capsule": (FLOOR, ONE),
    "capsule and wall on a body": (ONE, Plane((0.0, 0.0, 0.2), (1.0, 0.0, 0.0), body="b4")),
}


def values(system: sr.System, part: Any, q: Array) -> Array:
    """Return the rows of a quantity at q, or of many (one state a row)."""
    e = system.equations
    f = ca.Function("value", [e.q, e.p], [quantity(system, part).value])
    states = np.atleast_2d(q)
    found = np.array(f(states.T, np.tile([list(system.parameters.values())], (len(states), 1)).T)).T
    return found if np.ndim(q) == 2 else found[0]


def points(system: sr.System, shape: Any, q: Array) -> tuple[Array, Array]:
    """Return the ends of a shape in the world."""
    ends = (shape.start, shape.end) if isinstance(shape, Capsule) else (shape.centre, shape.centre)
    if shape.body == "world":
        return tuple(np.array(end) for end in ends)  # type: ignore[return-value]
    where, turned = system.body_placements(q)
    k = list(system.mechanism.bodies).index(shape.body)
    return tuple(where[k] + turned[k] @ np.array(end) for end in ends)  # type: ignore[return-value]


def distance(system: sr.System, a: Any, b: Any, q: Array) -> float:
    """Return the distance of two shapes by minimisation over the points of their axes."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Plane):
            normal, point = np.array(one.normal) / np.linalg.norm(one.normal), np.array(one.point)
            if one.body != "world":
                where, turned = system.body_placements(q)
                k = list(system.mechanism.bodies).index(one.body)
                normal, point = turned[k] @ normal, where[k] + turned[k] @ point
            return min(float(normal @ (end - point)) for end in points(system, other, q)) - other.radius
    (p, q1), (r, s1) = points(system, a, q), points(system, b, q)

    def square(x: Array) -> float:
        way = p + x[0] * (q1 - p) - r - x[1] * (s1 - r)
        return float(way @ way)

    found = minimize(
        square, [0.5, 0.5], bounds=[(0, 1), (0, 1)], tol=1e-15, options={"ftol": 1e-16, "gtol": 1e-12}
    )
    return float(np.sqrt(found.fun)) - a.radius - b.radius


@pytest.fixture(scope="module")
def system() -> sr.System:
    return sr.System(random_tree(4).mechanism)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_least_row_is_the_distance(system: sr.System, pair: str) -> None:
    a, b = PAIRS[pair]
    for seed in range(8):
        q, _ = random_state(system, seed)
        rows = values(system, control.clearance(a, b), q)
        assert rows.min() == pytest.approx(distance(system, a, b, q), abs=1e-7)
        assert len(rows) == {"capsules": 5}.get(pair, 2 if "plane and c" in pair or "wall" in pair else 1)
        if pair == "capsules":
            assert rows[0] == pytest.approx(rows.min(), abs=1e-12)


@pytest.mark.parametrize("pair", PAIRS)
def test_rates_and_accelerations(system: sr.System, pair: str) -> None:
    assert largest_difference(system, control.clearance(*PAIRS[pair]), range(6)) < 1e-8


def test_geoms_of_the_mechanism() -> None:
    """A box that is a geom, beside a ball; and a box on a plane has a row for each corner."""
    mechanism = random_tree(4).mechanism
    mechanism.add_geom("block", "b1", "box", (0.1, 0.2, 0.3))
    system = sr.System(mechanism)
    q, _ = random_state(system, 2)
    ball = values(system, control.clearance("block", BALL), q)
    where, turned = system.body_placements(q)
    names = list(mechanism.bodies)
    one, other = names.index("b1"), names.index("b3")
    centre = turned[one].T @ (where[other] + turned[other] @ np.array(BALL.centre) - where[one])
    out = np.maximum(np.abs(centre) - [0.1, 0.2, 0.3], 0.0)
    assert ball == pytest.approx([np.linalg.norm(out) - 0.1])
    assert len(values(system, control.clearance("block", FLOOR), q)) == 8
    with pytest.raises(ArgumentError, match="the distance of a box and a capsule has no closed form"):
        quantity(system, control.clearance("block", OTHER))
    with pytest.raises(ArgumentError, match="blok"):
        quantity(system, control.clearance("blok", OTHER))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: control.clearance(ONE, Sphere("b1")), "both shapes are on 'b1'"),
        (lambda: control.clearance(ONE, Sphere("b99")), "b99"),
        (lambda: control.clearance(ONE, Sphere("b2", radius=-1.0)), "radius must be a number of at least 0"),
        (
            lambda: control.clearance(ONE, Capsule("b2", (0, 0, 0), (0, 0, 0))),
            "start and end must differ",
        ),
        (lambda: control.clearance(ONE, Plane(normal=(0, 0, 0))), "normal has length zero"),
        (lambda: control.clearance(ONE, 3.0), "between a Sphere, Capsule, Plane, or the name of a geom"),
    ],
)
def test_bad_shapes_are_named(system: sr.System, build: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        quantity(system, build())


def two_arms() -> sr.System:
    """Two pendulums of one link beside each other, about y, one above the other, with motors and no gravity."""
    mechanism = sr.Mechanism("arms", gravity=(0, 0, 0))
    for name, x in (("left", -0.4), ("right", 0.4)):
        for k, axis in enumerate(((0, 0, 1), (0, 1, 0))):
            parent = "world" if k == 0 else f"{name}0"
            mechanism.add_body(f"{name}{k}", 1.0, com=(0, 0, 0.3 * k), inertia=(0.05, 0.05, 0.01))
            place = (x, 0, 0) if k == 0 else (0, 0, 0)
            mechanism.add_joint(f"{name}{k}", "revolute", parent, f"{name}{k}", axis=axis, parent_pose=place)
            mechanism.add_actuator(f"{name}{k}", f"{name}{k}")
    return sr.System(mechanism)


def test_two_capsules_never_touch() -> None:
    """Each arm is sent through where the other is; they come to rest at the clearance, or pass each other by."""
    system = two_arms()
    rods = [Capsule(f"{name}1", (0, 0, 0.1), (0, 0, 0.7), 0.05) for name in ("left", "right")]
    apart = control.clearance(*rods)
    keep = control.Bound(apart, lower=0.02, rate=20.0, deceleration=5.0, name="apart")
    names = ["left0", "left1", "right0", "right1"]
    lowest = []
    for goal, start in (
        ([0.0, 1.2, 0.0, -1.2], [0.0, 0.0, 0.0, 0.0]),
        ([0.1, 1.2, 0.05, -0.9], [-0.3, 0.2, 0.4, -0.1]),
    ):
        go = control.Task(names, goal, 25.0, 10.0, name="go")
        law = control.TaskHierarchy(system, [keep, go])
        free = sr.simulate(system, start, duration=3.0, control=control.TaskHierarchy(system, [go]))
        assert values(system, apart, free.q).min() < -0.05  # they would go through each other
        run = sr.simulate(system, start, duration=3.0, control=law, sample_time=1e-3)
        lowest.append(values(system, apart, run.q).min())
        assert np.abs(run.v[-1]).max() < 0.05
    assert min(lowest) > 0.02 - 1e-6
    assert min(lowest) < 0.03
