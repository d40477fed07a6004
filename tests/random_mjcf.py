"""Random MuJoCo models from a seed: trees of every joint kind, closures, tendons and actuators."""

from __future__ import annotations

import numpy as np


class RandomModel:
    """One random MJCF model as text; ``seed`` decides everything.

    ``bodies`` bodies hang at random on the world or on each other, by one or several joints with offset
    anchors, reference positions, springs, dampers and armature, or by none; inertias are offset and turned.
    """

    def __init__(self, seed: int, bodies: int = 6, closures: int = 3) -> None:
        self._rng = np.random.default_rng(seed)
        self._children: dict[int, list[int]] = {i: [] for i in range(bodies + 1)}
        self._kinds: list[str] = []
        self.scalar_joints: list[str] = []
        self.ball_joints: list[str] = []
        self.free_joints: list[str] = []
        for body in range(1, bodies + 1):
            self._children[int(self._rng.integers(0, body))].append(body)
        self._count = bodies
        self._closures = closures

    def xml(self) -> str:
        """Return the model's text."""
        world = "".join(self._body(child, top=True) for child in self._children[0])
        gravity = self._numbers(3, 9.81)
        tendons, actuators, equalities = self._tendons(), self._actuators(), self._equalities()
        return (
            f'<mujoco><compiler angle="radian"/><option gravity="{gravity}"/><worldbody>'
            f'<site name="s0"/>{world}</worldbody>'
            f"{tendons}{equalities}{actuators}</mujoco>"
        )

    def _numbers(self, count: int, scale: float = 1.0) -> str:
        return " ".join(repr(float(x)) for x in scale * self._rng.standard_normal(count))

    def _positive(self) -> float:
        return float(self._rng.uniform(0.2, 2.0))

    def _body(self, index: int, top: bool) -> str:
        moments = self._rng.uniform(0.5, 0.9, 3)
        inertial = (
            f'<inertial pos="{self._numbers(3, 0.3)}" quat="{self._numbers(4)}" mass="{self._positive()}" '
            f'diaginertia="{moments[0]} {moments[1]} {moments[2]}"/>'
        )
        inside = "".join(self._body(child, top=False) for child in self._children[index])
        compensation = ' gravcomp="0.5"' if self._rng.random() < 0.3 else ""
        return (
            f'<body name="b{index}" pos="{self._numbers(3, 0.5)}" quat="{self._numbers(4)}"{compensation}>'
            f"{inertial}{self._joints(index, top)}"
            f'<site name="s{index}" pos="{self._numbers(3, 0.4)}" quat="{self._numbers(4)}"/>'
            f"{inside}</body>"
        )

    def _joints(self, index: int, top: bool) -> str:
        choice = self._rng.random()
        if top and choice < 0.3:
            self.free_joints.append(f"f{index}")
            free = f'<joint name="f{index}" type="free" damping="{self._positive()}" '
            return free + 'armature="0.1" stiffness="0.7"/>'
        if not top and choice < 0.1:
            return ""
        joints = []
        for number in range(1 + int(self._rng.random() < 0.4)):
            kind = str(self._rng.choice(["hinge", "hinge", "slide", "ball"]))
            name = f"j{index}{'abc'[number]}"
            common = (
                f'name="{name}" type="{kind}" pos="{self._numbers(3, 0.3)}" armature="{self._positive()}" '
            )
            common += f'damping="{self._positive()}" stiffness="{self._positive()}" '
            if kind == "ball":
                self.ball_joints.append(name)
                joints.append(f"<joint {common}/>")
                break  # MuJoCo lets no rotation follow a ball joint
            else:
                self.scalar_joints.append(name)
                joints.append(
                    f'<joint {common} axis="{self._numbers(3)}" ref="{self._numbers(1)}" '
                    f'springref="{self._numbers(1)}"/>'
                )
        return "".join(joints)

    def _two_sites(self) -> tuple[int, int]:
        one, two = self._rng.choice(self._count + 1, 2, replace=False)
        return int(one), int(two)

    def _tendons(self) -> str:
        out = []
        if len(self.scalar_joints) > 1:
            chosen = self._rng.choice(self.scalar_joints, 2, replace=False)
            terms = "".join(f'<joint joint="{j}" coef="{self._numbers(1)}"/>' for j in chosen)
            out.append(
                f'<fixed name="t0" stiffness="3" damping="0.5" springlength="-0.1 0.2">{terms}</fixed>'
            )
        for number in (1, 2):
            one, two = self._two_sites()
            length = "0.1 0.9" if number == 1 else "0.3"
            out.append(
                f'<spatial name="t{number}" stiffness="5" damping="0.7" springlength="{length}">'
                f'<site site="s{one}"/><site site="s{two}"/></spatial>'
            )
        return f"<tendon>{''.join(out)}</tendon>"

    def _equalities(self) -> str:
        out = []
        for number in range(self._closures):
            one, two = self._two_sites()
            one, two = max(one, two), min(one, two)
            second = f'body2="b{two}"' if two else ""
            kind = number % 4
            if kind == 0:
                out.append(f'<connect site1="s{one}" site2="s{two}"/>')
            elif kind == 1:
                pose = f"{self._numbers(3)} {self._numbers(4)}"
                out.append(f'<weld body1="b{one}" {second} relpose="{pose}" anchor="{self._numbers(3)}"/>')
            elif kind == 2:
                out.append(f'<connect body1="b{one}" {second} anchor="{self._numbers(3)}"/>')
            else:
                out.append(f'<weld site1="s{one}" site2="s{two}" torquescale="0.3"/>')
        if len(self.scalar_joints) > 1:
            one, two = self._rng.choice(self.scalar_joints, 2, replace=False)
            out.append(f'<joint joint1="{one}" joint2="{two}" polycoef="{self._numbers(5)}"/>')
            out.append(f'<tendon tendon1="t0" polycoef="{self._numbers(1)} 0 0 0 0"/>')
        return f"<equality>{''.join(out)}</equality>"

    def _actuators(self) -> str:
        out = []
        for joint in self.scalar_joints:
            out.append(f'<motor joint="{joint}" gear="{self._numbers(1)}"/>')
            out.append(f'<position joint="{joint}" kp="3" kv="0.4" gear="{self._numbers(1)}"/>')
            out.append(
                f'<general joint="{joint}" gainprm="2" biastype="affine" biasprm="{self._numbers(3)}" '
                f'gear="{self._numbers(1)}"/>'
            )
        out += [f'<motor joint="{joint}" gear="{self._numbers(3)}"/>' for joint in self.ball_joints]
        out += [f'<motor joint="{joint}" gear="{self._numbers(6)}"/>' for joint in self.free_joints]
        if len(self.scalar_joints) > 1:
            out.append('<position tendon="t0" kp="2" gear="1.5"/>')
        return f"<actuator>{''.join(out)}</actuator>"
