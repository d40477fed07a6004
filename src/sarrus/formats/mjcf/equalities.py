"""Equality constraints of a compiled MuJoCo model as loop closures and couplings."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sarrus.formats.importing import Import
from sarrus.formats.mjcf.element_names import Names, equality_kind
from sarrus.formats.mjcf.survey import disabled
from sarrus.formats.mjcf.tendons import coordinate_weights, two_sites
from sarrus.mechanism.pose import Pose

_DEFAULT_SOFTNESS = np.array([0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2.0])


def add_equalities(load: Import, model: Any, names: Names) -> None:
    """Add every equality of the model as a closure or coupling, or refuse it by name."""
    readers = {"connect": _connect, "weld": _weld, "joint": _joint, "tendon": _tendon}
    off = disabled(model, "EQUALITY") or disabled(model, "CONSTRAINT")
    for i in range(model.neq):
        kind, name = equality_kind(model.eq_type[i]), names.equalities[i]
        label = f"equality {kind}"
        if off or not model.eq_active0[i]:
            reason = "equalities are disabled in <option><flag>" if off else 'inactive (active="false")'
            load.report.set_aside(label, name, reason)
            continue
        if kind not in readers:
            load.refuse(label, name, "a flex has no rigid-body closure", "remove the flex and its equality")
            continue
        if readers[kind](load, model, names, i, label):
            _note_softness(load, model, i, label, name)


def _note_softness(load: Import, model: Any, i: int, label: str, name: str) -> None:
    softness = np.concatenate([model.eq_solref[i], model.eq_solimp[i]])
    if np.array_equal(softness, _DEFAULT_SOFTNESS):
        load.report.act(label, name, "exact here; soft in MuJoCo")
    else:
        load.report.act(label, name, "exact here, where the file has a softness of its own (solref, solimp)")


def _frames(model: Any, names: Names, i: int) -> tuple[str, str, Pose | None, Pose | None]:
    """Return the two bodies of an equality and, if it is between sites, the poses of the sites."""
    one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    if int(model.eq_objtype[i]) != int(mujoco.mjtObj.mjOBJ_SITE):
        return names.bodies[one], names.bodies[two], None, None
    poses = [Pose.of(model.site_pos[s], quaternion=model.site_quat[s]) for s in (one, two)]
    return names.bodies[model.site_bodyid[one]], names.bodies[model.site_bodyid[two]], poses[0], poses[1]


def _apart(load: Import, label: str, name: str, body1: str, body2: str) -> bool:
    """Return True if the bodies differ; refuse the closure of a body with itself."""
    if body1 == body2:
        load.refuse(label, name, f"it ties body {body1!r} to itself", "name two different bodies or sites")
    return body1 != body2


def _connect(load: Import, model: Any, names: Names, i: int, label: str) -> bool:
    body1, body2, pose1, pose2 = _frames(model, names, i)
    name = names.equalities[i]
    if not _apart(load, label, name, body1, body2):
        return False
    one = Pose(model.eq_data[i][0:3]) if pose1 is None else pose1
    two = Pose(model.eq_data[i][3:6]) if pose2 is None else pose2
    load.mechanism.add_closure(name, "point", body1, body2, pose1=one, pose2=two)
    return True


def _weld(load: Import, model: Any, names: Names, i: int, label: str) -> bool:
    """Weld: eq_data holds the anchor in body 2, the pose of the weld frame in body 1, torquescale."""
    body1, body2, pose1, pose2 = _frames(model, names, i)
    name, data = names.equalities[i], model.eq_data[i]
    if not _apart(load, label, name, body1, body2):
        return False
    if pose1 is None or pose2 is None:
        pose1, pose2 = Pose.of(data[3:6], quaternion=data[6:10]), Pose(data[0:3])
    free_rotation = float(data[10]) == 0.0
    load.mechanism.add_closure(
        name, "point" if free_rotation else "weld", body1, body2, pose1=pose1, pose2=pose2
    )
    if free_rotation:
        load.report.act(label, name, "torquescale is 0: a point closure")
    return not free_rotation


def _joint(load: Import, model: Any, names: Names, i: int, label: str) -> bool:
    """Joint: y − y₀ = Σ aₖ (x − x₀)ᵏ, with y₀, x₀ the coordinates in qpos0."""
    one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    constant, *higher = (float(c) for c in model.eq_data[i][:5])
    joint1 = names.joints[one]
    terms: dict[str, tuple[float, ...]] = {joint1: (-constant, 1.0)}
    references = {joint1: float(model.qpos0[model.jnt_qposadr[one]])}
    if two >= 0:
        terms[names.joints[two]] = _trimmed([0.0, *(-c for c in higher)])
        references[names.joints[two]] = float(model.qpos0[model.jnt_qposadr[two]])
    load.mechanism.add_coupling(names.equalities[i], terms, references)
    return True


def _tendon(load: Import, model: Any, names: Names, i: int, label: str) -> bool:
    """Tendon: L₁ − L₁₀ = Σ aₖ (L₂ − L₂₀)ᵏ. One two-site tendon is a distance, the others are couplings.

    Fixed tendons become terms of their coordinates where the sum allows that, so that gears stay gears.
    """
    one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    name, coefficients = names.equalities[i], [float(c) for c in model.eq_data[i][:5]]
    sites = two_sites(model, one)
    if sites is not None and two < 0:
        bodies = [names.bodies[model.site_bodyid[s]] for s in sites]
        length = float(model.tendon_length0[one]) + coefficients[0]
        if bodies[0] != bodies[1] and length > 0.0:
            poses = [Pose(model.site_pos[s]) for s in sites]
            load.mechanism.add_closure(
                name, "distance", bodies[0], bodies[1], pose1=poses[0], pose2=poses[1], length=length
            )
            return True
    weights1 = coordinate_weights(model, names, one)
    weights2 = coordinate_weights(model, names, two) if two >= 0 else {}
    terms: dict[str, list[float]] = {}
    if weights1 is None or weights2 is None or (len(weights2) > 1 and any(coefficients[2:])):
        terms[f"tendon:{names.tendons[one]}"] = [-coefficients[0], 1.0, 0.0, 0.0, 0.0]
        if two >= 0:
            term = terms.setdefault(f"tendon:{names.tendons[two]}", [0.0] * 5)
            term[1:] = [before - c for before, c in zip(term[1:], coefficients[1:])]
        references = {
            f"tendon:{names.tendons[t]}": float(model.tendon_length0[t]) for t in (one, two) if t >= 0
        }
    else:
        terms = {joint: [0.0, weight] for joint, weight in weights1.items()}
        terms[next(iter(terms))][0] -= coefficients[0]
        for joint, weight in weights2.items():
            term = terms.setdefault(joint, [])
            term.extend([0.0] * (5 - len(term)))
            for k in range(1, 5):
                term[k] -= coefficients[k] * weight**k
        references = {
            joint: float(model.qpos0[model.jnt_qposadr[names.joints.index(joint)]]) for joint in terms
        }
    load.mechanism.add_coupling(name, {term: _trimmed(c) for term, c in terms.items()}, references)
    return True


def _trimmed(coefficients: list[float]) -> tuple[float, ...]:
    """Return the coefficients without trailing zeros, at least two."""
    count = max((k + 1 for k, c in enumerate(coefficients) if c != 0.0), default=0)
    return tuple(coefficients[: max(count, 2)])
