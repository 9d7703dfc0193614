"""PE 1 exits with the argument "die", or finalises, while the others broadcast."""

import os
import sys

import pytest

import ishmem

with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, b = ishmem.zeros(40000), ishmem.zeros(40000)
    for size in (1, 40000):
        ishmem.sum_reduce(a, b, nelems=size)
    if me == 1:
        if sys.argv[1] == "die":
            os._exit(3)
    else:
        with pytest.raises(ishmem.PeerLost, match=r"broadcast on PE .*PE 1 is gone"):
            ishmem.broadcast(a, b, 0)
        print("told")
        ishmem.setup.abandon()
        os._exit(0)
