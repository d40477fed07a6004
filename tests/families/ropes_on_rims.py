"""Ropes that end on the sphere or cylinder that they wrap: lengths and lever arms against closed forms.

A drum turns about a hinge through its centre, with the rope fastened to its surface; the other end is fixed. In the
plane across the axis, with the fastening at the radius r, the other end at the distance D, G the angle between them and
β = acos(r / D), the rope is the chord √(r² + D² − 2 r D cos G) where G ≤ β, else √(D² − r²) + r (G − β); around a side
point the other way √(D² − r²) + r (2π − G − β). ``python tests/families/ropes_on_rims.py --cases 2000`` runs more.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

import sarrus as sr
from sarrus.model.mechanism.tendons import Wrap
from sarrus.symbolic.forces.lengths import Lengths
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.rows.closures import coordinate_jets

SIDES = ("none", "outside", "surface", "inside", "own outside", "own inside")
ANGLES = 7  # of the drum, in each case


@dataclass(frozen=True, eq=False)
class Drum:
    """One case. Vectors are in the frame of the drum at rest: its axis is z, the fastening at an angle of 0."""

    kind: str
    side: str
    radius: float
    fastening: np.ndarray
    end: np.ndarray
    side_point: np.ndarray | None
    swapped: bool  # whether the path begins at the fixed end
    place: np.ndarray
    turn: np.ndarray


def draw(rng: np.random.Generator) -> Drum:
    """Return a random drum, in any unit, the fastening off its surface by rounding or by printed digits."""
    kind, side = ("sphere", "cylinder")[rng.integers(2)], SIDES[rng.integers(len(SIDES))]
    r = float(10 ** rng.uniform(-3, 2))
    height = 0.0 if kind == "sphere" and rng.random() < 0.5 else rng.uniform(-0.6, 0.6) * r
    rim = np.sqrt(r * r - height * height) if kind == "sphere" else r
    off = 1 + rng.choice([0.0, 1e-16, 1e-12, 1e-9, 3e-7]) * rng.uniform(-1, 1)
    fastening = np.array([rim, 0, height]) * off
    angle = rng.uniform(-np.pi, np.pi)
    far = r * 10 ** rng.uniform(0.05, 1.0)
    end = np.array([far * np.cos(angle), far * np.sin(angle), rng.uniform(-1, 1) * r])
    point = None
    if side != "none":
        at = rng.uniform(-np.pi, np.pi)
        size = {"outside": rng.uniform(1.2, 4), "surface": off, "inside": rng.uniform(0.1, 0.8)}[
            side.split()[-1]
        ]
        point = r * size * np.array([np.cos(at), np.sin(at), 0.0])
    turn = sr.Pose.of(rpy=tuple(rng.uniform(-np.pi, np.pi, 3))).rotation
    place = rng.uniform(-3, 3, 3) * r
    return Drum(kind, side, r, fastening, end, point, bool(rng.integers(2)), place, turn)


def built(drum: Drum, from_file: bool) -> sr.Mechanism:
    """Return the mechanism, from the builder or from a file in MJCF with all its digits."""
    axis = drum.turn[:, 2]
    # Body axes are the world's at rest; its origin is off the axis.
    origin = drum.place + drum.turn @ np.array([0.3, -0.2, 0.1]) * drum.radius
    centre = drum.place - origin
    fastening = centre + drum.turn @ drum.fastening
    end = drum.place + drum.turn @ drum.end
    own = drum.side.startswith("own")
    side = None
    if drum.side_point is not None:
        side = ("drum", centre) if own else ("world", drum.place)
        side = (side[0], side[1] + drum.turn @ drum.side_point)
    if from_file:
        return _from_file(drum, axis, origin, centre, fastening, end, side)
    mechanism = sr.Mechanism("drum")
    mechanism.add_body("drum", 1.0, tuple(centre), (0.1, 0.1, 0.1))
    mechanism.add_joint(
        "hinge",
        "revolute",
        "world",
        "drum",
        axis=axis,
        parent_pose=tuple(drum.place),
        child_pose=tuple(centre),
    )
    pose = sr.Pose(centre, drum.turn)
    path = [("drum", fastening), Wrap("drum", drum.kind, drum.radius, pose, side), ("world", end)]
    mechanism.add_tendon("rope", path[::-1] if drum.swapped else path)
    return mechanism


def _from_file(drum, axis, origin, centre, fastening, end, side) -> sr.Mechanism:  # type: ignore[no-untyped-def]
    def text(values: np.ndarray) -> str:
        return " ".join(f"{x:.17g}" for x in values)

    sites = {"world": f'<site name="end" pos="{text(end)}"/>', "drum": ""}
    if side is not None:
        sites[side[0]] += f'<site name="side" pos="{text(side[1])}"/>'
    x, y = drum.turn[:, 0], drum.turn[:, 1]
    size = f"{drum.radius:.17g}" + (f" {drum.radius:.17g}" if drum.kind == "cylinder" else "")
    items = [
        '<site site="rim"/>',
        '<geom geom="surface"' + (' sidesite="side"' if side else "") + "/>",
        '<site site="end"/>',
    ]
    xml = f"""<mujoco><compiler angle="radian"/><worldbody>{sites["world"]}<body name="drum" pos="{text(origin)}">
      <inertial pos="{text(centre)}" mass="1" diaginertia=".1 .1 .1"/>
      <joint name="hinge" axis="{text(axis)}" pos="{text(centre)}"/>
      <geom name="surface" type="{drum.kind}" size="{size}" pos="{text(centre)}" xyaxes="{text(x)} {text(y)}"
        contype="0" conaffinity="0"/>
      <site name="rim" pos="{text(fastening)}"/>{sites["drum"]}</body></worldbody>
      <tendon><spatial name="rope">{"".join(items[::-1] if drum.swapped else items)}</spatial></tendon></mujoco>"""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drum.xml"
        file.write_text(xml)
        return sr.load(file)


def length_function(mechanism: sr.Mechanism) -> ca.Function:
    """Return (q, v) → L, ∂L/∂q of the rope."""
    system = sr.System(mechanism)
    tree, q, v = system.equations.tree, system.equations.q, system.equations.v
    assert tree is not None
    jets = coordinate_jets(system.coordinate_names, system.velocity_names, q, v)
    rope = Lengths(mechanism, tree, Frames(tree, links(tree, q, v)), jets, q, v).tendon("rope")
    return ca.Function("rope", [q, v], [rope.value, ca.jacobian(rope.rate, v), rope.bias])


def closed_form(drum: Drum, angle: float) -> tuple[float, float] | None:
    """Return length and its derivative by the angle of the drum; None beside a jump of the path."""
    r, radial = (
        drum.radius,
        drum.fastening / np.linalg.norm(drum.fastening[: 3 if drum.kind == "sphere" else 2]),
    )
    fastening = r * radial
    if drum.kind == "cylinder":
        fastening[2] = drum.fastening[2]
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    fastening = turn @ fastening
    moved = np.cross([0, 0, 1], fastening)  # by the angle
    end, side = drum.end, drum.side_point
    if side is not None and drum.side.startswith("own"):
        side = turn @ side
    straight = np.linalg.norm(end - fastening)
    chord = straight, -(end - fastening) @ moved / straight
    if drum.side.endswith("inside"):
        return chord
    a, b, advance = fastening, end, 0.0
    if drum.kind == "cylinder":
        a, b, advance = a * [1, 1, 0], b * [1, 1, 0], end[2] - fastening[2]
    D = np.linalg.norm(b)
    cosine = a @ b / (r * D)
    G, beta = np.arccos(np.clip(cosine, -1, 1)), np.arccos(r / D)
    sine = np.sin(G)
    if sine < 1e-2:
        return None
    slope = -(moved @ b) / (r * D * sine)  # of G
    other = False
    if side is not None:
        # In coordinates along a and b the ray −s side, s > 0, meets the chord where both are positive.
        first, second = a / r, (b / D - cosine * a / r) / sine
        behind = np.arctan2(-side @ second, -side @ first)
        if min(abs(behind), abs(behind - G), abs(abs(behind) - np.pi)) < 1e-3:
            return None
        other = 0 < behind < G
    free = np.sqrt(D * D - r * r)
    if other:
        flat, rate = free + r * (2 * np.pi - G - beta), -r * slope
    elif beta >= G:
        return chord
    else:
        flat, rate = free + r * (G - beta), r * slope
    total = np.hypot(flat, advance)
    return total, rate * flat / total


def errors(drum: Drum, from_file: bool, rng: np.random.Generator) -> float:
    """Return the largest error of length and lever arm over some angles, beside the radius."""
    rope, worst = length_function(built(drum, from_file)), 0.0
    for angle in rng.uniform(-np.pi, np.pi, ANGLES):
        right = closed_form(drum, float(angle))
        if right is None:
            continue
        length, arm, bias = (float(part) for part in rope([angle], [1.0]))
        assert np.isfinite(bias)
        worst = max(worst, abs(length - right[0]) / drum.radius, abs(arm - right[1]) / drum.radius)
    return worst


def run(cases: int, seed: int = 0) -> list[tuple[float, int]]:
    """Return the error of each case with its number, the worst first."""
    out = []
    for case in range(cases):
        rng = np.random.default_rng((seed, case))
        drum = draw(rng)
        out.append((errors(drum, bool(case % 2), rng), case))
    return sorted(out, reverse=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=400)
    found = run(parser.parse_args().cases)
    print(
        f"{len(found)} drums at {ANGLES} angles: {sum(e > 2e-6 for e, _ in found)} wrong; worst {found[:5]}"
    )
