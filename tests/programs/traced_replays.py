"""Replays a recorded step, for a trace."""

import dpnp

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.graph import Graph
from ishmem.inference import Communicator


@dpex.kernel
def count(item: kapi.Item, x):
    x[item.get_id(0)] += 1


with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    box, total = ishmem.zeros(10, dtype="i4"), ishmem.zeros(10, dtype="i4")
    x, graph = dpnp.ones(10, dtype="f4"), Graph()
    with Communicator(1 << 10) as group:
        group.all_reduce(x)
        with graph.record(box.sycl_queue):
            dpex.call_kernel(count, kapi.Range(10), box)
            ishmem.put_on_queue(total, box, me)
            ishmem.sum_reduce_on_queue(total, box)
            group.all_reduce(x)
        for _ in range(5):
            event = graph.replay()
        event.wait()
    assert total.tolist() == [5 * n] * 10
