"""Asks for levels of threads, right and wrong ones."""

import ishmem

for bad in (-1, 4, "x", None):
    try:
        ishmem.init_thread(bad)
    except ValueError as error:
        assert "THREAD_SINGLE, THREAD_FUNNELED" in str(error), error
    else:
        raise SystemExit("accepted")
try:
    ishmem.query_thread()
except ishmem.StateError:
    print("state")
print("provided", int(ishmem.init_thread(ishmem.THREAD_FUNNELED, "8M")), ishmem.n_pes())
ishmem.finalize()
