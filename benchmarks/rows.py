"""`Row`: one result, with the conditions under which it was measured, and its JSON form."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

KEYS = ("name", "model", "ours_us", "peer", "peer_us", "ratio", "conditions")


@dataclass(frozen=True)
class Row:
    """One comparison, or a measurement of sarrus alone (``peer`` None).

    ``ratio`` is peer_us / ours_us as a median of neighbouring pairs: above 1, sarrus is faster. ``at_least``
    is the target for the ratio, ``at_most`` that for its inverse, the cost in units of the peer, ``within_us`` the
    target for the time of sarrus. ``extra`` holds further figures, which go to the JSON object beside the common ones;
    its "cost", a median of neighbouring pairs too, is what ``at_most`` is for.
    """

    name: str
    model: str
    ours_us: float
    conditions: str
    peer: str | None = None
    peer_us: float | None = None
    ratio: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    within_us: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The target in words, empty where there is none."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g} ×"
        if self.at_most is not None:
            return f"{self.extra['cost']:.1f} of them, at most {self.at_most:g}"
        if self.within_us is None:
            return ""
        return f"< {self.within_us:g} µs" if self.within_us < 1e3 else f"< {1e-6 * self.within_us:g} s"

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.at_least is not None:
            return self.ratio is not None and self.ratio >= self.at_least
        if self.at_most is not None:
            return bool(self.extra["cost"] <= self.at_most)
        return None if self.within_us is None else self.ours_us < self.within_us

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object: the common keys first, then target and extra figures."""
        common = {key: getattr(self, key) for key in KEYS}
        taken = set(common) & set(self.extra)
        if taken:
            raise ValueError(f"extra figures must not repeat the common keys {sorted(taken)}")
        return common | {"target": self.target or None, "met": self.met} | dict(self.extra)


def write_json(rows: Iterable[Row], path: Path) -> None:
    """Write the rows as a list of objects; a figure that is not finite is an error."""
    text = json.dumps([row.to_dict() for row in rows], indent=2, ensure_ascii=False, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def conditions(*peers: str, note: str = "", repeats: int | None = None) -> str:
    """Describe machine, versions and repeats; ``peers`` are names of installed distributions.

    One thread is used unless the note says otherwise.
    """
    packages = ", ".join(f"{name} {version(name)}" for name in ("sarrus", *peers))
    python = f"Python {platform.python_version()}"
    parts = [f"{cpu()}, {os.cpu_count()} cores", f"{python}, {packages}"]
    if repeats is not None:
        parts.append(f"median of {repeats} interleaved repeats")
    return "; ".join([*parts, note] if note else parts)


def cpu() -> str:
    """Name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
