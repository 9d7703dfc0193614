"""Calls MPI_Finalize and then, with the argument "finalize", ishmem.finalize; each PE writes a file into the folder."""

import sys
from pathlib import Path

from mpi4py import MPI

import ishmem

ishmem.init("8M")
me, n = ishmem.my_pe(), ishmem.n_pes()
a = ishmem.zeros(1, dtype="i8")
ishmem.p(a, 5, (me + 1) % n)
MPI.Finalize()
assert int(a[0]) == 5
try:
    ishmem.my_pe()
except ishmem.StateError as error:
    assert "MPI_Finalize" in str(error)
if sys.argv[2] == "finalize":
    ishmem.finalize()
Path(sys.argv[1], str(me)).touch()
