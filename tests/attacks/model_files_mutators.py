"""What is done to a model file: each mutator takes a case and a random generator, and returns a broken case."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np
from model_files_seeds import Case

Random = np.random.Generator
Mutator = Callable[[Case, Random], Case]

JOINING = ("joint", "freejoint", "loop", "coupling", "mimic", "equality", "connect", "weld", "axis", "parent")
_ODD_NUMBERS = (
    "1e308 -1e308 1e200 1e-320 0 -0 -1 nan -nan NaN(1) inf -inf 0x10 1_000 1e999 1,5 ١ 1e 1d3 ... 99999999999"
)
_NUMBERS = _ODD_NUMBERS.split()
_NAMES = (
    "",
    " ",
    "a/b",
    "a::b",
    "::",
    "world",
    "__model__",
    "<a>",
    "\"a\" 'b'",
    "a\nb\tc",
    "\x7f\x85\u2028",
    "ä€𝄞",
    "../../etc/passwd",
    "%s%n{0}",
    "x" * 5000,
    "a" + "\u0301" * 200,
    "None",
    "0",
)
_TAGS = (
    "joints",
    "Jiont",
    "point",
    "loops",
    "x",
    "link",
    "body",
    "gazebo",
    "custom",
    "plugin",
    "x:joint",
    "ÄÖ",
    "mimick",
)
_ENCODINGS = (
    ("utf-16", "utf-16"),
    ("utf-16-le", "utf-16"),
    ("utf-32", "utf-32"),
    ("utf-8-sig", "utf-8"),
    ("latin-1", ""),
    ("latin-1", "iso-8859-1"),
    ("utf-8", "utf-16"),
    ("utf-8", "ascii"),
    ("utf-8", "iso-8859-1"),
    ("utf-8", "nonsense"),
    ("cp1252", "windows-1252"),
    ("utf-7", "utf-7"),
    ("utf-8", "idna"),
    ("cp037", "cp037"),
    ("utf-8", "hex"),
)


def pick(items: Any, random: Random) -> Any:
    """Return one of several."""
    return items[int(random.integers(len(items)))]


def _tree(case: Case) -> ElementTree.Element:
    return ElementTree.fromstring(case.content)


def _done(case: Case, root: ElementTree.Element) -> Case:
    return case.having(ElementTree.tostring(root, encoding="unicode").encode())


def _element(root: ElementTree.Element, random: Random) -> tuple[ElementTree.Element, ElementTree.Element]:
    """Return a parent and one of its children; every second time one that joins bodies."""
    pairs = [(parent, child) for parent in root.iter() for child in parent]
    joining = [pair for pair in pairs if pair[1].tag in JOINING]
    return pick(joining if joining and random.random() < 0.5 else pairs, random)


def moved(case: Case, random: Random) -> Case:
    """An element hangs under another one."""
    root = _tree(case)
    parent, child = _element(root, random)
    inside = set(child.iter())
    places = [element for element in root.iter() if element not in inside]
    parent.remove(child)
    place = pick(places, random)
    place.insert(int(random.integers(len(place) + 1)), child)
    return _done(case, root)


def doubled(case: Case, random: Random) -> Case:
    """An element stands twice: beside itself, or under another one; its name may be new."""
    root = _tree(case)
    parent, child = _element(root, random)
    twin = copy.deepcopy(child)
    if random.random() < 0.5 and twin.get("name"):
        twin.set("name", twin.get("name", "") + "_2")
    (parent if random.random() < 0.5 else pick(list(root.iter()), random)).append(twin)
    return _done(case, root)


def removed(case: Case, random: Random) -> Case:
    """An element is missing, with or without what it holds."""
    root = _tree(case)
    parent, child = _element(root, random)
    place = list(parent).index(child)
    parent.remove(child)
    if random.random() < 0.4:
        for inner in reversed(list(child)):
            parent.insert(place, inner)
    return _done(case, root)


def renamed(case: Case, random: Random) -> Case:
    """An element has another tag: in other letters, misspelt, of another element or another format."""
    root = _tree(case)
    _, child = _element(root, random)
    way, tag = int(random.integers(5)), child.tag
    letter = int(random.integers(len(tag)))
    child.tag = (
        tag.capitalize(),
        tag.upper(),
        tag[:letter] + pick("abcxyz_1", random) + tag[letter + 1 :],
        pick([element.tag for element in root.iter()], random),
        pick([t for t in _TAGS if ":" not in t], random),
    )[way]
    if not re.match(r"[A-Za-z_]", child.tag):
        child.tag = "_" + child.tag
    if random.random() < 0.1:
        child.tag = "{http://example.org/x}" + child.tag
    return _done(case, root)


def attribute_lost(case: Case, random: Random) -> Case:
    """An attribute is missing, or its name is another or in other letters; or an element has lost its text."""
    root = _tree(case)
    holders = [element for element in root.iter() if element.attrib]
    element = pick(holders, random)
    key = pick(list(element.attrib), random)
    value = element.attrib.pop(key)
    way = int(random.integers(4))
    if way == 1:
        element.set(key.upper(), value)
    elif way == 2:
        element.set(key + "x", value)
    elif way == 3:
        element.set(key, "")
    if random.random() < 0.2:
        pick(list(root.iter()), random).text = None
    return _done(case, root)


def _values(root: ElementTree.Element, numeric: bool) -> list[tuple[ElementTree.Element, str]]:
    """Return (element, attribute) of all values, "" for an element's text."""
    found = []
    for element in root.iter():
        values = [*element.attrib.items(), ("", (element.text or "").strip())]
        found += [
            (element, key) for key, value in values if value and bool(re.match(r"[-+.\d]", value)) == numeric
        ]
    return found


def _set(element: ElementTree.Element, key: str, value: str) -> None:
    if key:
        element.set(key, value)
    else:
        element.text = value


def number_garbled(case: Case, random: Random) -> Case:
    """A number is huge, tiny, infinite, NaN, hexadecimal, no number, missing or one too many."""
    root = _tree(case)
    element, key = pick(_values(root, numeric=True), random)
    words = (element.get(key, "") if key else element.text or "").split()
    way, place = random.random(), int(random.integers(len(words)))
    if way < 0.75:
        words[place] = pick(_NUMBERS, random)
    elif way < 0.85:
        words.pop(place)
    elif way < 0.95:
        words.append("1")
    else:
        words = ["1"] * 3000
    _set(element, key, " ".join(words))
    return _done(case, root)


def text_garbled(case: Case, random: Random) -> Case:
    """A name, a reference, a type or a truth value is another: taken, empty, with odd letters, very long."""
    root = _tree(case)
    values = _values(root, numeric=False)
    element, key = pick(values, random)
    other, other_key = pick(values, random)
    taken = (other.get(other_key, "") if other_key else other.text or "").strip()
    value = pick(_NAMES, random) if random.random() < 0.6 else taken
    _set(element, key, value)
    return _done(case, root)


def truncated(case: Case, random: Random) -> Case:
    """The file ends too early."""
    return case.having(case.content[: int(random.integers(len(case.content)))])


def bytes_garbled(case: Case, random: Random) -> Case:
    """Bits are flipped, bytes are lost, or odd ones stand between."""
    content = bytearray(case.content)
    for _ in range(int(random.integers(1, 5))):
        place, way = int(random.integers(len(content))), int(random.integers(4))
        if way == 0:
            content[place] ^= 1 << int(random.integers(8))
        elif way == 1:
            del content[place : place + int(random.integers(1, 30))]
        elif way == 2:
            content[place:place] = pick(
                (b"\0", b"\xff", b"\xc3", b"<", b">", b"&", b'"', b"\x1b", b"&#0;"), random
            )
        else:
            content[place] = int(random.integers(256))
        if not content:
            break
    return case.having(bytes(content))


def encoded(case: Case, random: Random) -> Case:
    """The file is in another encoding, or says so; some of its letters are not ASCII."""
    encoding, declared = pick(_ENCODINGS, random)
    text = case.content.decode()
    if text.startswith("<?xml"):
        text = text.partition("?>")[2].lstrip()
    if random.random() < 0.5:
        text = re.sub(r'name="(\w)', r'name="ü\1', text, count=1)
    header = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    content = (header + text).encode(encoding, "replace")
    return case.having(content)


def deep(case: Case, random: Random) -> Case:
    """Elements are nested too deep, or each refers to the next in a long chain."""
    root = _tree(case)
    _, child = _element(root, random)
    depth = int(pick((60, 200, 390, 450, 1000, 5000), random))
    tag = pick((child.tag, "x", "model", "body", "link", "joint"), random)
    if random.random() < 0.3 and case.suffix == ".sdf":
        chain = "".join(
            f'<frame name="f{i}" attached_to="f{i + 1}"><pose relative_to="f{i + 1}"/></frame>'
            for i in range(depth)
        )
        holder = next(root.iter("model"))
        holder.extend(ElementTree.fromstring(f'<x>{chain}<frame name="f{depth}"/></x>'))
        return _done(case, root)
    marked = ElementTree.SubElement(child, "MARK")
    marked.tail = None
    text = ElementTree.tostring(root, encoding="unicode")
    nested = "".join(f'<{tag} name="n{i}">' for i in range(depth)) + f"</{tag}>" * depth
    return case.having(text.replace("<MARK />", nested).encode())


def stacked(case: Case, random: Random) -> Case:
    """Two to four of the changes to elements and values after each other."""
    ways = (moved, doubled, removed, renamed, attribute_lost, number_garbled, text_garbled)
    for _ in range(int(random.integers(2, 5))):
        if len(_tree(case)):
            case = pick(ways, random)(case, random)
    return case


def included(case: Case, random: Random) -> Case:
    """Files include or attach themselves, each other, nothing, or twice as many with every file."""
    way, count = int(random.integers(7)), int(random.integers(2, 30))
    target = lambda i: f"p{(i + 1) % count}{case.suffix}" if way < 2 else f"p{i + 1}{case.suffix}"  # noqa: E731
    folder = {0: "", 1: "./", 2: "../", 3: "/dev/", 4: "x" * 300, 5: "", 6: ""}[way]
    twice = 2 if way >= 5 else 1
    files = {}
    for i in range(count):
        uri = folder + target(i)
        if case.suffix == ".sdf":
            links = "".join(f"<include><uri>{uri}</uri><name>i{k}</name></include>" for k in range(twice))
            last = i == count - 1 and way >= 5
            inner = '<link name="a"/>' if last else links
            text = f'<sdf version="1.9"><model name="m{i}">{inner}</model></sdf>'
        elif random.random() < 0.5:
            links = "".join(f'<include file="{uri}"/>' for _ in range(twice))
            text = f"<mujoco><worldbody>{links}</worldbody></mujoco>"
        else:
            links = "".join(f'<model name="a{k}" file="{uri}"/>' for k in range(twice))
            attach = "".join(f'<attach model="a{k}" body="b" prefix="p{k}"/>' for k in range(twice))
            text = (
                f'<mujoco><asset>{links}</asset><worldbody><body name="b"><joint/><geom size="1"/></body>{attach}'
                "</worldbody></mujoco>"
            )
        files[f"p{i}{case.suffix}"] = text.encode()
    return Case(f"p0{case.suffix}", files)


def sized(case: Case, random: Random) -> Case:
    """A small MJCF file asks for copies, cells or memory without end."""
    count = pick((0, -1, 3, 1e5, 1e9, 2e18), random)
    text = pick(
        (
            '<worldbody><replicate count="{}"><body><joint/><geom size="1"/></body></replicate></worldbody>',
            '<worldbody><replicate count="100"><replicate count="{}"><geom size="1"/></replicate></replicate>'
            "</worldbody>",
            '<worldbody><body><flexcomp name="f" type="grid" count="{} 3 3" spacing="1 1 1" dim="3"/></body>'
            "</worldbody>",
            '<size nkey="{}"/><worldbody/>',
            '<size nuser_body="{}"/><worldbody/>',
            '<asset><hfield name="h" nrow="{0}" ncol="{0}" size="1 1 1 1"/></asset><worldbody/>',
            '<asset><texture name="t" type="2d" builtin="flat" width="{0}" height="{0}"/></asset><worldbody/>',
            '<custom><numeric name="n" size="{}"/></custom><worldbody/>',
        ),
        random,
    ).format(int(count))
    return Case("sized.xml", {"sized.xml": f"<mujoco>{text}</mujoco>".encode()})


_YAML_LINES = (
    "loops: []",
    "motors: []",
    "closed_loop: []",
    "loops: &a [*a]",
    "<<: {loops: []}",
    "joint_name: [ja, ja]",
    "joint_type: [FIXED, SPHERICAL]",
    "? [1, 2]\n: 3",
    "!!python/object/apply:os.system ['true']",
    "loops: !!binary x",
    "motors: [2024-13-45]",
    "motors: [2024-01-01]",
    "name_mot: ['', ~, 1e999]",
    "motors: !!int abc",
    "loops: !!timestamp abc",
    "- " * 3000,
    "[" * 3000,
    "{a: " * 500,
    "a: &x [1]\nb: *x",
    "--- 1\n--- 2",
    "\x00",
    "\ufeff",
    "\t- x",
    "closed_loop: [[a, [b]], {c: d}]",
)


def loops_garbled(case: Case, random: Random) -> Case:
    """The YAML file of the loops has lines twice, lost or foreign, and words and bytes that do not belong there."""
    content = case.files[case.loops]
    for _ in range(int(random.integers(1, 4))):
        lines, way = content.decode("utf-8", "surrogateescape").split("\n"), int(random.integers(8))
        place = int(random.integers(len(lines)))
        if way == 0:
            lines.insert(int(random.integers(len(lines))), lines[place])
        elif way == 1:
            lines.pop(place)
        elif way == 2:
            lines.insert(place, pick(_YAML_LINES, random))
        elif way == 3:
            words = re.split(r"([\w.]+)", lines[place])
            words[min(1, len(words) - 1)] = pick((*_NAMES, *_NUMBERS, "~", "[]", "{}", "yes"), random)
            lines[place] = "".join(words)
        elif way == 4:
            lines[place] = re.sub(r"[\d.]+", pick(_NUMBERS, random), lines[place], count=1)
        elif way == 5:
            lines = lines + lines
        content = "\n".join(lines).encode("utf-8", "surrogateescape")
        if way == 6 and content:
            content = bytes_garbled(Case("x", {"x": content}), random).content
        elif way == 7:
            content = content.decode("utf-8", "replace").encode(
                pick(("utf-16", "utf-32", "latin-1", "cp037"), random), "replace"
            )
    return case.having(content, case.loops)
