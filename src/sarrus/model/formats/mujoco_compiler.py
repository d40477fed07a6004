"""MuJoCo's compiler, extended to massless bodies, impossible inertias, and unreadable files for drawing.

MuJoCo refuses moving bodies without mass, impossible inertias, and meshes, height fields and textures that it cannot
read, although only an inertia computed from a mesh needs them. Such elements are compiled with a placeholder;
`Compiled.inertia_of` returns the inertia of the file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError, ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.model_text import file_fault
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.pose import rotation_of_quaternion
from sarrus.model.mechanism.report import ImportReport

_TETRAHEDRON = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
# Fragments of MuJoCo's messages about a refused inertia.
_INERTIA = (
    "mass and inertia of moving bodies",
    "inertia must have positive eigenvalues",
    "A + B >= C",
    "mass cannot be",
)
_OPENING = re.compile(r"[Ee]rror opening file '([^']*)'")
_ELEMENT = re.compile(r"Element name '(.*)', id (\d+)")
_DECODER = re.compile(r"\w+_decoder: .*texture coordinate")
_HANDLER = Lock()  # MuJoCo has one warning handler for all threads
# Attributes of which the values are free text, no names or keywords.
_FREE_TEXT = ("file", "filename", "data")
_TRIANGLES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


@dataclass
class Compiled:
    """A compiled ``mjModel`` and the placeholders that its compilation needed.

    ``name`` is the name in the file, or empty. ``given`` maps body ids to the mass and the inertia (in inertial axes)
    of the file that MuJoCo refused; ``undrawn`` holds the ids of geoms whose mesh or height field could not be read.
    """

    model: Any
    name: str = ""
    given: dict[int, tuple[float, Array]] = field(default_factory=dict)
    undrawn: frozenset[int] = frozenset()

    def inertia_of(self, body: int) -> tuple[float, Array, Array]:
        """Return mass [kg], centre of mass [m] and inertia about it [kg m²] in body axes, as given in the file."""
        m = self.model
        rotation = rotation_of_quaternion(m.body_iquat[body])
        mass, inertia = self.given.get(body, (float(m.body_mass[body]), np.diag(m.body_inertia[body])))
        return mass, m.body_ipos[body].copy(), rotation @ inertia @ rotation.T


def refuse_formats(path: Path, root: Element) -> None:
    """Raise for a percent sign in an attribute: MuJoCo's parser uses some attributes as message format and crashes."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if "%" in value and key not in _FREE_TEXT:
                label = f"<{element.tag}>"
                raise ModelFileError(
                    f"{path}: {label} has a percent sign in {key!r}: {value!r}; MuJoCo's parser takes it for a "
                    "format, so write it without",
                    element=label,
                )


@contextmanager
def warnings_in(report: ImportReport, path: Path) -> Iterator[None]:
    """Within the block, list MuJoCo's warnings in the report instead of the terminal and the file MUJOCO_LOG.TXT."""
    with _HANDLER:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: report.leave_out("MuJoCo", path.name, message_of(text)))
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(before)


def message_of(error: Exception | Warning | str) -> str:
    """Return MuJoCo's error message on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(line for line in lines if not line.startswith("The static bodies of the spec"))


def compile_spec(make: Callable[[], Any], load: Import) -> Compiled:
    """Compile the ``MjSpec`` returned by ``make``; errors of MuJoCo become `ModelFileError` with one line.

    A spec on which MuJoCo stopped within a mesh cannot be compiled again (it frees memory twice): a new one is made,
    with the placeholders found so far.
    """
    path, report = load.path, load.report
    repairs, messages = _Repairs(_parsed(make, path, report)), list[str]()
    while True:
        said, spec = ImportReport(), repairs.spec
        try:
            with warnings.catch_warnings(record=True) as caught, warnings_in(said, path):
                warnings.simplefilter("always")
                model = spec.compile()
            if repairs.given and spec.compiler.settotalmass > 0.0:
                raise _scaled(path)
            report.entries += said.entries
            for warning in caught:
                _list_warning(report, path, message_of(warning.message))
            undrawn = frozenset(geom.id for geom in repairs.undrawn)
            name = "" if spec.modelname == "MuJoCo Model" else spec.modelname
            return Compiled(model, name, repairs.given, undrawn)
        except ModelFileError:
            raise
        except Exception as error:  # ValueError, and for some files FatalError of MuJoCo
            message = message_of(error)
        messages.append(message)
        known = messages[-1:]
        if not _OPENING.search(message) and not any(sign in message for sign in _INERTIA):
            repairs, known = _Repairs(_parsed(make, path, ImportReport())), messages
        for earlier in known:
            repair = repairs.repair(earlier, load)
            if repair is None:
                raise file_fault(path, f"MuJoCo: {message}")
        if repair:
            report.set_aside(*repair)


def _list_warning(report: ImportReport, path: Path, message: str) -> None:
    """List a warning of MuJoCo's compiler; a warning of a mesh decoder concerns drawing only."""
    if _DECODER.match(message):
        report.set_aside("mesh", path.name, message)
    else:
        report.leave_out("MuJoCo", path.name, message)


def _scaled(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path}: settotalmass cannot be applied beside bodies without mass or with an inertia that no body can have; "
        "write the masses out",
        element="settotalmass",
    )


def _parsed(make: Callable[[], Any], path: Path, report: ImportReport) -> Any:
    try:
        with warnings_in(report, path):
            return make()
    except Exception as error:  # ValueError, and for some files FatalError of MuJoCo
        raise file_fault(path, f"MuJoCo: {message_of(error)}") from None


class _Repairs:
    """A spec and the placeholders added to it; see `Compiled`."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.given: dict[int, tuple[float, Array]] = {}
        self.undrawn: list[Any] = []
        self._users = _users_of_assets(spec)
        self._meshes = {mesh.name or Path(mesh.file).stem: (mesh.file, mesh) for mesh in spec.meshes}

    def repair(self, message: str, load: Import) -> tuple[str, ...] | None:
        """Add a placeholder where MuJoCo stopped; return its report entry, () without one, None for no repair."""
        if any(sign in message for sign in _INERTIA):
            return self._set_inertia_aside(message)
        return self._set_asset_aside(message, load)

    def _set_inertia_aside(self, message: str) -> tuple[str, ...] | None:
        """Replace the refused inertia of a body by a placeholder; None if no body of the message has a new one."""
        found, bodies = _ELEMENT.search(message), self.spec.bodies
        if found is None or int(found.group(2)) >= len(bodies):
            return None
        name, index = found.group(1), int(found.group(2))
        body = next((b for b in bodies if name and b.name == name), bodies[index])
        if index in self.given:
            return None
        mass, inertia = 0.0, np.zeros((3, 3))
        if body.explicitinertial:
            mass, full = float(body.mass), np.array(body.fullinertia, dtype=float)
            if np.isnan(full[0]):
                inertia = np.diag(np.array(body.inertia, dtype=float))
            else:
                xx, yy, zz, xy, xz, yz = full
                inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
                body.fullinertia, body.iquat = np.full(6, np.nan), [1.0, 0.0, 0.0, 0.0]
        else:
            body.explicitinertial, body.ipos = True, np.zeros(3)
        if not np.all(np.isfinite([mass, *inertia.flat])):
            raise ModelError(f"body {name!r}: inertia must be finite, got {inertia.tolist()}", element=name)
        body.mass, body.inertia = 1.0, np.ones(3)
        self.given[index] = mass, inertia
        return ()

    def _set_asset_aside(self, message: str, load: Import) -> tuple[str, ...] | None:
        """Replace an asset that MuJoCo cannot read by a placeholder, if it is needed for drawing only."""
        opened, named = _OPENING.search(message), _ELEMENT.search(message)
        file, name = opened.group(1) if opened else "", named.group(1) if named else ""
        reason = (
            f"file {file!r} not found"
            if file
            else message.partition("; Element name")[0].removeprefix("Error: ")
        )

        def at_fault(label: str, *files: str) -> bool:
            return any(f and file.endswith(f) for f in files) if file else bool(name) and label == name

        if not file and not name and "mesh" in message:  # MuJoCo's message does not name the mesh
            name = next(filter(self._unreadable, self._meshes), "")
        for texture in self.spec.textures:
            files = (texture.file, *texture.cubefiles)
            if any(files) and at_fault(texture.name, *files):
                texture.file, texture.cubefiles = "", [""] * 6
                texture.builtin, texture.width, texture.height = 1, 1, 1
                return "texture", texture.name or file, f"{reason}; drawing only"
        for field_ in self.spec.hfields:
            if field_.file and at_fault(field_.name, field_.file):
                self.undrawn += [geom for geom, _ in self._users.get(field_.name, ())]
                field_.file, field_.nrow, field_.ncol, field_.userdata = "", 2, 2, np.zeros(4)
                return "hfield", field_.name or file, f"{reason}; drawing and contact only"
        for skin in self.spec.skins:
            if at_fault(skin.name, skin.file):
                label = skin.name or file
                self.spec.delete(skin)
                return "skin", label, f"{reason}; drawing only"
        for label, (own, mesh) in self._meshes.items():
            if not at_fault(label, own):
                continue
            del self._meshes[label]
            for geom, body in self._users.get(label, ()):
                if body:
                    raise ModelFileError(
                        f"{load.path}: mesh {label!r}: {reason}, and the inertia of body {body!r} would be computed "
                        "from it. Provide the file, or give the body an <inertial> element",
                        element=body,
                    )
                self.undrawn.append(geom)
            mesh.name, mesh.file, mesh.uservert, mesh.userface = label, "", _TETRAHEDRON, _TRIANGLES
            return "mesh", label, f"{reason}; drawing and contact only"
        return None

    def _unreadable(self, label: str) -> bool:
        """Return whether a mesh with a file fails to compile alone."""
        file, mesh = self._meshes[label]
        alone = mujoco.MjSpec()
        alone.modelfiledir, alone.meshdir = self.spec.modelfiledir, self.spec.meshdir
        alone.add_mesh(name=label, file=file, scale=mesh.scale)
        alone.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=label)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                alone.compile()
        except Exception:  # ValueError, and for some files FatalError of MuJoCo
            return bool(file)
        return False


def _users_of_assets(spec: Any) -> dict[str, list[tuple[Any, str]]]:
    """Return mesh or height field → its geoms, each with its body's name if the body's inertia is computed from it."""
    users: dict[str, list[tuple[Any, str]]] = {}
    mode, modes = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    for body in spec.bodies:
        given = body.explicitinertial if mode == modes.mjINERTIAFROMGEOM_AUTO else False
        weighed = body.name != WORLD and mode != modes.mjINERTIAFROMGEOM_FALSE and not given
        for geom in body.geoms:
            asset = geom.meshname or geom.hfieldname
            if asset:
                weighs = weighed and geom.mass != 0.0 and geom.density != 0.0
                users.setdefault(asset, []).append((geom, body.name if weighs else ""))
    return users
