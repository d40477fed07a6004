"""The five-bar studies of Spencer 2004, section 3.2: python docs/gallery/five_bar.py writes the pictures and tables.

The mechanism is that of examples/five_bar.py, whose loop is cut at the middle joint; all runs are Runge–Kutta of order
4 at 1 ms. What the page says in words is asserted here.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import sarrus as sr
from sarrus.analysis.comparison.comparison import Comparison, compare
from sarrus.formulations import null_space

Array = NDArray[np.float64]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = HERE / "five_bar.md"


def module(path: Path) -> ModuleType:
    """Return the module in a file."""
    spec = importlib.util.spec_from_file_location(f"gallery_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


five_bar = module(ROOT / "examples" / "five_bar.py")
drawings = module(HERE / "drawings.py")

PASSAGES = (0.6508, 1.8538, 3.9098)  # of the symmetric fall, from runs at tolerance 1e-12 [s]
GAINS = (10.0, 10.0)
STEP = {"dt": 1e-3, "error_estimate": False}  # the study compares runs with the same steps
BAUMGARTE = {"stabilization": sr.Stabilization("baumgarte", gains=GAINS), **STEP}
ENERGY = {"stabilization": "energy", **STEP}
RUNS = {
    "Lagrange, Baumgarte": {"formulation": "lagrange", **BAUMGARTE},
    "null space, Baumgarte": {"formulation": "null-space", **BAUMGARTE},
    "Lagrange, projection": {"formulation": "lagrange"},
    "null space, projection": {"formulation": "null-space"},
    "null space, projection with energy": {"formulation": "null-space", **ENERGY},
}
TEXTBOOK, ROBUST = "Lagrange, Baumgarte", "null space, projection"
PRINTED = (TEXTBOOK, "null space, projection with energy")  # the two approaches of the thesis
STABILIZATIONS = {
    "none": {"stabilization": "none", **STEP},
    "Baumgarte": BAUMGARTE,
    "projection": STEP,
    "with energy": ENERGY,
}
ROUNDING = 1e-14  # size of the changes of the start that stand for rounding [rad]


# --- studies -------------------------------------------------------------------------------------------


def release(system: sr.System, duration: float = 5.0) -> sr.Trajectory:
    """Release at rest in the singular configuration; null space, nothing stabilised."""
    start = five_bar.COLLINEAR
    return sr.simulate(
        system, start, duration=duration, dt=1e-3, formulation="null-space", stabilization="none"
    )


def methods(system: sr.System, duration: float = 5.0) -> Comparison:
    """Release the symmetric configuration at rest, by formulations and stabilisations."""
    return compare(system, five_bar.SYMMETRIC, duration=duration, formulations=RUNS, progress=True)


@dataclass(frozen=True, eq=False)
class Indicators:
    """What tells a spike along a run: arrays over its samples.

    ``multipliers``: largest |λ| [N]. ``condition``: σ₁/σ_m of A. ``indicator``: |u_mᵀγ̃| [m/s²], γ̃ with the terms of
    Baumgarte where they act (Spencer 2004, eqs. (3.7), (3.9)). ``acceleration``: that over σ_m [rad/s²].
    """

    multipliers: Array
    condition: Array
    indicator: Array
    acceleration: Array


def indicators(run: sr.Trajectory, gains: tuple[float, float] | None = None) -> Indicators:
    """Return the indicators along a run; ``gains`` are those of Baumgarte's terms."""
    system = run.system
    assert system is not None
    found = []
    for q, v in zip(run.q, run.v):
        gamma = np.array(system.constraint_bias(q, v))
        if gains is not None:
            alpha, beta = gains
            gamma += 2 * alpha * system.velocity_residual(q, v) + beta**2 * system.constraint_residual(q)
        solved = null_space(
            system.mass_matrix(q), system.bias_force(q, v), system.constraint_jacobian(q), gamma
        )
        found.append(
            [
                solved.details[name]
                for name in ("constraint_condition", "spike_indicator", "spike_acceleration")
            ]
        )
    condition, indicator, acceleration = np.array(found).T
    return Indicators(np.abs(run.multipliers).max(axis=1), condition, indicator, acceleration)


def energy_errors(run: sr.Trajectory) -> Array:
    """Return the largest |T + V − E₀| before the first passage, between the passages and after the last [J]."""
    error = np.abs(run.energy - run.energy[0])
    stage = np.searchsorted(PASSAGES, run.t)
    return np.array([error[stage == k].max(initial=0.0) for k in range(len(PASSAGES) + 1)])


def layouts() -> dict[str, tuple[sr.System, Array]]:
    """Return three ways to write the same loop, each with the symmetric start."""
    loaded = sr.load(ROOT / "models" / "five_bar.xml")
    upward = five_bar.SYMMETRIC
    inclination = np.array(
        [upward[0], upward[0] + upward[1], upward[2] + upward[3] - np.pi, upward[2] - np.pi]
    )
    return {
        "middle, world axes": (sr.System(loaded), loaded.keyframes["symmetric"].q),
        "middle, axes of link 2": (sr.System(five_bar.build()), upward),
        "right support, world axes": (sr.System(chain()), np.diff(inclination, prepend=0.0)),
    }


def chain() -> sr.Mechanism:
    """Return the five-bar as one chain q1 … q4 [rad] from the left support, with its loop cut at the right one."""
    mechanism = sr.Mechanism("five_bar_chain")
    parent, along = "world", 0.0
    for k, (name, length) in enumerate(five_bar.LENGTH.items(), 1):
        moment = five_bar.INERTIA[name]
        mechanism.add_body(
            name, five_bar.MASS[name], com=(length / 2, 0, 0), inertia=(0.1 * moment, moment, moment)
        )
        mechanism.add_joint(f"q{k}", "revolute", parent, name, axis=(0, -1, 0), parent_pose=(along, 0, 0))
        parent, along = name, length
    mechanism.add_closure(
        "support", "point_on_line", "world", "link4", axis=(0, 1, 0), pose1=(1, 0, 0), pose2=(1, 0, 0)
    )
    return mechanism


def rounding(starts: int = 100, duration: float = 5.0) -> dict[tuple[str, str], Array]:
    """Return (layout, stabilisation) → energy errors (starts, stages) of the kernel from almost equal starts.

    Rows of runs that did not reach the end are NaN.
    """
    changes = ROUNDING * np.random.default_rng(1).standard_normal((starts, 4))
    errors = {}
    for layout, (system, start) in layouts().items():
        for name, options in STABILIZATIONS.items():
            runs = [
                sr.simulate(system, start + change, duration=duration, throw=False, **options)
                for change in changes
            ]
            errors[layout, name] = np.array(
                [energy_errors(run) if run.status.ok else np.full(len(PASSAGES) + 1, np.nan) for run in runs]
            )
    return errors


def growth(system: sr.System, change: float = 1e-11) -> float:
    """Return by what factor a small deviation from mirror symmetry has grown just before the last passage."""
    lifted = five_bar.SYMMETRIC + change * np.eye(4)[0]
    start = system.assemble(lifted, locked=["left", "right"]).q
    run = sr.simulate(system, start, duration=PASSAGES[-1] - 0.05, rtol=1e-12, atol=1e-12)
    deviation = np.abs(run.q[:, 0] + run.q[:, 2] - np.pi)
    return float(deviation[-1] / deviation[0])


# --- the page ------------------------------------------------------------------------------------------


def parameters_table() -> str:
    """Return table 3.1 of the thesis as printed, beside the numbers of the example."""
    printed = {"1 & 4": ("L = 1.0", "2.0", "1.0"), "2 & 3": ("3L/2 = 1.5", "3.0", "2.0")}
    rows = []
    for label, (length, mass, inertia) in printed.items():
        names = [f"link{number}" for number in label.split(" & ")]
        own = [
            {numbers[name] for name in names}
            for numbers in (five_bar.LENGTH, five_bar.MASS, five_bar.INERTIA)
        ]
        assert [len(values) for values in own] == [1, 1, 1]
        here = [f"{values.pop():.1f}" for values in own]
        rows.append((label, length, here[0], mass, here[1], inertia, here[2]))
    head = (
        "link",
        "length [m], printed",
        "here",
        "mass [kg], printed",
        "here",
        "inertia [kg m²], printed",
        "here",
    )
    return table(head, rows)


def printed_figures(comparison: Comparison) -> Figure:
    """Return figures 3.7 to 3.10 of the thesis."""
    textbook, robust = (comparison[name] for name in PRINTED)
    return drawings.printed((textbook, robust), textbook.multipliers, indicators(robust).indicator)


def release_table(run: sr.Trajectory) -> str:
    """Return the figures of the release as a table."""
    back_at, distance = five_bar.nearest_return(run)
    until = run.t <= back_at
    error = np.abs(run.energy - run.energy[0])
    rows = [
        ("returns at, to the millisecond", f"{back_at:.3f} s"),
        ("exact time, by quadrature", f"{five_bar.RETURN_TIME:.3f} s"),
        ("distance from the start then", f"{distance:.2g} rad"),
        ("energy error until then", f"{error[until].max():.2g} J"),
        ("loop gap until then", f"{run.residual[until].max():.2g} m"),
        ("energy error in 5 s", f"{error.max():.2g} J"),
        ("loop gap in 5 s", f"{run.residual.max():.2g} m"),
    ]
    return table(("", ""), rows)


def methods_table(comparison: Comparison) -> str:
    """Return energy errors by stage and residuals of every run as a table."""
    rows = [
        (row.formulation, *(f"{e:.2g}" for e in energy_errors(comparison[row.formulation])),
         f"{row.closure_residual:.2g}", f"{row.velocity_residual:.2g}")
        for row in comparison.table()
    ]  # fmt: skip
    return table(
        ("", "before", "after 0.65 s", "after 1.85 s", "after 3.91 s", "loop gap [m]", "ψ [m/s]"), rows
    )


def indicators_table(found: dict[str, Indicators], t: Array) -> str:
    """Return the largest values of the indicators within 50 ms of the passages as a table."""
    rows = []
    for k, passage in enumerate(PASSAGES, 1):
        near = np.abs(t - passage) < 0.05
        for name, seen in found.items():
            rows.append(
                (f"{k}: {passage:.2f} s", name, f"{seen.condition[near].max():,.0f}",
                 f"{seen.multipliers[near].max():.2g}", f"{seen.indicator[near].max():.2g}",
                 f"{seen.acceleration[near].max():.2g}")
            )  # fmt: skip
    return table(
        (
            "passage",
            "run",
            "largest σ₁/σ_m",
            "largest \\|λ\\| [N]",
            "largest \\|u_mᵀγ̃\\|",
            "the same over σ_m",
        ),
        rows,
    )


def rounding_table(errors: dict[tuple[str, str], Array]) -> str:
    """Return median and range of the energy error after the last passage, and how many runs broke off."""
    rows: dict[str, list[str]] = {}
    for (layout, _), values in errors.items():
        last = values[:, -1]
        low, middle, high = np.nanquantile(last, (0.0, 0.5, 1.0))
        failed = np.count_nonzero(np.isnan(last))
        text = f"{middle:.2g} ({low:.2g} … {high:.2g})" + (f", {failed} broke off" if failed else "")
        rows.setdefault(layout, []).append(text)
    return table(("loop cut at", *STABILIZATIONS), ([layout, *cells] for layout, cells in rows.items()))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), *([list(row) for row in rows])]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write(name: str, text: str, page: Path = PAGE) -> None:
    """Put a text between the marks of its name on the page."""
    old = page.read_text(encoding="utf-8")
    block = re.compile(rf"(<!-- {name}:start -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    assert len(block.findall(old)) == 1, f"{page.name} has no place for {name!r}"
    page.write_text(block.sub(lambda found: f"{found[1]}{text}\n{found[2]}", old), encoding="utf-8")


def claims(
    system: sr.System,
    fall: sr.Trajectory,
    comparison: Comparison,
    found: dict[str, Indicators],
    spread: dict[tuple[str, str], Array],
) -> None:
    """Assert what the page says in words."""
    back_at, distance = five_bar.nearest_return(fall)
    assert abs(back_at - five_bar.RETURN_TIME) < 5e-3
    assert distance < 5e-3
    assert fall.energy_drift < 1e-3
    textbook, robust = energy_errors(comparison[TEXTBOOK]), energy_errors(comparison[ROBUST])
    assert all(textbook[1:] > 10 * robust[1:])
    assert textbook[3] > 1e-2
    assert robust.max() < 1e-6
    assert energy_errors(comparison["null space, projection with energy"]).max() < 1e-11
    for name in list(RUNS)[2:]:
        assert comparison[name].residual.max() < 1e-13
        assert [round(p.time, 2) for p in comparison[name].passages] == [0.65, 1.85, 3.91]
    assert comparison[TEXTBOOK].residual.max() > 1e-7
    quiet, loud = found[ROBUST], found[TEXTBOOK]
    assert loud.multipliers.max() > 10 * quiet.multipliers.max()
    for layout in layouts():
        last = {name: spread[layout, name][:, 3] for name in STABILIZATIONS}
        assert last["none"].min() > 1.0
        assert np.nanmax(last["with energy"]) < 1e-11
    assert 1e6 < growth(system) < 1e8
    symmetric, turned, support = layouts()
    assert max(spread[symmetric, name][:, 3].max() for name in ("Baumgarte", "projection")) < 1e-4
    assert np.median(spread[turned, "projection"][:, 3]) > 1e-2 > energy_errors(comparison[ROBUST])[3]
    assert spread[support, "Baumgarte"][:, 3].min() > 10.0
    low, middle, high = np.quantile(spread[support, "projection"][:, 3], (0.0, 0.5, 1.0))
    assert low < 1e-3
    assert 1e-3 < middle < 1.0 < high


def main() -> None:
    """Run the studies, check what the page says, write pictures and tables."""
    system = sr.System(five_bar.build())
    fall = release(system)
    comparison = methods(system)
    found = {
        TEXTBOOK: indicators(comparison[TEXTBOOK], GAINS),
        ROBUST: indicators(comparison[ROBUST]),
    }
    spread = rounding()
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    everything = compare(
        sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=5.0, progress=True
    )
    claims(system, fall, comparison, found, spread)
    write("parameters", parameters_table())
    write("release", release_table(fall))
    write("methods", methods_table(comparison))
    write("indicators", indicators_table(found, comparison[ROBUST].t))
    write("rounding", rounding_table(spread))
    write("everything", f"```text\n{everything}\n```")
    for name, figure in {
        "release": drawings.release(system, fall, indicators(fall).condition),
        "methods": comparison.plot(),
        "printed": printed_figures(comparison),
        "indicators": drawings.indicators(comparison[ROBUST].t, found, PASSAGES),
        "rounding": drawings.rounding(spread),
        "everything": everything.plot(),
    }.items():
        drawings.save(figure, HERE / f"five_bar_{name}.png")


if __name__ == "__main__":
    main()
