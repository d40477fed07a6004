"""`ImportReport`: the elements of a model file, each with its outcome: acts, kept, left out or aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from sarrus.base import notebook


class Outcome(StrEnum):
    """Outcome of one element of a model file."""

    ACTS = "acts"
    KEPT = "kept"
    LEFT_OUT = "left out"
    ASIDE = "aside"


@dataclass(frozen=True)
class Entry:
    """One element of the file: its kind (``joint``, ``equality connect``), name, outcome and the reason or a note."""

    kind: str
    name: str
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.outcome.value:8} {self.kind} {self.name!r}{reason}"


@dataclass
class ImportReport:
    """The outcomes of one import. Iterates over `sarrus.model.mechanism.report.Entry`; ``str`` prints one line each.

    acts: the element acts as in the file. kept: it is recorded in the mechanism and does not act. left out: it would
    change the motion and is missing; the reason says what to do. aside: it has no influence on the motion (cameras,
    user data, settings of other programs).
    """

    source: str = ""
    entries: list[Entry] = field(default_factory=list)

    def act(self, kind: str, name: str, note: str = "") -> None:
        """Append an element that acts as in the file."""
        self.entries.append(Entry(kind, name, Outcome.ACTS, note))

    def keep(self, kind: str, name: str, reason: str) -> None:
        """Append an element that is recorded and does not act."""
        self.entries.append(Entry(kind, name, Outcome.KEPT, reason))

    def keep_friction(self, joint: str, *sizes: float) -> None:
        """Append the dry friction of a joint, one size [N, N m] per degree of freedom."""
        what = " and ".join(f"{size:g}" for size in sizes)
        self.keep("joint friction", joint, f"dry friction of {what} acts in runs, dynamics and statics")

    def leave_out(self, kind: str, name: str, reason: str) -> None:
        """Append an element whose loss changes the motion."""
        self.entries.append(Entry(kind, name, Outcome.LEFT_OUT, reason))

    def set_aside(self, kind: str, name: str, reason: str) -> None:
        """Append an element without influence on the motion."""
        self.entries.append(Entry(kind, name, Outcome.ASIDE, reason))

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def of(self, outcome: Outcome) -> tuple[Entry, ...]:
        """Return the entries of one outcome."""
        return tuple(e for e in self.entries if e.outcome is outcome)

    @property
    def acting(self) -> tuple[Entry, ...]:
        """Elements that act as in the file."""
        return self.of(Outcome.ACTS)

    @property
    def kept(self) -> tuple[Entry, ...]:
        """Elements that are recorded and do not act."""
        return self.of(Outcome.KEPT)

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """Elements whose loss changes the motion."""
        return self.of(Outcome.LEFT_OUT)

    @property
    def aside(self) -> tuple[Entry, ...]:
        """Elements without influence on the motion."""
        return self.of(Outcome.ASIDE)

    @property
    def complete(self) -> bool:
        """Whether every element of the file that influences the motion acts."""
        return not self.kept and not self.left_out

    def headline(self) -> str:
        """Return one line: how many elements act, are kept and are left out, with the kinds of the last two."""
        parts = [f"{len(self.acting)} elements act"]
        for entries, word in ((self.kept, "kept without acting"), (self.left_out, "left out")):
            if entries:
                parts.append(f"{len(entries)} {word} ({_kinds(entries)})")
        return ", ".join(parts)

    def summary(self) -> str:
        """Return one line: the number of elements of each kind and outcome."""
        return "; ".join(
            f"{outcome.value}: {_kinds(entries)}" for outcome in Outcome if (entries := self.of(outcome))
        )

    def __str__(self) -> str:
        return "\n".join([self.source, *map(str, self.entries)])

    def _repr_html_(self) -> str:
        rows = [(e.outcome.value, e.kind, e.name, e.reason) for e in self.entries]
        first = sorted(rows, key=lambda row: row[0] in ("acts", "aside"))  # losses first
        title = f"{self.source}: {self.headline()}" if self.source else self.headline()
        return notebook.heading(title) + notebook.table(("", "element", "name", "reason or note"), first)


def _kinds(entries: tuple[Entry, ...]) -> str:
    counts = Counter(entry.kind for entry in entries)
    return ", ".join(f"{n} {kind if n == 1 else _plural(kind)}" for kind, n in sorted(counts.items()))


def _plural(kind: str) -> str:
    if kind.endswith("y") and kind[-2:-1] not in "aeou":
        return kind[:-1] + "ies"
    return kind + ("es" if kind.endswith(("s", "x", "sh", "ch")) else "s")
