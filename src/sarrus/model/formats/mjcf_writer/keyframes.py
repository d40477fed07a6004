"""Keyframes of a mechanism as MJCF keys."""

from __future__ import annotations

from xml.etree.ElementTree import SubElement

from sarrus.model.formats.mjcf_writer.attributes import numbers
from sarrus.model.formats.mjcf_writer.mjcf_document import Document


def add_keyframes(document: Document) -> None:
    """Write time, coordinates, velocities and controls of every keyframe, zeros omitted."""
    for key in document.mechanism.keyframes.values():
        element = SubElement(document.section("keyframe"), "key", {"name": key.name})
        if key.t:
            element.set("time", repr(key.t))
        joined = sum(joint.nq for joint in document.mechanism.joints())  # the activations follow
        written = {"qpos": key.q[:joined], "qvel": key.v, "act": key.q[joined:], "ctrl": key.u}
        for attribute, values in written.items():
            if values is not None and len(values):
                element.set(attribute, numbers(values))
        if key.poses:
            mechanism, known = document.mechanism, dict(key.poses)
            poses = [
                known.get(name, body.placement)
                for name, body in mechanism.bodies.items()
                if name in mechanism.driven_bodies
            ]
            element.set("mpos", numbers(x for pose in poses for x in pose.position))
            element.set("mquat", numbers(x for pose in poses for x in pose.quaternion))
