"""How kernels of one PE reach the memory of another: what Level Zero says of the two devices.

The host reaches every heap through its own mapping, whatever the route is.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ishmem.ipc import pyze

UUID_SIZE = 16


class Route(IntEnum):
    """What kernels can do with a peer's memory, from the best to the worst; the numbers are in the heap for kernels."""

    DIRECT = 0
    """Loads, stores and atomics: the same device, tiles of one card, cards joined by Xe Link."""
    STORES = 1
    """Loads and stores; atomics go through the proxy: cards on PCIe."""
    STAGED = 2
    """Nothing: every operation goes through the proxy, and ``ptr`` is None."""

    @property
    def words(self) -> str:
        """Say it to users."""
        return {
            Route.DIRECT: "direct",
            Route.STORES: "loads and stores direct, atomics through the host",
            Route.STAGED: "through the host; no ptr",
        }[self]


class PeerDevice(NamedTuple):
    """The device of a PE, as another PE learns of it.

    Attributes:
        uuid: The same in all processes, and for no other device.
    """

    uuid: bytes

    def device(self) -> int | None:
        """Return this process's handle of the device, None when ``ZE_AFFINITY_MASK`` hides it."""
        found = (device for driver in pyze.drivers() for device in pyze.devices(driver))
        return next((device for device in found if uuid_of(device) == self.uuid), None)


def uuid_of(device: int) -> bytes:
    """Return the bytes that identify a device."""
    return bytes(pyze.device_properties(device).uuid)


def between(device: int, peer: int | None) -> Route:
    """Return the route of kernels on a device to memory of another: ``STORES`` for one that this process cannot see.

    Then opening the memory shows whether there is access, and nothing tells of atomics.
    """
    if peer is None:
        return Route.STORES
    if device == peer:
        return Route.DIRECT
    if not pyze.can_access_peer(device, peer):
        return Route.STAGED
    return Route.DIRECT if pyze.p2p_properties(device, peer).flags & pyze.P2P_ATOMICS else Route.STORES


def left_to_hosts(routes: list[list[Route]], coherent: list[bool]) -> list[bool]:
    """Return on whose memory all atomics are done by hosts, one at a time.

    Args:
        routes: Those of each PE to all PEs.
        coherent: Whether the host's atomics on a PE's memory are atomic for kernels too.
    """
    return [not whole and any(row[pe] != Route.DIRECT for row in routes) for pe, whole in enumerate(coherent)]


def for_kernels(routes: list[Route], left: list[bool]) -> list[Route]:
    """Return routes as kernels take them: no atomics, where they are left to the hosts."""
    return [max(route, Route.STORES) if by_host else route for route, by_host in zip(routes, left)]
