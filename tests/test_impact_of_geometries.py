"""`sarrus.impact` between boxes, cylinders and meshes: closed forms, contacts of points, and steps of time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import sarrus as sr
from geometry_scenes import add_free, cube, scene
from sarrus.base.errors import ArgumentError

HALF = np.array([0.1, 0.2, 0.15])
CORNERS = HALF * np.array(list(product((1, -1), repeat=3)))


def turned(rng: np.random.Generator) -> np.ndarray:
    """Return a random unit quaternion."""
    found = rng.normal(size=4)
    return found / np.linalg.norm(found)


def boxes(kind: str, law: str, friction: float, bounce: float, *, base: bool) -> tuple[sr.System, sr.System]:
    """Return a box (or its hull) above a plate or the ground, and the same bodies with points as corners."""
    made = []
    for points in (False, True):
        mechanism = scene("box", floor=not base)
        if base:
            add_free(mechanism, "plate", "box", (5.0, 5.0, 0.1), (0.0, 0.0, -0.1), mass=3.0)
        more = {"points": CORNERS} if kind == "mesh" else {}
        add_free(mechanism, "body", kind, () if more else tuple(HALF), mass=2.0, **more)
        if points:
            for k, corner in enumerate(CORNERS):
                mechanism.add_contact(
                    f"c{k}", "body", corner, ground="plate" if base else "world",
                    offset=0.1 if base else 0.0, friction="coulomb",
                    friction_coefficient=friction, restitution=bounce, impact_law=law,
                )  # fmt: skip
        else:
            mechanism.add_geometry_contacts(
                friction_coefficient=friction, restitution=bounce, impact_law=law, closed_form=False
            )
        made.append(sr.System(mechanism))
    return made[0], made[1]


@pytest.mark.parametrize(
    ("kind", "law", "friction", "base"),
    [
        ("box", "newton", 0.0, False), ("box", "poisson", 0.4, False), ("box", "newton", 0.4, True),
        ("box", "poisson", 0.4, True), ("mesh", "newton", 0.2, False), ("mesh", "poisson", 0.2, True),
    ],
)  # fmt: skip
def test_a_corner_hits_as_a_point_does(kind: str, law: str, friction: float, base: bool) -> None:
    """Both laws, on the ground and on a plate that is thrown as well; corners of hulls have seven digits."""
    system, points = boxes(kind, law, friction, 0.6, base=base)
    rng = np.random.default_rng(4)
    for _ in range(4):
        q, v = system.neutral(), rng.normal(size=system.nv)
        q[-4:] = turned(rng)
        rotation = system.body_placements(q)[1][-1]
        q[-5] = -(CORNERS @ rotation[2]).min() + (0.1 if base else 0.0)
        v[-4] = -3.0
        if base:
            q[2] = 0.0
            v[3:6] = 0.0
        found, truth = (sr.impact(one, q, v) for one in (system, points))
        assert found.v == pytest.approx(truth.v, abs=1e-10 if kind == "box" else 1e-5)
        assert found.energy_loss == pytest.approx(truth.energy_loss, rel=1e-10 if kind == "box" else 1e-5)
        lost = system.kinetic_energy(q, v) - system.kinetic_energy(q, found.v)
        assert found.energy_loss == pytest.approx(lost, rel=1e-10)
        assert len(found.contacts.hitting) == 1


@pytest.mark.parametrize("kind", ["box", "cylinder", "mesh"])
def test_what_falls_flat_rebounds_without_a_turn(kind: str) -> None:
    """v_n = −e v, and ½ m v² (1 − e²) is lost; how corners share the impulse is not determined."""
    mechanism = scene("flat")
    more = {"points": cube(0.1)} if kind == "mesh" else {}
    add_free(mechanism, "body", kind, {"box": (0.1,) * 3, "cylinder": (0.1, 0.1)}.get(kind, ()), **more)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, restitution=0.5, closed_form=False)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 0.1
    found = sr.impact(system, q, [0, 0, -2.0, 0, 0, 0])
    assert found.v == pytest.approx([0, 0, 1.0, 0, 0, 0], abs=1e-9 if kind != "mesh" else 1e-6)
    assert found.energy_loss == pytest.approx(0.5 * 4.0 * 0.75, rel=1e-7)
    assert len(found.contacts.hitting) == (12 if kind == "cylinder" else 4)
    assert not found.contacts.determined[::3].any()
    again = sr.impact(system, q, [0, 0, -2.0, 0, 0, 0], restitution={"floor-body": 0.0})
    assert again.v == pytest.approx(np.zeros(6), abs=1e-9)
    assert found.contacts.force[2] == pytest.approx(3.0, rel=1e-9)


def test_it_is_the_impact_of_a_short_step_of_time() -> None:
    """Two boxes that hit each other edge on edge, one of which lies on the ground, and a cylinder on its rim."""
    mechanism = scene("heap")
    add_free(mechanism, "low", "box", (0.2, 0.1, 0.1), (0.0, 0.0, 0.1), mass=3.0)
    add_free(mechanism, "high", "box", (0.05, 0.3, 0.05))
    add_free(mechanism, "coin", "cylinder", (0.1, 0.02))
    mechanism.add_geometry_contacts(friction_coefficient=0.3)
    system = sr.System(mechanism)
    q, half = system.neutral(), np.pi / 8
    q[7:14] = 0.0, 0.0, 0.2 + 0.05 * np.sqrt(2.0), np.cos(half), 0.0, np.sin(half), 0.0
    q[14:21] = 2.0, 0.0, 0.1 * np.sin(1.2) + 0.02 * np.cos(1.2), np.cos(0.6), np.sin(0.6), 0.0, 0.0
    rng = np.random.default_rng(8)
    v = 0.2 * rng.normal(size=18)
    v[:6] = 0.0
    v[8], v[14] = -1.0, -1.0
    found = sr.impact(system, q, v)
    assert {name.rpartition(".")[0] for name in found.contacts.hitting} == {"low-high", "floor-coin"}
    step = sr.simulate(system, q, v, duration=1e-8, dt=1e-8, method="moreau-jean", error_estimate=False)
    assert step.v[-1] == pytest.approx(found.v, abs=1e-6)


def test_what_does_not_touch_is_named() -> None:
    system, _ = boxes("box", "newton", 0.3, 0.0, base=False)
    q, v = system.neutral(), np.array([0, 0, -1.0, 0, 0, 0])
    q[2] = 1.0
    assert sr.impact(system, q, v).v == pytest.approx(v)
    with pytest.raises(ArgumentError, match=r"the geometries of 'floor-body' do not touch at q"):
        sr.impact(system, q, v, closing=["floor-body"])
    q[2] = 0.1
    with pytest.raises(ArgumentError, match=r"geometries 'floor-body.1' are 0.05 m in each other"):
        sr.impact(system, q, v)
