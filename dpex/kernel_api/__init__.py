"""The kernel API: index spaces, atomics, barriers, local and private memory.

The names are those of SYCL, as in numba-dpex, whose module takes the place of this one where it is installed. The
classes also run in plain Python: `call_kernel` of this module runs a kernel work-item by work-item, to try an algorithm
without a device.
"""

import sys

from .. import HAS_NUMBA_DPEX
from .atomics import AtomicRef, atomic_fence
from .barriers import group_barrier
from .enums import AddressSpace, MemoryOrder, MemoryScope
from .index_spaces import Group, Item, NdItem, SubGroup
from .launcher import call_kernel
from .memory import LocalAccessor, PrivateArray, bfloat16
from .ranges import NdRange, Range

__all__ = [
    "AddressSpace", "AtomicRef", "Group", "Item", "LocalAccessor", "MemoryOrder", "MemoryScope", "NdItem", "NdRange",
    "PrivateArray", "Range", "SubGroup", "atomic_fence", "bfloat16", "call_kernel", "group_barrier",
]  # fmt: skip

if HAS_NUMBA_DPEX:
    import numba_dpex.kernel_api

    sys.modules[__name__] = numba_dpex.kernel_api
