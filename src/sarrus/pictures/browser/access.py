"""Access control of a page: only requests with its host, its own or no origin, and its token are answered.

Any page in a browser may send requests to this computer. A request from elsewhere has a foreign Origin, or, by a name
of its own for our address, a foreign Host; and no program without the token, which is in the page's address only, is
answered. Requests that open a WebSocket are checked like all others.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from sarrus.pictures.browser.address import Address

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[^\s\[\]:/?#@\\]+))(?::(?P<port>\d{1,5}))?")
_BITS = 24  # bytes of a token
_HTTP = "80"  # the port that a browser leaves out
_PRIVATE = {  # of the page: its address goes nowhere, and stays in no cache
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}

Answering = Callable[
    [Any, Any], Any
]  # (connection, request) → response, or None for a WebSocket that may open


class AccessControl:
    """Passes requests to the server, as a `process_request` of websockets, or refuses them with a line of text."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.token = secrets.token_urlsafe(_BITS)
        self.installed = False

    def url(self, port: int) -> str:
        """Return the address of the page, with its token."""
        return f"http://{self.address.shown}:{port}/{self.token}/"

    def guard(self, answer: Answering | None) -> Answering:
        """Return the function that answers requests, behind this access control."""
        self.installed = True

        def guarded(connection: Any, request: Any) -> Any:
            refusal = self.refusal(request, connection.local_address[1])
            if refusal:
                return connection.respond(HTTPStatus.FORBIDDEN, f"403: {refusal}\n")
            if answer is None:
                return None
            response = answer(connection, replace(request, path="/" + _steps(request.path)[1]))
            if response is not None:
                response.headers.update(_PRIVATE)
            return response

        return guarded

    def refusal(self, request: Any, port: int) -> str:
        """Return the reason why a request at a port is refused; "" if it is not."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1 or not self._served(hosts[0], port):
            return "the viewer is not served under this host and port; open the address that it gave"
        if origins and [origin.lower() for origin in origins] != [f"http://{hosts[0].lower()}"]:
            return "another page asks for this; only the viewer's own may"
        if not hmac.compare_digest(_steps(request.path)[0].encode(), self.token.encode()):
            return (
                "the token is missing; open the whole address that sarrus view printed (viewer.url in Python)"
            )
        return ""

    def _served(self, host: str, port: int) -> bool:
        parts = _HOST.fullmatch(host.lower())
        return (
            parts is not None
            and (parts["port"] or _HTTP) == str(port)
            and self.address.answers_to(parts["six"] or parts["name"])
        )


def _steps(path: str) -> tuple[str, str]:
    """Return the first step of a path, and the remaining path with the query."""
    plain, mark, asked = path.partition("?")
    first, _, rest = plain.removeprefix("/").partition("/")
    return first, rest + mark + asked
