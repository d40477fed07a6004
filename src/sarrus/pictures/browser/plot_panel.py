"""Live plots below the scene: selected quantities of the runs, with the present time and the singular passages."""

from __future__ import annotations

from typing import Any

from sarrus.pictures.browser.panel_host import PanelHost
from sarrus.pictures.scene.markup import Html, Pane, element
from sarrus.pictures.scene.plots import QUANTITIES, cursor, svg

_SIZE = (860, 230)  # of the panel [pixels]


class PlotPanel:
    """Two plots side by side, each of a selected quantity."""

    def __init__(self, viewer: PanelHost, gui: Any) -> None:
        self.viewer = viewer
        self.panel = gui.add_panel(visible=bool(viewer.runs))
        self.panel.float(x=12, y=-12, width=_SIZE[0], height=_SIZE[1])
        self.choices: list[Any] = []
        with self.panel.add_tab("Plots"):
            self.picture = Pane(gui)
        self.quantities = {quantity.title: quantity for quantity in QUANTITIES}
        titles = tuple(self.quantities)
        with self.panel.add_tab("Choose"):
            for side, first in zip(("left", "right"), titles):
                choice = gui.add_dropdown(side, titles, initial_value=first)
                choice.on_update(lambda event: viewer.worker.post("plots", self.rebuild))
                self.choices.append(choice)
        self._still: list[Html] = []
        self.rebuild()

    def rebuild(self) -> None:
        """Draw the pictures anew."""
        viewer = self.viewer
        self.panel.visible = bool(viewer.runs)
        if not viewer.runs:
            return
        self._still = [
            svg(self.quantities[str(choice.value)], viewer.runs, viewer.labels, self._span)
            for choice in self.choices
        ]
        self.point(viewer.timeline.time)

    def point(self, time: float) -> None:
        """Put the cursor at a time [s]."""
        if not self._still:
            return
        over = element("div", cursor(time, self._span), style="position:absolute;inset:0;pointer-events:none")
        cells = [
            element("div", still, over, style="flex:1 1 320px;position:relative") for still in self._still
        ]
        self.picture.content = element(
            "div", *cells, style="display:flex;flex-wrap:wrap;gap:8px;padding:4px 8px"
        )

    @property
    def _span(self) -> tuple[float, float]:
        return self.viewer.timeline.start, self.viewer.timeline.end
