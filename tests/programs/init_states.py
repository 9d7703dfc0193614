"""Calls init, finalize and queries in the way of the argument, a function of this program; others follow it."""

import os
import sys

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
    """Call routines, all of which are refused."""
    a = np.zeros(3)
    calls = {
        "zeros": (3,), "malloc": (3,), "calloc": (3, 4), "align": (64, 3), "array": ([1],), "arange": (3,),
        "full": (3, 1), "empty_like": (a,), "free": (a,), "ptr": (a, 0), "is_symmetric": (a,),
        "addr_accessible": (a, 0), "pe_accessible": (0,), "put": (a, a, 0), "get": (a, a, 0), "put_nbi": (a, a, 0),
        "get_nbi": (a, a, 0), "p": (a, 1.0, 0), "g": (a, 0), "atomic_fetch": (a, 0), "atomic_add": (a, 1, 0),
        "atomic_compare_swap": (a, 1, 2, 0), "atomic_fetch_inc_nbi": (a, a, 0), "wait_until": (a, 1, 0),
        "test": (a, 1, 0),
    }  # fmt: skip
    alone = "my_pe", "n_pes", "finalize", "barrier_all", "sync_all", "fence", "quiet", "free_all", "query_thread"
    for name, args in {**calls, **dict.fromkeys(alone, ())}.items():
        refused(words, getattr(ishmem, name), *args)


def routines_before_and_after():
    """Call routines before init and after finalize, and init with wrong arguments."""
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
    for wrong in (-1, 4, "x", None):
        refused("THREAD_SINGLE, THREAD_FUNNELED", ishmem.init_thread, wrong, kind=ValueError)
    assert ishmem.init_thread(ishmem.THREAD_FUNNELED) is ishmem.THREAD_MULTIPLE
    refused("further call", lambda: ishmem.init("8M"), kind=ValueError)
    assert ishmem.is_initialized() and ishmem.query_initialized()
    for allocate in (ishmem.zeros, ishmem.ones):
        kept = allocate(3)
        ishmem.put(kept, np.ones(3), ishmem.my_pe())
        ishmem.free(kept)
    ishmem.finalize()
    everything("after ishmem.finalize()")
    assert not ishmem.is_initialized() and not ishmem.query_initialized()
    print("good")


def init_by_a_library():
    """Initialise within a job that is initialised."""
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        box, seen = ishmem.zeros(1, dtype="i8"), ishmem.zeros(n, dtype="i8")
        with ishmem.init():
            ishmem.init_thread(ishmem.THREAD_MULTIPLE)
            ishmem.put_nbi(box, np.array([me + 1]), (me + 1) % n)
            ishmem.finalize()  # as barrier_all
            assert box.asnumpy()[0] == (me - 1) % n + 1
            ishmem.atomic_inc(seen, 0, me)
        assert ishmem.is_initialized()
        if me == 0:
            assert seen.asnumpy().tolist() == [1] * n
        ishmem.free_all()
    assert not ishmem.is_initialized()
    print("good")


def end_within_two_inits():
    """End after two calls of init, one of finalize, and an allocation."""
    ishmem.init()
    ishmem.init()
    ishmem.finalize()
    assert ishmem.is_initialized()
    a = ishmem.zeros(4)
    ishmem.barrier_all()
    print("good", a.size)


def heap_of_two_megabytes(*size):
    """Fill a heap of 2 MB, and print the error about one byte more."""
    given = [int(each) if each.isdigit() else each for each in size]
    ishmem.init(*given)
    ishmem.free(ishmem.empty(2 << 20, dtype="uint8"))
    try:
        ishmem.empty((2 << 20) + 1, dtype="uint8")
    except ishmem.HeapExhausted as error:
        print(error)
    ishmem.finalize()


def job_of_one_pe():
    with ishmem.init(heap_size=3 << 20):
        a = ishmem.zeros((3 << 20) - 64, dtype="uint8")
        print(ishmem.my_pe(), ishmem.n_pes(), a.size)
        ishmem.free(a)
    assert not ishmem.is_initialized()


def unequal_pes(what):
    """PE 1 differs from the others: in the size of its heap, which may not fit, or in its release of ishmem."""
    differs = os.environ.get("PMI_RANK", os.environ.get("ISHMEM_PE")) == "1"
    if differs and what == "release":
        ishmem.__version__ = "99.9"
    sizes = {"heap": "5000001", "large": "100T"} if differs else {}
    try:
        ishmem.init(heap_size=sizes.get(what, "5000000"))
    except ishmem.IshmemError as error:
        assert not ishmem.is_initialized()
        print(error)


def error_in_the_block_of_init():
    try:
        with ishmem.init():
            if ishmem.my_pe() == 1:
                raise KeyError("mine")
            ishmem.barrier_all()
    except KeyError:
        assert not ishmem.is_initialized()
    except ishmem.PeerLost as error:
        print("told", error.pe)


def restart_with_check():
    """Start a second job with ISHMEM_CHECK, after kernels without it."""
    from ishmem import dpex

    @dpex.kernel
    def one(item, a):
        a[0] = ishmem.my_pe()

    ishmem.init()
    dpex.call_kernel(one, dpex.Range(1), ishmem.zeros(1))
    ishmem.free_all()
    ishmem.finalize()
    os.environ["ISHMEM_CHECK"] = "1"
    try:
        ishmem.init()
    except ishmem.StateError as error:
        print("check=False" in str(error) and "check=True" in str(error))


def one_job_after_another():
    """Be a PE of jobs with heaps of different sizes."""
    from ishmem import dpex

    @dpex.kernel
    def add(item, a, pe):
        ishmem.atomic_add(a, 1, pe)
        ishmem.put(a[1:2], a[2:3], pe)
        ishmem.barrier_all()

    old = team = None
    for turn in range(3):
        ishmem.init(["16M", "32M", "8M"][turn])
        me, n = ishmem.my_pe(), ishmem.n_pes()
        ishmem.zeros(1000 * turn + 1)  # arrays are at other places
        if old is not None:  # of the former job
            refused("", ishmem.put, old, old, 0, kind=ishmem.SymmetryError)
            refused("destroyed", ishmem.broadcast, ishmem.zeros(1), ishmem.zeros(1), 0, team)
        a = ishmem.array(np.array([10, 0, me], "i8"))
        dpex.call_kernel(add, dpex.Range(1), a, (me + 1) % n)
        ishmem.barrier_all()
        assert a.asnumpy().tolist() == [11, (me - 1) % n, me], a
        team = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
        ishmem.sum_reduce(a, a, team)
        assert a.asnumpy().tolist() == [11 * n, n * (n - 1) // 2, n * (n - 1) // 2], a
        ishmem.barrier_all_on_queue().wait()
        assert ishmem.atomic_fetch_add(a, 1, me) == 11 * n
        old = a
        ishmem.free_all()
        ishmem.finalize()
    print("good")


globals()[sys.argv[1]](*sys.argv[2:])
