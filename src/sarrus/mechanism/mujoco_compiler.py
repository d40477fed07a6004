"""MuJoCo's compiler, with two wishes granted: massless bodies, and meshes whose files are missing.

MuJoCo refuses moving bodies without mass or inertia, which are legal here, and files it cannot open, which
matter only where an inertia would be computed from them. Such bodies are compiled with a placeholder, and
`Compiled.inertia_of` takes the placeholder off again.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from sarrus.errors import ModelError, ModelFileError
from sarrus.mechanism.elements import WORLD
from sarrus.mechanism.pose import Array, rotation_of_quaternion
from sarrus.mechanism.report import ImportReport

_TETRAHEDRON = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
# what MuJoCo's messages say of bodies that are too light for it
_TOO_LIGHT = ("mass and inertia of moving bodies", "inertia must have positive eigenvalues")
_HANDLER = Lock()  # MuJoCo has one handler of warnings for all threads
# attributes that are no names or keywords
_FREE_TEXT = ("file", "filename", "data")
_TRIANGLES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


@dataclass
class Compiled:
    """A compiled ``mjModel`` and what was changed to compile it.

    ``added`` maps body ids to (mass, moment) placed on them; ``missing_meshes`` names meshes without file,
    ``mesh_folder`` is the model's meshdir.
    """

    model: Any
    added: dict[int, tuple[float, float]] = field(default_factory=dict)
    missing_meshes: frozenset[str] = frozenset()
    mesh_folder: str = ""

    def inertia_of(self, body: int) -> tuple[float, Array, Array]:
        """Return mass, centre of mass and inertia about it, in body axes, as the file means them."""
        m = self.model
        rotation = rotation_of_quaternion(m.body_iquat[body])
        mass, moments = float(m.body_mass[body]), m.body_inertia[body].copy()
        if body in self.added:
            extra_mass, extra_moment = self.added[body]
            mass -= extra_mass
            moments -= extra_moment
            moments[np.abs(moments) < 1e-12 * extra_moment] = 0.0
        return mass, m.body_ipos[body].copy(), (rotation * moments) @ rotation.T


def refuse_formats(path: Path, root: Element) -> None:
    """Raise for a percent sign in an attribute: MuJoCo's parser takes some for the format of a message, and crashes."""
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
    """List what MuJoCo warns of, which it would otherwise write to the terminal and to a file MUJOCO_LOG.TXT."""
    import mujoco

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


def compile_spec(spec: Any, path: Path, report: ImportReport) -> Compiled:
    """Compile an ``MjSpec``; MuJoCo's refusals become `ModelFileError` with its message on one line."""
    changed: dict[int, tuple[float, float]] = {}
    missing: set[str] = set()
    weighed = _weighed_by_mesh(spec)
    while True:
        try:
            with warnings.catch_warnings(record=True) as caught, warnings_in(report, path):
                warnings.simplefilter("always")
                model = spec.compile()
            for warning in caught:
                report.leave_out("MuJoCo", path.name, message_of(warning.message))
            return Compiled(model, changed, frozenset(missing), spec.meshdir or "")
        except Exception as error:  # MuJoCo raises ValueError, and FatalError for some files
            message = message_of(error)
        if any(sign in message for sign in _TOO_LIGHT):
            repaired = _lighten(spec, message, changed)
        else:
            repaired = _drop_file(spec, message, weighed, missing, path, report)
        if not repaired:
            raise ModelFileError(f"{path}: MuJoCo: {message}", element=str(path))


def _lighten(spec: Any, message: str, changed: dict[int, tuple[float, float]]) -> bool:
    """Give the body that MuJoCo finds too light a placeholder; False if there is none or it has one."""
    found = re.search(r"Element name '(.*)', id (\d+)", message)
    if found is None or int(found.group(2)) >= len(spec.bodies):
        return False
    name, index = found.group(1), int(found.group(2))
    body = next((b for b in spec.bodies if name and b.name == name), spec.bodies[index])
    if index in changed:
        return False
    if body.explicitinertial:
        full = not np.isnan(body.fullinertia[0])
        moments = np.array(body.fullinertia[:3] if full else body.inertia, dtype=float)
        if not np.all(np.isfinite(moments)):
            raise ModelError(f"body {name!r}: inertia must be finite, got {moments.tolist()}", element=name)
        moment = float(np.abs(moments).max()) or 1.0
        mass = 0.0 if body.mass > 1e-12 else 1.0
        if full:
            body.fullinertia[:3] = moments + moment
        else:
            body.inertia = moments + moment
        body.mass = body.mass + mass
    else:
        mass, moment = 1.0, 1.0
        body.explicitinertial = True
        body.mass, body.inertia, body.ipos = mass, np.full(3, moment), np.zeros(3)
    changed[index] = (mass, moment)
    return True


def _drop_file(
    spec: Any, message: str, weighed: dict[str, str], missing: set[str], path: Path, report: ImportReport
) -> bool:
    """Put a placeholder in the place of a file that MuJoCo cannot open; False if the file matters."""
    found = re.search(r"[Ee]rror opening file '([^']*)'", message)
    if found is None:
        return False
    file = found.group(1)
    for texture in spec.textures:
        if texture.file and file.endswith(texture.file):
            texture.file, texture.builtin, texture.width, texture.height = "", 1, 1, 1
            report.set_aside("texture", texture.name or file, f"file {file!r} not found; drawing only")
            return True
    for mesh in spec.meshes:
        name = mesh.name or Path(mesh.file).stem
        if not mesh.file or not file.endswith(mesh.file):
            continue
        if name in weighed:
            raise ModelFileError(
                f"{path}: mesh file {file!r} not found, and the inertia of body {weighed[name]!r} would be "
                "computed from it. Provide the file, or give the body an <inertial> element",
                element=weighed[name],
            )
        report.set_aside("mesh", name, f"file {file!r} not found; drawing and contact only")
        missing.add(name)
        mesh.name, mesh.file, mesh.uservert, mesh.userface = name, "", _TETRAHEDRON, _TRIANGLES
        return True
    return False


def _weighed_by_mesh(spec: Any) -> dict[str, str]:
    """Return mesh name → body whose inertia MuJoCo computes from it."""
    return {
        geom.meshname: body.name
        for body in spec.bodies
        if not body.explicitinertial and body.name != WORLD
        for geom in body.geoms
        if geom.meshname and geom.mass != 0.0 and geom.density != 0.0
    }
