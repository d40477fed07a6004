"""Load SDF, Gazebo's model format (versions 1.4 to 1.11), whose joint graph may have loops.

Modules: `xml` reads elements, `scopes` and `frames` names and poses, `links`, `inertia` and `joints` links and joints;
`link_tree` chooses the cut joints, `attach` adds joints and closures, `couplings` mimics and gearboxes.
The format is described at sdformat.org, "SDFormat specification" and "Pose frame semantics".
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from xml.etree.ElementTree import Element

from sarrus.model.formats.importing import Import
from sarrus.model.formats.marked_loops import is_mark
from sarrus.model.formats.model_text import file_fault
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.attach import attach, close
from sarrus.model.formats.sdf.couplings import add_couplings, coupled_joints
from sarrus.model.formats.sdf.frames import Scope
from sarrus.model.formats.sdf.grammar import list_unread
from sarrus.model.formats.sdf.joints import SdfJoint, read_joint, refuse_mimics
from sarrus.model.formats.sdf.link_tree import choose_tree, parts
from sarrus.model.formats.sdf.links import add_link
from sarrus.model.formats.sdf.scopes import read_world
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.pose import Pose

# SDF's default gravity, which is not 9.81.
DEFAULT_GRAVITY = "0 0 -9.8"


def load_sdf(path: str | PathLike[str], *, strict: bool | None = None) -> Import:
    """Read an SDF file.

    Parameters
    ----------
    path : a file with one ``<world>``, or with models.
    strict : as in `sarrus.load`.

    The initial poses of the links are the zero of all joint coordinates. Names are those of the file, nested
    ones joined by ``::``; the name of the model is a prefix only if the file holds several models.
    Loops are cut as in `sarrus.model.formats.sdf.link_tree`, and every cut joint becomes a closure of its own kind
    with the file's parent as body 1 and the file's child as body 2. A part that no joint connects to the world gets
    a free joint, named after the model if its canonical link carries it, otherwise after the link; its
    reference is the initial pose. The links of a static model are fixed to the world.


    Errors: `ModelFileError` for a file that is missing or malformed (with the line), `ModelError` for wrong
    numbers, unknown or duplicate names and frames defined in a circle, `UnsupportedElementError`.
    """
    file = Path(path)
    importing = Import(file, strict)
    root, version = xml.read_root(importing, file)
    world, name = _world(root, file)
    importing.mechanism.name = name
    importing.mechanism.gravity = xml.numbers(
        xml.text(world, "gravity", DEFAULT_GRAVITY), 3, "gravity", "world"
    )
    list_unread(importing, root)
    given = world.find("gravity") is not None
    importing.report.act("gravity", name, "" if given else f"SDF's default, {DEFAULT_GRAVITY}")
    _read_time_step(world, importing)
    scope = read_world(world, version, importing)
    _report_scopes(importing, scope)

    poses: dict[str, Pose] = {WORLD: Pose()}
    owners: dict[str, Scope] = {}
    for inner in scope.scopes():
        for link in inner.links:
            full = inner.full(link.name)
            add_link(importing, inner, link)
            poses[full] = inner.origin() @ inner.pose(link.name, f"link {full!r}")
            owners[full] = inner
    _keep_frames(importing, scope, poses)
    _connect(importing, scope, poses, owners)
    return importing


def _read_time_step(world: Element, importing: Import) -> None:
    """Keep the largest step of the world's physics, or the step of the one marked as default."""
    physics = world.findall("physics")
    chosen = next((p for p in physics if p.get("default") in ("true", "1")), physics[0] if physics else None)
    step = xml.number(chosen, "max_step_size", 0.0, "physics")
    if step > 0.0:
        importing.keep_time_step(step)


def _world(root: Element, file: Path) -> tuple[Element, str]:
    """Return the ``<world>`` (an empty one around models that have none) and the mechanism's name."""
    worlds, models = root.findall("world"), root.findall("model")
    if len(worlds) > 1 or (worlds and models):
        raise file_fault(
            file,
            f"holds {len(worlds)} worlds and {len(models)} models beside; a mechanism is one world, "
            "or models without a world",
        )
    if not worlds and not models:
        raise file_fault(file, "holds no <world> and no <model>")
    if worlds:
        return worlds[0], worlds[0].get("name", "") or file.stem
    world = Element("world", {"name": WORLD})
    world.extend(models)
    return world, models[0].get("name", "") or file.stem


def _report_scopes(importing: Import, world: Scope) -> None:
    """List the models."""
    for scope in world.scopes():
        for frame in scope.frames.values():
            if frame.tag == "model" and not scope.nested[frame.name].merged:
                static = scope.nested[frame.name].static
                reason = "static: fixed to the world" if static else ""
                importing.report.act("model", scope.full(frame.name), reason)


def _keep_frames(importing: Import, world: Scope, poses: dict[str, Pose]) -> None:
    """Keep and list the ``<frame>`` elements, each on its link."""
    for scope in world.scopes():
        for frame in (frame for frame in scope.frames.values() if frame.tag == "frame"):
            name = scope.full(frame.name)
            label, note = f"frame {name!r}", ""
            carrier = scope.body(frame.name, label)
            link = xml.attribute(frame.element.find("pose"), "relative_to")
            if is_mark(name) and link and not frame.element.get("attached_to"):
                carrier = scope.body(link, label)
                note = (
                    ", to which its pose is relative: it marks a loop, and is attached to nothing in the file"
                )
            pose = scope.origin() @ scope.pose(frame.name, label)
            importing.mechanism.frames[name] = (carrier, poses[carrier].inverse() @ pose)
            importing.report.act("frame", name, f"moves with {carrier!r}{note}")


def _connect(importing: Import, world: Scope, poses: dict[str, Pose], owners: dict[str, Scope]) -> None:
    """Read the joints, choose the tree, and add joints, closures and couplings."""
    immovable = {WORLD, *(link for link, owner in owners.items() if owner.static)}
    joints: list[SdfJoint] = []
    gearboxes: list[SdfJoint] = []
    for scope in world.scopes():
        for frame in scope.joints:
            joint = read_joint(importing, scope, frame)
            if joint is None:
                continue
            if joint.kind == "gearbox":
                gearboxes.append(joint)
            elif {joint.parent, joint.child} <= immovable:
                importing.report.set_aside("joint", joint.name, "both of its bodies are fixed to the world")
                refuse_mimics(importing, frame.element, joint.name, "its joint is fixed to the world")
            else:
                joints.append(joint)
    roots = _roots(importing, joints, poses, owners, immovable)
    taken, cut = choose_tree(joints, roots, coupled_joints(joints, gearboxes))
    for joint, reverse in taken:
        attach(importing, joint, reverse, poses)
    for joint in cut:
        close(importing, joint, poses)
    add_couplings(importing, joints, gearboxes)


def _roots(
    importing: Import,
    joints: list[SdfJoint],
    poses: dict[str, Pose],
    owners: dict[str, Scope],
    immovable: set[str],
) -> list[str]:
    """Fix the links of static models, let one body of each unconnected part float; return all roots."""
    roots = [WORLD]
    for link, owner in owners.items():
        if owner.static:
            importing.mechanism.add_joint(f"{link}.static", "fixed", WORLD, link, parent_pose=poses[link])
            roots.append(link)
    taken = {joint.name for joint in joints}
    for part in parts([WORLD, *owners], joints):
        if not immovable.isdisjoint(part):
            continue
        model = _outermost(owners[part[0]])
        canonical = model.canonical_link()
        root = canonical if canonical in part else part[0]
        name = model.name if root == canonical else root
        name = name if name not in taken else f"{name}_free"
        pose = poses[root]
        importing.mechanism.add_joint(
            name, "free", WORLD, root, parent_pose=pose.position, reference=[*pose.position, *pose.quaternion]
        )
        importing.report.act("free joint", name, f"no joint connects {root!r} to the world")
        roots.append(root)
    return roots


def _outermost(scope: Scope) -> Scope:
    while scope.parent is not None and not scope.parent.is_world:
        scope = scope.parent
    return scope
