"""Initialises with the communicator of MPI that is not initialised or, with the argument "finalised", no longer is."""

import sys

import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI

if sys.argv[1] == "finalised":
    MPI.Init()
    MPI.Finalize()
import ishmem

ishmem.init("8M", comm=MPI.COMM_WORLD)
