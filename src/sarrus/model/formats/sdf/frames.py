"""Scopes and frames of SDF: `Scope` resolves names such as ``arm::wrist`` to poses and to links.

A scope is a world or a model. Its implicit frame is ``world`` or ``__model__``; its links, joints, frames
and nested models are frames as well. A pose is relative to the frame ``relative_to``, by default the scope's
own frame (for a joint: its child; for a frame: ``attached_to``). Names never refer upward, so every pose can
be computed in the scope's own frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from sarrus.base.errors import ModelError
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.xml import Version
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.faults import unknown
from sarrus.model.mechanism.pose import Pose

MODEL_FRAME = "__model__"
# Longest chain of forward references; frames given relative to earlier frames do not add to it.
MAX_CHAIN = 100


@dataclass(frozen=True)
class Frame:
    """A named frame of a scope: ``tag`` is link, joint, frame or model; it moves with ``attached_to``."""

    tag: str
    name: str
    pose: Pose
    relative_to: str
    attached_to: str
    element: Element


class Scope:
    """A model (or the world): its frames, nested models, and the resolution of names.

    Parameters
    ----------
    element : the ``<model>`` or ``<world>``.
    path : prefix of the names of this scope's elements, joined by ``::``.
    version : version of the file that holds the element; it decides old conventions.
    source : the file; includes are relative to its folder.
    parent : the enclosing scope, None for the world.
    name : the model's name in the parent, which an ``<include>`` may change.

    The scope of an ``<include merge="true">`` is nested under the name of its proxy frame (``merged``), and the parent
    knows its elements by their own names.
    """

    def __init__(
        self,
        element: Element,
        path: tuple[str, ...],
        version: Version,
        source: Path,
        parent: Scope | None = None,
        name: str = WORLD,
    ) -> None:
        self.element, self.path, self.version = element, path, version
        self.source, self.parent, self.name = source, parent, name
        self.is_world = parent is None
        self.label = f"model {name!r}" if parent else "world"
        own = xml.flag(xml.text(element, "static", "false"), f"{self.label}: <static>") and not self.is_world
        self.static: bool = own or (parent is not None and parent.static)
        self.merged = False
        self.placement_frame = element.get("placement_frame", "").strip()
        self.frames: dict[str, Frame] = {}
        self.links: list[Frame] = []
        self.joints: list[Frame] = []
        self.nested: dict[str, Scope] = {}
        self._named: dict[str, list[Frame]] = {}
        self._poses: dict[str, Pose] = {}
        self._visiting: list[str] = []

    def add(self, frame: Frame) -> None:
        """Register a frame. Before version 1.7 joints were not frames and could have the name of a link."""
        same = self._claim(frame)
        if frame.tag == "joint":
            self.joints.append(frame)
        elif frame.tag == "link":
            self.links.append(frame)
        if not same or frame.tag == "link":
            self.frames[frame.name] = frame
        same.append(frame)

    def absorb(self, inner: Scope) -> None:
        """Make the names of a merged model names of this scope."""
        inner.merged = True
        for frame in inner.frames.values():
            self._claim(frame).append(frame)

    def _claim(self, frame: Frame) -> list[Frame]:
        """Return the existing frames with the name; raise unless another one is allowed."""
        same = self._named.setdefault(frame.name, [])
        clash = [f for f in same if f.tag == frame.tag or self.version >= (1, 7)]
        if clash:
            raise ModelError(
                f"{self.label}: the name {frame.name!r} is given to a {clash[0].tag} and to a {frame.tag}; "
                "the names of links, joints, frames and nested models of one scope are unique",
                element=frame.name,
            )
        return same

    def full(self, name: str) -> str:
        """Return the full name of an element of this scope in the mechanism."""
        return "::".join((*self.path, name))

    def scopes(self) -> Iterator[Scope]:
        """Iterate over this scope and all nested ones, in file order."""
        yield self
        for scope in self.nested.values():
            yield from scope.scopes()

    def joint_names(self) -> list[str]:
        """Names of the joints of this scope, merged ones too."""
        merged = (name for scope in self.nested.values() if scope.merged for name in scope.joint_names())
        return [*(joint.name for joint in self.joints), *merged]

    def local_pose(self, link: Element, element: Element | None, label: str) -> Pose:
        """Return the pose of an element inside a link, in the frame of the link."""
        pose, relative = xml.pose_of(element, label), xml.relative_to(element)
        if not relative:
            return pose
        return self.pose(link.get("name", ""), label).inverse() @ self.pose(relative, label) @ pose

    def pose(self, name: str, label: str) -> Pose:
        """Return the pose of the frame ``name`` in this scope's own frame."""
        if name in ("", MODEL_FRAME) or (self.is_world and name == WORLD):
            return Pose()
        if name in self._poses:
            return self._poses[name]
        scope, rest = self._descend(name, label)
        if scope is not None:
            return self.pose(scope.name, label) @ scope.pose(rest, label)
        self._poses[name] = pose = self.frame_pose(self.frames[name])
        return pose

    def frame_pose(self, frame: Frame) -> Pose:
        """Return the pose of one frame of this scope in the scope's own frame."""
        with self._guard(frame.name, "relative_to"):
            base = frame.relative_to or frame.attached_to
            pose = self.pose(base, f"{frame.tag} {self.full(frame.name)!r}") @ frame.pose
            if frame.tag == "model" and self.nested[frame.name].placement_frame:
                inner = self.nested[frame.name]
                pose = pose @ inner.pose(inner.placement_frame, f"placement_frame of {inner.label}").inverse()
        return pose

    def origin(self) -> Pose:
        """Return the pose of the scope's own frame in the world."""
        return (
            Pose() if self.parent is None else self.parent.origin() @ self.parent.pose(self.name, self.label)
        )

    def body(self, name: str, label: str) -> str:
        """Return the full name of the link (or ``world``) to which the frame ``name`` is attached."""
        if name == WORLD and WORLD not in self.frames:
            return WORLD
        if name in ("", MODEL_FRAME):
            return self.canonical_link(label)
        scope, rest = self._descend(name, label)
        if scope is not None:
            return scope.body(rest, label)
        frame = self.frames[name]
        if frame.tag == "link":
            return self.full(name)
        if frame.tag == "model":
            return self.nested[name].body(MODEL_FRAME, label)
        with self._guard(name, "attached_to"):
            return self.body(frame.attached_to, f"{frame.tag} {self.full(name)!r}")

    def canonical_link(self, label: str = "") -> str:
        """Return the link to which the model frame is attached; for a static model the world."""
        if self.is_world or self.static:
            return WORLD
        given = self.element.get("canonical_link", "").strip()
        if given:
            return self.body(given, f"canonical_link of {self.label}")
        first = self.first_link()
        if first:
            return first
        for scope in self.nested.values():
            return scope.canonical_link(label)
        raise ModelError(f"{self.label}: has no link", element=self.name)

    def first_link(self) -> str:
        """Return the full name of the first link in file order, merged models included, or an empty text."""
        for frame in self.frames.values():
            if frame.tag == "link":
                return self.full(frame.name)
            if frame.tag == "model" and self.nested[frame.name].merged:
                found = self.nested[frame.name].first_link()
                if found:
                    return found
        return ""

    def _descend(self, name: str, label: str) -> tuple[Scope | None, str]:
        """Return the nested scope and the rest of a scoped name, or (None, name) for a frame of this scope."""
        if name in self.frames:
            return None, name
        head, separator, rest = name.partition("::")
        if separator and head in self.nested:
            return self.nested[head], rest
        for scope in self.nested.values():
            if scope.merged and scope.knows(name):
                return scope, name
        merged = (f for s in self.nested.values() if s.merged for f in s.frames)
        scoped = (f"{n}::{f}" for n, s in self.nested.items() if not s.merged for f in s.frames)
        valid = (*self.frames, *merged, *scoped)
        where = "" if self.is_world else f" of {self.label}"
        raise unknown(f"link or frame{where}", name, valid, label)

    def knows(self, name: str) -> bool:
        """Tell whether a name, or the part before its first ``::``, belongs to this scope."""
        if name in self.frames or name.partition("::")[0] in self.nested:
            return True
        return any(scope.merged and scope.knows(name) for scope in self.nested.values())

    @contextmanager
    def _guard(self, name: str, attribute: str) -> Iterator[None]:
        if name in self._visiting:
            chain = " -> ".join([*self._visiting[self._visiting.index(name) :], name])
            raise ModelError(f"{self.label}: {attribute} is circular: {chain}", element=name)
        if len(self._visiting) >= MAX_CHAIN:
            raise ModelError(
                f"{self.label}: {attribute} leads through more than {MAX_CHAIN} frames; give the pose of "
                f"{name!r} in a frame that is nearer or stands before it",
                element=name,
            )
        self._visiting.append(name)
        try:
            yield
        finally:
            self._visiting.pop()
