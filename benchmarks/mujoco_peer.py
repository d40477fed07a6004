"""A `Mechanism` as a MuJoCo model, by way of its MJCF file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.export import mjcf_file


class MujocoPeer:
    """MuJoCo's model of a mechanism, with its soft loops, the fastest solver for it and no contacts.

    What MJCF cannot say is replaced by what comes to the same in a planar mechanism: a planar pin by a point in space,
    whose third row is dead, and a moment of inertia that is zero by a positive one, about an axis about which nothing
    turns. The mass matrices are compared.
    """

    def __init__(self, mechanism: sr.Mechanism, system: sr.System, q: Array, v: Array) -> None:
        spatial = mechanism.snapshot()
        for name, closure in spatial.closures.items():
            if closure.kind == "point_on_line":
                spatial.closures[name] = replace(closure, kind="point")
        for name, body in spatial._bodies.items():
            if body.mass > 0.0 and np.linalg.eigvalsh(body.inertia)[0] <= 0.0:
                moments, axes = np.linalg.eigh(body.inertia)
                thick = axes @ np.diag([moments[-1], *moments[1:]]) @ axes.T
                spatial._bodies[name] = replace(body, inertia=thick)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.xml"
            mjcf_file(spatial, path)
            self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.solver = mujoco.mjtSolver.mjSOL_PGS
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = q, v
        mujoco.mj_forward(self.model, self.data)
        mass = np.empty((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, mass)
        if not np.allclose(mass, system.mass_matrix(q), rtol=1e-9, atol=1e-12):
            raise RuntimeError(f"{mechanism.name}: MuJoCo's mass matrix is another one")

    def linear_model(self) -> Callable[[], object]:
        """Return a call of `mjd_transitionFD`, centred: of a step of Euler's method, for RK4 has none."""
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        n = 2 * self.model.nv + self.model.na
        a, b = np.empty((n, n)), np.empty((n, self.model.nu))
        differences, model, data = mujoco.mjd_transitionFD, self.model, self.data
        return lambda: differences(model, data, 1e-6, True, a, b, None, None)
