"""PE 1 fails, in a barrier or after finalize, and a thread keeps its process; the others go on. Argument: which."""

import sys
import threading
import time

import ishmem

ishmem.init(heap_size="16M")
is_victim = ishmem.my_pe() == 1
if is_victim:
    threading.Thread(target=time.sleep, args=(3600,)).start()
    if sys.argv[1] == "inside":
        raise RuntimeError("nothing catches this")
try:
    ishmem.barrier_all()
except ishmem.PeerLost as error:
    print(error.pe, flush=True)
    ishmem.shrink(ishmem.TEAM_WORLD)
ishmem.finalize()
if is_victim:
    raise RuntimeError("nothing catches this")
