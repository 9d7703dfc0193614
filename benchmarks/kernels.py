"""The kernels of the cases in device.py: loops of one operation, and the same loops without ishmem."""

# Code that numba compiles has numba's types.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

WORDS = 1024
"""The number of elements in the loops of single-element operations."""

_BY_ITEMS = "for k in range(item.get_local_id(0), {}.size, item.get_local_range(0)): "
_BARRIER = "kapi.group_barrier(item.get_group())"
LOOPS: dict[str, tuple[str, ...]] = {
    "p": ("for k in range(WORDS): ishmem.p(dest, source[k], pe, k)",),
    "g": ("for k in range(WORDS): dest[k] = ishmem.g(source, pe, k)",),
    "put_words": ("for k in range(WORDS): ishmem.put(dest[k : k + 1], source[k : k + 1], pe)",),
    "get_words": ("for k in range(WORDS): ishmem.get(dest[k : k + 1], source[k : k + 1], pe)",),
    "put": ("ishmem.put(dest, source, pe)",),
    "get": ("ishmem.get(dest, source, pe)",),
    "put_quiet": ("ishmem.put(dest, source, pe)", "ishmem.quiet()"),
    "put_work_group": ("ishmem.put_work_group(dest, source, pe, item.get_group())",),
    "get_work_group": ("ishmem.get_work_group(dest, source, pe, item.get_group())",),
    "iput": ("ishmem.iput(dest, source, 4, 4, source.size // 4, pe)",),
    "atomic_fetch_add": ("source[0] = ishmem.atomic_fetch_add(dest, 1, pe)",),
    "atomic_add": ("ishmem.atomic_add(dest, 1, pe)",),
    "quiet": ("ishmem.quiet()",),
    "fence": ("ishmem.fence()",),
    "store_words": ("for k in range(WORDS): at_dest[k] = source[k]",),
    "load_words": ("for k in range(WORDS): dest[k] = at_source[k]",),
    "copy_to": ("for k in range(source.size): at_dest[k] = source[k]",),
    "copy_from": ("for k in range(dest.size): dest[k] = at_source[k]",),
    "copy_to_by_group": (_BY_ITEMS.format("source") + "at_dest[k] = source[k]", _BARRIER),
    "copy_from_by_group": (_BY_ITEMS.format("dest") + "dest[k] = at_source[k]", _BARRIER),
    "strided_store": ("for k in range(source.size // 4): at_dest[4 * k] = source[4 * k]",),
    "reference_add": ("source[0] = kapi.AtomicRef(at_dest, index=1).fetch_add(1)",),
    "bare_fence": ("kapi.atomic_fence(kapi.MemoryOrder.SEQ_CST, kapi.MemoryScope.SYSTEM)",),
}
"""The body of the loop of each kernel ``(item, dest, source, pe, count)``; ``at_dest`` is ``ptr(dest, pe)``."""


def _loop(name: str) -> Any:
    body = LOOPS[name]
    views = [array for array in ("dest", "source") if f"at_{array}" in "".join(body)]
    lines = [f"def {name}(item, dest, source, pe, count):"]
    lines += [f"    at_{array} = ishmem.ptr({array}, pe)" for array in views]
    lines += ["    for _ in range(count):", *(f"        {line}" for line in body)]
    return kernel_of(lines, name, kapi=kapi, WORDS=WORDS)


def kernel_of(lines: list[str], name: str, **names: Any) -> Any:
    """Return the kernel that lines of Python define; ``names`` are its globals beside ``ishmem``."""
    names["ishmem"] = ishmem
    exec("\n".join(lines), names)
    return dpex.kernel(names[name])


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


KERNELS: dict[str, Any] = {
    **{name: _loop(name) for name in LOOPS},
    "put_signal": put_signal, "ping_pong": ping_pong, "barrier_all": barrier_all,
}
"""All kernels, by name."""
