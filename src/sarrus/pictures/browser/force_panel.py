"""Panel of reactions in the browser: which joints, on which body, scale of the arrows, and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sarrus.analysis.loads.reactions_along import PARTS
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.printable import printable
from sarrus.base.status import Status
from sarrus.pictures.browser.panel_host import PanelHost
from sarrus.pictures.browser.style import SEEN_THROUGH
from sarrus.pictures.scene.force_arrows import Scale
from sarrus.pictures.scene.loads import (
    CLOSURES,
    HELD,
    LET_GO,
    SIDES,
    Loads,
    RunLoads,
    at_rest,
    choices,
    chosen,
    loads_of,
)
from sarrus.pictures.scene.markup import Html, Pane, element
from sarrus.pictures.scene.readout import TABLE_STYLE, small_print
from sarrus.pictures.scene.scene_nodes import ArrowNodes
from sarrus.pictures.scene.subjects import sample

_ROWS = 16  # of a table
_AT_ONCE = 4000  # samples of a run whose largest loads are found without being asked for
_FEW = 6  # numbers that are written into the scene by themselves


class ForcePanel:
    """Draws the reactions of the state or the run that is shown.

    ``boxes`` are check boxes by name; ``shown`` are the drawn loads, None if there is no answer.
    """

    def __init__(self, viewer: PanelHost, gui: Any) -> None:
        self.viewer = viewer
        self.arrows = ArrowNodes(viewer.server.scene, viewer.drawing.parts.radius)
        self.shown: Loads | None = None
        self.unit: Scale | None = None  # at scale one
        self._again: Callable[[], None] = lambda: None  # shows the same once more
        self._run: RunLoads | None = None
        self._silent = False
        every = choices(viewer.system)
        names = (*(one.label for one in every), *viewer.system.contact_geometries)
        first = chosen(viewer.system, CLOSURES) or frozenset(names)
        post = viewer.worker.post
        with gui.add_folder("Reactions", visible=bool(names)):
            self.wanted = gui.add_checkbox("show forces and couples", viewer.system.nc > 0)
            self.rest = gui.add_dropdown("at rest", (HELD, LET_GO), initial_value=HELD)
            self.rest.visible = viewer.system.nu > 0
            self.side = gui.add_dropdown("act on", SIDES, initial_value=SIDES[0])
            self.part = gui.add_dropdown("part", PARTS, initial_value=PARTS[0])
            self.scale = gui.add_slider("arrow scale", min=0.1, max=5.0, step=0.1, initial_value=1.0)
            self.numbers = gui.add_checkbox("numbers in the scene", len(first) <= _FEW)
            self.through = gui.add_checkbox("see through bodies", False)
            self.text = Pane(gui)
            self.table = Pane(gui)
            with gui.add_folder("Which", expand_by_default=False):
                self.all = gui.add_button("All")
                self.none = gui.add_button("None")
                self.boxes = {name: gui.add_checkbox(printable(name), name in first) for name in names}
            self.find = gui.add_button("Largest along the run", visible=False)
            self.largest = Pane(gui)
        for control in (self.wanted, self.rest, self.side, self.part, *self.boxes.values()):
            control.on_update(lambda event: post("forces", self.again))
        for control in (self.scale, self.numbers):
            control.on_update(lambda event: post("arrows", self.draw))
        self.through.on_update(lambda event: post("through", self.see_through))
        self.all.on_click(lambda event: post("all", lambda: self.tick(True)))
        self.none.on_click(lambda event: post("none", lambda: self.tick(False)))
        self.find.on_click(lambda event: post("largest", self.find_largest))
        self.rescale()

    @property
    def names(self) -> frozenset[str]:
        """Names that are ticked."""
        return frozenset(name for name, box in self.boxes.items() if box.value)

    def tick(self, value: bool) -> None:
        """Tick all, or none."""
        for box in self.boxes.values():
            box.value = value
        self.again()

    def rescale(self) -> None:
        """Set the scale from the typical load of the first run, without runs from the first state shown."""
        runs = self.viewer.runs
        self._run = RunLoads(self.viewer.drawing, runs[0]) if runs else None
        self.unit = None
        self.find.visible, self.largest.content = bool(runs), ""
        if runs and self.wanted.value and len(runs[0].t) <= _AT_ONCE:
            self.find_largest()

    def again(self) -> None:
        """Show the same state with the present settings."""
        self.unit = None
        self._again()

    def show(self, q: Array) -> None:
        """Show the reactions at rest at a configuration."""
        self._again = lambda: self._show_rest(q)
        self._again()

    def show_run(self, time: float, q: Array, *, write: bool = True) -> None:
        """Show the reactions of the first run at the sample before a time [s], with its bodies at q.

        ``write=False`` leaves the table unchanged.
        """
        self._silent = not write
        self._again = lambda: self._show_sample(time, q)
        self._again()
        self._silent = False

    def see_through(self) -> None:
        """Draw the bodies transparent, so that arrows inside them are visible, or opaque."""
        self.viewer.nodes[0].see_through(SEEN_THROUGH if self.through.value else 1.0)

    def find_largest(self) -> None:
        """Find the largest load of each joint along the run, and show a table."""
        if self._run is None:
            return
        try:
            peaks = self._run.maxima(self.part.value)
        except SarrusError as error:
            self.largest.content = small_print(str(error))
            return
        rows = [("along the run", "force [N]", "at [s]", "couple [N m]", "at [s]")]
        for peak in peaks:
            sure = "" if peak.force_determined else "~", "" if peak.couple_determined else "~"
            force, couple = f"{sure[0]}{peak.force:.4g}", f"{sure[1]}{peak.couple:.4g}"
            rows.append((peak.name, force, f"{peak.force_time:.3g}", couple, f"{peak.couple_time:.3g}"))
        self.largest.content = _table(rows, "largest")

    def draw(self) -> None:
        """Draw the loads at hand."""
        if not self.wanted.value or self.shown is None or self.unit is None:
            self.arrows.show(None, Scale(0.0, 0.0))
            return
        scale = self.unit.times(float(self.scale.value))
        self.arrows.show(self.shown, scale, numbers=bool(self.numbers.value))

    def _show_rest(self, q: Array) -> None:
        if not self.wanted.value:
            self._nothing("")
            return
        try:
            rest = at_rest(self.viewer.system, q, held=self.rest.value == HELD)
        except SarrusError as error:
            self._nothing(str(error))
            return
        options = {"names": self.names, "part": self.part.value, "side": self.side.value}
        self.shown = loads_of(rest.found, **options)
        said = [f"At rest, {rest.how}."]
        if rest.note:
            said.append(f"{rest.note}.")
        if rest.found.status is not Status.OK:
            said.append(f"{rest.found.status}: {rest.found.message}")
        if self.unit is None and any(self.shown.largest):
            self.unit = Scale.of(*self.shown.largest, self.shown.length, self.viewer.drawing.size)
        self._say(said)

    def _show_sample(self, time: float, q: Array) -> None:
        if self._run is None or not self.wanted.value:
            self._nothing("")
            return
        options = {"names": self.names, "part": self.part.value, "side": self.side.value}
        k = sample(self._run.run, time)
        try:
            self.shown = self._run.at(k, q, **options)
            if self.unit is None:
                length = self._run.length
                self.unit = Scale.of(*self._run.typical(**options), length, self.viewer.drawing.size)
        except SarrusError as error:
            self._nothing(str(error))
            return
        said = [f"At {float(self._run.run.t[k]):.4g} s."]
        if self._run.reactions(k).left_out.any():
            said.append(
                "Forces of contacts are means over an impact at this time, so there are no reactions."
            )
        if self._run.meets:
            said.append("Forces between geometries act, which loads of joints do not include.")
        self._say(said)

    def _nothing(self, reason: str) -> None:
        self.shown = None
        self.draw()
        self._write(self.text, small_print(reason) if reason else "")
        self._write(self.table, "")

    def _say(self, said: list[str]) -> None:
        """Draw, and write an explanation beside it."""
        self.draw()
        if self._silent:
            return
        loads, unit = self.shown, self.unit
        assert loads is not None
        if unit is not None:
            scale = unit.times(float(self.scale.value))
            force, couple = (x > least for x, least in zip(loads.largest, loads.nothing))
            parts = [f"1 m of arrow is {1.0 / scale.force:.3g} N (green)"] if force else []
            parts += [f"1 m of radius {1.0 / scale.couple:.3g} N m (purple)"] if couple else []
            said = [*said, f"{', '.join(parts)}."] if parts else said
        rows: list[tuple[str, ...]] = [("", "on", "force", "couple")]
        rows += [(name, on, *numbers) for on, (name, *numbers) in zip(loads.on, loads.described())]
        if any("~" in cell for row in rows for cell in row[2:]):
            said = [*said, "Grey, dashed, ~: not unique (overconstrained); one possible value is shown."]
        self._write(self.text, small_print(" ".join(said)))
        self._write(self.table, _table(rows, "reactions"))

    @staticmethod
    def _write(pane: Pane, content: str) -> None:
        if pane.content != content:
            pane.content = content


def _table(rows: Sequence[tuple[str, ...]], what: str) -> Html:
    """Return a table whose first row is its head; the first column is flush left."""
    shown = rows[: _ROWS + 1]
    found = []
    for k, row in enumerate(shown):
        tag = "td" if k else "th"
        cells = [
            element(tag, cell, style=f"padding:1px 4px 1px 0;text-align:{'right' if place else 'left'}")
            for place, cell in enumerate(row)
        ]
        found.append(element("tr", *cells))
    more = [element("div", f"and {len(rows) - len(shown)} more")] if len(rows) > len(shown) else []
    style = "font-size:0.8em;padding:0 0.7em 0.4em;font-variant-numeric:tabular-nums"
    return element("div", element("table", *found, style=TABLE_STYLE), *more, style=style, data_sarrus=what)
