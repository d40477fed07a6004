"""Names of the elements of a compiled MuJoCo model: its own, or stable ones for what has none."""

from __future__ import annotations

from typing import Any

import mujoco

from sarrus.base.names import unique
from sarrus.mechanism.elements import WORLD


class Names:
    """The names of bodies, joints, sites, geoms, equalities, tendons and actuators by index.

    An unnamed body is ``body3`` (its MuJoCo index), an unnamed joint ``<body>_joint`` (``_joint1``,
    ``_joint2`` … if there are several), an unnamed geom likewise ``<body>_geom``, an unnamed equality
    ``connect_0`` (counted by kind), tendon ``tendon_0``, actuator ``<target>_actuator``; a number makes it
    unique where the name is taken.
    """

    def __init__(self, model: Any) -> None:
        kinds = mujoco.mjtObj
        self._model = model
        self._id2name = mujoco.mj_id2name
        self.bodies = [WORLD, *self._fill(kinds.mjOBJ_BODY, [f"body{i}" for i in range(model.nbody)])[1:]]
        self.joints = self._fill(
            kinds.mjOBJ_JOINT, [self._of_body("jnt", "joint", i) for i in range(model.njnt)]
        )
        self.sites = self._fill(kinds.mjOBJ_SITE, [f"site_{i}" for i in range(model.nsite)])
        self.geoms = self._fill(
            kinds.mjOBJ_GEOM, [self._of_body("geom", "geom", i) for i in range(model.ngeom)]
        )
        self.tendons = self._fill(kinds.mjOBJ_TENDON, [f"tendon_{i}" for i in range(model.ntendon)])
        self.equalities = self._fill(kinds.mjOBJ_EQUALITY, self._equalities())
        self.sensors = self._fill(kinds.mjOBJ_SENSOR, [f"sensor_{i}" for i in range(model.nsensor)])
        self.keyframes = self._fill(kinds.mjOBJ_KEY, [f"key_{i}" for i in range(model.nkey)])
        targets = [self._target(i) for i in range(actuator_count(model))]
        self.actuators = self._fill(kinds.mjOBJ_ACTUATOR, [f"{target}_actuator" for target in targets])

    def _fill(self, kind: Any, defaults: list[str]) -> list[str]:
        given = [self._id2name(self._model, kind, i) or "" for i in range(len(defaults))]
        taken = {name for name in given if name}
        for i, name in enumerate(given):
            if not name:
                given[i] = unique(defaults[i], taken)
                taken.add(given[i])
        return given

    def _of_body(self, prefix: str, label: str, index: int) -> str:
        """Return the name of a joint or geom by its body, with a number where the body has several."""
        model = self._model
        body = int(getattr(model, f"{prefix}_bodyid")[index])
        several = int(getattr(model, f"body_{prefix}num")[body]) > 1
        number = str(index - int(getattr(model, f"body_{prefix}adr")[body]) + 1) if several else ""
        return f"{self.bodies[body]}_{label}{number}"

    def _equalities(self) -> list[str]:
        counts: dict[str, int] = {}
        names = []
        for kind in self._model.eq_type:
            label = equality_kind(kind)
            names.append(f"{label}_{counts.get(label, 0)}")
            counts[label] = counts.get(label, 0) + 1
        return names

    def _target(self, index: int) -> str:
        kind, target = int(self._model.actuator_trntype[index]), int(self._model.actuator_trnid[index][0])
        trn = mujoco.mjtTrn
        if kind in (int(trn.mjTRN_JOINT), int(trn.mjTRN_JOINTINPARENT)):
            return self.joints[target]
        return self.tendons[target] if kind == int(trn.mjTRN_TENDON) else f"{index}"


def equality_kind(kind: int) -> str:
    """Return MuJoCo's name of an equality kind: connect, weld, joint, tendon, flex …"""
    return enum_name(mujoco.mjtEq, kind)


def address(model: Any, table: str, i: int) -> int:
    """Return the row of actuator ``i`` in arrays per control or per output (MuJoCo ≥ 4 counts them apart)."""
    addresses = getattr(model, f"actuator_{table}adr", None)
    return i if addresses is None else int(addresses[i])


def enum_name(enum: Any, value: int) -> str:
    """Return the name of a MuJoCo enum's value in lower case, without its prefix: mjEQ_WELD is weld."""
    return str(enum(int(value)).name).split("_", 1)[1].lower()


def actuator_count(model: Any) -> int:
    """Return the number of actuators; since MuJoCo 4 one actuator may have several controls."""
    return int(getattr(model, "nactuator", model.nu))
