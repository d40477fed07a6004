"""`view`: mechanisms and their motions in the browser."""

from __future__ import annotations

import math
import threading
import webbrowser
from collections.abc import Mapping
from copy import copy
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import SarrusError
from sarrus.dynamics.system import System
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.browser.address import LOOPBACK, address_of
from sarrus.pictures.browser.force_panel import ForcePanel
from sarrus.pictures.browser.joint_panel import JointPanel
from sarrus.pictures.browser.mode_panel import ModePanel
from sarrus.pictures.browser.plot_panel import PlotPanel
from sarrus.pictures.browser.render import render
from sarrus.pictures.browser.run_panel import RunPanel
from sarrus.pictures.browser.serving import start_server, stop_server
from sarrus.pictures.browser.style import DRAG_ROOM, PANEL_ASPECT, PLOTS_HEIGHT, POLL_SECONDS, READOUT_SECONDS
from sarrus.pictures.browser.time_panel import TimePanel
from sarrus.pictures.browser.worker_thread import WorkerThread
from sarrus.pictures.scene.camera import Camera, frame
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.layers import Layer, layers
from sarrus.pictures.scene.markup import Pane
from sarrus.pictures.scene.part import Rgb
from sarrus.pictures.scene.parts import tints
from sarrus.pictures.scene.readout import Readout, read, read_run, warning
from sarrus.pictures.scene.scene import set_up_scene
from sarrus.pictures.scene.scene_nodes import SceneNodes
from sarrus.pictures.scene.subjects import Viewable, at, sample, subjects
from sarrus.pictures.symbols.text import title


def view(
    *what: Viewable | Mapping[str, Trajectory],
    system: System | None = None,
    q: ArrayLike | None = None,
    host: str = LOOPBACK,
    port: int = 8080,
    open_browser: bool = True,
    block: bool = False,
) -> Viewer:
    """Return a `Viewer` that shows a mechanism, or motions of it, in the browser.

    Parameters
    ----------
    what : a `Mechanism` or a `System`, to be dragged by its joints; or trajectories, of which the first is drawn opaque
        and all others over it. A mapping of names to trajectories, such as ``Comparison.trajectories``, names them.
    system : the system that moved, for trajectories without one.
    q : (nq,) initial configuration; default: the start of the first trajectory, the first keyframe of a mechanism, or
        its reference pose. Open loops are closed.
    host, port : address of the page. An occupied port is replaced by the next free one, 0 stands for any; ``url`` has
        the actual one. Only this computer can see the page unless ``host`` is "0.0.0.0"; and only with ``url``, which
        ends in a token.
    open_browser : open the page in the default browser.
    block : print ``url`` and wait until interrupted, for scripts, whose end closes the page.

    The viewer works on a copy of the system, with its present parameters.

    Returns
    -------
    Viewer with ``url``, ``show(q)``, ``show_time(t)``, ``play()``, ``pause()``, ``stop()``.

    Raises
    ------
    ArgumentError
        viser is not installed; nothing to show; a system from one's own equations, which has no bodies; trajectories
        of different mechanisms; a host that this computer does not have, a port out of range, or none that is free.
    ViewerError
        The server does not start in time, or cannot be guarded; from the methods, if the viewer has been stopped or
        does not answer.
    """
    viewer = Viewer(*what, system=system, q=q, host=host, port=port)
    if open_browser:
        webbrowser.open(viewer.url)
    if block:
        print(f"{viewer.url}  (Ctrl-C ends it)", flush=True)
        viewer.wait()
    return viewer


class Viewer:
    """A page that shows a mechanism; made by `view`.

    Attributes
    ----------
    url : address of the page, with the required token.
    system, drawing : a copy of the given system, and its drawing.
    runs, labels : the trajectories and their names.
    q : (nq,) the displayed configuration; ``readout`` has rank, residual and forces there.
    camera : the initial camera.
    """

    def __init__(
        self,
        *what: Viewable | Mapping[str, Trajectory],
        system: System | None = None,
        q: ArrayLike | None = None,
        host: str = LOOPBACK,
        port: int = 8080,
    ) -> None:
        where = address_of(host, port)
        subject = subjects(what, system, q)
        self.system, self.q = copy(subject.system), subject.q  # its own, for it works in a thread of its own
        self._given = subject.system
        self.runs, self.labels = list(subject.runs), list(subject.labels)
        self.drawing = Drawing(self.system, subject.motion)
        self.readout: Readout = read(self.system, self.q)
        self._note, self._since = "", 0.0
        self.camera: Camera = self._frame()
        self.server, self.url = start_server(where, title(self.system.name))
        self._stopped = threading.Event()
        self.worker = WorkerThread(self._tick, lambda: self._moving, f"the viewer of {self.system.name!r}")
        try:
            self.worker.do(self._build, math.inf)
        except BaseException:
            self.stop()
            raise

    # --- what a program may ask for ------------------------------------------------------------------

    def show(self, q: ArrayLike, *, note: str = "", keep: str | None = None) -> None:
        """Show a configuration (nq,) without closing its loops. ``note`` appears below the readout."""
        q = self.system.normalized(q)

        def show() -> None:
            self.q = q
            self.readout = read(self.system, q)
            self._note = note
            self.nodes[0].move(self.drawing.poses(q))
            self.joints.follow(q, keep)
            self.forces.show(q)
            self.modes.moved()
            self._write()

        self.worker.do(show)

    def drag(self, name: str, value: float) -> None:
        """Move a coordinate to a value as its slider does; the mechanism follows as far as it can."""
        self.worker.do(lambda: self.joints.drag(name, value))

    def show_time(self, t: float) -> None:
        """Show the runs at a time [s]."""
        self.worker.do(lambda: self.timeline.go(t))

    def play(self) -> None:
        """Play the runs."""
        self.worker.do(lambda: self.timeline.set_playing(True))

    def pause(self) -> None:
        """Stop all animation."""

        def pause() -> None:
            self.timeline.set_playing(False)
            self.modes.stop()

        self.worker.do(pause)

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write the runs, or the displayed configuration without runs, as `sarrus.render` does; return the path."""
        runs: Any = dict(zip(self.labels, self.runs))
        here = {"system": self.system} if runs else {"q": self.q}
        return self.worker.do(lambda: render(runs or self.system, path, **here, **options), math.inf)

    def stop(self) -> None:
        """Close the page. Any later call of the viewer is a `ViewerError`."""
        if not self._stopped.is_set():
            self._stopped.set()
            self.worker.close()
            stop_server(self.server)

    def wait(self) -> None:
        """Wait until interrupted (Ctrl-C) or stopped, then close the page."""
        try:
            self.worker.do(lambda: None)
            while not self._stopped.wait(POLL_SECONDS):
                pass
        except KeyboardInterrupt:
            self.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        """Show the page itself in a notebook whose browser runs on this computer, and its address."""
        url = escape(self.url)
        frame = f'<iframe src="{url}" width="100%" height="560" style="border: 0"></iframe>'
        return f'{frame}<p><a href="{url}" target="_blank">{escape(repr(self))}</a></p>'

    def __repr__(self) -> str:
        return f"Viewer({self.system.name!r} at {self.url}, {len(self.runs)} runs)"

    # --- what the panels use, on the worker thread ---------------------------------------------------

    @property
    def shades(self) -> list[Rgb | None]:
        """Colours of the runs; None for a single one, which keeps those of its parts."""
        return tints(len(self.runs))

    def show_run(self, time: float) -> None:
        """Show the runs at a time [s]; the readout is that of the first one."""
        if not self.runs:
            return
        q = at(self.runs[0], time)
        self.q = q
        self._since += 0.025
        due = not self.timeline.playing or self._since > READOUT_SECONDS
        with self.server.atomic():
            self.nodes[0].move(self.drawing.poses(q, time))
            for node in self.nodes[1:]:
                node.move(node.layer.poses(time))
            self.forces.show_run(time, q, write=due)
        if due:
            self._since = 0.0
            self.plots.point(time)
            try:
                run = self.runs[0]
                self.readout = read_run(self.system, run, sample(run, time), q)
                self._note = ""
                self._write()
            except SarrusError as error:
                self._note = str(error)
            self.joints.follow(q)

    def set_runs(self, runs: list[Trajectory], labels: list[str]) -> None:
        """Show other runs, from their start."""
        self.runs, self.labels = runs, labels
        for number in range(1, len(self.nodes)):
            self.server.scene.remove_by_name(f"/run{number}")
        del self.nodes[1:]
        self._add_overlays()
        self.timeline.rebuild()
        self.timeline.folder.visible = bool(runs)
        self.plots.rebuild()
        self.forces.rescale()

    def _frame(self) -> Camera:
        """Return a camera with the whole motion in the picture, above the plots."""
        low, high = self.drawing.bounds()
        if self.runs:
            down = -self.drawing.view.up
            room = PLOTS_HEIGHT * float(np.abs(down) @ (high - low))
            low, high = low + np.minimum(room * down, 0.0), high + np.maximum(room * down, 0.0)
        else:
            border = DRAG_ROOM * float((high - low).max())
            low, high = low - border, high + border
        return frame(low, high, self.drawing.view, PANEL_ASPECT)

    def _build(self) -> None:
        server, gui = self.server, self.server.gui
        gui.configure_theme(
            show_logo=False, show_share_button=False, brand_color=(0, 114, 178), control_width="large"
        )
        gui.main_panel.dock_right()
        set_up_scene(server, self.drawing, self.camera)
        first = Layer(self.drawing, self.shades[0], 1.0, None, self.q)
        self.nodes = [SceneNodes(server.scene, "/mechanism", first)]
        self._add_overlays()
        self.timeline = TimePanel(self, gui)
        self.timeline.folder.visible = bool(self.runs)
        self.joints = JointPanel(self, gui, self.q)
        with gui.add_folder("State"):
            self._state = Pane(gui)
        self.forces = ForcePanel(self, gui)
        self.run = RunPanel(self, gui)
        self.modes = ModePanel(self, gui)
        self.plots = PlotPanel(self, gui)
        for note in self.drawing.parts.notes:
            Pane(gui, warning(note))
        if self.runs:
            self.timeline.go(self.timeline.start)
        else:
            self.show(self.q)

    def _add_overlays(self) -> None:
        _, *others = layers(self.drawing, self.q, self.runs, self._given)
        for number, layer in enumerate(others, start=1):
            self.nodes.append(SceneNodes(self.server.scene, f"/run{number}", layer))
            self.nodes[-1].move(layer.poses(self.runs[number].t[0]))

    def _write(self) -> None:
        self._state.content = self.readout.html(self._note)

    @property
    def _moving(self) -> bool:
        return hasattr(self, "plots") and (self.timeline.playing or self.modes.playing)

    def _tick(self, seconds: float) -> None:
        if self.modes.playing:
            self.modes.tick(seconds)
        elif self.timeline.playing:
            self.timeline.tick(seconds)
