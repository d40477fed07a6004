"""What a MuJoCo model has besides the mechanism, counted by group in the import report."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sarrus.formats.importing import CONTACTS
from sarrus.formats.mjcf.element_names import Names
from sarrus.formats.mjcf.shapes import colliding
from sarrus.mechanism.report import ImportReport

# attribute that counts the group, its name in the report, why it is not needed
_GROUPS = (
    ("ncam", "camera", "drawing only"),
    ("nlight", "light", "drawing only"),
    ("nskin", "skin", "drawing only"),
    ("nmat", "material", "drawing only; colours are kept"),
    ("ntex", "texture", "drawing only"),
    ("nnumeric", "custom numeric", "user data"),
    ("ntext", "custom text", "user data"),
    ("ntuple", "custom tuple", "user data"),
)


def disabled(model: Any, flag: str) -> bool:
    """Return True if <option><flag> switches off ``flag`` (GRAVITY, EQUALITY, SPRING …)."""
    bits = mujoco.mjtDisableBit
    own = getattr(bits, f"mjDSBL_{flag}", None)
    if own is None and flag in ("SPRING", "DAMPER"):  # one flag for both before MuJoCo 3.3
        own = getattr(bits, "mjDSBL_PASSIVE", None)
    return own is not None and bool(int(model.opt.disableflags) & int(own))


def survey(report: ImportReport, model: Any, names: Names) -> None:
    """List contacts, sensors, drawing, limits, friction, fluid and solver options of a compiled model."""
    contacts = len(colliding(model))
    if contacts:
        report.keep("contact geometry", f"{contacts} geoms", CONTACTS)
    for attribute, kind in (("nexclude", "contact exclude"), ("npair", "contact pair")):
        count = int(getattr(model, attribute))
        if count:
            report.leave_out(kind, f"{count}", CONTACTS)
    for attribute, kind, reason in _GROUPS:
        count = int(getattr(model, attribute, 0))
        if count:
            report.set_aside(kind, f"{count}", reason)
    if model.nflex:
        report.leave_out(
            "flex", f"{model.nflex}", "its elasticity is left out; its vertices stay as free point masses"
        )
    if model.nplugin:
        report.leave_out("plugin", f"{model.nplugin}", "forces of plugins are left out")
    for name, value in (("density", model.opt.density), ("viscosity", model.opt.viscosity)):
        if value:
            report.leave_out("fluid", name, f"{value:g}: drag and lift are left out")
    _survey_joints(report, model, names)


def _survey_joints(report: ImportReport, model: Any, names: Names) -> None:
    limited = [names.joints[j] for j in range(model.njnt) if model.jnt_limited[j]]
    scalar = [
        names.joints[j] for j in range(model.njnt) if model.jnt_limited[j] and model.jnt_type[j] in (2, 3)
    ]
    if scalar:
        report.keep(
            "joint limits", _list(scalar), "recorded: a trajectory reports a crossing and does not stop it"
        )
    for name in limited:
        if name not in scalar:
            report.keep(
                "joint limits", name, "recorded as largest_angle; the cone of a ball joint does not act yet"
            )
    for joint in range(model.njnt):
        first = int(model.jnt_dofadr[joint])
        count = {0: 6, 1: 3}.get(int(model.jnt_type[joint]), 1)
        loss = float(np.max(model.dof_frictionloss[first : first + count]))
        if loss and not disabled(model, "FRICTIONLOSS"):
            report.keep(
                "joint friction", names.joints[joint], f"recorded; dry friction of {loss:g} does not act yet"
            )
        springyield = getattr(model, "jnt_springyield", None)
        if springyield is not None and springyield[joint]:
            report.leave_out(
                "joint spring", names.joints[joint], "the yield of its spring is left out: it stays elastic"
            )


def _list(names: list[str], shown: int = 6) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
