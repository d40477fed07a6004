"""Loop closures in a YAML file beside a model that has none (URDF).

Two formats are read. A list of closures, alone or under the key ``loops``:

.. code-block:: yaml

    loops:
      - {name: rocker, kind: revolute, frame1: coupler_tip, frame2: rocker, axis: [0, 0, 1]}
      - name: rod
        kind: distance
        frame1: {frame: crank, position: [0.1, 0, 0]}
        frame2: {frame: slider, position: [0, 0, 0.02], rpy: [0, 0, 1.5708]}
        length: 0.5
    motors: [crank_joint]

``kind`` is a closure kind of `Mechanism.add_closure`; a frame is a link, joint or site of the model, with an optional
offset; ``axis`` is in frame 1, ``axis2`` in frame 2; ``pitch``, ``length`` and ``keep_offset`` as in `add_closure`.

``closing``, beside ``loops`` or alone, gives the kind of loops that the model marks by frames ``closing_NAME_1`` and
``closing_NAME_2`` (`sarrus.model.formats.marked_loops`): one kind for all, ``closing: revolute``, or one for each name,
``closing: {knee: revolute, ankle: point}``.

The second format is the one of the example-parallel-robots collection (Gepetto): ``closed_loop``, pairs of frames;
``type``, "3d" (point) or "6d" (weld, the default) for each pair; ``name_mot``, the driven joints by name or part of a
name; ``joint_name`` and ``joint_type``, joints of the URDF whose real type is SPHERICAL, FIXED, or UJOINT_XY,
UJOINT_ZY … (universal, with two different axes, the first axis first).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from sarrus.base.errors import ModelFileError, unknown_name
from sarrus.base.names import unique
from sarrus.model.formats.importing import Import
from sarrus.model.formats.marked_loops import MARKED_KINDS, close_marked, refuse_joined
from sarrus.model.mechanism.elements import CLOSURE_KINDS, WORLD
from sarrus.model.mechanism.faults import check_name
from sarrus.model.mechanism.pose import Pose, vector

_SYNONYMS = {"spherical": "point", "ball": "point", "fixed": "weld"}
_PAIR_KINDS = {"3d": "point", "6d": "weld"}
_JOINT_TYPES = ("SPHERICAL", "FIXED", *(f"UJOINT_{one}{two}" for one, two in permutations("XYZ", 2)))
_LOOP_KEYS = ("name", "kind", "frame1", "frame2", "axis", "axis2", "pitch", "length", "keep_offset")
_FILE_KEYS = ("loops", "closing", "motors", "closed_loop", "type", "name_mot", "joint_name", "joint_type")
_FRAME_KEYS = ("frame", "position", "rpy", "quaternion")


class UnknownFrame(ModelFileError):
    """A closure names a frame that the model does not have; ``strict=False`` leaves the closure out."""


@dataclass(frozen=True)
class LoopFile:
    """The content of a loop file: closures, driven joints, replaced joint types, kinds of marked loops."""

    source: str
    loops: tuple[Mapping[str, Any], ...]
    motors: tuple[str, ...]
    replaced_joints: Mapping[str, str]
    closing: str | Mapping[str, str]


def read_loops(given: str | Path | Mapping[str, Any] | Sequence[Any] | None) -> LoopFile:
    """Return the checked content of a loop file, or of the same structure given directly; None gives an empty one."""
    source, content = "loops", given if given is not None else {}
    if isinstance(given, str | Path):
        from sarrus.model.formats.loop_yaml import read_yaml  # here, because few models need YAML

        source = str(given)
        content = read_yaml(Path(given))
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = {"loops": content}
    if not isinstance(content, Mapping):
        raise ModelFileError(
            f"{source}: expected a list of loops or a mapping with {', '.join(_FILE_KEYS)}", element=source
        )
    _known_keys(content, _FILE_KEYS, source)
    loops = [*_list(content, "loops", source), *_frame_pairs(content, source)]
    for number, loop in enumerate(loops):
        if not isinstance(loop, Mapping):
            raise ModelFileError(
                f"{source}: loop {number + 1} must be a mapping with {', '.join(_LOOP_KEYS)}",
                element=source,
            )
        _known_keys(loop, _LOOP_KEYS, f"{source}: loop {loop.get('name', number + 1)!r}")
    names, types = _names(content, "joint_name", source), _list(content, "joint_type", source)
    if len(names) != len(types):
        raise ModelFileError(
            f"{source}: joint_name has {len(names)} entries and joint_type {len(types)}", element="joint_name"
        )
    for name, kind in zip(names, types, strict=True):
        if names.count(name) > 1:
            twice = f"{source}: joint_name has {name!r} twice; a joint has one type"
            raise ModelFileError(twice, element=name)
        check_name("joint_type", str(kind), _JOINT_TYPES, f"{source}: joint {name!r}", name, ModelFileError)
    motors = [*_names(content, "motors", source), *_names(content, "name_mot", source)]
    replaced = dict(zip(names, types, strict=True))
    return LoopFile(source, tuple(loops), tuple(motors), replaced, _closing(content, source))


def add_loops(load: Import, file: LoopFile) -> None:
    """Add the closures and motors of a loop file to the mechanism being loaded, and close its marked loops."""
    for number, loop in enumerate(file.loops):
        _add_loop(load, loop, number, file.source)
    for motor in file.motors:
        for joint in _joints_named(load, motor):
            if joint not in load.mechanism.actuators:
                load.mechanism.add_actuator(joint, joint)
                load.report.act("actuator", joint, f"named as a motor in {Path(file.source).name}")
    close_marked(load, file.closing, file.source)
    refuse_joined(load)


@contextmanager
def frames_known(load: Import, kind: str, name: str) -> Iterator[None]:
    """Within the block, with ``strict=False``, leave out and list a closure with an unknown frame."""
    try:
        yield
    except UnknownFrame as error:
        if load.strict is not False:
            raise
        load.report.leave_out(kind, name, str(error))


def frame_of(load: Import, name: str, label: str) -> tuple[str, Pose]:
    """Return the body and pose of a frame by name; the error for an unknown name lists the valid ones."""
    if name == WORLD:
        return WORLD, Pose()
    frames = load.frames
    check_name("frame", name, frames, label, name, UnknownFrame)
    return frames[name]


def _add_loop(load: Import, loop: Mapping[str, Any], number: int, source: str) -> None:
    taken = (*load.mechanism.closures, *load.mechanism.couplings)
    name = str(loop.get("name") or unique(f"loop{number + 1}", taken))
    label = f"{source}: loop {name!r}"
    for key in ("kind", "frame1", "frame2"):
        if key not in loop:
            raise ModelFileError(f"{label}: {key!r} is missing", element=name)
    kind = _SYNONYMS.get(str(loop["kind"]), str(loop["kind"]))
    check_name("kind", kind, CLOSURE_KINDS, label, name, ModelFileError)
    options = {key: loop[key] for key in ("axis", "axis2", "pitch", "length", "keep_offset") if key in loop}
    with frames_known(load, f"loop {kind}", name):
        (body1, pose1), (body2, pose2) = (_frame(load, loop[end], label) for end in ("frame1", "frame2"))
        load.mechanism.add_closure(name, kind, body1, body2, pose1=pose1, pose2=pose2, **options)
        load.report.act(f"loop {kind}", name)


def _frame(load: Import, given: Any, label: str) -> tuple[str, Pose]:
    """Return body and pose of a frame: a name, or a mapping with an offset from the named frame."""
    if isinstance(given, str):
        return frame_of(load, given, label)
    if not isinstance(given, Mapping) or "frame" not in given:
        raise ModelFileError(
            f"{label}: a frame is a name or a mapping {{frame, position, rpy}}, got {given!r}", element=label
        )
    _known_keys(given, _FRAME_KEYS, f"{label}: frame {given['frame']!r}")
    body, pose = frame_of(load, str(given["frame"]), label)
    position = vector(given.get("position", (0.0, 0.0, 0.0)), 3, "position", label)
    return body, pose @ Pose.of(position, rpy=given.get("rpy"), quaternion=given.get("quaternion"))


def _frame_pairs(content: Mapping[str, Any], source: str) -> list[dict[str, Any]]:
    """Return the ``closed_loop`` pairs as loops of the first format."""
    pairs, types = _list(content, "closed_loop", source), _list(content, "type", source)
    if types and len(types) != len(pairs):
        raise ModelFileError(
            f"{source}: closed_loop has {len(pairs)} pairs and type {len(types)} entries",
            element="closed_loop",
        )
    loops = []
    for pair, kind in zip(pairs, types or ["6d"] * len(pairs), strict=True):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ModelFileError(
                f"{source}: closed_loop must list pairs of frame names, got {pair!r}", element="closed_loop"
            )
        if str(kind).lower() not in _PAIR_KINDS:
            raise ModelFileError(f"{source}: type {kind!r} of {pair!r} must be '3d' or '6d'", element="type")
        one, two = pair
        joined = _PAIR_KINDS[str(kind).lower()]
        loops.append({"name": f"{one}-{two}", "kind": joined, "frame1": one, "frame2": two})
    return loops


def _closing(content: Mapping[str, Any], source: str) -> str | dict[str, str]:
    """Return the kind of all marked loops, or a mapping from names of loops to kinds."""
    given = content.get("closing") or {}
    if not isinstance(given, str | Mapping):
        wrong = f"{source}: 'closing' must be a kind of joint or a mapping from names of loops to kinds, got {given!r}"
        raise ModelFileError(wrong, element="closing")
    kinds = {"": given} if isinstance(given, str) else {str(name): str(kind) for name, kind in given.items()}
    kinds = {name: _SYNONYMS.get(kind, kind) for name, kind in kinds.items()}
    for name, kind in kinds.items():
        label = f"{source}: closing {name!r}" if name else f"{source}: closing"
        check_name("kind", kind, MARKED_KINDS, label, name or kind, ModelFileError)
    return kinds[""] if isinstance(given, str) else kinds


def _joints_named(load: Import, motor: str) -> list[str]:
    """Return the scalar joint with this name, or all whose names contain it; if there is none, list the motor."""
    scalar = [joint.name for joint in load.mechanism.joints() if joint.nv == 1]
    found = [motor] if motor in scalar else [name for name in scalar if motor in name]
    if not found:
        load.odd("actuator", motor, unknown_name("motor joint", motor, scalar), valid=scalar)
    return found


def _list(content: Mapping[str, Any], key: str, source: str) -> list[Any]:
    value = content.get(key)
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ModelFileError(f"{source}: {key!r} must be a list, got {value!r}", element=key)
    return list(value)


def _names(content: Mapping[str, Any], key: str, source: str) -> list[str]:
    names = _list(content, key, source)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ModelFileError(f"{source}: {key!r} lists names, got {name!r}", element=key)
    return names


def _known_keys(given: Mapping[str, Any], known: Sequence[str], label: str) -> None:
    for key in given:
        check_name("key", str(key), known, label, str(key), ModelFileError)
