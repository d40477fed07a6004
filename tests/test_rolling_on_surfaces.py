"""What rolls on surfaces and curves: closed forms, own integrations, rows against differences, errors by name."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipj, ellipk

import sarrus as sr
from c_code import Compiled, assert_same_motion, build
from families.rolling_on_surfaces import Roller, Shape, case, derivatives, error, integrated, turned
from linear_precision import errors
from sarrus import surfaces
from sarrus.base.arrays import Array
from sarrus.model.builders.document import from_json, to_json
from sarrus.pictures.plots.contact_drawing import contact_marks
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.parts import ContactRod
from sarrus.pictures.symbols.surface_drawing import surface_lines
from test_multibody import along, derivative

GRAVITY = 9.81
RADIUS, TROUGH, MASS = 0.1, 0.6, 2.0
# Where on a sphere a coin circles, and how much it leans inward [rad].
COINS = [(0.1, 0.35), (0.3, 0.5)]
# The same trough about the y axis, in four forms.
TROUGHS: dict[str, tuple[surfaces.Surface, tuple[float, ...]]] = {
    "cylinder": (surfaces.Cylinder(TROUGH, (0, 1, 0), inside=True), (0, 0, TROUGH)),
    "height": (surfaces.Height(lambda x, y: TROUGH - ca.sqrt(TROUGH**2 - x * x)), (0, 0, 0)),
    "implicit": (surfaces.Implicit(lambda x, y, z: TROUGH**2 - x * x - (z - TROUGH) ** 2), (0, 0, 0)),
    "curve": (
        surfaces.Curve(lambda s: (TROUGH * ca.sin(s), TROUGH - TROUGH * ca.cos(s)), np.linspace(-2, 2, 9)),
        (0, 0, 0),
    ),
}


@lru_cache
def in_trough(form: str) -> sr.System:
    """A solid wheel in a planar mechanism, in the trough."""
    surface, origin = TROUGHS[form]
    trough = sr.Mechanism("trough")
    across = MASS * RADIUS**2 / 4
    trough.add_body("wheel", MASS, inertia=(across, 2 * across, across))
    trough.add_joint("wheel", "planar", "world", "wheel", axis=(0, -1, 0), axis2=(1, 0, 0))
    trough.add_rolling(
        "rolls", "wheel", "wheel", radius=RADIUS, surface=surface, origin=origin, tangent=(1, 0, 0),
        rows=("n", "longitudinal"),
    )  # fmt: skip
    return sr.System(trough)


def at_angle(theta: float) -> list[float]:
    """Return q of the wheel at an angle from the lowest line of the trough."""
    reach = TROUGH - RADIUS
    return [reach * np.sin(theta), TROUGH - reach * np.cos(theta), 0.0]


def free_body(kind: str, surface: surfaces.Surface, **options) -> sr.System:
    """Return a free body, a ball or a wheel about its y axis, that rolls on a surface."""
    mechanism = sr.Mechanism("roller")
    share = (0.4, 0.4, 0.4) if kind == "ball" else (0.25, 0.5, 0.25)
    radius = options.pop("radius", RADIUS)
    mechanism.add_body("roller", MASS, inertia=MASS * radius**2 * np.array(share))
    mechanism.add_joint("roller", "free", "world", "roller", parent_pose=options.pop("start", (0, 0, 0)))
    mechanism.add_rolling(
        "rolls", kind, "roller", surface=surface, tangent=options.pop("tangent", (1, 0, 0)),
        radius=0.0 if kind == "knife_edge" else radius, **options,
    )  # fmt: skip
    return sr.System(mechanism)


# --- closed forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", TROUGHS)
def test_wheel_in_a_trough_is_a_pendulum_of_three_halves_of_its_length(form: str) -> None:
    """3/2 (R − r) θ̈ = −g sin θ, solved by Jacobi's functions; what the ground pushes by the energy."""
    system, start = in_trough(form), 1.0
    q = system.assemble(at_angle(start)).q
    rate, k = np.sqrt(2 * GRAVITY / (3 * (TROUGH - RADIUS))), np.sin(start / 2)
    period = 4 * ellipk(k * k) / rate
    motion = sr.simulate(system, q, duration=2 * period, rtol=1e-12, atol=1e-13)
    assert motion.status is sr.Status.OK
    theta = np.arctan2(motion.q[:, 0], TROUGH - motion.q[:, 1])
    exact = 2 * np.arcsin(k * ellipj(ellipk(k * k) - rate * motion.t, k * k)[0])
    assert_allclose(theta, exact, atol=1e-10)
    assert_allclose(motion.q[:, 2] * RADIUS, -(TROUGH - RADIUS) * (theta - start), atol=1e-10)
    push = MASS * GRAVITY * (np.cos(theta) + 4 / 3 * (np.cos(theta) - np.cos(start)))
    assert_allclose(motion.multipliers[:, 0], push, rtol=1e-9)
    assert motion.energy_drift < 1e-10
    assert motion.residual.max() < 1e-13
    many = sr.rollout(system, [q] * 3, np.zeros((3, 3)), duration=0.5, dt=1e-3)
    end = 2 * np.arcsin(k * ellipj(ellipk(k * k) - rate * 0.5, k * k)[0])
    assert_allclose(many.q[1, -1, :2], at_angle(end)[:2], atol=1e-9)
    calm = sr.linearize(system, system.assemble(at_angle(0.0)).q)
    assert_allclose(np.sort(np.abs(calm.eigenvalues.imag))[-1], rate, rtol=1e-10)


@pytest.mark.parametrize("method", [{}, {"method": "dopri5", "rtol": 1e-11}, {"method": "rodas5p", "rtol": 1e-11},
                                    {"method": "rk4", "dt": 1e-4}])  # fmt: skip
def test_golfers_dilemma(method: dict) -> None:
    """A ball in a vertical pipe goes down and comes up again: z = −5g/(2Ω²) (1 − cos √(2/7) Ω t)."""
    system = in_pipe()
    q, turning = system.neutral(), 6.0
    v = system.project_velocity(q, [0, turning * (TROUGH - RADIUS), 0, 0, 0, 0])
    turning = v[1] / (TROUGH - RADIUS)
    options = method if "dt" in method else {"rtol": 1e-12, "atol": 1e-13, **method}
    motion = sr.simulate(system, q, v, duration=3.0, **options)
    rate = np.sqrt(2 / 7) * turning
    height = -5 * GRAVITY / (2 * turning**2) * (1 - np.cos(rate * motion.t))
    assert_allclose(motion.q[:, 2], height, atol=1e-8 if method else 1e-10)
    angle = np.unwrap(np.arctan2(motion.q[:, 1], motion.q[:, 0]))
    assert_allclose(angle, turning * motion.t, atol=1e-8)
    assert np.ptp(motion.q[:, 2]) > 1.0


@lru_cache
def in_pipe() -> sr.System:
    """A ball in a vertical pipe."""
    pipe = surfaces.Cylinder(TROUGH, (0, 0, 1), inside=True)
    return free_body("ball", pipe, start=(TROUGH - RADIUS, 0, 0))


@lru_cache
def in_bowl() -> sr.System:
    """A ball in a sphere, which it touches at the bottom."""
    bowl = surfaces.Sphere(TROUGH, inside=True)
    return free_body("ball", bowl, start=(0, 0, RADIUS), origin=(0, 0, TROUGH))


def test_ball_in_a_bowl() -> None:
    """Its small oscillations have √(5g/7(R − r)); energy and the spin about the normal stay as they are."""
    system = in_bowl()
    calm = sr.linearize(system, system.neutral())
    rate = np.sqrt(5 * GRAVITY / (7 * (TROUGH - RADIUS)))
    swings = np.sort(np.abs(calm.eigenvalues.imag))[-4:]
    assert_allclose(swings, rate, rtol=1e-9)
    q = system.assemble([0.3, 0.1, RADIUS, 1, 0, 0, 0]).q
    v = system.project_velocity(q, [0.5, 1.0, 0.0, 2.0, -1.0, 7.0])
    motion = sr.simulate(system, q, v, duration=3.0, rtol=1e-12, atol=1e-13)
    normal = ([0, 0, TROUGH] - motion.q[:, :3]) / (TROUGH - RADIUS)
    spin = np.array([turned(x[3:]) @ w[3:] for x, w in zip(motion.q, motion.v)])
    assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    about = np.einsum("ij,ij->i", spin, normal)
    assert_allclose(about, about[0], rtol=1e-10)
    assert motion.energy_drift < 1e-10


def test_ball_in_a_bowl_that_turns() -> None:
    """An own integration of ċ = r ω × n + Ω × p and the law of angular momentum."""
    bowl, turning, reach = surfaces.Sphere(TROUGH, inside=True), 2.5, TROUGH - RADIUS
    mechanism = sr.Mechanism("turning bowl")
    mechanism.add_body("bowl")
    mechanism.add_joint("bearing", "fixed", "world", "bowl", parent_pose=(0, 0, 0))
    turn = lambda t: ca.vertcat(0, 0, 0, ca.cos(turning * t / 2), 0, 0, ca.sin(turning * t / 2))  # noqa: E731
    mechanism.drive("bowl", turn)
    inertia = 0.4 * MASS * RADIUS**2
    mechanism.add_body("ball", MASS, inertia=3 * [inertia])
    mechanism.add_joint("ball", "free", "world", "ball")
    mechanism.add_rolling("rolls", "ball", "ball", "bowl", radius=RADIUS, surface=bowl)
    system = sr.System(mechanism)
    q = system.assemble([0.3, 0.1, -0.4, 1, 0, 0, 0]).q
    v = system.project_velocity(q, [0.2, 0.4, 0, 0, 0, 3.0])
    motion = sr.simulate(system, q, v, duration=2.0, rtol=1e-12, atol=1e-13)
    axle = np.array([0, 0, turning])

    def rates(_: float, state: Array) -> Array:
        c, w = state[:3], state[3:]
        n = -c / reach
        speed = RADIUS * np.cross(w, n) + np.cross(axle, -TROUGH * n)
        bend = -speed / reach
        known = RADIUS * np.cross(w, bend) + np.cross(axle, -TROUGH * bend) + [0, 0, GRAVITY]
        left = (inertia + MASS * RADIUS**2) * np.eye(3) - MASS * RADIUS**2 * np.outer(n, n)
        return np.concatenate([speed, np.linalg.solve(left, -RADIUS * np.cross(n, MASS * known))])

    start = np.concatenate([q[:3], v[3:]])
    own = solve_ivp(rates, (0, 2), start, "DOP853", motion.t, rtol=1e-12, atol=1e-13).y[:3].T
    assert_allclose(motion.q[:, :3], own, atol=1e-9)


def coin(radius: float) -> tuple[Roller, Shape]:
    """Return a coin and the sphere on which it rolls."""
    inertia = MASS * RADIUS**2 * np.array([0.25, 0.5, 0.25])
    roller = Roller("disc", MASS, RADIUS, inertia, np.array([0, 0, -GRAVITY]))
    return roller, Shape(
        lambda p: p @ p - radius**2, lambda p: 2 * p, lambda p: 2 * np.eye(3), {}, np.array([0, 0, radius])
    )


@pytest.mark.parametrize(("latitude", "lean"), COINS)
def test_coin_that_circles_on_a_sphere(latitude: float, lean: float) -> None:
    """Steady motion: precession and spin from the balance of moments in the plane through the vertical."""
    radius = 1.2
    roller, sphere = coin(radius)
    n = np.array([np.sin(latitude), 0, np.cos(latitude)])
    outward = np.array([np.cos(latitude), 0, -np.sin(latitude)])
    axis = np.cos(lean) * outward + np.sin(lean) * n  # it leans inward
    e = n - (n @ axis) * axis
    e /= np.linalg.norm(e)
    # a circle touches a sphere where e points: the centre projected on the plane of the coin
    c = radius * n + RADIUS * e
    up = np.array([0, 0, 1.0])
    axes = np.column_stack([np.cross(axis, e), axis, e])
    pose = sr.Pose(np.zeros(3), axes)

    def spinning(rate: float) -> Array:
        arm = -RADIUS * e
        side = np.cross(axis, arm)
        moved = rate * np.cross(up, c) + rate * np.cross(up, arm)
        return rate * up - (moved @ side) / (side @ side) * axis

    def unbalanced(rate: float) -> float:
        w = spinning(rate)
        state = np.concatenate([c, pose.quaternion, w])
        return float((derivatives(roller, sphere, state)[7:] - rate * np.cross(up, w))[1])

    rate = brentq(unbalanced, 0.5, 20.0, xtol=1e-15)
    system = free_body("disc", surfaces.Sphere(radius), start=sr.Pose(c, axes))
    w = axes.T @ spinning(rate)
    q = system.neutral()
    v = np.concatenate([rate * np.cross(up, c), w])
    assert_allclose(system.constraint_residual(q), 0.0, atol=1e-13)
    assert_allclose(system.velocity_residual(q, v), 0.0, atol=1e-12)
    motion = sr.simulate(system, q, v, duration=0.6, rtol=1e-12, atol=1e-13)
    exact = np.stack(
        [np.cos(rate * motion.t) * c[0], np.sin(rate * motion.t) * c[0], c[2] + 0 * motion.t], axis=1
    )
    assert_allclose(motion.q[:, :3], exact, atol=1e-9)


def test_coin_on_a_sphere_against_an_own_integration() -> None:
    radius = 1.2
    roller, sphere = coin(radius)
    system = free_body("disc", surfaces.Sphere(radius), start=(0, 0, radius + RADIUS))
    tilted = system.neutral()
    tilted[3:] = sr.Pose.of(rpy=(0.2, 0.1, 0.3)).quaternion
    q = system.assemble(tilted).q
    v = system.project_velocity(q, [0, 0, 0, 0.3, 12.0, -1.0])
    motion = sr.simulate(system, q, v, duration=0.5, rtol=1e-12, atol=1e-13)
    assert_allclose(motion.q, integrated(roller, sphere, q, v, motion.t), atol=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 13, 25, 31, 36, 58])
def test_random_surfaces(seed: int) -> None:
    """Some of the family in tests/families/rolling_on_surfaces.py."""
    off, status = error(case(seed))
    assert status is sr.Status.OK
    assert off < 1e-7


# --- rows -------------------------------------------------------------------------------------------

_PLACES = np.array([(s, w) for s in (-1.0, 0.0, 1.0) for w in (-1.0, 0.0, 1.0)])
GROUNDS: dict[str, surfaces.Surface] = {
    "sphere": surfaces.Sphere(1.3),
    "bowl": surfaces.Sphere(1.3, inside=True),
    "cylinder": surfaces.Cylinder(1.1, (0.2, 1.0, 0.1)),
    "pipe": surfaces.Cylinder(1.1, (0.2, 1.0, 0.1), inside=True),
    "height": surfaces.Height(lambda x, y: 0.2 * ca.sin(x + 0.5) * ca.cos(y)),
    "table": surfaces.Height(sr.Spline.through([-2.0, -0.5, 1.0, 2.5], [0.3, 0.1, 0.2, 0.0], degree=3)),
    "implicit": surfaces.Implicit(lambda x, y, z: z + 0.1 * x * y + 0.05 * z**3),
    "parametric": surfaces.Parametric(lambda s, w: (s + 0.1 * w, w, 0.2 * s * w + 0.1 * s * s), _PLACES),
    "curve": surfaces.Curve(lambda s: (s + 0.1 * s * s, 0.2 * ca.sin(s)), np.linspace(-1.5, 1.5, 7)),
}


@lru_cache
def on_moving_ground(kind: str, ground: str) -> tuple[sr.System, Array]:
    """A free body that rolls on a surface of a free body, and a state near which it is closed."""
    mechanism = sr.Mechanism("moving", gravity=(0.3, -0.2, -9.0))
    mechanism.add_body("base", 3.0, (0.1, 0.05, -0.1), (0.3, 0.4, 0.5))
    mechanism.add_joint("base", "free", "world", "base")
    mechanism.add_body("roller", 0.7, (0.02, 0.01, -0.03), (0.1, 0.2, 0.15))
    start = {"bowl": (0, 0, 0.7), "sphere": (0.1, 0, 1.5), "cylinder": (0, 0, 1.4), "pipe": (0.2, 0, 0.5)}
    mechanism.add_joint("roller", "free", "world", "roller", parent_pose=start.get(ground, (0.2, 0.1, 0.5)))
    mechanism.add_rolling(
        "rolls", kind, "roller", "base", radius=0.0 if kind == "knife_edge" else 0.3, centre=(0.05, 0.02, 0.04),
        axis=(0.2, 1.0, 0.1), surface=GROUNDS[ground], origin=(0.05, -0.1, 0.1), normal=(0.1, 0.2, 1.0),
        tangent=(1.0, 0.0, -0.1), roller_angle=0.7,
    )  # fmt: skip
    system = sr.System(mechanism)
    return system, system.assemble(system.neutral()).q


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("kind", ["ball", "disc", "omni", "knife_edge"])
def test_rows_against_differences(kind: str, ground: str) -> None:
    """A = ∂ψ/∂v, ψ = dφ/dt, γ = dψ/dt at a = 0, beside the constraints too; slips are those of the material."""
    if kind == "omni" and ground not in ("pipe", "height"):
        pytest.skip("an omni wheel touches where a disc does")
    system, closed = on_moving_ground(kind, ground)
    rng = np.random.default_rng(3)
    q, v = system.move(closed, 0.02 * rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    unit = np.eye(system.nv)
    by_v = derivative(lambda h: np.array([system.velocity_residual(q, v + h * e) for e in unit]).T)
    assert_allclose(system.constraint_jacobian(q, v), by_v, atol=1e-9)
    height = derivative(lambda h: system.constraint_residual(along(system, q, v, h)))
    assert_allclose(system.velocity_residual(q, v)[: system.nh], height, atol=1e-8)
    slip = derivative(lambda h: system.velocity_residual(along(system, q, v, h), v))
    assert_allclose(system.constraint_bias(q, v), slip, atol=1e-6)
    found = system.rolling(closed, v)["rolls"]
    assert_allclose(found.height, 0.0, atol=1e-13)
    positions, rotations = system.body_placements(closed)
    numbers = system.mechanism.body_numbers
    body, base = ((positions[numbers[n]], rotations[numbers[n]]) for n in ("roller", "base"))
    held = [turn.T @ (found.point - place) for place, turn in (body, base)]

    def apart(h: float) -> Array:
        places, turns = system.body_placements(along(system, closed, v, h))
        ends = [places[numbers[n]] + turns[numbers[n]] @ x for n, x in zip(("roller", "base"), held)]
        return ends[0] - ends[1]

    assert_allclose(found.slip, derivative(apart), atol=1e-8)
    # nothing of the rim is below the surface near where it touches: the rim moved about its axis
    assert_allclose(found.normal @ np.cross(found.normal, found.longitudinal), 0.0, atol=1e-13)


@pytest.mark.parametrize(
    ("kind", "ground"), [("ball", "height"), ("disc", "pipe"), ("disc", "bowl"), ("ball", "curve")]
)
def test_linear_models_against_many_digits(kind: str, ground: str) -> None:
    system, q = on_moving_ground(kind, ground)
    v = system.project_velocity(q, 0.4 * np.random.default_rng(5).standard_normal(system.nv))
    found = errors((system, q, v, np.zeros(0), 0.0), every=8)
    assert found.taylor < 1e-9
    assert found.differences < 1e-5


# --- everything that walks over constraints -----------------------------------------------------------


def test_exported_c_and_casadi(tmp_path) -> None:
    for name, (kind, ground) in {"ball": ("ball", "pipe"), "wheel": ("disc", "height")}.items():
        system, q = on_moving_ground(kind, ground)
        v = system.project_velocity(q, 0.4 * np.random.default_rng(7).standard_normal(system.nv))
        export = sr.export.c_code(system, tmp_path / name, name=name, q=q)
        compiled = Compiled(export, system, build(export))
        assert_same_motion(compiled.forward_dynamics(q, v), system, (q, v, None, 0.0, None))
        a = system.to_casadi("forward_dynamics")(q, v, np.zeros(0), 0.0, np.zeros(0))
        a = a[0] if isinstance(a, tuple) else a
        assert_allclose(np.array(a).ravel()[: system.nv], system.forward_dynamics(q, v).a, atol=1e-8)


def test_documents_keep_surfaces_and_name_functions_that_they_lose() -> None:
    for ground, surface in GROUNDS.items():
        system, q = on_moving_ground("ball", ground)
        again = from_json(to_json(system.mechanism))
        if callable(getattr(surface, "function", None)) and not isinstance(surface.function, sr.Spline):
            assert not again.rollings
            (lost,) = [entry for entry in again.report.entries if entry.name == "rolls"]
            assert "Python function" in lost.reason
            continue
        assert to_json(again) == to_json(system.mechanism)
        v = np.random.default_rng(1).standard_normal(system.nv)
        same = sr.System(again)
        assert np.array_equal(same.constraint_jacobian(q), system.constraint_jacobian(q))
        assert np.array_equal(same.constraint_bias(q, v), system.constraint_bias(q, v))


def test_radii_as_parameters() -> None:
    mechanism = on_moving_ground("disc", "pipe")[0].mechanism
    system = sr.System(mechanism, parameters={"r": "rolls.radius", "pipe": "rolling:rolls.surface.radius"})
    q = on_moving_ground("disc", "pipe")[1]
    v = np.random.default_rng(2).standard_normal(system.nv)
    for name in ("r", "pipe"):
        other = system.with_parameters({name: system.parameters[name] + 0.02})
        rebuilt = sr.System(other.current_mechanism())
        assert_allclose(other.constraint_jacobian(q), rebuilt.constraint_jacobian(q), atol=1e-13)
        assert_allclose(other.constraint_bias(q, v), rebuilt.constraint_bias(q, v), atol=1e-12)
        assert np.abs(other.constraint_residual(q) - rebuilt.constraint_residual(q)).max() < 1e-13
        assert np.abs(other.constraint_residual(q) - system.constraint_residual(q)).max() > 1e-3


@pytest.mark.parametrize("ground", GROUNDS)
def test_drawings_mark_where_it_touches(ground: str) -> None:
    system, q = on_moving_ground("disc", ground)
    touch = system.rolling(q)["rolls"]
    drawing = Drawing(system, q)
    (rod,) = (rod for rod in drawing.parts.rods if isinstance(rod, ContactRod))
    poses = drawing.poses(q)
    assert_allclose(rod.ends(poses.positions, poses.rotations)[1], touch.point, atol=1e-12)
    marks = contact_marks(system.mechanism, system, q[None], drawing.view)
    assert_allclose(marks.points[0, -1], drawing.view.project(touch.point), atol=1e-12)
    lines = surface_lines(system.mechanism.rollings["rolls"], 1.0)
    assert lines
    assert all(np.isfinite(line).all() and line.shape[1] == 3 for line in lines)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "dop853", "rodas4", "rodas5p", "moreau-jean"])
def test_all_methods_go_the_same_way(method: str) -> None:
    system = in_bowl()
    q = system.assemble([0.3, 0.1, RADIUS, 1, 0, 0, 0]).q
    v = system.project_velocity(q, [0.5, 1.0, 0.0, 2.0, -1.0, 7.0])
    truth = sr.simulate(system, q, v, duration=0.5, rtol=1e-12, atol=1e-13).q[-1]
    options = {"dt": 5e-4} if method in ("rk4", "moreau-jean") else {"rtol": 1e-9, "atol": 1e-11}
    found = sr.simulate(system, q, v, duration=0.5, method=method, **options)
    assert_allclose(found.q[-1], truth, atol=1e-5 if method == "moreau-jean" else 1e-7)
    assert found.residual.max() < 1e-9


def test_reactions_balance_the_weight() -> None:
    system = in_trough("curve")
    q = system.assemble(at_angle(0.4)).q
    found = sr.reactions(system, q, frame="world")
    a = system.forward_dynamics(q, np.zeros(3)).a
    force = found.joints["rolls"].force if hasattr(found, "joints") else found["rolls"].force
    assert_allclose(force, MASS * np.array([a[0], 0.0, a[1] + GRAVITY]), atol=1e-10)


def test_a_ball_in_a_torus() -> None:
    """Rows that are no numbers far from the surface do not disturb the assembly; along the tube it goes round."""
    tube = surfaces.Implicit(lambda x, y, z: 0.25 - (ca.sqrt(x * x + y * y) - 1) ** 2 - z * z)
    system = free_body("ball", tube, start=(1, 0, RADIUS - 0.5))
    q = system.assemble(system.neutral()).q
    assert_allclose(q, system.neutral(), atol=1e-12)
    run = sr.simulate(system, q, system.project_velocity(q, [0, 2.0, 0, 0, 0, 0]), duration=2.0)
    assert run.status is sr.Status.OK
    assert run.energy_drift < 1e-6
