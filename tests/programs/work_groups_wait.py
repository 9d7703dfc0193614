"""Each work-group waits for the next one; arguments: the work-items of a group, and "job" or "alone"."""

import os
import sys

import dpnp

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def chain(item, flags, stop):
    group, me = item.get_group().get_group_id(0), item.get_global_id(0)
    if item.get_local_id(0) == 0:
        while kapi.AtomicRef(flags, index=group + 1).load() == 0 and me < stop:
            pass
        kapi.AtomicRef(flags, index=group).store(1)


width = int(sys.argv[1])
flags = dpnp.zeros(1001, dtype="i8")
flags[1000] = 1
shape = dpex.NdRange((1000 * width,), (width,))
if sys.argv[2] == "job":
    with ishmem.init():
        dpex.call_kernel(chain, shape, flags, 1 << 40)
    print("back")
else:
    dpex.call_kernel(chain, shape, flags, 0)
    flags[:1000] = 0
    _, event = dpex.call_kernel_async(chain, shape, (), flags, 1 << 40)
    try:
        event.wait()
    except Exception as error:
        print(type(error).__name__, flush=True)
    os._exit(3)
