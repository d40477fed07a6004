"""Frames of SDF's worlds and models, nested and included ones too, as `Scope` objects."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from sarrus.base.errors import ModelError, ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.frames import Frame, Scope
from sarrus.model.formats.sdf.grammar import list_unread
from sarrus.model.formats.sdf.xml import Version

# Largest number and depth of includes: the number of included models can double with every file.
MAX_INCLUDES = 500
MAX_INCLUDE_DEPTH = 20


def read_world(world: Element, version: Version, importing: Import) -> Scope:
    """Return the scope of a ``<world>`` with all nested scopes."""
    file = importing.path.resolve()
    scope = Scope(world, (), version, file)
    _read(scope, importing, (file,))
    return scope


def _read(scope: Scope, importing: Import, open_files: tuple[Path, ...]) -> None:
    for child in scope.element:
        if child.tag in ("link", "joint", "frame"):
            scope.add(_frame(scope, child))
        elif child.tag == "model":
            _read(_nest(scope, child, child, scope.version, scope.source), importing, open_files)
        elif child.tag == "include":
            _include(scope, child, importing, open_files)


def _frame(scope: Scope, element: Element) -> Frame:
    name = xml.name_of(element, scope.label)
    label = f"{element.tag} {scope.full(name)!r}"
    attached = {
        "link": "",
        "joint": xml.text(element, "child"),
        "frame": element.get("attached_to", "").strip(),
    }[element.tag]
    return Frame(element.tag, name, xml.pose_of(element, label), xml.relative_to(element), attached, element)


def _nest(
    scope: Scope, placed: Element, model: Element, version: Version, source: Path, *, merged: bool = False
) -> Scope:
    """Add a model to a scope; ``placed``, the model or its include, has the valid name and pose.

    A ``merged`` one has the name of its proxy frame in libsdformat, and the path of the scope.
    """
    included = placed is not model
    name = (xml.text(placed, "name") if included else "") or xml.name_of(model, scope.label)
    name = f"_merged__{name}__model__" if merged else name
    label = f"model {scope.full(name)!r}"
    posed = placed if placed.find("pose") is not None else model
    scope.add(Frame("model", name, xml.pose_of(posed, label), xml.relative_to(posed), "", placed))
    alone = scope.is_world and _holds_one_model(scope.element)
    path = scope.path if alone or merged else (*scope.path, name)
    inner = Scope(model, path, version, source, scope, name)
    if included:
        inner.placement_frame = xml.text(placed, "placement_frame", inner.placement_frame)
        static = "false" if merged else xml.text(placed, "static")
        inner.static = xml.flag(static, f"{label}: <static>") or scope.static if static else inner.static
    scope.nested[name] = inner
    return inner


def _holds_one_model(world: Element) -> bool:
    return len(world.findall("model")) + len(world.findall("include")) == 1


def _include(scope: Scope, element: Element, importing: Import, open_files: tuple[Path, ...]) -> None:
    uri = xml.text(element, "uri")
    if not uri:
        raise ModelError(f"{scope.label}: <include> needs a <uri>", element=scope.name)
    merged = xml.flag(element.get("merge", "false"), f"include {uri!r}: merge")
    try:
        file = xml.model_file(uri, scope.source.parent).resolve()
    except ModelFileError as error:
        if importing.strict is not False:
            raise
        importing.report.leave_out("include", uri, str(error))
        return
    if file in open_files:
        raise ModelError(f"include {uri!r}: the file includes itself", element=uri)
    _within_bounds(importing, uri, len(open_files))
    root, version = xml.read_root(importing, file)
    list_unread(importing, root)
    models = root.findall("model")
    if len(models) != 1:
        raise ModelFileError(
            f"{file}: a file that is included holds exactly one <model>, found {len(models)}", element=uri
        )
    if merged and scope.is_world and models[0].find("link") is not None:
        remedy = "include it without merge and name its elements as model::element"
        importing.refuse("include", uri, "merged into a world, which holds no links", remedy)
        return
    name = models[0].get("name", "")
    importing.report.act("include", uri, f"model {name!r}" + (", merged" if merged else ""))
    inner = _nest(scope, element, models[0], version, file, merged=merged)
    _read(inner, importing, (*open_files, file))
    if merged:
        scope.absorb(inner)


def _within_bounds(importing: Import, uri: str, depth: int) -> None:
    """Raise unless one more include is within both bounds."""
    number = 1 + sum(entry.kind == "include" for entry in importing.report)
    for count, bound, what in (
        (number, MAX_INCLUDES, "includes in all"),
        (depth, MAX_INCLUDE_DEPTH, "files that include each other"),
    ):
        if count > bound:
            raise ModelFileError(
                f"{importing.path}: include {uri!r}: more than {bound} {what}; write the models out or "
                "include fewer",
                element=uri,
            )
