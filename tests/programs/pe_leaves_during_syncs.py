"""The last PE finalises while the others synchronise a team."""

import time

import ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
team = ishmem.TEAM_WORLD.split_strided(0, 1, n - 1)
for _ in range(200):
    if me == 0:
        time.sleep(0.001)
    if team:
        team.sync()  # while the last PE finalises
print("done", flush=True)
ishmem.finalize()
