"""Calls routines before init and after finalize, and init with wrong arguments."""

import numpy as np

import ishmem


def refused(words, call, *args, kind=ishmem.StateError):
    try:
        call(*args)
    except kind as error:
        assert words in str(error), (words, error)
    else:
        raise SystemExit(f"{call} did not raise")


def everything(words):
    a = np.zeros(3)
    for name, args in {
        "my_pe": (),
        "n_pes": (),
        "finalize": (),
        "barrier_all": (),
        "sync_all": (),
        "fence": (),
        "quiet": (),
        "zeros": (3,),
        "malloc": (3,),
        "calloc": (3, 4),
        "align": (64, 3),
        "array": ([1],),
        "arange": (3,),
        "full": (3, 1),
        "empty_like": (a,),
        "free": (a,),
        "free_all": (),
        "ptr": (a, 0),
        "is_symmetric": (a,),
        "addr_accessible": (a, 0),
        "pe_accessible": (0,),
        "put": (a, a, 0),
        "get": (a, a, 0),
        "put_nbi": (a, a, 0),
        "get_nbi": (a, a, 0),
        "p": (a, 1.0, 0),
        "g": (a, 0),
        "atomic_fetch": (a, 0),
        "atomic_add": (a, 1, 0),
        "atomic_compare_swap": (a, 1, 2, 0),
        "atomic_fetch_inc_nbi": (a, a, 0),
        "wait_until": (a, 1, 0),
        "test": (a, 1, 0),
    }.items():
        refused(words, getattr(ishmem, name), *args)


everything("before ishmem.init()")
assert not ishmem.is_initialized()
assert ishmem.info_get_version() == (1, 6) and isinstance(ishmem.info_get_name(), str)
for wrong in ("nonsense", -1, 0, "1X", 1.5j):
    refused("heap_size is", ishmem.init, wrong, kind=ValueError)
refused("0 <= rank < nranks", lambda: ishmem.init(uid="0" * 32), kind=ValueError)
refused("0 <= rank < nranks", lambda: ishmem.init(uid="0" * 32, rank=2, nranks=2), kind=ValueError)
refused("together with uid=", lambda: ishmem.init(rank=0, nranks=2), kind=ValueError)
refused("got comm and uid", lambda: ishmem.init(comm=object(), uid="0" * 32), kind=ValueError)
refused("together with uid=", lambda: ishmem.init(comm=object(), rank=0), kind=ValueError)
refused("does not fit", lambda: ishmem.init(heap_size="100T"), kind=ishmem.IshmemError)
ishmem.init()
refused("further call", lambda: ishmem.init("8M"), kind=ValueError)
assert ishmem.is_initialized() and ishmem.query_initialized()
kept = ishmem.zeros(3)
ishmem.put(kept, np.ones(3), ishmem.my_pe())
ishmem.free(kept)
more = ishmem.ones(3)
ishmem.free(more)
ishmem.finalize()
everything("after ishmem.finalize()")
assert not ishmem.is_initialized() and not ishmem.query_initialized()
print("good")
