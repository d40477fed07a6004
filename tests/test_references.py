"""Constrained reference problems with known digits; each one names its source.

A01, A02 and A04 are problems of the IFToMM multibody benchmark library; their digits here come from closed
forms at 20 digits and more. Every other planar reference is a closed form, or an integration of a minimal
model whose digits stood still when its tolerance was tightened from 1e-10 to 1e-13.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus as sr

G = 9.81
AXIS = (0, -1, 0)  # in the x-z plane: positive angles lift +x towards +z


def at(motion: sr.Trajectory, time: float) -> int:
    """Return the index of a sample time."""
    index = int(np.argmin(np.abs(motion.t - time)))
    assert abs(motion.t[index] - time) < 1e-9
    return index


def pendulum(stiffness: float, angle: float, times: list[float], rate: float = 0.0) -> np.ndarray:
    """Return θ at times of θ″ = stiffness × sin θ."""

    def slope(t: float, y: np.ndarray) -> list[float]:
        return [y[1], stiffness * np.sin(y[0])]

    return solve_ivp(slope, (0, times[-1]), [angle, rate], "DOP853", times, rtol=1e-13, atol=1e-14).y[0]


def planar_four_bar(ground: float, links: list[tuple[float, float, float, float]]) -> sr.Mechanism:
    """Return a four-bar in the x-z plane from (length, mass, centre of mass, inertia) of its links.

    Coordinates driver, coupler (relative) and follower [rad].
    """
    mechanism = sr.Mechanism("planar_four_bar")
    places = (("driver", "world", 0.0), ("coupler", "driver", links[0][0]), ("follower", "world", ground))
    for (name, parent, x), (_, mass, com, moment) in zip(places, links):
        mechanism.add_body(name, mass, com=(com, 0, 0), inertia=(0.0, moment, moment))
        mechanism.add_joint(name, "revolute", parent, name, axis=AXIS, parent_pose=(x, 0, 0))
    ends = {"pose1": (links[1][0], 0, 0), "pose2": (links[2][0], 0, 0)}
    mechanism.add_closure("pin", "point_on_line", "coupler", "follower", axis=(0, 1, 0), **ends)
    return mechanism


# --- A01: particle on a circle --------------------------------------------------------------------

PARTICLE = {
    1.0: (0.9862917511318753, -0.1650108531255412, 0.2969055159163158, 1.774643641112656),
    5.0: (-0.9423054350437573, -0.3347543384140006, 0.8579042568859491, -2.414928654370489),
    9.99: (-0.3164364699130323, -0.9486137045757765, 4.092451991494021, -1.365151120240305),
    10.0: (-0.2750874625761169, -0.9614192050991251, 4.175598100951729, -1.194749054560475),
}


@pytest.mark.parametrize("method", [{"dt": 1e-3}, {"dt": 1e-2, "rtol": 1e-12, "atol": 1e-13}])
def test_particle_on_a_circle(example, method):
    system = sr.System(example("particle_on_circle").build())
    motion = sr.simulate(system, [-1.0, 0.0], duration=10.0, **method)
    for time, digits in PARTICLE.items():
        k = at(motion, time)
        assert np.abs(np.concatenate([motion.q[k], motion.v[k]]) - digits).max() < 2e-9


# --- A02: chain of four-bars ----------------------------------------------------------------------

# (x, y, ẋ, ẏ) of the first tip by time, from θ = 2 am(t/2 | −4κ)
CHAIN = {
    2: {
        0.5: (0.69528663316440051, 0.71873256343574162, 1.9602054253718332, -1.8962611405865767),
        1: (-0.19502030194943509, -0.98079920566217383, -6.6766780368811581, 1.3275783251604872),
        2: (0.057815795768011432, 0.99832726786345548, 1.0172601366204365, -0.058912248713445648),
        4: (0.11761610237680861, 0.9930591384513251, 1.0690392650289686, -0.12661504916672028),
        5: (-0.81131046100510741, -0.58461554534897555, -3.5691173971932092, 4.953105171313327),
        10: (0.32845811154081538, 0.94451853817860096, 1.4230514702069441, -0.49486884548704296),
    },
    40: {
        1: (-0.1153568806321099, -0.99332411130045019, -6.6699875239417716, 0.77460009866234332),
        2: (0.034466307300407162, 0.99940586032956296, 1.0059511728141094, -0.034692034165161765),
    },
}
# N: (turn [s], time of the first singular configuration [s])
TURNS = {
    1: (1.9237118173389658517, 0.70845000883575886919),
    2: (1.9425149226070836835, 0.71435552929296047246),
    5: (1.9563683466584828962, 0.71869457942009652585),
    40: (1.965601928704650439, 0.72158102482565682761),
}


@pytest.mark.parametrize(
    ("n", "duration", "dt"), [(1, 10.0, 1e-3), (2, 10.0, 1e-3), (5, 10.0, 1e-3), (40, 2.0, 2.5e-3)]
)
def test_four_bar_chain(example, n, duration, dt):
    module = example("four_bar_chain")
    system = sr.System(module.build(n))
    motion = sr.simulate(system, *module.start(system), duration=duration, dt=dt)
    allowed = 1e-7 if n == 40 else 1e-6
    angle, rate = motion.q[:, 0], motion.v[:, 0]
    tip = np.stack([np.sin(angle), np.cos(angle), rate * np.cos(angle), -rate * np.sin(angle)], axis=1)
    for time, digits in CHAIN.get(n, {}).items():
        error = np.abs(tip[at(motion, time)] - digits)
        assert error[:2].max() < allowed, (time, error)
        assert error[2:].max() < 10 * allowed, (time, error)
    kappa = 3 * (3 * n + 1) / (2 * (4 * n + 1)) * G
    times = np.linspace(0.0, duration, 41)[1:]
    exact = pendulum(kappa, 0.0, list(times), rate=1.0)
    assert max(abs(angle[at(motion, t)] - x) for t, x in zip(times, exact)) < allowed
    # All cranks stay parallel, all couplers level.
    cranks = [i for i, name in enumerate(system.coordinate_names) if name.startswith("crank")]
    assert np.abs(motion.q[:, cranks] - angle[:, None]).max() < allowed
    assert motion.residual.max() < 1e-13
    assert set(motion.dof) == {1}
    turn, first = TURNS[n]
    crossed = [p for p in motion.passages if p.crossed]
    expected = [k * turn + s for k in range(6) for s in (first, turn - first) if k * turn + s < duration]
    atol = allowed / np.abs(
        np.interp(expected[0], motion.t, rate)
    )  # where the cranks are so near, they pass so late
    assert np.allclose([p.time for p in crossed], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_chain_loses_n_ranks_when_all_links_lie_on_one_line(example, n):
    module = example("four_bar_chain")
    system = sr.System(module.build(n))
    q, v = module.start(system)
    q = 0.5 * np.pi * v  # every crank horizontal, every coupler too
    forward = system.forward_dynamics(q, v)
    assert forward.status is sr.Status.SINGULAR
    assert (forward.rank, forward.dof) == (n, n + 1)


# --- A04: Bricard's linkage -----------------------------------------------------------------------

BRICARD = {
    0.5: (0.77471780803923344, -0.97981504765566899, -0.19990615895344272),
    1.0: (0.27448131926462304, -0.88670793873467202, -0.46233000268737604),
    1.25: (-0.0023061004440247541, -0.86602693898201482, -0.49999734095037103),
    2.0: (-0.77813537303329089, -0.98035268344325656, -0.19725267061717062),
    2.5: (-0.99998318529279108, -0.99999999985863519, -1.6814565841733718e-5),
    4.0: (0.28355107908174293, -0.88802281412304672, -0.45979939277578958),
    5.0: (0.99993274230211708, -0.99999999773835316, -6.7255436083961457e-5),
    10.0: (0.99973098730383535, -0.99999996382581727, -2.689765122493046e-4),
}


@pytest.mark.parametrize(("free", "rank", "allowed"), [(False, 4, 1e-11), (True, 29, 1e-8)])
def test_bricard(example, free, rank, allowed):
    module = example("bricard")
    system = sr.System(module.build(free))
    motion = sr.simulate(system, system.neutral(), duration=10.0, dt=1e-3)
    for time, digits in BRICARD.items():
        error = np.abs(module.third_corner(system, motion.q[at(motion, time)]) - digits).max()
        assert error < allowed, (time, error)
    assert set(motion.rank) == {rank}
    assert motion.energy_drift < 1e-8
    start = system.forward_dynamics(system.neutral(), np.zeros(system.nv))
    assert start.status is sr.Status.OK
    assert len(start.redundant) > 0
    assert abs(motion.energy[0] + 29.43) < 1e-12


# --- four-bars of other libraries' tests ----------------------------------------------------------


def test_four_bar_of_rigid_body_dynamics_jl():
    """Data of RigidBodyDynamics.jl, test/test_simulate.jl (MIT); absolute angles of the three links."""
    links = [(0.5, 0.5, 0.25, 0.333), (1.2, 1.0, 0.6, 0.537), (0.75, 0.75, 0.375, 0.4)]
    system = sr.System(planar_four_bar(1.10, links))
    p = np.array([1.670796326794897, 0.211690910129948, 1.539730360262554])
    to_absolute = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    q = system.assemble(np.linalg.solve(to_absolute, p), locked=["driver"]).q
    assert np.abs(to_absolute @ q - p).max() < 1e-12
    start = system.forward_dynamics(q, np.zeros(3))
    assert np.allclose(to_absolute @ start.a, (0.26951221, 0.0151195, 0.18394883), rtol=0, atol=1e-8)
    assert abs(system.potential_energy(q) - 10.095077774852) < 1e-12
    motion = sr.simulate(system, q, duration=5.0, dt=5e-4)
    angles, rates = motion.q @ to_absolute.T, motion.v @ to_absolute.T
    force = np.linalg.norm(motion.multipliers, axis=1)
    for time, digits, speeds, pull in (
        (
            1.0,
            (1.919887590653, 0.229611120960, 1.707913636477),
            (0.78885826514, 0.06945017924, 0.52439773043),
            4.84810629,
        ),
        (
            2.0,
            (5.303540218420, 1.142936307334, 2.016665602469),
            (3.99122033804, -0.31400443960, -2.95531334372),
            9.48602141,
        ),
    ):
        k = at(motion, time)
        assert np.abs(angles[k] - digits).max() < 1e-11
        assert np.abs(rates[k] - speeds).max() < 1e-10
        assert abs(force[k] - pull) < 1e-7
    assert np.abs(angles[-1] - (7.6239186654, 0.2002505991, 1.3146173977)).max() < 1e-9
    assert motion.energy_drift < 1e-8
    assert motion.residual.max() < 1e-10


# The parallelogram upright, and its direction when the cranks lean by 1 rad towards +x.
UPRIGHT, LEAN = np.array([1.0, -1.0, 1.0]) * np.pi / 2, np.array([-1.0, 1.0, -1.0])


def parallel_four_bar(ground: float, rods: list[tuple[float, float, float]]) -> sr.System:
    """Return a parallelogram of rods (length, mass, inertia)."""
    links = [(length, mass, length / 2, moment) for length, mass, moment in rods]
    return sr.System(planar_four_bar(ground, links))


def test_four_bar_of_the_pinocchio_example():
    """Data of Pinocchio, examples/simulation-closed-kinematic-chains.py (BSD-2); θ from the vertical.

    It passes a singular configuration at 0.82 s. Starts moved by 1e-15 end with a θ up to 6e-14 and an energy up to
    3e-12 J away (24 runs): what the projection in the kinetic metric adds there is at right angles to the motion.
    """

    def box(length: float, mass: float) -> tuple[float, float, float]:
        return length, mass, mass / 12 * (length**2 + 0.01)

    system = parallel_four_bar(1.0, [box(0.6, 5.0), box(1.0, 10.0), box(0.6, 5.0)])
    motion = sr.simulate(system, UPRIGHT + 0.1 * LEAN, duration=1.0, dt=2.5e-4)
    theta = np.pi / 2 - motion.q[:, 0]
    assert abs(theta[at(motion, 0.5)] - 0.42978486419350231) < 1e-10
    assert abs(theta[-1] - 2.943202356854767) < 1e-11
    assert motion.energy_drift < 1e-9


def test_parallelogram_of_the_drake_test():
    """Data of Drake, auto_closed_topology_test.cc (BSD-3): θ″ = 1.25 g sin θ from the vertical."""
    system = parallel_four_bar(2.0, [(1.0, 1.0, 1 / 12), (2.0, 1.0, 4 / 12), (1.0, 2.0, 2 / 12)])
    for angle in (0.1, 0.7, -1.1):
        q = UPRIGHT + angle * LEAN
        assert abs(-system.forward_dynamics(q, np.zeros(3)).a[0] - 1.25 * G * np.sin(angle)) < 1e-12
    times = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    for dt in (1e-3, 5e-4, 2e-4, 1e-4):  # through two singular configurations, no worse where steps are short
        motion = sr.simulate(system, UPRIGHT + 0.1 * LEAN, duration=3.0, dt=dt, error_estimate=False)
        theta = [np.pi / 2 - motion.q[at(motion, t), 0] for t in times]
        assert np.abs(theta - pendulum(1.25 * G, 0.1, times)).max() < 1e-10


# --- planar closed forms --------------------------------------------------------------------------


def slider_crank() -> sr.Mechanism:
    """Return r = 0.2, l = 0.5, the slide at y = 0.05, in the x-y plane, motor on the crank."""
    mechanism = sr.Mechanism("offset_slider_crank", gravity=(0, -G, 0))
    mechanism.add_body("crank", 1.0, com=(0.1, 0, 0), inertia=(0.0, 0.004, 0.004))
    mechanism.add_body("rod", 0.8, com=(0.2, 0, 0), inertia=(0.0, 0.02, 0.02))
    mechanism.add_body("slider", 1.5)
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("rod", "revolute", "crank", "rod", parent_pose=(0.2, 0, 0))
    mechanism.add_joint("slider", "prismatic", "world", "slider", axis=(1, 0, 0), parent_pose=(0, 0.05, 0))
    mechanism.add_closure("pin", "point_on_line", "slider", "rod", pose2=(0.5, 0, 0))
    mechanism.add_actuator("motor", "crank")
    return mechanism


# θ: (x, x′, M, θ″ at θ′ = 3)
SLIDER_CRANK = {
    0.3: (0.6909844073857166, -0.0625835873277502, 0.03623829604479928, -58.43711851594743),
    1.2: (0.5535047175361804, -0.2069587620176662, 0.1105185707936082, -7.398458030284329),
    2.8: (0.3112665289168867, None, None, 54.11333077024953),
    5.0: (0.4943853634226404, None, None, -5.482539838547319),
}


@pytest.mark.parametrize("theta", SLIDER_CRANK)
def test_offset_slider_crank(theta):
    x, slope, inertia, acceleration = SLIDER_CRANK[theta]
    system = sr.System(slider_crank())
    q = system.assemble([theta, -theta, 0.5], locked=["crank"]).q
    v = 3.0 * _unit_rate(system, q, 0)
    forward = system.forward_dynamics(q, v)
    assert abs(q[2] - x) < 1e-13
    assert abs(forward.a[0] - acceleration) < 1e-10
    if slope is not None:
        assert abs(v[2] / 3 - slope) < 1e-13
        assert abs(v @ system.mass_matrix(q) @ v / 9 - inertia) < 1e-14
    if theta == 0.3:
        assert abs(q[0] + q[1] + 0.01820908891524485) < 1e-13
        assert abs(system.forward_dynamics(q, v, [2.117661600785925]).a[0]) < 1e-10
        steady = np.array(forward.a) - forward.a[0] * v / 3
        assert abs(system.inverse_dynamics(q, v, steady).u[0] - 2.117661600785925) < 1e-11


@pytest.mark.parametrize("theta", [0.07148944988552053, 3.309040732809483])
def test_slider_crank_at_its_dead_centres(theta):
    system = sr.System(slider_crank())
    q = system.assemble([theta, -theta, 0.5], locked=["crank"]).q
    assert abs(_unit_rate(system, q, 0)[2]) < 1e-12
    # The slider cannot drive the crank from there: with the slider held, the rank of the rest drops.
    rest = system.constraint_jacobian(q)[:, :2]
    assert np.linalg.svd(rest, compute_uv=False)[-1] < 1e-12


def _unit_rate(system: sr.System, q: np.ndarray, index: int) -> np.ndarray:
    """Return the admissible velocity of a one-degree-of-freedom system with v[index] = 1."""
    v = system.project_velocity(q, np.eye(system.nv)[index])
    return v / v[index]


# crank angle, branch: coupler angle, rocker angle, d(coupler)/d(crank), d(rocker)/d(crank)
GRASHOF = [
    (0.5, "+", 0.6672154347734511, 1.396659664013166, None, -0.0832450179286388),
    (0.5, "-", -1.028858056621827, -1.758302285861541, None, -0.4997187312597778),
    (2.0, "+", 0.5385784782473175, 1.732294824993769, 0.07112686830226537, 0.3563793841321765),
    (4.0, "+", 0.9253551148508015, 2.192572628925079, 0.2546790889913467, 0.02336780156476265),
]


@pytest.mark.parametrize(("crank", "branch", "coupler", "rocker", "coupler_rate", "rocker_rate"), GRASHOF)
def test_grashof_four_bar(crank, branch, coupler, rocker, coupler_rate, rocker_rate):
    """Crank 0.1, coupler 0.4, rocker 0.3, ground 0.35 m."""
    links = [(length, 1.0, length / 2, length**2 / 12) for length in (0.1, 0.4, 0.3)]
    system = sr.System(planar_four_bar(0.35, links))
    bend = (0.6, 1.6) if branch == "+" else (-1.0, -1.8)
    q = system.assemble([crank, bend[0] - crank, bend[1]], locked=["driver"]).q
    assert abs(q[0] + q[1] - coupler) < 1e-12
    assert abs(q[2] - rocker) < 1e-12
    v = _unit_rate(system, q, 0)
    assert abs(v[2] - rocker_rate) < 1e-12
    if coupler_rate is not None:
        assert abs(v[0] + v[1] - coupler_rate) < 1e-12


@pytest.mark.parametrize("crank", [0.6315000429113827, 4.089562394972687])
def test_rocker_turns_round_where_crank_and_coupler_are_in_line(crank):
    links = [(length, 1.0, length / 2, length**2 / 12) for length in (0.1, 0.4, 0.3)]
    system = sr.System(planar_four_bar(0.35, links))
    q = system.assemble([crank, 0.8 - crank, 1.6], locked=["driver"]).q
    assert abs(_unit_rate(system, q, 0)[2]) < 1e-12
    assert abs(np.sin(q[1])) < 1e-12


def test_five_bar_end_point_and_its_jacobian():
    """Bases 0.4 m apart, proximal links 0.3 m, distal 0.45 m, upper assembly."""
    mechanism = sr.Mechanism("five_bar_manipulator")
    for side, x in (("left", 0.0), ("right", 0.4)):
        for part, parent, base, length in (
            ("proximal", "world", x, 0.3),
            ("distal", f"{side}_proximal", 0.3, 0.45),
        ):
            name = f"{side}_{part}"
            mechanism.add_body(name, length, com=(length / 2, 0, 0), inertia=(0.0, 0.01, 0.01))
            mechanism.add_joint(name, "revolute", parent, name, axis=AXIS, parent_pose=(base, 0, 0))
    ends = {"pose1": (0.45, 0, 0), "pose2": (0.45, 0, 0)}
    mechanism.add_closure("tip", "point_on_line", "left_distal", "right_distal", axis=(0, 1, 0), **ends)
    system = sr.System(mechanism)

    def tip(q: np.ndarray) -> np.ndarray:
        total = q[0] + q[1]
        return 0.3 * np.array([np.cos(q[0]), np.sin(q[0])]) + 0.45 * np.array([np.cos(total), np.sin(total)])

    for left, right, digits in (
        (2.2, 0.9, (0.2073273741938115, 0.4773635379151979)),
        (1.8, 1.1, (0.2476218199942547, 0.6127497435062223)),
        (2.4, 0.7, (0.2057354406965351, 0.3448031605127493)),
    ):
        guess = [left, 0.8 - left, right, 2.3 - right]
        q = system.assemble(guess, locked=["left_proximal", "right_proximal"]).q
        assert np.abs(tip(q) - digits).max() < 1e-13
        if left != 2.2:
            continue
        _, _, right_vectors = np.linalg.svd(system.constraint_jacobian(q))
        basis = right_vectors[2:].T
        rates = basis @ np.linalg.inv(basis[[0, 2]])  # columns: left or right proximal at 1 rad/s
        total = q[0] + q[1]
        arm = np.array([[-np.sin(q[0]), -np.sin(total)], [np.cos(q[0]), np.cos(total)]]) * (0.3, 0.45)
        jacobian = arm @ np.array([rates[0], rates[0] + rates[1]])
        expected = [[-0.17912938813947, -0.1732032057375], [-0.28022933691336, 0.28315464679714]]
        assert np.abs(jacobian - expected).max() < 1e-12


# --- spatial linkages -----------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0.5, 1.0, 2.0, 3.0])
def test_bennett(example, theta):
    module = example("bennett")
    system = sr.System(module.build("weld"))
    q = module.closed(theta, 4)
    values = np.linalg.svd(system.constraint_jacobian(q), compute_uv=False)
    assert values[2] > 1e-2
    assert values[3] < 1e-14
    forward = system.forward_dynamics(q, np.zeros(4))
    assert (system.nc, forward.rank, forward.dof, forward.status) == (6, 3, 1, sr.Status.OK)
    rates = _unit_rate(system, q, 0)
    assert abs(rates[1] - (module.closed(theta + 1e-5, 4) - module.closed(theta - 1e-5, 4))[1] / 2e-5) < 1e-8


@pytest.mark.parametrize(
    ("yaw", "determinant"), [(0.0, -1.0358267667267), (45.0, -0.514575957122164), (90.0, 0.0), (-90.0, 0.0)]
)
def test_gough_stewart_platform_over_its_yaw(example, yaw, determinant):
    module = example("stewart")
    pose = sr.Pose.of((0, 0, 1), rpy=(0, 0, np.deg2rad(yaw)))
    assert abs(module.determinant(pose) - determinant) < 1e-12
    system = sr.System(module.build())
    q = module.configuration(pose)
    hold = system.inverse_dynamics(q, np.zeros(24), np.zeros(24), throw=False)
    singular = determinant == 0.0
    assert hold.actuation_rank == (5 if singular else 6)
    assert hold.status is (sr.Status.NOT_ACHIEVABLE if singular else sr.Status.OK)


# --- redundant statics ----------------------------------------------------------------------------


def test_table_on_four_legs():
    """Load 100 N at (0.15, −0.1) on legs at (±0.6, ±0.4): W/4 (1 + x ξ/a² + y η/b²) each, of minimum norm."""
    corners = [(0.6, 0.4), (-0.6, 0.4), (-0.6, -0.4), (0.6, -0.4)]
    mechanism = sr.Mechanism("table")
    mechanism.add_body("table", 100 / G, com=(0.15, -0.1, 0), inertia=(1.0, 1.0, 1.5))
    mechanism.add_joint("table", "free", "world", "table")
    for k, (x, y) in enumerate(corners):
        mechanism.add_closure(f"leg{k}", "point_on_plane", "world", "table", pose1=(x, y, 0), pose2=(x, y, 0))
    system = sr.System(mechanism)
    forward = system.forward_dynamics(system.neutral(), np.zeros(6))
    assert (forward.rank, forward.status) == (3, sr.Status.OK)
    assert np.allclose(forward.multipliers, (25.0, 12.5, 25.0, 37.5), rtol=0, atol=1e-11)
    assert not forward.determined.any()
    assert np.abs(forward.a).max() < 1e-12


def test_beam_between_two_pins():
    """Beam of 2 m, 50 N down at 0.7 m, 8 N along it: 32.5 and 17.5 N are unique, −4 N each of least norm."""
    mechanism = sr.Mechanism("beam", gravity=(0, 0, 0))
    mechanism.add_body("beam", 3.0, com=(1.0, 0, 0), inertia=(0.1, 1.0, 1.0))
    mechanism.add_joint("beam", "free", "world", "beam")
    for name, x in (("left", 0.0), ("right", 2.0)):
        mechanism.add_closure(name, "point", "world", "beam", pose1=(x, 0, 0), pose2=(x, 0, 0))
    system = sr.System(mechanism)
    forward = system.forward_dynamics(system.neutral(), np.zeros(6), tau=[8.0, 0, -50.0, 0, 35.0, 0])
    assert (forward.rank, forward.dof, forward.status) == (5, 1, sr.Status.OK)
    left, right = forward.closure_force("left"), forward.closure_force("right")
    assert np.allclose([left["left.z"], right["right.z"]], (32.5, 17.5), rtol=0, atol=1e-11)
    assert np.allclose([left["left.x"], right["right.x"]], (-4.0, -4.0), rtol=0, atol=1e-11)
    assert forward.redundant == ("left.x", "right.x")


@pytest.mark.parametrize("kind", ["point", "revolute"])
def test_door_on_two_hinges(kind):
    """25 kg, centre of mass 0.45 m off the axis at z = 1, hinges at z = 0.2 and 1.8."""
    mechanism = sr.Mechanism("door")
    mechanism.add_body("door", 25.0, com=(0.45, 0, 1.0), inertia=(2.0, 4.0, 2.0))
    mechanism.add_joint("door", "free", "world", "door")
    for name, z in (("lower", 0.2), ("upper", 1.8)):
        mechanism.add_closure(name, kind, "world", "door", pose1=(0, 0, z), pose2=(0, 0, z))
    system = sr.System(mechanism)
    forward = system.forward_dynamics(system.neutral(), np.zeros(6))
    assert (system.nc, forward.rank, forward.dof) == (6 if kind == "point" else 10, 5, 1)
    assert forward.status is sr.Status.OK
    assert np.abs(forward.a).max() < 1e-12
    lower, upper = forward.closure_force("lower"), forward.closure_force("upper")
    assert np.allclose([lower["lower.z"], upper["upper.z"]], 122.625, rtol=0, atol=1e-10)
    weight = 25 * G
    assert np.allclose(forward.constraint_force, (0, 0, weight, 0, -0.45 * weight, 0), rtol=0, atol=1e-10)
    if kind == "point":
        assert np.allclose(
            [lower["lower.x"], upper["upper.x"]], (68.9765625, -68.9765625), rtol=0, atol=1e-11
        )
        assert forward.redundant == ("lower.z", "upper.z")
