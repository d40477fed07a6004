"""Who gets in to a viewer, what a hostile name does there, and what happens where nothing answers."""

from __future__ import annotations

import http.server
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from names import HOSTILE, SCRIPT
from tally import Tally
from viewer import MODEL, Request, foreign, own_request, random_request, served

import sarrus as sr
from chromium import NEXT_FRAME, open_browser, open_page
from sarrus.base.errors import ArgumentError
from sarrus.model.mechanism.elements import Shape
from sarrus.pictures.browser.address import address_of
from sarrus.pictures.browser.server import Viewer
from sarrus.pictures.browser.timeouts import ViewerError, within
from sarrus.pictures.browser.worker_thread import WorkerThread

NOISE = 200


@pytest.fixture(scope="module")
def door() -> Iterator[tuple[Viewer, Request]]:
    with served() as found:
        yield found


# --- who gets in ----------------------------------------------------------------------------------------


def test_the_own_page_and_who_knows_its_address_get_in(door: tuple[Viewer, Request]) -> None:
    _, own = door
    assert own.status() == "101"
    assert replace(own, origin=()).status() == "101"  # a program
    assert replace(own, upgrade=False).status() == "200"
    assert replace(own, upgrade=False, path=own.path + "/", origin=()).status() == "200"
    local = f"localhost:{own.port}"
    assert replace(own, host=(local,), origin=(f"http://{local}",)).status() == "101"


def test_nobody_else_gets_in(door: tuple[Viewer, Request]) -> None:
    _, own = door
    got_in = {
        what: answers
        for what, request in foreign(own).items()
        if (answers := (request.status(), replace(request, upgrade=False).status())) != ("403", "403")
    }
    assert got_in == {}


def test_requests_changed_at_random_are_refused(door: tuple[Viewer, Request]) -> None:
    tally, rng = Tally("noise", "refused"), np.random.default_rng(5)
    for _ in range(NOISE):
        request = random_request(door[1], rng)
        if request.status() in ("403", "400", ""):
            tally.passes("refused")
        else:
            tally.fails("let in", repr(request))
    tally.check()


def test_a_refusal_says_where_the_address_is_to_be_found(door: tuple[Viewer, Request]) -> None:
    viewer, own = door
    with socket.create_connection(("127.0.0.1", own.port)) as line:
        line.sendall(replace(own, path="/", upgrade=False).text())
        answer = b"".join(iter(lambda: line.recv(4096), b"")).decode()
    assert "viewer.url" in answer
    assert len(answer.partition("\r\n\r\n")[2].splitlines()) == 1
    assert own.path[1:] not in answer
    assert viewer.url.endswith(own.path + "/")


def test_every_viewer_has_a_token_of_its_own(door: tuple[Viewer, Request]) -> None:
    with sr.view(sr.load(MODEL), open_browser=False, port=door[1].port) as other:
        request = own_request(other)
        assert request.port != door[1].port
        assert request.path != door[1].path
        assert len(request.path) >= 32
        assert replace(request, path=door[1].path).status() == "403"


def test_at_all_interfaces_numbers_are_let_in_and_foreign_names_are_not() -> None:
    address = address_of("0.0.0.0", 0)
    assert address.shown == "127.0.0.1"
    assert all(map(address.answers_to, ("127.0.0.1", "localhost", "192.168.1.7", "fe80::1")))
    assert not any(map(address.answers_to, ("evil.example", "2130706433", "1.2.3.4.evil.example", "")))


def test_a_server_that_cannot_be_guarded_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    import viser

    real, started = viser.ViserServer, []

    def plain(host: str, **options: Any) -> Any:
        started.append(real(host=str(host), **options))  # the access control is lost
        return started[-1]

    monkeypatch.setattr(viser, "ViserServer", plain)
    with pytest.raises(ViewerError, match="cannot be guarded"):
        sr.view(sr.load(MODEL), open_browser=False, port=0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", started[0].get_port()))


# --- nothing blocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": ""}, "host must be the name .* '': \"127.0.0.1\" is this computer alone"),
        ({"host": None}, "host must be .* got None"),
        ({"host": "nowhere.invalid"}, "host 'nowhere.invalid' is not known here"),
        ({"host": "a" * 300}, "is not known here"),
        ({"host": "203.0.113.1"}, "host '203.0.113.1' is no interface of this computer"),
        ({"port": 65536}, "port must be an integer from 0 .* to 65535, got 65536"),
        ({"port": -1}, "port must be .* got -1"),
        ({"port": 8080.0}, "port must be .* got 8080.0"),
        ({"port": "8080"}, "port must be .* got '8080'"),
        ({"port": True}, "port must be .* got True"),
    ],
)
def test_where_nothing_can_be_served_no_server_is_begun(
    given: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viser.ViserServer", lambda *args, **options: pytest.fail("a server was begun"))
    with pytest.raises(ArgumentError, match=said) as caught:
        sr.view(sr.load(MODEL), open_browser=False, **given)
    assert caught.value.element in given


def test_the_last_port_taken_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sarrus.pictures.browser.address._PORTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=f"no port from {port} to {port} is free"):
            address_of("127.0.0.1", port)


def test_a_stopped_viewer_answers_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: nothing is waited for."""
    with served() as (viewer, own):
        pass
    here, wait = threading.current_thread(), threading.Event.wait

    def only_elsewhere(event: threading.Event, timeout: float | None = None) -> bool:
        assert threading.current_thread() is not here or event.is_set(), "the caller waits"
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", only_elsewhere)
    viewer.stop()  # once more does nothing
    for ask in (
        lambda: viewer.show(viewer.q),
        lambda: viewer.drag("left", 1.0),
        lambda: viewer.show_time(0.0),
        viewer.play,
        viewer.pause,
        lambda: viewer.save("never.png"),
        viewer.wait,
    ):
        with pytest.raises(ViewerError, match=r"'five_bar' has been stopped: sarrus\.view opens another"):
            ask()
    with pytest.raises(ConnectionRefusedError):
        own.status()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_viewer_whose_thread_has_died_answers_with_an_error() -> None:
    with served() as (viewer, _):
        viewer.worker.post("end", sys.exit)
        with pytest.raises(ViewerError, match="has been stopped"):
            viewer.drag("left", 1.0)


def test_work_that_takes_too_long_is_an_error() -> None:
    go_on, worker = threading.Event(), WorkerThread(lambda seconds: None, lambda: False, "the slow one")
    worker.post("long", go_on.wait)
    with pytest.raises(ViewerError, match=r"the slow one has not answered for 0\.3 s"):
        worker.do(lambda: 1, timeout=0.3)
    go_on.set()
    assert worker.do(lambda: 2) == 2
    worker.close()
    late, undone = threading.Event(), SimpleQueue[str]()
    with pytest.raises(ViewerError, match=r"nothing came within 0\.1 s"):
        within(0.1, lambda: "late" if late.wait(60.0) else "never", "nothing came", undone.put)
    late.set()
    assert undone.get(timeout=60.0) == "late"


def test_started_and_stopped_again_and_again_leaves_nothing_behind() -> None:
    with served() as (_, own):
        pass
    before, port = threading.active_count(), own.port
    for _ in range(3):
        with sr.view(sr.load(MODEL), open_browser=False, port=port) as viewer:
            assert own_request(viewer).port == port
    assert threading.active_count() == before


# --- names ----------------------------------------------------------------------------------------------


def pwned(page: Any) -> list[str]:
    """Return signs of script or markup from a name in a page."""
    found = [str(value) for frame in page.frames if (value := frame.evaluate("window.__pwned")) is not None]
    own = "[...document.querySelectorAll('*')]"
    handlers = f"{own}.filter(e => e.getAttributeNames().some(a => a.startsWith('on'))).map(e => e.outerHTML)"
    strange = f"{own}.filter(e => e.matches('iframe, img[src=x], a[href^=javascript]')).map(e => e.outerHTML)"
    return found + page.evaluate(handlers) + page.evaluate(strange)


def hostile_mechanism() -> sr.Mechanism:
    """A pendulum with a guided bob whose every name is an attack, and with meshes that are nowhere."""
    names = iter(HOSTILE[:9])
    mechanism = sr.Mechanism(HOSTILE[0])
    mesh = Shape("mesh", np.ones(3), file=f"{HOSTILE[0]}.stl")
    rod, bob = f"{next(names)}/a/b", f"{next(names)}/a"
    mechanism.add_body(rod, mass=1.0, inertia=(0.1, 0.1, 0.1), shapes=[mesh])
    mechanism.add_body(bob, mass=1.0, inertia=(0.1, 0.1, 0.1))
    hinge = {"kind": "revolute", "axis": (0.0, -1.0, 0.0)}
    mechanism.add_joint(next(names), parent="world", child=rod, **hinge)
    mechanism.add_joint(next(names), parent=rod, child=bob, parent_pose=(0.5, 0.0, 0.0), **hinge)
    line = {"axis": (1.0, 0.0, 0.0), "pose2": (0.5, 0.0, 0.0)}
    mechanism.add_closure(next(names), "point_on_line", "world", bob, **line)
    return mechanism


@contextmanager
def foreign_page(script: str) -> Iterator[str]:
    """Serve a page with a script from another port; yield its address."""
    body = f"<!doctype html><script>{script}</script>".encode()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *message: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


OUTSIDER = """
window.got = [];
for (const path of ["", "TOKEN"]) {
  const socket = new WebSocket("ws://HOST/" + path, "viser-vVERSION");
  socket.onopen = () => got.push("open");
  socket.onmessage = () => got.push("message");
  socket.onclose = event => got.push("closed " + event.code);
  fetch("http://HOST/" + path).then(() => got.push("read"), () => got.push("not read"));
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


def test_a_page_from_elsewhere_is_refused_by_the_browsers_own_word(
    browser: Any, door: tuple[Viewer, Request]
) -> None:
    import viser

    own = door[1]
    script = OUTSIDER.replace("HOST", own.host[0]).replace("TOKEN", own.path[1:])
    with (
        foreign_page(script.replace("VERSION", viser.__version__)) as address,
        open_page(browser, address) as (page, _),
    ):
        page.wait_for_function("window.got.length >= 4", timeout=20000)
        assert sorted(page.evaluate("window.got")) == ["closed 1006", "closed 1006", "not read", "not read"]


def test_script_in_any_name_is_inert(browser: Any, tmp_path: Path) -> None:
    system = sr.System(hostile_mechanism())
    run = sr.simulate(system, system.neutral(), duration=0.02, dt=1e-3)
    runs = {HOSTILE[0]: run, HOSTILE[1]: run}
    with pytest.warns(UserWarning, match="not found: not drawn"):
        exported = sr.render(runs, tmp_path / "page.html")
    with pytest.warns(UserWarning, match="not found: not drawn"):
        viewer = sr.view(runs, open_browser=False, port=0)
    with viewer, open_page(browser, viewer.url, 1280, 900) as (page, complaints):
        page.wait_for_selector('[data-sarrus="energy_change"]', timeout=60000)
        viewer.show(viewer.q, note=HOSTILE[0])
        page.wait_for_selector('[data-sarrus="note"]')
        assert page.inner_text('[data-sarrus="note"]') == HOSTILE[0]
        for name in system.coordinate_names:
            assert page.get_by_text(name).count()  # its slider
        assert page.get_by_text(f"mesh file {HOSTILE[0] + '.stl'!r} not found").count() == 1
        assert page.get_by_text(HOSTILE[1]).count()  # the label of a run
        page.mouse.move(600, 400)
        page.evaluate(NEXT_FRAME)
        assert pwned(page) == []
        assert complaints == []
    with open_page(browser, exported.as_uri()) as (page, complaints):
        page.wait_for_selector("canvas", timeout=60000)
        assert HOSTILE[0] in page.inner_text('[data-sarrus="caption"]').replace("  ", "__")
        assert page.title() == " ".join(HOSTILE[0].replace("_", " ").split())
        assert pwned(page) == []
        assert complaints == []
    assert SCRIPT in HOSTILE[0]
