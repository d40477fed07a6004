"""Mechanisms with more rows than rank, at closed configurations, and how many rows are too many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import sarrus as sr
from conftest import load_example
from mechanisms import rotation_about, three_legs
from sarrus.base.arrays import Array
from test_redundancy import closed, four_bar

INERTIA = (0.02, 0.03, 0.04)
Case = tuple[sr.Mechanism, Array | None]


class Plane:
    """Bodies joined at points of a tilted plane; all coordinates are zero as it is drawn."""

    def __init__(self, name: str, tilt: Array | None = None) -> None:
        self.mechanism = sr.Mechanism(name)
        self.turn = np.eye(3) if tilt is None else tilt
        self.normal = self.turn @ np.array([0.0, 0.0, 1.0])
        self.origins = {"world": np.zeros(3)}

    def at(self, x: float, y: float) -> Array:
        return self.turn @ np.array([x, y, 0.0])

    def bar(
        self, name: str, parent: str, start: tuple[float, float], joint: str = "revolute", **more
    ) -> None:
        """Add a body whose frame is at the start, parallel to the world."""
        place = self.at(*start)
        self.mechanism.add_body(name, 1.0, com=self.at(0.2, 0.1), inertia=INERTIA)
        more = {"axis": self.normal} | more
        self.mechanism.add_joint(name, joint, parent, name, parent_pose=place - self.origins[parent], **more)
        self.origins[name] = place

    def close(self, name: str, kind: str, one: str, other: str, point: tuple[float, float], **more) -> None:
        place = self.at(*point)
        more = {"axis": self.normal} | more
        self.mechanism.add_closure(
            name, kind, one, other, pose1=place - self.origins[one], pose2=place - self.origins[other], **more
        )


def parallelogram(kind: str, cranks: int = 2) -> Case:
    plane = Plane(f"{cranks} cranks, {kind}")
    for k in range(cranks):
        plane.bar(f"crank{k}", "world", (0.7 * k, 0.0))
    plane.bar("coupler", "crank0", (0.3, 0.9))
    for k in range(1, cranks):
        plane.close(f"pin{k}", kind, "coupler", f"crank{k}", (0.7 * k + 0.3, 0.9))
    return plane.mechanism, None


def scott_russell() -> Case:
    """Two of them about one centre: both rod ends are on the same line anyway, so that joining them adds one row."""
    plane = Plane("double Scott-Russell")
    angle = 0.6
    c, s = np.cos(angle), np.sin(angle)
    for name, side in (("left", -1.0), ("right", 1.0)):
        plane.bar(f"{name}_crank", "world", (0.0, 0.0))
        plane.bar(f"{name}_rod", f"{name}_crank", (side * c, s))
        plane.bar(f"{name}_slide", "world", (side * 2 * c, 0.0), "prismatic", axis=(1, 0, 0))
        plane.close(f"{name}_foot", "revolute", f"{name}_rod", f"{name}_slide", (side * 2 * c, 0.0))
    plane.close("top", "revolute", "left_rod", "right_rod", (0.0, 2 * s))
    return plane.mechanism, None


def sarrus_linkage() -> Case:
    """Two plates joined by two hinged pairs of leaves at right angles: the upper one rises straight."""
    mechanism = sr.Mechanism("Sarrus", gravity=(0.0, 0.0, 0.0))
    h = 0.4
    for leg, (out, axis) in {"a": ((1.0, 0, 0), (0, 1, 0)), "b": ((0, 1.0, 0), (1, 0, 0))}.items():
        out = np.array(out)
        for name, parent, at in (("lower", "world", out), ("upper", f"{leg}_lower", 0.5 * out + (0, 0, h))):
            mechanism.add_body(f"{leg}_{name}", 1.0, com=(0, 0, 0.2), inertia=INERTIA)
            mechanism.add_joint(
                f"{leg}_{name}", "revolute", parent, f"{leg}_{name}", axis=axis, parent_pose=at
            )
    mechanism.add_body("plate", 2.0, inertia=INERTIA)
    mechanism.add_joint("plate", "revolute", "a_upper", "plate", axis=(0, 1, 0), parent_pose=(-0.5, 0, h))
    mechanism.add_closure(
        "hinge", "revolute", "b_upper", "plate", axis=(1, 0, 0), pose1=(0, -0.5, h), pose2=(-1, 1, 0)
    )
    return mechanism, None


def door() -> Case:
    mechanism = sr.Mechanism("door")
    mechanism.add_body("leaf", 8.0, com=(0.4, 0, 1.0), inertia=(1.0, 1.5, 0.6))
    mechanism.add_joint("upper", "revolute", "world", "leaf", child_pose=(0, 0, 1.8), parent_pose=(0, 0, 1.8))
    mechanism.add_closure("lower", "revolute", "world", "leaf", pose1=(0, 0, 0.2), pose2=(0, 0, 0.2))
    return mechanism, None


def loose_door() -> Case:
    mechanism = sr.Mechanism("loose door")
    mechanism.add_body("leaf", 8.0, com=(0.4, 0, 1.0), inertia=(1.0, 1.5, 0.6))
    mechanism.add_joint("leaf", "free", "world", "leaf")
    for name, z in (("lower", 0.2), ("upper", 1.8)):
        mechanism.add_closure(name, "revolute", "world", "leaf", pose1=(0, 0, z), pose2=(0, 0, z))
    return mechanism, None


def stacked(kind: str, storeys: int = 3) -> Case:
    """Parallelograms one on another, each with the coupler of the last as its ground."""
    plane = Plane(f"{storeys} stacked four-bars, {kind}")
    ground, x, y = "world", 0.0, 0.0
    for k in range(storeys):
        lean = 0.3 - 0.15 * k
        for side in (0, 1):
            plane.bar(f"post{k}{side}", ground, (x + side, y))
        plane.bar(f"floor{k}", f"post{k}0", (x + lean, y + 1.0))
        plane.close(f"pin{k}", kind, f"floor{k}", f"post{k}1", (x + 1 + lean, y + 1.0))
        ground, x, y = f"floor{k}", x + lean, y + 1.0
    return plane.mechanism, None


def hung_plate(rods: int) -> Case:
    """A plate on parallel rods of one length: A has rank 3, and the fourth rod keeps it from turning all the same."""
    mechanism = sr.Mechanism(f"plate on {rods} rods")
    mechanism.add_body("plate", 2.0, com=(0.1, 0, 0.05), inertia=(0.1, 0.1, 0.2))
    mechanism.add_joint("plate", "free", "world", "plate", parent_pose=(0.3, 0.1, -0.9))
    length = float(np.linalg.norm((0.3, 0.1, -0.9)))
    for k in range(rods):
        point = np.array([np.cos(2.1 * k), np.sin(2.1 * k), 0.0])
        mechanism.add_closure(
            f"rod{k}", "distance", "world", "plate", pose1=point, pose2=point, length=length
        )
    return mechanism, None


def doubled_rods() -> Case:
    """A platform on five rods, two of which there are twice."""
    mechanism = sr.Mechanism("doubled rods")
    mechanism.add_body("plate", 2.0, inertia=(0.1, 0.1, 0.2))
    mechanism.add_joint("plate", "free", "world", "plate", parent_pose=(0, 0, 1.2))
    rng = np.random.default_rng(3)
    for k in range(5):
        low, high = (np.append(rng.uniform(-1, 1, 2), 0.0) for _ in range(2))
        length = float(np.linalg.norm(high + np.array([0, 0, 1.2]) - low))
        for twin in ("", "_twin")[: 1 + (k in (1, 3))]:
            mechanism.add_closure(
                f"rod{k}{twin}", "distance", "world", "plate", pose1=low, pose2=high, length=length
            )
    return mechanism, None


def cardan() -> Case:
    """A shaft between two bearings that both hold it along and across."""
    mechanism = sr.Mechanism("shaft in three bearings")
    mechanism.add_body("shaft", 3.0, inertia=(0.01, 0.3, 0.3), com=(0.5, 0.01, 0))
    mechanism.add_joint("first", "cylindrical", "world", "shaft", axis=(1, 0, 0))
    mechanism.add_closure(
        "second", "revolute", "world", "shaft", axis=(1, 0, 0), pose1=(1, 0, 0), pose2=(1, 0, 0)
    )
    mechanism.add_closure(
        "third", "cylindrical", "world", "shaft", axis=(1, 0, 0), pose1=(2, 0, 0), pose2=(2, 0, 0)
    )
    return mechanism, None


def slide_on_two_rails() -> Case:
    mechanism = sr.Mechanism("carriage on two rails")
    mechanism.add_body("carriage", 2.0, inertia=INERTIA)
    mechanism.add_joint("rail", "prismatic", "world", "carriage", axis=(1, 1, 0))
    mechanism.add_body("block", 0.2, inertia=INERTIA)
    mechanism.add_joint("rail2", "prismatic", "world", "block", axis=(1, 1, 0), parent_pose=(1, -1, 0))
    mechanism.add_closure("bolt", "weld", "carriage", "block", pose1=(1, -1, 0))
    return mechanism, None


def planar(seed: int) -> Case:
    """A five-bar or four-bar in a tilted plane with dyads between random links, closed by random kinds in space."""
    rng = np.random.default_rng(100 + seed)
    plane = Plane(f"planar {seed}", rotation_about(rng.standard_normal(3), rng.uniform(0.5, 2.5)))
    kinds = ("point", "revolute", "revolute", "point")

    def somewhere() -> tuple[float, float]:
        return tuple(rng.uniform(-1, 1, 2))  # type: ignore[return-value]

    links = ["world", "first"]
    plane.bar("first", "world", somewhere())
    if seed % 2:
        plane.bar("second", "world", somewhere())
        links.append("second")
    for k in range(1 + seed % 3):
        one, other = rng.choice(len(links), 2, replace=False)
        plane.bar(f"one{k}", links[one], somewhere())
        plane.bar(f"other{k}", links[other], somewhere())
        plane.close(f"loop{k}", kinds[int(rng.integers(len(kinds)))], f"one{k}", f"other{k}", somewhere())
        links += [f"one{k}", f"other{k}"]
    return plane.mechanism, None


def bennett(kind: str) -> Case:
    module = load_example("bennett")
    mechanism = module.build(kind)
    return mechanism, module.closed(1.0, 4 if kind == "weld" else 3)


def spatial_four_bar(kind: str) -> Case:
    mechanism = four_bar(kind)
    return mechanism, closed(sr.System(mechanism))


# Name: how it is built, how many rows can go, and whether closures or joints of other kinds do it.
CASES: dict[str, tuple[Callable[[], Case], int, bool]] = {
    "four-bar, point": (lambda: spatial_four_bar("point"), 1, True),
    "four-bar, revolute": (lambda: spatial_four_bar("revolute"), 3, True),
    "four-bar, weld": (lambda: spatial_four_bar("weld"), 3, True),
    "parallelogram, revolute": (lambda: parallelogram("revolute"), 3, True),
    "parallelogram, point": (lambda: parallelogram("point"), 1, True),
    "three cranks, revolute": (lambda: parallelogram("revolute", 3), 7, True),
    "four cranks, revolute": (lambda: parallelogram("revolute", 4), 11, True),
    "three legs": (lambda: (three_legs(), np.full(4, 0.3) * (1, -1, 1, 1)), 3, True),
    "Bennett, revolute": (lambda: bennett("revolute"), 3, True),
    "Bennett, weld": (lambda: bennett("weld"), 3, True),
    "Bricard": (lambda: (load_example("bricard").build(), None), 1, True),
    "Bricard, free bodies": (lambda: (load_example("bricard").build(free=True), None), 1, True),
    "Sarrus": (sarrus_linkage, 1, True),
    "double Scott-Russell": (scott_russell, 10, True),
    "door": (door, 5, True),
    "loose door": (loose_door, 5, True),
    "stacked, revolute": (lambda: stacked("revolute"), 9, True),
    "stacked, point": (lambda: stacked("point", 4), 4, True),
    "doubled rods": (doubled_rods, 2, True),
    "shaft in three bearings": (cardan, 8, True),
    "carriage on two rails": (slide_on_two_rails, 5, True),
    **{f"planar {seed}": ((lambda seed=seed: planar(seed)), -1, True) for seed in range(10)},
}  # fmt: skip


def without_rows(system: sr.System, names: tuple[str, ...]) -> sr.System:
    """Return a system of the same equations without some rows of constraints."""
    e = system.equations
    kept = [k for k, name in enumerate(e.constraint_names) if name not in names]
    holonomic = [k for k in kept if k < e.nh]
    if not kept:
        return system
    return sr.System.from_symbolic(
        replace(
            e,
            position_residual=e.position_residual[holonomic],
            velocity_residual=e.velocity_residual[kept],
            jacobian=e.jacobian[kept, :],
            constraint_bias=e.constraint_bias[kept],
            constraint_names=tuple(e.constraint_names[k] for k in kept),
            tree=None,
        )
    )
