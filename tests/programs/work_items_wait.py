"""Work-items of a group wait for each other; with an argument, the device is used afterwards."""

import os
import sys

import dpnp

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def in_turn(item: kapi.Item, flag):
    if item.get_id(0) == 1:
        kapi.AtomicRef(flag, index=0).store(1)
    else:
        while kapi.AtomicRef(flag, index=0).load() == 0:
            pass


flag = dpnp.zeros(1, dtype="i8")
try:
    dpex.call_kernel(in_turn, dpex.Range(2), flag)
except Exception as error:
    print(type(error).__name__, flush=True)
if sys.argv[1:]:
    try:
        dpnp.asnumpy(flag + 1)
    except Exception:
        print("refused", flush=True)
    os._exit(3)
