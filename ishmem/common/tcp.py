"""Connections by TCP between the nodes of a job: their tree, where this node may be reached, sockets for both ends."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterable

CONNECT = 3.0
"""Seconds for a connection."""


def above(node: int) -> int:
    """Return the node to whose monitor that of a node connects; node 0 connects to none.

    The monitors form a tree, in which each has at most three neighbours.
    """
    if node == 0:
        raise ValueError("node 0 has no node above it")
    return (node - 1) // 2


def below(node: int, nodes: int) -> range:
    """Return the nodes that connect to a node, of ``nodes`` in the job."""
    return range(2 * node + 1, min(2 * node + 3, nodes))


def addresses() -> list[str]:
    """Return the name of this host and its IPv4 addresses, the loopback address last."""
    import fcntl

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _index, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                request = struct.pack("256s", name.encode())
                found.append(socket.inet_ntoa(fcntl.ioctl(any_socket, 0x8915, request)[20:24]))  # SIOCGIFADDR
    return [socket.gethostname(), *sorted(found, key=lambda address: address.startswith("127."))]


def listen(port: int = 0) -> socket.socket:
    """Return a socket that listens on all addresses of this host; 0: at a port that is free."""
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    return socket.create_server(("", port), family=family, dualstack_ipv6=dual, backlog=1024)


def connect(hosts: Iterable[str], port: int, seconds: float = CONNECT) -> socket.socket:
    """Return a connection to the first of a host's addresses that takes one.

    Raises:
        ConnectionError: None does.
    """
    problem: OSError | str = "it has no address"
    for host in hosts:
        try:
            found = socket.create_connection((host, port), seconds)
        except OSError as error:
            problem = error
            continue
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    raise ConnectionError(f"{', '.join(hosts)}, port {port}: {problem}")
