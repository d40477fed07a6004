"""`Touches`: what a time-stepping run needs of the contacts, stops and dry friction of a system, for its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.contact_state import touch_gaps, touch_motion, touch_names, touching_of
from sarrus.dynamics.joint_limits import dry_friction, joint_limits
from sarrus.dynamics.lane_functions import lane_slope, suits_lanes
from sarrus.dynamics.workspace import Workspace
from sarrus.kernels import contact_problem_layout as cp
from sarrus.kernels import layout as la
from sarrus.kernels import touching_layout as tl
from sarrus.kernels.c_function import (
    contact_problem,
    phase_acceleration,
    phase_projection,
    time_step,
    touched_acceleration,
)
from sarrus.kernels.record import laid
from sarrus.kernels.touching_problem import ALONE
from sarrus.linalg.ranked import ranked

if TYPE_CHECKING:
    from sarrus.optimize.contact_problem import ContactSolution

# Gaps below this [characteristic lengths, rad] are closed; a start may be that deep below a plane.
CLOSED, DEEP = 1e-9, 1e-5
# Contacts slower than this stick, and may go on to with their static coefficient [characteristic lengths per second].
STILL = 1e-10
# In smooth phases what is slower is about to stop or has just begun: its friction has the direction of before.
STANDING = 1e-7
# Speeds after an impact from which on contacts rebound [m/s, rad/s].
REST_SPEED = 1e-3
# So often a step is tried with other forces to begin with.
TRIES = 5
# Acceleration of the characteristic mass by the forces with which responses are found [m/s²].
_LIFT = 10.0


def margin_count(system: Workspace) -> int:
    """Return how many margins end smooth phases: of contacts two, of stops and dry friction one."""
    return 2 * len(system.equations.touches) + len(joint_limits(system).names) + len(dry_friction(system).names)


class Touches:
    """The arrays of one run; `attach` has the kernels step with them.

    Stops that are beyond their limit when the run begins take no part.
    """

    def __init__(self, system: Workspace, q: Array, t: float) -> None:
        self.system = system
        contacts, limits, dry = system.equations.touches, joint_limits(system), dry_friction(system)
        self.names = touch_names(system)
        self.stuck, self.tried = np.nan, 0  # when the kernel failed last, and how often
        self.hits: list[tuple[float, int]] = []  # times at which stops were met
        self.touching = touching = tl.Touching.zeros()
        size = system.characteristic
        self.settings = settings = tl.TouchSettings.zeros()
        settings.closed, settings.rest_speed = CLOSED * size.length, REST_SPEED
        settings.still = STILL * size.length
        settings.force = _LIFT * size.mass
        widths = [len(touch.row_names) for touch in contacts]
        touching.contacts, touching.contact_rows = len(contacts), sum(widths)
        self.blocks = tuple(one.name for one in touching_of(system))
        touching.stops, touching.dry = len(limits.names), len(dry.names)
        rows, unilateral = tl.row_count(touching), len(contacts) + len(limits.names)
        blocks = unilateral + len(dry.names)
        signs = -limits.signs
        self._integers = [
            np.array(widths, dtype=np.int64),
            limits.places.copy(),
            np.array([*limits.rates, *dry.rates], dtype=np.int64),
            np.zeros(blocks, dtype=np.int64),
            np.array([n - k for n in widths for k in range(n)] + [1] * (rows - sum(widths)), dtype=np.int64),
            np.zeros(blocks, dtype=np.int64),
        ]
        touching.sizes, touching.coordinates, touching.speeds = self._integers[:3]
        touching.widths, touching.modes = self._integers[4:]
        self._floats = [
            signs,
            limits.bounds.copy(),
            np.array([touch.friction_coefficient for touch in contacts], dtype=float),
            np.array([touch.static_coefficient for touch in contacts], dtype=float),
            dry.limits.copy(),
            np.array([*(touch.restitution for touch in contacts), *np.zeros(len(limits.names))]),
            np.zeros(rows),
            np.zeros(rows),
            np.zeros(rows),
        ]
        touching.signs, touching.bounds, touching.friction, touching.static = self._floats[:4]
        self.friction, self.static, self.limits, self.restitution = self._floats[2:6]
        self.directions, self.found, self.begun = self._floats[6:]
        self.rows_of_contacts, self.modes = widths, self._integers[5]
        self.signs, self.speeds = signs, self._integers[2]
        touching.limits, touching.restitution = self._floats[4:6]
        touching.directions, touching.found, touching.begun = self._floats[6:]
        beyond = signs * (q[limits.places] - limits.bounds) < -settings.closed
        touching.given_bounds, self._floats[1][beyond] = limits.bounds, -np.inf * signs[beyond]
        self.slots = np.zeros((tl.ROOM + 1) * tl.slot_size(touching, system.nv))
        self._floats.append(np.zeros_like(self.slots))
        self.problem = cp.ContactProblem.zeros()
        touching.settings, touching.slots, touching.problem = settings, self.slots, self.problem
        touching.kept = self._floats[-1]
        sizes = tl.touch_sizes(touching, system.nq, system.nv, la.input_size(system.table))
        self.room = np.zeros(sum(sizes))
        touching.work = self.room
        self.work = work = laid(self.room, sizes)
        self.problem.sizes, self.problem.numbers = self._integers[3], work.numbers
        self.problem.operator, self.problem.velocities = work.operator, work.given
        self.problem.forces, self.problem.work = work.impulses, work.solver
        rank = int(system.table.generic_rank)
        if rows > ALONE and suits_lanes(system, rank):
            self._slope = lane_slope(system, rank)
            touching.slope = self._slope.address
        assert rows == len(self.names)
        if contacts:
            self._load(system)

    def _load(self, system: Workspace) -> None:
        self._gaps, self._motion = touch_gaps(system), touch_motion(system)
        self.touching.gaps, self.touching.motion = self._gaps.address, self._motion.address

    def refuse_depth(self, x: Array, what: str = "") -> None:
        """Raise `ArgumentError` where a contact begins deep below its plane at x = [q | v | u | t | p | τ]."""
        if self.touching.contacts == 0:
            return
        gaps, deep = self._gaps(x), DEEP * self.system.characteristic.length
        worst = int(np.argmin(gaps))
        if not gaps[worst] >= -deep:
            name = self.system.equations.touches[worst].name
            raise ArgumentError(
                f"{self.system.name}: {what}contact {name!r} begins {-gaps[worst]:.3g} m below its plane; raise the "
                f"body, gaps may be {-deep:.1g} m at the least",
                element=name,
            )

    def attach_phases(self, table: la.Table) -> None:
        """Have the kernels hold what is closed from now on, and look for where that changes."""
        self.settings.loose, self.settings.still = 1.0, STANDING * self.system.characteristic.length
        self.touching.inner, self.touching.projection = table.acceleration, table.projection
        table.touching, table.n_margins = self.touching, tl.margin_count(self.touching)
        table.acceleration, table.projection = phase_acceleration.address, phase_projection.address

    def attach(self, table: la.Table) -> None:
        """Have the kernels take steps with contacts from now on."""
        self.touching.inner, self.touching.solver = table.acceleration, contact_problem.address
        self.local = np.zeros(sum(la.local_sizes(table)))
        table.local, table.touching = self.local, self.touching
        table.implicit, table.acceleration = time_step.address, touched_acceleration.address

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers that describe them, by their fields of `sarrus.kernels.touching_layout.Touching`."""
        integers = dict(zip(("sizes", "coordinates", "speeds"), self._integers))
        fields = ("signs", "bounds", "friction", "static", "limits", "restitution")
        bounds = joint_limits(self.system).bounds
        return {
            **integers,
            **dict(zip(fields, self._floats)),
            "given_bounds": bounds,
            "settings": self._settings,
        }

    @property
    def residual(self) -> float:
        """Largest residual of the contact problems so far."""
        sizes = tl.slot_sizes(self.touching, self.system.nv)
        slots = self.slots.reshape(tl.ROOM + 1, -1)
        return max(float(laid(slot, sizes).facts.residual) for slot in slots)

    def solve(self, t: float) -> bool:
        """Solve the contact problem of a step from t that the kernel has given up, for it to go on from.

        False where nothing failed.

        Raises `SolveError` where it has no answer.
        """
        if not self.touching.failed:
            return False
        self.touching.failed = 0
        self.tried = self.tried + 1 if t == self.stuck else 1
        self.stuck = t
        problem, work = self.problem, self.work
        m, contacts = problem.rows, problem.contacts
        sizes, numbers = self._integers[3][: problem.blocks], work.numbers[: problem.blocks]
        blocks = list(zip(sizes.tolist(), numbers.tolist()))
        found = self.answer(work.given[:m], blocks[:contacts], blocks[contacts:], refused=self.tried > TRIES)
        slot = laid(self.slots, tl.slot_sizes(self.touching, self.system.nv))
        self.touching.given = 1
        slot.lasting[work.which[:m].astype(int)] = found.forces / self.settings.length
        return True

    def answer(
        self, given: Array, contacts: list[tuple[int, float]], dry: list[tuple[int, float]], *, refused: bool = False
    ) -> ContactSolution:
        """Return the answer to the contact problem with the W that a kernel has written.

        Raises `SolveError` with the names of those that push where there is none, or it is ``refused``.
        """
        from sarrus.optimize.contact_problem import solve_contact_problem

        m = len(given)
        parts = ranked(self.work.operator[: m * m].reshape(m, m), relative=1e-13)
        found = solve_contact_problem(parts.left * np.sqrt(parts.kept), given, contacts, dry, throw=False)
        if found.status.ok and not refused:
            return found
        which = [self.names[int(row)].rpartition(".")[0] for row in self.work.which[:m]]
        pushing = dict.fromkeys(name for name, r in zip(which, found.forces) if r > 0.0)
        reason = (
            "no motion keeps these contacts from closing further"
            if found.status is Status.INFEASIBLE
            else "no forces of these contacts were found that obey the laws of friction"
        )
        result = None if found.status.ok else found
        raise SolveError(f"{self.system.name}: {reason}: {', '.join(pushing or which)}", result=result)
