"""Equality constraints of a compiled MuJoCo model as loop closures and couplings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.tendons import coordinate_weights, tendon_path, trimmed
from sarrus.model.mechanism.pose import Pose

DEFAULT_SOFTNESS = np.array([0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2.0])


def add_equalities(load: Import, names: Names) -> None:
    """Add every equality of the model as a closure or coupling, or refuse it by name."""
    model, readers = names.model, {"connect": _closure, "weld": _closure, "joint": _joint, "tendon": _tendon}
    off = names.disabled("EQUALITY")
    for i, name in enumerate(names.equalities):
        kind = names.kind("eq_type", i)
        label = f"equality {kind}"
        if off or not model.eq_active0[i]:
            reason = "equalities are disabled in <option><flag>" if off else 'inactive (active="false")'
            load.report.set_aside(label, name, reason)
        elif kind not in readers:
            load.refuse(label, name, "a flex has no rigid-body closure", "remove the flex and its equality")
        else:
            readers[kind](load, names, i)


def _note(load: Import, names: Names, i: int) -> None:
    softness = np.concatenate([names.model.eq_solref[i], names.model.eq_solimp[i]])
    note = "exact here; soft in MuJoCo"
    if not np.array_equal(softness, DEFAULT_SOFTNESS):
        note = "exact here, where the file has a softness of its own (solref, solimp)"
    load.report.act(f"equality {names.kind('eq_type', i)}", names.equalities[i], note)


def _closure(load: Import, names: Names, i: int) -> None:
    """Connect: eq_data holds the anchor in body 1 and in body 2. Weld: the anchor in body 2, the pose in body 1.

    Both may be between sites instead. The last number of a weld is its torquescale.
    """
    model, name, data = names.model, names.equalities[i], names.model.eq_data[i]
    ends, kind = (model.eq_obj1id[i], model.eq_obj2id[i]), names.kind("eq_type", i)
    if names.kind("eq_objtype", i) == "site":
        (body1, pose1), (body2, pose2) = (names.place("site", site) for site in ends)
    else:
        body1, body2 = (names.bodies[body] for body in ends)
        pose1, pose2 = Pose(data[0:3]), Pose(data[3:6])
        if kind == "weld":
            pose1, pose2 = Pose.of(data[3:6], quaternion=data[6:10]), pose1
    if body1 == body2:
        reason = f"it ties body {body1!r} to itself"
        load.refuse(f"equality {kind}", name, reason, "name two different bodies or sites")
        return
    free_rotation = kind == "weld" and float(data[10]) == 0.0
    closure = "weld" if kind == "weld" and not free_rotation else "point"
    load.mechanism.add_closure(name, closure, body1, body2, pose1=pose1, pose2=pose2)
    if free_rotation:
        load.report.act("equality weld", name, "torquescale is 0: a point closure")
    else:
        _note(load, names, i)


def _joint(load: Import, names: Names, i: int) -> None:
    """Joint: y − y₀ = Σ aₖ (x − x₀)ᵏ, with y₀, x₀ the coordinates in qpos0."""
    one, two = int(names.model.eq_obj1id[i]), int(names.model.eq_obj2id[i])
    constant, *higher = (float(c) for c in names.model.eq_data[i][:5])
    terms: dict[str, tuple[float, ...]] = {names.joints[one]: (-constant, 1.0)}
    if two >= 0:
        terms[names.joints[two]] = trimmed([0.0, *(-c for c in higher)], 2)
    load.mechanism.add_coupling(names.equalities[i], terms, _references(names, terms))
    _note(load, names, i)


def _tendon(load: Import, names: Names, i: int) -> None:
    """Tendon: L₁ − L₁₀ = Σ aₖ (L₂ − L₂₀)ᵏ. One two-site tendon is a distance, other cases are couplings.

    Fixed tendons become terms in their coordinates if the sum is linear in them, so that gears stay gears.
    """
    model, name = names.model, names.equalities[i]
    one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    coefficients = [float(c) for c in model.eq_data[i][:5]]
    weights1 = coordinate_weights(names, one)
    weights2 = coordinate_weights(names, two) if two >= 0 else {}
    terms: dict[str, list[float]] = {}
    if two < 0 and _distance(load, names, i, float(model.tendon_length0[one]) + coefficients[0]):
        return
    if weights1 is None or weights2 is None or (len(weights2) > 1 and any(coefficients[2:])):
        lengths = {f"tendon:{names.tendons[t]}": float(model.tendon_length0[t]) for t in (one, two) if t >= 0}
        terms[f"tendon:{names.tendons[one]}"] = [-coefficients[0], 1.0, 0.0, 0.0, 0.0]
        if two >= 0:
            term = terms.setdefault(f"tendon:{names.tendons[two]}", [0.0] * 5)
            term[1:] = [before - c for before, c in zip(term[1:], coefficients[1:])]
    else:
        terms = {joint: [0.0, weight] for joint, weight in weights1.items()}
        terms[next(iter(terms))][0] -= coefficients[0]
        for joint, weight in weights2.items():
            term = terms.setdefault(joint, [])
            term.extend([0.0] * (5 - len(term)))
            for k in range(1, 5):
                term[k] -= coefficients[k] * weight**k
        lengths = _references(names, terms)
    load.mechanism.add_coupling(name, {term: trimmed(c, 2) for term, c in terms.items()}, lengths)
    _note(load, names, i)


def _distance(load: Import, names: Names, i: int, length: float) -> bool:
    """Add a distance if a tendon is one straight line between two bodies; tell whether it is."""
    path = tendon_path(names, int(names.model.eq_obj1id[i]))
    if [kind for kind, _, _ in path] != ["site", "site"] or not length > 0.0:
        return False
    (body1, pose1), (body2, pose2) = (names.place("site", site) for _, site, _ in path)
    if body1 == body2:
        return False
    ends: dict[str, Any] = {"pose1": pose1.position, "pose2": pose2.position}
    load.mechanism.add_closure(names.equalities[i], "distance", body1, body2, length=length, **ends)
    _note(load, names, i)
    return True


def _references(names: Names, joints: Iterable[str]) -> dict[str, float]:
    """Return the coordinates of scalar joints in the reference configuration."""
    model = names.model
    return {joint: float(model.qpos0[model.jnt_qposadr[names.joints.index(joint)]]) for joint in joints}
