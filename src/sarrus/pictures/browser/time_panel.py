"""The time line of recorded motions: play, pause, scrub, speed, and singular passages."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.pictures.browser.panel_host import PanelHost
from sarrus.pictures.browser.style import SHORTEST_TIMELINE, TIMELINE_STEPS
from sarrus.pictures.browser.tolerances import AT_END, NEXT_PASSAGE
from sarrus.pictures.scene.markup import Html, Pane, element, html, lines

_SHOWN = 12  # passages marked on the slider


class TimePanel:
    """Plays the runs of a viewer together; the time line is that of the longest."""

    def __init__(self, viewer: PanelHost, gui: Any) -> None:
        self.viewer, self.gui = viewer, gui
        self.time, self.playing = 0.0, False
        self.folder = gui.add_folder("Time")
        self._build()

    def _build(self) -> None:
        runs = self.viewer.runs
        self.start = min((float(run.t[0]) for run in runs), default=0.0)
        self.end = max((float(run.t[-1]) for run in runs), default=0.0)
        self.time = self.start
        self.passages = sorted({p.time for run in runs for p in run.passages})
        gui = self.gui
        with self.folder:
            self.slider = gui.add_slider(
                "time [s]",
                min=self.start,
                max=max(self.end, self.start + SHORTEST_TIMELINE),
                step=max((self.end - self.start) / TIMELINE_STEPS, SHORTEST_TIMELINE),
                initial_value=self.start,
                marks=(
                    (self.start, f"{self.start:.3g}"),
                    *((time, "▲") for time in self.passages[:_SHOWN]),
                    (self.end, f"{self.end:.3g}"),
                ),
                hint="▲ marks singular passages" if self.passages else None,
            )
            self.button = gui.add_button("Play")
            self.speed = gui.add_slider("speed", min=0.1, max=4.0, step=0.1, initial_value=1.0)
            self.loop = gui.add_checkbox("loop", True)
            self.next = gui.add_button("Next singular passage", visible=bool(self.passages))
            self.legend = Pane(gui, _legend(self.viewer))
        self.slider.on_update(self._scrubbed)
        self.button.on_click(lambda event: self.viewer.worker.post("play", self.toggle))
        self.next.on_click(lambda event: self.viewer.worker.post("next", self.next_passage))
        self._elements = [self.slider, self.button, self.speed, self.loop, self.next, self.legend]

    def rebuild(self) -> None:
        """Restart with the present runs of the viewer."""
        for part in self._elements:
            part.remove()
        self._build()

    def toggle(self) -> None:
        """Play if paused, else pause."""
        self.set_playing(not self.playing)

    def set_playing(self, playing: bool) -> None:
        """Play or pause; at the end playing restarts from the beginning."""
        if playing and self.time >= self.end - AT_END:
            self.time = self.start
        self.playing = playing
        self.button.label = "Pause" if playing else "Play"

    def tick(self, seconds: float) -> None:
        """Advance by some seconds of real time."""
        time = self.time + seconds * float(self.speed.value)
        if time >= self.end:
            if self.loop.value and self.end > self.start:
                time = self.start
            else:
                time = self.end
                self.set_playing(False)
        self.go(time)

    def go(self, time: float, *, scrubbing: bool = False) -> None:
        """Show a time [s]."""
        self.time = float(np.clip(time, self.start, self.end))
        if not scrubbing:
            self.slider.value = self.time
        self.viewer.show_run(self.time)

    def next_passage(self) -> None:
        """Show the next singular passage; after the last one the first."""
        if self.passages:
            self.set_playing(False)
            ahead = [time for time in self.passages if time > self.time + NEXT_PASSAGE]
            self.go(ahead[0] if ahead else self.passages[0])

    def _scrubbed(self, event: Any) -> None:
        if event.client_id is not None:
            time = float(event.target.value)

            def scrub() -> None:
                self.set_playing(False)
                self.go(time, scrubbing=True)

            self.viewer.worker.post("scrub", scrub)


def _legend(viewer: PanelHost) -> Html:
    if len(viewer.runs) < 2:
        return html()
    names = [
        html(element("span", "■", style=f"color:rgb{shade};font-size:1.3em"), " ", label)
        for label, shade in zip(viewer.labels, viewer.shades)
    ]
    return element("div", lines(names), style="font-size:0.85em;padding:0 0.7em")
