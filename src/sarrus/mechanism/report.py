"""What an importer found in a model file, entry by entry: kept, warned, ignored or refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """What became of one element of a model file."""

    KEPT = "kept"
    WARNED = "warned"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True)
class Entry:
    """One element of the file: its kind (``joint``, ``equality connect``), name, outcome and the reason."""

    kind: str
    name: str
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.outcome.value:8} {self.kind} {self.name!r}{reason}"


@dataclass
class ImportReport:
    """The list of `sarrus.mechanism.report.Entry` of one import. Iterates over entries; ``str`` prints one line each.

    kept: taken over exactly. warned: taken over with a change of meaning, which the reason states.
    ignored: not part of the equations of motion. refused: a closure or joint left out with ``strict=False``.
    """

    source: str = ""
    entries: list[Entry] = field(default_factory=list)

    def add(self, outcome: Outcome, kind: str, name: str, reason: str = "") -> None:
        """Append one entry."""
        self.entries.append(Entry(kind, name, outcome, reason))

    def keep(self, kind: str, name: str, reason: str = "") -> None:
        """Append an element that was taken over exactly."""
        self.add(Outcome.KEPT, kind, name, reason)

    def warn(self, kind: str, name: str, reason: str) -> None:
        """Append an element that was taken over with a change of meaning."""
        self.add(Outcome.WARNED, kind, name, reason)

    def ignore(self, kind: str, name: str, reason: str) -> None:
        """Append an element that does not enter the equations of motion here."""
        self.add(Outcome.IGNORED, kind, name, reason)

    def refuse(self, kind: str, name: str, reason: str) -> None:
        """Append an element whose loss changes the mechanism."""
        self.add(Outcome.REFUSED, kind, name, reason)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def _of(self, outcome: Outcome) -> tuple[Entry, ...]:
        return tuple(e for e in self.entries if e.outcome is outcome)

    @property
    def kept(self) -> tuple[Entry, ...]:
        """Elements taken over exactly."""
        return self._of(Outcome.KEPT)

    @property
    def warned(self) -> tuple[Entry, ...]:
        """Elements taken over with a change of meaning."""
        return self._of(Outcome.WARNED)

    @property
    def ignored(self) -> tuple[Entry, ...]:
        """Elements that do not enter the equations of motion."""
        return self._of(Outcome.IGNORED)

    @property
    def refused(self) -> tuple[Entry, ...]:
        """Elements whose loss changes the mechanism, left out with ``strict=False``."""
        return self._of(Outcome.REFUSED)

    def summary(self) -> str:
        """Return one line: how many elements of each kind and outcome."""
        counts = Counter((e.outcome.value, e.kind) for e in self.entries)
        return ", ".join(
            f"{n} {kind if n == 1 else _plural(kind)} {outcome}"
            for (outcome, kind), n in sorted(counts.items())
        )

    def __str__(self) -> str:
        return "\n".join([self.source, *map(str, self.entries)])


def _plural(kind: str) -> str:
    if kind.endswith("y") and kind[-2:-1] not in "aeou":
        return kind[:-1] + "ies"
    return kind + ("es" if kind.endswith(("s", "x", "sh", "ch")) else "s")
