"""Sensors of SDF: inertial measurement units become a gyro and an accelerometer, the others are listed."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.frames import Frame, Scope

# Measurements of an IMU in its own axes → kind of sensor.
_MEASURED = {"angular_velocity": "gyro", "linear_acceleration": "accelerometer"}
_ADVICE = {
    "force_torque": "; add_sensor(kind='force') and 'torque' measure what the parent exerts on the child",
    "altimeter": "; add_sensor(kind='framepos') measures heights",
    "magnetometer": "; add_sensor(kind='magnetometer') measures mechanism.magnetic_field",
}


def add_sensors(importing: Import, scope: Scope, link: Frame) -> None:
    """Add ``LINK/SENSOR.gyro`` [rad/s] and ``LINK/SENSOR.accelerometer`` [m/s²] of every IMU of a link, in its axes.

    The acceleration is minus free fall, as in Gazebo. Orientations, update rates and bias have no counterpart; a
    noise is recorded if it is equal on all axes.
    """
    name, element = scope.full(link.name), link.element
    for sensor in element.findall("sensor"):
        label = f"{name}/{sensor.get('name', 'sensor')}"
        kind = sensor.get("type", "")
        if kind != "imu":
            report_sensor(importing, kind, "link sensor", label)
            continue
        pose = scope.local_pose(element, sensor, f"sensor {label!r}")
        for measured, own in _MEASURED.items():
            given = sensor.find(f"imu/{measured}")
            noise = _noise(given, f"sensor {label!r}: {measured}")
            importing.mechanism.add_sensor(f"{label}.{own}", own, name, pose=pose, noise=noise)
        importing.report.act(
            "link sensor", label, "a gyro and an accelerometer; its orientation is not measured"
        )


def report_sensor(importing: Import, kind: str, entry: str, label: str) -> None:
    """List a sensor without counterpart."""
    importing.report.set_aside(entry, label, f"a sensor of type {kind!r} is not read{_ADVICE.get(kind, '')}")


def _noise(axes: Element | None, label: str) -> float:
    """Return the standard deviation of the noise if it is equal for x, y and z, else zero."""
    deviations = {xml.number(axes, f"{axis}/noise/stddev", 0.0, label) for axis in "xyz"}
    return deviations.pop() if len(deviations) == 1 else 0.0
