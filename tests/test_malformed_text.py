"""Any text for the parsers: what the standard parser reads is read alike, the rest is one clear error."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.loop_yaml import read_yaml
from sarrus.model.formats.model_xml import parse_xml, real

MODELS = Path(__file__).resolve().parent.parent / "models"
XML = (MODELS / "five_bar.xml").read_text(encoding="utf-8")[:600]
LOOPS = """
# a comment
loops:
  - {name: pin, kind: revolute, frame1: left, frame2: right, axis: [0, 0, 1.5e-3]}
  - name: "two"
    kind: point
passive: [a, b]
"""
PIECES = st.sampled_from(
    ['"', "'", "<", ">", "/>", "&", "--", "]]>", "\x00", "\t", ": ", "- ", "{", "]", "nan", "é"]
)


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """Draw a text with up to four spans cut, doubled, or replaced by something short."""
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(begin + draw(st.integers(0, 12)), len(text))
        piece = draw(st.one_of(PIECES, st.just(2 * text[begin:end]), st.just("")))
        text = text[:begin] + piece + text[end:]
    return text


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "model.xml"


def parsed(parse: Callable[[Path], Any], file: Path, text: str) -> Any:
    """Return what is read, or the error, which is one line that begins with the file."""
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        return parse(file)
    except ModelFileError as error:
        refused = error
    assert str(refused).startswith(f"{file}: ")
    assert "\n" not in str(refused)
    return refused


def alike(one: ElementTree.Element, other: ElementTree.Element) -> bool:
    same = (one.tag, one.attrib, one.text, one.tail) == (other.tag, other.attrib, other.text, other.tail)
    return same and len(one) == len(other) and all(map(alike, one, other))


@given(text=st.one_of(damaged(XML), st.text(max_size=40)))
def test_xml(file: Path, text: str) -> None:
    """Refused beside what is no XML: NaN and entities; read beside what is XML: what TinyXML passes over."""
    found = parsed(parse_xml, file, text)
    try:
        expected = ElementTree.fromstring(file.read_bytes())
    except (ElementTree.ParseError, ValueError, LookupError):
        assert isinstance(found, ModelFileError | ElementTree.Element)
        return
    if isinstance(found, ModelFileError):
        assert "nan" in text.lower() or "<!ENTITY" in text, found
    else:
        assert alike(found, expected)


@given(text=st.one_of(damaged(LOOPS), st.text(max_size=40)))
def test_yaml(file: Path, text: str) -> None:
    """What is read is what the safe loader reads; refused is more: anchors, keys given twice, dates, sets."""
    found = parsed(read_yaml, file, text)
    try:
        expected = yaml.safe_load(file.read_bytes())
    except (yaml.YAMLError, ValueError):
        assert isinstance(found, ModelFileError)
        return
    if not isinstance(found, ModelFileError):
        assert repr(found) == repr(expected)


@given(st.one_of(st.floats().map(repr), st.text("0123456789+-._eE infaxX", max_size=8), st.text(max_size=5)))
def test_numbers(text: str) -> None:
    """A number is what Python reads too, but for its underscores, other scripts' digits and NaN."""
    try:
        value = real(text)
    except ValueError:
        assert not text.isascii() or "_" in text or "n" in text.lower() or not _is_number(text)
    else:
        assert value == float(text)
        assert not math.isnan(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
