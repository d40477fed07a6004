"""MuJoCo's narrow phase (contact points of two geometries): a model with the geometries alone, and its functions.

The functions are the entries of the public table ``mjCOLLISIONFUNC`` in MuJoCo's library; kernels call them by their
addresses. The memory layout of a contact is checked on a capsule against MuJoCo's Python bindings.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError, SarrusError
from sarrus.dynamics.contacts.tolerances import CONVEX_GAP, CONVEX_ITERATIONS, SAME_GEOMETRY
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.model.mechanism.elements import Geom

# Contacts that a function writes at the most (mjMAXCONPAIR).
MOST_CONTACTS = 256
_KINDS = int(mujoco.mjtGeom.mjNGEOMTYPES)
_GENERAL = ("mjc_Convex", "mjc_ConvexHField")
# Numbers that a contact has at the most.
_LONGEST = 128


def geometry_model(name: str, geoms: Iterable[Geom]) -> Any:
    """Return an `MjModel` with these geoms fixed to the world, in axes of their bodies.

    Raises `ModelError` if MuJoCo refuses a geom, for instance a flat mesh.
    """
    spec = mujoco.MjSpec()
    spec.option.ccd_tolerance, spec.option.ccd_iterations = CONVEX_GAP, CONVEX_ITERATIONS
    spec.memory = 1 << 24
    for number, geom in enumerate(geoms):
        kind = getattr(mujoco.mjtGeom, f"mjGEOM_{geom.kind.upper()}")
        given: dict[str, Any] = {"size": np.ones(3) if geom.kind == "plane" else geom.size}
        label = f"{number}"
        if geom.points is not None:
            points = np.ascontiguousarray(geom.points, dtype=np.float32).ravel()
            inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            spec.add_mesh(name=label, uservert=points, inertia=inertia)
            given = {"meshname": label}
        if geom.heights is not None:
            rows, columns = geom.heights.shape
            data = np.ascontiguousarray(geom.heights, dtype=np.float32).ravel()
            spec.add_hfield(name=label, nrow=rows, ncol=columns, size=geom.size, userdata=data)
            given = {"hfieldname": label}
        pose = {"pos": geom.pose.position, "quat": geom.pose.quaternion}
        spec.worldbody.add_geom(name=geom.name, type=kind, **given, **pose)
    try:
        return spec.compile()
    except ValueError as error:
        raise ModelError(f"{name}: MuJoCo refuses its geometries: {error}", element=name) from error


def functions(
    model: Any, ones: Iterable[int], others: Iterable[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Return, for each pair of geoms, the pair in the order that its function expects, its address (0 for two boxes),
    and whether it is general.
    """
    table, general = _table()
    pairs, addresses, kinds = [], [], []
    for one, other in zip(ones, others):
        if model.geom_type[one] > model.geom_type[other]:
            one, other = other, one
        boxes = int(model.geom_type[one]) == int(model.geom_type[other]) == int(mujoco.mjtGeom.mjGEOM_BOX)
        address = 0 if boxes else table[int(model.geom_type[one]) * _KINDS + int(model.geom_type[other])]
        pairs.append((one, other))
        addresses.append(address)
        kinds.append(int(address in general))
    return pairs, addresses, kinds


@cache
def _library() -> Any:
    """Return MuJoCo's library, which its Python package has loaded."""
    folder = Path(mujoco.__file__).parent
    for pattern in ("libmujoco*.so*", "libmujoco*.dylib", "mujoco.dll"):
        for path in sorted(folder.glob(pattern)):
            return ctypes.CDLL(str(path))
    raise SarrusError(
        f"MuJoCo's library is not in {folder.name}: contacts between geometries need the package mujoco"
    )


@cache
def _table() -> tuple[list[int], frozenset[int]]:
    """Return the addresses of the functions by the types of both geoms (0: none), and the set of general ones."""
    library = _library()
    table = (ctypes.c_void_p * _KINDS**2).in_dll(library, "mjCOLLISIONFUNC")
    known = [getattr(library, name, None) for name in _GENERAL]
    general = frozenset(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in known if f is not None)
    return [address or 0 for address in table], general


@cache
def contact_stride() -> int:
    """Return the number of floats that a function of the table writes per contact: distance, point and normal come
    first.

    Raises `SarrusError` if they differ from MuJoCo's Python bindings for a capsule on a plane, which touches at both
    ends.
    """
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0.1 0.2 0.25' euler='0 87 30'><freejoint/>"
        "<geom type='capsule' size='0.3 0.4'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    contacts = data.contact
    seen = np.column_stack([contacts.dist, contacts.pos, contacts.frame[:, :3]])
    room = np.zeros(MOST_CONTACTS * _LONGEST)
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 2, ctypes.c_double)
    kinds = model.geom_type
    own = function(_table()[0][int(kinds[0]) * _KINDS + int(kinds[1])])
    found = own(model._address, data._address, room.ctypes.data, 0, 1, 0.0)  # noqa: SLF001  MuJoCo's own name for it
    two = len(seen) == 2 and found == 2
    strides = [n for n in range(cl.N_MET, _LONGEST + 1) if two and _same(room[n : n + cl.N_MET], seen[1])]
    if not strides or not _same(room[: cl.N_MET], seen[0]):
        raise SarrusError(
            f"MuJoCo {mujoco.__version__} has another memory layout of contacts than this version of sarrus reads. "
            "Install another release of mujoco"
        )
    return strides[0]


def _same(one: Array, other: Array) -> bool:
    return bool(np.allclose(one, other, rtol=0.0, atol=SAME_GEOMETRY))


def bounding_radii(model: Any) -> Array:
    """Return the radii of the bounding spheres of all geoms [m]; of a plane −1."""
    radii = np.array(model.geom_rbound)
    return np.where(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE, -1.0, radii)
