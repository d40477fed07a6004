"""`Identification`: estimated parameters of a mechanism and their uncertainty."""

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
    """Base parameters and consistent parameters of a mechanism, estimated from a log; ``print`` shows them as a table.

    Attributes
    ----------
    base : the base parameters of all motions. kept : those that the log distinguishes.
    matrix : K (b, n): the b identified base parameters as combinations of the parameters. Base parameters that the log
        does not distinguish are combined with others.
    values, std : (b,) least-squares estimates and standard deviations; covariance (b, b). prior : (b,) values of the
        mechanism.
    size : (b,) scale of each: its value, or the largest term of its combination, with mass m, first moment m κ and
        inertia m κ² of a body, κ its radius of gyration about the origin of its frame.
    condition : condition number of the weighted equations, in characteristic units.
    misfit : sum of squared residuals of the equations of motion, in standard deviations of the given noise, per
        statistical degree of freedom: about one if the noise is as given. Much more: friction or flexibility that the
        mechanism lacks, or more noise. loop_misfit : the same for the loops.
    samples, left_out : number of samples used, and of those too slow for dry friction. periods : number of periods
        averaged.
    names, numbers, prior_numbers : (n,) all parameters: names, physically consistent estimates, the mechanism's own.
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
        """The base parameters as combinations of parameters."""
        return BaseParameters(
            self.names, tuple(self.base.kept[k] for k in self.kept), self.matrix, self.base.gap
        ).labels

    @cached_property
    def unidentifiable(self) -> tuple[str, ...]:
        """Parameters that no motion determines: without effect, or in combinations only (structural; see ``base``)."""
        return self.base.unidentifiable

    @cached_property
    def unexcited(self) -> tuple[str, ...]:
        """Base parameters that this log does not distinguish from others, although other motions would."""
        return tuple(label for k, label in enumerate(self.base.labels) if k not in self.kept)

    @cached_property
    def relative_std(self) -> Array:
        """Standard deviations divided by the sizes (b,)."""
        return read_only(self.std / self.size)

    @cached_property
    def well_excited(self) -> tuple[str, ...]:
        """Base parameters known to one percent: standard deviations of at most a third of a percent of their size."""
        return tuple(x for x, part in zip(self.labels, self.relative_std) if part <= WELL_TOLD)

    @cached_property
    def weak(self) -> tuple[str, ...]:
        """Base parameters that are poorly known: standard deviations above 3 % of their size."""
        return tuple(x for x, part in zip(self.labels, self.relative_std) if part > HARDLY_TOLD)

    @cached_property
    def consistent(self) -> Array:
        """The base parameters of the physically consistent parameters (b,)."""
        return read_only(self.matrix @ self.numbers)

    def __getitem__(self, number: str) -> float:
        """Return a physically consistent parameter by name."""
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
