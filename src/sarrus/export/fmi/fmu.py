"""`fmu`: a system as a unit of FMI 3.0, for co-simulation and model exchange."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.files.atomic import checked_path, write
from sarrus.control.laws.law import Law
from sarrus.dynamics.closing.closed_state import require_on_constraints
from sarrus.dynamics.contacts.contact_state import touching_of
from sarrus.dynamics.model.joint_limits import sides_beyond, warn_beyond
from sarrus.dynamics.system import System
from sarrus.export.c.c_code import c_contents
from sarrus.export.c.entry_points import Entry
from sarrus.export.c.identifiers import prefix_of
from sarrus.export.fmi import entries
from sarrus.export.fmi.compiling import compiler, library, place
from sarrus.export.fmi.description import build_description, model_description
from sarrus.export.fmi.tolerances import UNIT_CLOSED
from sarrus.export.fmi.unit import unit_header
from sarrus.export.fmi.variables import LawVariables, Options, SystemVariables, Variables
from sarrus.motion.inputs.winding_steps import refuse_long_steps

_TIME = (1980, 1, 1, 0, 0, 0)  # of every file in the archive, so that the same unit is the same bytes


@dataclass(frozen=True)
class FMUExport:
    """An exported unit.

    Attributes
    ----------
    path : the file.
    name : model identifier, and prefix of the names in its sources.
    token : instantiation token, a digest of sources and variables.
    variables : names of all variables, in the order of their value references from 0.
    interfaces : "ModelExchange" and "CoSimulation", or the latter alone.
    binary : where in the archive the library for this machine is; None for a unit of sources.
    """

    path: Path
    name: str
    token: str
    variables: tuple[str, ...]
    interfaces: tuple[str, ...]
    binary: str | None


def fmu(
    source: System | Law,
    path: str | Path,
    name: str | None = None,
    *,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    step: float = 1e-3,
    closure_tolerance: float = UNIT_CLOSED,
    forces: bool = False,
    energies: bool = False,
    multipliers: bool = False,
    contacts: bool = True,
    derivatives: bool = True,
    binary: bool = True,
) -> FMUExport:
    """Write a system or a control law as a unit of the Functional Mock-up Interface 3.0 (Modelica Association, 2022).

    It has the exported C inside, as sources and compiled, and needs neither Python nor sarrus where it runs. Loops stay
    inside: the importer sees coordinates, velocities and controls, and no algebraic loop.

    Co-simulation takes steps of Runge–Kutta of order 4 with projection, those of ``sr.simulate(dt=step)``, as many as
    fit a communication step; controls are held. Model exchange has the states (q, v), ẋ = (N(q) v + d, a), for any
    rank of A; where the constraints are violated by more than ``closure_tolerance``, a completed integrator step asks
    for an event, at which the state is projected. Redundant rows are as they are elsewhere; passages through singular
    configurations are for co-simulation, in model exchange they are left to the importer's method.

    Variables, with their units: ``u.`` controls and ``tau.`` applied forces, which are inputs; ``q.``, ``v.``,
    ``sensor.``, ``lambda.``, ``energy.`` and ``residual``, the largest |φ|, which are outputs; ``p.`` parameters, which
    may be tuned; ``step_size`` and ``closure_tolerance``, fixed from the start on. Start values of ``q.`` and ``v.``
    must lie on the constraints: initialization is an error that names the row where they do not, to 1e-5. A coordinate
    that starts beyond a limit of its joint may come back and goes no further out, with a `LimitWarning` here.

    What has no answer (ill-posed, not finite, a projection that fails, a step too long for the fastest forces) is
    fmi3Discard with a message that says why; what has no full one (inconsistent, singular, ill-conditioned) is
    fmi3Warning with one.

    A control law becomes a controller for co-simulation: ``q.`` and ``v.`` come in, and ``lambda.`` where it measures
    multipliers, ``u.`` goes out. Points of communication are its samples, at which what it remembers goes on; the
    controls are those for the state at the beginning of the communication step. Its settings, ``setting.``, may be
    tuned. A demand that is missed is fmi3Warning.

    Parameters
    ----------
    source : System or Law
        What to export; parameters, tolerances and settings with the values that they have now.
    path : path
        The file, .fmu. It is written whole or not at all; the same system gives the same bytes with one compiler.
    name : str, optional
        Model identifier, by default like the name of the system.
    q, v : (nq,), (nv,), optional
        State at the start, on the constraints; by default the first keyframe or the reference pose, and the nearest to
        rest.
    step : longest step of co-simulation [s].
    closure_tolerance : violation of the constraints, relative to the size of the mechanism, at which model exchange
        projects.
    forces, energies, multipliers : whether there are variables of these. With redundant rows the multipliers are those
        of least norm.
    contacts : with contacts with Coulomb friction, stops or dry friction the unit has co-simulation alone: steps of the
        method "moreau-jean", with the forces of contact as outputs (``contact.``), without sensors and multipliers.
        False leaves all of these out, and the description says so.
    derivatives : whether the unit provides directional derivatives, exact ones. They take code: about as much again as
        the rest.
    binary : False writes a unit of sources alone, which importers with a compiler build.

    Returns
    -------
    FMUExport

    Raises
    ------
    ArgumentError
        There is no C compiler; q and v are not on the constraints; ``step`` is not positive, or too long for the
        winding of a motor; contacts between geometries without closed form, which C does not have; what `c_code`
        refuses.
    CompilationError
        The compiler fails.
    WriteError
        The file cannot be written; an old one is untouched.
    """
    if not isinstance(source, System | Law):
        raise ArgumentError(
            f"fmu needs a System or a control law, got {type(source).__name__}", element="source"
        )
    system, law = (source.system, source) if isinstance(source, Law) else (source, None)
    path = checked_path(path, (".fmu",), "unit of FMI")
    with_compiler = compiler() if binary else ""
    for key, value in (("step", step), ("closure_tolerance", closure_tolerance)):
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(f"{key} must be positive, got {value}", element=key)
    if law is None:
        refuse_long_steps(system, "rk4", float(step))
    touched = law is None and contacts and bool(touching_of(system) or system.touching_geometries)
    if touched and multipliers:
        raise ArgumentError(
            f"{system.name}: a unit with contacts has no multipliers; contacts=False leaves the contacts out",
            element="multipliers",
        )
    sloped = derivatives and not touched and law is None
    functions, more = _functions(system, law, touched, sloped)
    own = prefix_of(system.name, name)
    taken = {file.rpartition(".")[0] for file in _written_by_hand()} | {"unit"}
    own = f"model_{own}" if own.lower() in taken else own
    contents = c_contents(source, functions, own, q=q, more=more)
    start = _start(system, contents.q, v)
    if touched and (beyond := sides_beyond(system, contents.q)):
        warn_beyond(system.name, beyond, stacklevel=2)
    options = Options(
        contents.q, start, float(step), float(closure_tolerance), forces, energies, multipliers, touched,
        sloped, law is not None,
    )  # fmt: skip
    variables = SystemVariables(system, options) if law is None else LawVariables(law, options)
    texts = {
        **_written_by_hand(),
        f"{own}.c": contents.source(),
        f"{own}.h": contents.header(),
    }
    token = _token(texts, unit_header(system, own, "", variables, options), variables)
    texts["unit.h"] = unit_header(system, own, token, variables, options)
    texts = dict(sorted(texts.items()))
    members = {
        "modelDescription.xml": model_description(system, own, token, variables, options).encode(),
        "sources/buildDescription.xml": build_description(
            own, [f for f in texts if f.endswith(".c")]
        ).encode(),
        **{f"sources/{file}": text.encode() for file, text in texts.items()},
    }
    where = place(own) if binary else None
    if where is not None:
        members[where] = library(texts, with_compiler)
    write(path, [_archive(members)], kept="it can be exported again")
    interfaces = ("CoSimulation",) if touched or law else ("ModelExchange", "CoSimulation")
    return FMUExport(path, own, token, tuple(one.name for one in variables.all), interfaces, where)


def _functions(
    system: System, law: Law | None, touched: bool, sloped: bool
) -> tuple[list[str], list[Callable[..., Entry]]]:
    """Return what a unit needs of the export, by name, and beside it."""
    if law is not None:
        return ["law"], []
    more = [entries.project, entries.gaps]
    if touched:
        return ["contact_step"], more
    sensing = system.mechanism is not None and bool(system.mechanism.sensors)
    more += [entries.rate, *([entries.slopes] if sloped else [])]
    return ["forward_dynamics", "step", *(["sensors"] if sensing else [])], more


def _start(system: System, q: Array, v: ArrayLike | None) -> Array:
    """Return the velocities at the start, verified with the configuration."""
    start = np.zeros(system.nv) if v is None else system.checked(v, system.nv, "v")
    if v is None and np.any(system.velocity_residual(q, start)):  # motions that are given
        start = system.project_velocity(q, start)
    require_on_constraints(system, q, start, 0.0)
    return np.array(start)


def _written_by_hand() -> dict[str, str]:
    """Return the sources that are the same in every unit, by their names."""
    folder = files("sarrus.export.fmi") / "sources"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith((".c", ".h")))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def _token(texts: Mapping[str, str], header: str, variables: Variables) -> str:
    """Return a digest of all that the unit is."""
    digest = hashlib.sha256()
    for text in (*(f"{name}\n{text}" for name, text in sorted(texts.items())), header, repr(variables.all)):
        digest.update(text.encode())
        digest.update(b"\0")
    return f"{{{digest.hexdigest()[:32]}}}"


def _archive(members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive whose bytes depend on its members alone."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return held.getvalue()
