"""Assignments between parts of one array have the result that numpy gives."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from launching import own_compiler

from ishmem import dpex

pytestmark = own_compiler

SIZE, ROWS, COLUMNS = 24, 5, 6
STEPS = st.sampled_from([1, 2, 3, 5, -1, -2, -3, -5])


def part(first: int, step: int, count: int) -> slice:
    """Return the slice of ``count`` elements."""
    stop = first + step * count
    return slice(first, stop if stop >= 0 else None, step)


@st.composite
def parts(draw: Any, size: int, same_step: bool) -> tuple[slice, slice]:
    """Draw two parts of an array with the same number of elements."""
    steps = [draw(STEPS)] * 2 if same_step else [draw(STEPS), draw(STEPS)]
    count = draw(st.integers(1, 1 + (size - 1) // max(map(abs, steps))))
    found = []
    for step in steps:
        reach = abs(step) * (count - 1)
        low = draw(st.integers(0, size - 1 - reach))
        found.append(part(low if step > 0 else low + reach, step, count))
    return found[0], found[1]


def numbers(*slices: slice) -> list[int]:
    """Return start, stop and step of slices; a stop before the first element is less than all."""
    return [each for its in slices for each in (its.start, -1000 if its.stop is None else its.stop, its.step)]


@dpex.kernel
def assign_line(item, a, n):
    a[n[0] : n[1] : n[2]] = a[n[3] : n[4] : n[5]]


@settings(max_examples=200, deadline=None)
@given(parts(SIZE, same_step=False))
def test_lines(slices: tuple[slice, slice]) -> None:
    wanted = np.arange(SIZE)
    a = dpnp.asarray(wanted)
    wanted[slices[0]] = wanted[slices[1]].copy()  # numpy itself misses some overlaps of lines
    dpex.call_kernel(assign_line, dpex.Range(1), a, dpnp.asarray(numbers(*slices)))
    assert a.asnumpy().tolist() == wanted.tolist()


@dpex.kernel
def assign_tile(item, a, n):
    a[n[0] : n[1] : n[2], n[3] : n[4] : n[5]] = a[n[6] : n[7] : n[8], n[9] : n[10] : n[11]]


@dpex.kernel
def assign_transposed_tile(item, a, n):
    t = a.T
    t[n[3] : n[4] : n[5], n[0] : n[1] : n[2]] = t[n[9] : n[10] : n[11], n[6] : n[7] : n[8]]


@pytest.mark.parametrize("kernel", [assign_tile, assign_transposed_tile], ids=lambda kernel: kernel.__name__)
def test_tiles_with_the_same_steps(kernel: Any) -> None:
    @settings(max_examples=100, deadline=None)
    @given(parts(ROWS, same_step=True), parts(COLUMNS, same_step=True))
    def compare(rows: tuple[slice, slice], columns: tuple[slice, slice]) -> None:
        wanted = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
        a = dpnp.asarray(wanted)
        wanted[rows[0], columns[0]] = wanted[rows[1], columns[1]].copy()
        n = numbers(rows[0], columns[0], rows[1], columns[1])
        dpex.call_kernel(kernel, dpex.Range(1), a, dpnp.asarray(n))
        assert a.asnumpy().tolist() == wanted.tolist()

    compare()


@dpex.kernel
def assign_transposed(item, a, out):
    out[0] = 1
    a[:4, :4] = a[:4, :4].T
    out[0] = 2


@dpex.kernel
def assign_apart(item, a):
    a[:2, :2] = a[2:4, 2:4].T
    a[4, :] = a[0, ::-1]
    a[0] = a[:, 0][0]


@dpex.kernel
def assign_column_to_row(item, a):
    a[1, :5] = a[:, 2]


def test_tiles_of_other_strides() -> None:
    square, out = dpnp.arange(30).reshape(5, 6), dpnp.zeros(1, dtype="i8")
    dpex.call_kernel(assign_transposed, dpex.Range(1), square, out)
    assert int(out[0]) == 1  # an exception: no order of the elements is known
    assert (square.asnumpy() == np.arange(30).reshape(5, 6)).all()
    wanted = square.asnumpy()
    dpex.call_kernel(assign_apart, dpex.Range(1), square)
    assign_apart.py_func(None, wanted)
    assert (square.asnumpy() == wanted).all()
    dpex.call_kernel(assign_column_to_row, dpex.Range(1), square)
    wanted[1, :5] = wanted[:, 2].copy()
    assert (square.asnumpy() == wanted).all()


@dpex.kernel
def assign_views(item, a, b):
    a[0, 1:] = a.reshape(30)[:5]
    a[1, ::-1] = a[1]
    b[1:] = b.view(np.int32)[:7]
    b[:] = b[3:4]


def test_views_of_one_array() -> None:
    wanted, b = np.arange(30).reshape(5, 6), np.arange(8, dtype=np.float32)
    given_a, given_b = dpnp.asarray(wanted), dpnp.asarray(b)
    dpex.call_kernel(assign_views, dpex.Range(1), given_a, given_b)
    wanted[0, 1:] = wanted[0, :5].copy()
    wanted[1, ::-1] = wanted[1].copy()
    b[:] = b.view(np.int32)[2]
    assert (given_a.asnumpy() == wanted).all()
    assert (given_b.asnumpy() == b).all()
