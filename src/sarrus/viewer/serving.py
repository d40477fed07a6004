"""The web server of a page: viser's, behind access control, started and stopped in a limited time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from typing import Any

from sarrus.base.errors import ArgumentError, ViewerError
from sarrus.viewer.access import AccessControl
from sarrus.viewer.address import Address
from sarrus.viewer.timeouts import within

_START_SECONDS, _STOP_SECONDS = 30.0, 15.0
_STARTING = threading.Lock()


@dataclass(frozen=True, eq=False)
class Served:
    """A running server of viser's and the access control before it."""

    viser: Any
    access: AccessControl

    @property
    def url(self) -> str:
        """The address of its page."""
        return self.access.url(self.viser.get_port())


class _GuardedHost(str):
    """The host that viser is given, with the access control for the server that it opens there."""

    access: AccessControl


def start_server(address: Address, label: str) -> Served:
    """Return a server at an address, which lets nobody in who does not know its token; `ViewerError` if it cannot."""
    try:
        import viser  # an extra
    except ImportError as error:
        raise ArgumentError("the viewer needs viser: pip install 'sarrus[view]'", element="viser") from error
    access = AccessControl(address)
    host = _GuardedHost(address.ip)
    host.access = access

    def start() -> Any:
        with _guarded_serving():
            return viser.ViserServer(host=host, port=address.port, verbose=False, label=label)

    with _silence():
        server = within(_START_SECONDS, start, f"no server came up at {host}:{address.port}", _stop)
    if not access.installed:
        stop_server(server)
        raise ViewerError(
            f"viser {viser.__version__} opens its port in a way that cannot be guarded: pip install 'viser==1.1.1'"
        )
    return Served(server, access)


def stop_server(server: Any) -> None:
    """Stop a server of viser's; its pages go grey."""
    with _silence():
        within(_STOP_SECONDS, lambda: _stop(server), "the server of the viewer did not stop")


def _stop(server: Any) -> None:
    server.stop()


@contextmanager
def _guarded_serving() -> Iterator[None]:
    """Have websockets put the access control of a guarded host before what it serves there, while viser starts.

    viser hands its own ``process_request`` to websockets and takes none from us. Other hosts are served as ever.
    """
    server: Any = import_module("websockets.asyncio.server")
    with _STARTING:
        unguarded = server.serve

        def serve(handler: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
            if isinstance(host, _GuardedHost):
                options["process_request"] = host.access.guard(options.get("process_request"))
            return unguarded(handler, host, port, **options)

        server.serve = serve
        try:
            yield
        finally:
            server.serve = unguarded


@contextmanager
def _silence() -> Iterator[None]:
    """Keep viser's banner from the terminal."""
    with redirect_stdout(StringIO()):
        yield
