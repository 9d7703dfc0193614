"""A program without a job that compiles kernels, or loads them from a folder, and ends.

Its arguments are the folder, and files that it leaves open. It prints which kernels it has compiled or loaded, its
results, and whether objects are left out of the collections of garbage, then and at the exit.
"""

from __future__ import annotations

import atexit
import gc
import sys

atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))

import logging  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import dpnp  # noqa: E402

from ishmem import dpex  # noqa: E402
from ishmem.dpex import kernel_api as kapi  # noqa: E402
from ishmem.dpex.cache.store import use  # noqa: E402


class Keeper:
    """Keeps a file, and itself."""

    def __init__(self, path: str) -> None:
        self.keeper, self.file = self, open(path, "w")  # noqa: SIM115
        self.file.write("written")


def made(number: Any) -> Any:
    @dpex.kernel
    def closes(item: kapi.Item, a):
        a[item.get_id(0)] = number

    return closes


@dpex.kernel
def stores(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = i + 1


use(Path(sys.argv[1]), 1 << 20)
log = logging.getLogger(dpex.__name__)
log.addHandler(logging.StreamHandler(sys.stdout))
log.setLevel(logging.DEBUG)
keeper = Keeper(sys.argv[2])
left_open = open(sys.argv[3], "w")  # noqa: SIM115
left_open.write("written")
a, b = dpnp.zeros(4, dtype="int64"), dpnp.zeros(4, dtype="int64")
dpex.call_kernel(stores, dpex.Range(4), a)
dpex.call_kernel(made(0), dpex.Range(4), b)
print([int(each) for each in (*a, b[0])])
print(gc.get_freeze_count())
