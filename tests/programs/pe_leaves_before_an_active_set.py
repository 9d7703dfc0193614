"""PE 1 finalises while PE 0 makes an active set with it."""

import ishmem

ishmem.init()
if ishmem.my_pe() == 0:
    try:
        ishmem.active_set(0, 1, 2)
    except ishmem.PeerLost as error:
        print("lost", error.pe, flush=True)
ishmem.finalize()  # a set that is alive is no leak
