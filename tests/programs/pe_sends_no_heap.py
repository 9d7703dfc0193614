"""PE 1 sends what is no heap, in the ways of the arguments; prints what init raises."""

import functools
import os
import sys

import ishmem
from ishmem.runtime import heap, peer_proof

honest = heap.SymmetricHeap.exchange_handles


def exchange(self, links, *rest):
    if links.pe == 1:
        before = len(self.own_device.pack()) + peer_proof.LINE
        links.allgather = functools.partial(lie, links.allgather, links, before)
    return honest(self, links, *rest)


# What is sent: the device, a pattern and the export of the heap; with the descriptors of a lock and of the heap.
def lie(send, links, before, packed, fds=(), what=""):
    if not fds:
        return send(packed, what=what)
    links.allgather = send
    if kind == "pipe":
        fds = [fds[0], os.pipe()[0]]
    elif kind == "none":
        fds = []
    elif kind == "many":
        fds = fds[:1] + fds[1:] * 5
    elif kind == "small":
        fds = [fds[0], os.memfd_create("small")]
        os.ftruncate(fds[1], 4096)
    elif kind == "bytes":
        packed = packed[:-3]
    elif kind == "offset":
        packed = packed[:before] + b"\xff" * (len(packed) - before)
    return send(packed, fds, what=what)


heap.SymmetricHeap.exchange_handles = exchange
for kind in sys.argv[1:]:
    try:
        ishmem.init("8M")
        print("started", flush=True)
    except ishmem.IshmemError as error:
        print(f"{kind} {'PE 1 sent no heap' in str(error)}\n", end="", flush=True)
os._exit(0)
