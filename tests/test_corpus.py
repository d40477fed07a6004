"""The corpus tool itself: each outcome on a tiny file, and importers that are made wrong are caught."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent / "corpus"))

import examination
from examination import examine

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Closure
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.report import Entry, Outcome

BODY = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.2 0.2"/>'
MJCF = f"""<mujoco><worldbody>
  <body name="a">{BODY}<joint name="ja" axis="0 1 0" damping="0.1"/><site name="s" pos="0.1 0 0.2"/>
    <body name="b" pos="1 0 0">{BODY}<joint name="jb" axis="0 1 0"/></body></body>
  <body name="c" pos="2 0 0">{BODY}<joint name="jc" axis="0 1 0"/></body>
</worldbody>
<tendon><fixed name="t" stiffness="3"><joint joint="ja" coef="1"/><joint joint="jb" coef="2"/></fixed></tendon>
<equality><connect name="e" body1="b" body2="c" anchor="0.5 0 0"/></equality>
<actuator><position name="u" joint="ja" kp="10" forcerange="-5 5"/></actuator>
<sensor><framepos name="p" objtype="site" objname="s"/><force name="f" site="s"/></sensor>
<keyframe><key name="k" qpos="0.1 0.2 0.3" ctrl="2"/></keyframe></mujoco>"""
LINK = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = f"""<robot name="r"><link name="base"/><link name="a">{LINK}</link><joint name="j" type="continuous">
<parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint></robot>"""
SDF = """<sdf version="1.11"><model name="m"><link name="a"/></model></sdf>"""
LIMITED = MJCF.replace('name="jc"', 'name="jc" range="-1 1" limited="true"')
MODELS = Path(__file__).parent / "models"
KINDS = {".xml": "MJCF", ".urdf": "URDF", ".sdf": "SDF"}

Change = Callable[[Mechanism], Any]


def verdict(folder: Path, text: str, suffix: str = ".xml") -> examination.Verdict:
    file = folder / f"model{suffix}"
    file.write_text(text)
    return examine(file, KINDS[suffix])


@pytest.mark.parametrize(
    ("outcome", "text", "suffix"),
    [
        ("agrees", MJCF, ".xml"),
        ("agrees", URDF, ".urdf"),
        ("agrees", "\n" + URDF.replace('name="r"', 'name="r" odd:a="1"'), ".urdf"),
        ("loads", SDF, ".sdf"),
        ("losses", LIMITED, ".xml"),
        ("refused", MJCF.replace("kp=", "kq="), ".xml"),
    ],
)
def test_outcome(outcome: str, text: str, suffix: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, text, suffix)
    assert found.outcome == outcome, found.notes


def _body(m: Mechanism, **changes: Any) -> None:
    m._bodies["b"] = replace(m._bodies["b"], **changes)


def _closure(m: Mechanism, **changes: Any) -> None:
    closure: Closure = m.closures["e"]
    m.closures["e"] = replace(closure, **changes)


WRONG: dict[str, Change] = {
    "M": lambda m: _body(m, mass=1.0 + 1e-6),
    "bias": lambda m: m.gravity.__imul__(1.001),
    "place": lambda m: _body(m, placement=Pose((1.0, 0.0, 1e-6))),
    "site": lambda m: m.frames.update(s=("a", Pose((0.1, 0.0, 0.2001)))),
    "keyframe 'k': q": lambda m: m.keyframes["k"].q.__iadd__(1e-3),
    "keyframe 'k': u": lambda m: m.keyframes.update(k=replace(m.keyframes["k"], u=None)),
    "sensor 'p'": lambda m: m.sensors.update(p=replace(m.sensors["p"], kind="framequat")),
    "forces": lambda m: m.actuators.update(u=replace(m.actuators["u"], force_limits=None)),
    "equality rows: misses": lambda m: m.closures.clear(),
    "equality rows: adds": lambda m: _closure(m, kind="weld"),
}
SILENT: dict[str, tuple[str, Change]] = {
    "tendon": ("tendon", lambda m: (m.coordinate_springs.clear(), m.tendons.clear())),
    "sensor": ("sensor", lambda m: m.sensors.clear()),
    "equality": ("equality", lambda m: m.closures.clear()),
    "actuator": ("actuator", lambda m: m.actuators.clear()),
    "keyframe": ("keyframe", lambda m: m.keyframes.clear()),
    "site": ("site", lambda m: m.frames.clear()),
}


def spoil(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Make every load return a mechanism that is changed."""
    load = examination.sr.load

    def wrong(path: Path) -> Mechanism:
        mechanism = load(path)
        change(mechanism)
        return mechanism

    monkeypatch.setattr(examination.sr, "load", wrong)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_importer_is_caught(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, WRONG[what])
    found = verdict(tmp_path, MJCF)
    assert found.outcome == "wrong"
    assert any(note.startswith(what) for note in found.notes), found.notes


@pytest.mark.parametrize("what", SILENT)
def test_a_lost_element_is_silent(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    word, change = SILENT[what]

    def lose(mechanism: Mechanism) -> None:
        change(mechanism)
        mechanism.report.entries = [e for e in mechanism.report if word not in e.kind]

    spoil(monkeypatch, lose)
    found = verdict(tmp_path, MJCF)
    assert found.outcome == "silent"
    assert any(word in note for note in found.notes), found.notes


def test_what_the_report_says_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(mechanism: Mechanism) -> None:
        mechanism.actuators.clear()
        lost = Entry("actuator", "u", Outcome.LEFT_OUT, "left out")
        mechanism.report.entries = [lost if e.kind == "actuator" else e for e in mechanism.report]

    spoil(monkeypatch, tell)
    assert verdict(tmp_path, MJCF).outcome == "losses"


def test_a_wrong_urdf_importer_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def heavier(mechanism: Mechanism) -> None:
        mechanism._bodies["a"] = replace(mechanism._bodies["a"], inertia=1.1 * np.eye(3))

    spoil(monkeypatch, heavier)
    assert verdict(tmp_path, URDF, ".urdf").outcome == "wrong"


def test_an_error_of_another_library_is_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[examination.Verdict] = []

    class End:
        send = staticmethod(sent.append)

    spoil(monkeypatch, lambda _: 1 / 0)
    file = tmp_path / "model.xml"
    file.write_text(MJCF)
    examination.send(file, "MJCF", End())
    assert sent[0].outcome == "traceback"
    assert "ZeroDivisionError" in sent[0].notes[0]


PATTERNS = {
    "servo_limits.xml": "agrees",
    "floating_damped.urdf": "agrees",
    "gimbal.xml": "loads",  # MuJoCo refuses its massless bodies
    "printed_digits.xml": "agrees",
    "odd_inertia.urdf": "losses",  # its joint limits
    "only_drawn.urdf": "agrees",
    "lenient.urdf": "agrees",
    "no_inertial.urdf": "agrees",
    "dangling.urdf": "losses",
    "everything_acts.xml": "agrees",
    "recorded.xml": "losses",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_of_foreign_files(name: str) -> None:
    """What other tools read is read here: a file for each pattern in tests/models/patterns."""
    assert {path.name for path in (MODELS / "patterns").iterdir()} == set(PATTERNS)
    found = examine(MODELS / "patterns" / name, KINDS[Path(name).suffix])
    expected = PATTERNS[name]
    if name == "only_drawn.urdf" and find_spec("pinocchio") is None:
        expected = "loads"  # MuJoCo refuses its meshes
    assert found.outcome == expected, found.notes
