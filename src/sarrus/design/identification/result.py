"""`Identification`: what a log says of a mechanism, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_known
from sarrus.design.identification.base import BaseParameters
from sarrus.design.identification.tolerances import HARDLY_TOLD, WELL_TOLD
from sarrus.model.builders.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Identification:
    """Base parameters and numbers of a mechanism; ``print`` shows them as a table.

    Attributes
    ----------
    base : the base parameters of all motions. kept : those of them that the log tells apart.
    matrix : K (b, n): the b base parameters as combinations of the numbers. Where the log tells fewer apart than there
        are, those that it does not tell have joined others.
    values, std : (b,) estimates by least squares and their standard deviations; covariance (b, b). prior : (b,) what
        the mechanism says.
    size : (b,) what each is small against: its own value, or the largest part of what it combines, with mass m, first
        moment m κ and inertia m κ² of a body, κ its radius of gyration about the origin of its frame.
    condition : ratio of the largest to the smallest singular value of the weighted equations, in characteristic units.
    misfit : sum of squares of what the equations of motion miss, in standard deviations of the given noise, for each
        degree of freedom: about one where the noise is as large as it was said to be. Far above: friction or
        flexibility that the mechanism does not have, or more noise. loop_misfit : the same of the loops.
    samples, left_out : how many counted, and how many were too slow for dry friction. periods : how many each is
        the mean of.
    names, numbers, prior_numbers : (n,) all numbers: physically consistent ones, and the mechanism's own.
    mechanism : a copy of the mechanism with ``numbers``.
    """

    name: str
    base: BaseParameters
    kept: tuple[int, ...]
    matrix: Array
    values: Array
    prior: Array
    covariance: Array
    size: Array
    condition: float
    misfit: float
    loop_misfit: float
    samples: int
    left_out: int
    periods: int
    iterations: int
    names: tuple[str, ...]
    numbers: Array
    prior_numbers: Array
    mechanism: Mechanism

    @cached_property
    def std(self) -> Array:
        """Standard deviations (b,)."""
        return read_only(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The base parameters as combinations of numbers."""
        return BaseParameters(
            self.names, tuple(self.base.kept[k] for k in self.kept), self.matrix, self.base.gap
        ).labels

    @cached_property
    def unidentifiable(self) -> tuple[str, ...]:
        """Numbers that no motion tells: without effect, or in sums only (structural; see ``base``)."""
        return self.base.unidentifiable

    @cached_property
    def unexcited(self) -> tuple[str, ...]:
        """Base parameters that this log does not tell apart from others, though other motions would."""
        return tuple(label for k, label in enumerate(self.base.labels) if k not in self.kept)

    @cached_property
    def relative_std(self) -> Array:
        """Standard deviations over sizes (b,)."""
        return read_only(self.std / self.size)

    @cached_property
    def well_excited(self) -> tuple[str, ...]:
        """Base parameters that the log tells to one percent: standard deviations up to a third of it, of their size."""
        return tuple(x for x, part in zip(self.labels, self.relative_std) if part <= WELL_TOLD)

    @cached_property
    def weak(self) -> tuple[str, ...]:
        """Base parameters that the log hardly tells: standard deviations beyond 3 % of their size."""
        return tuple(x for x, part in zip(self.labels, self.relative_std) if part > HARDLY_TOLD)

    @cached_property
    def consistent(self) -> Array:
        """The base parameters that the physically consistent numbers have (b,)."""
        return read_only(self.matrix @ self.numbers)

    def __getitem__(self, number: str) -> float:
        """Return one of the physically consistent numbers by name."""
        check_known("number", number, self.names, self.name)
        return float(self.numbers[self.names.index(number)])

    def __str__(self) -> str:
        left = f", {self.left_out} too slow for dry friction" if self.left_out else ""
        mean = f", each the mean of {self.periods} periods" if self.periods > 1 else ""
        lines = [
            f"{self.name}: {len(self.values)} base parameters of {len(self.names)} numbers from "
            f"{self.samples} samples{mean}{left}",
            f"condition {self.condition:.3g}, misfit {self.misfit:.3g} per degree of freedom",
            f"{len(self.well_excited)} of {len(self.values)} are well excited: ± up to 1/3 % of their sizes",
            f"{'estimate':>12} {'±':>9} {'± [%]':>7} {'before':>10}  base parameter",
        ]
        for value, std, part, prior, label in zip(
            self.values, self.std, self.relative_std, self.prior, self.labels
        ):
            lines.append(f"{value:>12.6g} {std:>9.2g} {100.0 * part:>7.2g} {prior:>10.5g}  {label}")
        for what, names in (("not excited", self.unexcited), ("hardly told", self.weak)):
            if names:
                lines.append(f"{what}: " + "; ".join(names))
        return "\n".join(lines)
