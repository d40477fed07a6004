"""MuJoCo's narrow phase for the geometries of a mechanism: a model that holds nothing else, and its functions.

The functions are those of the public table ``mjCOLLISIONFUNC`` in MuJoCo's library; kernels call them by their
addresses. How MuJoCo lays out a contact is looked up through its Python bindings, and checked once, on two spheres.
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
from sarrus.kernels import colliding_layout as cl
from sarrus.mechanism.elements import Geom

# Contacts that a function writes at the most (mjMAXCONPAIR).
MOST_CONTACTS = 256
# Tolerance and iterations of MuJoCo's general function for convex bodies: gaps are then right to rounding.
_TOLERANCE, _ITERATIONS = 1e-14, 500
_KINDS = int(mujoco.mjtGeom.mjNGEOMTYPES)
_GENERAL = ("mjc_Convex", "mjc_ConvexHField")
# Where distance, point and normal are in a contact [numbers].
_PLACES = (0, 1, 4)


def geometry_model(name: str, geoms: Iterable[Geom]) -> Any:
    """Return an `MjModel` with these geoms on the world, in axes of their bodies.

    Raises `ModelError` where MuJoCo refuses one, a flat mesh say.
    """
    spec = mujoco.MjSpec()
    spec.option.ccd_tolerance, spec.option.ccd_iterations = _TOLERANCE, _ITERATIONS
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
        raise ModelError(f"{name}: MuJoCo cannot take its geometries: {error}", element=name) from error


def functions(
    model: Any, ones: Iterable[int], others: Iterable[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Return of every pair of geoms: both as its function expects them, its address, whether it is general."""
    table, general = _table()
    pairs, addresses, kinds = [], [], []
    for one, other in zip(ones, others):
        if model.geom_type[one] > model.geom_type[other]:
            one, other = other, one
        address = table[int(model.geom_type[one]) * _KINDS + int(model.geom_type[other])]
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
    """Return the addresses of the functions by both kinds of geoms, and of those that are general; 0: there is none."""
    library = _library()
    table = (ctypes.c_void_p * _KINDS**2).in_dll(library, "mjCOLLISIONFUNC")
    known = [getattr(library, name, None) for name in _GENERAL]
    general = frozenset(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in known if f is not None)
    return [address or 0 for address in table], general


@cache
def contact_stride() -> int:
    """Return the length of an mjContact in numbers of eight bytes.

    Raises `SarrusError` where a contact is not laid out as the kernels expect it.
    """
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom size='0.3'/><body pos='0.1 0.2 0.4'><freejoint/><geom size='0.25'/></body>"
        "<body pos='-0.1 -0.2 -0.4'><freejoint/><geom size='0.25'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    fields = [getattr(data.contact, name).__array_interface__ for name in ("dist", "pos", "frame")]
    (start, stride), places = (fields[0]["data"][0], fields[0]["strides"][0]), [f["data"][0] for f in fields]
    room = np.zeros(MOST_CONTACTS * stride // 8 + 1)
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 2, ctypes.c_double)
    own = function(_table()[0][int(mujoco.mjtGeom.mjGEOM_SPHERE) * (_KINDS + 1)])
    found = own(model._address, data._address, room.ctypes.data, 0, 1, 0.0)  # noqa: SLF001  MuJoCo's own name for it
    offsets = tuple((place - start) // 8 for place in places)
    seen = np.concatenate([data.contact.dist[:1], data.contact.pos[0], data.contact.frame[0][:3]])
    if found != 1 or offsets != _PLACES or stride % 8 or not np.allclose(room[: cl.N_MET], seen, rtol=0.0, atol=1e-12):
        raise SarrusError(
            f"contacts of MuJoCo {mujoco.__version__} are laid out in another way than contacts between geometries "
            "expect: install another release of mujoco"
        )
    return stride // 8


def bounding_radii(model: Any) -> Array:
    """Return the radii of the bounding spheres of all geoms [m]; of a plane −1."""
    radii = np.array(model.geom_rbound)
    return np.where(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE, -1.0, radii)
