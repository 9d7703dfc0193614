"""Runs the small cases of the applications of the arguments, with mpi4py."""

import sys

from mpi4py import MPI

from ishmem.examples.apps import Run, find

for name in sys.argv[1:]:
    for app in find(name).small():
        run = Run(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, MPI.COMM_WORLD.Barrier, MPI.COMM_WORLD)
        result = app.run_mpi(run)
        if run.pe == 0:
            print(name, app.check(result), flush=True)
