"""The option ``boundscheck``: an access out of the bounds of its array is left out."""

from __future__ import annotations

from typing import Any, Callable

import dpnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from launching import own_compiler, run

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler

FIRST, ROWS, COLUMNS = 8, 3, 4
INDICES = st.integers(-6, 6) | st.sampled_from([1000, -(2**40), 2**62, -(2**63)])


def element(part, i, j, value):
    part[i, j] = value
    return part[i, j]


def of_row(part, i, j, value):
    row = part[i]
    row[j] = value
    return row[j]


def of_column(part, i, j, value):
    column = part[..., j]
    column[i] = value
    return column[i]


def of_slices(part, i, j, value):
    part[i, j:] = value  # a slice is clipped
    return part[i, max(min(j, 3), -4)]


def by_numbers_without_sign(part, i, j, value):
    part[np.uint64(i), np.uint8(j)] = value
    return part[np.uint64(i), np.uint8(j)]


def of_flat(part, i, j, value):
    part.flat[j] = value
    return part.flat[j]


def of_new_axis(part, i, j, value):
    part[i, None, j] = value
    return part[i, None, j][0]


def added(part, i, j, value):
    return part[i, j] + kapi.AtomicRef(part, (i, j)).fetch_add(value)


def swapped(part, i, j, value):
    kapi.AtomicRef(part, (i, j)).compare_exchange(part.reshape(12), value, 0)
    return kapi.AtomicRef(part, (i, j)).exchange(value)


def row_assigned(part, i, j, value):
    part[i] = part[j]
    return part[0, 0]


def in_numpy(access: Callable[..., Any], part: np.ndarray, i: int, j: int, value: int) -> int:
    """Return what a kernel gives: with accesses out of bounds left out, and 0 for what they would load."""
    inside = -ROWS <= i < ROWS and -COLUMNS <= j < COLUMNS
    if access is by_numbers_without_sign:
        i, j = i % 2**64, j % 2**8
        inside = i < ROWS and j < COLUMNS
    if access is of_flat:
        inside = -part.size <= j < part.size
    if access is of_slices:
        inside = -ROWS <= i < ROWS
    if access is row_assigned:  # a row of no elements is not one of four: an exception
        if -ROWS <= i < ROWS and not -ROWS <= j < ROWS:
            return -1
        if -ROWS <= i < ROWS:
            part[i] = part[j]
        return int(part[0, 0])
    if not inside:
        return 0
    if access is added:
        old = int(part[i, j])
        part[i, j] += value
        return 2 * old
    if access is swapped:
        access, old = element, int(part[i, j])
        if old == part[0, 0]:
            old = value
        else:
            part[0, 0] = old
            old = int(part[i, j])
        part[i, j] = value
        return old
    return int(access(part, i, j, value))


@pytest.mark.parametrize(
    "access",
    [
        element, of_row, of_column, of_slices, by_numbers_without_sign, of_flat, of_new_axis, added, swapped,
        row_assigned,
    ],
    ids=lambda access: access.__name__,
)  # fmt: skip
def test_accesses_out_of_bounds_are_left_out(access: Callable[..., Any]) -> None:
    inner = dpex.device_func(access, boundscheck=True)

    @dpex.kernel
    def kernel(item, whole, indices, out):
        out[0] = inner(whole[FIRST : FIRST + 12].reshape(ROWS, COLUMNS), indices[0], indices[1], 77)

    @settings(max_examples=50, deadline=None)
    @given(i=INDICES, j=INDICES)
    def compare(i: int, j: int) -> None:
        wanted = np.arange(100, 130)
        whole, indices, out = map(dpnp.asarray, (wanted, np.array([i, j]), np.full(1, -1)))
        dpex.call_kernel(kernel, dpex.Range(1), whole, indices, out)
        result = in_numpy(access, wanted[FIRST : FIRST + 12].reshape(ROWS, COLUMNS), i, j, 77)
        assert whole.asnumpy().tolist() == wanted.tolist()
        assert int(out[0]) == result

    compare()


def test_the_work_item_goes_on() -> None:
    def kernel(item, out, given):
        i = item.get_id(0)
        out[i] = given[2 * i] + 1

    out = run(kernel, 4, np.full(4, -1), np.arange(4) + 7, boundscheck=True)[0]
    assert out.tolist() == [8, 10, 1, 1]


@pytest.mark.parametrize("kind", [np.bool_, np.complex128, np.float16, np.int8])
def test_a_load_gives_zero_of_its_type(kind: Any) -> None:
    def kernel(item, out, given):
        i = item.get_id(0)
        out[i] = given[i]

    assert run(kernel, 4, np.ones(4, kind), np.ones(3, kind), boundscheck=True)[0].tolist() == [1, 1, 1, 0]


def test_without_the_option_nothing_is_checked(valid_spirv: list[Any]) -> None:
    def kernel(item, out, given):
        out[item.get_id(0)] = given[item.get_id(0)]

    for options in ({}, {"boundscheck": False}, {"boundscheck": True}):
        run(kernel, 4, np.arange(4), np.arange(4), **options)
    sizes = [len(code.spirv) for code in valid_spirv]
    assert sizes[0] == sizes[1] < sizes[2]
