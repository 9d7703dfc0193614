"""PEs are on the nodes of the first argument, a letter for each; each writes a file into the folder of the second."""

import os
import sys
from pathlib import Path

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.environment.mpi_variables import launched

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["ISHMEM_NODE"] = sys.argv[1][launched().rank]
import collective_calls as calls


def use_teams_of_nodes():
    """Use the teams of nodes whose PEs have no common stride."""
    me = ishmem.my_pe()
    for team in (ishmem.TEAM_NODE, ishmem.TEAM_SHARED):
        try:
            assert team.n_pes() == 1 and me == 1
        except ishmem.StateError as error:
            assert "0, 2, 3, have no common stride" in str(error) and me != 1
    half = ishmem.TEAM_WORLD.split_strided(0, 2, 2)
    assert half.handle not in (0, 1, 2) if half else me % 2
    ishmem.barrier_all()


def compare_collectives():
    n = ishmem.n_pes()
    for routine in COLLECTIVES:
        dest, source = calls.arrays(routine, "int64", n, 700)
        for algorithm in ("slot", "rounds", "levels"):
            calls.force(algorithm)
            for count in (1, 40, 700):
                calls.compare(routine, dest, source, ishmem.TEAM_WORLD, count, 3, count)
        ishmem.free(dest), ishmem.free(source)


with ishmem.init("64M"):
    use_teams_of_nodes() if sys.argv[1] == "abaa" else compare_collectives()
Path(sys.argv[2], str(launched().rank)).touch()
