"""Elements of a URDF or SDF file at places that no parser reads: reported, and refused if a joint or loop is lost.

A `Grammar` lists the children that the readers take from each element; `unread` compares a file with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from sarrus.model.formats.importing import Import, Joined
from sarrus.model.formats.model_xml import label_of

# Tags of joints, links and loops in one of the formats, in lower case.
_STRUCTURE = ("world", "model", "robot", "link", "body", "include")
_JOINING = (
    "joint",
    "freejoint",
    "mimic",
    "loop",
    "coupling",
    "equality",
    "connect",
    "weld",
    "loop_joint",
    "ball_constraint",
)
_PARTS = ("parent", "child", "predecessor", "successor", "axis", "axis2")
BEARING = frozenset((*_STRUCTURE, *_JOINING, *_PARTS))
# Elements that hold settings of other programs, in which these tags have another meaning.
FOREIGN = frozenset(
    ["gazebo", "plugin", "sensor", "light", "actor", "gui", "scene", "state", "extension", "custom"]
)
OPEN = "?"
# Tags read by other programs that change the motion, with the loss.
OUTSIDE = {
    "rotor_inertia": "the inertia of a rotor, in Drake; give the joint an armature",
    "gear_ratio": "the gear of a rotor, in Drake; give the joint an armature",
    "linear_spring_damper": "a spring, in Drake; add it by add_spring",
    "linear_bushing_rpy": "a bushing, in Drake",
    "tendon_constraint": "a tendon, in Drake; add it by add_tendon",
    "springStiffness": "a spring of the joint, in Gazebo",
    "springReference": "a spring of the joint, in Gazebo",
    "dampingFactor": "damping of the velocities of the link, in Gazebo",
    "velocity_decay": "damping of the velocities of the link, in Gazebo",
    "turnGravityOff": "gravity that is off for the link, in Gazebo",
}
_NOTHING = ("0", "0.0", "false")
# Parameters of Gazebo plugins that name two joined links, and two coupled joints.
_LINKS = (("parent", "child"), ("parent_link", "child_link"))
_JOINTS = (("joint", "mimicjoint"),)


@dataclass(frozen=True)
class Grammar:
    """The elements that the readers of one format take: context → children, ``tag`` once or ``tag*`` repeated.

    The context of an element is "parent tag" if the table has it, else its tag. An element without an entry has no
    children; ``?`` marks children that are not listed here and that contain no tag of `BEARING` or `FOREIGN`.
    ``attributes`` is the same table for attributes; a context without an entry may have any attribute.
    """

    format: str
    children: Mapping[str, str]
    attributes: Mapping[str, str]

    def context(self, parent: str, tag: str) -> str:
        """Return the entry of the table for a child of ``parent``."""
        return f"{parent} {tag}" if f"{parent} {tag}" in self.children else tag

    def places(self, tag: str) -> list[str]:
        """Return the elements below which ``tag`` is read."""
        return [
            parent.rpartition(" ")[2]
            for parent, words in self.children.items()
            if {tag, f"{tag}*"} & set(words.split())
        ]


@dataclass(frozen=True)
class Unread:
    """One element that no reader takes: ``parent`` holds it; ``repeated`` if only the first of its tag is read.

    ``owner`` is the name of the nearest enclosing element with a name, ``within`` the tag of the enclosing foreign
    element, if there is one.
    """

    element: Element
    parent: Element
    owner: str
    repeated: bool = False
    within: str = ""

    @property
    def tag(self) -> str:
        """The tag without its prefix."""
        return local(self.element.tag)

    @property
    def bearing(self) -> bool:
        """Whether the element can contain a joint, link or loop."""
        return self.tag.lower() in BEARING


def local(tag: str) -> str:
    """Return a tag without its prefix."""
    return tag.rpartition(":")[2]


def unread(grammar: Grammar, root: Element) -> Iterator[Unread]:
    """Iterate over the elements at places that no reader of the format takes, in file order.

    Inside such an element only tags of joints, links and loops are listed.
    """
    for parent, context, owner in _read(grammar, root, grammar.context("", root.tag)):
        for child, inner, repeated in _children(grammar, parent, context):
            if inner is None:
                yield Unread(child, parent, owner, repeated)
                yield from _inside(child, owner, child.tag if _foreign(child) else "")


def warn_of_attributes(load: Import, grammar: Grammar, root: Element) -> None:
    """List the attributes that no reader takes, for elements with an entry in ``attributes`` of the grammar."""
    for element, context, owner in _read(grammar, root, grammar.context("", root.tag)):
        known = grammar.attributes.get(context)
        for key, value in element.attrib.items():
            if known is None or key in known.split() or ":" in key or key == "xmlns" or not value.strip():
                continue
            reason = f"not read; <{element.tag}> has {known.replace(' ', ', ') or 'no attribute'}"
            load.report.leave_out(f"<{element.tag}> attribute", f"{owner}: {key}" if owner else key, reason)


def _read(
    grammar: Grammar, element: Element, context: str, owner: str = ""
) -> Iterator[tuple[Element, str, str]]:
    """Iterate over the elements that are read, each with its context and the name of it or of the nearest parent."""
    owner = element.get("name") or owner
    yield element, context, owner
    for child, at, _ in _children(grammar, element, context):
        if at is not None:
            yield from _read(grammar, child, at, owner)


def _children(grammar: Grammar, parent: Element, context: str) -> Iterator[tuple[Element, str | None, bool]]:
    """Iterate over (child, its context or None if it is not read, whether it is a second one of a single tag)."""
    words = [OPEN] if context == OPEN else grammar.children.get(context, "").split()
    seen: set[str] = set()
    for child in parent:
        tag = child.tag
        repeated = tag in words and tag in seen
        seen.add(tag)
        if words == [OPEN]:
            yield child, None if local(tag).lower() in BEARING or _foreign(child) else OPEN, False
        elif (tag in words and not repeated) or f"{tag}*" in words:
            yield child, grammar.context(context, tag), False
        else:
            yield child, None, repeated


def _inside(parent: Element, owner: str, within: str) -> Iterator[Unread]:
    """Iterate over tags of joints, links and loops inside an element that is not read, breadth first."""
    owner = parent.get("name") or owner
    for child in parent:
        if local(child.tag).lower() in BEARING or local(child.tag) in OUTSIDE:
            yield Unread(child, parent, owner, within=within)
    for child in parent:
        yield from _inside(child, owner, within or (child.tag if _foreign(child) else ""))


def _foreign(element: Element) -> bool:
    return local(element.tag) in FOREIGN or ":" in element.tag


def outside(load: Import, found: Unread) -> bool:
    """List an unread element that changes the motion in other programs; tell whether it is such an element."""
    if found.tag not in OUTSIDE or found.within not in ("", "gazebo"):
        return False
    if (found.element.text or "").strip() not in _NOTHING:
        name = found.parent.get("reference") or found.element.get("name") or found.owner
        load.report.leave_out(f"<{found.tag}>", name, OUTSIDE[found.tag])
    return True


def survey_plugins(load: Import, root: Element, words: str) -> None:
    """Note the Gazebo plugins that join two links of the file; refuse plugins that couple two joints.

    A joint with an own mimic is coupled without the plugin. ``words`` is the equivalent element of the format.
    """
    named = {element.get("name", "") for element in root.iter() if local(element.tag) in ("link", "joint")}
    follows = {
        joint.get("name", "") for joint in root.iter("joint") if next(joint.iter("mimic"), None) is not None
    }
    for plugin in (element for element in root.iter() if local(element.tag) == "plugin"):
        texts = {local(child.tag).lower(): (child.text or "").strip().rpartition("::")[2] for child in plugin}
        name = plugin.get("name", "") or plugin.get("filename", "")
        for pair in (*_LINKS, *_JOINTS):
            one, two = (texts.get(word, "") for word in pair)
            if not one or not two or not {one, two} <= named or two in follows:
                continue
            if pair in _LINKS:
                load.joined.append(Joined.in_gazebo("plugin", name, (one, two), words))
            else:
                reason = f"it couples {one!r} and {two!r} in Gazebo, and plugins are not read"
                load.refuse("plugin", name, reason, "write it as <mimic>, and take the plugin out")


def _end_of(joint: Element, end: str) -> str:
    """Return the parent or child link of a joint, in the syntax of any format."""
    found = joint.find(end)
    text = joint.get(end) if found is None else found.get("link") or found.text
    return (text or "").strip()


def refuse_bearing(load: Import, grammar: Grammar, found: Unread) -> None:
    """Refuse an unread element with which a joint, link or loop would be lost; inside a foreign element only list it.

    A foreign joint with parent and child is refused too: URDF files of robots close their loops this way for Gazebo.
    """
    element, inside = found.element, f"<{found.tag}> inside {label_of(found.parent)}"
    if found.owner and not found.parent.get("name"):
        inside += f" of {found.owner!r}"
    names = (element.get("name"), (element.text or "").strip(), element.get("link"), found.owner)
    name = next(filter(None, names), found.tag)
    joins = all(element.find(end) is not None or element.get(end) for end in ("parent", "child"))
    if found.within and not joins:
        load.report.set_aside(f"<{found.tag}>", name, f"a setting of <{local(found.within)}>")
        return
    if found.within and found.tag == "joint":
        links = _end_of(element, "parent"), _end_of(element, "child")
        words = f"a joint or loop of {grammar.format}"
        load.joined.append(Joined.in_gazebo("<joint>", name, links, words))
        return
    places = [f"<{place}>" for place in grammar.places(found.tag.lower())]
    if found.repeated:
        reason, remedy = f"a second {inside} is not read", "leave one of them"
    elif element.tag != found.tag:
        prefix = element.tag.rpartition(":")[0]
        reason, remedy = f"the prefix {prefix!r} is not read", f"write it in words of {grammar.format}"
    elif places:
        spelling = "" if found.tag == found.tag.lower() else f" as <{found.tag.lower()}>"
        reason, remedy = f"{inside} is not read", f"put it under {' or '.join(places)}{spelling}"
    else:
        reason, remedy = f"{inside} is not read", f"write it in words of {grammar.format}"
    load.refuse(f"<{found.tag}>", name, reason, remedy)
