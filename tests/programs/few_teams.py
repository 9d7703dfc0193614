"""Splits teams until there are too many."""

import ishmem

print(ishmem.TEAM_WORLD, bool(ishmem.TEAM_NODE), ishmem.TEAM_INVALID)  # usable before init
ishmem.init()
n = ishmem.n_pes()
team = ishmem.TEAM_WORLD.split_strided(0, 1, n)
for _ in range(2):
    try:
        ishmem.TEAM_WORLD.split_strided(0, 1, n)
    except ishmem.IshmemError as error:
        print("full:", error)
# Left alive: finalize destroys it silently.
print(ishmem.team_ptr(team, ishmem.zeros(1), 0) is not None)
ishmem.free_all()
ishmem.finalize()
