"""How the attempts of an attack ended: counted by outcome, with the first failures kept to be done again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

KEPT = 20  # failures of each attack that are kept


@dataclass
class Tally:
    """One attack: what is done, what must come of it, and what came.

    Attributes
    ----------
    attack : what is done, such as "one bit of a trajectory file flipped".
    wanted : what must come of it, such as "an error that names the file".
    outcomes : how often each outcome came.
    failures : outcomes that must not be, each with what makes it again (a seed, a file, a place).
    """

    attack: str
    wanted: str
    outcomes: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Number of attempts."""
        return sum(self.outcomes.values())

    def passes(self, outcome: str) -> None:
        """Count an attempt that ended as it should."""
        self.outcomes[outcome] += 1

    def fails(self, outcome: str, again: str) -> None:
        """Count an attempt that ended as it must not; ``again`` says how to repeat it."""
        self.outcomes[outcome] += 1
        self.failed += 1
        if len(self.failures) < KEPT:
            self.failures.append(f"{outcome}: {again}")

    def check(self) -> None:
        """Raise an AssertionError with the failures, or if nothing was tried."""
        assert self.tried, f"{self.attack}: nothing was tried"
        assert not self.failed, f"{self.attack}: {self.failed} of {self.tried}\n" + "\n".join(self.failures)

    def row(self) -> str:
        """Return the row of the table in docs/reliability.md."""
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common())
        return f"| {self.attack} | {self.wanted} | {self.tried:,} | {outcomes} | {self.failed:,} |"


HEADER = "| attack | required result | tried | results | failed |\n| --- | --- | --- | --- | --- |"
