"""Raises in the block of `ishmem.init` on PE 1."""

import sys

import ishmem

try:
    with ishmem.init():
        if ishmem.my_pe() == 1:
            raise KeyError("mine")
        ishmem.barrier_all()
except KeyError:
    assert not ishmem.is_initialized()
    sys.exit(0)
except ishmem.PeerLost as error:
    print("told", error.pe)
