"""Closures and couplings of a mechanism as MJCF equality constraints."""

from __future__ import annotations

from xml.etree.ElementTree import SubElement, tostring

import numpy as np
from numpy.polynomial import Polynomial

from sarrus.base.names import unique
from sarrus.model.formats.mjcf_writer.attributes import numbers, refused
from sarrus.model.formats.mjcf_writer.mjcf_document import Document
from sarrus.model.mechanism.elements import Closure, Coupling, CouplingTerm
from sarrus.model.mechanism.pose import Pose

_TENDON = "tendon:"
_IN_TIME = "MJCF has no equality that is a function of time; a driven body is a mocap body there"
_CAPTURES = (
    "it holds what is there when it is switched on (capture), and an equality of MJCF pulls the frames together; leave "
    "capture out"
)
_APART = (
    "it keeps the offset of its frames (keep_offset), and MJCF has no equality that leaves one out; move one of the "
    "two frames by the offset"
)
WRITABLE = ("point", "weld", "revolute", "distance")


def add_closures(document: Document) -> None:
    """Write every closure; a kind without an MJCF equality is an error that names it."""
    for rolling in document.mechanism.rollings.values():
        raise refused(
            "rolling",
            rolling.name,
            f"MJCF has no equality for a {rolling.kind} that rolls without slip; give the body a geometry and friction",
        )
    for closure in document.mechanism.closures.values():
        if closure.kind not in WRITABLE:
            reason = f"MJCF has no equality for a {closure.kind} closure; it can hold {', '.join(WRITABLE)}"
            raise refused("closure", closure.name, reason, WRITABLE)
        if closure.motion is not None:
            raise refused("closure", closure.name, _IN_TIME)
        if closure.keep_offset:
            raise refused("closure", closure.name, _APART)
        if closure.capture:
            raise refused("closure", closure.name, _CAPTURES)
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
    """Return the attribute of an equality that is inactive at the start; MuJoCo's ``eq_active`` switches it."""
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
    """Write every coupling as a joint equality, y − y₀ = Σ aₖ (x − x₀)ᵏ with y₀, x₀ in ``qpos0``.

    A coupling with tendons becomes a tendon equality of lengths; a coordinate in it gets its own tendon.
    """
    for coupling in document.mechanism.couplings.values():
        if coupling.motion is not None:
            raise refused("coupling", coupling.name, _IN_TIME)
        if any(term.function is not None for term in coupling.terms):
            raise refused(
                "coupling", coupling.name, "a joint equality of MJCF is a polynomial, this one has functions"
            )
        dependent, other = _split(coupling)
        terms = [dependent] if other is None else [dependent, other]
        if any(term.coordinate.startswith(_TENDON) for term in coupling.terms):
            tag, names = "tendon", [_tendon_of(document, coupling, term) for term in terms]
            origins = _reference_lengths(document, names)
        else:
            tag, names = "joint", [term.coordinate for term in terms]
            origins = [document.coordinates[name] for name in names]
        constant, slope = _about(dependent, origins[0])[:2]
        polynomial = np.zeros(5)
        polynomial[0] = -constant / slope
        if other is not None:
            coefficients = _about(other, origins[1])
            polynomial[: len(coefficients)] -= coefficients / slope
        attributes = {"name": coupling.name, f"{tag}1": names[0], **_activity(coupling)}
        attributes |= {f"{tag}2": name for name in names[1:]}
        SubElement(document.section("equality"), tag, attributes | {"polycoef": numbers(polynomial)})


def _tendon_of(document: Document, coupling: Coupling, term: CouplingTerm) -> str:
    """Return the name of the tendon of a term, a new one for a coordinate."""
    if term.coordinate.startswith(_TENDON):
        return term.coordinate.removeprefix(_TENDON)
    return document.combination(f"{coupling.name}.{term.coordinate}", [(term.coordinate, 1.0)])


def _reference_lengths(document: Document, tendons: list[str]) -> list[float]:
    """Return the lengths of tendons in ``qpos0``."""
    import mujoco  # here for start-up time: C export and drawings do not need it

    model = mujoco.MjModel.from_xml_string(tostring(document.root, encoding="unicode"))
    return [float(model.tendon_length0[model.tendon(name).id]) for name in tendons]


def _split(coupling: Coupling) -> tuple[CouplingTerm, CouplingTerm | None]:
    """Return the linear term to be solved for, and the other one if there is one."""
    terms = coupling.terms
    linear = [t for t in terms if _degree(t) == 1]
    if len(terms) > 2 or not linear or max(_degree(t) for t in terms) > 4:
        raise refused(
            "coupling",
            coupling.name,
            "a joint equality of MJCF gives one coordinate as a polynomial of at most degree 4 of one other; this "
            f"one has degrees {[_degree(t) for t in terms]} in {[t.coordinate for t in terms]}",
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
