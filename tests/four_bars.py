"""A planar four-bar for designs, and its closed form in mpmath or complex numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath as mp
import numpy as np

import sarrus as sr

# Crank, coupler, rocker, ground; all turn about z, the rocker's pivot is (ground, 0).
LENGTHS = {"a": 0.1, "b": 0.3, "c": 0.25, "g": 0.32}
MASSES = {"crank": 0.5, "coupler": 0.8, "rocker": 0.7}
COUPLER_COM = (0.12, 0.04)
DRIVES = {"a": "coupler.placement.x", "b": "pin.pose1.x", "c": "pin.pose2.x", "g": "rocker.placement.x"}
# A point of the coupler, in its axes, and angles of the crank.
POINT = (0.2, 0.1, 0.0)
ANGLES = np.array([0.4, 1.0, 1.7, 2.5, 3.4])


def four_bar(lengths: Mapping[str, float] = LENGTHS, closure: str = "point") -> sr.Mechanism:
    """Return the linkage; a "point" in space has a dead row, a "revolute" or a "weld"-like closure more of them."""
    mechanism = sr.Mechanism("four_bar", gravity=(0, -9.81, 0))
    a, b, c, g = (lengths[name] for name in "abcg")
    mechanism.add_body("crank", MASSES["crank"], (0.05, 0, 0), (0.001, 0.002, 0.002))
    mechanism.add_body("coupler", MASSES["coupler"], (*COUPLER_COM, 0), (0.001, 0.004, 0.004))
    mechanism.add_body("rocker", MASSES["rocker"], (0.1, 0, 0), (0.001, 0.003, 0.003))
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("coupler", "revolute", "crank", "coupler", parent_pose=(a, 0, 0))
    mechanism.add_joint("rocker", "revolute", "world", "rocker", parent_pose=(g, 0, 0))
    mechanism.add_closure("pin", closure, "coupler", "rocker", pose1=(b, 0, 0), pose2=(c, 0, 0))
    return mechanism


def guess(angle: float, lengths: Mapping[str, float] = LENGTHS) -> np.ndarray:
    """Return the coordinates with the pin above the line of the pivots."""
    return np.array([float(x) for x in coordinates(angle, lengths)])


def coordinates(angle: Any, lengths: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return the angles of crank, coupler relative to crank, and rocker, in the numbers that come in (mpmath)."""
    a, b, c, g = (mp.mpf(lengths[name]) for name in "abcg")
    angle = mp.mpf(angle)
    tip = a * mp.expj(angle)
    base = g - tip
    d = abs(base)
    along = (d**2 + b**2 - c**2) / (2 * d)
    pin = tip + base / d * (along + 1j * mp.sqrt(b**2 - along**2))
    return angle, mp.arg(pin - tip) - angle, mp.arg(pin - g)


def coupler_point(angle: Any, lengths: Mapping[str, Any], where: tuple[Any, Any]) -> Any:
    """Return a point of the coupler as a complex number."""
    crank, turn, _ = coordinates(angle, lengths)
    return mp.mpf(lengths["a"]) * mp.expj(crank) + mp.mpc(*where) * mp.expj(crank + turn)


def centres(angle: Any, lengths: Mapping[str, Any], com: Mapping[str, tuple[Any, Any]]) -> list[Any]:
    """Return the centres of mass of crank, coupler and rocker as complex numbers."""
    crank, _, rocker = coordinates(angle, lengths)
    return [
        mp.mpc(*com["crank"]) * mp.expj(crank),
        coupler_point(angle, lengths, com["coupler"]),
        mp.mpf(lengths["g"]) + mp.mpc(*com["rocker"]) * mp.expj(rocker),
    ]


def points(angles: np.ndarray = ANGLES) -> np.ndarray:
    """Return where the coupler point of the linkage with ``LENGTHS`` is."""
    return np.array(
        [[float(mp.re(z)), float(mp.im(z))] for z in (coupler_point(x, LENGTHS, POINT[:2]) for x in angles)]
    )


def derivative(f: Callable[[Any], Any], at: float, step: str = "1e-18") -> Any:
    """Return f′ by a central difference, with the error of the square of the step."""
    h = mp.mpf(step)
    return (f(mp.mpf(at) + h) - f(mp.mpf(at) - h)) / (2 * h)


def gradient(f: Callable[[dict[str, Any]], Any], at: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    """Return the derivatives of f by names."""
    return np.array([float(derivative(lambda x, name=name: f({**at, name: x}), at[name])) for name in names])
