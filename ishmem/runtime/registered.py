"""Device memory of the program that all PEs have registered: mapped and opened like the heaps, by each PE of the node.

In the core it is a static object (``ishmem/core/heap.hpp``), at the addresses of the host's mappings. The copy engine
uses addresses of the device where the device reaches the peer.
"""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass, field
from typing import Any

from ishmem import _core
from ishmem.common.errors import LevelZeroError
from ishmem.common.layout import Regions
from ishmem.ipc import handles, pyze, wire
from ishmem.runtime import agreement, check, job, kernel_loading
from ishmem.runtime.heap import distances


@dataclass
class Region:
    """Registered memory: the array that owns it, its address on this PE, its bytes, and the number of the registration.

    Attributes:
        slot: Its slot in the `Regions` of kernels.
        peers: The address of each PE's memory on this PE, as ``SymmetricHeap.peers``.
        maps: The host's mappings, by PEs; of this node only.
        opened: The mappings of other PEs' memory for this PE's device.
    """

    array: Any
    address: int
    nbytes: int
    number: int
    slot: int = 0
    peers: dict[int, int] = field(default_factory=dict)
    maps: dict[int, handles.HostMap] = field(default_factory=dict)
    opened: list[handles.Mapping] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the text that must be equal on all PEs; kernels access 16 bytes at a time where addresses allow it."""
        return f"of {self.nbytes} bytes, {self.address % 16} bytes after a multiple of 16"

    def ranges(self) -> list[range]:
        """Return the addresses of the host's mappings."""
        return [range(each.address, each.address + self.nbytes) for each in self.maps.values()]

    def close(self) -> None:
        """Close the device's mappings of other PEs' memory, and all host mappings."""
        for opened in self.opened:
            opened.close()
        for mapped in self.maps.values():
            mapped.close()


class Registered:
    """The registered memory of a job."""

    def __init__(self) -> None:
        self._regions: dict[int, Region] = {}
        self._count = self._used = 0

    def find(self, address: int, nbytes: int) -> Region | None:
        """Return the region that contains ``nbytes`` bytes at an address; None if there is none."""
        for each in self._regions.values():
            if each.address <= address and address + nbytes <= each.address + each.nbytes:
                return each
        return None

    def new(self, a: Any) -> Region:
        """Check an array to be registered and return its region; raise the errors of ``ishmem.register``."""
        array = check.view(a, "a", routine="register")
        check.contiguous(array)
        heap, low, nbytes = job.current().heap, array.address, array.count * array.itemsize
        properties, device = pyze.alloc_properties(heap.context, low)
        if not nbytes or properties.type != pyze.MEMORY_DEVICE or device != heap.device:
            raise ValueError(
                f"a has {nbytes} bytes at {low:#x}; allowed are arrays with elements in device memory of "
                f"{heap.queue.sycl_device.name}, the device of the heap"
            )
        if low < heap.base + heap.size and heap.base < low + nbytes:
            raise ValueError("a is in the symmetric heap; register memory outside it")
        if any(low < each.address + each.nbytes and each.address < low + nbytes for each in self._regions.values()):
            raise ValueError("a shares memory with registered memory; deregister that first")
        free = set(range(Regions.MOST)).difference(each.slot for each in self._regions.values())
        if not free:
            raise ValueError(
                f"{Regions.MOST} arrays are registered, the most that kernels find; deregister one, or register the "
                "memory of several as one array"
            )
        return Region(a, low, nbytes, self._count + 1, min(free))

    def owned(self, a: Any) -> Region:
        """Return the region that an array was registered as; raise the errors of ``ishmem.deregister``."""
        array = check.view(a, "a", routine="deregister")
        region = self._regions.get(array.address)
        if region is None or region.nbytes != array.count * array.itemsize:
            raise ValueError("a is not registered; pass the array, or one with all of its elements")
        return region

    def exchange(self, region: Region) -> None:
        """Map and open a region of all PEs; collective, after the PEs have agreed on its size."""
        this = job.current()
        context = this.heap.context
        export, _notes = agreement.check_and_agree(
            this, "register", lambda: handles.export(context, region.address), lambda _: "made"
        )
        parts = this.links.allgather(export.pack(), export.fds, what="register")
        try:
            agreement.check_and_agree(this, "register", lambda: _open(region, parts), lambda _: "opened")
        except Exception:
            region.close()
            raise
        finally:
            for _packed, fds in parts:
                wire.close_fds(fds)
            for handle in export.handles:  # older drivers close the descriptors when the memory is freed
                with contextlib.suppress(LevelZeroError):
                    pyze.put_ipc_handle(context, handle)
        self._add(region)

    def _add(self, region: Region) -> None:
        this, pes = job.current(), range(job.current().n_pes)
        mapped = [region.maps[pe].address if pe in region.maps else 0 for pe in pes]
        _core.add_static(region.address, region.nbytes, mapped, [region.peers.get(pe, 0) for pe in pes])
        region.peers = {pe: _core.address_on(pe, region.address, region.nbytes, True) for pe in pes}
        this.heap.host_only += region.ranges()
        self._regions[region.address], self._count = region, region.number
        self._tell_kernels(region)
        this.barrier("register")  # else a PE may use the region before it is registered here

    def _tell_kernels(self, region: Region) -> None:
        """Write the slot of a region for kernels, which search registered memory once there is a region."""
        heap, slot = job.current().heap, region.slot
        first, end = region.address, region.address + region.nbytes
        peers = [region.peers[pe] - heap.peers[pe] if heap.reaches(pe) else first - heap.base for pe in heap.near]
        shifts = distances(first - heap.base, peers)
        self._write(Regions.SHIFTS + slot * len(shifts), shifts)
        self._write(Regions.FIRST + slot * Regions.ENTRY, struct.pack("<2Q", first, end))
        self._used = max(self._used, slot + 1)
        self._write(0, struct.pack("<q", self._used))
        kernel_loading.look_for_regions()

    def _write(self, at: int, data: bytes) -> None:
        heap = job.current().heap
        _core.write(heap.pe, heap.layout.regions + at, data)

    def remove(self, region: Region) -> None:
        """Remove and close a region; all operations on it must have completed."""
        self._write(Regions.FIRST + region.slot * Regions.ENTRY, bytes(Regions.ENTRY))
        for each in region.ranges():
            job.current().heap.host_only.remove(each)
        _core.remove_static(region.address)
        self._regions.pop(region.address).close()

    def close(self) -> None:
        """Close all regions."""
        while self._regions:
            self._regions.popitem()[1].close()


def _open(region: Region, parts: list[tuple[bytes, list[int]]]) -> None:
    """Map the memory of the PEs of this node, and open it for the device where that reaches it."""
    heap = job.current().heap
    for pe, (packed, fds) in zip(heap.near, parts):
        offered = handles.Export.unpack(packed)
        mapped = region.maps[pe] = handles.map_host(fds, region.nbytes, offered.fd_offset)
        region.peers[pe] = region.address if pe == heap.pe else mapped.address
        if pe != heap.pe and heap.reaches(pe):
            taken, fds[:] = list(fds), []
            mapping = handles.open_export(heap.context, heap.device, offered, taken)
            region.opened.append(mapping)
            handles.make_resident(heap.context, heap.device, mapping.pointer, region.nbytes)
            region.peers[pe] = mapping.pointer
