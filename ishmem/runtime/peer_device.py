"""The devices of the PEs of a node, identified by unique ids, since each process may see other devices."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ishmem.common.errors import IshmemError
from ishmem.environment import stack
from ishmem.ipc import native, pyze
from ishmem.runtime.kernel_routes import Route, reported, shares_atomics, uuid_of

if TYPE_CHECKING:
    import dpctl

_UUID = 16
_HEAD = struct.Struct(f"<{_UUID}sI?HHH")
_TIMEOUT = 60.0
_ASK = """
from ishmem.ipc import native, pyze
from ishmem.runtime.peer_device import PeerDevice
for device in pyze.gpus():
    print(PeerDevice.of(device).pack().hex())
"""


@dataclass(frozen=True)
class PeerDevice:
    """A device as one process sees it; records are equal if their ids are.

    Attributes:
        uuid: Identifies the device in all processes.
        engines: The number of processes that can run kernels on it concurrently.
        coherent: Whether host atomics on its memory are atomic for kernels too.
        name: Its name and PCI address.
        driver: The version of its driver.
        links: The routes to the devices that the process sees, as the driver reports them, by their ids.
    """

    uuid: bytes
    engines: int = field(compare=False)
    coherent: bool = field(compare=False)
    name: str = field(compare=False)
    driver: str = field(compare=False)
    links: Mapping[bytes, Route] = field(compare=False)

    @classmethod
    def of(cls, device: int) -> PeerDevice:
        """Return the record of a device that this process sees."""
        links = {uuid_of(other): reported(device, other) for other in pyze.gpus()}
        return cls(uuid_of(device), engines(device), shares_atomics(device), _name(device), _driver(device), links)

    def pack(self) -> bytes:
        """Return the record as bytes, for `unpack`."""
        name, driver = self.name.encode(), self.driver.encode()
        head = _HEAD.pack(self.uuid, self.engines, self.coherent, len(name), len(driver), len(self.links))
        return head + name + driver + b"".join(uuid + bytes([route]) for uuid, route in self.links.items())

    @classmethod
    def unpack(cls, data: bytes) -> tuple[PeerDevice, bytes]:
        """Return the device at the start of ``data``, and the bytes that follow it.

        Raises:
            IshmemError: The bytes are not a packed device.
        """
        try:
            uuid, n_engines, coherent, *sizes = _HEAD.unpack_from(data)
            name_end = _HEAD.size + sizes[0]
            driver_end = name_end + sizes[1]
            end = driver_end + sizes[2] * (_UUID + 1)
            entries = [data[start : start + _UUID + 1] for start in range(driver_end, end, _UUID + 1)]
            links = {entry[:_UUID]: Route(entry[_UUID]) for entry in entries}
            texts = data[_HEAD.size : name_end].decode(), data[name_end:driver_end].decode()
        except (struct.error, IndexError, ValueError) as error:
            raise IshmemError(f"{len(data)} bytes are no packed device: {error}") from None
        return cls(uuid, n_engines, coherent, *texts, links), data[end:]

    def route_to(self, other: PeerDevice) -> Route | None:
        """Return the route that a driver has reported to either process; None if neither sees the other's device."""
        if self == other:
            return Route.DIRECT
        return self.links.get(other.uuid, other.links.get(self.uuid))


def engines(device: int) -> int:
    """Return the number of processes that can run kernels on a device concurrently, at least 1."""
    return max((group.numQueues for group in pyze.queue_groups(device) if group.flags & pyze.QUEUE_COMPUTE), default=1)


def discrete_first(devices: Sequence[dpctl.SyclDevice]) -> list[dpctl.SyclDevice]:
    """Return the devices in the same order, but with the integrated ones last."""
    flags = {device: pyze.device_properties(native.device(device)).flags for device in devices}
    return sorted(devices, key=lambda device: flags[device] & pyze.DEVICE_INTEGRATED)


def _name(device: int) -> str:
    name = pyze.device_properties(device).name.decode(errors="replace")
    with contextlib.suppress(IshmemError):
        return f"{name} at {pyze.pci_address(device)}"
    return str(name)


def _driver(device: int) -> str:
    driver = next((driver for driver in pyze.drivers() if device in pyze.devices(driver)), None)
    return "unknown" if driver is None else pyze.driver_version(pyze.driver_properties(driver).driverVersion)


UNTOLD = (
    "no process of this node sees both devices of some pairs of PEs (ZE_AFFINITY_MASK, or containers with a device "
    "each), so nothing tells whether atomics work between them: those of kernels go through the host, which is slower"
)
"""The warning where no driver reports whether atomics work between the devices of some PEs."""


def hidden(devices: Sequence[PeerDevice], asked: Sequence[PeerDevice] = ()) -> bool:
    """Return whether no driver has reported a route between some two devices, neither to their PEs nor in ``asked``."""
    known = {device.uuid: device for device in asked}
    return any(_reported_by_driver(one, other, known) is None for one in devices for other in devices)


def ask_without_mask() -> bytes:
    """Return, packed, the devices that a process without ``ZE_AFFINITY_MASK`` sees; no bytes if that process fails."""
    environ = {name: value for name, value in os.environ.items() if name not in (stack.MASK, stack.HIERARCHY)}
    command = [sys.executable, "-c", _ASK]
    try:
        done = subprocess.run(
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=True
        )
        return bytes.fromhex(done.stdout.decode())
    except (OSError, subprocess.SubprocessError, ValueError):
        return b""


def unpack_all(data: bytes) -> list[PeerDevice]:
    """Return the devices that are packed in ``data``; ``IshmemError`` if the bytes are no packed devices."""
    found = []
    while data:
        device, data = PeerDevice.unpack(data)
        found.append(device)
    return found


def routes(devices: Sequence[PeerDevice], asked: Sequence[PeerDevice], p2p: str) -> list[list[Route]]:
    """Return the routes between the devices of PEs as reported, equal in both directions.

    Where no driver reports one, as in a container that has only its own device, opening the memory shows whether there
    is access; atomics are left to the host.

    Args:
        devices: The device of each PE.
        asked: The devices that a process without a mask sees, for pairs that no PE sees; else empty.
        p2p: The setting ``ISHMEM_P2P``.
    """
    if p2p == "off":
        return [[Route.DIRECT if one == other else Route.STAGED for other in devices] for one in devices]
    known = {device.uuid: device for device in asked}
    rows = [[_route(one, other, known) for other in devices] for one in devices]
    return [[max(rows[i][j], rows[j][i]) for j in range(len(rows))] for i in range(len(rows))]


def _route(one: PeerDevice, other: PeerDevice, known: Mapping[bytes, PeerDevice]) -> Route:
    route = _reported_by_driver(one, other, known)
    return Route.STORES if route is None else route


def _reported_by_driver(one: PeerDevice, other: PeerDevice, known: Mapping[bytes, PeerDevice]) -> Route | None:
    route = one.route_to(other)
    if route is None and one.uuid in known:
        return known[one.uuid].links.get(other.uuid)
    return route
