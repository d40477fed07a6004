"""`StepImpactArrays`: the arrays of impacts with Poisson's law in time stepping."""

from __future__ import annotations

import numpy as np

from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.impact_layout import StepImpact


class StepImpactArrays:
    """Table and arrays of `StepImpact` for up to ``rows`` active rows in ``blocks`` blocks."""

    of_problem = "sizes", "numbers", "delassus", "velocities", "turn", "forces", "work"
    of_table = "coefficients", "before", "known", "impulses", "instant", "residual", "originals"

    def __init__(self, system: Evaluations, rows: int, blocks: int) -> None:
        contacts, most = system.equations.friction_contacts, 2 * rows
        self.coefficients = np.full(blocks, -1.0)
        for k, contact in enumerate(contacts):
            if contact.impact_law == "poisson":
                self.coefficients[k] = contact.restitution
        self.before, self.known, self.impulses = np.zeros((3, rows))
        self.instant, self.residual, self.originals = np.zeros(1), np.zeros(1), np.zeros(most, dtype=np.int64)
        self.sizes, self.numbers = np.zeros(2 * blocks, dtype=np.int64), np.zeros(2 * blocks)
        self.delassus, (self.velocities, self.turn, self.forces) = np.zeros(most * most), np.zeros((3, most))
        self.work = np.zeros(sum(cp.contact_sizes(most, 2 * blocks, most * most)))
        self.problem, self.table = cp.ContactProblem.zeros(), StepImpact.zeros()
        for key in self.of_problem:
            setattr(self.problem, key, getattr(self, key))
        for key in (*self.of_table, "problem"):
            setattr(self.table, key, getattr(self, key))
