"""`FormulatedAcceleration`: a function of `sarrus.formulations` that solves for the acceleration in the time loop."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import check_known
from sarrus.base.status import Status
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.formulations import LEAST_CONDITION, METHODS, SOFTENED
from sarrus.formulations.problem import Formulation
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import PROTOTYPE
from sarrus.motion.loop.tolerances import FORMULATION_RANK_CUT

Method = Callable[..., Formulation]


def find_method(formulation: str | Method) -> Method:
    """Return the formulation with a name in `METHODS`, `SOFTENED` or `LEAST_CONDITION`; a function is returned as it
    is.
    """
    if callable(formulation):
        return formulation
    known: dict[str, Method] = {**METHODS, **SOFTENED, **LEAST_CONDITION}
    check_known("formulation", formulation, known)
    return known[formulation]


class FormulatedAcceleration:
    """A C callback that solves for the acceleration in Python; an exception that Python raises is kept in ``failure``.

    It is called with M, h − k − S u, A, γ (with Baumgarte's terms) and τ at every stage, a hundred times slower than
    the compiled solve. Rank, status and condition number are those of the formulation. If its status at an accepted
    state is not OK the run goes on, and `verdict` reports it at the end.
    """

    def __init__(self, system: Workspace, formulation: str | Method) -> None:
        self.system = system
        self.method = find_method(formulation)
        self.failure: Exception | None = None
        self.interrupted = False
        self.states, self.time = 0, float("nan")
        self.doubts: dict[Status, list[tuple[float, float, float]]] = {}
        self.sizes = la.workspace_sizes(system.table)
        self.terms = system.compiled.named("terms", self._terms)
        self._entry = PROTOTYPE(self._call)

    @property
    def address(self) -> int:
        """Address of the function, valid as long as this object lives."""
        return ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    def _terms(self) -> dict[str, ca.SX]:
        e = self.system.equations
        return {
            "M": e.mass_matrix,
            "h": -self.system.compiled.force,
            "A": e.jacobian,
            "gamma": e.constraint_bias,
            "rate": e.whole_rate,
            "psi": e.velocity_residual,
            "phi": e.position_residual,
        }

    def _call(self, table_address: int, x_address: int, want: int) -> int:
        try:
            return self._solve(table_address, x_address, want)
        except Exception as error:  # nothing may pass through compiled code
            self.failure = error
            return -1
        except KeyboardInterrupt:
            self.interrupted = True
            return -1

    def _solve(self, table_address: int, x_address: int, want: int) -> int:
        s = self.system
        table = _view(table_address, la.QUATERNIONS, ctypes.c_int64).view(la.Table)
        settings = _view(table.settings, la.N_SETTINGS, ctypes.c_double).view(la.Settings)
        work = view_fields(_view(table.work, sum(self.sizes), ctypes.c_double), self.sizes)
        flat = self.terms(_view(x_address, la.input_size(s.table), ctypes.c_double))
        terms = self.terms.parts(flat)
        mass, force, jacobian, gamma = terms["M"], terms["h"][:, 0], terms["A"], terms["gamma"][:, 0]
        if table.baumgarte:
            alpha, beta = settings.alpha, settings.beta
            gamma = gamma + 2.0 * alpha * terms["psi"][:, 0]
            gamma[: s.nh] += beta**2 * terms["phi"][:, 0]
        result = self.method(mass, force, jacobian, gamma, None, tolerance=FORMULATION_RANK_CUT)
        if want >= la.PIVOTS:
            x = _view(x_address, la.input_size(s.table), ctypes.c_double)
            self._note(result, float(x[s.nq + s.nv + s.nu]))
        work.a[:] = result.a
        work.lam[:] = result.multipliers
        work.reaction[:] = result.constraint_force
        work.rate[:] = terms["rate"][:, 0]
        if want >= la.PIVOTS:
            facts = work.facts
            facts[:] = 0.0
            facts.condition = result.condition
            facts.largest, facts.smallest = self._pivots(mass, jacobian, int(table.generic_rank))
        return int(result.rank)

    def _note(self, result: Formulation, time: float) -> None:
        """Count an accepted state once, and store its status and residual if the status is not OK."""
        if time == self.time:
            return
        self.time = time
        self.states += 1
        if not result.status.ok:
            doubt = (time, result.residuals.largest, result.residuals.error)
            self.doubts.setdefault(result.status, []).append(doubt)

    def verdict(self, on_constraints: bool) -> tuple[Status, str] | None:
        """Return the worst (status, message) of all accepted states; None if all were OK.

        ``on_constraints``: states were projected. If states drift, redundant rows contradict each other by the drift,
        which the run records as its closure residual, and no status follows from it.
        """
        for status in (Status.ILL_CONDITIONED, Status.INCONSISTENT, Status.SOFTENED, Status.ALMOST):
            doubts = self.doubts.get(status)
            if doubts and (on_constraints or status is not Status.INCONSISTENT):
                times, residuals, errors = zip(*doubts)
                return status, (
                    f"{status.diagnosis}: {len(doubts)} of {self.states} states, the first at t = {times[0]:.6g} s; "
                    f"largest residual {max(residuals):.1g}, estimated error of an acceleration {max(errors):.1g}. "
                    f"{status.remedy}"
                )
        return None

    def _pivots(self, mass: Array, jacobian: Array, rank: int) -> tuple[float, float]:
        """Return the largest singular value of A and its singular value number ``rank``, in the metric of M."""
        if rank == 0:
            return 0.0, 0.0
        size = self.system.characteristic
        jacobian, measured = size.rows[:, None] * jacobian, size.scaled_rows(jacobian)
        try:
            jacobian = np.linalg.solve(np.linalg.cholesky(mass), jacobian.T)
        except np.linalg.LinAlgError:  # massless links: the kernel, too, takes A in characteristic units then
            jacobian = measured
        sigma = np.linalg.svd(jacobian, compute_uv=False)
        return float(sigma[0]), float(sigma[rank - 1])


def _view(address: int, size: int, kind: Any) -> np.ndarray:
    return np.frombuffer((kind * size).from_address(address), dtype=np.dtype(kind))
