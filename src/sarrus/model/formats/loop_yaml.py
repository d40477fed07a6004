"""YAML of loop files as plain data: no duplicate keys, anchors, objects or deep nesting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.model_text import file_fault, read_text

MAX_DEPTH = 20
_SCALARS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file as lists, mappings with text keys, numbers, text, booleans and None.

    Malformed YAML, nesting deeper than `MAX_DEPTH`, an anchor or alias, a duplicate key and a value of another type
    raise `ModelFileError`, which names the file and the line.
    """
    text = read_text(path)
    try:
        _check_events(path, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _value(path, node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not readable"
        raise file_fault(path, f"malformed YAML{where}: {problem}") from None


def _check_events(path: Path, text: str) -> None:
    """Raise for excessive depth, anchors and aliases, before the document is composed in memory."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            raise _error(path, event, f"anchor or alias {anchor!r}: write the value out")
        if depth > MAX_DEPTH:
            raise _error(path, event, f"nested {depth} deep; at most {MAX_DEPTH} levels are read")


def _value(path: Path, node: Any) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_value(path, item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        content: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _error(path, key, "a key must be text")
            if key.value in content:
                raise _error(path, key, f"the key {key.value!r} is given twice; a mapping has each key once")
            content[key.value] = _value(path, value)
        return content
    if node.tag not in _SCALARS:
        kind = node.tag.rpartition(":")[2]
        raise _error(path, node, f"{node.value!r} is read as {kind}; put text in quotes")
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (ValueError, KeyError, AttributeError, OverflowError):  # PyYAML: value against its tag
        kind = node.tag.rpartition(":")[2]
        raise _error(path, node, f"{node.value[:40]!r} is no {kind}") from None


def _error(path: Path, place: Any, problem: str) -> ModelFileError:
    mark = place.start_mark
    return ModelFileError(
        f"{path}: line {mark.line + 1}, column {mark.column + 1}: {problem}", element=str(path)
    )
