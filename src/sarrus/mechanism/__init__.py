"""The description of mechanisms: builder, elements and import report."""

from sarrus.mechanism.driven_body import DrivenBody
from sarrus.mechanism.elements import (
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
from sarrus.mechanism.gearing import Gearing
from sarrus.mechanism.joint import Joint
from sarrus.mechanism.keyframe import Keyframe
from sarrus.mechanism.laws import stribeck
from sarrus.mechanism.report import Entry, ImportReport
from sarrus.mechanism.rolling import Rolling
from sarrus.mechanism.sensor import Sensor
from sarrus.mechanism.tendons import Pulley, Tendon, TendonJoint, TendonPoint, Wrap
from sarrus.mechanism.transmissions import (
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
