"""Shapes of a URDF file before compilation: mesh files are located, or their elements removed."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from math import isfinite
from pathlib import Path

from sarrus.model.formats.importing import Import
from sarrus.model.formats.model_xml import reals

# Shape → its attributes with numbers, and how many.
_SIZES = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "mesh": {"scale": 3},
}
_READABLE = (".stl", ".obj", ".msh")  # the mesh formats of MuJoCo's compiler


def prepare_geometry(load: Import, root: ElementTree.Element, mesh_folder: str) -> None:
    """Give every mesh its absolute path; remove and list the shapes that cannot be drawn."""
    lost: dict[tuple[str, str], int] = {}
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                kind, why = _prepare_shape(shape.find("geometry"), load.path.parent, mesh_folder)
                if why:
                    link.remove(shape)
                    entry = kind, f"{kind} {why}; drawing and contact only"
                    lost[entry] = lost.get(entry, 0) + 1
    for (kind, reason), count in lost.items():
        load.report.set_aside(kind, f"{count} shapes", reason)


def _prepare_shape(geometry: ElementTree.Element | None, folder: Path, mesh_folder: str) -> tuple[str, str]:
    """Return the kind of a shape, and the reason why it cannot be drawn ("" if it can); set the path of a mesh."""
    shape = next(iter(geometry), None) if geometry is not None else None
    if shape is None or shape.tag not in _SIZES:
        return "geometry", "is empty" if shape is None else f"<{shape.tag}> is none of URDF's"
    for key, count in _SIZES[shape.tag].items():
        numbers = reals(shape.get(key, "1 1 1" if key == "scale" else ""), count) or [0.0]
        sound = all(map(isfinite, numbers)) and 0.0 not in numbers
        if not sound or (key != "scale" and min(numbers) < 0.0):
            return shape.tag, f"has no size: {key}={shape.get(key, '')!r}"
    if shape.tag == "mesh":
        file = find_file(shape.get("filename", ""), folder, mesh_folder)
        if file is None or file.suffix.lower() not in _READABLE:
            return "mesh", "format not readable" if file is not None else "file not found"
        shape.set("filename", str(file))
    return shape.tag, ""


def find_file(given: str, folder: Path, mesh_folder: str = "") -> Path | None:
    """Return the file of a URDF file name, or None.

    ``package://name/rest`` is searched as ``name/rest`` and ``rest`` in the folder of the URDF file and
    in its parents; ``file://`` and relative names likewise, and in ``mesh_folder``.
    """
    scheme, found, rest = given.partition("://")
    if not found:
        rest = given
    tails = [rest.lstrip("/") if scheme == "package" else rest]
    if scheme == "package":
        tails.append(tails[0].partition("/")[2])
    folders = [folder, *((folder / mesh_folder,) if mesh_folder else ())]
    if scheme == "package":
        folders += list(folder.resolve().parents)[:4]
    for tail in filter(None, tails):
        for place in folders:
            candidate = place / tail
            if os.path.isfile(candidate):
                return candidate.resolve()
    return None
