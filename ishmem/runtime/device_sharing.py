"""PEs that share a device: their kernels may wait for each other only when the device runs them concurrently."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ishmem.runtime.heap import SymmetricHeap


def reason(heap: SymmetricHeap) -> str:
    """Return why kernels of the job may not wait for other PEs, empty when they may; equal on all PEs of a node."""
    for device in dict.fromkeys(device for device in heap.devices if device):
        pes = [pe for pe, other in enumerate(heap.devices) if other == device]
        if words := describe(pes, device.engines):
            return words
    return ""


def describe(pes: list[int], engines: int) -> str:
    """Return the problem of ``pes``, which share a device with ``engines`` compute engines; empty if these suffice."""
    if len(pes) <= engines:
        return ""
    names = ", ".join(map(str, pes))
    return (
        f"PEs {names} share one device, which runs kernels of {engines} of them concurrently, so a kernel that waits "
        "for another PE may never end. Use one PE for each device or tile, let the device show more compute engines "
        "(ZEX_NUMBER_OF_CCS=0:4 where it has four), or wait on the host or by wait_until_on_queue. "
        "ISHMEM_SHARED_DEVICE=allow lets kernels wait all the same"
    )
