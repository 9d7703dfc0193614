"""Part of ``ishmem info`` about devices, identified by unique ids, as masks may hide other devices in each process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ishmem.cli.device_place import place
from ishmem.common.errors import IshmemError
from ishmem.environment import profile, settings as settings_module

if TYPE_CHECKING:
    from ishmem.runtime.peer_device import PeerDevice

LINKS = ("atomics", "access", "none")
"""Operations of a device on the memory of another one, by the number of the route."""


class VisibleGpus(NamedTuple):
    """GPUs visible to one or several processes, in the order of their assignment to PEs.

    Attributes:
        facts: Facts to show, by GPU.
        devices: Properties that determine the routes, by GPU.
    """

    facts: list[dict[str, Any]]
    devices: list[PeerDevice]


def visible() -> VisibleGpus:
    """Return the GPUs that are visible to this process, integrated ones last; initialises Level Zero."""
    from ishmem.ipc import pyze
    from ishmem.runtime.peer_device import PeerDevice

    seen = [(handle, PeerDevice.of(handle)) for handle in pyze.gpus()]
    found = sorted(((_facts(*each), each[1]) for each in seen), key=lambda each: each[0]["integrated"])
    return VisibleGpus([facts for facts, _ in found], [device for _, device in found])


def _facts(handle: int, device: PeerDevice) -> dict[str, Any]:
    from ishmem.ipc import pyze

    properties = pyze.device_properties(handle)
    address = ""
    with contextlib.suppress(IshmemError):
        address = pyze.pci_address(handle)
    node, cores = place(address) if address else ("", "")
    return {
        "name": properties.name.decode(errors="replace"),
        "unique id": device.uuid.hex(),
        "integrated": bool(properties.flags & pyze.DEVICE_INTEGRATED),
        "memory": sum(memory.totalSize for memory in pyze.memory_properties(handle)),
        "largest allocation": properties.maxMemAllocSize,
        "execution units": pyze.xe_cores(handle) * properties.numEUsPerSubslice,
        "host atomics": device.coherent,
        "PCI address": address,
        "NUMA node": node,
        "CPU cores": cores,
    }


def merge(parts: Iterable[VisibleGpus]) -> VisibleGpus:
    """Return the GPUs of a node, each once, from ``parts``, those visible to each process; links are combined."""
    facts: dict[bytes, dict[str, Any]] = {}
    devices: dict[bytes, PeerDevice] = {}
    for part in parts:
        for each, device in zip(part.facts, part.devices):
            known = devices.get(device.uuid, device)
            facts.setdefault(device.uuid, each)
            devices[device.uuid] = replace(known, links={**known.links, **device.links})
    return VisibleGpus(list(facts.values()), list(devices.values()))


def with_hidden_links(seen: VisibleGpus) -> VisibleGpus:
    """Return the GPUs of a node with links that are hidden by all masks, determined in a process without a mask."""
    from ishmem.runtime import peer_device

    if not peer_device.hidden(seen.devices):
        return seen
    unmasked = {device.uuid: device for device in peer_device.unpack_all(peer_device.ask_without_mask())}
    return VisibleGpus(seen.facts, [unmasked.get(device.uuid, device) for device in seen.devices])


def links(devices: list[PeerDevice]) -> list[list[str]]:
    """Return for each device texts on what it does with the memory of each: "itself", "hidden" or one of `LINKS`."""
    return [["itself" if one == other else _link(one, other) for other in devices] for one in devices]


def _link(one: PeerDevice, other: PeerDevice) -> str:
    route = one.route_to(other)
    return "hidden" if route is None else LINKS[route]


def routes(own: list[PeerDevice]) -> list[list[str]]:
    """Return texts on the routes between PEs with devices ``own``, by row; [] if a setting is invalid."""
    from ishmem.runtime import peer_device
    from ishmem.runtime.copy_engine import host_routes
    from ishmem.runtime.debug import describe_route
    from ishmem.runtime.kernel_routes import for_kernels, left_to_hosts

    try:
        settings = settings_module.load()
    except ValueError:
        return []
    reached = peer_device.routes(own, [], settings.p2p)
    measured = [profile.find(settings, each.name.partition(" at ")[0], len(own)).get(profile.PUT) for each in own]
    left = left_to_hosts(reached, [device.coherent for device in own])
    return [
        [
            describe_route(*host_routes(device.coherent, settings, table), route, by_host)
            for route, by_host in zip(for_kernels(row, left), left)
        ]
        for device, row, table in zip(own, reached, measured)
    ]


def heap(facts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return ``size`` of the heap in bytes and whether it ``fits`` all devices, or the ``problem`` of the settings."""
    try:
        size = settings_module.load().symmetric_size
    except ValueError as error:
        return {"problem": str(error)}
    return {"size": size, "fits": size <= min(each["largest allocation"] for each in facts)}
