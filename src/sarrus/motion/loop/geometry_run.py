"""`GeometryRun`: the arrays from which the kernels find contacts between geometries during a run."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import find_contacts
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.pose import rotation_of_quaternion
from sarrus.motion.loop.narrow_phase import (
    MOST_CONTACTS,
    bounding_radii,
    contact_stride,
    functions,
    geometry_model,
)
from sarrus.motion.loop.tolerances import MICROMETRES_PER_METRE
from sarrus.symbolic.multibody.geometry_bodies import components, motions, places

# Contacts that there is room for at first: so many, and so many of each body.
_ROOM, _EACH = 16, 8


class GeometryRun:
    """The geometries of one run, with an `MjData` of its own, and the arrays that its kernels work on."""

    def __init__(self, system: Workspace, room: int | None = None) -> None:
        assert system.mechanism is not None
        mechanism, self.contacts = system.mechanism, system.mechanism.geometry_pairs
        names = dict.fromkeys(name for c in self.contacts for name in (c.geom1, c.geom2))
        geoms = [mechanism.geoms[name] for name in names]
        self.model = system.model.cached("geometries", lambda: geometry_model(system.name, geoms))
        self.data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, self.data)
        bodies = [body for body in dict.fromkeys(g.body for g in geoms) if _carrier(mechanism, body) != WORLD]
        self.table = table = cl.GeometryTable.zeros()
        table.mj_model, table.mj_data = self.model._address, self.data._address  # noqa: SLF001  MuJoCo's own names
        table.positions, table.rotations = self.data.geom_xpos, self.data.geom_xmat
        table.stride = contact_stride()
        self._arrays: list[Any] = []  # kept alive
        table.contacts = self._kept(np.zeros(MOST_CONTACTS * table.stride))
        self._set_bodies(system, bodies, [g.body for g in geoms])
        self._set_pairs(list(names), bodies, [g.body for g in geoms])
        table.room = room or min(_ROOM + _EACH * len(bodies), 8 * len(self.contacts))

    def _kept(self, array: Any) -> Any:
        self._arrays.append(array)
        return array

    def _integers(self, values: Any) -> Any:
        return self._kept(np.array(values, dtype=np.int64))

    def _floats(self, values: Any) -> Any:
        return self._kept(np.array(values, dtype=float))

    def _set_bodies(self, system: Workspace, bodies: list[str], carriers: list[str]) -> None:
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
        table.order = self._integers([k for velocities in found for k in velocities])
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
        radii = bounding_radii(self.model)
        table.pairs = len(pairs)
        table.ones, table.others = (self._integers([pair[k] for pair in pairs]) for k in range(2))
        table.functions, table.general = self._integers(addresses), self._integers(general)
        index = [bodies.index(body) if body in bodies else -1 for body in carriers]
        table.bodies1, table.bodies2 = (self._integers([index[pair[k]] for pair in pairs]) for k in range(2))
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
        while True:
            count = find_contacts(self.table, x, int(np.ceil(within * MICROMETRES_PER_METRE)))
            if count >= 0:
                break
            self.table.room *= 2
            self.make_room(0, 0)
        found = view_fields(self.room, cl.geometry_sizes(self.table, 0, 0)).found
        return [found[cl.N_SEEN * k : cl.N_SEEN * (k + 1)].view(cl.ContactPoint) for k in range(count)]


def _carrier(mechanism: Mechanism, body: str) -> str:
    """Return the last moving body on the path from the world to ``body``; "world" if no body on it moves."""
    return mechanism.carrier(body, body)
