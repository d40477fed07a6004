"""`load`: reads a `Mechanism` from an MJCF, URDF or SDF file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.base.arguments import name_or_names
from sarrus.base.errors import ArgumentError, ModelError, ModelFileError, ModelWarning, check_known
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.importing import Import
from sarrus.model.formats.loops import add_loops, read_loops
from sarrus.model.formats.model_text import check_file, file_fault
from sarrus.model.formats.model_xml import parse_xml

_SUFFIXES = {
    ".xml": "MJCF (or URDF with a <robot> root)",
    ".mjcf": "MJCF",
    ".urdf": "URDF",
    ".sdf": "SDF",
    ".world": "SDF",
}
_USD = (
    "USD is not read, because MuJoCo's decoder drops the joints that close loops. Export the model as URDF with "
    "its loops as <loop_joint>, as Isaac Sim's exporter does, or as MJCF or SDF"
)
# Suffixes of formats that are not read, with the way to convert each.
_ELSEWHERE = dict.fromkeys((".usd", ".usda", ".usdc", ".usdz"), _USD) | {
    ".xacro": "xacro makes URDF: write its output to a .urdf file (xacro model.urdf.xacro > model.urdf) and load that",
    ".smurf": "SMURF is a set of files around a URDF: load that, with the closures as loops=",
}


def load(
    path: str | Path,
    *,
    loops: str | Path | Mapping[str, Any] | Sequence[Any] | None = None,
    strict: bool | None = None,
    floating_base: bool = False,
    keep_offset: bool | str | Sequence[str] = False,
) -> Mechanism:
    """Load a mechanism from an MJCF, URDF or SDF file.

    Parameters
    ----------
    path : the file; its suffix gives the format: ``.xml``, ``.mjcf``, ``.urdf``, ``.sdf``, ``.world``.
    loops : a YAML file (or its content as lists and mappings) with loop closures between frames of the model; see
        `sarrus.model.formats.loops` for the two formats. It is needed for plain URDF, which has no loops. Loops
        written as URDF+ ``<loop>`` and ``<coupling>``, as ``<loop_joint>``, or as a link with two parents are read
        from the URDF. CAD exports mark a cut joint by frames ``closing_NAME_1`` and ``closing_NAME_2`` without its
        kind: ``{"closing": "revolute"}`` gives the kind of all, ``{"closing": {"knee": "revolute", "ankle":
        "point"}}`` of each.
    strict : None: an element that connects bodies or coordinates and cannot be represented raises
        `UnsupportedElementError`; errors of the file that the reference parser of the format accepts are accepted and
        listed in ``mechanism.report``. True: such errors (an impossible inertia, an unknown joint name) raise
        `ModelFileError`. False: an element that cannot be represented is left out and listed.
    floating_base : URDF only. Attach the root link by a free joint named ``root`` instead of welding it to
        the ground.
    keep_offset : True, or names of closures. The frames of these closures keep their modelled offset along directions
        in which no joint moves the two bodies, as in planar loops whose sites are some millimetres apart along the
        normal of the plane; without it no configuration closes such a loop. See `Mechanism.add_closure`.

    Returns
    -------
    Mechanism, whose ``report`` lists every element of the file: it acts, is kept without acting, is left out, or has no
    influence on the motion (aside). A `ModelWarning` gives the number of elements that are kept or left out; another
    names the bodies with an impossible inertia. Coordinates, velocities and their order are MuJoCo's
    (``mjData.qpos``, ``mjData.qvel``) for MJCF and URDF.

    Raises
    ------
    ModelFileError
        The file is missing, a folder, malformed (with line), of an unknown kind, in an encoding other than the declared
        one, beyond a bound of ``docs/importers.md``, or refused by MuJoCo's compiler (with its message).
    ModelError
        A number or a name in the file is wrong.
    UnsupportedElementError
        See ``strict``; also for a joint or loop at a place that no parser reads, for a marked loop without
        a kind, and for a connection of two links by Gazebo only. Each error names the file and the element.

    MJCF and URDF are read through MuJoCo's own parser and compiler, so defaults, includes, meshes and inertias have the
    same meaning; closures become exact constraints. ``docs/importers.md`` lists the elements that act, are kept,
    left out and refused.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"load needs the path of a model file, got {path!r}", element="path")
    file = Path(os.fsdecode(path))
    try:
        with np.errstate(over="raise", invalid="raise"):
            mechanism = _load(file, loops, strict, floating_base)
        _keep_offsets(mechanism, keep_offset)
    except FloatingPointError as error:
        raise file_fault(file, f"a number in it is too large to compute with ({error})") from None
    except ModelError as error:
        named = [file.name] + ([Path(loops).name] if isinstance(loops, (str, os.PathLike)) else [])
        if any(name in str(error) for name in named):
            raise
        raise type(error)(f"{file}: {error}", element=error.element, valid=error.valid) from None
    report = mechanism.report
    odd = [repr(entry.name) for entry in report if entry.kind == "inertia"]
    if odd:
        text = f"{file.name}: impossible inertia of {', '.join(odd)}, used unchanged; see mechanism.report"
        warnings.warn(text, ModelWarning, stacklevel=2)
    if not report.complete:
        warnings.warn(f"{file.name}: {report.headline()}; see mechanism.report", ModelWarning, stacklevel=2)
    return mechanism


def _keep_offsets(mechanism: Mechanism, given: bool | str | Sequence[str]) -> None:
    """Set ``keep_offset`` of all closures, or of the named ones."""
    if not isinstance(given, bool):
        name_or_names("keep_offset", given)
    closures = mechanism.closures
    for name in (
        (closures if given else ())
        if isinstance(given, bool)
        else [given]
        if isinstance(given, str)
        else given
    ):
        check_known("closure", name, closures, "keep_offset")
        closures[name] = replace(closures[name], keep_offset=True)


def _load(file: Path, loops: Any, strict: bool | None, floating_base: bool) -> Mechanism:
    check_file(file)
    suffix = file.suffix.lower()
    if suffix in _ELSEWHERE:
        raise ModelFileError(f"{file}: {_ELSEWHERE[suffix]}", element=str(file), valid=tuple(_SUFFIXES))
    if suffix not in _SUFFIXES:
        known = ", ".join(f"{s} ({what})" for s, what in _SUFFIXES.items())
        raise ModelFileError(
            f"{file}: unknown suffix {suffix!r}. Known: {known}", element=str(file), valid=tuple(_SUFFIXES)
        )
    # The readers are imported only here, each when it is needed, for start-up time.
    if suffix in (".sdf", ".world"):
        from sarrus.model.formats.sdf.read_sdf import load_sdf

        if floating_base:
            wrong = "floating_base is for URDF; an SDF model without a joint to the world floats"
            raise ArgumentError(f"{file}: {wrong}")
        return _with_loops(load_sdf(file, strict=strict), loops)
    from sarrus.model.formats.mjcf.read_mjcf import load_mjcf
    from sarrus.model.formats.urdf.read_urdf import load_urdf

    root = parse_xml(file).tag
    if root not in ("mujoco", "mujocoinclude", "robot"):
        raise ModelFileError(
            f"{file}: the root element is <{root}>; <mujoco> (MJCF) or <robot> (URDF) was expected",
            element=root,
        )
    if root == "robot":
        return load_urdf(file, loops=loops, strict=strict, floating_base=floating_base).mechanism
    if floating_base:
        raise ArgumentError(f"{file}: floating_base is for URDF; in MJCF give the root body a <freejoint/>")
    return _with_loops(load_mjcf(file, strict=strict), loops)


def _with_loops(done: Import, loops: Any) -> Mechanism:
    """Add the closures of a loop file to a model with own loops; its joint types are an error, they are for URDF."""
    found = read_loops(loops)
    if found.replaced_joints:
        wrong = (
            f"{found.source}: joint_name and joint_type are for URDF; write the kind of joint into the file"
        )
        raise ModelFileError(wrong, element="joint_name")
    add_loops(done, found)
    return done.mechanism
