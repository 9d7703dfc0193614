"""``ISHMEM_CHECK``: indices out of bounds and exceptions in kernels are errors on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi

import ishmem

pytestmark = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex does not tell of failures in kernels")

FILE = Path(__file__)
LINES = FILE.read_text().splitlines()


def expect(error: type[Exception], text: str, function: str, mark: str) -> None:
    """Require that the host raises what a kernel has recorded, once, at the line that ends with a mark."""
    line = next(number for number, line in enumerate(LINES, 1) if line.endswith(f"# {mark}"))
    with pytest.raises(error) as caught:
        ishmem.quiet()
    assert str(caught.value) == f"a kernel on PE {ishmem.my_pe()}: {text} ({function}, {FILE.name}:{line})"
    ishmem.quiet()


@dpex.kernel
def put_row(item: kapi.Item, m, b, pe, i):
    ishmem.put(m[i], b, pe)  # put row


@dpex.kernel
def put_row_by_group(item: kapi.NdItem, m, b, pe, i):
    ishmem.put_work_group(m[i], b, pe, item.get_group())  # put row by group


@CHECKING
def test_a_put_to_a_row_that_does_not_exist() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    whole = ishmem.zeros((12, 8))
    m, b = whole[4:8], dpnp.arange(8.0)
    for i in (4, -5, 1000, -(2**40)):
        text = f"index {i} is out of bounds for axis 0 of an array of shape (4, 8)"
        dpex.call_kernel(put_row, dpex.Range(1), m, b, (me + 1) % n, i)
        expect(IndexError, text, "put_row", "put row")
        dpex.call_kernel(put_row_by_group, dpex.NdRange((4,), (4,)), m, b, (me + 1) % n, i)
        expect(IndexError, text, "put_row_by_group", "put row by group")
    ishmem.barrier_all()
    assert not whole.asnumpy().any()
    ishmem.barrier_all()
    dpex.call_kernel(put_row, dpex.Range(1), m, b, (me + 1) % n, -1)
    ishmem.barrier_all()
    assert (whole.asnumpy()[7] == np.arange(8)).all()


@dpex.device_func
def third(a, i, j, k):
    return a[i, ..., j, k]  # in a device function


LOAD, STORE, PART, TUPLE, ATOMIC, IN_FUNCTION, FLAT = range(7)
RESHAPED, ASSIGNED, RAISED, OWN, STEP, NUMBERED, VIEW, EMPTY = range(7, 15)


class TooLateError(Exception):
    """An exception that Python does not have."""


@dpex.kernel
def wrong(item: kapi.Item, a, cube, local, case, n):
    ishmem.fence()
    if case == LOAD:
        local[0] = a[n]  # load
    if case == STORE:
        a[-n] = 1  # store
    if case == PART:
        cube[1, n, 1:] = 1  # part
    if case == TUPLE:
        local[0] = (1, 2, 3)[n]  # tuple
    if case == ATOMIC:
        kapi.AtomicRef(cube, (0, n, 1)).fetch_add(1)  # atomic
    if case == IN_FUNCTION:
        local[0] = third(cube, 1, 1, n)
    if case == FLAT:
        local[0] = cube.flat[n]  # flat
    if case == RESHAPED:
        local[0] = a.reshape(3, n)[0, 0]  # reshaped
    if case == ASSIGNED:
        a[:n] = local  # assigned
    if case == RAISED:
        raise ValueError("got", 5)  # raised
    if case == OWN:
        raise TooLateError  # own
    if case == STEP:
        local[:] = a[::n]  # step
    if case == NUMBERED:
        raise KeyError(n)  # numbered
    if case == VIEW:
        local[0] = a[::n].view(np.int16)[0]  # view
    if case == EMPTY:
        local[0] = a[:n].min()  # empty
    local[1] = 5


EXPECTED: dict[int, tuple[Any, ...]] = {
    LOAD: (8, IndexError, "index 8 is out of bounds for axis 0 of an array of shape (8,)", "load"),
    STORE: (9, IndexError, "index -9 is out of bounds for axis 0 of an array of shape (8,)", "store"),
    PART: (3, IndexError, "index 3 is out of bounds for axis 1 of an array of shape (2, 3, 4)", "part"),
    TUPLE: (3, IndexError, "IndexError: tuple index out of range", "tuple"),
    ATOMIC: (-4, IndexError, "index -4 is out of bounds for axis 1 of an array of shape (2, 3, 4)", "atomic"),
    IN_FUNCTION: (4, IndexError, "index 4 is out of bounds for axis 2 of an array of shape (2, 3, 4)",
                  "in a device function"),
    FLAT: (24, IndexError, "index 24 is out of bounds for axis 0 of an array of shape (24,)", "flat"),
    RESHAPED: (5, ValueError, "ValueError: the new shape has another number of elements", "reshaped"),
    ASSIGNED: (5, ValueError, "ValueError: cannot assign an array of another shape", "assigned"),
    RAISED: (0, ValueError, "ValueError: got, 5", "raised"),
    OWN: (0, ishmem.IshmemError, "TooLateError", "own"),
    STEP: (0, ValueError, "ValueError: slice step cannot be zero", "step"),
    NUMBERED: (3, KeyError, "KeyError", "numbered"),
    VIEW: (2, ValueError, "ValueError: To change to a dtype of a different size, the last axis must be contiguous",
           "view"),
    EMPTY: (0, ValueError, "ValueError: an array without elements has no smallest one", "empty"),
}  # fmt: skip
ENDS = (TUPLE, RESHAPED, ASSIGNED, RAISED, OWN, STEP, NUMBERED, VIEW, EMPTY)
"""Cases of exceptions, which end the work-item."""


@CHECKING
def test_failures_are_raised_on_the_host() -> None:
    a, cube = ishmem.zeros(8, dtype="i8"), ishmem.zeros((2, 3, 4), dtype="i8")
    for case, (n, error, text, mark) in EXPECTED.items():
        local = dpnp.full(4, 7)
        dpex.call_kernel(wrong, dpex.Range(1), a, cube, local, case, n)
        if error is KeyError:
            with pytest.raises(KeyError):
                ishmem.quiet()
        else:
            expect(error, text, "third" if case == IN_FUNCTION else "wrong", mark)
        assert int(local[1]) == (7 if case in ENDS else 5)
        assert not a.asnumpy().any() and not cube.asnumpy().any()


@dpex.kernel
def shifted(item: kapi.NdItem, a, out):
    i = item.get_global_id(0)
    value = a[i + 1]  # shifted
    kapi.group_barrier(item.get_group())
    out[i] = value


@CHECKING
def test_other_work_items_do_not_wait_for_one_with_a_wrong_index() -> None:
    a, out = dpnp.arange(16), dpnp.zeros(16, dtype="i8")
    dpex.call_kernel(shifted, dpex.NdRange((16,), (16,)), a, out)
    expect(IndexError, "index 16 is out of bounds for axis 0 of an array of shape (16,)", "shifted", "shifted")
    assert out.asnumpy().tolist() == [*range(1, 16), 0]
