"""Uses the teams of nodes whose PEs have no common stride; each PE writes a file into the folder."""

import os
import sys
from pathlib import Path

import ishmem
from ishmem.environment.mpi_variables import launched

os.environ["ISHMEM_NODE"] = "abaa"[launched().rank]
with ishmem.init("8M"):
    me = ishmem.my_pe()
    for team in (ishmem.TEAM_NODE, ishmem.TEAM_SHARED):
        try:
            assert team.n_pes() == 1 and me == 1
        except ishmem.StateError as error:
            assert "0, 2, 3, have no common stride" in str(error) and me != 1
    half = ishmem.TEAM_WORLD.split_strided(0, 2, 2)
    assert half.handle not in (0, 1, 2) if half else me % 2
    ishmem.barrier_all()
Path(sys.argv[1], str(me)).touch()
