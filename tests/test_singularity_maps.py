"""Maps of the smallest singular value over two coordinates: against closed forms, in every mode, in all units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus as sr
from five_bars import ARMS, START, TIP, five_bar
from sarrus import control
from sarrus.analysis.singularities.locked_rows import HeldRows
from sarrus.base.errors import ArgumentError
from scaled import scaled
from test_singularity_channels import smaller
from test_workspaces import stage

NEAR, FAR, APART = ARMS
INPUTS = ("left", "right")


def rows_by_hand(q: np.ndarray) -> np.ndarray:
    """Return R of the five-bar with its inputs at rest (…, 4, 4): its loop over κ, and unit rows of the inputs."""
    left, right = q[..., 0], q[..., 2]
    far_left, far_right = left + q[..., 1], right + q[..., 3]

    def turned(length: float, angle: np.ndarray) -> np.ndarray:
        return length * np.stack([-np.sin(angle), np.cos(angle)], axis=-1)

    columns = [turned(NEAR, left) + turned(FAR, far_left), turned(FAR, far_left)]
    columns += [-turned(NEAR, right) - turned(FAR, far_right), -turned(FAR, far_right)]
    loop = np.stack(columns, axis=-1) / FAR  # κ is the longest link
    held = np.broadcast_to(np.eye(4)[[0, 2]], (*loop.shape[:-2], 2, 4))
    return np.concatenate([loop, held], axis=-2)


@pytest.fixture(scope="module")
def inputs():
    return sr.singularity_map(five_bar(*ARMS), START, INPUTS, driven=INPUTS, resolution=50)


@pytest.fixture(scope="module")
def tips():
    return sr.singularity_map(five_bar(*ARMS), START, TIP, driven=INPUTS, resolution=32)


def test_over_its_inputs_a_five_bar_has_two_modes(inputs):
    assert inputs.modes == 2
    assert inputs.values.shape == inputs.status.shape == (2, 50, 50)
    assert inputs.wraps == (True, True)
    left, right = np.meshgrid(*inputs.coordinates, indexing="ij")
    gap = np.abs(np.exp(1j * left) - APART - np.exp(1j * right))
    for mode in (0, 1):
        reached = inputs.status[mode] == inputs.REACHED
        assert not (reached & (gap > 2 * FAR)).any()
        missed = ~reached & (gap < 2 * FAR)
        # missed are at most nodes on the fold, or where the elbows all but meet, so that the far links may turn
        assert np.minimum(2 * FAR - gap[missed], gap[missed]).max(initial=0.0) < 0.05
        assert np.isnan(inputs.values[mode][~reached]).all()
        q = inputs.q[mode][reached]
        turn = np.stack([q[:, 0] - left[reached], q[:, 2] - right[reached]]) / (2 * np.pi)
        assert np.abs(turn - np.rint(turn)).max() < 1e-10
        open_by = [np.abs(inputs.system.constraint_residual(p)).max() for p in q]
        assert max(open_by) < 1e-9
        expected = np.linalg.svd(rows_by_hand(q), compute_uv=False)[:, -1]
        assert np.abs(inputs.values[mode][reached] - expected).max() < 1e-9
    # Both modes are one another's mirror image about the line of the pivots, and no node has the same configuration.
    assert np.allclose(
        inputs.values[0][1:, 1:], inputs.values[1][1:, 1:][::-1, ::-1], rtol=0, atol=1e-9, equal_nan=True
    )
    assert np.nanmin(np.abs(np.sin((inputs.q[0] - inputs.q[1])[..., [1, 3]] / 2)).max(axis=-1)) > 1e-3


def test_over_its_tip_it_has_four_and_reaches_what_its_legs_reach(tips):
    assert (tips.modes, tips.names, tips.units) == (4, ("x", "z"), ("m", "m"))
    x, z = np.meshgrid(*tips.coordinates, indexing="ij")
    reach = [np.hypot(x, z), np.hypot(x - APART, z)]
    inside = np.min([[FAR + NEAR - r, r - (FAR - NEAR)] for r in reach], axis=(0, 1))
    elbows, cell = set(), tips.coordinates[0][1] - tips.coordinates[0][0]
    for mode in range(4):
        reached = tips.status[mode] == tips.REACHED
        assert not (reached & (inside < 0.0)).any()
        assert inside[~reached].max() < 0.05 * cell
        q = tips.q[mode][reached]
        sides = np.sign(np.sin(q[:, [1, 3]]))
        assert (sides == sides[0]).all()  # no leg is stretched or folded within a mode
        elbows.add(tuple(sides[0]))
        places = [tips.system.jacobian(p, body=TIP[0], point=TIP[1]).position for p in q[::7]]
        assert np.allclose(np.array(places)[:, 0], x[reached][::7], rtol=0, atol=1e-9)
        assert np.allclose(np.array(places)[:, 2], z[reached][::7], rtol=0, atol=1e-9)
    assert len(elbows) == 4
    # The tip goes no farther than the box of the map.
    assert tips.coordinates[1][-1] > 2.32
    assert tips.coordinates[1][0] < -2.32


def type_two() -> np.ndarray:
    """Return tips (n, 2) where the far links are in line: between elbows 2 far apart, or round elbows that meet."""
    turn = np.exp(1j * np.linspace(-np.pi, np.pi, 1500))
    gap = NEAR * turn - APART  # the right elbow is 2 far from the left one and near from its pivot
    cosine = (np.abs(gap) ** 2 + NEAR**2 - 4 * FAR**2) / (2 * NEAR * np.abs(gap))
    can = np.abs(cosine) < 1.0
    bend = np.exp(1j * np.arccos(cosine[can]))
    right = [APART + NEAR * gap[can] / np.abs(gap[can]) * way for way in (bend, 1 / bend)]
    tips = [(NEAR * turn[can] + elbow) / 2 for elbow in right]
    meeting = APART / 2 + 1j * np.sqrt(NEAR**2 - (APART / 2) ** 2)
    tips += [meeting + FAR * turn, np.conj(meeting) + FAR * turn]
    whole = np.concatenate(tips)
    return np.stack([whole.real, whole.imag], axis=1)


def test_it_vanishes_where_the_far_links_are_in_line(tips):
    """Of the modes at a node one is nearly singular near such places of the tip, and none is elsewhere."""
    nodes = np.stack(np.meshgrid(*tips.coordinates, indexing="ij"), axis=-1)
    away = np.min(np.linalg.norm(nodes[:, :, None] - type_two(), axis=-1), axis=-1)
    low = np.where(tips.status == tips.REACHED, tips.values, np.inf).min(axis=0)
    reach = [np.linalg.norm(nodes - base, axis=-1) for base in ([0, 0], [APART, 0])]
    inside = np.min([[FAR + NEAR - r, r - (FAR - NEAR)] for r in reach], axis=(0, 1))
    near = (inside > 0.15) & (away < 0.1)  # slopes are without bound where a leg is stretched or folded
    assert np.count_nonzero(near) > 50
    assert (low[near] / away[near]).max() < 4.0
    assert (low[low < np.inf] / away[low < np.inf]).min() > 0.05


def test_loops_that_close_to_printed_digits_only():
    """A redundant row that is open by 1e-8 everywhere."""
    mechanism = five_bar(*ARMS, "point").mechanism.snapshot()
    tip = mechanism.closures["tip"]
    mechanism.closures["tip"] = replace(tip, pose2=sr.Pose.of((FAR, 1e-8, 0.0)))
    found = sr.singularity_map(sr.System(mechanism), START, INPUTS, driven=INPUTS, resolution=20)
    exact = sr.singularity_map(five_bar(*ARMS), START, INPUTS, driven=INPUTS, resolution=20)
    assert np.array_equal(found.status, exact.status)
    assert np.allclose(found.values, exact.values, rtol=0, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("closure", ["point", "revolute"])
def test_redundant_rows_change_nothing(inputs, closure):
    found = sr.singularity_map(five_bar(*ARMS, closure), START, INPUTS, driven=INPUTS, resolution=50)
    assert np.array_equal(found.status, inputs.status)
    assert np.allclose(found.values, inputs.values, rtol=0, atol=1e-9, equal_nan=True)


def test_millimetres_and_metres_agree(tips):
    system = sr.System(scaled(tips.system, 1e3))
    point = (TIP[0], 1e3 * np.array(TIP[1]))
    found = sr.singularity_map(system, START, point, driven=INPUTS, resolution=32)
    assert np.allclose(found.coordinates[0], 1e3 * tips.coordinates[0], rtol=1e-9)
    assert found.modes == tips.modes
    assert np.count_nonzero(found.status != tips.status) == 0
    assert np.allclose(found.values, tips.values, rtol=0, atol=1e-7, equal_nan=True)


def test_limits_of_joints_bound_it(inputs):
    system = five_bar(*ARMS)
    bent = {"left_elbow": (-2.0, 2.0)}
    found = sr.singularity_map(system, START, INPUTS, driven=INPUTS, limits=bent, resolution=50, modes=1)
    reached = found.status[0] == found.REACHED
    beyond = found.status[0] == found.BEYOND_LIMITS
    assert beyond.any()
    assert np.abs(found.q[0][reached][:, 1]).max() <= 2.0
    assert np.allclose(found.values[0][reached], inputs.values[0][reached], rtol=0, atol=1e-9)
    assert np.abs(inputs.q[0][beyond][:, 1]).min() > 2.0
    assert found.at_least(0.0) == 1.0
    assert found.at_least(float(np.nanmax(found.values)) + 1.0) == 0.0


def test_a_platform_of_three_legs_lets_go_where_the_lines_of_its_links_meet(example):
    """Driven at the ground, the three far links carry forces along themselves: singular where their lines meet in one
    point, or are parallel."""
    module = example("three_leg_platform")
    system = sr.System(module.build())
    start = module.pose(system, 0.05, -0.03, 0.2)
    driven = ["q1", "q3", "q5"]
    over = ("platform.x", "platform.y")
    found = sr.singularity_map(system, start, over, driven=driven, locked=["platform.angle"], resolution=24)
    assert found.modes == 4
    kappa = system.characteristic.length
    for mode in range(4):
        reached = found.status[mode] == found.REACHED
        q = found.q[mode][reached]
        assert np.ptp(q[:, 8]) < 1e-9
        lines = []
        for leg, base in enumerate(module.BASES):
            elbow = base + module.UPPER * np.stack([np.cos(q[:, 2 * leg]), np.sin(q[:, 2 * leg])], axis=1)
            angle = q[:, 2 * leg] + q[:, 2 * leg + 1]
            way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            arm = elbow - q[:, 6:8]
            moment = (arm[:, 0] * way[:, 1] - arm[:, 1] * way[:, 0]) / kappa
            lines.append(np.column_stack([way, moment]))
        determinant = np.abs(np.linalg.det(np.stack(lines, axis=1)))
        values = found.values[mode][reached]
        # Both vanish together: their ratio is bounded both ways.
        ratio = values[determinant > 1e-6] / determinant[determinant > 1e-6]
        assert ratio.max() < 10.0
        assert ratio.min() > 0.1


def test_a_body_that_floats_in_space(example):
    """The Stewart platform over x and z, its orientation and y at rest: quaternions among the coordinates."""
    module = example("stewart")
    system = sr.System(module.build())
    start = module.configuration(sr.Pose.of((0.0, 0.05, 1.1), rpy=(0.0, 0.0, 0.4)))
    legs = [f"cylinder{k}" for k in range(1, 7)]
    locked = [f"platform.{name}" for name in ("vy", "wx", "wy", "wz")]
    found = sr.singularity_map(
        system, start, ("platform", (0, 0, 0)), driven=legs, locked=locked, resolution=8, modes=1,
        region=((-0.3, 0.3), (0.9, 1.3)), limits={"cylinder1": (1.0, 1.6)},
    )  # fmt: skip
    assert found.names == ("x", "z")
    reached = found.status[0] == found.REACHED
    assert np.count_nonzero(reached) > 20
    rows = HeldRows(system, start, legs, None, 0.0)
    for q, value in zip(found.q[0][reached], found.values[0][reached]):
        assert np.abs(system.constraint_residual(q)).max() < 1e-9
        assert np.allclose(q[3:7], start[3:7], rtol=0, atol=1e-9)
        assert q[1] == pytest.approx(0.05, abs=1e-9)
        assert value == pytest.approx(rows.least(q), abs=1e-12)


def test_the_inverse_condition_number(inputs):
    found = sr.singularity_map(
        inputs.system,
        START,
        INPUTS,
        driven=INPUTS,
        resolution=50,
        modes=1,
        measure="inverse condition number",
    )
    reached = found.status[0] == found.REACHED
    sizes = np.linalg.svd(rows_by_hand(found.q[0][reached]), compute_uv=False)
    assert np.abs(found.values[0][reached] - sizes[:, -1] / sizes[:, 0]).max() < 1e-9


@pytest.mark.parametrize("closure", ["point_on_line", "revolute"])
def test_values_on_motions_are_those_of_laws(closure):
    """Redundant rows change nothing: levels of a bound can be read off a map."""
    system = five_bar(*ARMS, closure)
    found = sr.singularity_map(
        system, START, INPUTS, driven=INPUTS, resolution=24, modes=1, measure="singular value on motions"
    )
    q = found.q[0][found.status[0] == found.REACHED]
    loop = rows_by_hand(q)[:, :2]
    motions = np.linalg.svd(loop)[2][:, 2:].transpose(0, 2, 1)
    expected = np.linalg.svd(motions[:, [0, 2]], compute_uv=False)[:, -1]
    values = found.values[0][found.status[0] == found.REACHED]
    assert np.abs(values - expected).max() < 1e-9
    law = control.TaskSpace(
        system, control.singularity_measure(driven=INPUTS, measure="smallest singular value", q=START)
    )
    for k in range(0, len(q), 40):
        assert abs(law.kinematics(q[k]).value[0] - values[k]) < 1e-9 / max(values[k], 1e-3)


def test_several_starts_and_an_output(inputs):
    """Type 1 over the inputs: it vanishes where a leg is stretched or folded."""
    starts = [
        inputs.q[mode][np.unravel_index(np.nanargmax(inputs.values[mode]), (50, 50))] for mode in (0, 1)
    ]
    found = sr.singularity_map(inputs.system, starts, INPUTS, output=TIP, resolution=50)
    assert found.modes == 2
    for mode in (0, 1):
        reached = found.status[mode] == found.REACHED
        bent = np.abs(np.sin(found.q[mode][reached][:, [1, 3]])).min(axis=1)
        values = found.values[mode][reached]
        assert values[bent < 0.03].max() < 0.05
        assert values[bent > 0.5].min() > 0.05


def test_labelled_arrays(tips):
    data = tips.to_xarray()
    assert data["value"].dims == ("mode", "x", "z")
    assert data["x"].attrs["units"] == "m"
    place = data["value"].argmax(...)
    there = data.isel({name: int(k) for name, k in place.items()})
    assert float(there["value"]) == np.nanmax(tips.values)
    point = tips.system.jacobian(there["q"].values, body=TIP[0], point=TIP[1]).position
    assert np.allclose(point[[0, 2]], [there["x"], there["z"]], rtol=0, atol=1e-9)


def test_its_words():
    assert smaller(np.array([[3.0, 0.0], [0.0, 2.0]])) == pytest.approx(2.0)
    found = sr.singularity_map(
        five_bar(*ARMS), START, INPUTS, driven=INPUTS, resolution=12, region=((1.5, 3.0), (0.0, 1.5)), modes=1
    )
    assert found.wraps == (False, False)
    assert "smallest singular value with driven left, right at rest, over left and right" in str(found)
    assert "12 × 12 nodes, 1 modes" in str(found)
    assert not found.values.flags.writeable
    assert found.least == np.nanmin(found.values)


def test_errors_say_what_would_be_right():
    system = five_bar(*ARMS)
    with pytest.raises(ArgumentError, match="unknown scalar coordinate 'lft'"):
        sr.singularity_map(system, START, ("lft", "right"), driven=INPUTS)
    with pytest.raises(ArgumentError, match="over names 'left' twice"):
        sr.singularity_map(system, START, ("left", "left"), driven=INPUTS)
    with pytest.raises(ArgumentError, match="over must be two coordinates or a body and a point"):
        sr.singularity_map(system, START, ("left",), driven=INPUTS)
    with pytest.raises(ArgumentError, match=r"still moves at the start\. Name more"):
        sr.singularity_map(system, START, INPUTS, driven=["left"])
    with pytest.raises(
        ArgumentError, match="a map needs two degrees of freedom, and the mechanism has 1; unlock"
    ):
        sr.singularity_map(system, START, INPUTS, driven=INPUTS, locked=["left"])
    with pytest.raises(ArgumentError, match="no node of the grid over left and right is reached"):
        sr.singularity_map(system, START, INPUTS, driven=INPUTS, region=((-1.0, -0.5), (-1.0, -0.5)))
    with pytest.raises(ArgumentError, match="region must be two pairs"):
        sr.singularity_map(system, START, INPUTS, driven=INPUTS, region=((1.0, 0.0), (0.0, 1.0)))
    with pytest.raises(ArgumentError, match="unknown measure 'smallest'"):
        sr.singularity_map(system, START, INPUTS, driven=INPUTS, measure="smallest")
    with pytest.raises(ArgumentError, match="resolution must be a whole number, at least 4"):
        sr.singularity_map(system, START, INPUTS, driven=INPUTS, resolution=2)


def test_pictures(inputs, tips, tmp_path):
    locus = sr.singularity_locus(tips.system, START, driven=INPUTS, rays=1)
    figure = inputs.plot(tmp_path / "inputs.png", loci=[locus])
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["mode 0", "mode 1"]
    assert any("smallest singular value" in axes.get_ylabel() for axes in figure.axes)
    tips.plot(tmp_path / "tips.png", loci=[locus], modes=[2, 0, 1], pose=False)
    for name in ("inputs", "tips"):
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000
    with pytest.raises(ArgumentError, match="modes must be indices from 0 to 1"):
        inputs.plot(modes=[2])


def test_a_stage_whose_cells_are_larger_than_its_bodies():
    """Sliders lead straight from node to node, however far."""
    found = sr.singularity_map(stage(0.005), [0.2, 0.2], ("x", "y"), driven=["x", "y"], resolution=20)
    assert (found.status == found.REACHED).all()
    assert np.allclose(found.q[0], np.stack(np.meshgrid(*found.coordinates, indexing="ij"), axis=-1))


def test_over_a_point_with_small_strokes():
    small = stage(0.1, (-0.005, 0.005), (-0.005, 0.005))
    found = sr.singularity_map(small, [0.0, 0.0], ("y", (0, 0, 0)), driven=["x", "y"], resolution=20)
    points = np.stack(np.meshgrid(*found.coordinates, indexing="ij"), axis=-1)
    assert np.array_equal(found.status[0] == found.REACHED, (np.abs(points) <= 0.005).all(axis=-1))
    assert (found.status == found.REACHED).sum() > 250


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"over": None}, "over must be two coordinates or a body and a point"),
        ({"q": np.zeros((0, 4))}, r"q must be a start \(4,\) or several"),
        ({"limits": {"left": 3}}, "limits of 'left' must be"),
        ({"resolution": 8.5}, "resolution must be a whole number, at least 4"),
        ({"modes": "2"}, "modes must be a whole number, at least 1"),
    ],
)
def test_arguments_that_are_none_are_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        sr.singularity_map(
            **{"system": five_bar(*ARMS), "q": START, "over": INPUTS, "driven": INPUTS, **options}
        )


@pytest.mark.parametrize("size", [1e-4, 1e-3, 1e-2, 1.0])
def test_the_region_of_a_map_is_where_a_point_goes_whatever_the_size_of_bodies(size: float) -> None:
    """A gantry of millimetres with travels of a metre: not cut off, and at most a tenth too wide."""
    mechanism = sr.Mechanism("gantry")
    for name, parent, axis, limits in (
        ("beam", "world", (1, 0, 0), (-0.5, 0.5)),
        ("head", "beam", (0, 0, 1), (0.0, 1.0)),
    ):
        mechanism.add_body(name, 1.0, com=(size, 0, 0), inertia=(1, 1, 1))
        mechanism.add_joint(name, "prismatic", parent, name, axis=axis, limits=limits)
    found = sr.singularity_map(
        sr.System(mechanism), [0.1, 0.2], ("head", (0, 0, 0)), driven=["beam", "head"], resolution=20
    )
    for nodes, low, high in zip(found.coordinates, (-0.5, 0.0), (0.5, 1.0)):
        assert nodes[0] < low + 0.06
        assert nodes[-1] > high - 0.06
        assert nodes[-1] - nodes[0] < 1.1
