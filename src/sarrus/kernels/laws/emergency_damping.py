"""Controls for states where no forces satisfy all limits: joint velocities are damped within the limits of the
motors.

With all contacts open, the motors' accelerations Sᵀa come as near to −κ Sᵀv as limits allow, in the metric of the
reduced inertia: minimise ½ uᵀH u − dᵀu, H = SᵀZ M₂₂⁻¹ ZᵀS, d = −κ Sᵀv − Sᵀa(0). A robot that has lost the ground
becomes stiff, not wild. Each limit bounds a single control, so the minimum is found by coordinate descent.
"""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import dot, fill, is_finite
from sarrus.kernels.laws.limit_rows import bounds_of
from sarrus.kernels.laws.tolerances import EMERGENCY_DAMPING_RATE, EMERGENCY_ROUNDS, EMERGENCY_SETTLED
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.platform.pointers import internal


@internal
def emergency_damping(table: LawTable, work: LawWorkspace, free: int, near: bool):
    """Write the unknowns (nu,) that damp the velocities of the motors to ``table.answer``; tell whether they are
    finite.

    ``free`` is the number of degrees of freedom, ``near`` whether limits of the rates of controls apply.
    """
    nv, nu, answer, roots, preferred = table.nv, table.nu, table.answer, table.roots, table.preferred
    v, pushed = table.own + table.nq, work.along
    fill(answer, 0.0, nu)
    for i in range(free):
        pushed[i] = dot(work.push + i * nu, preferred, table.actuators)
    for _ in range(EMERGENCY_ROUNDS):
        change = size = 0.0
        for k in range(table.actuators):
            along, before = work.actuation + k * nv, preferred[k] + roots[k] * answer[k]
            weight = carried = 0.0
            for i in range(free):
                weight += work.push[i * nu + k] ** 2
                carried += work.push[i * nu + k] * pushed[i]
            lower, upper = bounds_of(table, k, near)
            u = before
            if weight > 0.0 and roots[k] > 0.0:
                left = -EMERGENCY_DAMPING_RATE * dot(along, v, nv) - dot(along, work.motion, nv) - carried
                u = before + left / weight
            u = min(max(u, lower), upper)
            if roots[k] > 0.0:
                answer[k] = (u - preferred[k]) / roots[k]
                for i in range(free):
                    pushed[i] += (u - before) * work.push[i * nu + k]
                change = max(change, abs(u - before))
            size = max(size, abs(u))
        if not change > EMERGENCY_SETTLED * size:
            break
    return is_finite(answer, nu)
