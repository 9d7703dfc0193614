"""Runs the small cases of the applications of the arguments, with mpi4py."""

import sys

from ishmem.examples.apps import MpiRun, find

for name in sys.argv[1:]:
    for app in find(name).small():
        run = MpiRun()
        result = app.run_mpi(run)
        if run.pe == 0:
            print(name, app.check(result), flush=True)
