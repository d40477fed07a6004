"""What notebooks show of mechanisms, reports, motions, models and answers: well-formed HTML with the right words."""

from __future__ import annotations

from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import sarrus as sr
from conftest import load_example


class Page(HTMLParser):
    """Text, cells and pictures of some HTML, whose tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words, self.cells, self.pictures, self.frames = "", [], [], []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "img":
            self.pictures.append(given["src"])
            return
        if tag == "iframe":
            self.frames.append(given["src"])
        self._open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words += data
        if self._open[-1] in ("td", "th"):
            self.cells[-1] += data

    def image(self) -> Image.Image:
        (source,) = self.pictures
        return Image.open(BytesIO(b64decode(source.removeprefix("data:image/png;base64,"))))


@pytest.fixture(scope="module")
def five_bar() -> sr.System:
    return sr.System(load_example("five_bar").build())


def test_a_mechanism_is_a_drawing_and_a_table(five_bar: sr.System) -> None:
    page = Page(five_bar.mechanism._repr_html_())
    assert min(page.image().size) > 150
    assert np.ptp(np.array(page.image().convert("L"))) > 100
    for joint in five_bar.mechanism.joints():
        assert joint.name in page.cells
    assert set(five_bar.mechanism.closures) <= set(page.cells)


def test_every_shipped_mechanism_can_be_shown() -> None:
    for name in ("bricard", "stewart", "rolling", "biped_four_bar", "four_bar_chain"):
        module = load_example(name)
        mechanism = module.bicycle() if name == "rolling" else module.build()
        if isinstance(mechanism, sr.System):
            mechanism = mechanism.mechanism
        assert Page(mechanism._repr_html_()).image().size[0] > 100


def test_names_are_words_and_no_html() -> None:
    mechanism = sr.Mechanism("<b>bold</b> & more")
    mechanism.add_body("<script>", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("a<b", "revolute", "world", "<script>")
    page = Page(mechanism._repr_html_())
    assert "a<b" in page.cells
    assert "<script>" in page.cells


def test_a_report_says_first_what_is_lost(tmp_path) -> None:
    report = sr.mechanism.ImportReport("robot.xml")
    report.act("joint", "hip")
    report.leave_out("equality", "loop", "no such kind")
    page = Page(report._repr_html_())
    assert page.cells[4:8] == ["left out", "equality", "loop", "no such kind"]
    assert "1 elements act, 1 left out" in page.words


def test_a_motion_is_a_plot_and_an_empty_one_a_line(five_bar: sr.System) -> None:
    start = five_bar.assemble(five_bar.neutral()).q
    run = sr.simulate(five_bar, start, duration=0.2)
    page = Page(run._repr_html_())
    assert page.image().size[0] > 300
    assert repr(run) in page.words


def test_a_linear_model_is_its_matrices(five_bar: sr.System) -> None:
    held = sr.equilibrium(five_bar, five_bar.assemble(five_bar.neutral()).q)
    model = sr.linearize(five_bar, held.q)
    page = Page(model._repr_html_())
    assert page.cells[0] == "A | B"
    assert len(page.cells) == (1 + len(model.names)) * (1 + len(model.names) + len(model.input_names))
    assert ("unstable" in page.words) == (model.stable is False)
    assert f"{model.eigenvalues[0]:.6g}" in page.words


def test_answers_are_what_they_print_or_their_attributes(five_bar: sr.System) -> None:
    q = five_bar.assemble(five_bar.neutral()).q
    found = sr.mobility(five_bar, q)
    assert Page(found._repr_html_()).words == str(found)
    solved = five_bar.forward_dynamics(q, np.zeros(five_bar.nv))
    assert Page(solved._repr_html_()).words == repr(solved)
    held = Page(sr.equilibrium(five_bar, q)._repr_html_())
    assert held.cells[held.cells.index("status") + 1] == "OK"


def test_the_viewer_is_a_frame_with_its_page(five_bar: sr.System) -> None:
    pytest.importorskip("viser")
    with sr.view(five_bar, open_browser=False) as viewer:
        page = Page(viewer._repr_html_())
        assert page.frames == [viewer.url]
