"""`load`: a model file becomes a `Mechanism`, whatever its format."""

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
    "USD is not read, since MuJoCo's decoder of it loses the joints that close loops. Export the model as URDF with "
    "its loops as <loop_joint>, as Isaac Sim's exporter does, or as MJCF or SDF"
)
# suffix → what to do with such a file
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
    path : the file; its suffix says the format: ``.xml``, ``.mjcf``, ``.urdf``, ``.sdf``, ``.world``.
    loops : a YAML file (or its content as lists and mappings) with loop closures between frames of the model: see
        `sarrus.model.formats.loops` for the two formats. For URDF above all, which has no loops; those written inside
        as URDF+ ``<loop>`` and ``<coupling>``, as ``<loop_joint>``, or as a link with two parents need no second
        file. ``{"closing": "revolute"}`` says the kind of the loops that exports from CAD only mark, by frames
        ``closing_NAME_1`` and ``closing_NAME_2``; ``{"closing": {"knee": "revolute", "ankle": "point"}}`` one by one.
    strict : what is not loaded. None: a closure, joint or coupling that cannot be kept, which raises
        `UnsupportedElementError`; whatever else the reference parser of the format reads is read, and listed in
        ``mechanism.report`` where it is odd. True: also what is odd, such as an inertia that no body can have or the
        name of a joint that is not there (`ModelFileError`). False: nothing; what cannot be kept is left out and
        listed.
    floating_base : URDF only. Attach the root link by a free joint named ``root`` instead of welding it to
        the ground.
    keep_offset : True, or names of closures, whose frames stay as far apart as they are modelled along directions in
        which no joint moves the two bodies: for planar loops whose sites are some millimetres apart across the plane,
        which no configuration closes. See `Mechanism.add_closure`.

    Returns
    -------
    Mechanism, whose ``report`` lists every element found: it acts, is kept without acting, is left out, or has no
    part in the motion. Where not everything acts, a `ModelWarning` says in one line how much does not; another names
    the bodies with an inertia that no body can have. Coordinates, velocities and their order are MuJoCo's
    (``mjData.qpos``, ``mjData.qvel``) for MJCF and URDF.

    Raises
    ------
    ModelFileError : the file is missing, a folder, malformed (with line), of an unknown kind, in another
        encoding than it says, beyond a bound of ``docs/importers.md``, or MuJoCo's compiler refuses it (with
        its message). ModelError : a number or a name in it is wrong. UnsupportedElementError : see ``strict``;
        also for a joint or loop at a place where nobody reads it, for a marked loop without a kind, and for what joins
        two links in Gazebo alone. All name the file and the element.

    MJCF and URDF are read through MuJoCo's own parser and compiler, so defaults, includes, meshes and
    inertias mean what they mean there; closures become exact. ``docs/importers.md`` has the table of what
    acts, is kept, left out and refused.
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
        text = f"{file.name}: no body can have the inertia of {', '.join(odd)}; taken as it is, see mechanism.report"
        warnings.warn(text, ModelWarning, stacklevel=2)
    if not report.complete:
        warnings.warn(f"{file.name}: {report.headline()}; see mechanism.report", ModelWarning, stacklevel=2)
    return mechanism


def _keep_offsets(mechanism: Mechanism, given: bool | str | Sequence[str]) -> None:
    """Have closures keep what they are modelled apart where no joint moves."""
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
    """Add the closures beside a file that holds its own; joints of another kind than the file's are for URDF."""
    found = read_loops(loops)
    if found.replaced_joints:
        wrong = (
            f"{found.source}: joint_name and joint_type are for URDF; write the kind of joint into the file"
        )
        raise ModelFileError(wrong, element="joint_name")
    add_loops(done, found)
    return done.mechanism
