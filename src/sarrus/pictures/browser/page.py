"""A recorded scene as one HTML file with viser's page in it, which opens without a server or a network."""

from __future__ import annotations

from pathlib import Path

from sarrus.base.files.atomic import write_text
from sarrus.pictures.browser.address import LOOPBACK, address_of
from sarrus.pictures.browser.serving import start_server, stop_server
from sarrus.pictures.plots.frames import frame_times
from sarrus.pictures.scene.camera import frame
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.layers import layers
from sarrus.pictures.scene.load_drawing import LoadDrawing, Wanted
from sarrus.pictures.scene.markup import Html, element, html, lines
from sarrus.pictures.scene.scene import set_up_scene
from sarrus.pictures.scene.scene_nodes import ArrowNodes, SceneNodes
from sarrus.pictures.scene.subjects import Subject
from sarrus.pictures.symbols.style import INK, colour
from sarrus.pictures.symbols.text import title


def save_page(subject: Subject, path: Path, *, fps: float, speed: float, wanted: Wanted) -> Path:
    """Write the page; see `sarrus.render`."""
    drawing = Drawing(subject.system, subject.motion)
    low, high = drawing.bounds()
    server, _ = start_server(address_of(LOOPBACK, 0), title(subject.system.name))
    try:
        set_up_scene(server, drawing, frame(low, high, drawing.view, 1.4))
        nodes = [
            SceneNodes(server.scene, f"/run{k}" if k else "/mechanism", layer)
            for k, layer in enumerate(layers(drawing, subject.q, subject.runs, subject.system))
        ]
        nodes[0].move(drawing.poses(subject.q))
        arrows, loads = ArrowNodes(server.scene, drawing.parts.radius), LoadDrawing(drawing, subject, wanted)
        arrows.show(loads.at(0.0), loads.scale, numbers=wanted.numbers)
        recording = server.get_scene_serializer()
        if subject.runs:
            for time in frame_times(*subject.span, speed / fps):
                for node in nodes:
                    node.move(node.layer.poses(time))
                arrows.show(loads.at(time), loads.scale, numbers=wanted.numbers)
                recording.insert_sleep(1.0 / fps)
        page = recording.as_html()
    finally:
        stop_server(server)
    page = page.replace("<title>Viser</title>", element("title", title(subject.system.name)), 1)
    end = page.rindex("</body>")
    write_text(path, page[:end] + _caption(subject) + page[end:], kept="the motion is still in memory")
    return path


def _caption(subject: Subject) -> Html:
    """Return the text beside the scene: name, duration, singular passages, names of the runs."""
    said: list[str] = [element("b", title(subject.system.name))]
    if subject.runs:
        run = subject.runs[0]
        said.append(f"{run.t[0]:g} to {run.t[-1]:g} s")
        if run.passages:
            times = ", ".join(f"{p.time:.3f}" for p in run.passages[:8])
            said.append(f"singular at {times} s" + (" …" if len(run.passages) > 8 else ""))
    if len(subject.runs) > 1:
        said += [
            html(element("span", "■", style=f"color:{colour(k)}"), " ", label)
            for k, label in enumerate(subject.labels)
        ]
    place = "position:fixed;left:1em;top:1em;z-index:5;pointer-events:none"
    style = f"{place};font:13px/1.5 sans-serif;color:{INK}"
    return element("div", lines(said), style=style, data_sarrus="caption")
