"""Closures and couplings of a mechanism as MJCF equality constraints."""

from __future__ import annotations

from xml.etree.ElementTree import SubElement, tostring

import numpy as np
from numpy.polynomial import Polynomial

from sarrus.base.errors import UnsupportedElementError
from sarrus.base.names import unique
from sarrus.export.mjcf.mjcf_document import Document
from sarrus.export.mjcf.numbers import numbers
from sarrus.mechanism.elements import Closure, Coupling, CouplingTerm
from sarrus.mechanism.pose import Pose

_TENDON = "tendon:"
WRITABLE = ("point", "weld", "revolute", "distance")


def add_closures(document: Document) -> None:
    """Write every closure; a kind that MJCF has no equality for is an error that names it."""
    for closure in document.mechanism.closures.values():
        if closure.kind not in WRITABLE:
            raise UnsupportedElementError(
                f"closure {closure.name!r}: MJCF has no equality for a {closure.kind} closure; it can hold "
                f"{', '.join(WRITABLE)}",
                element=closure.name,
                valid=WRITABLE,
            )
        if closure.kind == "distance":
            _distance(document, closure)
        else:
            tag = "weld" if closure.kind == "weld" else "connect"
            _tie(document, closure, tag, closure.name, closure.pose1, closure.pose2)
        if closure.kind == "revolute":
            mechanism = document.mechanism
            name = unique(f"{closure.name}.axis", (*mechanism.closures, *mechanism.couplings))
            along = (
                Pose(pose.position + axis)
                for pose, axis in ((closure.pose1, closure.axis1), (closure.pose2, closure.axis2))
            )
            _tie(document, closure, "connect", name, *along)


def _tie(document: Document, closure: Closure, tag: str, name: str, pose1: Pose, pose2: Pose) -> None:
    site1 = document.site(f"{name}.1", closure.body1, pose1)
    site2 = document.site(f"{name}.2", closure.body2, pose2)
    attributes = {"name": name, "site1": site1, "site2": site2, **_activity(closure)}
    SubElement(document.section("equality"), tag, attributes)


def _activity(constraint: Closure | Coupling) -> dict[str, str]:
    """Return the attribute of an equality that is off at the start; MuJoCo's ``eq_active`` switches it."""
    return {"active": "false"} if constraint.active is False else {}


def _distance(document: Document, closure: Closure) -> None:
    """Write a massless rod: the length of a tendon between two sites, relative to the one in ``qpos0``."""
    tendon = document.tendon("spatial", closure.name)
    ends = []
    for number, body, pose in ((1, closure.body1, closure.pose1), (2, closure.body2, closure.pose2)):
        SubElement(tendon, "site", {"site": document.site(f"{closure.name}.{number}", body, pose)})
        ends.append(document.poses[body].apply(pose.position))
    excess = closure.length - float(np.linalg.norm(ends[1] - ends[0]))
    SubElement(
        document.section("equality"),
        "tendon",
        {
            "name": closure.name,
            "tendon1": tendon.get("name", ""),
            "polycoef": numbers([excess, 0.0, 0.0, 0.0, 0.0]),
            **_activity(closure),
        },
    )


def add_couplings(document: Document) -> None:
    """Write every coupling as a joint equality, y − y₀ = Σ aₖ (x − x₀)ᵏ with y₀, x₀ those of ``qpos0``."""
    for coupling in document.mechanism.couplings.values():
        dependent, other = _split(coupling)
        if any(term.coordinate.startswith(_TENDON) for term in coupling.terms):
            _couple_tendons(document, coupling, dependent, other)
            continue
        constant, slope = _about(dependent, document.coordinates[dependent.coordinate])[:2]
        polynomial = np.zeros(5)
        polynomial[0] = -constant / slope
        attributes = {"name": coupling.name, "joint1": dependent.coordinate, **_activity(coupling)}
        if other is not None:
            coefficients = _about(other, document.coordinates[other.coordinate])
            polynomial[: len(coefficients)] -= coefficients / slope
            attributes["joint2"] = other.coordinate
        SubElement(document.section("equality"), "joint", attributes | {"polycoef": numbers(polynomial)})


def _couple_tendons(
    document: Document, coupling: Coupling, dependent: CouplingTerm, other: CouplingTerm | None
) -> None:
    """Write a tendon equality, L₁ − L₁₀ = Σ aₖ (L₂ − L₂₀)ᵏ with lengths in ``qpos0``; a coordinate gets a tendon."""
    import mujoco  # here for start-up time: C export and drawings need none of it

    names = []
    for term in (dependent, other) if other is not None else (dependent,):
        if term.coordinate.startswith(_TENDON):
            names.append(term.coordinate.removeprefix(_TENDON))
        else:
            tendon = document.tendon("fixed", f"{coupling.name}.{term.coordinate}")
            SubElement(tendon, "joint", {"joint": term.coordinate, "coef": "1"})
            names.append(tendon.get("name", ""))
    model = mujoco.MjModel.from_xml_string(tostring(document.root, encoding="unicode"))
    lengths = [float(model.tendon_length0[model.tendon(name).id]) for name in names]
    constant, slope = _about(dependent, lengths[0])[:2]
    polynomial = np.zeros(5)
    polynomial[0] = -constant / slope
    attributes = {"name": coupling.name, "tendon1": names[0], **_activity(coupling)}
    if other is not None:
        coefficients = _about(other, lengths[1])
        polynomial[: len(coefficients)] -= coefficients / slope
        attributes["tendon2"] = names[1]
    SubElement(document.section("equality"), "tendon", attributes | {"polycoef": numbers(polynomial)})


def _split(coupling: Coupling) -> tuple[CouplingTerm, CouplingTerm | None]:
    """Return the term that is linear, to be solved for, and the other one if there is one."""
    terms = coupling.terms
    linear = [t for t in terms if _degree(t) == 1]
    if len(terms) > 2 or not linear or max(_degree(t) for t in terms) > 4:
        raise UnsupportedElementError(
            f"coupling {coupling.name!r}: a joint equality of MJCF gives one coordinate as a polynomial "
            f"of at most degree 4 of one other; this one has degrees {[_degree(t) for t in terms]} in "
            f"{[t.coordinate for t in terms]}",
            element=coupling.name,
        )
    dependent = linear[0]
    others = [t for t in terms if t is not dependent]
    return dependent, others[0] if others else None


def _degree(term: CouplingTerm) -> int:
    return max((k for k, c in enumerate(term.coefficients) if c != 0.0), default=0)


def _about(term: CouplingTerm, origin: float) -> np.ndarray:
    """Return the coefficients of a term as a polynomial of (coordinate − origin)."""
    shift = origin - term.reference
    coefficients = term.coefficients[: _degree(term) + 1]
    if shift == 0.0:
        return np.array(coefficients)
    return Polynomial(coefficients)(Polynomial([shift, 1.0])).coef
