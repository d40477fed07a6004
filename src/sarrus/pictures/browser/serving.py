"""The web server of a page: viser's, behind access control, started and stopped within a time limit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from io import StringIO
from operator import methodcaller
from typing import Any

from sarrus.base.errors import ArgumentError, ViewerError
from sarrus.pictures.browser.access import AccessControl
from sarrus.pictures.browser.address import Address
from sarrus.pictures.browser.style import START_SECONDS, STOP_SECONDS
from sarrus.pictures.browser.timeouts import within

_STARTING = threading.Lock()
_STOP = methodcaller("stop")


class _GuardedHost(str):
    """The host given to viser, with the access control of the server opened there."""

    access: AccessControl


def start_server(address: Address, label: str) -> tuple[Any, str]:
    """Return a viser server at an address, and the address of its page; `ViewerError` if it cannot start.

    Requests without its token are refused.
    """
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

    with redirect_stdout(StringIO()):  # viser greets the terminal
        server = within(START_SECONDS, start, f"no server came up at {host}:{address.port}", _STOP)
    if not access.installed:
        stop_server(server)
        raise ViewerError(
            f"viser {viser.__version__} opens its port in a way that cannot be guarded: pip install 'viser==1.1.1'"
        )
    return server, access.url(server.get_port())


def stop_server(server: Any) -> None:
    """Stop a viser server; its pages turn grey."""
    with redirect_stdout(StringIO()):
        within(STOP_SECONDS, lambda: _STOP(server), "the server of the viewer did not stop")


@contextmanager
def _guarded_serving() -> Iterator[None]:
    """Insert the access control of a guarded host into websockets' servers while viser starts.

    viser passes its own ``process_request`` to websockets and accepts none from us. Other hosts are not affected.
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
