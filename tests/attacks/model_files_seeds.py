"""The model files that the attacks start from: those of the repository, and small ones with every kind of element."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SUFFIXES = (".xml", ".mjcf", ".urdf", ".sdf")


@dataclass(frozen=True)
class Case:
    """One model as files: ``main`` is loaded, with ``loops`` where it is a name; ``files`` maps names to bytes."""

    main: str
    files: dict[str, bytes] = field(default_factory=dict)
    loops: str = ""

    @property
    def suffix(self) -> str:
        """The suffix of the main file."""
        return Path(self.main).suffix

    @property
    def content(self) -> bytes:
        """The bytes of the main file."""
        return self.files[self.main]

    def having(self, content: bytes, name: str = "") -> Case:
        """Return the case with another content of one file, by default the main one."""
        return replace(self, files=self.files | {name or self.main: content})


def write(case: Case, folder: Path) -> None:
    """Write the files of a case."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)


# exports whose loops need a word of the user
_REFUSED = ("onshape_slider_crank.xml", "gazebo_four_bar.sdf")


def _of_repository() -> list[Case]:
    folders = (ROOT / "models", ROOT / "tests" / "models", ROOT / "tests" / "models" / "cad")
    found = [
        file
        for folder in folders
        for file in sorted(folder.iterdir())
        if file.suffix in SUFFIXES and file.name not in _REFUSED
    ]
    parts = {file.name: file.read_bytes() for file in found if "part" in file.name}
    cases = [Case(file.name, parts | {file.name: file.read_bytes()}) for file in found]
    loops = {"five_bar.urdf": ("five_bar_loops.yaml", "five_bar_pairs.yaml")}
    for case in list(cases):
        for name in loops.get(case.main, ()):
            content = (ROOT / "tests" / "models" / name).read_bytes()
            cases.append(replace(case, loops=name, files=case.files | {name: content}))
    return cases


_INERTIA = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
_MJCF = f"""<mujoco model="all">
  <compiler angle="radian"/>
  <option timestep="0.002" gravity="0 0 -9.8"/>
  <default><joint damping="0.1"/><equality solref="0.01 1"/>
      <default class="stiff"><joint stiffness="3"/></default></default>
  <asset><material name="red" rgba="1 0 0 1"/>
      <texture name="sky" type="2d" builtin="flat" width="4" height="4"/></asset>
  <worldbody>
    <light pos="0 0 3"/><camera pos="0 0 2"/><geom name="floor" type="plane" size="1 1 1"/><site name="origin"/>
    <body name="a" pos="0 0 1">{_INERTIA}<joint name="ja" class="stiff" range="-1 1" limited="true"/>
      <geom name="ga" type="box" size="1 1 1" mass="0" material="red"/><site name="sa" pos="0.5 0 0"/>
      <body name="b" pos="1 0 0">{_INERTIA}<joint name="jb" axis="0 1 0"/>
      <joint name="jc" type="slide" axis="1 0 0"/>
        <site name="sb"/><frame pos="0 0 1"><body name="c">{_INERTIA}<joint name="jd" type="ball"/></body></frame>
      </body>
    </body>
    <body name="d" pos="0 2 0">{_INERTIA}<freejoint name="fd"/><site name="sd"/></body>
    <body name="m" mocap="true"><geom type="sphere" size="0.1"/></body>
    <replicate count="2" offset="1 0 0"><body name="r">{_INERTIA}<joint name="jr"/></body></replicate>
  </worldbody>
  <tendon><fixed name="tf" stiffness="2"><joint joint="ja" coef="1"/><joint joint="jb" coef="-1"/></fixed>
    <spatial name="ts" damping="1"><site site="sa"/><site site="sd"/></spatial></tendon>
  <equality><connect name="e1" body1="b" body2="d" anchor="0 0 0"/><weld name="e2" body1="c" body2="d"/>
    <joint name="e3" joint1="ja" joint2="jb" polycoef="0 1 0 0 0"/><tendon name="e4" tendon1="tf"/>
    <connect name="e5" site1="sb" site2="sd"/><weld name="e6" body1="a" active="false"/></equality>
  <contact><pair geom1="ga" geom2="floor"/><exclude body1="a" body2="b"/></contact>
  <actuator><motor name="u1" joint="ja" gear="2"/><position name="u2" joint="jb" kp="3"/><motor name="u3" tendon="tf"/>
    <general name="u4" joint="jd" gear="1 0 0"/></actuator>
  <sensor><jointpos joint="ja"/></sensor>
  <keyframe><key name="home" qpos="0.1 0 0 1 0 0 0 0 2 0 1 0 0 0 0 0"/></keyframe>
  <custom><numeric name="n" data="1 2"/><text name="t" data="x"/></custom>
</mujoco>"""

_MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
_URDF = f"""<robot name="all">
  <mujoco><compiler balanceinertia="true"/><option gravity="0 0 -9.8"/></mujoco>
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/><link name="a">{_MASS}<visual><geometry><box size="1 1 1"/></geometry>
      <material name="grey"/></visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="b">{_MASS}</link><link name="c">{_MASS}</link>
  <link name="d">{_MASS}</link><link name="e">{_MASS}</link>
  <joint name="ja" type="revolute"><origin xyz="0 0 1" rpy="0 0 0.1"/><parent link="base"/><child link="a"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.1" friction="0.2"/>
    <safety_controller k_velocity="1"/></joint>
  <joint name="jb" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <mimic joint="ja" multiplier="2" offset="0.1"/></joint>
  <joint name="jc" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="0" velocity="0"/><mimic joint="jb"/></joint>
  <joint name="jd" type="floating"><parent link="base"/><child link="d"/></joint>
  <joint name="je" type="fixed"><origin xyz="0 1 0"/><parent link="d"/><child link="e"/></joint>
  <loop name="l1" type="revolute"><predecessor link="c"><origin xyz="0 0 1"/></predecessor><successor link="e"/>
    <axis xyz="0 0 1"/></loop>
  <loop name="l2" type="spherical"><predecessor link="b"/>
      <successor link="d"><origin xyz="1 0 0" rpy="0 0 1"/></successor></loop>
  <loop_joint name="l3" type="spherical"><link1 link="a" xyz="0 1 0"/><link2 link="d" rpy="0 0 1"/></loop_joint>
  <fixed_frame name="tip"><parent link="c"/><origin xyz="0 0 1"/></fixed_frame>
  <coupling name="c1"><predecessor link="a"/><successor link="c"/><ratio value="3"/></coupling>
  <transmission name="t1"><type>Simple</type><joint name="ja"><hardwareInterface>E</hardwareInterface></joint>
    <actuator name="m1"><mechanicalReduction>5</mechanicalReduction></actuator></transmission>
  <ros2_control name="rc" type="system"><hardware><plugin>x</plugin></hardware>
    <joint name="jb"><command_interface name="effort"/></joint>
      <joint name="jc"><state_interface name="position"/></joint></ros2_control>
  <gazebo reference="a"><material>Grey</material><plugin name="p"><joint>ja</joint>
      <mimicJoint>jb</mimicJoint></plugin></gazebo>
</robot>"""

_SDF = """<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity>
  <physics name="p" type="ode"><max_step_size>0.001</max_step_size></physics><light name="sun" type="point"/>
  <model name="m"><link name="a"><inertial><mass>2</mass>
      <inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
      <visual name="v"><geometry><box><size>1 1 1</size></box></geometry></visual></link>
    <link name="b"><pose relative_to="a">1 0 0 0 0 0</pose><sensor name="s" type="imu"/></link>
    <link name="c"><pose>2 0 0 0 0 0</pose></link>
    <frame name="f" attached_to="b"><pose>0 0 1 0 0 0</pose></frame>
    <joint name="ja" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz>
      <limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
    <joint name="jb" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>
      <mimic joint="ja"><multiplier>2</multiplier><offset>0.1</offset></mimic></axis></joint>
    <joint name="jc" type="ball"><parent>f</parent><child>c</child></joint>
    <joint name="jd" type="universal"><parent>world</parent><child>c</child><axis><xyz>1 0 0</xyz></axis>
      <axis2><xyz>0 1 0</xyz></axis2></joint>
    <model name="n"><link name="x"/><joint name="jx" type="fixed"><parent>world</parent><child>x</child></joint></model>
    <include><uri>part.sdf</uri><name>left</name><pose>0 1 0 0 0 0</pose></include>
    <joint name="je" type="prismatic"><parent>b</parent><child>left::rod</child><axis><xyz>0 0 1</xyz></axis></joint>
    <plugin name="pl" filename="x.so"><joint>ja</joint></plugin>
  </model></world></sdf>"""
_PART = """<sdf version="1.9"><model name="part"><link name="rod"/><link name="tip"><pose>0 0 1 0 0 0</pose></link>
  <joint name="jp" type="screw"><parent>rod</parent><child>tip</child><screw_thread_pitch>0.01</screw_thread_pitch>
    <axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"""
_YAML = """loops:
  - {name: pin, kind: revolute, frame1: c, frame2: {frame: e, position: [0, 0, 1], rpy: [0, 0, 0.5]}, axis: [0, 0, 1]}
  - name: rod
    kind: distance
    frame1: a
    frame2: {frame: d, position: [0.1, 0, 0]}
    length: 0.5
motors: [ja, jb]
"""
_INCLUDED = f'<mujocoinclude><body name="i">{_INERTIA}<joint name="ji"/></body></mujocoinclude>'


def _written() -> list[Case]:
    including = _MJCF.replace("</worldbody>", '<include file="part.xml"/></worldbody>').replace(
        ' 0 0"/></keyf', '"/></keyf'
    )
    bare = "".join(line for line in _URDF.splitlines(keepends=True) if "<coupling" not in line)
    return [
        Case("all.xml", {"all.xml": _MJCF.encode()}),
        Case("including.mjcf", {"including.mjcf": including.encode(), "part.xml": _INCLUDED.encode()}),
        Case("all.urdf", {"all.urdf": _URDF.encode()}),
        Case("loops.urdf", {"loops.urdf": bare.encode(), "loops.yaml": _YAML.encode()}, "loops.yaml"),
        Case("all.sdf", {"all.sdf": _SDF.encode(), "part.sdf": _PART.encode()}),
    ]


CASES = [*_of_repository(), *_written()]
WITH_LOOPS = [case for case in CASES if case.loops]
