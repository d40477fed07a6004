"""modelDescription.xml and buildDescription.xml."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from sarrus.base.printable import printable
from sarrus.base.version import __version__
from sarrus.dynamics.system import System
from sarrus.export.c.entry_points import left_out
from sarrus.export.fmi.units import base_units
from sarrus.export.fmi.variables import Options, Variable, Variables

CATEGORIES = {
    "logStatusWarning": "answers that are not full ones",
    "logStatusDiscard": "states and steps that have no answer",
    "logStatusError": "calls that are wrong",
}


def model_description(system: System, name: str, token: str, variables: Variables, options: Options) -> str:
    """Return modelDescription.xml of the unit."""
    root = ET.Element(
        "fmiModelDescription",
        fmiVersion="3.0",
        modelName=printable(system.name),
        instantiationToken=token,
        description=_said(system, options),
        generationTool=f"sarrus {__version__}",
        variableNamingConvention="flat",
    )
    can = {
        "modelIdentifier": name,
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true" if options.derivatives else "false",
    }
    if not (options.contacts or options.law):
        ET.SubElement(root, "ModelExchange", can, needsCompletedIntegratorStep="true")
    steps = {} if options.law else {"fixedInternalStepSize": repr(options.step)}
    ET.SubElement(root, "CoSimulation", can | steps, canHandleVariableCommunicationStepSize="true")
    every = variables.all
    _units(root, {one.unit for one in every})
    categories = ET.SubElement(root, "LogCategories")
    for category, said in CATEGORIES.items():
        ET.SubElement(categories, "Category", name=category, description=said)
    ET.SubElement(
        root, "DefaultExperiment", startTime="0.0", stopTime="1.0", stepSize=repr(10 * options.step)
    )
    described = ET.SubElement(root, "ModelVariables")
    for one in every:
        described.append(_variable(one))
    _structure(root, every)
    return _text(root)


def build_description(name: str, files: Iterable[str]) -> str:
    """Return buildDescription.xml for importers that compile the sources."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    sources = ET.SubElement(build, "SourceFileSet", language="C99", compilerOptions="-ffp-contract=off")
    for file in files:
        ET.SubElement(sources, "SourceFile", name=file)
    ET.SubElement(build, "Library", name="m")
    return _text(root)


def _said(system: System, options: Options) -> str:
    """Return the description text of the unit."""
    left = "" if options.contacts else left_out(system)
    if options.law:
        return f"control law for {printable(system.name)}, in SI units and radians."
    return f"dynamics of {printable(system.name)} in SI units and radians.{left}"


def _units(root: ET.Element, units: set[str]) -> None:
    known = {unit: found for unit in sorted(units) if unit and (found := base_units(unit)) is not None}
    definitions = ET.SubElement(root, "UnitDefinitions")
    for unit, powers in known.items():
        base = {name: str(power) for name, power in powers.items()}
        ET.SubElement(ET.SubElement(definitions, "Unit", name=unit), "BaseUnit", base)


def _variable(one: Variable) -> ET.Element:
    """Return the element of a variable."""
    has = {
        "name": printable(one.name),
        "valueReference": str(one.reference),
        "causality": one.causality,
        "variability": one.variability,
    }
    if one.description:
        has["description"] = one.description
    if one.causality in ("output", "parameter") and one.start is not None:
        has["initial"] = "exact"
    if one.unit and base_units(one.unit) is not None:
        has["unit"] = one.unit
    if one.start is not None:
        has["start"] = repr(one.start)
    if one.derivative is not None:
        has["derivative"] = str(one.derivative)
    return ET.Element("Float64", has)


def _structure(root: ET.Element, every: list[Variable]) -> None:
    """Append the outputs, the derivatives of states, and the variables computed at initialization."""
    structure = ET.SubElement(root, "ModelStructure")
    outputs = [one for one in every if one.causality == "output"]
    rates = [one for one in every if one.derivative is not None]
    states = {one.derivative for one in rates}
    for one in outputs:
        has = {"valueReference": str(one.reference)}
        if one.reference in states:  # a state depends on itself
            has |= {"dependencies": str(one.reference), "dependenciesKind": "constant"}
        ET.SubElement(structure, "Output", has)
    for one in rates:
        ET.SubElement(structure, "ContinuousStateDerivative", valueReference=str(one.reference))
    for one in sorted((*outputs, *rates), key=lambda one: one.reference):
        if one.is_calculated:
            ET.SubElement(structure, "InitialUnknown", valueReference=str(one.reference))


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
