"""The <drake:tendon_constraint> elements of a URDF file: a rope, a strut or a coupling over joints.

.. code-block:: xml

    <drake:tendon_constraint>
      <drake:tendon_constraint_joint name="left" a="1"/>
      <drake:tendon_constraint_joint name="right" a="1"/>
      <drake:tendon_constraint_offset value="0"/>
      <drake:tendon_constraint_lower_limit value="-0.2"/>
    </drake:tendon_constraint>

It means lower ≤ Σ a q + offset ≤ upper, without a limit that is not given. Equal limits are a coupling. With a finite
stiffness the limits are springs.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.model_xml import real
from sarrus.model.mechanism.faults import check_name

TAG = "drake:tendon_constraint"
_DEFAULTS = {
    "offset": 0.0,
    "lower_limit": -np.inf,
    "upper_limit": np.inf,
    "stiffness": np.inf,
    "damping": 0.0,
}
PARTS = (f"{TAG}_joint", *(f"{TAG}_{key}" for key in _DEFAULTS))


def add_drake_tendons(load: Import, root: ElementTree.Element) -> None:
    """Add every <drake:tendon_constraint> as a tendon with limits, or as a coupling if both limits are equal."""
    found = [child for child in root if child.tag == TAG]
    for number, element in enumerate(found, start=1):
        name = "tendon_constraint" if len(found) == 1 else f"tendon_constraint_{number}"
        _add(load, element, name, f"{load.path}: {TAG} {number}")


def _add(load: Import, element: ElementTree.Element, name: str, label: str) -> None:
    weights = _weights(load, element, label)
    given = {key: _value(element, key, default, label) for key, default in _DEFAULTS.items()}
    lower, upper = given["lower_limit"] - given["offset"], given["upper_limit"] - given["offset"]
    if not (np.isfinite(lower) or np.isfinite(upper)) or lower > upper:
        raise ModelFileError(
            f"{label}: needs a lower_limit or an upper_limit, and the lower one not above the upper one",
            element=name,
        )
    mechanism = load.mechanism
    if np.isfinite(given["stiffness"]):
        mechanism.add_tendon(name, weights, stiffness=given["stiffness"], rest_length=(lower, upper))
        load.report.act(TAG, name, "a spring beyond its limits")
        if given["damping"]:
            load.report.leave_out(TAG, name, f"damping of {given['damping']:g} beyond its limits is left out")
    elif lower == upper:
        first, *others = weights.items()
        terms: dict[str, tuple[float, float]] = {first[0]: (-lower, first[1])}
        mechanism.add_coupling(name, {**terms, **{joint: (0.0, a) for joint, a in others}})
        load.report.act(TAG, name, "a coupling, as its limits are equal")
    else:
        mechanism.add_tendon(name, weights, limits=(lower, upper))
        load.report.act(TAG, name, "limits of the sum, exact and without rebound")


def _weights(load: Import, element: ElementTree.Element, label: str) -> dict[str, float]:
    """Return the factors of the joints."""
    scalar = [joint.name for joint in load.mechanism.joints() if joint.nv == 1]
    weights: dict[str, float] = {}
    for part in element:
        if part.tag == PARTS[0]:
            joint = part.get("name", "")
            check_name("joint", joint, scalar, label, joint, ModelFileError)
            weights[joint] = weights.get(joint, 0.0) + _number(
                part.get("a"), f"{label}: a of joint {joint!r}"
            )
    if not weights:
        raise ModelFileError(f"{label}: needs a <{PARTS[0]} name=… a=…/>", element=TAG)
    return weights


def _value(element: ElementTree.Element, key: str, default: float, label: str) -> float:
    """Return the value of a child, or its default."""
    part = next((part for part in element if part.tag == f"{TAG}_{key}"), None)
    return default if part is None else _number(part.get("value"), f"{label}: {key}")


def _number(text: str | None, what: str) -> float:
    try:
        return real(text or "")
    except ValueError:
        raise ModelFileError(f"{what} must be a number, got {text!r}", element=TAG) from None
