"""The kernel that fetches rows of other PEs, for ``ishmem.deep_ep``."""

from __future__ import annotations

from typing import Any

import ishmem
from ishmem.runtime.kernel_extension import kernel_factory

from .front_end import kernel, kernel_api as kapi


@kernel_factory
def fetch_kernel() -> Any:
    """Return ``kernel(item, storage, rows, indices, entries)``: work-group ``i`` gets row ``indices[i]``.

    ``storage`` has the bytes of ``entries`` rows of this PE, and ``rows`` those that are fetched.
    """

    def fetch(item: kapi.NdItem, storage, rows, indices, entries):
        group = item.get_group()
        row = group.get_group_id(0)
        nbytes, index = storage.size // entries, indices[row]
        start = index % entries * nbytes
        to = rows[row * nbytes : (row + 1) * nbytes]
        ishmem.get_work_group(to, storage[start : start + nbytes], index // entries, group)

    return kernel(fetch)
