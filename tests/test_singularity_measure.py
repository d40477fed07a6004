"""`singularity_measure`: against closed forms, numpy and mpmath; what it is refused for."""

from __future__ import annotations

from typing import Any

import casadi as ca
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from five_bars import five_bar, start_of
from mechanisms import HOLONOMIC, random_loop, random_tree
from overconstrained import bennett, parallelogram
from quantity_rates import largest_difference
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.quantities.quantities import Part, quantity
from sarrus.control.quantities.singularity_measure import LEAST, LOG, MEASURES, SMOOTH, VOLUME
from sarrus.symbolic.equations.singular_values import eigenvalue
from scaled import scaled, scales

measure = control.singularity_measure
CRANKS = ("left", "right")
SIZES = (1.0, 1.4, 1.2)  # of a five-bar [m]


def seen(system: sr.System, part: Part, q: Array) -> float:
    """Return the value of a quantity of one row, its expression evaluated by CasADi."""
    e = system.equations
    f = ca.Function("value", [e.q, e.t, e.p], [quantity(system, part).value])
    return float(f(q, 0.0, list(system.parameters.values())))


def of_values(values: Array, what: str) -> float:
    """Return a measure of singular values."""
    if what == LEAST:
        return float(values.min())
    if what == SMOOTH:
        return float((values**-8.0).sum() ** -0.125)
    return float(np.prod(values) if what == VOLUME else np.log(values).sum())


def on_motions(system: sr.System, q: Array, rows: Array) -> Array:
    """Return the singular values of rows (k × nv, characteristic units) on the null space of A, by numpy."""
    _, values, right = np.linalg.svd(system.characteristic.scaled_rows(system.constraint_jacobian(q)))
    rank = int((values > 1e-7 * values.max(initial=1.0)).sum())
    motions = right[rank:].T if system.nc else np.eye(system.nv)
    return np.linalg.svd(rows @ motions, compute_uv=False)[: min(len(rows), motions.shape[1])]


# --- the eigenvalue ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8])
def test_eigenvalues_and_both_derivatives(size: int) -> None:
    """Along G + s H + s² K / 2, against perturbation theory by numpy; also beside eigenvalues that nearly meet."""
    rng = np.random.default_rng(size)
    s, parts = ca.SX.sym("s"), [ca.SX.sym(name, size, size) for name in "GHK"]
    found = []
    for number in (1, size):
        value = eigenvalue(parts[0] + s * parts[1] + 0.5 * s * s * parts[2], number)
        found += [value, ca.jacobian(value, s), ca.jacobian(ca.jacobian(value, s), s)]
    f = ca.Function("f", [s, *parts], found)
    for k in range(40):
        rotation = np.linalg.qr(rng.standard_normal((size, size)))[0]
        values = np.sort(rng.uniform(0.1, 3.0, size))
        if k % 2 and size > 2:
            values[1:-1] = values[1] + 1e-13 * np.arange(size - 2)  # others meet
        G, H, K = (
            rotation @ np.diag(values) @ rotation.T,
            *(x + x.T for x in rng.standard_normal((2, size, size))),
        )
        got = np.array(f(0.0, G, H, K)).ravel()
        w, vectors = np.linalg.eigh(G)
        for number, (value, first, second) in zip((size - 1, 0), got.reshape(2, 3)):
            own = vectors[:, number]
            mixed = vectors.T @ H @ own
            apart = np.array([i for i in range(size) if i != number], dtype=int)
            gaps = w[number] - w[apart]
            if np.abs(gaps).min(initial=1.0) < 1e-3:
                continue
            expected = own @ K @ own + 2 * np.sum(mixed[apart] ** 2 / gaps)
            assert_allclose(value, w[number], rtol=0, atol=1e-13)
            assert_allclose(first, mixed[number], rtol=0, atol=1e-10)
            assert_allclose(
                second, expected, rtol=0, atol=1e-10 * (1 + np.abs(1 / gaps).max(initial=0.0) ** 2)
            )


def test_equal_eigenvalues_have_values_and_finite_derivatives() -> None:
    G, s = ca.SX.sym("G", 3, 3), ca.SX.sym("s")
    value = eigenvalue(G + s * ca.SX(ca.DM([[1, 2, 0], [2, 0, 1], [0, 1, 3]])), 3)
    slope = ca.jacobian(value, s)
    f = ca.Function("f", [s, G], [value, slope, ca.jacobian(slope, s)])
    for matrix in (np.eye(3), np.diag([1.0, 1.0, 2.0]), np.diag([2.0, 0.0, 0.0]), np.zeros((3, 3))):
        found = np.array(f(0.0, matrix)).ravel()
        assert np.isfinite(found).all()
        assert_allclose(found[0], np.diag(matrix).min(), atol=1e-15)


# --- closed forms -----------------------------------------------------------------------------------------------


def planar_arm(first: float = 1.1, second: float = 0.7) -> sr.System:
    mechanism = sr.Mechanism("arm", gravity=(0, -9.81, 0))
    mechanism.add_body("upper", 1.0, (first / 2, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_body("lower", 0.8, (second / 2, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_joint("shoulder", "revolute", "world", "upper")
    mechanism.add_joint("elbow", "revolute", "upper", "lower", parent_pose=(first, 0, 0))
    for joint in ("shoulder", "elbow"):
        mechanism.add_actuator(joint, joint)
    return sr.System(mechanism)


TIP = control.point("lower", (0.7, 0, 0), axes="xy")


@pytest.mark.parametrize("what", MEASURES)
def test_arm_of_two_links(what: str) -> None:
    """Manipulability is l₁ l₂ |sin q₂| (Yoshikawa); value, slope and acceleration against 50 digits."""
    system = planar_arm()
    kappa = system.characteristic.length
    seen_by = control.TaskSpace(system, measure(TIP, measure=what))

    def exact(q2: Any) -> Any:
        l1, l2, size = mpmath.mpf(1.1), mpmath.mpf(0.7), mpmath.mpf(kappa)
        product = l1 * l2 * abs(mpmath.sin(q2)) / size**2
        total = (l1**2 + 2 * l2**2 + 2 * l1 * l2 * mpmath.cos(q2)) / size**2
        root = mpmath.sqrt(total**2 - 4 * product**2)
        large, small = (total + root) / 2, (total - root) / 2
        of = {
            VOLUME: product,
            LOG: mpmath.log(product),
            LEAST: mpmath.sqrt(small),
            SMOOTH: (large**-4 + small**-4) ** (-mpmath.mpf(1) / 8),
        }
        return of[what]

    for q2, rate in ((0.8, 0.4), (-1.7, 1.1), (0.02, -0.6), (2.9, 0.3)):
        found = seen_by.kinematics([0.3, q2], [-0.7, rate])
        with mpmath.workdps(50):
            value, slope, curve = (float(mpmath.diff(exact, mpmath.mpf(q2), k)) for k in (0, 1, 2))
        assert_allclose(found.value, value, rtol=1e-12)
        assert_allclose(found.jacobian, [[0.0, slope]], rtol=1e-10, atol=1e-12)
        assert_allclose(found.velocity, slope * rate, rtol=1e-10)
        assert_allclose(found.bias, curve * rate**2, rtol=1e-8, atol=1e-9)


def five_bar_rows(q: Any, kappa: float, lib: Any) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return closure and tip rows of the five-bar over κ, by hand; counter-clockwise angles."""
    near, far, _ = SIZES
    ends = []
    for base in (0, 2):
        arm, fore = near, far
        a, b = q[base], q[base] + q[base + 1]
        ends.append(
            [
                [(-arm * lib.sin(a) - fore * lib.sin(b)) / kappa, -fore * lib.sin(b) / kappa],
                [(arm * lib.cos(a) + fore * lib.cos(b)) / kappa, fore * lib.cos(b) / kappa],
            ]
        )
    closure = [[*ends[0][k], *(-x for x in ends[1][k])] for k in range(2)]
    tip = [[*ends[0][k], 0, 0] for k in range(2)]
    return closure, tip


@pytest.mark.parametrize("closure", ["point_on_line", "revolute"])
def test_five_bar_determinants_of_both_types(closure: str) -> None:
    """Type 2: b₁ b₂ sin(ψ₁ − ψ₂), type 1: a₁ b₁ a₂ b₂ sin sin, over √det A Aᵀ (Gosselin and Angeles)."""
    system = five_bar(*SIZES, closure)
    near, far, _ = SIZES
    kappa = system.characteristic.length
    tip = control.point("left_elbow", (far, 0, 0), axes="xz")
    for place in (0.6 + 1.7j, 0.2 + 1.4j, 0.9 + 1.9j):
        q = start_of(*SIZES, place)
        rows = np.array(five_bar_rows(q, kappa, np)[0])
        size = np.sqrt(np.linalg.det(rows @ rows.T))
        across = np.sin(q[0] + q[1] - q[2] - q[3])
        held = far * far * abs(across) / kappa**2
        stretched = (near * far) ** 2 * abs(np.sin(q[1]) * np.sin(q[3])) / kappa**4
        for part, expected in (
            (measure(driven=CRANKS, measure=VOLUME, q=q), held),
            (measure(tip, measure=VOLUME, q=q), stretched),
        ):
            assert_allclose(seen(system, part, q), expected / size, rtol=1e-12)
        least = seen(system, measure(measure=LEAST, q=q), q)
        assert_allclose(least, np.linalg.svd(rows, compute_uv=False)[-1], rtol=1e-12)


@pytest.mark.parametrize("what", MEASURES)
def test_five_bar_rate_and_acceleration_in_fifty_digits(what: str) -> None:
    """Along q + v s + a s² / 2, by differences in 60 digits of a decomposition of rows written by hand."""
    system = five_bar(*SIZES)
    kappa = mpmath.mpf(system.characteristic.length)
    q = start_of(*SIZES, 0.5 + 1.6j)
    v = np.array(system.project_velocity(q, [0.5, -0.3, 0.8, 0.2]))
    a = np.array(system.forward_dynamics(q, v).a)
    found = control.TaskSpace(system, measure(driven=CRANKS, measure=what, q=q)).kinematics(q, v)

    def exact(s: Any) -> Any:
        place = [mpmath.mpf(x) + mpmath.mpf(y) * s + mpmath.mpf(z) * s * s / 2 for x, y, z in zip(q, v, a)]
        A = mpmath.matrix(five_bar_rows(place, kappa, mpmath)[0])
        P = mpmath.eye(4) - A.T * (A * A.T) ** -1 * A
        G = [P[0, 0], P[0, 2], P[2, 2]]
        total, product = G[0] + G[2], G[0] * G[2] - G[1] ** 2
        root = mpmath.sqrt(total**2 - 4 * product)
        large, small = (total + root) / 2, (total - root) / 2
        return {
            VOLUME: mpmath.sqrt(product),
            LOG: mpmath.log(product) / 2,
            LEAST: mpmath.sqrt(small),
            SMOOTH: (large**-4 + small**-4) ** (-mpmath.mpf(1) / 8),
        }[what]

    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -15
        before, here, after = exact(-h), exact(mpmath.mpf(0)), exact(h)
        rate, acceleration = float((after - before) / (2 * h)), float((after - 2 * here + before) / h**2)
    assert_allclose(found.value, float(here), rtol=1e-12)
    assert_allclose(found.velocity, rate, rtol=1e-10)
    assert_allclose(found.jacobian @ a + found.bias, acceleration, rtol=1e-9)


# --- a family ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_random_trees(seed: int) -> None:
    """Poses of a body: fewer rows than joints, as many, and more."""
    system = sr.System(
        random_tree(seed, ("revolute", "prismatic", "universal", "spherical")[: 2 + seed % 3]).mechanism
    )
    body = list(system.mechanism.bodies)[-1]
    part = [control.point(body, (0.1, 0.2, 0.3)), control.orientation(body)]
    q, v = system.neutral(), np.zeros(system.nv)
    sizes = system.characteristic
    for k in range(3):
        q = system.move(q, np.random.default_rng(seed + k).standard_normal(system.nv))
        task = system.jacobian(q, v, body=body, point=(0.1, 0.2, 0.3))
        rows = np.vstack([task.linear / sizes.length, task.angular]) / sizes.columns
        values = on_motions(system, q, rows)
        if values[-1] < 1e-3:
            continue
        for what in MEASURES:
            assert_allclose(
                seen(system, measure(part, measure=what), q), of_values(values, what), rtol=1e-9, atol=1e-9
            )


@pytest.mark.parametrize("kind", HOLONOMIC)
def test_random_loops(kind: str) -> None:
    """Velocities of a joint, redundant closures and quaternions too: values, and derivatives along motions."""
    mechanism, q = random_loop(kind)
    system = sr.System(mechanism)
    q = np.array(system.assemble(q).q)
    rank = np.linalg.matrix_rank(system.constraint_jacobian(q), 1e-8)
    freedoms, checked = system.nv - rank, 0
    for joint in system.joint_names:
        held = system.velocity_indices(joint)
        values = on_motions(system, q, np.eye(system.nv)[held])
        if values[-1] < 1e-3:
            continue
        checked += 1
        for what in MEASURES:
            part = measure(driven=[joint], measure=what, q=q)
            assert_allclose(seen(system, part, q), of_values(values, what), rtol=1e-9, atol=1e-9)
            if kind != "redundant" and what in (SMOOTH, LEAST):
                assert largest_difference(system, part, range(1)) < 1e-6
    assert checked
    assert freedoms > 0


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_units_do_not_count(length: float) -> None:
    system = five_bar(*SIZES)
    other = sr.System(scaled(system, length))
    q = start_of(*SIZES, 0.5 + 1.6j)
    there = scales(system, length)[0] * q
    for what in MEASURES:
        for options in (
            {"driven": CRANKS},
            {},
            {"quantity": control.point("left_elbow", (0, 0, 0), axes="xz")},
        ):
            if "quantity" in options:
                tip = [
                    control.point("left_elbow", (x, 0, 0), axes="xz") for x in (SIZES[1], length * SIZES[1])
                ]
                parts = [measure(x, measure=what, q=p) for x, p in zip(tip, (q, there))]
            else:
                parts = [measure(**options, measure=what, q=p) for p in (q, there)]
            assert_allclose(seen(other, parts[1], there), seen(system, parts[0], q), rtol=1e-9)


def test_redundant_rows_change_nothing() -> None:
    """Dead rows, a closure that is there twice, and closures in space of planar loops."""
    q = start_of(*SIZES, 0.5 + 1.6j)
    plain = five_bar(*SIZES)
    twice = plain.mechanism.snapshot()
    twice.add_closure(
        "again",
        "revolute",
        "left_elbow",
        "right_elbow",
        axis=(0, 1, 0),
        pose1=(SIZES[1], 0, 0),
        pose2=(SIZES[1], 0, 0),
    )
    others = [five_bar(*SIZES, "revolute"), sr.System(twice)]
    v = np.array(plain.project_velocity(q, [0.5, -0.3, 0.8, 0.2]))
    a = np.array(plain.forward_dynamics(q, v).a)
    for what in MEASURES:
        for driven in (CRANKS, ()):
            part = measure(driven=driven, measure=what, q=q)
            first = control.TaskSpace(plain, part).kinematics(q, v)
            for other in others:
                found = control.TaskSpace(other, part).kinematics(q, v)
                assert_allclose(found.value, first.value, rtol=1e-12)
                assert_allclose(found.velocity, first.velocity, rtol=1e-9, atol=1e-12)
                both = [
                    x.jacobian @ a + x.bias for x in (found, first)
                ]  # along motions: those alone are asked for
                assert_allclose(*both, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("case", ["bennett", "parallelogram"])
def test_rows_that_are_redundant_on_the_manifold_alone(case: str) -> None:
    mechanism, q = bennett("revolute") if case == "bennett" else parallelogram("revolute", 3)
    system = sr.System(mechanism)
    q = np.array(system.assemble(system.neutral() if q is None else q).q)
    name = next(iter(system.joint_names))
    path = sr.simulate(system, q, system.project_velocity(q, np.ones(system.nv)), duration=0.3)
    part = measure(driven=[name], measure=LEAST, q=path.q[-1])
    held = np.eye(system.nv)[system.velocity_indices(name)]
    for place in path.q[:: len(path.q) // 5]:
        values = on_motions(system, place, held)
        assert_allclose(seen(system, part, place), values[-1], rtol=1e-9)


def test_at_singular_configurations_numbers_stay_finite() -> None:
    system = planar_arm()
    for what in MEASURES:
        found = control.TaskSpace(system, measure(TIP, measure=what)).kinematics([0.3, 0.0], [0.5, 0.4])
        assert all(np.isfinite(x).all() for x in (found.value, found.velocity, found.jacobian, found.bias))
        assert found.value[0] < 1e-6
        assert not found.jacobian.any()  # a slope there would be rounding


# --- refusals ---------------------------------------------------------------------------------------------------


def test_refusals() -> None:
    chain = sr.Mechanism("chain")
    for k, parent in enumerate(("world", "b0", "b1")):
        chain.add_body(f"b{k}", 1.0, (0.2, 0, 0), (0.1, 0.1, 0.1))
        chain.add_joint(f"j{k}", "revolute", parent, f"b{k}", parent_pose=(0.4 * (k > 0), 0, 0))
    system = sr.System(chain)
    cases = [
        (
            measure(control.point("b2", (0.4, 0, 0))),
            r"rank 2 .* b2\.z is constant or depends on the other rows",
        ),
        (measure(control.point("b2", axes="z")), "it is constant along every motion"),
        (measure(control.momentum("x", "")), "not of velocities"),
        (measure(), "no constraint rows"),
        (measure(driven=["j7"]), "j7"),
    ]
    for part, text in cases:
        with pytest.raises(ArgumentError, match=text):
            control.Bound(part, lower=0.1).demand(system, control.Settings(), "away")
    with pytest.raises(ArgumentError, match="give either a quantity"):
        measure("j0", driven=["j1"])
    for driven in (5, "j0"):
        with pytest.raises(ArgumentError, match="driven must be a sequence of names"):
            measure(driven=driven)
    with pytest.raises(ArgumentError, match="smooth singular value"):
        measure("j0", measure="condition")
    few = five_bar(*SIZES)
    q = start_of(*SIZES, 0.5 + 1.6j)
    twice = few.mechanism.snapshot()
    twice.add_body("idle", 1.0, (0, 0, 0), (1, 1, 1))
    twice.add_joint("idle", "revolute", "world", "idle")
    with pytest.raises(ArgumentError, match=r"rank 2 .* leave it out"):
        quantity(sr.System(twice), measure(control.point("left_elbow", (SIZES[1], 0, 0)), q=[*q, 0.0]))


def test_contacts_take_no_part() -> None:
    """A leg is as far from being stretched on its foot as in the air."""
    mechanism = sr.load("models/quadruped.xml")
    for leg in ("FL", "FR", "RL", "RR"):
        mechanism.add_contact(leg, geom=leg, friction_coefficient=0.5)
    robot = sr.System(mechanism)
    q = np.array(mechanism.keyframes["stand"].q)
    foot = control.point("FL_shank", (0.0, 0.0, -0.25), relative_to="trunk")
    part = measure(foot, measure=LEAST, q=q)
    standing = robot.with_parameters({name: 1.0 for name in robot.parameters if name.startswith("active")})
    values = []
    for system in (robot, standing):
        seen_by = control.TaskSpace(system, foot).kinematics(q)
        rows = seen_by.jacobian / system.characteristic.length / system.characteristic.columns
        assert_allclose(seen(system, part, q), np.linalg.svd(rows, compute_uv=False)[-1], rtol=1e-10)
        values.append(seen(system, part, q))
    assert values[0] == values[1]


def test_closures_that_come_and_go() -> None:
    """The pin of a five-bar opens: the same compiled measure has the value of the two arms, and back."""
    mechanism = five_bar(*SIZES).mechanism.snapshot()
    closure = mechanism.closures.pop("tip")
    mechanism.add_closure(
        "tip", closure.kind, "left_elbow", "right_elbow", axis=(0, 1, 0), pose1=closure.pose1, pose2=closure.pose2,
        active=True,
    )  # fmt: skip
    system = sr.System(mechanism)
    q = start_of(*SIZES, 0.5 + 1.6j)
    part = measure(driven=CRANKS, measure=LEAST, q=q)
    values = control.TaskSpace(system, part)
    closed = seen(five_bar(*SIZES), part, q)
    for active, expected in ((1.0, closed), (0.0, 1.0), (1.0, closed)):
        system.parameters["active.tip"] = active
        assert_allclose(values.kinematics(q).value, expected, rtol=1e-12)
    for refused in (measure(driven=["left", "right", "left_elbow"], q=q), measure(q=q)):
        with pytest.raises(ArgumentError, match="tip"):
            quantity(system, refused)
