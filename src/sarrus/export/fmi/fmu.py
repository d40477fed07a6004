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
from sarrus.dynamics.contacts.contact_elements import contact_elements
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

_TIME = (1980, 1, 1, 0, 0, 0)  # date of every file in the archive, for reproducible bytes


@dataclass(frozen=True)
class FMUExport:
    """An exported unit.

    Attributes
    ----------
    path : the file.
    name : model identifier, and prefix of the names in its sources.
    token : instantiation token, a digest of sources and variables.
    variables : names of all variables, in the order of their value references from 0.
    interfaces : ("ModelExchange", "CoSimulation"), or co-simulation only.
    binary : path of the library for this machine in the archive; None for a unit of sources.
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

    The exported C is inside, as sources and compiled; the unit needs neither Python nor sarrus. Loops are solved
    inside: the importer sees coordinates, velocities and controls, and no algebraic loop.

    Co-simulation takes steps of Runge–Kutta of order 4 with projection, as ``sr.simulate(dt=step)``, as many as fit a
    communication step; controls are held. Model exchange has the states (q, v), ẋ = (N(q) v + d, a), for any rank of A.
    If the constraints are violated by more than ``closure_tolerance``, a completed integrator step requests an event,
    at which the state is projected. Redundant rows are legal; for passages through singular configurations use
    co-simulation, because model exchange leaves them to the integrator of the importer.

    Variables, with their units: inputs ``u.`` (controls) and ``tau.`` (applied forces); outputs ``q.``, ``v.``,
    ``sensor.``, ``lambda.``, ``energy.`` and ``residual``, the largest |φ|; tunable parameters ``p.``; fixed
    parameters ``step_size`` and ``closure_tolerance``. Start values of ``q.`` and ``v.`` must satisfy the constraints
    to 1e-5; otherwise initialization is an error that names the row. A coordinate that starts beyond its joint limit
    may return and goes no further out, with a `LimitWarning` at the export.

    Status: fmi3Discard with a message if there is no answer (ill-posed, not finite, a projection that fails, a step
    too long for the fastest forces); fmi3Warning for an incomplete one (inconsistent, singular, ill-conditioned).

    A control law becomes a controller for co-simulation: inputs ``q.``, ``v.``, and ``lambda.`` if it measures
    multipliers; output ``u.``. Communication points are its samples, at which its internal state advances; the controls
    are those for the state at the beginning of the communication step. Its settings, ``setting.``, are tunable. A
    missed demand is fmi3Warning.

    Parameters
    ----------
    source : System or Law
        The system or law to export, with its present parameters, tolerances and settings.
    path : path
        The file, .fmu. It is written whole or not at all; the same system gives the same bytes with one compiler.
    name : str, optional
        Model identifier, by default made from the name of the system.
    q, v : (nq,), (nv,), optional
        Initial state, on the constraints; by default the first keyframe or the reference pose, and the admissible
        velocity closest to zero.
    step : longest step of co-simulation [s].
    closure_tolerance : violation of the constraints, relative to the size of the mechanism, at which model exchange
        projects.
    forces, energies, multipliers : whether the unit has these variables. With redundant rows the multipliers are those
        of least norm.
    contacts : True: with contacts with Coulomb friction, joint stops or dry friction the unit has co-simulation only,
        with steps of the method "moreau-jean" and contact forces as outputs (``contact.``), without sensors and
        multipliers. In the controller of a law they act as in its calls. False leaves all of these out; the
        description of the unit (of a law: its header in C) says so.
    derivatives : whether the unit provides exact directional derivatives; they double the code.
    binary : False writes a unit of sources only, for importers with a compiler.

    Returns
    -------
    FMUExport

    Raises
    ------
    ArgumentError
        There is no C compiler; q and v are not on the constraints; ``step`` is not positive, or too long for the
        winding of a motor; there are contacts between geometries without closed form; an error of `c_code`.
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
    touched = law is None and contacts and bool(contact_elements(system) or system.contact_geometries)
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
    acts = touched if law is None else contacts
    contents = c_contents(source, functions, own, q=q, contacts=acts, more=more)
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
    """Return the functions of the export that a unit needs, and the additional entries."""
    if law is not None:
        return ["law"], []
    more = [entries.project, entries.gaps]
    if touched:
        return ["contact_step"], more
    sensing = system.mechanism is not None and bool(system.mechanism.sensors)
    more += [entries.rate, *([entries.slopes] if sloped else [])]
    return ["forward_dynamics", "step", *(["sensors"] if sensing else [])], more


def _start(system: System, q: Array, v: ArrayLike | None) -> Array:
    """Return the initial velocity, checked together with the configuration."""
    start = np.zeros(system.nv) if v is None else system.checked(v, system.nv, "v")
    if v is None and np.any(system.velocity_residual(q, start)):  # prescribed motions
        start = system.project_velocity(q, start)
    require_on_constraints(system, q, start, 0.0)
    return np.array(start)


def _written_by_hand() -> dict[str, str]:
    """Return the sources common to all units, by their names."""
    folder = files("sarrus.export.fmi") / "sources"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith((".c", ".h")))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def _token(texts: Mapping[str, str], header: str, variables: Variables) -> str:
    """Return the digest of all contents of the unit."""
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
