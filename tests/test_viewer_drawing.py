"""What is drawn and where: meshes, parts, forces, readout, and pictures made without a display."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example as example
from sarrus.base.errors import ArgumentError
from sarrus.model.mechanism.pose import Pose
from sarrus.pictures.browser.render import Renderer
from sarrus.pictures.browser.worker_thread import WorkerThread
from sarrus.pictures.scene import meshes
from sarrus.pictures.scene.camera import frame
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.force_arrows import Scale, arrow_meshes
from sarrus.pictures.scene.loads import CLOSURES, RunLoads, at_rest, chosen, loads_of
from sarrus.pictures.scene.parts import CLOSURE, HINGE
from sarrus.pictures.scene.plots import QUANTITIES, svg
from sarrus.pictures.scene.raster import Canvas, Triangles
from sarrus.pictures.scene.readout import read
from sarrus.pictures.scene.subjects import subjects

ROOT = Path(__file__).resolve().parent.parent
FIVE_BAR = ROOT / "models" / "five_bar.xml"


@pytest.fixture(scope="module")
def five_bar() -> tuple[sr.System, np.ndarray]:
    mechanism = sr.load(FIVE_BAR)
    return sr.System(mechanism), mechanism.keyframes["symmetric"].q


@pytest.fixture(scope="module")
def run(five_bar: tuple[sr.System, np.ndarray]) -> sr.Trajectory:
    return sr.simulate(*five_bar, duration=1.0, dt=1e-3)


# --- meshes ----------------------------------------------------------------------------------------


def volume(mesh: meshes.Mesh) -> float:
    corners = mesh.vertices[mesh.faces]
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6)


@pytest.mark.parametrize(
    ("mesh", "exact", "within"),
    [
        (meshes.box([1, 2, 3]), 48.0, 1e-12),
        (meshes.ellipsoid([1, 2, 3]), 8 * np.pi, 0.03),
        (meshes.capsule(0.5, 2.0), np.pi + np.pi / 6, 0.03),
        (meshes.cylinder(1.0, 2.0), 4 * np.pi, 0.01),
        (meshes.cone(1.0, 3.0), np.pi, 0.01),
        (meshes.tube([[0, 0, 0], [0, 0, 1], [0, 0, 2]], 0.5, 40), 0.5 * np.pi, 0.01),
        (
            meshes.tube([[np.cos(a), np.sin(a), 0] for a in np.linspace(0, 4, 60)], 0.1, 40),
            0.04 * np.pi,
            0.01,
        ),
        (meshes.box([1, 1, 1]).scaled([-1, 2, 1]), 16.0, 1e-12),
        (meshes.box([1, 1, 1]).placed(Pose.of((1, 2, 3), rpy=(1, 2, 3))), 8.0, 1e-12),
    ],
)
def test_solids_are_closed_and_turned_outwards(mesh: meshes.Mesh, exact: float, within: float) -> None:
    assert volume(mesh) == pytest.approx(exact, rel=within)


def test_a_rod_joins_its_ends() -> None:
    rod = meshes.rod([1, 2, 3], [4, 6, 3], 0.1)
    ends = np.array([[1, 2, 3], [4, 6, 3.0]])
    reach = np.linalg.norm(rod.vertices[:, None] - ends, axis=2).min(axis=1)
    assert reach.max() < 5.0 / 2 + 0.1
    along = (rod.vertices - ends[0]) @ np.array([0.6, 0.8, 0.0])
    assert (along.min(), along.max()) == pytest.approx((-0.1, 5.1), abs=1e-9)


# --- parts -----------------------------------------------------------------------------------------


def test_shapes_of_the_model_are_drawn_with_joints_and_closures(
    five_bar: tuple[sr.System, np.ndarray],
) -> None:
    drawing = Drawing(*five_bar)
    roles = {
        role: [p for p in drawing.parts.solids if p.role == role] for role in ("body", "joint", "closure")
    }
    assert [len(found) for found in roles.values()] == [4, 4, 1]
    assert {part.colour for part in roles["body"]} == {(89, 128, 166)}
    assert not drawing.view.spatial
    np.testing.assert_array_equal(np.cross(drawing.view.right, drawing.view.up), [0, -1, 0])


def test_without_shapes_links_join_the_joints() -> None:
    system = sr.System(example("slider_crank").build())
    drawing = Drawing(system, np.zeros(2))
    links = [part for part in drawing.parts.solids if part.role == "body"]
    assert [part.body for part in links] == [0, 1]
    for part in links:
        low, high = part.mesh.vertices.min(axis=0), part.mesh.vertices.max(axis=0)
        assert high[0] - low[0] == pytest.approx(1.0 + 2 * drawing.parts.radius, rel=1e-6)


def test_meshes_of_files_keep_their_scale_and_missing_ones_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "corner.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    geometry = "<geometry><mesh><uri>{}</uri><scale>2 3 4</scale></mesh></geometry>"
    visuals = "".join(
        f'<visual name="{name}"><pose>1 0 0 0 0 0</pose>{geometry.format(name)}</visual>'
        for name in ("corner.obj", "lost.obj")
    )
    (tmp_path / "arm.sdf").write_text(
        f'<sdf version="1.9"><model name="arm"><link name="arm"><inertial><mass>1</mass></inertial>{visuals}</link>'
        '<joint name="hinge" type="revolute"><parent>world</parent><child>arm</child>'
        "<axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"
    )
    system = sr.System(sr.load(tmp_path / "arm.sdf"))
    with pytest.warns(UserWarning, match=r"mesh file 'lost.obj' not found"):
        drawing = Drawing(system, np.zeros(1))
    (mesh,) = (part.mesh for part in drawing.parts.solids if part.role == "body")
    np.testing.assert_allclose(mesh.vertices.min(axis=0), [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), [3, 3, 4], atol=1e-12)
    assert len(drawing.parts.notes) == 1


def test_a_mesh_inside_the_model_is_drawn_where_its_vertices_are(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(
        '<mujoco><asset><mesh name="m" vertex="0 0 0 2 0 0 0 3 0 0 0 4"/></asset><worldbody><body>'
        '<joint type="hinge"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<geom type="mesh" mesh="m" pos="1 0 0"/></body></worldbody></mujoco>'
    )
    sr.load(tmp_path / "arm.xml").to_mjcf(tmp_path / "again.xml")
    for file in ("arm.xml", "again.xml"):
        drawing = Drawing(sr.System(sr.load(tmp_path / file)), np.zeros(1))
        (mesh,) = (part.mesh for part in drawing.parts.solids if part.role == "body")
        np.testing.assert_allclose(mesh.vertices.min(axis=0), [1, 0, 0], atol=1e-6)
        np.testing.assert_allclose(mesh.vertices.max(axis=0), [3, 3, 4], atol=1e-6)


# --- forces and readout ----------------------------------------------------------------------------


def test_the_force_at_the_tips_is_the_one_that_link_3_needs(run: sr.Trajectory) -> None:
    """By virtual work: the equations of motion of links 4 and 3 alone, with the arrow as the only closure."""
    system = run.system
    assert system is not None
    drawing = Drawing(system, run.q)
    k = 300
    forces = RunLoads(drawing, run).at(k, names=chosen(system, CLOSURES))
    assert forces.names == ("tips",)
    np.testing.assert_array_equal(forces.undetermined, [[0, 0, 0]])
    positions, rotations = system.body_placements(run.q[k])
    np.testing.assert_allclose(forces.points[0], positions[3] + rotations[3] @ (1.5, 0, 0), atol=1e-12)
    jacobian = np.zeros((3, 4))
    for j in (2, 3):  # the velocity of the tip of link 3 per joint rate, by differences
        step = np.zeros(4)
        step[j] = 1e-6
        tips = []
        for side in (-1, 1):
            p, r = system.body_placements(run.q[k] + side * step)
            tips.append(p[3] + r[3] @ (1.5, 0, 0))
        jacobian[:, j] = (tips[1] - tips[0]) / 2e-6
    q, v = run.q[k], run.v[k]
    needed = system.mass_matrix(q) @ run.a[k] + system.bias_force(q, v) - system.passive_force(q, v)
    np.testing.assert_allclose(jacobian.T @ forces.determined[0], [0, 0, *needed[2:]], atol=1e-6)


def test_shares_of_redundant_rows_are_kept_apart(five_bar: tuple[sr.System, np.ndarray]) -> None:
    mechanism = sr.load(FIVE_BAR)
    closure = mechanism.closures["tips"]
    mechanism.add_closure(
        "again", "point", closure.body1, closure.body2, pose1=closure.pose1, pose2=closure.pose2
    )
    system, q = sr.System(mechanism), five_bar[1]
    state = read(system, q)
    assert state.forces == ()
    assert len(state.redundant) == 6
    forces = loads_of(at_rest(system, q, held=False).found, names=chosen(system, CLOSURES))
    assert np.abs(forces.determined).max() == 0.0
    alone = read(*five_bar)
    np.testing.assert_allclose(forces.undetermined.sum(axis=0), alone.multipliers, atol=1e-9)


def test_the_readout_says_what_mobility_says(five_bar: tuple[sr.System, np.ndarray]) -> None:
    system, q = five_bar
    state, known = read(system, q), sr.mobility(system, q)
    assert (state.dof, state.rank, state.redundant) == (known.dof, known.rank, known.redundant)
    assert state.condition == pytest.approx(known.singular_values[0] / known.singular_values[1], rel=1e-9)
    assert [name for name, _, _ in state.forces] == ["tips.x", "tips.z"]
    assert state.residual < 1e-14
    assert "tips.y" in state.html()
    assert "∞ (singular)" in read(system, system.mechanism.keyframes["collinear"].q).html()  # type: ignore[union-attr]


# --- pictures --------------------------------------------------------------------------------------


def test_the_nearest_surface_is_seen_at_the_pixel_that_the_camera_says() -> None:
    view = Drawing(sr.System(sr.load(FIVE_BAR)), sr.load(FIVE_BAR).keyframes["symmetric"].q).view
    camera = frame(np.array([-1.0, -1, -1]), np.array([1.0, 1, 1]), view, 1.5)
    canvas = Canvas(camera, 300, 200, (255, 255, 255), 2)
    red = meshes.box([0.5, 0.5, 0.5])
    blue = meshes.box([0.5, 0.1, 0.1]).placed(
        Pose.of((0.0, -0.8, 0.0))
    )  # in front of it: the view is along +y
    for box, shade in ((blue, (0, 0, 255)), (red, (255, 0, 0))):
        canvas.draw([Triangles(box.vertices, box.faces, shade, 1.0, lit=False)])
    picture = canvas.pixels()
    x, y, _ = np.rint(camera.pixels(np.array([0.0, -0.9, 0.0]), 300, 200)).astype(int)
    assert tuple(picture[y, x]) == (0, 0, 255)
    x, y, _ = np.rint(camera.pixels(np.array([0.4, -0.5, 0.4]), 300, 200)).astype(int)
    assert tuple(picture[y, x]) == (255, 0, 0)
    assert tuple(picture[2, 2]) == (255, 255, 255)
    corner = camera.pixels(np.array([[0.5, -0.5, 0.5], [-0.5, -0.5, -0.5]]), 300, 200)
    seen = np.argwhere((picture[..., 0] > 200) & (picture[..., 1] < 50))
    np.testing.assert_allclose(seen.min(axis=0), corner[[0, 1], [1, 0]], atol=1.5)


def test_a_transparent_solid_shows_one_surface_and_what_is_behind() -> None:
    view = Drawing(sr.System(sr.load(FIVE_BAR)), sr.load(FIVE_BAR).keyframes["symmetric"].q).view
    canvas = Canvas(frame(-np.ones(3), np.ones(3), view, 1.0), 64, 64, (255, 255, 255), 1)
    box = meshes.box([0.5, 0.5, 0.5])
    canvas.draw([Triangles(box.vertices, box.faces, (0, 0, 0), 0.5, lit=False)])
    assert set(np.unique(canvas.pixels())) == {128, 255}


def test_joints_are_at_their_pixels_in_a_picture(five_bar: tuple[sr.System, np.ndarray]) -> None:
    system, q = five_bar
    renderer = Renderer(subjects((system,), None, q), (600, 400), samples=2)
    picture = renderer.picture(0.0).astype(int)
    positions, rotations = system.body_placements(q)
    for point in positions:
        x, y = np.rint(renderer.camera.pixels(point, 600, 400)[:2]).astype(int)
        assert np.abs(picture[y, x] - HINGE).max() < 40
    tip = positions[1] + rotations[1] @ (1.5, 0, 0)
    x, y = np.rint(renderer.camera.pixels(tip, 600, 400)[:2]).astype(int)
    assert np.abs(picture[y, x] - CLOSURE).max() < 60
    assert (picture > 220).all(axis=2).mean() > 0.8


def test_an_arrow_is_as_long_as_its_force(run: sr.Trajectory) -> None:
    assert run.system is not None
    drawing = Drawing(run.system, run.q)
    forces = RunLoads(drawing, run).at(100, names=chosen(run.system, CLOSURES))
    ((arrow, _),) = arrow_meshes(forces, Scale(0.1, 0.1), 0.01)
    force = forces.determined[0]
    along = (arrow.vertices - forces.points[0]) @ (force / np.linalg.norm(force))
    assert along.max() == pytest.approx(0.1 * np.linalg.norm(force), rel=1e-9)


def test_arrows_of_friction_begin_where_a_ball_touches() -> None:
    """On a slope it is held by its weight along the normal and by what it rolls with along the tangent."""
    mechanism = sr.Mechanism("ball", gravity=(2.0, 0.0, -9.0))
    mechanism.add_body("ball", 2.0, inertia=(0.008,) * 3)
    mechanism.add_joint("free", "free", "world", "ball", parent_pose=(0, 0, 0.1))
    mechanism.add_contact("floor", "ball", radius=0.1, friction="coulomb", friction_coefficient=0.5)
    system = sr.System(mechanism)
    motion = sr.simulate(system, system.neutral(), duration=0.1, dt=1e-3, error_estimate=False)
    forces = RunLoads(Drawing(system, motion.q), motion).at(50)
    assert forces.names == ("floor",)
    np.testing.assert_allclose(forces.points, [[motion.q[50, 0], 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(forces.determined, [[-2.0 * 2.0 * 2.0 / 7.0, 0.0, 18.0]], rtol=1e-9)


def test_plots_hold_all_samples_between_their_extremes(run: sr.Trajectory) -> None:
    for quantity in QUANTITIES:
        text = svg(quantity, [run], ["run"], (0.0, 1.0))
        assert text.count("stroke-dasharray") == len(run.passages)
        assert "nan" not in text
        assert "inf" not in text
    numbers = [float(y) for y in re.findall(r",([0-9.]+)", svg(QUANTITIES[3], [run], ["run"], (0.0, 1.0)))]
    assert min(numbers) >= 19.9
    assert max(numbers) <= 132.1


# --- the rest --------------------------------------------------------------------------------------


def test_what_cannot_be_shown_is_a_clear_error(
    run: sr.Trajectory, five_bar: tuple[sr.System, np.ndarray]
) -> None:
    own = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2 / 2)
    other = sr.System(example("slider_crank").build())
    for what, system, message in (
        ((), None, "nothing to show"),
        ((own,), None, "has bodies"),
        ((run, five_bar[0]), None, "give one Mechanism or System, or trajectories"),
        ((3,), None, "not int"),
        ((run,), other, "other coordinates"),
    ):
        with pytest.raises(ArgumentError, match=message):
            subjects(what, system, None)  # type: ignore[arg-type]


def test_waiting_requests_of_one_kind_replace_each_other_and_errors_come_back() -> None:
    done: list[object] = []
    worker = WorkerThread(lambda seconds: None, lambda: False)

    def ask() -> None:  # all of it waits while this runs
        for k in range(5):
            worker.post("slider", lambda k=k: done.append(k))
        worker.post("other", lambda: done.append("other"))

    worker.do(ask)
    worker.do(lambda: None)
    assert done == [4, "other"]
    with pytest.raises(ZeroDivisionError):
        worker.do(lambda: 1 / 0)
    assert worker.do(lambda: 7) == 7
    worker.close()
