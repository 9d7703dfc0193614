"""PE 0 raises while the others wait in a barrier."""

import ishmem

ishmem.init("64M")
if ishmem.my_pe() == 0:
    raise RuntimeError("no more")
ishmem.barrier_all()
