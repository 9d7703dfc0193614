"""Puts and gets of kernels that would leave an array, without ``ISHMEM_CHECK``: nothing moves, and the host raises."""

from __future__ import annotations

import pytest
from common import alone, dpex, dpnp, kapi, one_of, same

import ishmem

EIGHT_TO_4 = "put in a kernel on PE {me}: dest has 4 elements and source has 8"
BLOCKS = "iput or ibput in a kernel on PE {me}: "

# Calls, where n is 6, their errors and the words of these.
CASES: list[tuple[str, type[Exception], str]] = [
    ("ishmem.put_work_group(a[4:8], local, pe, group)", ValueError, EIGHT_TO_4 + "; pass equal slices"),
    ("ishmem.put_nbi_work_group(a[4:8], local, pe, group)", ValueError, EIGHT_TO_4),
    ("ishmem.get_work_group(local, a[:2], pe, group)", ValueError,
     "get in a kernel on PE {me}: dest has 8 elements and source has 2"),
    ("ishmem.put_work_group(a[:8:2], local, pe, group)", ValueError, EIGHT_TO_4),
    ("ishmem.put_work_group(tiles[:2, :2], local, pe, group)", ValueError, EIGHT_TO_4),
    ("ishmem.put_signal_work_group(a[4:8], local, signal, 1, ishmem.SIGNAL_ADD, pe, group)", ValueError, EIGHT_TO_4),
    ("ishmem.put_work_group(a[4:8], local, pe, group, n)", ValueError,
     "put in a kernel on PE {me}: nelems is 6; dest has 4 elements and source has 8"),
    ("ishmem.put_work_group(a[4:8], local, pe, group, n - 8)", ValueError,
     "put in a kernel on PE {me}: nelems is -2; dest has 4 elements and source has 8"),
    ("ishmem.put_work_group(a[4:8], 5, pe, group, n - 3)", ValueError,
     "put in a kernel on PE {me}: nelems is 3; dest has 4 elements and source has 1"),
    ("ishmem.get_work_group(local, a, pe, group, n + 3)", ValueError,
     "get in a kernel on PE {me}: nelems is 9; dest has 8 elements and source has 16"),
    ("ishmem.iput_work_group(a[4:8], local, 2, 1, 3, pe, group)", IndexError,
     BLOCKS + "5 elements from element 0 on are not all in"),
    ("ishmem.iput_work_group(a[8:], local, n - 8, 1, 2, pe, group)", ValueError,
     BLOCKS + "dst is -2 and sst is 1; strides are at least 1"),
]  # fmt: skip
NAMES = ("a", "tiles", "local", "signal", "pe", "n")
CALLS = {
    True: dpex.kernel(one_of([call.replace(", group", ", item.get_group()") for call, _, _ in CASES], *NAMES)),
    False: dpex.kernel(one_of([alone(call) for call, _, _ in CASES], *NAMES)),
}


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("by_group", [False, True])
def test_nothing_moves_where_an_array_is_too_short(by_group: bool) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    place = dpex.NdRange((4,), (4,)) if by_group else dpex.Range(1)
    a, tiles, signal = ishmem.zeros(16, dtype="i8"), ishmem.zeros((4, 4), dtype="i8"), ishmem.zeros(1, dtype="u8")
    for case, (_, error, words) in enumerate(CASES):
        local = dpnp.ones(8, dtype="i8")
        dpex.call_kernel(CALLS[by_group], place, a, tiles, local, signal, (me + 1) % n, 6, case)
        with pytest.raises(error) as caught:
            ishmem.quiet() if case % 2 else ishmem.barrier_all()
        assert words.format(me=me) in str(caught.value)
        assert str(caught.value).endswith("; ISHMEM_CHECK=1 tells kernel and line")
        ishmem.barrier_all()  # it is told once, and the job goes on
        assert not a.asnumpy().any() and not tiles.asnumpy().any()
        assert (local.asnumpy() == 1).all()
        ishmem.barrier_all()


@dpex.kernel
def call_rightly(item: kapi.Item, a, local, pe, n):
    ishmem.put(a[:8], local[:4], pe)  # as many as the local array has
    ishmem.put(a[4:8], local, pe, n)
    ishmem.put(a[8:], local, pe, 0)
    ishmem.put(a[9:10], local[:1], pe)
    ishmem.put(a[10:], 1, pe, 1)


@pytest.mark.ishmem(2)
def test_what_fits_moves() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, local = ishmem.zeros(16, dtype="i8"), dpnp.ones(8, dtype="i8")
    dpex.call_kernel(call_rightly, dpex.Range(1), a, local, (me + 1) % n, 3)
    ishmem.barrier_all()
    same(a, dpnp.asarray([1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0], dtype="i8").asnumpy())
