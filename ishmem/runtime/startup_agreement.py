"""The exchange of the PEs in ``init``: release of ishmem, size of the heap, Xe cores, and ``on_loss``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ishmem
from ishmem.common.errors import IshmemError

if TYPE_CHECKING:
    from ishmem.ipc.links import Links
    from ishmem.runtime.network import Network


def least_cores(links: Links, network: Network | None, user_size: int, cores: int, on_loss: str) -> int:
    """Check that release, ``user_size`` and ``on_loss`` of all PEs are equal; return the least ``cores``; collective.

    Raises:
        IshmemError: The PEs have different releases of ishmem, sizes of heaps, or answers to a loss; on every PE.
    """
    mine = f"{ishmem.__version__} {user_size} {cores} {on_loss}"
    if network:
        told = network.all_of(mine)
    else:
        told = [part.decode() for part, _fds in links.allgather(mine.encode(), what="init")]
    releases, sizes, numbers, losses = zip(*(text.split(" ")[:4] for text in told))
    _require_equal(releases, "releases of ishmem", "install the same")
    _require_equal(
        sizes, "sizes of the symmetric heap, in bytes", "set the same by heap_size= or ISHMEM_SYMMETRIC_SIZE"
    )
    _require_equal(losses, "answers to a loss", "set the same by on_loss= or ISHMEM_ON_LOSS")
    return min(map(int, numbers))


def _require_equal(values: tuple[str, ...], what: str, advice: str) -> None:
    pes = {value: [str(pe) for pe, each in enumerate(values) if each == value] for value in values}
    if len(pes) > 1:
        told = "; ".join(f"{value} on PE {', '.join(members)}" for value, members in pes.items())
        raise IshmemError(f"the PEs have different {what}: {told}; {advice}")
