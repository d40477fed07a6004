"""`GeometryArrays`: the arrays from which the kernels find contacts between geometries, in a run or at a state."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.narrow_phase import (
    MOST_CONTACTS,
    bounding_radii,
    contact_stride,
    functions,
    geometry_model,
)
from sarrus.dynamics.contacts.surface_features import faces_of, surface_of, terms_of
from sarrus.dynamics.contacts.tolerances import MICROMETRES_PER_METRE
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import Kernel, find_contact_rows, find_contacts
from sarrus.model.mechanism.pose import rotation_of_quaternion
from sarrus.symbolic.multibody.geometry_bodies import components, geometry_bodies, motions, places

# Corners of a face at the most, so that the corners of an overlap are no more than `MOST_CONTACTS`.
MOST_CORNERS = MOST_CONTACTS // 2
# Contacts that there is room for at first: so many, and so many of each body.
_ROOM, _EACH = 16, 32


class GeometryArrays:
    """The geometries of one run or thread, with an `MjData` of its own, and the arrays that kernels work on."""

    def __init__(self, system: Evaluations, room: int | None = None) -> None:
        assert system.mechanism is not None
        mechanism, self.contacts = system.mechanism, system.mechanism.geometry_pairs
        names = dict.fromkeys(name for c in self.contacts for name in (c.geom1, c.geom2))
        self.geoms = geoms = [mechanism.geoms[name] for name in names]
        bodies = geometry_bodies(mechanism)
        self.model = system.model.cached("geometries", lambda: geometry_model(system.name, geoms))
        self.data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, self.data)
        self.table = table = cl.GeometryTable.zeros()
        table.mj_model, table.mj_data = self.model._address, self.data._address  # noqa: SLF001  MuJoCo's own names
        table.positions, table.rotations = self.data.geom_xpos, self.data.geom_xmat
        table.stride = contact_stride()
        self._arrays: list[Any] = []  # kept alive
        table.contacts = self._kept(np.zeros(MOST_CONTACTS * table.stride))
        self._set_bodies(system, bodies, [g.body for g in geoms])
        self._set_pairs(list(names), bodies, [g.body for g in geoms])
        self._set_faces(system)
        self._set_terms()
        self.room = np.zeros(0)
        table.room = room or min(_ROOM + _EACH * len(bodies), 32 * len(self.contacts))

    def _kept(self, array: Any) -> Any:
        self._arrays.append(array)
        return array

    def _integers(self, values: Any) -> Any:
        return self._kept(np.array(values, dtype=np.int64))

    def _floats(self, values: Any) -> Any:
        return self._kept(np.array(values, dtype=float))

    def _set_bodies(self, system: Evaluations, bodies: list[str], carriers: list[str]) -> None:
        """Fill in bodies, their geometries and the components of velocities."""
        table, model, equations = self.table, self.model, system.equations
        found = system.model.cached("components", lambda: components(equations))
        of = np.zeros(system.nv, dtype=np.int64)
        for c, velocities in enumerate(found):
            of[velocities] = c

        tree = equations.tree
        assert tree is not None
        nodes = [tree.location[body][0] for body in bodies]
        self.owners = [int(of[tree.nodes[node].iv]) if node >= 0 else -1 for node in nodes]
        widths = [len(found[c]) if c >= 0 else 0 for c in self.owners]
        own = [found[c] if c >= 0 else [] for c in self.owners]
        compiled = system.compiled
        self._places = compiled.named("geometry places", lambda: {"places": places(equations, bodies)})
        self._motion = compiled.named("geometry motion", lambda: {"motion": motions(equations, bodies, own)})
        table.placement, table.motion, table.bodies = self._places.address, self._motion.address, len(bodies)
        moving = [k for k, body in enumerate(carriers) if body in bodies]
        table.moving = len(moving)
        table.geoms = self._integers(moving)
        table.carriers = self._integers([bodies.index(carriers[k]) for k in moving])
        poses = [[*model.geom_pos[k], *rotation_of_quaternion(model.geom_quat[k]).ravel()] for k in moving]
        table.poses = self._floats(poses)
        reach = np.linalg.norm(model.geom_pos, axis=1) + model.geom_rbound
        extents = [max(reach[k] for k in moving if carriers[k] == body) for body in bodies]
        table.extents = self._floats(extents)
        sizes = [len(velocities) for velocities in found]
        table.components, table.widest = len(found), max(sizes)
        table.order = self.order = self._integers([k for velocities in found for k in velocities])
        self.starts = self._integers([0, *accumulate(sizes)])
        table.starts = self.starts
        table.owners = self._integers(self.owners)
        offsets, blocks = [0, *accumulate(6 + 6 * n for n in widths)], [0, *accumulate(n * n for n in sizes)]
        table.offsets, table.blocks = self._integers(offsets), self._integers(blocks)
        table.motion_size, table.block_size = offsets[-1], blocks[-1]
        self.of = of

    def _set_pairs(self, names: list[str], bodies: list[str], carriers: list[str]) -> None:
        """Fill in the pairs."""
        table, contacts = self.table, self.contacts
        ones = [names.index(c.geom1) for c in contacts]
        others = [names.index(c.geom2) for c in contacts]
        pairs, addresses, general = functions(self.model, ones, others)
        self.general = tuple(map(bool, general))
        radii = bounding_radii(self.model)
        table.pairs = len(pairs)
        self.reversed_pairs = [pair[0] != one for pair, one in zip(pairs, ones)]
        self.ones, self.others = (self._integers([pair[k] for pair in pairs]) for k in range(2))
        table.ones, table.others = self.ones, self.others
        table.functions, table.general = self._integers(addresses), self._integers(general)
        index = [bodies.index(body) if body in bodies else -1 for body in carriers]
        self.bodies1, self.bodies2 = (self._integers([index[pair[k]] for pair in pairs]) for k in range(2))
        table.bodies1, table.bodies2 = self.bodies1, self.bodies2
        sums = [radii[one] + radii[other] if radii[one] >= 0.0 else -radii[other] for one, other in pairs]
        table.reaches = self._floats(sums)
        table.widths = self._integers([c.width for c in contacts])
        table.friction = self._floats([c.friction_coefficient for c in contacts])
        table.static = self._floats(
            [
                c.friction_coefficient if c.static_coefficient is None else c.static_coefficient
                for c in contacts
            ]
        )
        table.torsion, table.rolling = (
            self._floats([getattr(c, what) for c in contacts]) for what in ("torsion", "rolling")
        )
        table.event_functions = self._floats([c.margin for c in contacts])
        table.restitution = self._floats([c.restitution for c in contacts])

    def _set_faces(self, system: Evaluations) -> None:
        """Fill in the flat faces of boxes, cylinders and meshes."""
        table, geoms = self.table, self.geoms
        self.surfaces = system.model.cached(
            "geometry surfaces", lambda: [surface_of(self.model, g.kind, k) for k, g in enumerate(geoms)]
        )
        found = system.model.cached("geometry faces", lambda: [faces_of(one) for one in self.surfaces])
        faces = [face for own in found for face in own]
        sizes = [len(corners) for _, corners in faces]
        largest = max((size for size in sizes if size <= MOST_CORNERS), default=0)
        table.face_starts = self._integers([0, *accumulate(map(len, found))])
        table.face_normals = self._floats([x for normal, _ in faces for x in normal] or [0.0])
        table.face_firsts = self._integers([0, *accumulate(sizes)])
        table.face_corners = self._floats([x for _, corners in faces for x in corners.ravel()] or [0.0])
        table.rounds = self._integers([int(geom.kind == "cylinder") for geom in geoms])
        flat = [bool(own) and max(len(part) for _, part in own) <= MOST_CORNERS for own in found]
        exact = {"plane": ("plane", "box"), "box": ("box",)}  # MuJoCo's functions for these keep all corners
        table.flats = self._integers(
            [
                int(flat[a] and flat[b] and geoms[b].kind not in exact.get(geoms[a].kind, ()))
                for a, b in zip(self.ones, self.others)
            ]
        )
        table.polygon_size = 3 * 3 * largest
        table.polygon = self._floats(np.zeros(3 * largest + 2 * int(table.polygon_size) + 1))
        table.radii = self._floats([one.radius for one in self.surfaces])

    def _set_terms(self) -> None:
        """Fill in the geometries that are sums of ellipsoids."""
        table, found = self.table, [terms_of(one) for one in self.surfaces]
        known = [one if one is not None else ([], 0.0) for one in found]
        table.term_firsts = self._integers([0, *accumulate(len(terms) for terms, _ in known)])
        table.terms = self._floats([a for terms, _ in known for term in terms for a in term] or [0.0])
        table.balls = self._floats([ball for _, ball in known])
        sums = list[int]()
        for general, *pair in zip(self.general, self.ones, self.others):
            round_ones = {self.geoms[geom].kind for geom in pair} & {"ellipsoid", "sphere"}
            exact = general and all(found[geom] is not None for geom in pair)
            sums.append((1 if round_ones else cl.HAS_LINES) if exact else 0)
        table.sums = self._integers(sums)
        table.search = self._floats(np.zeros(cl.N_SEARCH))

    def share(self, rows: list[list[int]]) -> None:
        """Set the velocities that each row depends on, for the rows that are present in every step."""
        shared = []
        for row in rows:
            found = sorted({int(self.of[k]) for k in row})
            shared += [*found, -1, -1][:2]
        self.table.shared = self._integers(shared or [0])

    def make_room(self, rows: int, nv: int) -> None:
        """Allocate the arrays of a step with so many rows."""
        self.room = np.zeros(sum(cl.geometry_sizes(self.table, rows, nv)))
        self.table.work = self.room

    def parts(self, work: cl.GeometryWork, rows: int, nv: int) -> cp.Parts:
        """Return the sparse form in which large contact problems get their rows."""
        table, parts = self.table, cp.Parts.zeros()
        parts.rows, parts.parts, parts.compliance_column, parts.shared = (
            work.numbered,
            work.parts,
            work.compliance_column,
            work.shared,
        )
        parts.starts, parts.widest, parts.components = self.starts, table.widest, table.components
        parts.velocities, parts.room, parts.room_components = nv, rows, table.components
        parts.room_links, parts.room_entries = 2 * rows, 2 * rows * table.widest
        return parts

    def look(self, x: Array, within: float) -> list[cl.ContactPoint]:
        """Return the contacts at x = [q | v | u | t | p | τ] whose gap is below ``within`` [m]."""
        count = self._found(find_contacts, x, within, 0)
        return self._points(view_fields(self.room, cl.geometry_sizes(self.table, 0, 0)), count)

    def rows(self, x: Array, within: float, nv: int) -> tuple[list[cl.ContactPoint], Array]:
        """Return the contacts at x = [q | v | u | t | p | τ] whose gap is below ``within`` [m], and their rows (m, nv).

        The poses of the geometries at x are then in ``data``.
        """
        table = self.table
        count = self._found(find_contact_rows, x, within, cl.WIDEST)
        work = view_fields(self.room, cl.geometry_sizes(table, cl.WIDEST * table.room, 0))
        found = self._points(work, count)
        rows = np.zeros((sum(self.contacts[int(seen.pair)].width for seen in found), nv))
        for i, row in enumerate(rows):
            for s, c in enumerate(work.shared[2 * i : 2 * i + 2].astype(int)):
                if c >= 0:
                    own = self.order[self.starts[c] : self.starts[c + 1]]
                    row[own] = work.parts[(2 * i + s) * table.widest :][: len(own)]
        return found, rows

    def placements(self, x: Array) -> Array:
        """Return positions [m] and rotations by rows (n, 12) of the bodies at x."""
        return self._places(x).reshape(-1, cl.N_POSE)

    def _found(self, kernel: Kernel, x: Array, within: float, rows: int) -> int:
        """Return the number of contacts that a kernel finds, with room for all and for ``rows`` of each."""
        while True:
            if len(self.room) < sum(cl.geometry_sizes(self.table, rows * self.table.room, 0)):
                self.make_room(rows * self.table.room, 0)
            count = kernel(self.table, x, int(np.ceil(within * MICROMETRES_PER_METRE)))
            if count >= 0:
                return count
            self.table.room *= 2
            self.make_room(rows * self.table.room, 0)

    def _points(self, work: cl.GeometryWork, count: int) -> list[cl.ContactPoint]:
        return [work.found[cl.N_SEEN * k : cl.N_SEEN * (k + 1)].view(cl.ContactPoint) for k in range(count)]
