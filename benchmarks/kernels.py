"""The kernels of the cases in device.py: loops of one operation, and the same loops without ishmem."""

# Code that numba compiles has numba's types.
# mypy: ignore-errors

from __future__ import annotations

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

WORDS = 1024
"""Elements that the loops of single-element operations cycle through."""


@dpex.kernel
def p(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        for k in range(WORDS):
            ishmem.p(dest, source[k], pe, k)


@dpex.kernel
def g(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        for k in range(WORDS):
            dest[k] = ishmem.g(source, pe, k)


@dpex.kernel
def put_words(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        for k in range(WORDS):
            ishmem.put(dest[k : k + 1], source[k : k + 1], pe)


@dpex.kernel
def put_quiet(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.put(dest, source, pe)
        ishmem.quiet()


@dpex.kernel
def get_words(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        for k in range(WORDS):
            ishmem.get(dest[k : k + 1], source[k : k + 1], pe)


@dpex.kernel
def store_words(item: kapi.Item, dest, source, pe, count):
    there = ishmem.ptr(dest, pe)
    for _ in range(count):
        for k in range(WORDS):
            there[k] = source[k]


@dpex.kernel
def load_words(item: kapi.Item, dest, source, pe, count):
    there = ishmem.ptr(source, pe)
    for _ in range(count):
        for k in range(WORDS):
            dest[k] = there[k]


@dpex.kernel
def put(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.put(dest, source, pe)


@dpex.kernel
def get(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.get(dest, source, pe)


@dpex.kernel
def copy_to(item: kapi.Item, dest, source, pe, count):
    there = ishmem.ptr(dest, pe)
    for _ in range(count):
        for k in range(source.size):
            there[k] = source[k]


@dpex.kernel
def copy_from(item: kapi.Item, dest, source, pe, count):
    there = ishmem.ptr(source, pe)
    for _ in range(count):
        for k in range(dest.size):
            dest[k] = there[k]


@dpex.kernel
def put_work_group(item: kapi.NdItem, dest, source, pe, count):
    group = item.get_group()
    for _ in range(count):
        ishmem.put_work_group(dest, source, pe, group)


@dpex.kernel
def get_work_group(item: kapi.NdItem, dest, source, pe, count):
    group = item.get_group()
    for _ in range(count):
        ishmem.get_work_group(dest, source, pe, group)


@dpex.kernel
def copy_to_by_group(item: kapi.NdItem, dest, source, pe, count):
    there = ishmem.ptr(dest, pe)
    for _ in range(count):
        for k in range(item.get_local_id(0), source.size, item.get_local_range(0)):
            there[k] = source[k]
        kapi.group_barrier(item.get_group())


@dpex.kernel
def copy_from_by_group(item: kapi.NdItem, dest, source, pe, count):
    there = ishmem.ptr(source, pe)
    for _ in range(count):
        for k in range(item.get_local_id(0), dest.size, item.get_local_range(0)):
            dest[k] = there[k]
        kapi.group_barrier(item.get_group())


@dpex.kernel
def atomic_fetch_add(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        source[0] = ishmem.atomic_fetch_add(dest, 1, pe)


@dpex.kernel
def atomic_add(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.atomic_add(dest, 1, pe)


@dpex.kernel
def reference_add(item: kapi.Item, dest, source, pe, count):
    there = ishmem.ptr(dest, pe)
    for _ in range(count):
        counter = kapi.AtomicRef(there, index=1)
        source[0] = counter.fetch_add(1)


@dpex.kernel
def quiet(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.quiet()


@dpex.kernel
def fence(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.fence()


@dpex.kernel
def bare_fence(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        kapi.atomic_fence(kapi.MemoryOrder.SEQ_CST, kapi.MemoryScope.SYSTEM)


@dpex.kernel
def iput(item: kapi.Item, dest, source, pe, count):
    for _ in range(count):
        ishmem.iput(dest, source, 4, 4, source.size // 4, pe)


@dpex.kernel
def strided_store(item: kapi.Item, dest, source, pe, count):
    there = ishmem.ptr(dest, pe)
    for _ in range(count):
        for k in range(source.size // 4):
            there[4 * k] = source[4 * k]


@dpex.kernel
def put_signal(item: kapi.Item, dest, source, signal, pe, count):
    for _ in range(count):
        ishmem.put_signal(dest, source, signal, 1, ishmem.SIGNAL_ADD, pe)


@dpex.kernel
def ping_pong(item: kapi.Item, flag, pe, first, start, count):
    for i in range(start + 1, start + count + 1):
        if first:
            ishmem.p(flag, i, pe)
        ishmem.wait_until(flag, ishmem.CMP_EQ, i)
        if not first:
            ishmem.p(flag, i, pe)


@dpex.kernel
def barrier_all(item: kapi.Item, dest, count):
    for _ in range(count):
        ishmem.barrier_all()
