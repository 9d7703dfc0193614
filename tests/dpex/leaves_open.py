"""A program that compiles a kernel and ends; its argument is a file that it leaves open.

It prints whether objects are left out of the collections of garbage at the exit.
"""

from __future__ import annotations

import atexit
import gc
import sys

import dpnp

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def stores(item: kapi.Item, a):
    a[item.get_id(0)] = 1


atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))
left_open = open(sys.argv[1], "w")  # noqa: SIM115
left_open.write("written")
array = dpnp.zeros(4)
dpex.call_kernel(stores, dpex.Range(4), array)
print(gc.get_freeze_count())
