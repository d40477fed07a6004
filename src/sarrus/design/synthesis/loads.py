"""Loads of joints and closures at a condition, as symbols in goals.

Goals see a symbol for each component, so that the components in a goal are known, and those that are not unique because
redundant constraints share them can be named.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from sarrus.base.errors import ArgumentError, check_known
from sarrus.dynamics.contacts.open_forces import push_count
from sarrus.dynamics.system import System
from sarrus.symbolic.multibody.connections import Connection, connections, load
from sarrus.symbolic.multibody.cuts import Cuts

JOINT, WORLD_FRAME = "joint", "world"
_PARTS = ("force", "couple", "bearing force", "bearing couple")


@dataclass(frozen=True, eq=False)
class Reaction:
    """Force and couple that a joint, closure or contact exerts on its body, as in `sarrus.reactions`; expressions for
    goals.

    Attributes
    ----------
    force, couple : (3,) total load about the anchor [N, N m], along the requested axes; for a joint with its drives.
    bearing_force, bearing_couple : (3,) the part carried by the bearing.
    """

    force: ca.SX
    couple: ca.SX
    bearing_force: ca.SX
    bearing_couple: ca.SX


@dataclass(frozen=True, eq=False)
class Load:
    """Symbols (12,) of a load in goals, their expressions, the element, and their names."""

    symbols: ca.SX
    value: ca.SX
    element: str
    names: tuple[str, ...]

    @property
    def reaction(self) -> Reaction:
        """The load as a `Reaction`."""
        return Reaction(*(self.symbols[3 * k : 3 * k + 3] for k in range(4)))


class Loads:
    """The loads of a system over its coordinates, accelerations ``a`` and multipliers, as far as goals use them."""

    def __init__(self, system: System, a: ca.SX, multipliers: ca.SX) -> None:
        self.system, self.a, self.multipliers = system, a, multipliers
        self.found: dict[tuple[str, str], Load] = {}

    def of(self, name: str, frame: str) -> Load:
        """Return the load of a joint, closure or contact along axes of the world, its own axes, or axes of a body."""
        if (name, frame) not in self.found:
            self.found[name, frame] = self._load(name, frame)
        return self.found[name, frame]

    def _load(self, name: str, frame: str) -> Load:
        label, system = self.system.name, self.system
        assert system.mechanism is not None
        check_known("joint", name, self._connections, label)
        bodies = [body for body in system.mechanism.bodies if body not in (JOINT, WORLD_FRAME)]
        check_known("frame", frame, (WORLD_FRAME, JOINT, *bodies), label, element="frame")
        one = self._connections[name]
        if one.what == "contact":
            raise ArgumentError(
                f"{label}: {name!r} is a contact with Coulomb friction, which synthesis leaves out; name a joint or "
                "closure",
                element=name,
            )
        wrench, axes = load(self._cuts, one)
        own = ca.vertcat(axes.T @ wrench.force, axes.T @ wrench.torque)
        turn = ca.SX(ca.DM.eye(3)) if frame == WORLD_FRAME else axes
        if frame not in (WORLD_FRAME, JOINT):
            turn = self._cuts.frames.placement(frame)[1]
        back = axes if frame == WORLD_FRAME else turn.T @ axes
        parts = [
            part if frame == JOINT else back @ part
            for six in (own, ca.DM(one.carried) @ own)
            for part in (six[:3], six[3:])
        ]
        symbols = ca.SX.sym("load", 12)
        seen = {WORLD_FRAME: "", JOINT: " of its own axes"}.get(frame, f" of {frame!r}")
        names = tuple(f"the {part} of {name!r} along {axis}{seen}" for part in _PARTS for axis in "xyz")
        return Load(symbols, ca.densify(ca.vertcat(*parts)), name, names)

    @cached_property
    def _connections(self) -> dict[str, Connection]:
        return {one.label: one for one in connections(self.system.model.symbolic_mechanism())}

    @cached_property
    def _cuts(self) -> Cuts:
        system = self.system
        pushes = ca.SX.zeros(push_count(system))
        return Cuts(system.model.symbolic_mechanism(), system.equations, self.a, self.multipliers, pushes)
