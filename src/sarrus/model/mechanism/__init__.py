"""The description of a mechanism: the elements (bodies, joints, closures, …), their builder and the import report."""

from sarrus.model.mechanism.driven_body import DrivenBody
from sarrus.model.mechanism.elements import (
    Activation,
    Actuator,
    Body,
    Closure,
    Contact,
    ContactPatch,
    CoordinateSpring,
    Coupling,
    SpringDamper,
    UserForce,
    Winding,
)
from sarrus.model.mechanism.gearing import Gearing
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.keyframe import Keyframe
from sarrus.model.mechanism.laws import stribeck
from sarrus.model.mechanism.report import Entry, ImportReport
from sarrus.model.mechanism.rolling import Rolling
from sarrus.model.mechanism.sensor import Sensor
from sarrus.model.mechanism.tendons import LengthLimit, Pulley, Tendon, TendonJoint, TendonPoint, Wrap
from sarrus.model.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
)

__all__ = [
    "Activation",
    "Actuator",
    "Body",
    "Closure",
    "Contact",
    "ContactPatch",
    "CoordinateSpring",
    "Coupling",
    "DrivenBody",
    "Entry",
    "Gearing",
    "ImportReport",
    "Joint",
    "Keyframe",
    "LengthLimit",
    "ParentTransmission",
    "Pulley",
    "Rolling",
    "Sensor",
    "SiteTransmission",
    "SliderCrank",
    "SpringDamper",
    "Tendon",
    "TendonJoint",
    "TendonPoint",
    "TendonTransmission",
    "UserForce",
    "Winding",
    "Wrap",
    "stribeck",
]
