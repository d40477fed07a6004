"""Names, kinds and poses of elements of a compiled MuJoCo model; unnamed elements get stable names."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import mujoco

from sarrus.base.names import unique
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.pose import Pose

_JOINT_KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
# Type columns of a model, and the enums of their values.
_ENUMS = {
    "actuator_biastype": mujoco.mjtBias,
    "actuator_dyntype": mujoco.mjtDyn,
    "actuator_gaintype": mujoco.mjtGain,
    "actuator_trntype": mujoco.mjtTrn,
    "cam_mode": mujoco.mjtCamLight,
    "eq_objtype": mujoco.mjtObj,
    "eq_type": mujoco.mjtEq,
    "geom_type": mujoco.mjtGeom,
    "jnt_type": mujoco.mjtJoint,
    "sensor_objtype": mujoco.mjtObj,
    "sensor_reftype": mujoco.mjtObj,
    "sensor_type": mujoco.mjtSensor,
    "wrap_type": mujoco.mjtWrap,
}
# Features that <flag constraint="disable"/> also switches off.
_CONSTRAINTS = ("EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT")


class Names:
    """The names of bodies, joints, sites, geoms, equalities, tendons and actuators by index, and their properties.

    An unnamed body is ``body3`` (its MuJoCo index), an unnamed joint ``<body>_joint`` (``_joint1``,
    ``_joint2`` … if there are several), an unnamed geom likewise ``<body>_geom``, an unnamed equality
    ``connect_0`` (counted by kind), tendon ``tendon_0``, actuator ``<target>_actuator``; a number makes it
    unique if the name is taken. ``joint_kinds`` are the kinds of `sarrus.model.mechanism.joint.Joint`.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.bodies = [WORLD, *self._fill("body", [f"body{i}" for i in range(model.nbody)])[1:]]
        self.joints = self._fill("joint", [self._of_body("jnt", "joint", i) for i in range(model.njnt)])
        self.joint_kinds = [_JOINT_KINDS[self.kind("jnt_type", i)] for i in range(model.njnt)]
        self.sites = self._fill("site", [f"site_{i}" for i in range(model.nsite)])
        self.geoms = self._fill("geom", [self._of_body("geom", "geom", i) for i in range(model.ngeom)])
        self.tendons = self._fill("tendon", [f"tendon_{i}" for i in range(model.ntendon)])
        self.equalities = self._fill("equality", self._equalities())
        self.sensors = self._fill("sensor", [f"sensor_{i}" for i in range(model.nsensor)])
        self.keyframes = self._fill("key", [f"key_{i}" for i in range(model.nkey)])
        targets = [self._target(i) for i in range(model.nactuator)]
        self.actuators = self._fill("actuator", [f"{target}_actuator" for target in targets])

    def kind(self, table: str, i: int) -> str:
        """Return the name of the type of element ``i``: for mjEQ_WELD in ``eq_type`` it is weld."""
        return enum_name(_ENUMS[table], getattr(self.model, table)[i])

    def place(self, kind: str, i: int) -> tuple[str, Pose]:
        """Return body and pose in it of element ``i`` of a kind: site, geom, or fixed camera."""
        body, position, turn = (
            getattr(self.model, f"{kind}_{what}")[i] for what in ("bodyid", "pos", "quat")
        )
        return self.bodies[body], Pose.of(position, quaternion=turn)

    def limits(self, what: str, i: int) -> tuple[float, float] | None:
        """Return the range of a quantity (jnt_, actuator_ctrl, tendon_actfrc …) of element ``i``, None if unlimited."""
        if not getattr(self.model, f"{what}limited")[i]:
            return None
        lower, upper = getattr(self.model, f"{what}range")[i]
        return float(lower), float(upper)

    @cached_property
    def actuators_on(self) -> dict[tuple[str, int], list[int]]:
        """The actuators by the kind of their transmission (joint, tendon …) and the index of its target."""
        found: dict[tuple[str, int], list[int]] = {}
        for i in range(self.model.nactuator):
            target = self.kind("actuator_trntype", i), int(self.model.actuator_trnid[i][0])
            found.setdefault(target, []).append(i)
        return found

    def disabled(self, flag: str) -> bool:
        """Return True if <option><flag> switches off ``flag`` (GRAVITY, EQUALITY, SPRING …), directly or with a
        group."""
        flags = (flag, "CONSTRAINT") if flag in _CONSTRAINTS else (flag,)
        bits = sum(int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{each}")) for each in flags)
        return bool(int(self.model.opt.disableflags) & bits)

    def _fill(self, kind: str, defaults: list[str]) -> list[str]:
        number = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        given = [mujoco.mj_id2name(self.model, number, i) or "" for i in range(len(defaults))]
        taken = {name for name in given if name}
        for i, name in enumerate(given):
            if not name:
                given[i] = unique(defaults[i], taken)
                taken.add(given[i])
        return given

    def _of_body(self, prefix: str, label: str, index: int) -> str:
        """Return the name of a joint or geom by its body, with a number where the body has several."""
        model = self.model
        body = int(getattr(model, f"{prefix}_bodyid")[index])
        several = int(getattr(model, f"body_{prefix}num")[body]) > 1
        number = str(index - int(getattr(model, f"body_{prefix}adr")[body]) + 1) if several else ""
        return f"{self.bodies[body]}_{label}{number}"

    def _equalities(self) -> list[str]:
        kinds = [self.kind("eq_type", i) for i in range(self.model.neq)]
        return [f"{kind}_{kinds[:i].count(kind)}" for i, kind in enumerate(kinds)]

    def _target(self, index: int) -> str:
        target = self.model.actuator_trnid[index][0]
        table = {"joint": self.joints, "jointinparent": self.joints, "tendon": self.tendons}.get(
            self.kind("actuator_trntype", index)
        )
        return f"{index}" if table is None else table[target]


def enum_name(enum: Any, value: int) -> str:
    """Return the name of a MuJoCo enum's value in lower case, without its prefix: mjEQ_WELD is weld."""
    return str(enum(int(value)).name).split("_", 1)[1].lower()
