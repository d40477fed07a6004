"""`with_closed_forms`: contacts between geometries in closed form for runs by events, whatever steps in time take."""

from __future__ import annotations

from dataclasses import replace

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.model.mechanism.surface_contacts import places
from sarrus.motion.inputs.run_options import AUTO, Stepping
from sarrus.motion.inputs.tolerances import MOST_PLACES


def with_closed_forms(
    system: System, what: str, otherwise: str = f"method={TIME_STEPPING!r} takes all of them"
) -> System:
    """Return the system in which all contacts between geometries have gaps in closed form; or itself.

    Raises `ArgumentError` with ``what`` needs them, the pair, and what to do ``otherwise``, if a pair has none, or if
    there are too many.
    """
    if not system.contact_geometries:
        return system
    found = system.model.cached("contacts in closed form", lambda: _model(system, what, otherwise))
    values = {name: system.parameters[name] for name in found.parameter_values() if name in system.parameters}
    return System.of_model(found, values, system.options)


def goes_by_events(stepping: Stepping) -> bool:
    """Tell whether method or tolerances ask for runs from event to event."""
    free = stepping.method in (None, AUTO)
    return (
        (stepping.rtol is not None or stepping.atol is not None) if free else stepping.method != TIME_STEPPING
    )


def _model(system: System, what: str, otherwise: str) -> Model:
    mechanism = system.mechanism
    assert mechanism is not None  # only a mechanism has geometries
    count = 0
    for pair in mechanism.geometry_pairs:
        found_places = places(pair, mechanism.geoms)
        count += len(found_places) if pair.name in system.contact_geometries else 0
        if not found_places:
            kinds = " and ".join(mechanism.geoms[name].kind for name in (pair.geom1, pair.geom2))
            raise ArgumentError(
                f"{system.name}: {what} takes contacts between geometries with gaps in closed form, and {pair.name!r} "
                f"({kinds}) has none: {otherwise}",
                element=pair.name,
            )
    if count > MOST_PLACES:
        raise ArgumentError(
            f"{system.name}: {what} takes contacts between geometries with gaps in closed form, and those of "
            f"{len(system.contact_geometries)} pairs have {count} places, too many to compile: {otherwise}",
            element=system.contact_geometries[0],
        )
    mechanism = mechanism.snapshot()
    for name, pair in mechanism.geometry_contacts.items():
        mechanism.geometry_contacts[name] = replace(pair, closed_form=True)
    return Model.of_mechanism(mechanism, system.model.driven.targets, None)
