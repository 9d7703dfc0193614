"""PE 1 dies before a sync of a team."""

import os
import signal

import ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
team = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
if me == 1:
    os.kill(os.getpid(), signal.SIGKILL)
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ishmem run ends the others
try:
    team.sync()
except ishmem.PeerLost as error:
    print("lost", error.pe, flush=True)
    os._exit(3)
