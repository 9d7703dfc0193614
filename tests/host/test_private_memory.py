"""Host copies from and to private device memory: its mappings, and what becomes of them when it is freed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from common import dpctl, dpnp, pattern, ring, same, tensor

import ishmem
from ishmem import _core
from ishmem.ipc import pyze
from ishmem.runtime import job

POOLED = (1, 512, 5000)
LARGE = (8 << 20) // 8
"""Elements of an array that SYCL takes from the driver by itself and gives back when it is freed."""


def values(seed: int, count: int) -> np.ndarray:
    return np.arange(count, dtype="i8") * 3 + seed


def make(kind: str, data: np.ndarray) -> Any:
    """Return a private array of a kind with these elements."""
    if kind == "dpnp":
        return dpnp.asarray(data)
    usm_type = "device" if kind == "dpctl" else kind
    return tensor.asarray(data, usm_type=usm_type)


def read(array: Any) -> np.ndarray:
    return array.asnumpy() if hasattr(array, "asnumpy") else tensor.asnumpy(array)


def address_of(array: Any) -> int:
    return int(getattr(array, "_array_obj", array)._pointer)


def is_mapped(array: Any) -> bool:
    return _core.private_place(address_of(array), 1) != 0


@pytest.mark.ishmem
def test_kinds() -> None:
    check_kinds(mapped=True)


def check_kinds(mapped: bool) -> None:
    """Every operation with every kind of private array, several times: before and after it is mapped."""
    me, n, right, left = ring()
    for count in POOLED:
        dest, origin = ishmem.zeros((4, count), dtype="i8"), ishmem.array(values(me, count))
        for kind in ("dpnp", "dpctl", "shared", "host"):
            for turn in range(3):
                source, back = make(kind, values(me + turn, count)), make(kind, np.zeros(4 * count, "i8"))
                ishmem.put(dest[0], source, right)
                ishmem.put_nbi(dest[1], source, right)
                ishmem.iput(dest[2], source, 1, 1, count, right)
                ishmem.ibput(dest[3], source, count, count, count, 1, right)
                ishmem.get(back[:count], origin, right)
                ishmem.get_nbi(back[count : 2 * count], origin, right)
                ishmem.iget(back[2 * count :], origin, 2, 1, count, right)
                ishmem.barrier_all()
                same(dest, np.tile(values(left + turn, count), (4, 1)))
                got, wanted = read(back), values(right, count)
                assert (got[:count] == wanted).all()
                assert (got[count : 2 * count] == wanted).all()
                assert (got[2 * count :: 2] == wanted).all()
                ishmem.barrier_all()
        assert is_mapped(source) == mapped or kind in ("shared", "host")
        ishmem.free(origin)
        ishmem.free(dest)


@pytest.mark.slow("the same with other settings")
@pytest.mark.parametrize(
    "env",
    [
        {"ISHMEM_SIM_STRICT": "1"}, {"ISHMEM_SIM_IPC": "tiles"}, {"ISHMEM_SIM_IPC": "opaque"},
        {"ISHMEM_SIM_HOST_ATOMICS": "0"}, {"ISHMEM_COPY_CUTOVER": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_other_routes(pool_with, env: dict[str, str]) -> None:
    mapped = "ISHMEM_COPY_CUTOVER" not in env
    pool_with(2, env).run(check_kinds, mapped)
    if mapped:
        pool_with(2, env).run(test_reuse)


@pytest.mark.ishmem(2)
def test_reuse() -> None:
    """Memory that was freed and allocated again is another allocation, though its address is the same."""
    me, n, right, left = ring()
    context, dest = job.current().heap.context, ishmem.zeros(LARGE, dtype="i8")
    addresses, ids = [], []
    for turn in range(8):
        private = make("dpctl", values(me + turn, LARGE))
        addresses.append(address_of(private))
        ids.append(pyze.alloc_properties(context, addresses[-1])[0].id)
        for _ in range(3):
            ishmem.put(dest, private, right)
        assert is_mapped(private) or job.current().heap.private_memory._cutovers[0] < dest.nbytes
        ishmem.barrier_all()
        same(dest, values(left + turn, LARGE))
        private[:] = 0
        for _ in range(3):
            ishmem.get(private, dest, right)
        assert (read(private) == values(me + turn, LARGE)).all()
        ishmem.barrier_all()
        del private
        assert not _core.private_place(addresses[-1], 1)
    assert len(set(ids)) == len(ids)
    assert len(set(addresses)) < len(addresses), "no address came again: nothing was tested"


def usage() -> tuple[int, int]:
    """Return the descriptors and the mappings of this process."""
    with open("/proc/self/maps") as file:
        return len(os.listdir("/proc/self/fd")), len(file.readlines())


@pytest.mark.ishmem(2)
def test_no_leak() -> None:
    """Mappings of freed memory go away, with their descriptors, and the bound holds."""
    turns = 40
    me, n, right, left = ring()
    private, dest = job.current().heap.private_memory, ishmem.zeros(LARGE, dtype="i8")
    most, private._most_bytes = private._most_bytes, 20 << 20
    kept: list[Any] = []
    seen = []
    for turn in range(turns):
        kept = [*kept[-3:], make("dpctl", np.full(LARGE, turn))]
        for array in (*kept, kept[-1]):
            ishmem.put(dest, array, right)
        assert len([each for each in kept if is_mapped(each)]) <= 2
        seen.append(usage())
    private._most_bytes = most
    assert seen[-1][0] <= seen[turns // 2][0]
    assert seen[-1][1] <= seen[turns // 2][1] + 4


@pytest.mark.ishmem(2)
def test_threads() -> None:
    """A copy that runs without the interpreter's lock keeps its mapping, whatever other threads map."""
    turns = 6
    me, n, right, left = ring()
    private = job.current().heap.private_memory
    most, private._most_bytes = private._most_bytes, 20 << 20
    targets = [ishmem.zeros(LARGE, dtype="i8") for _ in range(3)]

    def work(number: int) -> None:
        for turn in range(turns):
            array = make("dpctl", values(me + turn + number, LARGE))
            for _ in range(3):
                ishmem.put(targets[number], array, right)

    with ThreadPoolExecutor(len(targets)) as pool:
        list(pool.map(work, range(len(targets))))
    private._most_bytes = most
    ishmem.barrier_all()
    for number, target in enumerate(targets):
        same(target, values(left + turns - 1 + number, LARGE))


@pytest.mark.ishmem
def test_edges() -> None:
    """Views at the ends of an allocation, memory objects, and what is no private memory."""
    me, n, right, left = ring()
    whole, dest = dpnp.asarray(pattern("u1", 4096, me)), ishmem.zeros(4096, dtype="u1")
    for part in (slice(0, 1), slice(4095, 4096), slice(3, 4093), slice(0, 0)):
        for _ in range(2):
            ishmem.put(dest[part], whole[part], right)
        ishmem.barrier_all()
        same(dest[part], pattern("u1", 4096, left)[part])
        ishmem.barrier_all()
    memory = dpctl.memory.MemoryUSMDevice(4096)
    memory.copy_from_host(pattern("u1", 4096, me, 1))
    for _ in range(2):
        ishmem.put(dest, memory, right)
    ishmem.barrier_all()
    same(dest, pattern("u1", 4096, left, 1))
    heap = job.current().heap
    assert not heap.private_memory.register(heap.base, 8, write=False)
    assert not heap.private_memory.register(np.zeros(8).ctypes.data, 8, write=False)
