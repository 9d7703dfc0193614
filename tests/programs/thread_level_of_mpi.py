"""Initialises with MPI that only one thread may call; each PE that raises writes a file into the folder."""

import sys
from pathlib import Path

import mpi4py

mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI

import ishmem

try:
    ishmem.init("8M")
except ishmem.IshmemError as error:
    assert "MPI_THREAD_MULTIPLE" in str(error), error
    Path(sys.argv[1], str(MPI.COMM_WORLD.rank)).touch()
