"""The files of an MJCF model before MuJoCo reads them: bounds of includes and attached models, counts of elements.

MuJoCo's compiler follows a model that attaches itself until the stack overflows, makes any number of copies, and drops
equalities outside of attached bodies. The files are therefore read first, and their joints and equalities are compared
with the compiled model.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.model_text import decode, file_fault, is_pipe, read_bytes
from sarrus.model.formats.model_xml import label_of
from sarrus.model.formats.mujoco_compiler import refuse_formats

MAX_FILES = 500
MAX_ATTACH_DEPTH = 20
MAX_COPIES = 2000
MAX_SIZE = 10_000
MAX_GRID = 100_000_000
# Element → attributes whose product is a number of cells.
_GRIDS = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}
# Elements that generate bodies, and the number of elements for each body; joints in them are settings.
_GENERATED = {"composite": 2.0, "flexcomp": 4.0}
# Attributes of <compiler> that name folders.
_FOLDERS = ("meshdir", "texturedir", "assetdir")


@dataclass
class Sources:
    """Counts over the files of a model: joints under worldbody, equalities, and whether models are attached."""

    load: Import
    joints: int = 0
    equalities: int = 0
    attached: int = 0
    copies: float = 0.0
    files: list[Path] = field(default_factory=list)

    def fault(self, element: Element, what: str) -> ModelFileError:
        """Return the error about an element of a model."""
        name = element.get("name") or element.tag
        return ModelFileError(f"{self.load.path}: {label_of(element)}{what}", element=name)

    def read(self, file: Path, folder: Path, above: tuple[Path, ...] = ()) -> Element:
        """Return the root of one file of a model that is in ``folder``.

        Raises for an exceeded bound, for an encoding that MuJoCo would misread, and for a pipe.
        """
        if len(self.files) >= MAX_FILES:
            raise ModelFileError(
                f"{self.load.path}: holds more than {MAX_FILES} included and attached files",
                element=str(file),
            )
        if file in above or len(above) >= MAX_ATTACH_DEPTH:
            raise ModelFileError(
                f"{self.load.path}: the model file {file.name!r} is attached "
                + ("to itself" if file in above else f"more than {MAX_ATTACH_DEPTH} files deep"),
                element=file.name,
            )
        self.files.append(file)
        content = read_bytes(file)
        if decode(file, content) != content.decode("utf-8-sig", "replace"):
            raise file_fault(file, "MuJoCo reads MJCF as UTF-8 whatever it declares; save the file as UTF-8")
        root = self.load.parse(file)
        refuse_formats(file, root)
        _check_pipes(self, root, folder)
        return root

    def compare(self, model: Any) -> None:
        """Refuse equalities and joints that are in the files but not in the compiled model."""
        load = self.load
        if model.neq < self.equalities:
            count = f"{self.equalities - model.neq} of {self.equalities}"
            reason = "MuJoCo leaves them out when it attaches or copies bodies"
            load.refuse("equality", count, reason, "write them in the main file")
        if model.njnt < self.joints:
            count = f"{self.joints - model.njnt} of {self.joints}"
            reason = "not in the compiled model: MuJoCo attaches or copies none of the bodies that hold them"
            if self.attached:
                load.report.leave_out("joint", count, reason)
            else:
                load.refuse("joint", count, reason, "take the bodies out, or give replicate a positive count")


def survey_sources(load: Import) -> Sources:
    """Read a model with all included and attached files; raise `ModelFileError` for an exceeded bound."""
    sources = Sources(load)
    _walk(sources, load.path.resolve(), ())
    return sources


def _walk(sources: Sources, file: Path, above: tuple[Path, ...]) -> None:
    """Count one model: a file and its includes, each of which MuJoCo reads once."""
    folder = file.parent
    included: set[Path] = set()
    root = sources.read(file, folder, above)
    stack: list[tuple[Element, Path, str, float]] = [(root, folder, "", 1.0)]
    while stack:
        parent, here, section, copies = stack.pop()
        for element in parent:
            tag = element.tag
            inner, count = section, copies
            if tag == "include":
                part = _find(element, folder, here)
                if part is not None and part not in included:
                    included.add(part)
                    stack.append((sources.read(part, folder), part.parent, section, copies))
                continue
            if tag == "model" and section == "asset":
                part = _find(element, folder, here)
                if part is not None and part.suffix.lower() == ".xml":
                    sources.attached += 1
                    _walk(sources, part, (*above, file))
            elif tag == "default" or tag in _GENERATED:
                _check_size(sources, element)
                continue
            elif tag in ("worldbody", "equality", "asset"):
                inner = tag
            elif tag == "replicate":
                count = copies * max(_number(element, "count"), 0.0)
            _check_size(sources, element)
            if section == "equality":
                sources.equalities += 1
            elif section == "worldbody" and tag in ("joint", "freejoint"):
                sources.joints += 1
            if count > 1.0:
                _add_copies(sources, count, element)
            stack.append((element, here, inner, count))


def _check_pipes(sources: Sources, root: Element, folder: Path) -> None:
    """Raise if an element names a pipe as its file: MuJoCo would wait for it for ever."""
    folders = [compiler.get(key, "") for compiler in root.iter("compiler") for key in _FOLDERS]
    for element in root.iter():
        for key, name in element.attrib.items():
            if key.startswith("file") and any(is_pipe(folder / inner / name) for inner in ["", *folders]):
                raise sources.fault(element, f" names the pipe {name!r} as its {key}; give an ordinary file")


def _find(element: Element, folder: Path, here: Path) -> Path | None:
    """Return the file of an include or a model: in the folder of the main file, else of the file that names it."""
    for place in (folder, here):
        candidate = place / element.get("file", "")
        if os.path.isfile(candidate):
            return candidate.resolve()
    return None


def _number(element: Element, attribute: str) -> float:
    """Return a number or the product of several; text that is no number is left to MuJoCo."""
    try:
        return prod(map(float, element.get(attribute, "1").split()), start=1.0)
    except ValueError:
        return 1.0


def _add_copies(sources: Sources, count: float, element: Element) -> None:
    sources.copies += count
    if sources.copies > MAX_COPIES:
        made = f" makes {sources.copies:g} copies; at most {MAX_COPIES} elements are copied"
        raise sources.fault(element, made)


def _check_size(sources: Sources, element: Element) -> None:
    """Raise for an element that requires more memory or time than a mechanism needs."""
    if element.tag in _GENERATED:
        _add_copies(sources, _GENERATED[element.tag] * _number(element, "count"), element)
    sizes, bound = {}, MAX_SIZE
    if element.tag == "size":
        sizes = {key: _number(element, key) for key in element.attrib if key.startswith(("nkey", "nuser"))}
    elif element.tag in _GRIDS:
        rows, columns = _GRIDS[element.tag]
        sizes, bound = {f"{rows} × {columns}": _number(element, rows) * _number(element, columns)}, MAX_GRID
    for what, size in sizes.items():
        if size > bound:
            raise sources.fault(element, f": {what} is {size:g}; at most {bound:,} is read")
