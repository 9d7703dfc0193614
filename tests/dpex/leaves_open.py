"""A program that compiles a kernel and ends; its arguments are files that it leaves open.

It prints whether objects are left out of the collections of garbage at the exit.
"""

from __future__ import annotations

import atexit
import gc
import sys

atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))

import dpnp  # noqa: E402

from ishmem import dpex  # noqa: E402
from ishmem.dpex import kernel_api as kapi  # noqa: E402


class Keeper:
    """Keeps a file, and itself."""

    def __init__(self, path: str) -> None:
        self.keeper, self.file = self, open(path, "w")  # noqa: SIM115
        self.file.write("written")


@dpex.kernel
def stores(item: kapi.Item, a):
    a[item.get_id(0)] = 1


keeper = Keeper(sys.argv[1])
left_open = open(sys.argv[2], "w")  # noqa: SIM115
left_open.write("written")
array = dpnp.zeros(4)
dpex.call_kernel(stores, dpex.Range(4), array)
print(gc.get_freeze_count())
