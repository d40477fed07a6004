"""Imported models against MuJoCo at random states: M, bias, passive and actuator forces, equality Jacobians.

MuJoCo is an independent implementation of the same equations, so agreement is to rounding: 1e-10 relative.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from mujoco_rows import seen_from_carrier
from random_mjcf import RandomModel
from sarrus.dynamics.system import System
from sarrus.model.formats.load import load
from sarrus.model.formats.mjcf.element_names import Names

MODELS = Path(__file__).parent / "models"
Array = NDArray[np.float64]
TOLERANCE = 1e-10


def prepared(model: mujoco.MjModel) -> mujoco.MjModel:
    """Switch off what an imported mechanism has not: contacts, limits, dry friction."""
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= int(flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_FRICTIONLOSS)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    return model


def random_states(model: mujoco.MjModel, count: int, seed: int) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(count):
        q = model.qpos0.copy()
        mujoco.mj_integratePos(model, q, 0.7 * rng.standard_normal(model.nv), 1.0)
        states.append((q, rng.standard_normal(model.nv)))
    return states


def close(ours: Array, theirs: Array, what: str, tolerance: float = TOLERANCE) -> None:
    scale = max(float(np.abs(theirs).max(initial=0.0)), 1.0)
    error = float(np.abs(ours - theirs).max(initial=0.0))
    assert error <= tolerance * scale, f"{what}: error {error:.2e} of {scale:.2e}"


def mujoco_mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    columns = np.zeros((model.nv, model.nv))
    for i, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, columns[i], unit)
    return columns.T


def actuator_force(model: mujoco.MjModel, data: mujoco.MjData, control: Array) -> Array:
    data.ctrl[:] = control
    mujoco.mj_forward(model, data)
    return data.qfrc_actuator.copy()


def compare_constraints(system: System, model: mujoco.MjModel, data: mujoco.MjData, names: list[str]) -> None:
    """Compare Jacobian and residual of every equality, row by row, up to MuJoCo's scale and sign.

    Points are seen from what carries both bodies, see `mujoco_rows`.

    ``names`` are those of the closures by MuJoCo's equality index. Equalities whose Jacobian is zero are
    absent in MuJoCo's list.
    """
    q = data.qpos.copy()
    jacobian, residual = system.constraint_jacobian(q), system.constraint_residual(q)
    theirs, violation = data.efc_J.reshape(-1, model.nv)[: data.ne].copy(), data.efc_pos[: data.ne].copy()
    assert system.mechanism is not None
    for index, name in enumerate(names):
        rows = np.flatnonzero(data.efc_id[: data.ne] == index)
        ours = jacobian[system.closure_rows[name]]
        if rows.size == 0:
            assert not ours.any(), f"{name} is missing in MuJoCo"
            continue
        assert len(ours) == rows.size
        if name in system.mechanism.closures:
            theirs[rows], violation[rows] = seen_from_carrier(
                system.mechanism, name, model, data, theirs[rows], violation[rows]
            )
        size = max(float(np.abs(ours).max()), 1.0)
        # a weld's rotation rows are regularised at half a turn: fewer digits beyond 150°
        turned = len(ours) == 6 and np.linalg.norm(residual[system.closure_rows[name]][3:]) > 1.93
        tolerance = 1e-6 if turned else TOLERANCE
        for k, row in enumerate(rows):
            norm = float(ours[k] @ ours[k])
            if norm < (1e-9 * size) ** 2:
                assert np.abs(theirs[row]).max() < 1e-8 * size
                continue
            scale = float(theirs[row] @ ours[k]) / norm
            close(scale * ours[k], theirs[row], f"Jacobian row {k} of {name}", tolerance)
            found = scale * residual[system.closure_rows[name]][k]
            assert found == pytest.approx(violation[row], rel=1e-6 if turned else 1e-9, abs=1e-9), (
                f"residual {k} of {name}"
            )


def compare(system: System, model: mujoco.MjModel, *, actuators: bool = True, states: int = 4) -> None:
    """Compare all terms of the equations of motion at random states."""
    data = mujoco.MjData(prepared(model))
    assert (system.nq, system.nv) == (model.nq, model.nv)
    close(system.neutral(), model.qpos0, "neutral")
    for q, v in random_states(model, states, seed=system.nv):
        data.qpos[:], data.qvel[:] = q, v
        force_at_rest = actuator_force(model, data, np.zeros(model.nu))
        close(system.mass_matrix(q), mujoco_mass_matrix(model, data), "mass matrix")
        close(system.bias_force(q, v), data.qfrc_bias, "bias force")
        if actuators:
            close(system.passive_force(q, v), data.qfrc_passive + force_at_rest, "passive force")
            assert system.nu == model.nu
            units = [actuator_force(model, data, unit) - force_at_rest for unit in np.eye(model.nu)]
            if units:
                close(system.actuation_matrix(q), np.column_stack(units), "actuator map")
        compare_constraints(system, model, data, Names(model).equalities)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_and_loops(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    file.write_text(RandomModel(seed, bodies=4 + seed % 4, closures=seed % 5).xml())
    mechanism = load(file)
    assert not mechanism.report.left_out
    compare(System(mechanism), mujoco.MjModel.from_xml_path(str(file)))


INERTIA = '<inertial pos="0.1 0.2 0.3" mass="1.5" diaginertia="1 1.1 1.2"/>'


def compare_text(tmp_path: Path, xml: str) -> System:
    file = tmp_path / "model.xml"
    file.write_text(xml)
    system = System(load(file))
    compare(system, mujoco.MjModel.from_xml_path(str(file)))
    return system


def test_several_roots_and_static_bodies(tmp_path: Path) -> None:
    compare_text(
        tmp_path,
        f'<mujoco><worldbody><body name="frame" pos="1 0 0" euler="0 30 0"><body name="arm">{INERTIA}<joint/>'
        f'<body name="tool" pos="0 0 1">{INERTIA}<body name="tip">{INERTIA}</body></body></body></body>'
        f'<body name="other" pos="0 2 0">{INERTIA}<freejoint/><body name="tail">{INERTIA}'
        '<joint type="ball"/></body></body></worldbody>'
        '<equality><weld body1="tip" body2="tail"/></equality></mujoco>',
    )


def test_coupled_tendons(tmp_path: Path) -> None:
    compare_text(
        tmp_path,
        f"""<mujoco><worldbody>
        <body name="a">{INERTIA}<joint name="j" ref="20"/><joint name="x" axis="0 1 0"/></body>
        <body name="b" pos="0 1 0">{INERTIA}<joint name="k" axis="1 0 0"/></body>
        </worldbody><tendon>
        <fixed name="f"><joint joint="j" coef="2"/><joint joint="x" coef="-1"/></fixed>
        <fixed name="g"><joint joint="k" coef="3"/></fixed>
        </tendon><equality>
        <tendon tendon1="f" tendon2="g" polycoef="0.1 0.5 0.3 -0.2 0.1"/>
        </equality></mujoco>""",
    )


def test_rod_keeps_mujoco_s_direction(tmp_path: Path) -> None:
    """A rod is (d·d − L²)/2L here and |d| − L in MuJoCo: the same row up to scale, and the same zero."""
    file = tmp_path / "model.xml"
    file.write_text(
        f"""<mujoco><worldbody><site name="o" pos="0.3 0.4 -0.2"/>
        <body name="a">{INERTIA}<joint/><joint axis="0 1 0"/><site name="s" pos="1 0 2"/></body>
        </worldbody><tendon><spatial name="rod"><site site="o"/><site site="s"/></spatial></tendon>
        <equality><tendon tendon1="rod" polycoef="0.5 0 0 0 0"/></equality></mujoco>"""
    )
    system, model = System(load(file)), prepared(mujoco.MjModel.from_xml_path(str(file)))
    data = mujoco.MjData(model)
    for q, _ in random_states(model, 3, seed=1):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        theirs, (ours,) = data.efc_J.reshape(-1, model.nv)[0], system.constraint_jacobian(q)
        close(ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs), "direction")
        length, distance = model.tendon_length0[0] + 0.5, data.ten_length[0]
        expected = (distance**2 - length**2) / (2 * length)
        assert system.constraint_residual(q)[0] == pytest.approx(expected, abs=1e-12)


def test_polynomial_springs_and_reflected_rotor(tmp_path: Path) -> None:
    compare_text(
        tmp_path,
        f"""<mujoco><worldbody><body name="a">{INERTIA}
        <joint name="j" stiffness="1 2 3" damping="0.5 0.2 0.1" springref="0.2"/></body></worldbody>
        <actuator><motor joint="j" gear="3" armature="0.2" damping="0.4"/></actuator></mujoco>""",
    )


def urdf_spec(name: str) -> mujoco.MjSpec:
    """The URDF as MuJoCo reads it alone, without the shapes."""
    text = (MODELS / name).read_text(encoding="utf-8")
    header = '<mujoco><compiler fusestatic="false" discardvisual="true" balanceinertia="false"/></mujoco>'
    start = text.index(">", text.index("<robot")) + 1
    return mujoco.MjSpec.from_string(text[:start] + header + text[start:])


def body_of(spec: mujoco.MjSpec, name: str) -> mujoco.MjsBody:
    return next(body for body in spec.bodies if body.name == name)


def test_urdf_five_bar_with_closure() -> None:
    spec = urdf_spec("five_bar.urdf")
    connect = spec.add_equality(name="loop_left-loop_right")
    connect.type, connect.objtype = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtObj.mjOBJ_SITE
    for side in ("left", "right"):
        body_of(spec, f"loop_{side}").add_site(name=f"site_{side}")
    connect.name1, connect.name2 = "site_left", "site_right"
    system = System(load(MODELS / "five_bar.urdf", loops=MODELS / "five_bar_pairs.yaml"))
    compare(system, spec.compile(), actuators=False)


def test_urdf_with_floating_base() -> None:
    spec = urdf_spec("five_bar.urdf")
    body_of(spec, "base").add_freejoint()
    compare(System(load(MODELS / "five_bar.urdf", floating_base=True)), spec.compile(), actuators=False)


def test_urdf_plus_leg_with_gear() -> None:
    """The coupling against a joint equality; the revolute loop against two ball connections on its axis."""
    spec = urdf_spec("rotor_leg.urdf")
    gear = spec.add_equality()
    gear.type = mujoco.mjtEq.mjEQ_JOINT
    gear.name1, gear.name2 = "rotor_joint", "hip"
    gear.data[:5] = [0.0, 6.0, 0.0, 0.0, 0.0]
    system, model = System(load(MODELS / "rotor_leg.urdf")), prepared(spec.compile())
    data = mujoco.MjData(model)
    for q, v in random_states(model, 3, seed=5):
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        close(system.mass_matrix(q), mujoco_mass_matrix(model, data), "mass matrix")
        close(system.bias_force(q, v), data.qfrc_bias, "bias force")
        compare_constraints(system, model, data, ["gear"])
