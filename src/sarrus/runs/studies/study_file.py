"""Studies as TOML files, for ``sarrus study``: their keys, and one clear error for each invalid one.

All paths in a file are relative to its folder. Names of axes are those of `sarrus.study`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.base.errors import ArgumentError, SarrusError, check_known
from sarrus.dynamics.system import System
from sarrus.model.formats.load import load
from sarrus.motion.inputs.run_options import Stabilization, Stepping
from sarrus.runs.studies.axes import STATES, known_axes, read_axes
from sarrus.runs.studies.samples import draw, normal, uniform
from sarrus.runs.studies.specification import SHARED

# scipy.stats is imported where it is used: it takes half a second.

# Keys that go to `sarrus.study` as they are.
OPTIONS = (*(name for name in SHARED if name != "control"), "outputs", "chunk")
KEYS = (
    "model", "loops", "lenient", "floating_base", "keep_offset", "keyframe", "store", "parameters", "start", "grid",
    "samples", "random", *OPTIONS,
)  # fmt: skip
# Options that may be tables, with all that there is to say.
TABLES = {"method": Stepping, "stabilization": Stabilization}
RANDOM = ("runs", "seed", "scheme", "of")
_SPACED = {"from", "to", "count"}


@dataclass(frozen=True, eq=False)
class StudyFile:
    """The content of a study file: a system, the other arguments of `sarrus.study`, and the store."""

    system: System
    arguments: dict[str, Any]
    store: Path | None


def read_study(path: str | Path) -> StudyFile:
    """Return the content of a study file; errors name the file and the key."""
    path = Path(path)
    if not path.is_file():
        raise ArgumentError(f"{path}: no such file", element=str(path))
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: not a TOML file: {error}", element=str(path)) from error
    try:
        return _study(given, path.parent)
    except SarrusError as error:
        raise ArgumentError(f"{path}: {error}", element=error.element, valid=error.valid) from error


def _options(key: str, kind: type[Stepping | Stabilization], table: dict[str, Any]) -> Any:
    """Return options from a table of a file."""
    _check_keys(table, tuple(entry.name for entry in fields(kind)), key)
    given: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in table.items()}
    return kind(**given)


def _study(given: dict[str, Any], folder: Path) -> StudyFile:
    _check_keys(given, KEYS, needed=("model", "duration"))
    named = [key for key in ("grid", "samples", "random") if key in given]
    if len(named) != 1:
        raise ArgumentError(
            f"a study has one of the tables grid, samples and random; here is {' and '.join(named) or 'none'}",
            element="grid",
        )
    system = _system(given, folder)
    arguments: dict[str, Any] = {key: given[key] for key in OPTIONS if key in given}
    for key, kind in TABLES.items():
        if isinstance(given.get(key), dict):
            arguments[key] = _options(key, kind, given[key])
    arguments |= _start(system, given)
    if "grid" in given:
        arguments["grid"] = {
            name: _values(name, value) for name, value in _flat(given, "grid", system).items()
        }
    elif "samples" in given:
        arguments["samples"] = _flat(given, "samples", system)
    else:
        arguments["samples"] = _random(_table(given, "random"), system)
    read_axes(system, arguments.get("grid"), arguments.get("samples"))
    return StudyFile(system, arguments, _path(given, "store", folder))


def _system(given: dict[str, Any], folder: Path) -> System:
    mechanism = load(
        _path(given, "model", folder),
        loops=_path(given, "loops", folder),
        strict=False if given.get("lenient", False) else None,
        floating_base=bool(given.get("floating_base", False)),
        keep_offset=given.get("keep_offset", False),
    )
    targets = {
        name: [tuple(item) if isinstance(item, list) else item for item in wanted]
        if isinstance(wanted, list)
        else wanted
        for name, wanted in _table(given, "parameters").items()
    }
    return System(mechanism, targets)


def _start(system: System, given: dict[str, Any]) -> dict[str, Any]:
    """Return q, v and u that all runs share; parameters are assigned."""
    q, v, u = np.array(system.neutral()), np.zeros(system.nv), np.zeros(system.nu)
    keyframe = given.get("keyframe")
    if keyframe is not None:
        key = system.keyframe(keyframe)
        q, v, u = np.array(key.q), np.array(key.v), np.array(key.u)
    values = _flat(given, "start", system)
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentError(f"start: {name!r} must be a number, got {value!r}", element=name)
    given_axes = {name: [value] for name, value in values.items()}
    for axis in read_axes(system, None, given_axes).axes if values else ():
        if axis.kind == "p":
            system.parameters[axis.name] = values[axis.name]
        else:
            {"q": q, "v": v, "u": u}[axis.kind][axis.index] = values[axis.name]
    return {"q": q} | {name: x for name, x in (("v", v), ("u", u)) if x.any()}


def _values(name: str, value: Any) -> Any:
    """Return the values of an axis of a grid: listed, or evenly spaced."""
    if not isinstance(value, dict):
        return value
    count = value.get("count")
    numbers = all(isinstance(value.get(key), (int, float)) for key in ("from", "to"))
    if (
        set(value) != _SPACED
        or not numbers
        or isinstance(count, bool)
        or not isinstance(count, int)
        or count < 1
    ):
        raise ArgumentError(
            f"grid: {name!r} must be a list of numbers, or {{from = 0.0, to = 1.0, count = 5}}, got {value!r}",
            element=name,
        )
    return np.linspace(value["from"], value["to"], count)


def _random(table: Mapping[str, Any], system: System) -> dict[str, Any]:
    """Return the samples that a table asks for."""
    _check_keys(table, RANDOM, "random", needed=("runs", "of"))
    distributions = {name: _distribution(name, value) for name, value in _flat(table, "of", system).items()}
    return draw(distributions, table["runs"], seed=table.get("seed", 0), scheme=table.get("scheme", "random"))


def _distribution(name: str, given: Any) -> Any:
    """Return a distribution from {normal = [mean, std]}, {uniform = [low, high]}, {NAME of scipy.stats = [...]}."""
    from scipy import stats

    if isinstance(given, dict) and len(given) == 1:
        ((kind, numbers),) = given.items()
        maker = {"normal": normal, "uniform": uniform}.get(kind, getattr(stats, kind, None))
        if isinstance(numbers, list) and (
            maker in (normal, uniform) or isinstance(maker, stats.rv_continuous)
        ):
            try:
                return maker(*numbers)
            except TypeError as error:
                raise ArgumentError(f"random: {name!r}: {kind} {numbers}: {error}", element=name) from error
    raise ArgumentError(
        f"random: {name!r} must be {{normal = [mean, std]}}, {{uniform = [low, high]}} or another continuous "
        f"distribution of scipy.stats with its arguments, got {given!r}",
        element=name,
    )


def _flat(given: Mapping[str, Any], key: str, system: System) -> dict[str, Any]:
    """Return a table with q.left = … as "q.left" = …, which TOML reads as tables within tables."""
    flat: dict[str, Any] = {}
    known = [axis.name for axis in known_axes(system)]

    def enter(name: str, value: Any) -> None:
        within = tuple(f"{name}.{inner}" for inner in value) if isinstance(value, dict) else ()
        if within and (name in STATES or any(axis.startswith(within) for axis in known)):
            for inner, item in value.items():
                enter(f"{name}.{inner}", item)
        else:
            flat[name] = value

    for name, value in _table(given, key).items():
        enter(name, value)
    return flat


def _table(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = given.get(key, {})
    if not isinstance(table, dict):
        raise ArgumentError(f"{key!r} must be a table, [{key}], got {table!r}", element=key)
    return table


def _path(given: Mapping[str, Any], key: str, folder: Path) -> Any:
    """Return the path of a key, relative to the file's folder; None if it is missing."""
    value = given.get(key)
    if not isinstance(value, str | None):
        raise ArgumentError(f"{key!r} must be text, got {value!r}", element=key)
    return None if value is None else Path(os.path.normpath(folder / value))


def _check_keys(
    table: Mapping[str, Any], valid: Sequence[str], of: str = "", needed: Sequence[str] = ()
) -> None:
    for key in table:
        check_known(f"key of {of}" if of else "key", key, valid)
    for key in needed:
        if key not in table:
            place = f"{of}: " if of else ""
            raise ArgumentError(f"{place}the key {key!r} is missing", element=key)
