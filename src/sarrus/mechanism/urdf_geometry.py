"""Shapes of a URDF file before compilation: mesh files are found, or their elements taken out."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from sarrus.errors import ModelFileError
from sarrus.mechanism.importing import Import
from sarrus.mechanism.model_text import is_file

_READABLE = (".stl", ".obj", ".msh")  # the mesh formats of MuJoCo's compiler


def prepare_geometry(load: Import, root: ElementTree.Element, mesh_folder: str) -> None:
    """Give every mesh its absolute path; take out the shapes whose file cannot be used.

    Missing files stop the import only where a link without <inertial> would get its inertia from them.
    """
    lost: dict[str, int] = {}
    for link in root.findall("link"):
        name = link.get("name", "")
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
                if tag == "collision" and link.find("inertial") is None:
                    _refuse_inertia(load, name, given)
                link.remove(shape)
                why = "format not readable" if file is not None else "file not found"
                reason = f"mesh {why}; drawing and contact only"
                lost[reason] = lost.get(reason, 0) + 1
        if link.find("inertial") is None and link.find("collision") is not None:
            load.report.leave_out(
                "link",
                name,
                "no <inertial>: mass and inertia are computed from its shapes at 1000 kg/m³, as MuJoCo does",
            )
    for reason, count in lost.items():
        load.report.set_aside("mesh", f"{count} shapes", reason)


def _refuse_inertia(load: Import, link: str, file: str) -> None:
    message = (
        f"{load.path}: link {link!r} has no <inertial>, and its inertia cannot be computed because mesh "
        f"{file!r} is not readable. Give the link an <inertial>, provide the mesh as STL or OBJ"
    )
    if load.strict:
        raise ModelFileError(message + ", or load with strict=False to leave the link massless", element=link)
    load.report.leave_out("link", link, "inertia from a missing mesh: massless")


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
