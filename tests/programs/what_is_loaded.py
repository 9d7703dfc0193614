"""Prints which of the large modules a program of host calls has loaded."""

import sys

import ishmem

ishmem.init()
ishmem.barrier_all()
print(*sorted({"dpnp", "numba", "numba_dpex", "ishmem.kernels"} & set(sys.modules)), "and no more")
from ishmem import dpex

assert callable(dpex.kernel)  # imports the compiler
from ishmem.runtime import kernel_constants

assert kernel_constants.process().n_pes == ishmem.n_pes()
ishmem.finalize()
try:
    kernel_constants.options()
except Exception as error:
    print(type(error).__name__)
