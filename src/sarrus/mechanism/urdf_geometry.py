"""Shapes of a URDF file before compilation: mesh files are found, or their elements taken out."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from sarrus.mechanism.importing import Import
from sarrus.mechanism.model_text import is_file

_READABLE = (".stl", ".obj", ".msh")  # the mesh formats of MuJoCo's compiler


def prepare_geometry(load: Import, root: ElementTree.Element, mesh_folder: str) -> None:
    """Give every mesh its absolute path; take out the shapes whose file is missing or of a kind that is not read."""
    lost: dict[str, int] = {}
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                mesh = shape.find("geometry/mesh")
                if mesh is None:
                    continue
                given = mesh.get("filename", "")
                file = find_file(given, load.path.parent, mesh_folder)
                if file is not None and file.suffix.lower() in _READABLE:
                    mesh.set("filename", str(file))
                    continue
                link.remove(shape)
                why = "format not readable" if file is not None else "file not found"
                reason = f"mesh {why}; drawing and contact only"
                lost[reason] = lost.get(reason, 0) + 1
    for reason, count in lost.items():
        load.report.set_aside("mesh", f"{count} shapes", reason)


def find_file(given: str, folder: Path, mesh_folder: str = "") -> Path | None:
    """Return the file of a URDF file name, or None.

    ``package://name/rest`` is searched as ``name/rest`` and ``rest`` in the folder of the URDF file and
    in those above it; ``file://`` and relative names likewise, and in ``mesh_folder``.
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
            if is_file(candidate):
                return candidate.resolve()
    return None
