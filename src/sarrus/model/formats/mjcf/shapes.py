"""Geoms of a compiled MuJoCo model: shapes to draw, and collision shapes."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mujoco_compiler import Compiled
from sarrus.model.mechanism.elements import Geom, GeomPair, Shape
from sarrus.model.mechanism.pose import Pose

_HIDDEN_GROUP = 3  # MuJoCo's viewer shows geom groups 0 to 2
# Reason why a geom of a file is in no contact.
NEVER = "its contype and conaffinity are 0 and it is in no contact pair, so it never collides"


def shapes_of_bodies(
    load: Import, compiled: Compiled, names: Names, prefer_visual: bool
) -> dict[int, tuple[Shape, ...]]:
    """Return the shapes of each body by MuJoCo index.

    Geoms in groups 0 to 2 are drawn, as in MuJoCo's viewer, and all geoms of a body without any in these groups. With
    ``prefer_visual`` a body with geoms that do not collide is drawn by these only.
    """
    model = compiled.model
    shapes: dict[int, tuple[Shape, ...]] = {}
    undrawn: dict[str, int] = {}
    for body in range(model.nbody):
        first = int(model.body_geomadr[body])
        geoms = list(range(first, first + int(model.body_geomnum[body])))
        shown = [g for g in geoms if model.geom_group[g] < _HIDDEN_GROUP] or geoms
        if prefer_visual:
            shown = [g for g in shown if not model.geom_contype[g] and not model.geom_conaffinity[g]] or shown
        made = []
        for geom in shown:
            shape = _shape(load, compiled, names, geom)
            if isinstance(shape, Shape):
                made.append(shape)
            else:
                undrawn[shape] = undrawn.get(shape, 0) + 1
        shapes[body] = tuple(made)
    for kind, count in undrawn.items():
        load.report.set_aside("geom", f"{count} {kind}", "not drawn")
    return shapes


def add_geoms(mechanism: Mechanism, compiled: Compiled, names: Names) -> None:
    """Store the geoms that collide and have a known size in ``mechanism.geoms``, and the pairs in contact."""
    model, able = compiled.model, {*colliding(compiled.model)}
    for geom in range(int(model.ngeom)):
        if geom not in able:
            mechanism.idle_geoms[names.geoms[geom]] = NEVER
        elif geom in compiled.undrawn:
            mechanism.idle_geoms[names.geoms[geom]] = "its mesh or height field could not be read"
    for geom in sorted(able - compiled.undrawn):
        name, kind = names.geoms[geom], names.kind("geom_type", geom)
        body, pose = names.place("geom", geom)
        data, size = int(model.geom_dataid[geom]), model.geom_size[geom].copy()
        sliding, torsion, rolling = map(float, model.geom_friction[geom])
        mechanism.geoms[name] = Geom(
            name,
            body,
            kind,
            model.hfield_size[data].copy() if kind == "hfield" else size,
            pose,
            sliding,
            torsion,
            rolling,
            int(model.geom_condim[geom]),
            int(model.geom_contype[geom]),
            int(model.geom_conaffinity[geom]),
            int(model.geom_priority[geom]),
            _margin(model.geom_margin[geom], model.geom_gap[geom]),
            _corners(model, data) if kind == "mesh" else None,
            _heights(model, data) if kind == "hfield" else None,
        )
    for pair in range(model.npair):
        first, second = (names.geoms[int(ids[pair])] for ids in (model.pair_geom1, model.pair_geom2))
        if first in mechanism.geoms and second in mechanism.geoms:
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_PAIR, pair) or f"pair_{pair}"
            sliding, torsion, rolling = map(float, model.pair_friction[pair][[0, 2, 3]])
            margin = _margin(model.pair_margin[pair], model.pair_gap[pair])
            condim = int(model.pair_dim[pair])
            mechanism.geom_pairs[name] = GeomPair(
                name, first, second, condim, sliding, torsion, rolling, margin
            )
    for exclude in range(model.nexclude):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EXCLUDE, exclude) or f"exclude_{exclude}"
        bodies = divmod(int(model.exclude_signature[exclude]), 1 << 16)
        mechanism.excluded_bodies[name] = names.bodies[bodies[0]], names.bodies[bodies[1]]
    mechanism.parents_touch = names.disabled("FILTERPARENT")


def _margin(margin: float, gap: float) -> float:
    """Return the distance kept between surfaces: before MuJoCo 4 it is margin − gap."""
    return float(margin if int(mujoco.__version__.partition(".")[0]) >= 4 else margin - gap)


def _corners(model: Any, mesh: int) -> Array | None:
    """Return the corners of the convex hull of a mesh, in axes of its geom; None without a hull."""
    start = int(model.mesh_graphadr[mesh])
    if start < 0:
        return None
    count = int(model.mesh_graph[start])
    corners = model.mesh_graph[start + 2 + count : start + 2 + 2 * count]  # after the edges of each
    return model.mesh_vert[int(model.mesh_vertadr[mesh]) + corners].astype(float)


def _heights(model: Any, field: int) -> Array:
    """Return the heights of a field, from 0 to 1."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    first = int(model.hfield_adr[field])
    return model.hfield_data[first : first + rows * columns].astype(float).reshape(rows, columns)


def colliding(model: Any) -> list[int]:
    """Return the geoms that can collide, by their bits or in a contact pair."""
    able = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    able[model.pair_geom1] = able[model.pair_geom2] = True
    return np.flatnonzero(able).tolist()


def _shape(load: Import, compiled: Compiled, names: Names, geom: int) -> Shape | str:
    """Return one geom as a shape, or its kind if it cannot be drawn."""
    model = compiled.model
    if geom in compiled.undrawn:
        return "mesh without file"
    kind, (_, pose) = names.kind("geom_type", geom), names.place("geom", geom)
    material = int(model.geom_matid[geom])
    red, green, blue, alpha = map(float, model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom])
    rgba = (red, green, blue, alpha)
    if kind in ("mesh", "sdf"):
        return _mesh(load, compiled, geom, pose, rgba)
    if kind not in ("box", "sphere", "capsule", "cylinder", "ellipsoid", "plane"):
        return kind
    return Shape(kind, model.geom_size[geom].copy(), pose, rgba)


def _mesh(load: Import, compiled: Compiled, geom: int, pose: Pose, rgba: Any) -> Shape | str:
    """Return a mesh as a file with its scale as ``size``, placed at the axes of the file.

    A mesh defined in the model has its triangles in axes of the geom.
    """
    model, mesh = compiled.model, int(compiled.model.geom_dataid[geom])
    address = int(model.mesh_pathadr[mesh])
    if address < 0:
        vertices = slice(first := int(model.mesh_vertadr[mesh]), first + int(model.mesh_vertnum[mesh]))
        faces = slice(first := int(model.mesh_faceadr[mesh]), first + int(model.mesh_facenum[mesh]))
        points, triangles = model.mesh_vert[vertices].astype(float), model.mesh_face[faces].astype(float)
        return Shape("mesh", np.ones(3), pose, rgba, points=points, faces=triangles)
    file = model.paths[address:].split(b"\0", 1)[0].decode()
    moved = Pose.of(model.mesh_pos[mesh], quaternion=model.mesh_quat[mesh])
    found = load.path.parent / file
    if not found.is_file():
        return "mesh without file"
    size, frame = model.mesh_scale[mesh].copy(), pose @ moved.inverse()
    return Shape("mesh", size, frame, rgba, file=str(found.resolve()))
