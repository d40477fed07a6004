"""Poisson's law of restitution beside Newton's: closed forms, and the conditions of both on random impacts."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.restitution import impulses
from sarrus.dynamics.optimize import solve_contact_problem
from sarrus.model.builders.document import from_json, to_json
from several_contacts import cradle, rocking_block
from test_phases import balance, run, times
from test_time_stepping import G, body, point

LAWS = ("newton", "poisson")


def struck(system: sr.System, q: object, v: object) -> tuple[Array, sr.Trajectory]:
    """Return the velocity after what hits at the start, and the motion."""
    motion = run(system, q, v, 1e-3)
    return motion.v[np.flatnonzero(motion.t == 0.0)[-1]], motion


# --- where the laws agree -----------------------------------------------------------------------------


def test_the_laws_agree_for_one_contact_without_friction() -> None:
    bounce, fall = 0.8, np.sqrt(2.0 / G)
    found = []
    for law in LAWS:
        system = point(0.0, restitution=bounce, impact_law=law)
        q = system.neutral()
        q[2] = 1.0
        motion = run(system, q, [0.3, 0, 0, 0.1, 0.2, 0.3], 5.0)
        impacts = times(motion, "bounced")
        n = np.arange(len(impacts))
        assert_allclose(impacts, fall * (1.0 + 2.0 * bounce * (1.0 - bounce**n) / (1.0 - bounce)), atol=1e-9)
        assert balance(motion) < 1e-9
        found.append(impacts)
    assert len(found[0]) == len(found[1])


def test_the_laws_agree_where_a_loop_hits() -> None:
    """A slider-crank of redundant rows whose coupler touches a smooth floor: −e times the speed, loops kept."""
    mechanism = sr.Mechanism("crank", gravity=(0, 0, 0))
    mechanism.add_body("crank", 1.0, com=(0.15, 0, 0), inertia=(0.01, 0.02, 0.02))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, -1, 0))
    mechanism.add_body("rod", 1.0, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.05))
    mechanism.add_joint("rod", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(0.3, 0, 0))
    mechanism.add_body("slider", 0.5)
    mechanism.add_joint("slider", "prismatic", "world", "slider", axis=(1, 0, 0))
    mechanism.add_closure("pin", "revolute", "rod", "slider", pose1=(0.8, 0, 0), axis=(0, 1, 0))
    plain = sr.System(mechanism)
    q = plain.assemble([0.8, -1.1, 1.0], locked=["crank"]).q
    height = float(plain.body_placements(q)[0][1][2])
    v = plain.project_velocity(q, [-2.0, 0.0, 0.0])
    found = []
    for law in LAWS:
        again = from_json(to_json(mechanism))
        again.add_contact(
            "elbow", "rod", offset=height, friction="coulomb", friction_coefficient=0.0, restitution=0.6,
            impact_law=law,
        )  # fmt: skip
        after, motion = struck(sr.System(again), q, v)
        found.append(after)
        assert motion.residual.max() < 1e-12
        assert motion.switches[0].energy_loss == pytest.approx(
            (1.0 - 0.6**2) * plain.kinetic_energy(q, v), rel=1e-9
        )
    assert_allclose(found, [-0.6 * v] * 2, rtol=1e-9)


# --- several contacts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("restitution", "newton", "poisson"),
    [
        ((1.0, 1.0), (-1 / 3, 2 / 3, 2 / 3), (-1 / 3, 2 / 3, 2 / 3)),
        ((0.5, 0.5), (0.0, 1 / 2, 1 / 2), (0.0, 1 / 2, 1 / 2)),
        ((1.0, 0.0), (-1 / 3, 2 / 3, 2 / 3), (-1 / 3, 2 / 3, 2 / 3)),
        # what Newton's law sees of the second contact is that it is at rest; Poisson's, that it was compressed
        ((0.0, 1.0), (1 / 3, 1 / 3, 1 / 3), (1 / 6, 1 / 6, 2 / 3)),
    ],
)
def test_a_ball_hits_one_of_two_that_touch(
    restitution: tuple[float, float], newton: tuple[float, ...], poisson: tuple[float, ...]
) -> None:
    """Compression ends with all at 1/3 of the speed, by impulses of 2/3 and 1/3, and expansion has e times these."""
    for law, truth in zip(LAWS, (newton, poisson)):
        after, motion = struck(cradle(restitution, law), np.zeros(3), [1.0, 0.0, 0.0])
        assert_allclose(after, truth, atol=1e-13)
        assert motion.status.ok
        assert motion.switches[0].energy_loss == pytest.approx(0.5 - 0.5 * np.square(truth).sum(), abs=1e-13)


class Corner(NamedTuple):
    """Compression and expansion of a block that comes upright on its second corner, turning with −1 rad/s."""

    before: Array
    compressed: Array
    operator: Array
    rows: Array
    inverse: Array


def housner(width: float, height: float, inertia: float) -> Corner:
    """Return it by hand: it turns about the left corner, then about the right one with 1 − 3/2 sin² α of the rate."""
    alpha = np.arctan2(width, height)
    rate = -(1.0 - 1.5 * np.sin(alpha) ** 2)
    rows = np.array([[0.0, 1.0, width], [1.0, 0.0, height]])  # the right corner, normal first
    inverse = np.diag([1.0, 1.0, 1.0 / inertia])
    return Corner(
        np.array([height, -width, -1.0]),
        np.array([-rate * height, -rate * width, rate]),
        rows @ inverse @ rows.T,
        rows,
        inverse,
    )


@pytest.mark.parametrize("bounce", [0.0, 0.3, 0.9])
def test_a_rocking_block(bounce: float) -> None:
    """The left corner leaves, the right one sticks; with Poisson's law it rebounds by e times Housner's impulse."""
    width, height = 0.1, 0.4
    found = {}
    for law in LAWS:
        block = rocking_block(width, height, lean=0.0, restitution=bounce, impact_law=law)
        hand = housner(width, height, block.inertia)
        found[law], motion = struck(block.system, [0.0, height, 0.0], hand.before)
        assert motion.status.ok
    normal = hand.compressed[1] - hand.before[1]  # of compression, for 1 kg
    W = hand.operator
    along = -W[0, 1] / W[1, 1] * bounce * normal
    truth = hand.compressed + hand.inverse @ hand.rows.T @ [bounce * normal, along]
    assert_allclose(found["poisson"], truth, atol=1e-12)
    approach = hand.rows @ hand.before
    wanted = np.linalg.solve(W, [-bounce * approach[0], 0.0] - approach)
    assert_allclose(found["newton"], hand.before + hand.inverse @ hand.rows.T @ wanted, atol=1e-12)
    assert_allclose(found["poisson"], found["newton"], atol=1e-12)  # as the corner comes without slip


# --- one contact with friction ------------------------------------------------------------------------

ANGLE, HALF, INERTIA = 0.9, 0.5, 1 / 12
# normal and tangential velocity of the lower end of a rod of 1 kg, of those of its centre and its rate
ROWS = np.array([[0.0, 1.0, -HALF * np.cos(ANGLE)], [1.0, 0.0, HALF * np.sin(ANGLE)]])
INVERSE = np.diag([1.0, 1.0, 1.0 / INERTIA])


def rod(friction: float, restitution: float, law: str) -> sr.System:
    """Return a rod without gravity that touches with its lower end."""
    mechanism = sr.Mechanism("rod", gravity=(0, 0, 0))
    mechanism.add_body("rod", 1.0, inertia=(INERTIA,) * 3)
    mechanism.add_joint("free", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact(
        "tip", "rod", (-HALF, 0, 0), friction="coulomb", friction_coefficient=friction,
        restitution=restitution, impact_law=law,
    )  # fmt: skip
    return sr.System(mechanism)


def routh(u: Array, friction: float, *, rate: float | None = None, impulse: float | None = None) -> tuple:
    """Return impulse and mode of one contact in the plane, which ends with a normal rate or has a normal impulse."""
    W = ROWS @ INVERSE @ ROWS.T
    if impulse is None:
        assert rate is not None
        found = np.linalg.solve(W, [rate - u[0], -u[1]])
    else:
        found = np.array([impulse, -(u[1] + W[1, 0] * impulse) / W[1, 1]])
    if abs(found[1]) <= friction * found[0]:
        return found, "sticks"
    for sign in (1.0, -1.0):
        normal = impulse if impulse is not None else (rate - u[0]) / (W[0, 0] + sign * friction * W[0, 1])
        found = np.array([normal, sign * friction * normal])
        if normal > 0.0 and sign * (u + W @ found)[1] < 0.0:
            return found, "slides"
    raise AssertionError("no impulse")


@pytest.mark.parametrize("friction", [0.3, 0.7])
def test_a_rod_hits_with_friction(friction: float) -> None:
    """Sticking or sliding in compression and in expansion, in all four combinations; closed forms."""
    bounce, seen, apart = 0.6, set(), {}
    W = ROWS @ INVERSE @ ROWS.T
    for slip in (-4.0, -1.0, -0.6, -0.3, -0.1, 0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0, 4.0):
        v = np.array([slip, -1.0, 0.0])
        u = ROWS @ v
        compression, first = routh(u, friction, rate=0.0)
        u = u + W @ compression
        expansion, second = routh(u, friction, impulse=bounce * compression[0])
        poisson, motion = struck(rod(friction, bounce, "poisson"), [0, HALF * np.sin(ANGLE), ANGLE], v)
        truth = v + INVERSE @ ROWS.T @ (compression + expansion)
        assert_allclose(poisson, truth, atol=1e-12)
        assert motion.status.ok
        whole, _ = routh(ROWS @ v, friction, rate=bounce)
        newton, _ = struck(rod(friction, bounce, "newton"), [0, HALF * np.sin(ANGLE), ANGLE], v)
        assert_allclose(newton, v + INVERSE @ ROWS.T @ whole, atol=1e-12)
        way = first, second
        seen.add(way)
        apart[way] = max(apart.get(way, 0.0), float(np.abs(poisson - newton).max()))
        if way == ("slides", "slides"):  # friction goes one way, so that both laws say the same of it
            if compression[1] * expansion[1] > 0.0:
                assert_allclose(poisson, newton, atol=1e-12)
        elif way == ("sticks", "sticks"):
            rise = bounce * (-(ROWS @ v)[0] + W[0, 1] / W[1, 1] * (ROWS @ v)[1])
            assert (ROWS @ poisson)[0] == pytest.approx(rise, abs=1e-12)
    wanted = {("slides", "slides"), ("sticks", "slides" if friction == 0.3 else "sticks")}
    assert wanted <= seen
    assert max(apart.values()) > 0.02


def test_newtons_law_creates_energy_where_poissons_does_not() -> None:
    """The end of a rod slips slowly and sticks: e = 1 gives back more than there was, and the run says so."""
    q, v = [0, HALF * np.sin(ANGLE), ANGLE], [0.3, -1.0, 0.0]
    with pytest.warns(sr.AccuracyWarning, match="contacts have created 0.0853? J.*impact_law"):
        after, motion = struck(rod(0.7, 1.0, "newton"), q, v)
    assert motion.status is sr.Status.INACCURATE
    before, masses = 0.5 * (0.3**2 + 1.0), np.array([1.0, 1.0, INERTIA])
    assert 0.5 * masses @ after**2 > 1.1 * before
    after, motion = struck(rod(0.7, 1.0, "poisson"), q, v)
    assert motion.status.ok
    assert 0.5 * masses @ after**2 < before


def test_an_impact_without_collision_has_a_compression_and_an_expansion() -> None:
    """Painlevé's rod jams while it slides: Newton's law lets its end stop, Poisson's throws it up."""
    angle, friction, bounce = 0.9, 2.5, 0.5
    for law in LAWS:
        mechanism = sr.Mechanism("rod")
        mechanism.add_body("rod", 1.0, inertia=(1 / 3,) * 3)
        mechanism.add_joint("free", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
        mechanism.add_contact(
            "tip", "rod", (-1, 0, 0), friction="coulomb", friction_coefficient=friction,
            restitution=bounce, impact_law=law,
        )  # fmt: skip
        rows = np.array([[0.0, 1.0, -np.cos(angle)], [1.0, 0.0, np.sin(angle)]])
        W = rows @ np.diag([1.0, 1.0, 3.0]) @ rows.T
        after, motion = struck(sr.System(mechanism), [0.0, np.sin(angle), angle], [-1.0, 0.0, 0.0])
        rise, slip = rows @ after
        assert motion.status.ok
        assert slip == pytest.approx(0.0, abs=1e-6)
        # Λ_n of sticking is W_nt u_t / det W, and R = e Λ_n raises the end by e Λ_n det W / W_tt
        truth = 0.0 if law == "newton" else bounce * W[0, 1] * -1.0 / W[1, 1]
        assert rise == pytest.approx(truth, abs=1e-6)


# --- random impacts -----------------------------------------------------------------------------------


class Impact(NamedTuple):
    """Contacts with their numbers of rows and μ, rows of a unit mass, and the velocities of these."""

    contacts: list[tuple[int, float]]
    rows: Array
    velocities: Array
    heads: list[int]


def random_impact(rng: np.random.Generator) -> Impact:
    """Return 1 to 8 contacts of 1 to 6 rows, torsion and rolling among them, on 2 to 12 velocities."""
    contacts = []
    for _ in range(rng.integers(1, 9)):
        size = int(rng.integers(1, 7))
        contacts.append((size, 0.0 if size == 1 else float(rng.choice([0.0, 0.2, 0.7, 1.5]))))
    heads = np.cumsum([0, *(size for size, _ in contacts)])[:-1].tolist()
    rows = rng.standard_normal((sum(size for size, _ in contacts), int(rng.integers(2, 13))))
    first = np.abs(rows[heads, 0]) + 0.5
    rows[:, 0] = 0.0
    rows[heads, 0] = first  # one way opens them all, without slip: then there are impulses
    v = rng.standard_normal(rows.shape[1])
    v[0] -= 2.0
    return Impact(contacts, rows, rows @ v, heads)


class Struck(NamedTuple):
    """Impulses of compression and of the whole impact."""

    compression: Array
    whole: Array


def strike(impact: Impact, rebounds: Array, expansions: dict[int, float]) -> Struck:
    """Return what the laws say."""
    stages = []

    def solve(chosen: list[int], b: Array, contacts: list, dry: list) -> Array:
        stages.append(solve_contact_problem(impact.rows[chosen], b, contacts, dry).forces)
        return stages[-1]

    operator = impact.rows @ impact.rows.T
    whole = impulses(solve, operator, impact.velocities, impact.contacts, rebounds, expansions)
    return Struck(stages[0], whole)


def violation(r: Array, u: Array, friction: float, least: float) -> float:
    """Return by how much r_n ≥ least ⊥ u_n ≥ 0 and Coulomb's law of greatest dissipation are missed."""
    slip, size = float(np.linalg.norm(u[1:])), float(np.linalg.norm(r[1:]))
    return max(
        -u[0], least - r[0], min(abs(u[0]), abs(r[0] - least)), size - friction * r[0],
        abs(r[1:] @ u[1:] + friction * r[0] * slip),
    )  # fmt: skip


@pytest.mark.parametrize("common", [True, False])
def test_random_impacts_obey_the_conditions_of_compression_and_expansion(common: bool) -> None:
    redundant = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        impact = random_impact(rng)
        count, W = len(impact.contacts), impact.rows @ impact.rows.T
        e = np.full(count, rng.uniform()) if common else rng.uniform(size=count)
        compression, whole = strike(impact, np.zeros(count), dict(enumerate(e.tolist())))
        expansion = whole - compression
        middle = impact.velocities + W @ compression
        after = impact.velocities + W @ whole
        worst, rubbed = 0.0, 0.0
        for (size, friction), head, bounce in zip(impact.contacts, impact.heads, e):
            own = slice(head, head + size)
            worst = max(worst, violation(compression[own], middle[own], friction, 0.0))
            least = bounce * compression[head]
            worst = max(worst, violation(expansion[own], after[own], friction, least))
            rubbed -= compression[own][1:] @ middle[own][1:]
        assert worst < 1e-9
        redundant += np.linalg.matrix_rank(W) < len(W)
        change = whole @ (impact.velocities + 0.5 * W @ whole)
        pressed = compression @ W @ compression
        if common:
            bound = -(1.0 + e[0]) * rubbed - 0.5 * (1.0 - e[0] ** 2) * pressed
            assert change <= bound + 1e-9 * (1.0 + pressed)
        elif not any(friction for _, friction in impact.contacts):
            assert change <= 1e-9 * (1.0 + pressed)
    assert redundant > 100


def test_frictionless_impacts_create_no_energy_with_any_coefficients() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        impact = random_impact(rng)
        rows = impact.rows[impact.heads]
        smooth = Impact([(1, 0.0)] * len(rows), rows, impact.velocities[impact.heads], list(range(len(rows))))
        e = rng.integers(0, 2, len(rows)).astype(float)
        _, whole = strike(smooth, np.zeros(len(rows)), dict(enumerate(e.tolist())))
        change = whole @ (smooth.velocities + 0.5 * rows @ (rows.T @ whole))
        assert change <= 1e-9 * (1.0 + whole @ rows @ rows.T @ whole)


def test_friction_and_different_coefficients_may_create_energy() -> None:
    """Two contacts with μ = 3 in a plane, e = 1 and 0, that obey all conditions."""
    rows = np.array([[1.0, 2, 2, 3], [0, 2, 1, -3], [1, -1, 3, 1], [0, -1, -2, -3]])
    v, W = np.array([-3.0, 0.0, -1.0, 2.0]), rows @ rows.T
    impact = Impact([(2, 3.0)] * 2, rows, rows @ v, [0, 2])
    compression, whole = strike(impact, np.zeros(2), {0: 1.0, 1: 0.0})
    middle, after, expansion = rows @ v + W @ compression, rows @ v + W @ whole, whole - compression
    for own, bounce in ((slice(0, 2), 1.0), (slice(2, 4), 0.0)):
        assert violation(compression[own], middle[own], 3.0, 0.0) < 1e-9
        assert violation(expansion[own], after[own], 3.0, bounce * compression[own][0]) < 1e-9
    before, energy = 0.5 * v @ v, 0.5 * np.square(v + rows.T @ whole).sum()
    assert 0.5 * np.square(v + rows.T @ compression).sum() < before
    assert energy > 2.0 * before


def test_both_laws_in_one_impact() -> None:
    """Contacts with Newton's law have all of their impulse in the second problem, where they rebound."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        impact = random_impact(rng)
        count, W = len(impact.contacts), impact.rows @ impact.rows.T
        kinetic, e = rng.integers(0, 2, count).astype(bool), rng.uniform(size=count)
        approach = impact.velocities[impact.heads]
        rebounds = np.where(kinetic, 0.0, np.maximum(0.0, -e * approach))
        expansions = {k: float(e[k]) for k in np.flatnonzero(kinetic).tolist()}
        compression, whole = strike(impact, rebounds, expansions)
        after = impact.velocities + W @ whole
        for k, ((size, friction), head) in enumerate(zip(impact.contacts, impact.heads)):
            own = slice(head, head + size)
            u = after[own].copy()
            if kinetic[k]:
                least = e[k] * compression[head]
                assert violation(whole[own] - compression[own], u, friction, least) < 1e-9
            else:
                u[0] -= rebounds[k]
                assert violation(whole[own], u, friction, 0.0) < 1e-9


# --- runs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_box_thrown_on_a_floor_comes_to_rest(seed: int) -> None:
    rng, half = np.random.default_rng(seed), np.array([0.15, 0.1, 0.05])
    mechanism = body("box", 1.0, inertia=0.01)
    for k, corner in enumerate(product(*((x, -x) for x in half))):
        mechanism.add_contact(
            f"c{k}", "box", corner, friction="coulomb", friction_coefficient=(0.0, 0.3, 0.6, 1.2)[seed],
            restitution=0.5, impact_law="poisson",
        )  # fmt: skip
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 0.5
    q[3:] = rng.standard_normal(4)
    motion = run(system, system.normalized(q), rng.standard_normal(6), 3.0)
    assert motion.status.ok
    assert balance(motion) < 1e-7
    assert np.diff(motion.contact_loss).min() > -1e-9
    assert len(times(motion, "bounced")) > 3
    if seed:
        assert np.abs(motion.v[-1]).max() < 1e-9


def test_a_foot_that_falls_flat_rebounds_with_redundant_contacts() -> None:
    """Four corners, 12 rows of rank 6, come straight down with 1 m/s, and e of it goes up again."""
    for law in LAWS:
        mechanism = body("foot", 1.0, inertia=0.01)
        mechanism.add_contact_patch(
            "sole", "foot", (0, 0, -0.1), extent=(0.1, 0.05), friction="coulomb", friction_coefficient=0.4,
            restitution=0.5, impact_law=law,
        )  # fmt: skip
        assert {contact.impact_law for contact in mechanism.contacts.values()} == {law}
        system = sr.System(mechanism)
        q = system.neutral()
        q[2] = 0.1
        after, motion = struck(system, q, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
        assert_allclose(after, [0.0, 0.0, 0.5, 0.0, 0.0, 0.0], atol=1e-12)
        assert motion.switches[0].energy_loss == pytest.approx(0.375, abs=1e-12)


# --- the description, and what refuses it -------------------------------------------------------------


def test_the_law_is_part_of_the_description() -> None:
    mechanism = body()
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=0.1, impact_law="poisson")
    assert from_json(to_json(mechanism)).contacts["c"].impact_law == "poisson"
    mechanism.add_geom("ball", "block", "sphere", (0.1,), friction=0.3)
    assert mechanism.add_floor_contacts(restitution=0.4, impact_law="poisson")[0].impact_law == "poisson"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impact_law": "stronge"}, r"contact 'c': .*impact_law.*'stronge'.*newton.*poisson"),
        (
            {"impact_law": "poisson", "friction": "stick"},
            r"contact 'c': impact_law='poisson' is for friction='coulomb'",
        ),
    ],
)
def test_other_laws_and_contacts_are_refused_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(sr.ModelError, match=message):
        body().add_contact("c", "block", **({"friction": "coulomb", "friction_coefficient": 0.1} | options))
