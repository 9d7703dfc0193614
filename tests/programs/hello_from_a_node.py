"""Prints the PE, its node and what it gets from the next PE."""

import os
import socket
import sys

import ishmem

with ishmem.init("8M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.full(1, me, dtype="i8")
    ishmem.barrier_all()
    print(f"PE {me} of {n} on {socket.gethostname()} sees {ishmem.g(a, (me + 1) % n)}", os.environ["MINE"])
    print(os.environ["ONEAPI_DEVICE_SELECTOR"], end="", file=sys.stderr)
    ishmem.free_all()
