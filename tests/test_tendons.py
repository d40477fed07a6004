"""Tendons: lengths, forces and inertia against MuJoCo, energy, couplings, files, and errors by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ModelError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.tendons import Pulley, Wrap
from sarrus.symbolic.forces.lengths import Lengths
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.rows.closures import coordinate_jets

INERTIA = '<inertial pos=".02 .01 -.03" mass="1" diaginertia=".01 .012 .014"/>'
TREE = f"""
<site name="w" pos=".5 .1 .2"/>
<body name="a" pos=".1 .2 .3"><joint name="ball" type="ball"/>{INERTIA}<site name="a1" pos=".1 .2 -.1"/>
  <body name="b" pos=".3 0 .1">{INERTIA}<joint name="h" axis="1 2 3"/><joint name="s" type="slide" axis="0 1 1"/>
    <site name="b1" pos=".2 .1 .1"/><site name="b2" pos=".4 -.1 0"/></body></body>
<body name="f" pos="1 0 0">{INERTIA}<freejoint/><site name="f1" pos=".1 .1 .1"/>
  <body name="g" pos=".2 0 0">{INERTIA}<joint axis="0 1 0"/><site name="g1" pos=".2 0 .1"/></body></body>"""
PATHS = """<tendon>
<spatial name="pulleys" stiffness="30 4 5" damping="3 1 2" springlength=".1 .3"><site site="w"/><site site="a1"/>
  <site site="b1"/><pulley divisor="2"/><site site="b2"/><site site="f1"/><pulley divisor="3"/><site site="f1"/>
  <site site="g1"/><site site="w"/></spatial>
<spatial name="heavy" armature=".5" stiffness="7"><site site="w"/><site site="a1"/><site site="b1"/></spatial>
<fixed name="belt" stiffness="3 1 2" damping=".1 .2" armature=".2" springlength="-.1 .2"><joint joint="h" coef="2"/>
  <joint joint="s" coef="-3"/></fixed></tendon>"""

# a sphere and a cylinder that move, and a point that is behind, above, inside and beside them
SURFACES = f"""
<site name="p" pos="-.6 .1 .2"/>
<body name="g" pos=".05 .02 0"><joint type="slide" axis="0 1 .3"/><joint axis="1 .3 0"/>{INERTIA}
  <geom name="sphere" type="sphere" size=".25"/>
  <geom name="cylinder" type="cylinder" size=".2 .3" euler="30 40 10" pos=".05 .02 .1"/>
  <site name="out" pos="0 .4 .1"/><site name="far" pos=".1 -2 -.4"/><site name="in" pos="0 .1 .05"/></body>
<body name="m" pos=".6 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
  <joint type="slide" axis="0 0 1"/>{INERTIA}<site name="m" pos=".02 .03 .01"/><site name="other" pos="-.5 .1 .1"/>
</body>"""


def wraps(sides: tuple[str, ...], attributes: str = "") -> str:
    """Spatial tendons around both surfaces with each of the sides; "" is none."""
    tendons = "".join(
        f'<spatial name="{kind} {side}" {attributes}><site site="p"/><geom geom="{kind}"'
        + (f' sidesite="{side}"' if side else "")
        + '/><site site="m"/></spatial>'
        for kind in ("sphere", "cylinder")
        for side in sides
    )
    return f"<tendon>{tendons}</tendon>"


@dataclass
class Both:
    """A model in MuJoCo and here."""

    model: mujoco.MjModel
    data: mujoco.MjData
    system: sr.System

    @classmethod
    def of(cls, folder: Path, bodies: str, rest: str, option: str = "") -> Both:
        file = folder / "model.xml"
        file.write_text(f"<mujoco>{option}<worldbody>{bodies}</worldbody>{rest}</mujoco>")
        model = mujoco.MjModel.from_xml_path(str(file))
        return cls(model, mujoco.MjData(model), sr.System(sr.load(file)))

    def draw(self, rng: np.random.Generator, size: float) -> tuple[np.ndarray, np.ndarray]:
        """Return a random state, which MuJoCo has evaluated."""
        self.data.qpos[:] = rng.normal(0, size, self.model.nq)
        mujoco.mj_normalizeQuat(self.model, self.data.qpos)
        self.data.qvel[:] = rng.normal(0, 1, self.model.nv)
        self.data.ctrl[:] = rng.normal(0, 1, self.model.nu)
        mujoco.mj_forward(self.model, self.data)
        return self.data.qpos.copy(), self.data.qvel.copy()

    def tendon_jacobian(self) -> np.ndarray:
        """MuJoCo's ten_J as a dense matrix."""
        m, out = self.model, np.zeros((self.model.ntendon, self.model.nv))
        for i in range(m.ntendon):
            entries = slice(m.ten_J_rowadr[i], m.ten_J_rowadr[i] + m.ten_J_rownnz[i])
            out[i, m.ten_J_colind[entries]] = self.data.ten_J[entries]
        return out

    def mass(self) -> np.ndarray:
        """MuJoCo's mass matrix, which lacks what couples joints that do not carry each other."""
        m, full = self.model, np.zeros((self.model.nv, self.model.nv))
        for k, row in enumerate(np.eye(m.nv)):
            mujoco.mj_mulM(m, self.data, full[k], row)
        return full


def lengths(system: sr.System) -> ca.Function:
    """Return (q, v) → L, ∂L̇/∂v and the derivative of ∂L̇/∂v by q of all tendons."""
    mechanism, tree, q, v = system.mechanism, system.equations.tree, system.equations.q, system.equations.v
    assert mechanism is not None
    assert tree is not None
    jets = coordinate_jets(system.coordinate_names, system.velocity_names, q, v)
    frames = Frames(tree, links(tree, q, v))
    found = Lengths(mechanism, tree, frames, jets, q, v)
    tendons = [found.tendon(name) for name in mechanism.tendons]
    moment = ca.jacobian(ca.vertcat(*(t.rate for t in tendons)), v)
    return ca.Function(
        "lengths", [q, v], [ca.vertcat(*(t.value for t in tendons)), moment, ca.jacobian(moment, q)]
    )


def test_paths_pulleys_and_fixed_tendons_are_those_of_mujoco(tmp_path: Path) -> None:
    both = Both.of(tmp_path, TREE, PATHS)
    found, rng = lengths(both.system), np.random.default_rng(1)
    assert both.system.mechanism.report.complete
    for _ in range(8):
        q, v = both.draw(rng, 0.7)
        length, moment, _ = found(q, v)
        np.testing.assert_allclose(np.array(length)[:, 0], both.data.ten_length, rtol=0, atol=1e-13)
        np.testing.assert_allclose(moment, both.tendon_jacobian(), rtol=0, atol=1e-13)
        force, mass = both.system.passive_force(q, v), both.system.mass_matrix(q)
        scale = 1 + np.abs(both.data.qfrc_passive).max()
        np.testing.assert_allclose(force, both.data.qfrc_passive, rtol=0, atol=1e-13 * scale)
        np.testing.assert_allclose(mass, both.mass(), rtol=0, atol=1e-13)
        np.testing.assert_allclose(both.system.bias_force(q, v), both.data.qfrc_bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("sides", "tolerance"),
    [
        (("",), 1e-13),
        (("in",), 1e-6),  # MuJoCo stops its iteration at 1e-6
        (("out", "far", "other"), 1e-6),
    ],
)
def test_lengths_around_surfaces_are_those_of_mujoco(
    sides: tuple[str, ...], tolerance: float, tmp_path: Path
) -> None:
    if "out" in sides and int(mujoco.__version__.split(".")[0]) < 4:
        pytest.skip("before MuJoCo 4 a tendon went around its side where the line was on that side already")
    both = Both.of(tmp_path, SURFACES, wraps(sides))
    found, rng = lengths(both.system), np.random.default_rng(2)
    around = np.zeros(both.model.ntendon)
    for _ in range(300):
        q, v = both.draw(rng, 0.35)
        length, moment, slope = (np.array(part) for part in found(q, v))
        np.testing.assert_allclose(length[:, 0], both.data.ten_length, rtol=0, atol=1e-12)
        np.testing.assert_allclose(moment, both.tendon_jacobian(), rtol=0, atol=tolerance)
        assert np.isfinite(slope).all()
        objects = both.data.wrap_obj.ravel()
        for k, (start, count) in enumerate(zip(both.data.ten_wrapadr, both.data.ten_wrapnum)):
            around[k] += (objects[start : start + count] >= 0).any()
    assert (around > 50).all()
    assert (around < 250).all()


def test_derivatives_are_finite_where_a_path_degenerates(tmp_path: Path) -> None:
    """Ends on one line with the centre, on the surface, in the centre, or at the same place."""
    bodies = f"""<site name="p" pos="-1 0 0"/><site name="c"/><geom name="sphere" type="sphere" size=".5"/>
        <geom name="cylinder" type="cylinder" size=".5 1"/><site name="in" pos=".1 0 0"/><site name="out" pos="0 2 0"/>
        <body name="m"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
        <joint type="slide" axis="0 0 1"/>{INERTIA}<site name="m"/></body>"""
    both = Both.of(tmp_path, bodies, wraps(("", "in", "out"), 'stiffness="2" damping="1"'))
    found = lengths(both.system)
    for x in (-2.0, -1.0, -0.5, -0.2, 0.0, 0.5, 1.0):
        for part in found([x, 0, 0], [1, 2, 3]):
            assert np.isfinite(np.array(part)).all(), x
        model = sr.linearize_at(both.system, [x, 0, 0], [1, 2, 3])
        assert np.isfinite(model.A).all()


def test_the_motion_of_a_wrapped_tendon_is_that_of_mujoco(tmp_path: Path) -> None:
    option = '<option timestep="1e-4" integrator="RK4"/>'
    bodies = SURFACES.replace('<geom name="', '<geom contype="0" conaffinity="0" name="')
    tendons = wraps(("",), 'stiffness="40" damping=".3" springlength="0 1.1"')
    both = Both.of(tmp_path, bodies, tendons, option)
    both.data.qvel[:] = [0.3, 0.2, 0.5, -0.4, 0.9]
    start, count, seen = both.data.qvel.copy(), 3000, set()
    for _ in range(count):
        mujoco.mj_step(both.model, both.data)
        seen.add(both.data.ten_wrapnum[0])
    assert len(seen) == 2  # it touched the sphere for a part of the time
    run = sr.simulate(
        both.system, both.system.neutral(), start, duration=count * 1e-4, rtol=1e-9, progress=False
    )
    np.testing.assert_allclose(run.q[-1], both.data.qpos, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.v[-1], both.data.qvel, rtol=0, atol=1e-5)


def pulled(armature: float) -> sr.Mechanism:
    """A double pendulum with a string from the ground over a drum on the first link to the tip of the second."""
    mechanism = sr.Mechanism("pulled")
    for name, parent, place in (("one", "world", (0, 0, 0)), ("two", "one", (0.5, 0, 0))):
        mechanism.add_body(name, 1.0, (0.25, 0, 0), (0.01, 0.02, 0.02))
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, axis=(0, 1, 0), parent_pose=place)
    path = [
        ("world", (0.0, 0.1, 0.6)),
        Wrap("one", "cylinder", 0.1, sr.Pose.of((0.25, 0, 0), rpy=(np.pi / 2, 0, 0))),
        ("two", (0.4, 0.05, 0.02)),
        Pulley(2.0),
        ("world", (0.5, 0, -0.7)),
        "two",
    ]
    mechanism.add_tendon("string", path, stiffness=60.0, rest_length=(0.0, 0.7), armature=armature)
    mechanism.add_tendon("bend", {"two_joint": 1.0}, stiffness=2.0, stiffness_higher=(0.5, 3.0))
    return mechanism


def test_energy_is_kept_by_an_undamped_wrapped_tendon() -> None:
    """With armature that MuJoCo cannot have on such a tendon: M, h and T belong together."""
    system = sr.System(pulled(0.8))
    assert system.equations.conservative
    run = sr.simulate(system, [0.2, 0.4], [0.5, 2.0], duration=2.0, rtol=1e-11, progress=False)
    swing = system.kinetic_energy(run.q[-1], run.v[-1]) - system.kinetic_energy(run.q[0], run.v[0])
    assert abs(swing) > 0.1
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=1e-8)
    damped = pulled(0.8)
    damped.add_tendon("brake", ["world", "two"], damping_higher=(0.3,))
    assert not sr.System(damped).equations.conservative


def test_the_bias_of_an_armature_is_that_of_its_mass() -> None:
    """h = Ṁ v − ∂T/∂q + ∂V/∂q, by differences of M and T."""
    system, light = sr.System(pulled(0.8)), sr.System(pulled(0.0))
    q, v, step = np.array([0.2, 0.7]), np.array([0.9, -1.3]), 1e-5

    def inertia(q: np.ndarray) -> np.ndarray:
        return system.mass_matrix(q) - light.mass_matrix(q)

    turning = (inertia(q + step * v) - inertia(q - step * v)) @ v / (2 * step)
    slope = [0.5 * v @ (inertia(q + step * e) - inertia(q - step * e)) @ v / (2 * step) for e in np.eye(2)]
    added = system.bias_force(q, v) - light.bias_force(q, v)
    assert np.abs(added).max() > 1e-2
    np.testing.assert_allclose(added, turning - slope, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        system.kinetic_energy(q, v) - light.kinetic_energy(q, v), 0.5 * v @ inertia(q) @ v, rtol=1e-13
    )


def test_a_linear_model_has_the_inertia_of_tendons() -> None:
    """The recursion over the tree does not see it."""
    system = sr.System(pulled(0.8))
    q, v, step = np.array([0.2, 0.7]), np.array([0.9, -1.3]), 1e-6
    x = np.concatenate([q, v])
    columns = [
        (
            np.asarray(system.forward_dynamics(*np.split(x + step * e, 2)).a)
            - np.asarray(system.forward_dynamics(*np.split(x - step * e, 2)).a)
        )
        / (2 * step)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(sr.linearize_at(system, q, v).A[2:], np.array(columns).T, atol=1e-6)


def test_a_string_of_constant_length_is_a_coupling_of_lengths(tmp_path: Path) -> None:
    """Equalities of wrapped tendons: Jacobian and residual of MuJoCo, exact motion, a linear model by differences."""
    rest = (
        wraps(("",)).replace("</tendon>", "")
        + '<fixed name="sum"><joint joint="j1" coef="2"/><joint joint="j2" coef="-1"/></fixed></tendon>'
        '<equality><tendon name="rope" tendon1="sphere "/>'
        '<tendon name="law" tendon1="cylinder " tendon2="sum" polycoef=".01 .5 .3 0 0"/></equality>'
    )
    bodies = SURFACES.replace('axis="1 0 0"', 'name="j1" axis="1 0 0"')
    bodies = bodies.replace('axis="0 0 1"', 'name="j2" axis="0 0 1"')
    both = Both.of(tmp_path, bodies, rest, '<option jacobian="dense"/>')
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, _ = both.draw(rng, 0.2)
        here = both.data.efc_J.reshape(-1, both.model.nv)[:2], both.data.efc_pos[:2]
        np.testing.assert_allclose(both.system.constraint_jacobian(q), here[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(both.system.constraint_residual(q), here[1], rtol=0, atol=1e-12)
    q = both.system.assemble(np.full(5, 0.05)).q
    v = both.system.project_velocity(q, 0.2 * rng.standard_normal(5))
    run = sr.simulate(both.system, q, v, duration=0.1, rtol=1e-10, progress=False)
    assert max(np.abs(both.system.constraint_residual(row)).max() for row in run.q) < 1e-10
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=1e-7)
    both.system.mechanism.to_mjcf(tmp_path / "again.xml")
    again = sr.System(sr.load(tmp_path / "again.xml"))
    np.testing.assert_allclose(again.constraint_residual(q), 0.0, atol=1e-12)
    q = q + 0.01 * rng.standard_normal(5)
    np.testing.assert_allclose(
        again.constraint_residual(q), both.system.constraint_residual(q), rtol=0, atol=1e-12
    )


def test_tendons_come_back_from_mjcf_and_from_a_document(tmp_path: Path) -> None:
    both = Both.of(tmp_path, TREE, PATHS.replace("<fixed", '<fixed range="-1 2" frictionloss=".3"'))
    surfaces = Both.of(tmp_path, SURFACES, wraps(("", "in", "out"), 'stiffness="3"'))
    rng = np.random.default_rng(6)
    for one in (both, surfaces):
        mechanism = one.system.mechanism
        assert mechanism is not None
        mechanism.to_mjcf(tmp_path / "again.xml")
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
        data, q, v = mujoco.MjData(model), *one.draw(rng, 0.4)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(data.ten_length, one.data.ten_length, rtol=0, atol=1e-12)
        np.testing.assert_allclose(data.qfrc_passive, one.data.qfrc_passive, rtol=0, atol=1e-12)
        for again in (sr.load(tmp_path / "again.xml"), from_json(to_json(mechanism))):
            other = sr.System(again)
            for quantity in ("passive_force", "bias_force"):
                here, there = getattr(one.system, quantity)(q, v), getattr(other, quantity)(q, v)
                np.testing.assert_allclose(there, here, rtol=0, atol=1e-12)
            np.testing.assert_allclose(other.mass_matrix(q), one.system.mass_matrix(q), rtol=0, atol=1e-12)
            assert {t.name: (t.limits, t.friction) for t in again.tendons.values()} == {
                t.name: (t.limits, t.friction) for t in mechanism.tendons.values()
            }


def test_range_and_friction_of_a_file_act(tmp_path: Path) -> None:
    attributes = 'range="-1 2" frictionloss=".3" actuatorfrcrange="-4 5" actuatorfrclimited="true"'
    rest = f'<tendon><fixed name="t" stiffness="1" {attributes}><joint joint="h" coef="1"/></fixed></tendon>'
    both = Both.of(tmp_path, TREE, rest)
    tendon = both.system.mechanism.tendons["t"]
    assert (tendon.limits, tendon.friction, tendon.force_limits) == ((-1.0, 2.0), 0.3, (-4.0, 5.0))
    said = str(both.system.mechanism.report)
    for words in (
        "tendon range 't': (-1, 2), exact and without rebound",
        "dry friction of 0.3 along its length",
    ):
        assert words in said


def test_parameters_drive_tendons() -> None:
    mechanism = pulled(0.4)
    targets = {"k": "string.stiffness", "m": "string.armature", "b": "bend.damping"}
    system = sr.System(mechanism, parameters=targets)
    system.parameters.update({"k": 90.0, "m": 0.1, "b": 0.7})
    direct = system.current_mechanism()
    q, v = [0.3, 0.9], [1.0, -2.0]
    other = sr.System(direct)
    for quantity in ("passive_force", "bias_force"):
        np.testing.assert_allclose(
            getattr(system, quantity)(q, v), getattr(other, quantity)(q, v), rtol=0, atol=1e-12
        )
    np.testing.assert_allclose(system.mass_matrix(q), other.mass_matrix(q), rtol=1e-13)


@pytest.mark.parametrize(
    ("path", "options", "text"),
    [
        ([("one", (0, 0, 0))], {}, "tendon 't': its path is not valid: it needs two points at least"),
        (["one", Wrap("two", "sphere", 0.1)], {}, "a wrap needs a point before it and a point after it"),
        (["one", Pulley(2.0), "two", "one"], {}, "as many in every part between pulleys"),
        (["one", "two", Pulley(0.0), "one", "two"], {}, "the divisor of a pulley must be positive, got 0.0"),
        (["one", "leg"], {}, "tendon 't': unknown body 'leg'"),
        (["one", ("two", (1, 2))], {}, "tendon 't': point must be 3 numbers"),
        (["one", Wrap("two", "box", 0.1), "two"], {}, "unknown wrap 'box'"),
        (["one", Wrap("two", "sphere", -0.1), "two"], {}, "the radius of a wrap must be positive, got -0.1"),
        (["one", 3], {}, "an item of a path is (body, point), a Pulley or a Wrap, got 3"),
        ("one", {}, "path must be a list of points, pulleys and wraps"),
        ({"elbow": 1.0}, {}, "unknown scalar coordinate 'elbow'"),
        ({"one_joint": np.nan}, {}, "weight of 'one_joint' must be finite"),
        (["one", "two"], {"armature": -1.0}, "armature must not be negative, got -1.0"),
        (["one", "two"], {"limits": (2, 1)}, "limits has lower 2.0 above upper 1.0"),
    ],
)
def test_errors_name_the_tendon(path: object, options: dict[str, object], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        pulled(0.0).add_tendon("t", path, **options)  # type: ignore[arg-type]
    assert text in str(caught.value)
    assert "'t'" in str(caught.value)


def test_names_of_springs_and_tendons_differ() -> None:
    mechanism = pulled(0.0)
    with pytest.raises(ModelError, match="'string': the name is already taken"):
        mechanism.add_spring_damper("string", "one", "two")
    with pytest.raises(ModelError, match="coupling 'c': unknown tendon 'rope'"):
        mechanism.add_coupling("c", {"tendon:rope": 1.0})
