"""`reactions`: force and couple in every joint, closure and contact of a mechanism at a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.loads.reaction_loads import bearing, connections_of, evaluated, viewpoint
from sarrus.analysis.loads.reaction_shares import Stiffness, sharing
from sarrus.analysis.loads.reaction_table import OPEN, SETTLED, floors, table_of
from sarrus.analysis.loads.shared_load import shared_load
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is, check_known
from sarrus.base.lazy_import import lazy_import
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.open_forces import push_count, pushes_of
from sarrus.dynamics.contacts.rope_tensions import rope_tensions
from sarrus.dynamics.system import System
from sarrus.symbolic.multibody.connections import Connection

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Reaction:
    """Force and couple that a joint, closure or contact exerts on ``body``; ``on``, the other body, gets the opposite.

    Attributes
    ----------
    name, what, kind : its name; "joint", "fixed", "driven", "closure", "contact" or "touch"; the kind of joint or
        closure.
    body, on : the child (body 2 of a closure) on which it acts, and the parent (body 1).
    force, couple : (3,) total load about the point [N, N m], along the requested axes.
    bearing_force, bearing_couple : (3,) the part carried by the bearing.
    drive_force, drive_couple : (3,) the rest: motors, springs, dampers, dry friction and stops of the joint.
    determined : (6,) which components of force and couple the equations of motion of rigid bodies determine.
    settled : (6,) which components these and the given stiffness determine.
    point : (3,) point of application, in the world [m]. axes : (3, 3) rows, in the world.
    """

    name: str
    what: str
    kind: str
    body: str
    on: str
    force: Array
    couple: Array
    bearing_force: Array
    bearing_couple: Array
    determined: np.ndarray
    settled: np.ndarray
    point: Array
    axes: Array

    @classmethod
    def of(cls, one: Connection, name: str, every: Any, place: Any) -> Self:
        """Return the reaction at one place of the arrays of `Reactions`, or of reactions along a run."""
        return cls(
            name=name,
            what=one.what,
            kind=one.kind,
            body=one.body,
            on=one.on,
            force=every.force[place],
            couple=every.couple[place],
            bearing_force=every.bearing_force[place],
            bearing_couple=every.bearing_couple[place],
            determined=every.determined[place],
            settled=every.settled[place],
            point=every.points[place],
            axes=every.axes[place],
        )

    @property
    def drive_force(self) -> Array:
        """Force of motors, springs, dampers, dry friction and stops of the joint (3,) [N]."""
        return self.force - self.bearing_force

    @property
    def drive_couple(self) -> Array:
        """Couple of motors, springs, dampers, dry friction and stops of the joint, about the point (3,) [N m]."""
        return self.couple - self.bearing_couple


@dataclass(frozen=True, eq=False, repr=False)
class Reactions(Answer):
    """Forces and couples in all joints, closures and contacts at a state; ``print`` shows them as a table.

    ``reactions["hinge"]`` is the `Reaction` of one of them. Arrays have a row for each, in the order of ``names``.

    Attributes
    ----------
    name, names : name of the system; names of joints (depth first; fixed and driven bodies by their own names),
        closures and contacts. A name that occurs twice becomes "joint:NAME", "closure:NAME", and so on.
    force, couple : (n, 3) total loads on the child, or on body 2 [N, N m].
    bearing_force, bearing_couple : (n, 3) the parts carried by the bearings.
    determined, settled : (n, 6) as in `Reaction`.
    points, axes : (n, 3), (n, 3, 3) as in `Reaction`. frame : the requested frame.
    multipliers : (nc,) λ that belongs to these loads; it differs from that of `ForwardDynamics` where λ is not unique.
    coupling_forces, couplings_determined : multipliers of couplings by name, and whether they are unique.
    tensions : of tendons at a limit of their length, such as taut ropes, by the names of `sarrus.Mechanism.add_rope`
        [N], zero while slack; NAME.1 and NAME.2 before and behind a wrap with friction.
    a : (nv,) the acceleration. rank : rank of A. open : number of independent states of self-stress, in which bearings
        balance each other.
    status : status of the accelerations, see `reactions`. length : κ [m].
    """

    name: str
    names: tuple[str, ...]
    force: Array
    couple: Array
    bearing_force: Array
    bearing_couple: Array
    determined: np.ndarray
    settled: np.ndarray
    points: Array
    axes: Array
    frame: str
    multipliers: Array
    coupling_forces: Mapping[str, float]
    couplings_determined: Mapping[str, bool]
    tensions: Mapping[str, float]
    a: Array
    rank: int
    open: int
    status: Status
    length: float
    q: Array = field(repr=False)
    t: float = field(repr=False)
    connections: tuple[Connection, ...] = field(repr=False)
    system: System = field(repr=False)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of the connections with a component that the equations of motion do not determine."""
        return tuple(name for name, sure in zip(self.names, self.determined) if not sure.all())

    def __getitem__(self, name: str) -> Reaction:
        check_known("joint", name, self.names, self.name)
        k, one = self.names.index(name), self.connections[self.names.index(name)]
        return Reaction.of(one, name, self, k)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def draw(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the bodies with arrows for the forces on the children; options:
        `sarrus.plot.reactions`.
        """
        return lazy_import("pictures.plots.plot", "reactions")(self, path, **options)

    def __str__(self) -> str:
        loads = np.concatenate([self.force, self.couple], axis=1)
        floor = floors(self.force, self.couple, self.length)
        certain = self.determined, self.settled
        lines = table_of(self.name, self.frame, self.connections, loads, floor, certain)
        for name, force in self.coupling_forces.items():
            lines.append(f"coupling {name}  {'' if self.couplings_determined[name] else OPEN}{force:.5g}")
        lines += [f"rope {name}  {force:.5g} N" for name, force in self.tensions.items()]
        if (self.settled & ~self.determined).any():
            lines.append(f"{SETTLED} determined by the given stiffness, not by the equations of motion alone")
        if not (self.settled.all() and all(self.couplings_determined.values())):
            lines.append(
                f"{OPEN} not unique, the mechanism is overconstrained (states of self-stress: {self.open}); one "
                "possible value is shown"
            )
        if self.status is not Status.OK:
            lines.append(f"{self.status}: {self.message}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        loose = f", states of self-stress: {self.open}" if self.open else ""
        return f"Reactions({self.name!r}: {len(self)} connections, status {self.status}{loose})"


@described()
def reactions(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
    *,
    tau: ArrayLike | None = None,
    frame: str = "world",
    points: Mapping[str, ArrayLike] | None = None,
    stiffness: Stiffness | None = None,
    contacts: bool = True,
    throw: bool = True,
) -> Reactions:
    """Return the `Reactions` at a state: force and couple in every joint, closure and contact.

    The load acts on the child of a joint, or on body 2 of a closure, about the anchor of the joint, frame 2 of the
    closure or the point of the contact; the other body gets the opposite. It is the total load, as a force-torque
    sensor in place of the joint measures it and as MuJoCo's sensors read it: the part of the bearing, plus motors,
    springs, dampers, dry friction and stops of the joint, ``tau``, generalized user forces and couplings of
    coordinates. ``bearing_force`` and ``bearing_couple`` are the part of the bearing, which does no work in the motions
    of the joint. Springs, tendons and ropes, actuators at sites, and forces on bodies do not pass through
    joints. Several joints of one body are in series: the same load passes through each. A free joint carries no load.
    The rotor of a joint (armature) takes the torque that accelerates it: the part of the drive is τ − armature · a;
    neither weight nor gyroscopic couple of the rotor is modelled. The same holds for the rotor of a tendon.

    **What is unique.** Statics of rigid bodies does not say how redundant bearings share a load: for a door on two
    hinges, a joint and a closure, only the sum of both vertical forces is determined. ``determined`` marks, for each
    component, whether its value is unique. A component is not unique if a state of self-stress changes it: forces of
    bearings that balance each other on all bodies, the null space of the wrench balance with all joints cut. There are
    as many states of self-stress as dependent rows of A. The value returned has least norm over the bearings of all
    joints, closures and contacts that are constraints, at their anchors: Σ |force|² + |couple|²/κ², κ the largest
    distance between joints, closures, contacts and the centre of mass on one body, so that units and the choice of the
    closing joint do not matter. With ``stiffness`` it has least complementary energy Σ r²/k, for bearings without
    prestress; ``settled`` marks the components that are then unique. Signs are not restricted: a leg that can only push
    may pull. Contacts with Coulomb friction keep the forces of their laws; those between geometries without closed form
    act on the joints, and `System.forward_dynamics` lists their forces.

    Full rank: unique. Redundant: as above. INCONSISTENT: the reactions that balance the least-squares accelerations.
    SINGULAR: the force of the row that is lost is not unique, as for redundant rows. RIGID: the part of the drives
    includes a force that no finite multipliers balance. ILL_POSED and other failures of `System.forward_dynamics` are
    raised, or with ``throw=False`` returned with the numbers available.

    Parameters
    ----------
    q, v, u, t, tau : the state; velocity and controls default to zero. Accelerations are those of forward dynamics.
    frame : "world", "joint" (own axes: z the axis, x the second axis or a normal; body axes for joints without an axis;
        n, t1, t2 of a contact), or the name of a body whose axes are used.
    points : other points of reference by name, {"hinge": (x, y, z)} in axes of the body that the load acts on [m].
    stiffness : {"hinge": (kx, ky, kz, krx, kry, krz)} along own axes [N/m, N m/rad], or one number k for forces and k
        κ² for couples; one number for a coupling. Connections that are not named are rigid, as with infinity; zero for
        directions without load.
    contacts : as in `System.forward_dynamics`.

    Raises
    ------
    ArgumentError
        Unknown names; points or stiffness that are not finite numbers; a bearing of zero stiffness that must carry a
        load; equations without a mechanism. The error names the element.
    SolveError
        There is no acceleration.

    Source: Featherstone 2008, ch. 5 (recursion); M. Wojtyra, Joint Reaction Forces in Multibody Systems with Redundant
    Constraints, Multibody System Dynamics 14, 2005 (uniqueness); the theorem of Menabrea and Castigliano on least
    complementary energy.
    """
    check_is("reactions", system, System)
    found = connections_of(system)
    shared = sharing(system, found, stiffness)
    x = system.pack(q, v, u, t)
    at, speed, t = x[system.parts.q], x[system.parts.v], float(x[system.parts.t])
    solved = system.forward_dynamics(at, speed, x[system.parts.u], t, tau, contacts=contacts, throw=throw)
    ways, pushes = None, np.zeros(push_count(system))
    if solved.contacts is not None:
        pushes, ways = pushes_of(system, at, t, solved.contacts.forces), solved.contacts.ways
    loads = evaluated(system, np.concatenate([x, solved.a, solved.multipliers, pushes])[None])
    seen = viewpoint(system, found, loads, frame, points)
    share = shared_load(system, shared, loads, seen, x, solved.multipliers, solved.rank, ways)
    full, carried = seen.of(share.wrench[None])[0], seen.of(bearing(found, share.wrench)[None])[0]
    rows = [system.closure_rows[name].start for name in shared.couplings]
    return Reactions(
        name=system.name,
        names=tuple(one.label for one in found),
        force=read_only(full[:, :3].copy()),
        couple=read_only(full[:, 3:].copy()),
        bearing_force=read_only(carried[:, :3].copy()),
        bearing_couple=read_only(carried[:, 3:].copy()),
        determined=share.determined,
        settled=share.settled,
        points=read_only(seen.point[0].copy()),
        axes=read_only(seen.axes[0].copy()),
        frame=frame,
        multipliers=read_only(share.multipliers),
        coupling_forces={name: float(share.multipliers[row]) for name, row in zip(shared.couplings, rows)},
        couplings_determined=dict(zip(shared.couplings, map(bool, share.couplings))),
        tensions={
            name: float(value[0]) for name, value in rope_tensions(system, x[None], pushes[None]).items()
        },
        a=solved.a,
        rank=solved.rank,
        open=share.open,
        status=solved.status,
        length=shared.length,
        q=read_only(at.copy()),
        t=t,
        connections=found,
        system=system,
    )
