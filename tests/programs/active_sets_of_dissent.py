"""The PEs ask for different active sets."""

import ishmem

ishmem.init()
me = ishmem.my_pe()
first = ishmem.active_set(0, 1, 4)
for _ in range(5):
    try:
        # PE 2 asks only members that agree with it or never hear of it: it learns from PE 1.
        ishmem.active_set(*[(0, 1, 2), (0, 1, 3), (0, 1, 3), (3, 1, 1)][me])
        print("made")
    except ishmem.SymmetryError as error:
        print("refused:", error)
first.sync()
ishmem.finalize()
