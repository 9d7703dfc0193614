"""PE 1 fails, in init, before a barrier or after finalize, and a thread keeps its process; the others may go on.

Argument: "init", "inside" or "after".
"""

import os
import sys
import threading
import time

import ishmem

if sys.argv[1] == "init" and os.environ["PMI_RANK"] == "1":
    threading.Thread(target=time.sleep, args=(3600,)).start()
    ishmem.init(heap_size="64T")  # more than there is
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
