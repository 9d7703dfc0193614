"""Compares collectives where PEs are dealt out to the nodes in turn; each PE writes a file into the folder."""

import os
import sys
from pathlib import Path

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.environment.mpi_variables import launched

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["ISHMEM_NODE"] = "abcab"[launched().rank]
import collective_calls as calls

with ishmem.init("64M"):
    n = ishmem.n_pes()
    for routine in COLLECTIVES:
        dest, source = calls.arrays(routine, "int64", n, 700)
        for algorithm in ("slot", "rounds", "levels"):
            calls.force(algorithm)
            for count in (1, 40, 700):
                calls.compare(routine, dest, source, ishmem.TEAM_WORLD, count, 3, count)
        ishmem.free(dest), ishmem.free(source)
Path(sys.argv[1], str(launched().rank)).touch()
