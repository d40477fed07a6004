"""The oracles' own models of a file, and how far two arrays are apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

# Relative difference that is none. MuJoCo takes a centre of mass 3e-9 m from the origin of a body as in it.
SAME = 1e-8


def compiled(path: Path) -> Any:
    """Return MuJoCo's model of an MJCF or URDF file, None where MuJoCo reads it not."""
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        if (
            path.suffix == ".urdf"
        ):  # links without <inertial> are massless for all readers of URDF but this one
            spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        return spec.compile()
    except Exception:
        return None


def smooth(model: Any) -> None:
    """Switch off all forces of contacts, limits and dry friction: equalities are the only rows that stay."""
    for name in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    model.actuator_actearly[:] = False  # the activation at the end of a step: a matter of MuJoCo's steps


def full_mass(model: Any, data: Any) -> Any:
    """Return M as a full matrix."""
    mass = np.zeros((model.nv, model.nv))
    try:
        mujoco.mj_fullM(model, mass, data.qM)
    except (TypeError, AttributeError):  # from MuJoCo 4 on
        mujoco.mj_fullM(model, data, mass)
    return mass


def far(what: str, own: Any, other: Any, same: float = SAME) -> Iterator[str]:
    """Yield by how much of its size an array differs from the oracle's, if it does."""
    own, other = np.asarray(own), np.asarray(other)
    if not own.size and not other.size:
        return
    if own.shape != other.shape:
        yield f"{what} has the shape {own.shape}, not {other.shape}"
        return
    difference = float(np.abs(own - other).max()) / (1e-12 + float(np.abs(other).max(initial=1e-3)))
    if not difference <= same:
        yield f"{what} differs by {difference:.1e} of its size"
