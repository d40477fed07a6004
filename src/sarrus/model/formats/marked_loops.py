"""Marked loops: a file marks a cut joint by frames ``closing_NAME_1`` and ``closing_NAME_2`` on its two bodies.

onshape-to-robot cuts a loop at the mate ``closing_NAME`` and leaves a frame on each part, with the z axis of the mate:
links of URDF, frames of SDF, sites of MJCF. Only MJCF also has an equality, and not for every kind of mate. The frames
``closing_NAME_1_z``, 0.1 m along z from the first ones, exist for revolute mates only; without them the file does not
tell the kind of the cut joint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sarrus.base.errors import ModelFileError
from sarrus.base.names import unique
from sarrus.model.formats.importing import Import
from sarrus.model.mechanism.faults import check_name

_MARK = re.compile(r"(?P<name>(?:.*[/:])?closing_.+)_(?P<end>[12])(?P<beside>_z)?")
# Closure kinds that two frames with a common z axis define.
MARKED_KINDS = ("revolute", "prismatic", "cylindrical", "point", "weld", "planar")


def is_mark(frame: str) -> bool:
    """Return whether a name is ``closing_NAME_1`` or ``closing_NAME_2``."""
    return _MARK.fullmatch(frame) is not None


@dataclass(frozen=True)
class MarkedLoop:
    """A cut joint: frames ``name``_1 and ``name``_2; ``short`` is ``name`` without ``closing_``."""

    name: str

    @property
    def frames(self) -> tuple[str, str]:
        """The names of the two frames."""
        return f"{self.name}_1", f"{self.name}_2"

    @property
    def short(self) -> str:
        """The name of the loop."""
        before, _, after = self.name.rpartition("closing_")
        return before + after


def close_marked(load: Import, kinds: str | Mapping[str, str], source: str) -> None:
    """Close the marked loops that no closure closes, by one kind for all or one for each name; refuse the rest.

    A loop is closed already if a closure joins the two bodies, or bodies fixed to them. A name in ``kinds`` that is no
    marked loop, or one that is closed already, raises `ModelFileError`.
    """
    marked = {loop.short: loop for loop in _marked(load)}
    if isinstance(kinds, str) and not marked:
        wrong = "no frames closing_NAME_1 and closing_NAME_2 are on bodies that move relative to each other"
        raise ModelFileError(f"{source}: closing: {wrong}", element="closing", valid=sorted(load.frames))
    ends = _closed(load) if marked else set()
    open_ = {short: loop for short, loop in marked.items() if _ends(load, *_bodies(load, loop)) not in ends}
    if not isinstance(kinds, str):
        for name in kinds:
            check_name("loop", name, marked, f"{source}: closing", name, ModelFileError)
            if name not in open_:
                wrong = f"{source}: closing: loop {name!r} is closed already; leave out its kind"
                raise ModelFileError(wrong, element=name)
    for short, loop in open_.items():
        _close(load, loop, kinds if isinstance(kinds, str) else kinds.get(short, ""))


def refuse_joined(load: Import) -> None:
    """Refuse each connection that is not read, unless a closure joins the same two links."""
    if not load.joined:
        return
    closed, frames = _closed(load), load.frames
    for joined in load.joined:
        bodies = [
            next((body for frame, (body, _) in frames.items() if frame.rpartition("::")[2] == link), "")
            for link in joined.links
        ]
        if all(bodies) and _ends(load, *bodies) in closed:
            reason = "{!r} and {!r} are joined by a closure".format(*joined.links)
            load.report.set_aside(joined.kind, joined.name, reason)
        else:
            load.refuse(
                joined.kind, joined.name, joined.reason, f"{joined.remedy}, or join the two with loops="
            )


def _closed(load: Import) -> set[frozenset[str]]:
    """Return the pairs of bodies joined by closures."""
    return {_ends(load, closure.body1, closure.body2) for closure in load.mechanism.closures.values()}


def _close(load: Import, loop: MarkedLoop, kind: str) -> None:
    one, two = loop.frames
    note = f"between the frames {one!r} and {two!r}"
    if not kind and {f"{one}_z", f"{two}_z"} <= set(load.frames):
        kind = "revolute"
        note += f", about their z: {one + '_z'!r} stands there"
    if not kind:
        reason = f"the frames {one!r} and {two!r} mark a cut joint without its kind"
        remedy = f"say which with loops={{'closing': 'revolute'}} or another of {', '.join(MARKED_KINDS)}"
        load.refuse("loop", loop.short, reason, remedy)
        return
    (body1, pose1), (body2, pose2) = (load.frames[frame] for frame in loop.frames)
    name = unique(loop.short, (*load.mechanism.closures, *load.mechanism.couplings))
    load.mechanism.add_closure(name, kind, body1, body2, pose1=pose1, pose2=pose2, axis=(0.0, 0.0, 1.0))
    load.report.act(f"loop {kind}", name, note)


def _marked(load: Import) -> Iterator[MarkedLoop]:
    """Iterate over the marked loops; a loop whose two frames are on the same rigid body is listed instead."""
    for frame in load.frames:
        found = _MARK.fullmatch(frame)
        if found is None or found["end"] != "1" or found["beside"]:
            continue
        loop = MarkedLoop(found["name"])
        if loop.frames[1] not in load.frames:
            continue
        ends = _ends(load, *_bodies(load, loop))
        if len(ends) == 2:
            yield loop
        else:
            reason = f"both of its frames are fixed to {next(iter(ends))!r}"
            load.report.set_aside("loop", loop.short, reason)


def _bodies(load: Import, loop: MarkedLoop) -> tuple[str, str]:
    one, two = (load.frames[frame][0] for frame in loop.frames)
    return one, two


def _ends(load: Import, *names: str) -> frozenset[str]:
    """Return the bodies that the given bodies are fixed to (themselves if they have joints)."""
    return frozenset(load.mechanism.carrier(name, name) for name in names)
