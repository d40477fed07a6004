"""Reactions in the viewer: what the arrows stand for, how they look, and the panel that chooses them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import sarrus as sr
from conftest import load_example
from mechanisms import random_tree
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.pictures.browser.render import Renderer
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.force_arrows import (
    Scale,
    arrow_meshes,
    couple_arrows,
    dashes,
    force_arrows,
    label_places,
    turning_arrow,
)
from sarrus.pictures.scene.load_drawing import Wanted
from sarrus.pictures.scene.loads import (
    ALL,
    CLOSURES,
    HELD,
    LET_GO,
    SIDES,
    Loads,
    RunLoads,
    at_rest,
    chosen,
    loads_of,
)
from sarrus.pictures.scene.subjects import subjects
from sarrus.pictures.symbols.style import COUPLE
from sarrus.runs.cli.main import main

FIVE_BAR = Path(__file__).resolve().parent.parent / "models" / "five_bar.xml"
WEIGHT = 20.0 * 9.81


def door() -> sr.Mechanism:
    """A door of 20 kg, 0.9 m wide, on two hinges 1.6 m apart, one a joint and the other a closure."""
    mechanism = sr.Mechanism("door")
    mechanism.add_body("door", 20.0, (0.45, 0, 0), (4.5, 6.0, 1.7))
    mechanism.add_joint("lower", "revolute", "world", "door", child_pose=(0, 0, -0.8))
    mechanism.add_closure("upper", "revolute", "world", "door", pose1=(0, 0, 1.6), pose2=(0, 0, 0.8))
    return mechanism


@pytest.fixture(scope="module")
def run() -> sr.Trajectory:
    mechanism = sr.load(FIVE_BAR)
    return sr.simulate(sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=0.4, dt=1e-3)


def unbalanced(loads: Loads, other: Loads, system: sr.System, q: np.ndarray) -> float:
    """The largest force or moment left on a body by its weight and the arrows on it, from both sides."""
    assert system.mechanism is not None
    mechanism, worst = system.mechanism, 0.0
    positions, rotations = system.body_placements(q)
    for number, (name, body) in enumerate(mechanism.bodies.items()):
        com = positions[number] + rotations[number] @ body.com
        force, moment = body.mass * mechanism.gravity, np.zeros(3)
        for part in (loads, other):
            for k in np.flatnonzero([on == name for on in part.on]):
                force = force + part.forces[k]
                moment = moment + part.whole_couples[k] + np.cross(part.points[k] - com, part.forces[k])
        worst = max(worst, np.abs(force).max(), np.abs(moment).max())
    return worst


# --- what they are ---------------------------------------------------------------------------------


def test_hinges_of_a_door_carry_its_weight_in_a_way_that_nothing_determines() -> None:
    system = sr.System(door())
    rest = at_rest(system, system.neutral())
    assert (rest.how, rest.note) == (LET_GO, "")  # it has no actuators
    loads = loads_of(rest.found)
    assert loads.names == ("lower", "upper")
    assert_allclose(loads.forces.sum(axis=0), [0, 0, WEIGHT], atol=1e-9)
    assert unbalanced(loads, loads_of(rest.found, side=SIDES[1]), system, system.neutral()) < 1e-9
    assert np.abs(loads.undetermined[:, 2]).min() > 50.0
    assert all("~" in force for _, force, _ in loads.described())
    one = sr.Mechanism("one hinge")  # the same without the upper hinge
    one.add_body("door", 20.0, (0.45, 0, 0), (4.5, 6.0, 1.7))
    one.add_joint("lower", "revolute", "world", "door", child_pose=(0, 0, -0.8))
    alone = loads_of(at_rest(sr.System(one), np.zeros(1)).found)
    assert_allclose(alone.determined, [[0, 0, WEIGHT]], atol=1e-9)
    assert_allclose(alone.couples, [[0, -0.45 * WEIGHT, 0]], atol=1e-9)
    assert np.abs(alone.undetermined).max() == np.abs(alone.undetermined_couples).max() == 0.0
    assert alone.described() == [("lower", "196.2 N", "88.29 N m")]


def test_actuators_hold_the_five_bar_and_joints_show_their_moments() -> None:
    mechanism = sr.load(FIVE_BAR)
    system, q = sr.System(mechanism), mechanism.keyframes["symmetric"].q
    rest = at_rest(system, q)
    assert rest.how == HELD
    assert np.abs(rest.found.a).max() < 1e-9
    loads, other = loads_of(rest.found), loads_of(rest.found, side=SIDES[1])
    assert unbalanced(loads, other, system, q) < 1e-8
    needed = system.inverse_dynamics(q, np.zeros(4), np.zeros(4)).u
    axis = system.body_placements(q)[1][0][:, 1]
    motors = [loads.whole_couples[loads.names.index(name)] @ axis for name in ("left", "right")]
    assert_allclose(np.abs(motors), np.abs(needed), rtol=1e-8)
    assert at_rest(system, q, held=False).how == LET_GO


def test_on_paper_couples_turn_around_their_joints() -> None:
    mechanism = sr.load(FIVE_BAR)
    rest = at_rest(sr.System(mechanism), mechanism.keyframes["symmetric"].q)
    figure = rest.found.draw()
    axes = figure.axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert any("left 50.8 N, 31 N m" in text for text in texts)
    turning = [line for line in axes.lines if line.get_color() == COUPLE and len(line.get_xdata()) > 3]
    assert len(turning) == 2
    middles = [0.5 * (line.get_xydata().min(axis=0) + line.get_xydata().max(axis=0)) for line in turning]
    assert_allclose(sorted(middle[0] for middle in middles), [0.0, 1.0], atol=0.1)
    senses = []  # of turning, counter-clockwise on paper, against the sign along y, which leads away from the reader
    for line in turning:
        x, y = (line.get_xydata() - line.get_xydata()[:20].mean(axis=0)).T
        senses.append(np.sign(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])))
    loads = loads_of(rest.found)
    along = [loads.whole_couples[loads.names.index(name)][1] for name in ("left", "right")]
    assert senses == [-np.sign(value) for value in along]


def test_motions_that_contradict_each_other_are_said() -> None:
    mechanism = sr.load(FIVE_BAR)
    q = mechanism.keyframes["symmetric"].q
    mechanism.add_motion("one", "left", lambda t: float(q[0]) + t**2)
    mechanism.add_motion("other", "left", lambda t: float(q[0]) - t**2)
    system = sr.System(mechanism)
    rest = at_rest(system, q, held=False)
    assert rest.found.status is sr.Status.INCONSISTENT
    loads = loads_of(rest.found)
    assert np.isfinite(loads.forces).all()
    with sr.view(system, q=q, open_browser=False, port=8498) as viewer:
        viewer.worker.do(viewer.forces.again)
        assert viewer.forces.shown is not None
        assert "INCONSISTENT" in viewer.forces.text.content


def test_what_actuators_cannot_hold_is_let_go_and_said() -> None:
    mechanism = load_example("hexapod").build()
    system = sr.System(mechanism)
    rest = at_rest(system, system.neutral())
    assert rest.how == LET_GO
    assert "cannot hold it here" in rest.note


@pytest.mark.parametrize("seed", range(3))
def test_parts_and_sides_add_up_on_random_trees(seed: int) -> None:
    plan = random_tree(seed, ("revolute", "prismatic", "spherical", "universal", "screw"), forces=True)
    system = sr.System(plan.mechanism)
    q, v = system.neutral(), np.random.default_rng(seed).standard_normal(system.nv)
    found = sr.reactions(system, q, v, frame="joint")
    full, bearing, drive = (loads_of(found, part=part) for part in ("full", "bearing", "drive"))
    assert_allclose(full.forces, bearing.forces + drive.forces, atol=1e-9)
    assert_allclose(full.whole_couples, bearing.whole_couples + drive.whole_couples, atol=1e-9)
    world = sr.reactions(system, q, v)
    kept = [world.names.index(name) for name in full.names]
    assert_allclose(full.forces, world.force[kept], atol=1e-9)
    assert_allclose(full.whole_couples, world.couple[kept], atol=1e-9)
    opposite = loads_of(found, side=SIDES[1])
    assert_allclose(opposite.forces, -full.forces)
    assert opposite.on == tuple(world[name].on for name in full.names)


def test_closures_that_contradict_each_other_have_arrows_that_balance() -> None:
    mechanism = door()
    mechanism.add_closure("shifted", "revolute", "world", "door", pose1=(0.05, 0, 1.7), pose2=(0, 0, 0.9))
    system = sr.System(mechanism)
    rest = at_rest(system, system.neutral())
    loads, other = loads_of(rest.found), loads_of(rest.found, side=SIDES[1])
    assert np.isfinite(loads.forces).all()
    assert unbalanced(loads, other, system, system.neutral()) < 1e-6


def test_loads_of_a_run_are_those_of_reactions_along(run: sr.Trajectory) -> None:
    assert run.system is not None
    drawing = Drawing(run.system, run.q)
    every, along = RunLoads(drawing, run), sr.reactions_along(run)
    for k in (0, 137, -1):
        loads = every.at(k)
        assert loads.names == along.names
        assert_allclose(loads.forces, along.force[k], atol=1e-9)
        assert_allclose(loads.whole_couples, along.couple[k], atol=1e-9)
        assert_allclose(loads.points, along.points[k], atol=1e-12)
    peaks = {peak.name: peak.force for peak in every.maxima()}
    assert peaks["tips"] == pytest.approx(along.maxima()["tips"].force, rel=1e-12)


def test_arrows_stay_on_their_bodies_between_samples(run: sr.Trajectory) -> None:
    assert run.system is not None
    drawing = Drawing(run.system, run.q)
    q = run.at(0.20037)
    loads = RunLoads(drawing, run).at(200, q)
    positions, rotations = run.system.body_placements(q)
    for name, number in (("left_elbow", 1), ("right", 2), ("right_elbow", 3)):
        joint = next(j for j in run.system.mechanism.joints() if j.name == name)  # type: ignore[union-attr]
        place = positions[number] + rotations[number] @ joint.anchor
        assert_allclose(loads.points[loads.names.index(name)], place, atol=1e-12)


def test_names_are_chosen_and_unknown_ones_are_an_error() -> None:
    system = sr.System(sr.load(FIVE_BAR))
    assert chosen(system, True) == chosen(system, CLOSURES) == {"tips"}
    assert chosen(system, ALL) == {"left", "left_elbow", "right", "right_elbow", "tips"}
    assert chosen(system, "left") == {"left"}
    assert chosen(system, False) == frozenset()
    with pytest.raises(ArgumentError, match=r"'elbow'.*left_elbow"):
        chosen(system, ["elbow"])
    with pytest.raises(ArgumentError, match="child, body 2"):
        Wanted.of(system, True, False, "both")


# --- how they look ---------------------------------------------------------------------------------


def one_load(force: tuple, couple: tuple, *, sure: bool = True) -> Loads:
    zero, at = np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0]])
    parts = (np.array([force], dtype=float), zero), (np.array([couple], dtype=float), zero)
    known = [pair if sure else pair[::-1] for pair in parts]
    return Loads(("hinge",), ("arm",), at, *known[0], *known[1])


@pytest.mark.parametrize("seed", range(4))
def test_an_arrow_turns_about_its_couple_as_the_right_hand_does(seed: int) -> None:
    couple = np.random.default_rng(seed).standard_normal(3)
    size = np.linalg.norm(couple)
    ((_, _, (arrow,)), (_, _, none)) = couple_arrows(one_load((0, 0, 0), tuple(couple)), Scale(1.0, 0.1), 0.0)
    assert none == []
    assert arrow.radius == pytest.approx(0.1 * size)
    seen = arrow.mesh.vertices - arrow.point
    assert np.abs(seen @ couple / size).max() < 0.25 * arrow.radius  # flat, across the couple
    model = turning_arrow()
    way = arrow.rotation.T @ couple / size
    assert_allclose(way, [0, 0, 1], atol=1e-12)
    angle = np.unwrap(np.arctan2(*model.vertices[: 40 * 10 : 10, 1::-1].T))  # along the shaft
    assert np.all(np.diff(angle) > 0.0)
    tip = model.vertices[np.argmax(np.hypot(*model.vertices[:, :2].T))]
    assert np.arctan2(tip[1], tip[0]) % (2 * np.pi) > angle[-1] % (2 * np.pi)  # the head is at its end


def test_forces_and_couples_have_lengths_in_proportion_and_shares_are_dashed() -> None:
    scale = Scale(0.01, 0.02)
    sure, open_ = one_load((0, 30, 40), (0, 0, 5)), one_load((0, 30, 40), (0, 0, 5), sure=False)
    for loads, place in ((sure, 0), (open_, 1)):
        (_, shade, ends), (_, _, turning) = (
            [*force_arrows(loads, scale)][place],
            [*couple_arrows(loads, scale, 0.0)][place],
        )
        assert_allclose(ends, [[(1, 2, 3), (1, 2.3, 3.4)]])
        assert turning[0].radius == pytest.approx(0.1)
        red, green, _ = shade
        assert (green > 2 * red) == (loads is sure)
    pieces = dashes(np.array([[(0.0, 0, 0), (1.0, 0, 0)]]), 0.02)
    lengths = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1)
    assert 5 < len(pieces) < 12
    assert lengths[:-1] == pytest.approx(0.08)
    assert pieces[-1, 1, 0] <= 0.94 + 1e-12
    meshes = {shade: mesh for mesh, shade in arrow_meshes(open_, scale, 0.01)}
    assert len(meshes) == 1
    assert label_places(sure, scale)[0][0] == "hinge: 50 N, 5 N m"
    assert label_places(open_, scale)[0][0] == "hinge: ~50 N, ~5 N m"
    assert label_places(one_load((12345.0, 0, 0), (0, 0, 0)), scale)[0][0] == "hinge: 12.35 kN"


def test_loads_of_rounding_have_no_arrow() -> None:
    loads = one_load((1e3, 0, 0), (0, 0, 1e-9))
    assert all(not turning for _, _, turning in couple_arrows(loads, Scale(1.0, 1e9), 0.0))
    assert loads.described() == [("hinge", "1000 N", "0 N m")]


def test_a_picture_of_a_model_has_its_arrows_at_their_pixels() -> None:
    mechanism = sr.load(FIVE_BAR)
    system, q = sr.System(mechanism), mechanism.keyframes["symmetric"].q
    wanted = Wanted.of(system, ALL, numbers=False, side=SIDES[0])
    renderer = Renderer(subjects((system,), None, q), (1200, 800), wanted)
    picture = renderer.picture(0.0).astype(int)
    loads = renderer.loads.at(0.0)
    assert loads is not None
    k = loads.names.index("left")
    along = loads.points[k] + 0.6 * renderer.loads.scale.force * loads.forces[k]
    x, y = np.rint(renderer.camera.pixels(along, 1200, 800)[:2]).astype(int)
    red, green, blue = picture[y - 1 : y + 2, x - 1 : x + 2].reshape(-1, 3).mean(axis=0)
    assert green > 1.3 * max(red, blue)
    tips = loads.points + renderer.loads.scale.force * loads.forces
    for x, y, _ in renderer.camera.pixels(tips, 1200, 800):
        assert 0 <= x < 1200
        assert 0 <= y < 800
    purple = (picture[..., 0] > picture[..., 1] + 40) & (picture[..., 2] > picture[..., 1] + 40)
    assert purple.sum() > 200
    bare = Renderer(subjects((system,), None, q), (1200, 800)).picture(0.0).astype(int)
    assert not ((bare[..., 0] > bare[..., 1] + 40) & (bare[..., 2] > bare[..., 1] + 40)).any()


def test_files_have_the_loads_that_the_command_names(run: sr.Trajectory, tmp_path: Path) -> None:
    file = str(run.save(tmp_path / "run.nc"))
    pictures = []
    for number, more in enumerate(([], ["--reactions", "left"], ["--reactions", "all", "--numbers"])):
        path = tmp_path / f"{number}.png"
        assert main(["view", file, "--png", str(path), "--time", "0.3", *more]) == 0
        pictures.append(np.asarray(Image.open(path).convert("RGB")).astype(int))
    green = [int((p[..., 1] > 1.3 * np.maximum(p[..., 0], p[..., 2])).sum()) for p in pictures]
    assert green[0] == 0 < green[1] < green[2]
    with pytest.raises(ArgumentError, match="'elbow'"):
        sr.render(run, tmp_path / "x.png", forces=["elbow"])
    page = sr.render(run, tmp_path / "run.html", forces="all", numbers=True, fps=5.0)
    assert page.stat().st_size < 1.4e6


# --- the panel -------------------------------------------------------------------------------------


def test_switches_choose_what_is_shown_and_on_which_body() -> None:
    with sr.view(sr.load(FIVE_BAR), open_browser=False, port=8480) as viewer:
        panel = viewer.forces

        def again() -> Loads:
            viewer.worker.do(panel.again)
            assert panel.shown is not None
            return panel.shown

        first = again()
        assert first.names == ("tips",)
        assert first.on == ("link3",)
        panel.side.value = SIDES[1]
        assert again().on == ("link2",)
        assert_allclose(panel.shown.forces, -first.forces)  # type: ignore[union-attr]
        viewer.worker.do(lambda: panel.tick(True))
        assert set(again().names) == {"left", "left_elbow", "right", "right_elbow", "tips"}
        assert sum(node.visible for node in panel.arrows.turning["determined"]) == 2
        assert [label.visible for label in panel.arrows.labels].count(True) == 5
        assert "left_elbow" in panel.table.content
        panel.part.value = "bearing"
        assert np.abs(again().whole_couples).max() < 1e-8  # a planar mechanism: motors alone make moments
        viewer.worker.do(lambda: panel.tick(False))
        assert again().names == ()
        assert not any(node.visible for node in panel.arrows.straight.values())
        panel.wanted.value = False
        viewer.worker.do(panel.again)
        assert panel.shown is None
        assert panel.table.content == ""


def test_a_run_shows_loads_as_it_plays_and_its_largest(run: sr.Trajectory) -> None:
    along = sr.reactions_along(run)
    with sr.view(run, open_browser=False, port=8490) as viewer:
        panel = viewer.forces
        viewer.worker.do(lambda: panel.tick(True))
        for time in (0.1, 0.3):
            viewer.show_time(time)
            assert panel.shown is not None
            k = round(1e3 * time)
            assert_allclose(panel.shown.forces, along.force[k], atol=1e-9)
            ends = panel.arrows.straight["/forces/determined"].points
            assert_allclose(ends[:, 0], along.points[k], atol=1e-5)
        for peak in along.maxima():
            assert peak.name in panel.largest.content
            assert f"{peak.force:.4g}" in panel.largest.content
        viewer.worker.do(lambda: viewer.timeline.set_playing(True))
        viewer.worker.do(lambda: viewer.timeline.tick(0.05))
        assert panel.shown is not None


def test_what_has_no_reactions_is_said_and_not_drawn() -> None:
    """A body without mass that nothing holds has no acceleration, and so nothing goes through its joint."""
    mechanism = sr.Mechanism("massless")
    mechanism.add_body("arm")
    mechanism.add_joint("hinge", "revolute", "world", "arm")
    system = sr.System(mechanism)
    with pytest.raises(SolveError, match="no reactions here: ILL_POSED"):
        at_rest(system, np.zeros(1))
    with sr.view(system, open_browser=False, port=8495) as viewer:
        viewer.forces.wanted.value = True
        viewer.worker.do(viewer.forces.again)
        assert viewer.forces.shown is None
        assert viewer.forces.text.content != ""
