"""Routes of kernels to the memory of another PE.

Level Zero reports the access between devices; opening the memory and the proof (`ishmem.runtime.peer_proof`) show
whether it works. The host reaches every heap of its node through its own mapping, whatever the route.
"""

from __future__ import annotations

from enum import IntEnum

from ishmem.ipc import pyze


class Route(IntEnum):
    """The kinds of access of kernels to a peer's memory, best first; kernels read these numbers from the heap."""

    DIRECT = 0
    """Loads, stores and atomics: the same device, tiles of one card, cards joined by Xe Link."""
    STORES = 1
    """Loads and stores; atomics go through the proxy: cards on PCIe."""
    STAGED = 2
    """Nothing: every operation goes through the proxy, and ``ptr`` is None."""

    @property
    def words(self) -> str:
        """Description for users."""
        return {
            Route.DIRECT: "direct",
            Route.STORES: "loads and stores direct, atomics through the host",
            Route.STAGED: "through the host; no ptr",
        }[self]


def uuid_of(device: int) -> bytes:
    """Return the bytes that identify a device in all processes."""
    return bytes(pyze.device_properties(device).uuid)


def reported(device: int, peer: int) -> Route:
    """Return the route of kernels on a device to the memory of ``peer``, as the driver reports it."""
    if device == peer:
        return Route.DIRECT
    if not pyze.can_access_peer(device, peer):
        return Route.STAGED
    return Route.DIRECT if pyze.p2p_properties(device, peer).flags & pyze.P2P_ATOMICS else Route.STORES


def left_to_hosts(routes: list[list[Route]], coherent: list[bool]) -> list[bool]:
    """Return for each PE whether hosts do all atomics on its memory, under a lock.

    Args:
        routes: The routes of each PE to all PEs.
        coherent: For each PE, whether host atomics on its memory are atomic for kernels too.
    """
    return [not whole and any(row[pe] != Route.DIRECT for row in routes) for pe, whole in enumerate(coherent)]


def for_kernels(routes: list[Route], left: list[bool]) -> list[Route]:
    """Return the routes of kernels to PEs: `STORES` in place of `DIRECT` where, by ``left``, hosts do the atomics."""
    return [max(route, Route.STORES) if by_host else route for route, by_host in zip(routes, left)]


def shares_atomics(device: int) -> bool:
    """Return whether the host's atomics on this device's memory are atomic for kernels too.

    Across PCIe they are not: a locked instruction becomes a read and a write.
    """
    capabilities = pyze.memory_access_properties(device).deviceAllocCapabilities
    integrated = pyze.device_properties(device).flags & pyze.DEVICE_INTEGRATED
    return bool(capabilities & pyze.ACCESS_CONCURRENT_ATOMIC or integrated)
