"""Mechanisms too large to be compiled are refused by number before anything is traced; importing grows linearly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sarrus.dynamics.model.model
from sarrus.base.errors import ModelError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from sarrus.symbolic.multibody.size import LARGEST, size


def arms(count: int, length: int) -> Mechanism:
    """``count`` chains of ``length`` hinges on the ground."""
    mechanism = Mechanism("arms")
    for arm in range(count):
        parent = "world"
        for number in range(length):
            body = f"b{arm}_{number}"
            mechanism.add_body(body, mass=1.0, inertia=(0.1, 0.1, 0.1))
            mechanism.add_joint(f"j{arm}_{number}", "revolute", parent, body, parent_pose=(0.1, 0, 0))
            parent = body
    return mechanism


@pytest.fixture
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("traced")

    monkeypatch.setattr(sarrus.dynamics.model.model, "trace", fail)


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize(
    ("count", "length", "counted"), [(LARGEST + 1, 1, LARGEST + 1), (1, 400, 1267), (3, 400, 2194)]
)
def test_too_large_is_refused_by_number_before_any_work(count: int, length: int, counted: int) -> None:
    with pytest.raises(ModelError) as caught:
        System(arms(count, length))
    assert caught.value.element == "arms"
    for number in (count * length, counted, LARGEST):
        assert str(number) in str(caught.value)
    with pytest.raises(AssertionError, match="traced"):
        System(arms(count, length), largest=counted)
    with pytest.raises(AssertionError, match="traced"):
        System(arms(count, length), largest=None)


@pytest.mark.usefixtures("untraced")
def test_what_compiles_within_minutes_is_taken() -> None:
    with pytest.raises(AssertionError, match="traced"):
        System(arms(LARGEST, 1))
    assert size(arms(1, 315)) <= LARGEST < size(arms(1, 316))


def test_free_bodies_count_their_velocities() -> None:
    mechanism = Mechanism("swarm")
    for number in range(200):
        mechanism.add_body(f"b{number}", mass=1.0, inertia=(1, 1, 1))
        mechanism.add_joint(f"f{number}", "free", "world", f"b{number}")
    with pytest.raises(ModelError, match=r"'swarm'.*1200 velocities"):
        System(mechanism)


URDF = """<link name="b{i}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="j{i}" type="continuous"><parent link="{p}"/><child link="b{i}"/></joint>
<transmission name="t{i}"><joint name="j{i}"/></transmission>
<loop name="l{i}" type="spherical"><predecessor link="b{i}"/><successor link="base"/></loop>"""


def _calls(action: Callable[[], object]) -> int:
    """Count the Python calls of an action: a measure of work that no other load of the machine changes."""
    import sys

    count = 0

    def step(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
def test_the_work_of_importing_grows_with_the_bodies(tmp_path: Path) -> None:
    work = []
    for count in (1, 1, 40, 80):  # the first imports modules
        bodies = "".join(URDF.format(i=i, p="base" if i % 10 == 0 else f"b{i - 1}") for i in range(count))
        file = tmp_path / f"{count}.urdf"
        file.write_text(f'<robot name="r"><link name="base"/>{bodies}</robot>')
        work.append(_calls(lambda file=file: load(file)))
    assert work[3] - work[1] < 2.3 * (work[2] - work[1])
