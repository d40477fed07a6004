"""Address of a page: an existing host and a free port, and the names by which a request may call the host."""

from __future__ import annotations

import errno
import ipaddress
import operator
import os
import socket
from dataclasses import dataclass

from sarrus.base.errors import ArgumentError, ViewerError
from sarrus.pictures.browser.style import LOOKUP_SECONDS
from sarrus.pictures.browser.timeouts import within

LOOPBACK = "127.0.0.1"
_EVERYWHERE = {
    "0.0.0.0": LOOPBACK,
    "::": "::1",
}  # hosts that stand for all interfaces, and where to find them here
_LOCAL = ("localhost", LOOPBACK, "::1")
_LAST_PORT = 65535
_PORTS = 1000  # that are tried
_TAKEN = (errno.EADDRINUSE, errno.EACCES)


@dataclass(frozen=True)
class Address:
    """Address at which a page is served.

    Attributes
    ----------
    host : as given.
    ip : of the interface to which the socket is bound.
    port : free at the time.
    names : hosts by which a request may call it, in lower case; IPv6 addresses without brackets.
    """

    host: str
    ip: str
    port: int
    names: frozenset[str]

    @property
    def everywhere(self) -> bool:
        """Whether it is served at all interfaces."""
        return self.ip in _EVERYWHERE

    @property
    def shown(self) -> str:
        """The host as it stands in a URL."""
        host = _EVERYWHERE.get(self.host, self.host)
        return f"[{host}]" if ":" in host else host

    def answers_to(self, name: str) -> bool:
        """Return whether a request may call the host by this name.

        At all interfaces any numeric address is accepted: an attack that gives a name of its own to an address of this
        computer uses that name.
        """
        return name in self.names or (self.everywhere and _is_number(name))


def address_of(host: str, port: int) -> Address:
    """Return the address of a host and a port, or of the next free port; `ArgumentError` if there is none."""
    port = _checked_port(port)
    families = _looked_up(host)
    family, place = next((found for found in families if found[0] == socket.AF_INET), families[0])
    ip = str(place[0])
    names = {host.lower(), *(str(place[0]).lower() for _, place in families)}
    if ip in _EVERYWHERE:
        own = socket.gethostname().lower()
        names |= {*_LOCAL, own, f"{own}.local"}
    elif ipaddress.ip_address(ip.partition("%")[0]).is_loopback:
        names |= set(_LOCAL)
    return Address(host, ip, _free_port(host, family, place, port), frozenset(names))


def _checked_port(port: int) -> int:
    try:
        number = operator.index(port)
    except TypeError:
        number = -1
    if isinstance(port, bool) or not 0 <= number <= _LAST_PORT:
        raise ArgumentError(
            f"port must be an integer from 0 (any free one) to {_LAST_PORT}, got {port!r}", element="port"
        )
    return number


def _looked_up(host: str) -> list[tuple[int, tuple]]:
    """Return family and socket address of each interface that a host stands for."""
    if not isinstance(host, str) or not host.strip():
        raise ArgumentError(
            f'host must be the name or the number of an interface, got {host!r}: "{LOOPBACK}" is this computer '
            'alone, "0.0.0.0" its whole network',
            element="host",
        )
    wrong = f"host {host!r} is not known here"
    right = f'give "{LOOPBACK}", "0.0.0.0", or a name or a number of this computer'
    try:
        found = within(
            LOOKUP_SECONDS,
            lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM),
            f"{wrong}: no answer",
        )
    except (OSError, ValueError, ViewerError) as error:  # a name that is too long is a UnicodeError
        raise ArgumentError(f"{wrong}: {right} ({error})", element="host") from error
    return [(family, place) for family, _, _, _, place in found]


def _free_port(host: str, family: int, place: tuple, port: int) -> int:
    """Return the first free port from ``port`` on; any for zero."""
    end = min(port + _PORTS, _LAST_PORT + 1) if port else 1
    for candidate in range(port, end):
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            if os.name == "posix":  # as the server itself will ask for it
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((place[0], candidate, *place[2:]))
            except OSError as error:
                if error.errno in _TAKEN:
                    continue
                raise ArgumentError(
                    f"host {host!r} is no interface of this computer: {error.strerror}", element="host"
                ) from error
            return int(trial.getsockname()[1])
    raise ArgumentError(
        f"no port from {port} to {end - 1} is free: give another, or 0 for any free one", element="port"
    )


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
