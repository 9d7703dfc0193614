"""Programs whose operations are in kernels. With ``whole`` they are right; else the named call is left out."""

from __future__ import annotations

from typing import Any

from common import dpex, kapi

import ishmem

from .arrays import Arrays, program

GROUP = 4


def _launch(kernel: Any, *arguments: Any) -> None:
    dpex.call_kernel(kernel, dpex.Range(1), *arguments)


@dpex.kernel
def _flag(item: kapi.Item, box, flag, source, value, pe, whole):  # type: ignore
    ishmem.put(box, source, pe)
    if whole:
        ishmem.fence()
    ishmem.atomic_set(flag, value, pe)
    ishmem.wait_until(flag, ishmem.CMP_EQ, value)


@program
def flag_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and an atomic flag."""
    the.data[...] = value
    _launch(_flag, the.box, the.flag, the.data, value, the.right, int(whole))
    return the.has(the.box, value)


@dpex.kernel
def _elements(item: kapi.Item, box, flag, value, pe, whole):  # type: ignore
    for i in range(box.size):
        ishmem.p(box, value, pe, i)
    if whole:
        ishmem.fence()
    ishmem.p(flag, value, pe)
    ishmem.wait_until(flag, ishmem.CMP_EQ, value)


@program
def elements_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between elements and a flag that p stores."""
    _launch(_elements, the.box, the.flag, value, the.right, int(whole))
    return the.has(the.box, value)


@dpex.kernel
def _signal(item: kapi.Item, box, other, signal, source, value, pe, whole):  # type: ignore
    ishmem.put(box, source, pe)
    if whole:
        ishmem.fence()
    ishmem.put_signal(other, source, signal, value, ishmem.SIGNAL_SET, pe)
    ishmem.signal_wait_until(signal, ishmem.CMP_EQ, value)


@program
def signal_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a signal that does not belong to them."""
    the.data[...] = value
    _launch(_signal, the.box, the.other, the.signal, the.data, value, the.right, int(whole))
    return the.has(the.box, value) and the.has(the.other, value)


@dpex.kernel
def _signal_of_view(item: kapi.Item, box, other, signal, source, every_second, value, pe, whole):  # type: ignore
    ishmem.put(box, source, pe)
    if whole:
        ishmem.fence()
    ishmem.put_signal(other, every_second, signal, value, ishmem.SIGNAL_SET, pe)
    ishmem.signal_wait_until(signal, ishmem.CMP_EQ, value)


@program
def signal_of_view_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a signal of other data, which are every second element of their array."""
    the.data[...] = value
    half = the.other[: len(the.data) // 2]
    _launch(_signal_of_view, the.box, half, the.signal, the.data, the.data[::2], value, the.right, int(whole))
    return the.has(the.box, value) and the.has(half, value)


@dpex.kernel
def _strided(item: kapi.Item, box, flag, source, value, pe, whole):  # type: ignore
    for i in range(2):
        ishmem.iput(box[i:], source, 2, 1, box.size // 2, pe)
    if whole:
        ishmem.fence()
    ishmem.p(flag, value, pe)
    ishmem.wait_until(flag, ishmem.CMP_EQ, value)


@program
def strided_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between strided data and a flag."""
    the.data[...] = value
    _launch(_strided, the.box, the.flag, the.data, value, the.right, int(whole))
    return the.has(the.box, value)


@dpex.kernel
def _by_group(item: kapi.NdItem, box, flag, source, value, pe, whole):  # type: ignore
    group = item.get_group()
    ishmem.put_work_group(box, source, pe, group)
    if whole:
        ishmem.fence_work_group(group)
    if item.get_local_id(0) == 0:
        ishmem.atomic_add(flag, value, pe)
    ishmem.wait_until_work_group(flag, ishmem.CMP_EQ, value, group)


@program
def work_group(the: Arrays, value: int, whole: bool) -> bool:
    """Fence of the work-group between data and flag."""
    the.data[...] = value
    index_space = dpex.NdRange((GROUP,), (GROUP,))
    dpex.call_kernel(_by_group, index_space, the.box, the.flag, the.data, value, the.right, int(whole))
    return the.has(the.box, value)


@dpex.kernel
def _reuse(item: kapi.Item, box, source, pe, whole):  # type: ignore
    ishmem.put_nbi(box, source, pe)
    if whole:
        ishmem.quiet()
    for i in range(source.size):
        source[i] = 0


@program
def source_reused_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between a nonblocking put and the reuse of its source."""
    the.data[...] = value
    _launch(_reuse, the.box, the.data, the.right, int(whole))
    ishmem.barrier_all()
    return the.has(the.box, value)


@dpex.kernel
def _get(item: kapi.Item, box, seen, source, pe, whole):  # type: ignore
    ishmem.get_nbi(seen, source, pe)
    if whole:
        ishmem.quiet()
    for i in range(seen.size):
        box[i] = seen[i]


@program
def got_too_early_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between a nonblocking get and the use of its data."""
    the.data[...] = value
    ishmem.barrier_all()
    _launch(_get, the.box, the.other, the.data, the.right, int(whole))
    ishmem.barrier_all()
    return the.has(the.box, value)


@dpex.kernel
def _back(item: kapi.Item, box, seen, value, pe, whole):  # type: ignore
    ishmem.p(box, value, pe, 3)
    if whole:
        ishmem.quiet()
    seen[0] = ishmem.g(box, pe, 3)


@program
def read_back_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between p and the g of the same element."""
    _launch(_back, the.box, the.other, value, the.right, int(whole))
    return bool(ishmem.g(the.other, the.me) == value)


@dpex.kernel
def _set_and_add(item: kapi.Item, flag, value, pe, whole):  # type: ignore
    ishmem.atomic_set(flag, value, pe)
    if whole:
        ishmem.fence()
    ishmem.atomic_add(flag, 1, pe)


@program
def add_after_set_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between two atomics on one element."""
    _launch(_set_and_add, the.flag, value, the.right, int(whole))
    ishmem.barrier_all()
    return bool(ishmem.g(the.flag, the.me) == value + 1)


@dpex.kernel
def _count(item: kapi.Item, flag, seen, value, pe, whole):  # type: ignore
    ishmem.atomic_add(flag, value, pe)
    ishmem.atomic_add(flag, value, pe)
    if whole:
        ishmem.quiet()
    seen[0] = ishmem.atomic_fetch(flag, pe)


@program
def counter_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet between atomics and a fetch of their sum."""
    _launch(_count, the.flag, the.other, value, the.right, int(whole))
    return bool(ishmem.g(the.other, the.me) == 2 * value)


@dpex.kernel
def _meet(item: kapi.Item, box, seen, source, pe, whole):  # type: ignore
    ishmem.put(box, source, pe)
    if whole:
        ishmem.quiet()
    ishmem.sync_all()
    for i in range(box.size):
        seen[i] = box[i]


@program
def sync_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Quiet before a sync."""
    the.data[...] = value
    _launch(_meet, the.box, the.other, the.data, the.right, int(whole))
    return the.has(the.other, value)


@dpex.kernel
def _send(item: kapi.Item, box, signal, source, value, pe, whole):  # type: ignore
    ishmem.put_signal(box, source, signal, value, ishmem.SIGNAL_SET, pe)
    if whole:
        ishmem.signal_wait_until(signal, ishmem.CMP_EQ, value)


@program
def no_wait_in_kernel(the: Arrays, value: int, whole: bool) -> bool:
    """Wait for the signal of the data."""
    the.data[...] = value
    _launch(_send, the.box, the.signal, the.data, value, the.right, int(whole))
    good = the.has(the.box, value)
    ishmem.barrier_all()
    return good
