"""Launches a kernel with more local memory than devices have, and uses dpnp afterwards."""

from common import dpex, dpnp, kapi


@dpex.kernel
def greedy(item: kapi.NdItem, a, local):
    local[0] = 1
    a[item.get_global_id(0)] = local[0]


a = dpnp.zeros(4, dtype="i8")


def launch():
    dpex.call_kernel(greedy, kapi.NdRange((4,), (4,)), a, kapi.LocalAccessor((1 << 27,), dtype=a.dtype))


for attempt in launch, a.sum, lambda: dpnp.ones(4):
    try:
        print("result", attempt())
    except Exception:
        print("refused")
