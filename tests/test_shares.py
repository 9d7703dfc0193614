"""How the work-items of a group divide elements: by the device function itself, in kernels with other SIMD widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import dpex, kapi
from pes import Pool

import ishmem
from ishmem.runtime.kernel_loading import simd_width

WIDTHS = (1, 8, 16, 32)
SIZES = (1, 2, 7, 16, 31, 64, 100, 256)
COUNTS = (0, 1, 2, 15, 63, 64, 65, 257, 1000, 4099, 65536)
HUGE = ((1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 36) + 12345, 1 << 45)


def sharer() -> Any:
    """Return a kernel that writes the share of each work-item, compiled with the constants of now."""
    from ishmem.kernels.shares import work_item_share

    @dpex.kernel
    def share(item: kapi.Item, out, count, size):
        for rank in range(size):
            out[rank, 0], out[rank, 1], out[rank, 2] = work_item_share(count, rank, size)

    return share


def check_all(out: np.ndarray[Any, Any], count: int, size: int, width: int) -> None:
    """Each element is in one share, and shares differ by less than the elements of a bundle's last turn."""
    taken = [np.arange(*(first, end, step)) for first, step, end in out]
    np.testing.assert_array_equal(np.sort(np.concatenate(taken)), np.arange(count))
    assert max(map(len, taken)) <= -(-count // size)
    for _first, step, _end in out:
        assert step == 1 if width == 1 and count > size > 1 else step <= max(width, size)


def check_huge(out: np.ndarray[Any, Any], count: int, size: int, width: int) -> None:
    """Bundles are adjacent and end at ``count``; the work-items of a bundle take its elements in turn."""
    rough = 1 << 16 if count + size >> 32 else 1
    first, step, end = out.T
    if size == 1:
        np.testing.assert_array_equal(out, [[0, 1, count]])
        return
    for low in range(0, size, width):
        bundle = slice(low, min(low + width, size))
        items = bundle.stop - low
        begin = first[low] if low else 0
        np.testing.assert_array_equal(first[bundle], begin + np.arange(items))
        np.testing.assert_array_equal(step[bundle], items)
        assert len(set(end[bundle])) == 1
        assert low == 0 or end[low - 1] == min(begin, count)
        assert end[low] - begin <= items * (-(-count // size) + rough)
    assert end.max() == end[-1] == count


def check_shares() -> None:
    from ishmem.kernels import binding

    facts, process = binding.bound()
    out = ishmem.zeros((max(SIZES), 3), dtype="i8")
    for width in WIDTHS:
        binding.bind(facts, process._replace(simd_width=width))
        try:
            kernel = sharer()
            for size in SIZES:
                for count in (*COUNTS, *HUGE):
                    dpex.call_kernel(kernel, kapi.Range(1), out, count, size)
                    check = check_huge if count in HUGE else check_all
                    check(out.asnumpy()[:size], count, size, width)
        finally:
            binding.bind(facts, process)
    ishmem.free(out)


def test_shares() -> None:
    """On a PE of its own: the functions that these kernels call are compiled with constants of another process."""
    pool = Pool(1)
    try:
        pool.run(check_shares)
    finally:
        pool.stop()


@pytest.mark.parametrize(("reported", "used"), [(0, 1), (1, 1), (7, 4), (8, 8), (12, 8), (16, 16), (32, 32)])
def test_the_width_is_a_power_of_two(reported: int, used: int) -> None:
    assert simd_width(reported) == used
