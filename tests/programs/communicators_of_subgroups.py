"""Two process groups of torch, of the even and the odd ranks, each with a communicator: of a job each, or of teams."""

import sys

import numpy as np
import torch.distributed as dist

import ishmem
from ishmem.inference import Communicator

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
groups = [dist.new_group(range(odd, size, 2)) for odd in range(2)]
mine = groups[rank % 2]
with ishmem.init(process_group=mine if sys.argv[1] == "jobs" else dist.group.WORLD):
    team = ishmem.TEAM_WORLD
    if sys.argv[1] == "teams":
        both = [ishmem.team_split_strided(ishmem.TEAM_WORLD, odd, 2, size // 2) for odd in range(2)]
        team = both[rank % 2]
    with Communicator(1 << 12, team=team) as communicator:
        for step in range(20):
            x = ishmem.full(999, rank + step, dtype="f4")
            communicator.all_reduce(x).wait()
            wanted = sum(range(rank % 2, size, 2)) + step * (size // 2)
            np.testing.assert_array_equal(x.asnumpy(), np.full(999, wanted, "f4"))
    print(f"rank {rank}: member {ishmem.team_my_pe(team)} of {ishmem.team_n_pes(team)}", flush=True)
