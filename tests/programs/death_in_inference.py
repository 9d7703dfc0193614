"""PE 1 dies while the others wait for a call of inference; arguments: how, and the call."""

import sys
import time

import dpnp
from victim import VICTIM, end, me

import ishmem
import ishmem.inference
import ishmem.moe

ishmem.init()
n = ishmem.n_pes()
experts, tp = ishmem.moe.Buffer(4, 64, n, 1), ishmem.inference.Communicator(4096)
x, choices = dpnp.ones((4, 64), dtype="f4"), dpnp.full((4, 1), (me + 1) % n, dtype="i8")
CALLS = {"dispatch": lambda: experts.low_latency_dispatch(x, choices)[3], "all_reduce": lambda: tp.all_reduce(x)}
call = CALLS[sys.argv[2]]
call().wait()
ishmem.barrier_all()
if me == VICTIM:
    time.sleep(2)
    end()
call().wait()  # wait
