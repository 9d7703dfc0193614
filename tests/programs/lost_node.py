"""Call one another until the PEs of the second node are lost; those that are left shrink, once or more often."""

import sys

import ishmem

with ishmem.init(heap_size="16M"):
    here, me, n = ishmem.TEAM_NODE.n_pes(), ishmem.my_pe(), ishmem.n_pes()
    a, left = ishmem.zeros(1, dtype="i8"), ishmem.TEAM_WORLD
    ishmem.barrier_all()
    print("begun", flush=True)
    while left.n_pes() > here:
        try:
            ishmem.atomic_fetch_add(a, 1, (me + here) % n)
            left.sync()
        except ishmem.PeerLost:
            if me >= here:
                sys.exit(3)  # cut off, it cannot know who is left
            left = ishmem.shrink(left)
    print("left", left.n_pes(), flush=True)
