"""The kernel API: index spaces, atomics, barriers, local and private memory.

The names are those of SYCL, as in numba-dpex, whose module takes the place of this one where it is installed. The
classes also run in plain Python: `call_kernel` of this module runs a kernel work-item by work-item, to try an algorithm
without a device.
"""

import importlib
import sys

from ..front_end import COMPILER
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

if not COMPILER.is_own:
    sys.modules[__name__] = importlib.import_module(f"{COMPILER.package}.kernel_api")
