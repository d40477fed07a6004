"""TSID's inverse dynamics of a walking robot whose feet are pinned, where TSID is installed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import tsid

import sarrus as sr
from benchmarks.pinocchio_peer import PinocchioPeer
from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import WORLD

FORCE_LIMIT = 1e5  # N, never reached


class TsidPeer:
    """The quadratic programme that moves a body along a pose, with the point closures to the ground as contacts.

    Contacts and the motion of the body are equalities, the forces of the ground have least norm. Where the body's
    motion determines that of the robot, the accelerations are those of a law that asks for the same.
    """

    def __init__(
        self, mechanism: sr.Mechanism, body: str, place: Array, stiffness: float, damping: float
    ) -> None:
        self._peer = PinocchioPeer(mechanism)
        model = self._peer.model
        for closure in mechanism.closures.values():
            if closure.kind != "point" or closure.body1 != WORLD:
                raise ValueError(
                    f"closure {closure.name!r}: only points pinned to the ground are contacts here"
                )
            for number, side, pose in ((1, WORLD, closure.pose1), (2, closure.body2, closure.pose2)):
                self._frame(f"{closure.name}{number}", side, pose.position)
        self._frame(body, body, np.zeros(3))
        self._robot = tsid.RobotWrapper(model, tsid.FLOATING_BASE_SYSTEM, False)
        self._problem = tsid.InverseDynamicsFormulationAccForce("tsid", self._robot, False)
        self._owned: list[object] = []
        for name in mechanism.closures:
            contact = tsid.ContactTwoFramePositions(
                name, self._robot, f"{name}1", f"{name}2", -FORCE_LIMIT, FORCE_LIMIT
            )
            self._problem.addRigidContact(contact, 1e-3, 1.0, 0)
            self._owned.append(contact)
        task = tsid.TaskSE3Equality(body, self._robot, body)
        task.setKp(stiffness * np.ones(6))
        task.setKd(damping * np.ones(6))
        task.useLocalFrame(False)
        goal = tsid.TrajectorySE3Constant(body, pin.SE3(np.eye(3), np.asarray(place)))
        task.setReference(goal.computeNext())
        self._problem.addMotionTask(task, 1.0, 0, 0.0)
        self._owned += [task, goal]

    def _frame(self, name: str, body: str, position: Array) -> None:
        joint, pose = self._peer._location[body]
        placement = pose * pin.SE3(np.eye(3), np.asarray(position))
        self._peer.model.addFrame(pin.Frame(name, joint, 0, placement, pin.FrameType.OP_FRAME))

    def control(self, q: Array, v: Array) -> Callable[[], Array]:
        """Return a call that makes and solves the programme and returns u, with nothing but that inside."""
        self._state = np.array(q), np.array(v)
        theirs, rates, problem = self._peer.q(q), self._peer.v(q, v), self._problem
        problem.computeProblemData(0.0, theirs, rates)
        solver = tsid.SolverHQuadProgFast("fast")
        solver.resize(problem.nVar, problem.nEq, problem.nIn)

        def call() -> Array:
            self._answer = solver.solve(problem.computeProblemData(0.0, theirs, rates))
            return problem.getActuatorForces(self._answer)

        return call

    def acceleration(self) -> Array:
        """Return the accelerations of the last call, in the conventions of sarrus."""
        a = self._problem.getAccelerations(self._answer)
        return self._peer.acceleration(*self._state, a)
