"""Initialises with a process group of torch; the argument is "all" or "some", for its processes."""

import sys

import torch
import torch.distributed as dist

import ishmem

dist.init_process_group("gloo")
group = dist.group.WORLD if sys.argv[1] == "all" else dist.new_group([2, 0])
if dist.get_rank(group) < 0:
    try:
        ishmem.init(process_group=group)
    except ValueError as error:
        print(error, flush=True)
    sys.exit()
with ishmem.init(process_group=group):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.full(4, dist.get_rank(), dtype="f4")
    ishmem.sum_reduce(a, a)
    sent = torch.arange(4.0) + me
    b = ishmem.zeros(4, dtype="f4")
    ishmem.put(b, ishmem.from_dlpack(sent), (me + 1) % n)
    ishmem.barrier_all()
    received = torch.from_numpy(ishmem.host_view(b)).clone()
    assert torch.equal(received, torch.arange(4.0) + (me - 1) % n), received
    print(f"PE {me} of {n}, rank {dist.get_rank()}: {int(a[0])}", flush=True)
