"""PE 1 finalises while PE 0 waits for it in a sync of a team."""

import ishmem

ishmem.init()
team = ishmem.TEAM_WORLD.split_strided(0, 1, 2)
if ishmem.my_pe() == 0:
    try:
        team.sync()
    except ishmem.PeerLost as error:
        print("lost", error.pe, flush=True)
ishmem.finalize()
