"""Requests to a viewer from those who are not meant to see it, byte for byte as they like."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tally import Tally

import sarrus as sr
from sarrus.pictures.browser.server import Viewer

MODEL = Path(__file__).resolve().parent.parent.parent / "models" / "five_bar.xml"
EVIL = "evil.example"
REFUSED = ("403", "400", "")  # forbidden; not to be understood; the connection closed without a word


@dataclass(frozen=True)
class Request:
    """A request to open a WebSocket, or for a page; several headers of a name are several lines."""

    port: int
    path: str
    host: tuple[str, ...]
    origin: tuple[str, ...] = ()
    upgrade: bool = True

    def text(self) -> bytes:
        """Return what goes over the wire."""
        lines = [f"GET {self.path} HTTP/1.1", *(f"Host: {host}" for host in self.host)]
        lines += [f"Origin: {origin}" for origin in self.origin]
        if self.upgrade:
            lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
            lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass")

    def status(self) -> str:
        """Send it; return the status of the answer, nothing where the connection is closed without one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5.0) as line:
            try:
                line.sendall(self.text())
                answer = line.recv(4096)
            except ConnectionError:
                return ""
        return answer[9:12].decode("ascii", "replace")


@contextmanager
def served() -> Iterator[tuple[Viewer, Request]]:
    """Yield a viewer and a request of its own page to open a WebSocket."""
    with sr.view(sr.load(MODEL), open_browser=False, port=0) as viewer:
        yield viewer, own_request(viewer)


def own_request(viewer: Viewer) -> Request:
    """Return the request that a viewer's own page makes to open its WebSocket."""
    host, token = viewer.url.split("/")[2:4]
    return Request(int(host.rpartition(":")[2]), f"/{token}", (host,), (f"http://{host}",))


def foreign(own: Request) -> dict[str, Request]:
    """Return requests that differ from the page's own as little as an attack must, by what is wrong with them."""
    host, path = own.host[0], own.path
    port = f":{own.port}"
    paths = {
        "no token": "/",
        "an empty token": "//",
        "a wrong token": "/" + "x" * (len(path) - 1),
        "a token without its end": path[:-1],
        "a token with more behind": path + "x",
        "a token in the other case": path.swapcase(),
        "a token asked for, not in the path": f"/?token={path[1:]}",
        "a token one step down": f"/x{path}",
        "a token behind dots": f"/x/..{path}",
        "a token in an absolute address": f"http://{host}{path}",
        "a token with a sign written as a number": path[:-1] + f"%{ord(path[-1]):02x}",
        "viser's own page": "/index.html",
    }
    hosts = {
        "a foreign Host": (EVIL,),
        "a foreign Host with our port": (EVIL + port,),
        "a Host that ends like ours": (f"{EVIL}.127.0.0.1{port}",),
        "a Host that begins like ours": (f"127.0.0.1.{EVIL}{port}",),
        "ours as the name of a user": (f"127.0.0.1@{EVIL}{port}",),
        "a user at ours": (f"{EVIL}@{host}",),
        "another port": (f"127.0.0.1:{own.port + 1}",),
        "no port": ("127.0.0.1",),
        "another number of this computer": (f"127.0.0.2{port}",),
        "this computer as one number": (f"2130706433{port}",),
        "all interfaces": (f"0.0.0.0{port}",),
        "an empty Host": ("",),
        "no Host": (),
        "two Hosts": (host, EVIL + port),
        "our Host twice": (host, host),
        "two Hosts in one": (f"{host}, {EVIL}",),
    }
    origins = {
        "a foreign Origin": (f"http://{EVIL}",),
        "a foreign Origin with our port": (f"http://{EVIL}{port}",),
        "another port's Origin": (f"http://127.0.0.1:{own.port + 1}",),
        "another name's Origin": (f"http://localhost{port}",),
        "an Origin with TLS": (f"https://{host}",),
        "an Origin that begins like ours": (f"http://{host}.{EVIL}",),
        "no page's Origin": ("null",),
        "an empty Origin": ("",),
        "a file's Origin": ("file://",),
        "two Origins": (f"http://{host}", f"http://{EVIL}"),
        "our Origin twice": (f"http://{host}", f"http://{host}"),
    }
    found = {what: replace(own, path=path) for what, path in paths.items()}
    found |= {what: replace(own, host=host, origin=()) for what, host in hosts.items()}
    found |= {what: replace(own, origin=origin) for what, origin in origins.items()}
    rebound = replace(own, host=(EVIL + port,), origin=(f"http://{EVIL}{port}",))
    return found | {"a foreign name for our address, Host and Origin alike": rebound}


def random_request(own: Request, rng: np.random.Generator) -> Request:
    """Return the page's own request with token, Host or Origin changed at random, never into a right one."""
    signs = [chr(k) for k in range(0x21, 0x7F)]

    def spoiled(text: str) -> str:
        noise, at = (
            "".join(rng.choice(signs, size=int(rng.integers(1, 30)))),
            int(rng.integers(len(text) + 1)),
        )
        found = text[:at] + noise + text[at + int(rng.integers(4)) :]
        return found if found.lower() != text.lower() else spoiled(text)

    changes: tuple[Callable[[], Request], ...] = (
        lambda: replace(own, path="/" + spoiled(own.path[1:]).replace("/", "_").replace("?", "_")),
        lambda: replace(own, host=(spoiled(own.host[0]),), origin=()),
        lambda: replace(own, origin=(spoiled(own.origin[0]),)),
    )
    made = changes[rng.integers(len(changes))]()
    return replace(made, upgrade=bool(rng.integers(2)))


def campaign(scale: float) -> list[Tally]:
    """Return how each attack ended; ``scale`` 1 makes the counts of docs/reliability.md."""
    known = Tally("requests with a foreign Host or Origin, or without the token", "refused")
    noise = Tally("requests with Host, Origin or token changed at random", "refused")
    rng = np.random.default_rng(11)
    with served() as (_, own):
        for what, request in foreign(own).items():
            for upgrade in (True, False):
                _count(known, replace(request, upgrade=upgrade), what)
        for k in range(max(1, round(scale * 20000))):
            request = random_request(own, rng)
            _count(noise, request, f"request {k}: {request}")
    return [known, noise]


def _count(tally: Tally, request: Request, again: str) -> None:
    status = request.status()
    if status in REFUSED:
        tally.passes(status or "closed")
    else:
        tally.fails(status, again)
