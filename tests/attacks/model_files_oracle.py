"""What a model file holds, counted with a plain XML or YAML parser, against what a mechanism and its report tell.

Nothing here is taken from the importers. The rule: an element that joins bodies is in the mechanism or has an entry in
the report, wherever it stands in the document; so has an element whose tag no format knows.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml
from model_files_seeds import Case

Path = tuple[str, ...]
_DRAWN = {"visual", "collision", "material", "geometry", "physics", "hardware", "gpio"}
_CONTROLLED = (("robot",), ("robot", "ros2_control"))
_FOREIGN = {"plugin", "gazebo", "sensor", "light", "actor", "transmission", "ros2_control"}
_TAGS = (
    "robot link joint inertial origin mass inertia visual collision parent child axis limit dynamics "
    "mimic safety_controller calibration loop coupling predecessor successor ratio transmission "
    "ros2_control gazebo mujoco compiler option material sdf world model frame include uri name pose "
    "static placement_frame gravity physics axis2 xyz lower upper effort velocity damping friction "
    "spring_stiffness spring_reference initial_position multiplier offset reference thread_pitch "
    "screw_thread_pitch gearbox_ratio gearbox_reference_body ixx iyy izz ixy ixz iyz light sensor plugin "
    "use_parent_model_frame kinematic size loop_joint link1 link2 fixed_frame "
)
STRAY = ("joint", "mimic", "loop", "loop_joint", "coupling", "equality", "connect", "weld", "include")
_KNOWN = frozenset(_TAGS.split())


def untold(case: Case, mechanism: Any) -> list[str]:
    """Return what of the case is neither in the mechanism nor in its report."""
    try:
        root = ElementTree.fromstring(case.content)
    except (ElementTree.ParseError, LookupError, ValueError):
        try:
            root = ElementTree.fromstring(_decoded(case.content))
        except (ElementTree.ParseError, UnicodeError):
            return ["a file that xml.etree does not read was loaded"]
    elements = [(local(e.tag).lower(), above, e) for above, e in _walk(root, ())]
    check = {"robot": _urdf, "sdf": _sdf}.get(root.tag, _mjcf)
    lost = list(check(elements, mechanism, case))
    if root.tag in ("robot", "sdf"):
        lost += _unknown(elements, mechanism.report)
    return lost + (_loops(case, mechanism, elements) if case.loops else [])


def local(tag: str) -> str:
    """Return a tag without its namespace."""
    return tag.rpartition("}")[2]


def _decoded(content: bytes) -> str:
    for encoding in ("utf-32", "utf-16"):
        try:
            return content.decode(encoding).partition("?>")[2] or content.decode(encoding)
        except UnicodeError:
            continue
    return ""


def _walk(element: ElementTree.Element, above: Path) -> Iterator[tuple[Path, ElementTree.Element]]:
    stack = [(above, element)]
    while stack:
        path, here = stack.pop()
        yield path, here
        stack += [((*path, local(here.tag)), child) for child in reversed(list(here))]


def _entries(report: Any, *kinds: str) -> int:
    return sum(entry.kind.lower() in kinds for entry in report)


def _missing(wanted: Counter[str], told: Counter[str]) -> list[str]:
    return [
        f"{name}: {count} in the file, {told[name]} told"
        for name, count in wanted.items()
        if count > told[name]
    ]


def _urdf(elements: list[Any], mechanism: Any, case: Case) -> Iterator[str]:
    report, wanted, told = mechanism.report, Counter[str](), Counter[str]()
    for tag in (*STRAY, "link"):
        told[f"stray {tag}"] = _entries(report, f"<{tag}>")
    for tag in ("transmission", "ros2_control", "mimic"):
        told[tag] = _entries(report, tag)
    for tag in ("loop_constraint", "joint_constraint"):
        told[tag] = sum(int(e.name) for e in report if e.kind == f"<{tag}>")
    told["loop"] = sum(e.kind.startswith("loop") for e in report) if not case.loops else 10**6
    names = {e.get("name") for tag, above, e in elements if (tag, above) == ("link", ("robot",))}
    marks = {str(name)[:-2] for name in names if str(name).startswith("closing_")}
    wanted["loop"] += sum({f"{mark}_1", f"{mark}_2"} <= names for mark in marks)
    told["coupling"] = _entries(report, "coupling")
    for tag, above, element in elements:
        exact = local(element.tag) == tag and "}" not in element.tag
        if tag == "joint" and above == ("robot",) and exact:
            child = element.find("child")
            name = child.get("link") if child is not None else None
            if name not in mechanism.bodies or not mechanism.bodies[name].attached:
                yield f"joint {element.get('name')!r} moves no body"
            elif not case.loops and (element.get("type") == "fixed") != (not mechanism.bodies[name].joints):
                yield f"joint {element.get('name')!r} is no {element.get('type')}"
        elif tag == "joint" and above[:2] == ("robot", "ros2_control") and len(above) == 2 and exact:
            wanted["ros2_control"] += 1
        elif tag == "joint" and above[-1:] == ("transmission",) and above[:-1] in _CONTROLLED and exact:
            continue
        elif tag == "transmission" and above in _CONTROLLED and exact:
            wanted["transmission"] += 1
        elif tag == "link" and above == ("robot",) and exact:
            if element.get("name") not in (*mechanism.bodies, "world"):
                yield f"link {element.get('name')!r} is no body"
        elif tag in ("loop", "loop_joint", "coupling") and above == ("robot",) and exact:
            wanted["loop" if tag == "loop_joint" else tag] += 1
        elif tag == "mimic" and above == ("robot", "joint") and exact:
            wanted["all mimics"] += 1
        elif tag in ("loop_constraint", "joint_constraint"):
            wanted[tag] += 1
        elif tag in (*STRAY, "link"):
            wanted["all mimics" if tag == "mimic" else f"stray {tag}"] += 1
    told["all mimics"] = told["mimic"] + told["stray mimic"]
    yield from _missing(wanted, told)


def _sdf(elements: list[Any], mechanism: Any, case: Case) -> Iterator[str]:
    report, wanted, told = mechanism.report, Counter[str](), Counter[str]()
    for entry in report:
        kind, last = entry.kind.lower(), _last(entry.name)
        if kind in ("joint", "gearbox", "<joint>"):
            told[f"joint {last}"] += 1
        elif kind in ("link", "<link>"):
            told[f"link {last}"] += 1
        elif kind in ("model", "<model>"):
            told["model"] += 1
        elif kind.strip("<>") in ("mimic", "include", "loop", "coupling", "equality", "connect", "weld"):
            told[kind.strip("<>")] += 1
    for tag, _, element in elements:
        name = _last((element.get("name") or element.text or "").strip())
        if tag in ("joint", "link") and name:
            wanted[f"{tag} {name}"] += 1
        elif tag in ("joint", "link"):
            wanted[f"unnamed {tag}"] += 1
            told[f"unnamed {tag}"] = _entries(report, f"<{tag}>")
        elif tag in ("model", "mimic", "include", "loop", "coupling", "equality", "connect", "weld"):
            wanted[tag] += 1
    yield from _missing(wanted, told)


def _last(name: str) -> str:
    """Return the last part of a name, "::" for one that ends so."""
    return name.rpartition("::")[2] or name[-2:]


def _mjcf(elements: list[Any], mechanism: Any, case: Case) -> Iterator[str]:
    report, wanted, told = mechanism.report, Counter[str](), Counter[str]()
    told["joint"] = _entries(report, "joint")
    told["equality"] = sum(entry.kind.startswith("equality") for entry in report)
    if any(entry.kind in ("joint", "equality") and " of " in entry.name for entry in report):
        told["joint"] = told["equality"] = 10**6
    for tag, above, _ in elements:
        if "default" in above or {"composite", "flexcomp"} & set(above):
            continue
        if tag in ("joint", "freejoint") and "worldbody" in above:
            wanted["joint"] += 1
        elif above and above[-1] == "equality":
            wanted["equality"] += 1
        elif tag in ("mimic", "loop", "coupling") or (tag == "include" and above == ()):
            wanted[tag] += 1
    yield from _missing(wanted, told)


def _unknown(elements: list[Any], report: Any) -> list[str]:
    """Return the tags that no format knows and no entry names, unless they are inside something listed as a whole."""
    kinds = " ".join(entry.kind for entry in report)
    twice = {entry.kind.split()[-1].strip("<>") for entry in report if "more than once" in entry.reason}
    outside = _DRAWN | _FOREIGN | twice
    return [
        f"<{local(element.tag)}> under {'/'.join(above)}"
        for tag, above, element in elements
        if local(element.tag) not in _KNOWN | _DRAWN
        and not outside & set(above)
        and not any(part not in _KNOWN or f"<{part}>" in kinds for part in above)
        and local(element.tag) not in kinds
    ]


def _loops(case: Case, mechanism: Any, elements: list[Any]) -> list[str]:
    """Count the loops and pairs of the YAML file, under every key of that name, against the entries of loops.

    The loops of the URDF file itself have entries of the same kind, and are counted with them.
    """
    try:
        node = yaml.compose(case.files[case.loops].decode(), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeError, RecursionError):
        try:
            node = yaml.compose(case.files[case.loops], Loader=yaml.SafeLoader)
        except (yaml.YAMLError, UnicodeError):
            return []
    lists = []
    if isinstance(node, yaml.SequenceNode):
        lists = [node]
    elif isinstance(node, yaml.MappingNode):
        lists = [value for key, value in node.value if key.value in ("loops", "closed_loop")]
    wanted = sum(len(value.value) for value in lists if isinstance(value, yaml.SequenceNode))
    wanted += sum(element.tag == "loop" and above == ("robot",) for _, above, element in elements)
    told = sum(entry.kind.startswith("loop ") for entry in mechanism.report)
    return [f"{wanted} loops in {case.loops}, {told} told"] if told < wanted else []
