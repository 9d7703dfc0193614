"""The programs, and their table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import dpctl.memory
import dpnp
import numpy as np
from common import dpex, kapi

import ishmem

N = 16
GROUPS = 8
TURNS = 4
POLLS = 1000
RELEASE, ACQUIRE, BOTH = kapi.MemoryOrder.RELEASE, kapi.MemoryOrder.ACQUIRE, kapi.MemoryOrder.SEQ_CST
DEVICE = kapi.MemoryScope.DEVICE


class Arrays(NamedTuple):
    """Symmetric arrays, all zero when a program begins, and the PE on the right."""

    data: Any
    flag: Any
    seen: Any
    right: int

    @classmethod
    def make(cls) -> Arrays:
        """Allocate the arrays; collective."""
        data, flag, seen = (ishmem.zeros(N, dtype="i8") for _ in range(3))
        return cls(data, flag, seen, (ishmem.my_pe() + 1) % ishmem.n_pes())

    def clear(self) -> None:
        """Set all elements to 0; collective."""
        for array in self[:3]:
            array[...] = 0
        ishmem.barrier_all()

    def launch(self, kernel: Any, groups: int, whole: bool, size: int = 1) -> Any:
        """Run a kernel on so many work-groups; return what it has seen."""
        space = kapi.NdRange((groups * size,), (size,))
        dpex.call_kernel(kernel, space, self.data, self.flag, self.seen, int(whole))
        return self.seen.asnumpy()


Program = Callable[[Arrays, bool], bool]
programs: dict[str, Program] = {}


def program(run: Program) -> Program:
    """Put a program into the table."""
    programs[run.__name__] = run
    return run


@dpex.kernel
def _message(item: kapi.NdItem, data, flag, seen, releases, acquires):  # type: ignore
    ready = kapi.AtomicRef(flag, 0)
    if item.get_group().get_group_id(0) == 0:
        data[0] = 7
        if releases:
            kapi.atomic_fence(RELEASE, DEVICE)
        ready.store(1)
    else:
        while ready.load() == 0:
            pass
        if acquires:
            kapi.atomic_fence(ACQUIRE, DEVICE)
        seen[0] = data[0]


def _send(the: Arrays, releases: bool, acquires: bool) -> bool:
    space = kapi.NdRange((2,), (1,))
    dpex.call_kernel(_message, space, the.data, the.flag, the.seen, int(releases), int(acquires))
    return bool(the.seen.asnumpy()[0] == 7)


@program
def message_released(the: Arrays, whole: bool) -> bool:
    """Release between data and flag of a work-group for another."""
    return _send(the, whole, True)


@program
def message_acquired(the: Arrays, whole: bool) -> bool:
    """Acquire between the flag of another work-group and its data."""
    return _send(the, True, whole)


@dpex.kernel
def _to_peer(item: kapi.Item, data, flag, seen, data_there, flag_there, whole):  # type: ignore
    for i in range(N):
        data_there[i] = 7
    if whole:
        kapi.atomic_fence(RELEASE, kapi.MemoryScope.SYSTEM)
    flag_there[0] = 1
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
    for i in range(N):
        seen[i] = data[i]


@program
def message_to_a_peer(the: Arrays, whole: bool) -> bool:
    """Release between data and flag, which plain stores write into the memory of another PE."""
    there = ishmem.ptr(the.data, the.right), ishmem.ptr(the.flag, the.right)
    dpex.call_kernel(_to_peer, dpex.Range(1), *the[:3], *there, int(whole))
    return bool((the.seen.asnumpy() == 7).all())


@dpex.kernel
def _store_buffering(item: kapi.NdItem, data, flag, seen, whole):  # type: ignore
    me = item.get_group().get_group_id(0)
    here = kapi.AtomicRef(flag, 0)
    here.fetch_add(1)
    while here.load() < 2:
        pass
    data[8 * me] = 1
    if whole:
        kapi.atomic_fence(BOTH, DEVICE)
    seen[8 * me] = data[8 * (1 - me)]


@program
def store_buffering(the: Arrays, whole: bool) -> bool:
    """Sequentially consistent fence between the own flag and the look at the other one, as in Dekker's lock."""
    seen = the.launch(_store_buffering, 2, whole)
    return bool(seen[0] or seen[8])


@dpex.kernel
def _spin(item: kapi.NdItem, data, flag, seen, whole):  # type: ignore
    has_looked = kapi.AtomicRef(data, 0)
    if item.get_group().get_group_id(0) == 0:
        while has_looked.load() == 0:
            pass
        flag[0] = 1
        kapi.atomic_fence(RELEASE, DEVICE)
        has_looked.store(2)
    else:
        left = POLLS
        while left > 0:
            if flag[0] != 0:
                seen[0] = 1
            told = has_looked.load()
            if told == 0:
                has_looked.store(1)
            left -= told == 2
            if whole:
                kapi.atomic_fence(ACQUIRE, DEVICE)


@program
def spin_on_a_plain_flag(the: Arrays, whole: bool) -> bool:
    """Acquire in a loop that looks at a flag by plain loads, some of them after it was written."""
    return bool(the.launch(_spin, 2, whole)[0] == 1)


@dpex.kernel
def _locked(item: kapi.NdItem, data, flag, seen, whole):  # type: ignore
    lock = kapi.AtomicRef(flag, 0)
    for _ in range(TURNS):
        while lock.exchange(1) != 0:
            pass
        kapi.atomic_fence(ACQUIRE, DEVICE)
        seen[0] += 1
        if whole:
            kapi.atomic_fence(RELEASE, DEVICE)
        lock.store(0)


@program
def counter_in_a_lock(the: Arrays, whole: bool) -> bool:
    """Release before a lock is given up."""
    return bool(the.launch(_locked, GROUPS, whole)[0] == GROUPS * TURNS)


@dpex.kernel
def _barrier(item: kapi.NdItem, data, flag, seen, whole):  # type: ignore
    group, local = item.get_group(), item.get_local_id(0)
    ready = kapi.AtomicRef(flag, 0)
    if group.get_group_id(0) == 0:
        data[local] = 7
        kapi.group_barrier(group)
        if local == 0:
            if whole:
                kapi.atomic_fence(RELEASE, DEVICE)
            ready.store(1)
    else:
        while ready.load() == 0:
            pass
        kapi.atomic_fence(ACQUIRE, DEVICE)
        seen[local] = data[local]


@program
def barrier_of_a_work_group(the: Arrays, whole: bool) -> bool:
    """Release of one work-item, after a barrier, for the stores of all work-items of its group."""
    return bool((the.launch(_barrier, 2, whole, N) == 7).all())


@dpex.kernel
def _to_host(item: kapi.Item, data, flag, whole):  # type: ignore
    for i in range(data.size):
        data[i] = 7
    if whole:
        kapi.atomic_fence(RELEASE, kapi.MemoryScope.SYSTEM)
    flag[0] = 1
    answer = kapi.AtomicRef(flag, 8)
    while answer.load() == 0:
        pass


def _on_host(queue: Any) -> tuple[Any, Any]:
    memory = dpctl.memory.MemoryUSMHost(8 * N, queue=queue)
    host = np.frombuffer(memory, "i8")
    host[:] = 0
    return dpnp.ndarray((N,), "i8", buffer=memory), host


@program
def flag_in_host_memory(the: Arrays, whole: bool) -> bool:
    """Release between data and flag that a kernel stores into memory of the host."""
    queue = the.data.sycl_queue
    (data, data_here), (flag, flag_here) = _on_host(queue), _on_host(queue)
    events = dpex.call_kernel_async(_to_host, dpex.Range(1), (), data, flag, int(whole))
    while not flag_here[0]:
        time.sleep(0)
    good = bool((data_here == 7).all())
    flag_here[8] = 1
    for event in events:
        event.wait()
    return good
