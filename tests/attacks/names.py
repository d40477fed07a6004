"""Names that are not meant to be read: script, markup, mathematics, controls, and random mixtures of them.

What a file calls a body is drawn, printed and written, never run, never markup, never TeX.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from tally import Tally

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.base.printable import printable
from sarrus.base.status import Status
from sarrus.export.c.identifiers import KEYWORDS, LIBM, comment, identifier, macros, note, prefix_of
from sarrus.pictures.browser.page import _caption
from sarrus.pictures.browser.render import Renderer
from sarrus.pictures.browser.time_panel import _legend
from sarrus.pictures.plots import plot
from sarrus.pictures.scene.plots import QUANTITIES, cursor, svg
from sarrus.pictures.scene.readout import Readout, small_print, warning
from sarrus.pictures.scene.subjects import Subject
from sarrus.pictures.symbols.text import title

MODEL = Path(__file__).resolve().parent.parent.parent / "models" / "five_bar.xml"
SCRIPT = "window.__pwned=1"
HOSTILE = (
    f"<img src=x onerror={SCRIPT}>",
    f"<script>{SCRIPT}</script>",
    f"</script><script>{SCRIPT}</script>",
    f"</title></div></td></text></svg><svg onload={SCRIPT}>",
    f'" onmouseover="{SCRIPT}" x="',
    f"' onfocus='{SCRIPT}' autofocus='",
    f"<svg><a xlink:href=javascript:{SCRIPT}>x</a></svg>",
    f"<style>*{{display:none}}</style><iframe srcdoc='<script>parent.{SCRIPT}</script>'>",
    f"[x](javascript:{SCRIPT})",
    f"![x](x){{onerror={SCRIPT}}}",
    "<!-- ",
    "]]>",
    "&lt;b&gt; &amp; &#60;",
    "{{constructor.constructor('" + SCRIPT + "')()}}${" + SCRIPT + "}",
    r"$\frac{$",
    r"$x_{1}^$",
    r"\$5 and $6$",
    r"50 % \input{/etc/passwd} \\ ^^41",
    "_nolegend_",
    "a_b__c_",
    "[bold]rich[/bold] [/]",
    "*/ int main(void) { return 1; } /*",
    "??/\n#include <stdio.h>",
    '"; system("true"); //',
    "../../etc/passwd",
    "/world/a//b/",
    "a/b",
    ".",
    "nul\x00in\x07the\x1b[31mmiddle\x7f",
    "two\nlines\r\nand\ta tab\u2028\u2029",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "half a sign \ud83d and \udc00",
    "🦿👩‍🚀 emoji 🇪🇺",
    "مفصل ציר 関節 сустав",
    "\u0301\u0301\u0301 combining z̷̢̛a̴l̶g̵o̸",
    "\U000e0041\ufeff\u00ad",
    "x" * 5000,
    "<b>" * 300,
    "$" * 301,
    " ",
)
_ELEMENTS = frozenset("b br div line polyline span svg table td text title tr tspan".split())  # noqa: SIM905
_ATTRIBUTES = frozenset(
    """
    style data-sarrus viewbox fill stroke stroke-width stroke-dasharray points x y dx x1 x2 y1 y2 font-size font-weight
    text-anchor
    """.split()  # noqa: SIM905
)


def random_name(rng: np.random.Generator) -> str:
    """Return pieces of hostile names and random signs in a random order."""
    pieces = []
    for _ in range(int(rng.integers(1, 6))):
        name = HOSTILE[rng.integers(len(HOSTILE))][:200]
        start = int(rng.integers(len(name)))
        pieces.append(name[start : start + int(rng.integers(1, 40))])
        pieces.append("".join(chr(rng.integers(0x20000)) for _ in range(int(rng.integers(4)))))
    return "".join(pieces)


def some_names(count: int, rng: np.random.Generator) -> Iterator[tuple[str, ...]]:
    """Yield sets of five different names: first the fixed ones, then random ones."""
    for k in range(count):
        fixed = HOSTILE[5 * k : 5 * k + 5]
        yield (*fixed, *(f"{random_name(rng)}{j}" for j in range(5 - len(fixed))))


# --- pages --------------------------------------------------------------------------------------------


class _Reader(HTMLParser):
    """Reads what a browser would: elements, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.strange: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attributes}
        if tag not in _ELEMENTS or not names <= _ATTRIBUTES or len(names) < len(attributes):
            self.strange.append(f"<{tag} {attributes}>")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.strange.append(f"<!--{data}-->")

    handle_decl = handle_pi = unknown_decl = handle_comment


def faults_of(page: str, names: tuple[str, ...]) -> list[str]:
    """Return what is in a page that sarrus never writes, and which names are not to be read in it."""
    read = _Reader(page)
    return read.strange + [f"{name!r} is not there" for name in names if printable(name) not in read.text]


@lru_cache(maxsize=1)
def a_run() -> Any:
    """Return a short run of a mechanism with two degrees of freedom and a loop."""
    mechanism = sr.load(MODEL)
    return sr.simulate(sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=0.02, dt=1e-3)


def renamed(names: tuple[str, ...]) -> Any:
    """Return the run with other names."""
    run = a_run()
    rows = tuple(f"{names[k % 5]} {k}" for k in range(len(run.constraint_names)))
    return replace(run, name=names[4], coordinate_names=names[:4], constraint_names=rows)


def pages(names: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield all that the viewer makes of names as markup, with the names that must be in it."""
    run = renamed(names)
    forces = tuple((name, 1.0, "N") for name in names)
    state = Readout(1, 1, 1.0, 0.0, names, forces, np.zeros(5), np.ones(5, bool), Status.OK)
    yield state.html(note=names[0]), names
    yield small_print(names[0]), names[:1]
    yield warning(names[1]), names[1:2]
    yield cursor(0.01, (0.0, 0.02)), ()
    for quantity in QUANTITIES:
        shown = names[:4] if quantity.field == "q" else ()
        yield svg(quantity, [run], [names[0]], (0.0, 0.02)), shown
        yield svg(quantity, [run, run], list(names[:2]), (0.0, 0.02)), names[:2]
    two = SimpleNamespace(runs=(run, run), labels=names[:2], shades=[(1, 2, 3), (4, 5, 6)])
    yield _legend(two), names[:2]  # type: ignore[arg-type]
    subject = Subject(SimpleNamespace(name=names[2]), run.q[0], (run, run), names[:2])  # type: ignore[arg-type]
    yield _caption(subject), (title(names[2]), *names[:2])


def markup(names: tuple[str, ...]) -> list[str]:
    """Return the faults of all pages."""
    return [fault for page, shown in pages(names) for fault in faults_of(page, shown)]


# --- pictures -----------------------------------------------------------------------------------------


def texts(figure: Figure) -> list[str]:
    """Return what is written in a figure as it stands there, whatever would not be taken literally left out."""
    return [
        text.get_text()
        for text in figure.findobj(Text)
        if not text.get_parse_math() and not text.get_usetex() and text.get_text()
    ]


def figures(names: tuple[str, ...]) -> list[str]:
    """Draw histories, comparisons and motions with hostile names; return what is not drawn as it is."""
    run = renamed(names)
    both = SimpleNamespace(
        trajectories=dict(zip(names[:3], (run, run, run))),
        name=names[3],
        conservative=True,
        velocity_residuals=dict.fromkeys(names[:3], run.residual),
        reference=None,
    )
    compared = plot.comparison(both)  # type: ignore[arg-type]
    drawn = (
        (run.plot(), (*names[:4], title(names[4]))),
        (compared, (*names[:3], f"{title(names[3])}: 3 runs compared")),
        (replace(a_run(), name=names[4]).draw(), (title(names[4]),)),
    )
    faults = []
    for figure, shown in drawn:
        written = texts(figure)
        faults += [repr(name) for name in shown if _short(printable(name)) not in written]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph|constrained_layout", UserWarning)
            page = io.BytesIO()
            figure.savefig(page, format="svg")
        ElementTree.fromstring(page.getvalue())  # well-formed, or it raises
    return faults


def _short(name: str) -> str:
    return name if len(name) <= 200 else name[:199] + "…"


def scenes(names: tuple[str, ...]) -> list[str]:
    """Draw a picture with hostile names on it; it must come, and have the size that was asked for."""
    run = a_run()
    system = run.moved_system()
    subject = Subject(system, run.q[0], (run, run), names[:2])
    renderer = Renderer(subject, (160, 120))
    renderer.subject = replace(subject, system=SimpleNamespace(name=names[2]))  # type: ignore[arg-type]
    return [] if renderer.picture(0.01).shape == (120, 160, 3) else ["another size"]


# --- C ------------------------------------------------------------------------------------------------


def in_c(names: tuple[str, ...]) -> list[str]:
    """Return faults of what names become in C: comments that end early, macros that are none or not told apart."""
    comments = [text for name in names for text in (comment(name), note(name)[3:-3].replace("\n * ", " "))]
    ends = re.compile(r"\*/|/\*|\?\?|\\")
    faults = [f"comment {text!r}" for text in comments if ends.search(text) or printable(text) != text]
    made = macros("X", names)
    if len(set(made)) < len(made) or not all(re.fullmatch(r"[A-Z][A-Z0-9_]*", macro) for macro in made):
        faults.append(f"macros {made}")
    prefix = prefix_of(names[0], None)
    if identifier(prefix) != prefix or prefix in KEYWORDS | LIBM | {"main"} or len(prefix) > 63:
        faults.append(f"prefix {prefix!r}")
    return faults


def taken(names: tuple[str, ...]) -> list[str]:
    """Return names that C has already and that are not refused as a prefix."""
    faults = []
    for name in names:
        try:
            prefix_of("model", name)
        except ArgumentError as error:
            if name[:20] not in str(error):
                faults.append(f"{name!r} is not named in {error}")
        else:
            faults.append(f"{name!r} is taken")
    return faults


TAKEN = ("main", "Main", "MAIN", "int", "while", "sin", "fabsf", "math", "stdio", "k", "x" * 64)


# --- the campaign -------------------------------------------------------------------------------------

ATTACKS: tuple[tuple[str, str, Callable[[tuple[str, ...]], list[str]], int], ...] = (
    ("hostile names in the viewer's panels, plots and pages", "text, sign by sign", markup, 2000),
    ("hostile names in figures", "drawn literally, SVG well-formed", figures, 100),
    ("hostile names in rendered pictures", "a picture", scenes, 200),
    ("hostile names in exported C", "comments that stay comments, macros told apart", in_c, 20000),
)


def campaign(scale: float) -> list[Tally]:
    """Return how each attack ended; ``scale`` 1 makes the counts of docs/reliability.md."""
    tallies = []
    for attack, wanted, faults_of_names, count in ATTACKS:
        tally = Tally(attack, wanted)
        rng = np.random.default_rng(7)
        for names in some_names(max(1, round(scale * count)), rng):
            try:
                faults = faults_of_names(names)
            except Exception as error:
                faults = [f"{type(error).__name__}: {error}"]
            if faults:
                tally.fails("as it must not be", f"{names!r}: {faults[:3]}")
            else:
                tally.passes("as wanted")
        tallies.append(tally)
    refused = Tally("prefixes that C, libm or the export has already", "an error that names them")
    for name in TAKEN:
        faults = taken((name,))
        if faults:
            refused.fails("taken", faults[0])
        else:
            refused.passes("refused")
    return [*tallies, refused]
