"""Programs of host calls. With ``whole`` they are right; else the call named in the first line is left out."""

from __future__ import annotations

import numpy as np

import ishmem

from .arrays import SECONDS, Arrays, program, values


def _await(the: Arrays, value: int) -> None:
    ishmem.wait_until(the.flag, ishmem.CMP_EQ, value, timeout=SECONDS)


def _await_signal(the: Arrays, value: int) -> None:
    ishmem.signal_wait_until(the.signal, ishmem.CMP_EQ, value, timeout=SECONDS)


@program
def flag_by_atomic(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and an atomic flag."""
    ishmem.put(the.box, values(value), the.right)
    if whole:
        ishmem.fence()
    ishmem.atomic_set(the.flag, value, the.right)
    _await(the, value)
    return the.has(the.box, value)


@program
def flag_by_p(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a flag that p stores."""
    for i in range(len(the.box)):
        ishmem.p(the.box, value, the.right, i)
    if whole:
        ishmem.fence()
    ishmem.p(the.flag, value, the.right)
    _await(the, value)
    return the.has(the.box, value)


@program
def flag_by_signal(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a signal that does not belong to them."""
    ishmem.put(the.box, values(value), the.right)
    if whole:
        ishmem.fence()
    ishmem.put_signal(the.other, values(value), the.signal, value, ishmem.SIGNAL_SET, the.right)
    _await_signal(the, value)
    return the.has(the.box, value) and the.has(the.other, value)


@program
def flag_by_signal_of_view(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a signal of other data, which are every second element of their array."""
    ishmem.put(the.box, values(value), the.right)
    if whole:
        ishmem.fence()
    ishmem.put_signal(the.other[:2], values(value)[:4:2], the.signal, value, ishmem.SIGNAL_SET, the.right)
    _await_signal(the, value)
    return the.has(the.box, value) and the.has(the.other[:2], value)


@program
def strided_flag(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between strided data and a flag."""
    ishmem.iput(the.box, values(value), 2, 1, 4, the.right)
    ishmem.iput(the.box[1:], values(value), 2, 1, 4, the.right)
    if whole:
        ishmem.fence()
    ishmem.atomic_add(the.flag, value, the.right)
    _await(the, value)
    return the.has(the.box, value)


@program
def flag_in_static(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a flag in static host objects."""
    box, flag = ishmem.static("order box", len(the.box), "i8"), ishmem.static("order flag", 1, "i8")
    box[:], flag[:] = 0, 0
    ishmem.barrier_all()
    ishmem.put(box, values(value), the.right)
    if whole:
        ishmem.fence()
    ishmem.p(flag, value, the.right)
    ishmem.wait_until(flag, ishmem.CMP_EQ, value, timeout=SECONDS)
    return the.has(box, value)


@program
def signal_in_static(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a signal of other data, all in static host objects."""
    box, signal = ishmem.static("order box", len(the.box), "i8"), ishmem.static("order signal", 1, "u8")
    box[:], signal[:] = 0, 0
    ishmem.barrier_all()
    ishmem.put(box[:4], values(value)[:4], the.right)
    if whole:
        ishmem.fence()
    ishmem.put_signal(box[4:], values(value)[4:], signal, value, ishmem.SIGNAL_SET, the.right)
    ishmem.signal_wait_until(signal, ishmem.CMP_EQ, value, timeout=SECONDS)
    return the.has(box, value)


@program
def put_twice(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between two puts to one place."""
    ishmem.put(the.box, values(-value), the.right)
    if whole:
        ishmem.fence()
    ishmem.put(the.box, values(value), the.right)
    ishmem.barrier_all()
    return the.has(the.box, value)


@program
def add_after_set(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between two atomics on one element."""
    ishmem.atomic_set(the.flag, value, the.right)
    if whole:
        ishmem.fence()
    ishmem.atomic_add(the.flag, 1, the.right)
    ishmem.barrier_all()
    return bool(ishmem.g(the.flag, the.me) == value + 1)


@program
def read_back(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between a put and a get of what it has put."""
    ishmem.put(the.box, values(value), the.right)
    if whole:
        ishmem.quiet()
    seen = np.empty(len(the.box), "i8")
    ishmem.get(seen, the.box, the.right)
    return bool((seen == value).all())


@program
def read_counter(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between atomics and a fetch of their sum."""
    for _ in range(3):
        ishmem.atomic_add(the.flag, value, the.right)
    if whole:
        ishmem.quiet()
    return bool(ishmem.atomic_fetch(the.flag, the.right) == 3 * value)


@program
def source_reused(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between a nonblocking put and the reuse of its source."""
    data = values(value)
    ishmem.put_nbi(the.box, data, the.right)
    if whole:
        ishmem.quiet()
    data[:] = 0
    ishmem.barrier_all()
    return the.has(the.box, value)


@program
def fence_for_quiet(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet, for which a fence does not do, before the source of a nonblocking put is reused."""
    the.data[...] = value
    ishmem.put_nbi(the.box, the.data, the.right)
    (ishmem.quiet if whole else ishmem.fence)()
    the.data[...] = 0
    ishmem.barrier_all()
    return the.has(the.box, value)


@program
def got_too_early(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between a nonblocking get and the use of its data."""
    the.data[...] = value
    ishmem.barrier_all()
    seen = np.empty(len(the.data), "i8")
    ishmem.get_nbi(seen, the.data, the.right)
    if whole:
        ishmem.quiet()
    good = bool((seen == value).all())
    ishmem.barrier_all()
    return good


@program
def sync_for_barrier(the: Arrays, value: int, whole: bool) -> bool:
    """Barrier, for which a sync does not do, between a put and its use on the target."""
    ishmem.put(the.box, values(value), the.right)
    (ishmem.barrier_all if whole else ishmem.sync_all)()
    return the.has(the.box, value)


@program
def quiet_before_sync(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet before a sync of a team."""
    ishmem.put(the.box, values(value), the.right)
    if whole:
        ishmem.quiet()
    ishmem.team_sync(ishmem.TEAM_WORLD)
    return the.has(the.box, value)


@program
def no_wait(the: Arrays, value: int, whole: bool) -> bool:
    """Wait for the signal of the data."""
    ishmem.put_signal(the.box, values(value), the.signal, value, ishmem.SIGNAL_SET, the.right)
    if whole:
        _await_signal(the, value)
    good = the.has(the.box, value)
    ishmem.barrier_all()
    return good
