"""The results as tables: in the terminal, as Markdown, and between two markers of a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.rows import Row

START, END = "<!-- bench:start -->", "<!-- bench:end -->"
Cells = tuple[str, ...]
Section = tuple[str, Cells, list[Cells]]  # title, header, lines


def duration(microseconds: float) -> str:
    """Return a time with its unit, three significant digits."""
    for limit, factor, unit in ((1e3, 1.0, "µs"), (1e6, 1e-3, "ms")):
        if microseconds < limit:
            return f"{_digits(microseconds * factor)} {unit}"
    return f"{_digits(1e-6 * microseconds)} s"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def verdict(row: Row) -> str:
    """Return the target and whether it is met."""
    return "" if row.met is None else f"{row.target}: {'met' if row.met else 'MISSED'}"


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return the tables that have lines: speed against peers, growth with size, work against error, control laws, cone
    programs, accuracy, cost, walking, start-up.
    """
    accuracy = [r for r in rows if "peer_gap_m" in r.extra]
    cost = [r for r in rows if "peak_memory_mb" in r.extra]
    laws = [r for r in rows if "kernel_us" in r.extra]
    answers = [r for r in rows if "control_difference" in r.extra]
    cones = [r for r in rows if "bare_us" in r.extra]
    sizes = [r for r in rows if "size" in r.extra]
    work = [r for r in rows if "points" in r.extra]
    contacts = [r for r in rows if "solvers" in r.extra]
    friction = [r for r in rows if "peer_off" in r.extra]
    apart = [*accuracy, *laws, *answers, *cones, *sizes, *work, *contacts, *friction]
    speed = [r for r in rows if r.peer is not None and r not in apart]
    alone = [r for r in rows if r.peer is None and r not in [*cost, *laws, *contacts]]
    ticks = [r for r in alone if "relaxed" in r.extra]
    tables = (
        _speed("Speed", speed),
        _speed("Growth with size", sizes),
        _work(work),
        _laws(laws),
        _cones(cones),
        _answers(answers),
        _contacts(contacts),
        _friction(friction),
        _accuracy(accuracy),
        _cost(cost),
        _times("Walking: a tick of LeggedController", ticks),
        _times("Start-up", [r for r in alone if r not in ticks]),
    )
    return [table for table in tables if table[2]]


def _speed(title: str, rows: Sequence[Row]) -> Section:
    lines: list[Cells] = []
    for r in rows:
        peer = (r.peer or "", duration(r.peer_us or 0.0), f"{r.ratio:.2f}")
        lines.append((r.name, r.model, duration(r.ours_us), *peer, verdict(r)))
    return title, ("what", "model", "sarrus", "peer", "time of peer", "ratio", "target"), lines


def _work(rows: Sequence[Row]) -> Section:
    header = (
        "a motion",
        "model",
        "sarrus",
        "with",
        "error",
        "peer",
        "time of peer",
        "error of peer",
        "ratio",
    )
    lines: list[Cells] = []
    for r in rows:
        own = duration(r.ours_us), r.extra["setting"], f"{r.extra['ours_error']:.0e}"
        peer = r.peer or "", duration(r.peer_us or 0.0), f"{r.extra['peer_error']:.0e}", f"{r.ratio:.0f}"
        lines.append((r.name, r.model, *own, *peer))
    return "Work against error", header, lines


def _laws(rows: Sequence[Row]) -> Section:
    header = (
        "law",
        "model",
        "from Python",
        "in the kernel",
        "peer",
        "time of peer",
        "ratio",
        "of kernel",
        "target",
    )
    lines: list[Cells] = []
    for r in rows:
        peer: Cells = ("", "", "", "")
        if r.peer is not None:
            ratios = f"{r.ratio:.2f}", f"{r.extra['kernel_ratio']:.1f}"
            peer = (r.peer, duration(r.peer_us or 0.0), *ratios)
        lines.append(
            (r.name, r.model, duration(r.ours_us), duration(r.extra["kernel_us"]), *peer, verdict(r))
        )
    return "Control laws", header, lines


def _cones(rows: Sequence[Row]) -> Section:
    header = (
        "program",
        "from Python",
        "in the kernel",
        "peer, from Python",
        "time of peer",
        "ratio",
        "of kernel",
        "target",
    )
    lines: list[Cells] = []
    for r in rows:
        times = duration(r.ours_us), duration(r.extra["bare_us"]), r.peer or "", duration(r.peer_us or 0.0)
        lines.append((r.name, *times, f"{r.ratio:.2f}", f"{r.extra['bare_ratio']:.1f}", verdict(r)))
    return "Cone programs", header, lines


def _answers(rows: Sequence[Row]) -> Section:
    header = (
        "random programs",
        "number",
        "peer says",
        "cost, where solved",
        "u, where solved",
        "u elsewhere",
        "u, bound",
        "sarrus",
        "of peer",
    )
    lines: list[Cells] = []
    for r in rows:
        names = ("cost_difference", "control_difference", "unsolved_control_difference", "control_bound")
        told = ", ".join(f"{number} {status}" for status, number in r.extra["peer_statuses"].items())
        figures = [f"{r.extra[name]:.1e}" for name in names]
        lines.append(
            (
                r.name,
                str(r.extra["instances"]),
                told,
                *figures,
                duration(r.ours_us),
                duration(r.peer_us or 0.0),
            )
        )
    return "Answers to random cone programs: largest relative differences", header, lines


def _contacts(rows: Sequence[Row]) -> Section:
    solvers = list(rows[0].extra["solvers"]) if rows else []
    lines: list[Cells] = []
    for r in rows:
        cells = []
        for figures in r.extra["solvers"].values():
            some = "" if figures["solved"] == 1.0 else f", {figures['solved']:.0%}"
            time = duration(figures["us"])
            cells.append(
                f"{time}{some}" if figures["solves_half"] else f"{figures['broken'][1]:.0e} in {time}{some}"
            )
        lines.append((r.name, *cells, "" if r.ratio is None else f"{r.ratio:.1f}"))
        if "kind" in r.extra:
            slopes = ["" if n is None else f"N^{n:.1f}" for n in r.extra["exponents"].values()]
            lines.append((f"{r.extra['kind']}, N contacts from 4 on", *slopes, ""))
    header = ("problems", *solvers, "the faster one of Gauss–Seidel and ADMM over the kernel")
    return (
        "Contact problems: time until the laws are broken by 1e-8 at most, and how many are solved",
        header,
        lines,
    )


def _friction(rows: Sequence[Row]) -> Section:
    header = ("scene", "figure", "sarrus", "peer", "of peer", "run, sarrus", "of peer")
    lines: list[Cells] = []
    for r in rows:
        times = duration(r.ours_us), duration(r.peer_us or 0.0)
        for what, theirs in r.extra["peer_off"].items():
            off = f"{r.extra['ours_off'][what]:.0e}", r.peer or "", f"{theirs:.0e}"
            lines.append((r.name, what, *off, *times))
    return "Friction: how far scenes are from the truth", header, lines


def _accuracy(rows: Sequence[Row]) -> Section:
    header = (
        "slider",
        "peer",
        "angle error, sarrus",
        "of peer",
        "loop gap, sarrus",
        "of peer",
        "step, sarrus",
        "of peer",
    )
    lines: list[Cells] = []
    for r in rows:
        angles = f"{r.extra['ours_angle_error_rad']:.1e} rad", f"{r.extra['peer_angle_error_rad']:.2g} rad"
        gaps = f"{r.extra['ours_gap_m']:.0e} m", f"{r.extra['peer_gap_m']:.1e} m"
        what = r.name.rpartition("slider ")[2]
        lines.append((what, r.peer or "", *angles, *gaps, duration(r.ours_us), duration(r.peer_us or 0.0)))
    return "Slider-crank after 10 s at 1 ms through its singular configurations", header, lines


def _cost(rows: Sequence[Row]) -> Section:
    header = ("what", "model", "first acceleration", "instructions", "peak memory", "of it libraries")
    lines: list[Cells] = []
    for r in rows:
        memory = f"{r.extra['peak_memory_mb']:.0f} MB", f"{r.extra['libraries_memory_mb']:.0f} MB"
        lines.append((r.name, r.model, duration(r.ours_us), str(r.extra["instructions"]), *memory))
    return "Cost of a new model", header, lines


def _times(title: str, rows: Sequence[Row]) -> Section:
    return title, ("what", "time", "target"), [(r.name, duration(r.ours_us), verdict(r)) for r in rows]


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Print the tables, missed targets in red."""
    for title, header, lines in sections(rows):
        table = Table(*header, title=title, title_justify="left")
        for line in lines:
            table.add_row(*line, style="red" if line[-1].endswith("MISSED") else None)
        console.print(table)


def markdown(rows: Sequence[Row]) -> str:
    """Return the tables in Markdown, with the conditions that all rows share."""
    blocks = []
    for title, header, lines in sections(rows):
        table = [header, tuple("---" for _ in header), *lines]
        blocks.append(f"**{title}**\n\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in table))
    if rows:
        blocks.append(
            f"{_measured(rows)} Ratios above 1: sarrus is faster. "
            "Both sides take turns in one process; ratios are medians over neighbouring pairs. "
            "Details: `build/bench.json`."
        )
    return "\n\n".join(blocks) + "\n"


# What a reader with half a minute should see: name, model and peer of a row.
TELLING = (
    ("step, 3 singular passages", "five_bar", "MuJoCo RK4, tuned"),
    ("step of a batch", "five_bar", "MuJoCo rollout, tuned"),
    ("step of a batch", "quadruped", "MuJoCo rollout, tuned"),
    ("forward_dynamics, τ given", "quadruped", "Pinocchio constraintDynamics"),
    ("kernel evaluation", "quadruped", "Pinocchio constraintDynamics"),
    ("linear model", "quadruped", "Pinocchio, with derivatives"),
    ("linear model", "quadruped", "MuJoCo mjd_transitionFD"),
    ("TaskHierarchy", "platform", "NumPy by hand"),
)


def highlights(rows: Sequence[Row]) -> str:
    """Return a short table in Markdown: the telling rows, as far as they were measured."""
    found = {(row.name, row.model, row.peer): row for row in rows}
    chosen = [found[key] for key in TELLING if key in found]
    header, lines = ("what", "model", "sarrus", "peer", "time of peer", "ratio"), _speed("", chosen)[2]
    table = [header, tuple("---" for _ in header), *(line[:6] for line in lines)]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in table)
    return f"{text}\n\n{_measured(rows)}\n"


def _measured(rows: Sequence[Row]) -> str:
    """Say on which machine and with which versions the rows were measured."""
    packages: dict[str, None] = {}
    for row in rows:
        machine, versions, *_ = row.conditions.split("; ")
        packages |= dict.fromkeys(versions.split(", "))
    return f"Measured by `make bench`: {machine}, one thread, batches on all cores; {', '.join(packages)}."


def replace_between_markers(text: str, path: Path) -> bool:
    """Replace what stands between the markers of a page; False where there are no markers."""
    if not path.exists():
        return False
    content = path.read_text(encoding="utf-8")
    before, start, rest = content.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        return False
    path.write_text(f"{before}{START}\n{text}{END}{after}", encoding="utf-8")
    return True
