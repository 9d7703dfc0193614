"""A fork of a PE, which ends as the argument says; prints how the fork has ended, and what the PE then does."""

import multiprocessing
import os
import sys
import warnings

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

warnings.simplefilter("ignore")  # of Python, about forks of processes with threads


@dpex.kernel
def add(item: kapi.Item, a):
    a[item.get_id(0)] += 1


def calls(a):
    yield from (ishmem.my_pe, ishmem.barrier_all, ishmem.finalize, ishmem.init)
    yield from (lambda: ishmem.put(a, a, 0), lambda: ishmem.p(a, 1, 0), lambda: ishmem.zeros(3))
    yield lambda: ishmem.wait_until(a, ishmem.CMP_EQ, 1)
    yield from (lambda: ishmem.global_exit(3), lambda: ishmem.free(a))


def refused(call):
    try:
        call()
    except ishmem.StateError as error:
        return "in a fork of PE" in str(error)
    return False


def child(way, a):
    if way == "raises":
        raise RuntimeError("of a child")
    if way == "calls":
        sys.exit(0 if all(map(refused, calls(a))) else 9)
    sys.exit(int(way))


way = sys.argv[1]
with ishmem.init():
    a = ishmem.zeros(8, dtype="i8")
    dpex.call_kernel(add, kapi.Range(8), a)
    ishmem.barrier_all()
    if way == "pool":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print("fork", pool.apply(os.getpid) == os.getpid())
    else:
        if (pid := os.fork()) == 0:
            child(way, a)
        print("fork", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    ishmem.barrier_all()
    dpex.call_kernel(add, kapi.Range(8), a)
    try:
        ishmem.wait_until(a, ishmem.CMP_EQ, 9, timeout=1.5)
    except ishmem.WaitTimeout:
        print("PE", int(a[0]), ishmem.is_initialized())
    ishmem.free(a)
