"""A program whose kernels are kept in a folder; it prints which it has compiled or loaded, and its result.

Its arguments are the folder, and assignments such as ``NUMBER=3`` to its variables.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import dpnp

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.dpex.cache.store import use

NUMBER = 1
ADDED = 0
DTYPE = "int64"
LIMIT = 1 << 20
CLOSED = 0


@dpex.device_func
def plus(x):
    return x + ADDED


def made(number: Any) -> Any:
    @dpex.kernel
    def closes(item: kapi.Item, a):
        a[item.get_id(0)] = number

    return closes


@dpex.kernel
def stores(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = plus(i + NUMBER)


def main(folder: str, *assignments: str) -> None:
    for name, _, value in (each.partition("=") for each in assignments):
        globals()[name] = value if name == "DTYPE" else int(value)
    use(Path(folder), LIMIT)
    log = logging.getLogger(dpex.__name__)
    log.addHandler(logging.StreamHandler(sys.stdout))
    log.setLevel(logging.DEBUG)
    a, b = dpnp.zeros(4, dtype=DTYPE), dpnp.zeros(4, dtype=DTYPE)
    dpex.call_kernel(stores, dpex.Range(4), a)
    dpex.call_kernel(made(CLOSED), dpex.Range(4), b)
    print([int(each) for each in (*a, b[0])])


if __name__ == "__main__":
    main(*sys.argv[1:])
