"""Units of FMI, exported and imported from tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from fmpy import extract, read_model_description
from fmpy.fmi3 import FMU3Model, FMU3Slave

import sarrus as sr
from c_code import compiler
from linear_precision import shipped
from sarrus.base.arrays import Array
from sarrus.export.fmi import compiling

WITH_ACTIVATIONS = """
<mujoco><worldbody>
  <body><inertial pos="0.2 0 0" mass="1.5" diaginertia="0.02 0.03 0.04"/><joint name="j" axis="0 1 0" damping="0.2"/>
    <body pos="0.5 0 0"><inertial pos="0 0 0.1" mass="0.4" diaginertia="0.01 0.01 0.01"/><joint name="l" type="ball"/>
    </body>
  </body></worldbody>
<actuator>
  <general name="lag" joint="j" dyntype="filter" dynprm="0.05" gainprm="6" gear="2"/><motor name="plain" joint="j"/>
</actuator></mujoco>"""
MODELS = Path(__file__).parent.parent / "models"
DISCARD, ERROR = 2, 3  # of fmi3Status


class Unit:
    """An instance of a unit, with its variables by name; ``log`` has (status, message)."""

    def __init__(self, path: Path, folder: Path, interface: str = "CoSimulation") -> None:
        self.description = read_model_description(path)
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}
        self.log: list[tuple[int, str]] = []
        if not (folder / "modelDescription.xml").exists():
            extract(path, folder)
        exchange = interface == "ModelExchange"
        self.fmu = (FMU3Model if exchange else FMU3Slave)(
            guid=self.description.guid,
            unzipDirectory=str(folder),
            modelIdentifier=self.description.coSimulation.modelIdentifier,
            instanceName="one",
        )
        self.fmu.instantiate(loggingOn=True, logMessage=self._log)
        self.exchange = exchange

    def _log(self, environment: Any, status: int, category: bytes, message: bytes) -> None:
        self.log.append((status, message.decode()))

    def begin(self, start: float = 0.0, **values: float) -> Unit:
        """Initialize with values of variables; names in Python have ``__`` for the point."""
        self.set({name.replace("__", "."): value for name, value in values.items()})
        self.fmu.enterInitializationMode(startTime=start)
        self.fmu.exitInitializationMode()
        return self

    def set(self, values: dict[str, float]) -> None:
        """Set variables by name."""
        if values:
            self.fmu.setFloat64([self.references[name] for name in values], list(map(float, values.values())))

    def get(self, *names: str) -> Array:
        """Return variables by name."""
        return np.array(self.fmu.getFloat64([self.references[name] for name in names]))

    def all(self, prefix: str) -> Array:
        """Return all variables whose names begin so, in order."""
        return self.get(*(name for name in self.references if name.startswith(prefix)))

    def derivatives(self, unknowns: list[str], seeds: dict[str, float]) -> Array:
        """Return the directional derivatives of variables."""
        r = self.references
        known = {name: value for name, value in seeds.items() if value != 0.0} or dict(
            list(seeds.items())[:1]
        )
        given = [r[name] for name in known], list(map(float, known.values()))
        return np.array(self.fmu.getDirectionalDerivative([r[name] for name in unknowns], *given))

    def close(self) -> None:
        """End."""
        self.fmu.freeInstance()


@contextmanager
def unit(path: Path, folder: Path, interface: str = "CoSimulation") -> Iterator[Unit]:
    """Yield an instance of a unit."""
    one = Unit(path, folder, interface)
    try:
        yield one
    finally:
        one.close()


def model(name: str) -> sr.System:
    """Return a system: a shipped one, or one of those that are built here."""
    if name == "parameters":
        return sr.System(sr.load(MODELS / "five_bar.xml"), {"load": "link2.mass"})
    if name == "sensors":
        mechanism = sr.load(MODELS / "five_bar.xml")
        body = list(mechanism.bodies)[-1]
        mechanism.add_sensor("tip", "framepos", body, pose=(0.1, 0.0, 0.2))
        mechanism.add_sensor("imu", "accelerometer", body)
        return sr.System(mechanism)
    if name == "activations":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.xml")
            path.write_text(WITH_ACTIVATIONS)
            return sr.System(sr.load(path))
    if name == "winding":
        mechanism = sr.load(MODELS / "five_bar.xml")
        numbers = {"torque_constant": 0.04, "resistance": 0.5, "inductance": 0.02, "gear": -30.0}
        mechanism.add_motor("wound", mechanism.velocity_names[0], **numbers, current_limits=(-5.0, 5.0))
        return sr.System(mechanism)
    if name == "sleigh":
        return sr.System.from_lagrangian(
            nq=3,
            lagrangian=lambda q, v, t, p: p.mass * (v[0] ** 2 + v[1] ** 2) / 2 + 0.2 * v[2] ** 2,
            velocity=lambda q, v, t, p: v[1] * ca.cos(q[2]) - v[0] * ca.sin(q[2]) - 0.3 * v[2],
            parameters={"mass": 2.0},
            coordinate_names=("x", "y", "heading"),
        )
    if name == "driven":
        mechanism = sr.Mechanism("driven")
        mechanism.add_body("crank", 1.0, (0.2, 0, 0), (0.01, 0.02, 0.02))
        mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, 1, 0))
        mechanism.add_body("bob", 0.5, (0, 0, -0.3), (0.02, 0.02, 0.01))
        mechanism.add_joint("swing", "revolute", "crank", "bob", axis=(0, 1, 0), parent_pose=(0.4, 0, 0))
        mechanism.add_motion("motor", "crank", lambda t: 3.0 * t + 0.2 * ca.sin(5.0 * t))
        return sr.System(mechanism)
    return shipped(name)[0]


def start_of(system: sr.System, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a state on the constraints that moves."""
    if name in ("parameters", "sensors"):
        q = np.array(system.mechanism.keyframes["symmetric"].q)
    elif name == "winding":
        q = np.append(system.mechanism.keyframes["symmetric"].q, 0.3)
    elif name in ("activations", "sleigh", "driven"):
        q = np.array(system.neutral())
    else:
        q = np.array(system.assemble(shipped(name)[1]).q)
    v = system.project_velocity(q, 0.3 * np.random.default_rng(4).standard_normal(system.nv))
    return q, np.array(v)


@contextmanager
def quickly() -> Iterator[None]:
    """Have units compiled with little optimization."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "FLAGS", tuple("-O1" if flag == "-O2" else flag for flag in compiling.FLAGS))
        yield


Made = tuple[sr.System, Array, Array, Path, Path]


def units_by_name(factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Made]]:
    """Yield what returns system, state at the start, file of a unit, and where it is unpacked; made when asked for."""
    compiler()
    made: dict[str, Made] = {}

    def of(name: str) -> Made:
        if name not in made:
            folder = factory.mktemp("unit")
            system = model(name)
            q, v = start_of(system, name)
            path = folder / f"{name}.fmu"
            sr.export.fmu(
                system, path, q=q, v=v, forces=True, energies=True, multipliers=True, contacts=False
            )
            made[name] = system, q, v, path, folder / "unpacked"
        return made[name]

    with quickly():
        yield of
