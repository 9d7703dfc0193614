"""A program whose kernels are kept in a folder; it prints which it has compiled or loaded, and its result.

Its arguments are the folder, and a number that a kernel adds.
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

NUMBER = int(sys.argv[2]) if len(sys.argv) > 2 else 1


def made(number: Any) -> Any:
    @dpex.kernel
    def closes(item: kapi.Item, a):
        a[item.get_id(0)] = number

    return closes


@dpex.kernel
def stores(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = i + NUMBER


def main() -> None:
    use(Path(sys.argv[1]), 1 << 20)
    log = logging.getLogger(dpex.__name__)
    log.addHandler(logging.StreamHandler(sys.stdout))
    log.setLevel(logging.DEBUG)
    a, b = dpnp.zeros(4, dtype="int64"), dpnp.zeros(4, dtype="int64")
    dpex.call_kernel(stores, dpex.Range(4), a)
    dpex.call_kernel(made(0), dpex.Range(4), b)
    print([int(each) for each in (*a, b[0])])


if __name__ == "__main__":
    main()
