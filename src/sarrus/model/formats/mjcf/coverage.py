"""Elements of a MuJoCo model outside of the mechanism, counted by group in the import report."""

from __future__ import annotations

import numpy as np

from sarrus.model.formats.importing import CONTACTS
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.equalities import DEFAULT_SOFTNESS
from sarrus.model.formats.mjcf.shapes import colliding
from sarrus.model.mechanism.joint import VELOCITY_LABELS
from sarrus.model.mechanism.report import ImportReport

# Count attribute of a group, its name in the report, its outcome and the reason.
_GROUPS = (
    ("nexclude", "contact exclude", ImportReport.keep, "for mechanism.add_geometry_contacts()"),
    ("npair", "contact pair", ImportReport.keep, "for mechanism.add_geometry_contacts()"),
    ("ncam", "camera", ImportReport.set_aside, "drawing only"),
    ("nlight", "light", ImportReport.set_aside, "drawing only"),
    ("nskin", "skin", ImportReport.set_aside, "drawing only"),
    ("nmat", "material", ImportReport.set_aside, "drawing only; colours are kept"),
    ("ntex", "texture", ImportReport.set_aside, "drawing only"),
    ("nnumeric", "custom numeric", ImportReport.set_aside, "user data"),
    ("ntext", "custom text", ImportReport.set_aside, "user data"),
    ("ntuple", "custom tuple", ImportReport.set_aside, "user data"),
    (
        "nflex",
        "flex",
        ImportReport.leave_out,
        "its elasticity is left out; its vertices stay as free point masses",
    ),
    ("nplugin", "plugin", ImportReport.leave_out, "forces of plugins are left out"),
)


def report_coverage(report: ImportReport, names: Names) -> None:
    """List contacts, drawing, fluid, and joint features of a compiled model that do not act."""
    model = names.model
    contacts = len(colliding(model))
    if contacts and names.disabled("CONTACT"):
        reason = "contacts are disabled in <option><flag>; add_geometry_contacts adds them all the same"
        report.set_aside("contact geometry", f"{contacts} geoms", reason)
    elif contacts:
        report.keep("contact geometry", f"{contacts} geoms", CONTACTS)
        _list_softness(report, names)
    for attribute, kind, list_it, reason in _GROUPS:
        count = int(getattr(model, attribute))
        if count:
            list_it(report, kind, f"{count}", reason)
    for name, value in (("density", model.opt.density), ("viscosity", model.opt.viscosity)):
        if value:
            report.leave_out("fluid", name, f"{value:g}: drag and lift are left out")
    limited = [j for j in range(model.njnt) if model.jnt_limited[j] and not names.disabled("LIMIT")]
    cones = [names.joints[j] for j in limited if names.joint_kinds[j] == "spherical"]
    scalar = [names.joints[j] for j in limited if names.joints[j] not in cones]
    if scalar:
        reason = "stops runs without rebound, in dynamics and statics too"
        report.keep("joint limits", _list(scalar), reason)
    for joint in limited:
        if model.jnt_margin[joint]:
            reason = f"its margin of {model.jnt_margin[joint]:g} is left out: the stop is at the range"
            report.leave_out("joint limits", names.joints[joint], reason)
    for name in cones:
        reason = "recorded as largest_angle; the cone of a ball joint does not act yet"
        report.keep("joint limits", name, reason)
    for joint, name in enumerate(names.joints):
        first = int(model.jnt_dofadr[joint])
        count = len(VELOCITY_LABELS[names.joint_kinds[joint]])
        loss = float(np.max(model.dof_frictionloss[first : first + count]))
        if loss and not names.disabled("FRICTIONLOSS"):
            report.keep_friction(name, loss)
        if hasattr(model, "jnt_springyield") and model.jnt_springyield[joint]:  # MuJoCo ≥ 4
            report.leave_out("joint spring", name, "the yield of its spring is left out: it stays elastic")


def _list_softness(report: ImportReport, names: Names) -> None:
    """List the softness of geom contacts, which are hard here, and the contact features of MuJoCo 4."""
    model = names.model
    for what, reason in (("surfacevel", "surfaces do not run"), ("adhesion", "surfaces do not stick")):
        own = [
            names.geoms[g]
            for g in colliding(model)
            if np.any(getattr(model, f"geom_{what}", np.zeros(model.ngeom))[g])
        ]
        if own:
            report.leave_out("contact geometry", _list(own), f"{what}: {reason} in contacts here")
    for what, usual in (("solref", DEFAULT_SOFTNESS[:2]), ("solimp", DEFAULT_SOFTNESS[2:])):
        table = getattr(model, f"geom_{what}")
        own = [names.geoms[g] for g in colliding(model) if not np.allclose(table[g], usual)]
        if own:
            report.keep("contact softness", _list(own), f"{what}: contacts between geometries are hard")
    for pair in range(model.npair):
        sliding, rolling = model.pair_friction[pair][:2], model.pair_friction[pair][3:]
        if sliding[0] != sliding[1] or rolling[0] != rolling[1]:
            label = f"{names.geoms[int(model.pair_geom1[pair])]}-{names.geoms[int(model.pair_geom2[pair])]}"
            report.keep(
                "contact pair",
                label,
                "the friction coefficient of its first direction holds in all directions",
            )


def _list(names: list[str], shown: int = 6) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
