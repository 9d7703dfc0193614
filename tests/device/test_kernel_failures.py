"""``ISHMEM_CHECK``: indices out of bounds and exceptions in kernels are errors on the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi, one_of

import ishmem

pytestmark = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex does not tell of failures in kernels")

FILE = Path(__file__)
LINES = FILE.read_text().splitlines()


def expect(error: type[Exception], text: str, function: str, place: str) -> None:
    """Require that the host raises what a kernel has recorded, once, at a place, or the line here that ends with it."""
    line = next((number for number, line in enumerate(LINES, 1) if line.endswith(f"# {place}")), 0)
    place = f"{FILE.name}:{line}" if line else place
    with pytest.raises(error) as caught:
        ishmem.quiet()
    assert str(caught.value) == f"a kernel on PE {ishmem.my_pe()}: {text} ({function}, {place})"
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


class TooLateError(Exception):
    """An exception that Python does not have."""


# Statements, n, the error and its words. Exceptions end the work-item; a wrong index does not.
WRONG: list[tuple[str, int, type[Exception], str]] = [
    ("local[0] = a[n]", 8, IndexError, "index 8 is out of bounds for axis 0 of an array of shape (8,)"),
    ("a[-n] = 1", 9, IndexError, "index -9 is out of bounds for axis 0 of an array of shape (8,)"),
    ("cube[1, n, 1:] = 1", 3, IndexError, "index 3 is out of bounds for axis 1 of an array of shape (2, 3, 4)"),
    ("kapi.AtomicRef(cube, (0, n, 1)).fetch_add(1)", -4, IndexError,
     "index -4 is out of bounds for axis 1 of an array of shape (2, 3, 4)"),
    ("local[0] = third(cube, 1, 1, n)", 4, IndexError,
     "index 4 is out of bounds for axis 2 of an array of shape (2, 3, 4)"),
    ("local[0] = cube.flat[n]", 24, IndexError, "index 24 is out of bounds for axis 0 of an array of shape (24,)"),
    ("local[0] = (1, 2, 3)[n]", 3, IndexError, "IndexError: tuple index out of range"),
    ("local[0] = a.reshape(3, n)[0, 0]", 5, ValueError, "ValueError: the new shape has another number of elements"),
    ("a[:n] = local", 5, ValueError, "ValueError: cannot assign an array of another shape"),
    ('raise ValueError("got", 5)', 0, ValueError, "ValueError: got, 5"),
    ("raise TooLateError", 0, ishmem.IshmemError, "TooLateError"),
    ("local[:] = a[::n]", 0, ValueError, "ValueError: slice step cannot be zero"),
    ("raise KeyError(n)", 3, KeyError, "KeyError"),
    ("local[0] = a[::n].view(np.int16)[0]", 2, ValueError,
     "ValueError: To change to a dtype of a different size, the last axis must be contiguous"),
    ("local[0] = a[:n].min()", 0, ValueError, "ValueError: an array without elements has no smallest one"),
]  # fmt: skip
wrong = one_of([f"ishmem.fence(); {each}; local[1] = 5" for each, *_ in WRONG], "a", "cube", "local", "n")
wrong.__globals__.update(np=np, third=third, TooLateError=TooLateError)


@CHECKING
def test_failures_are_raised_on_the_host() -> None:
    a, cube, kernel = ishmem.zeros(8, dtype="i8"), ishmem.zeros((2, 3, 4), dtype="i8"), dpex.kernel(wrong)
    for case, (text, n, error, words) in enumerate(WRONG):
        local = dpnp.full(4, 7)
        dpex.call_kernel(kernel, dpex.Range(1), a, cube, local, n, case)
        if error is KeyError:
            with pytest.raises(KeyError):
                ishmem.quiet()
        elif "third" in text:
            expect(error, words, "third", "in a device function")
        else:
            expect(error, words, "function", f"<string>:{case + 2}")
        assert int(local[1]) == (5 if words.startswith("index") else 7)
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
