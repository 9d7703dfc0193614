"""How the work-items of a group divide elements: by the device function itself, in kernels with other SIMD widths."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import dpex, kapi

import ishmem
from ishmem.testing import Pes

WIDTHS = (1, 8)
SIZES = (1, 2, 7, 16, 31, 64, 100, 256)
COUNTS = (0, 1, 2, 15, 63, 64, 65, 257, 1000, 4099, 65536)
HUGE = ((1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 36) + 12345, 1 << 45)


def sharer() -> Any:
    """Return a kernel that writes the share of each work-item, compiled with the constants of now."""
    from ishmem.kernels.work_division import work_item_share

    @dpex.kernel
    def share(item: kapi.Item, out, count, size):
        for rank in range(size):
            out[rank, 0], out[rank, 1], out[rank, 2] = work_item_share(count, rank, size)

    return share


def check_all(out: np.ndarray[Any, Any], count: int, size: int, width: int) -> None:
    """Each element is in one share, and no share has more elements than the largest must have."""
    taken = [np.arange(first, end, step) for first, step, end in out]
    np.testing.assert_array_equal(np.sort(np.concatenate(taken)), np.arange(count))
    assert max(map(len, taken)) <= -(-count // size)
    if count > size:
        assert set(out[:, 1]) == {1 if width == 1 else size}


def check_huge(out: np.ndarray[Any, Any], count: int, size: int, width: int) -> None:
    """Shares are interleaved, or adjacent and larger than an equal part by the rounding at most."""
    first, step, end = out.T
    if size == 1 or width != 1:
        np.testing.assert_array_equal(out, [[rank, size, count] for rank in range(size)])
        return
    assert first[0] == 0
    assert end[-1] == count
    np.testing.assert_array_equal(np.minimum(first[1:], count), end[:-1])
    assert (step == 1).all()
    assert (end - first).max() <= -(-count // size) + (1 << 16 if count + size >> 32 else 0)


def check_shares() -> None:
    from ishmem.runtime import kernel_constants

    facts, process = kernel_constants.bound()
    out = ishmem.zeros((max(SIZES), 3), dtype="i8")
    for width in WIDTHS:
        kernel_constants.bind(facts, process._replace(simd_width=width))
        try:
            kernel = sharer()
            for size in SIZES:
                for count in (*COUNTS, *HUGE):
                    dpex.call_kernel(kernel, kapi.Range(1), out, count, size)
                    check = check_huge if count in HUGE else check_all
                    check(out.asnumpy()[:size], count, size, width)
        finally:
            kernel_constants.bind(facts, process)
    ishmem.free(out)


def test_shares() -> None:
    """On a PE of its own: the functions that these kernels call are compiled with constants of another process."""
    with Pes(1) as pool:
        pool.run(check_shares)
