"""Integers wider than the elements of an array, and values of constants, in kernels."""

from __future__ import annotations

import numpy as np
import pytest
from common import CHECKING, COMPARE, dpex, dpnp, kapi, one_of

import ishmem
from ishmem.common.type_tables import RMA_TYPES, WAIT_TYPES

WIDE = ("int64", "uint64")


def edges(dtype: str) -> list[int]:
    """Return values at the ends of all integer types that a dtype has, and some of its own."""
    ends = {3, 2**32 + 3, 2**40 + 3, -(2**40) + 3}
    for each in ("int8", "int32", "uint32", "int64", "uint64"):
        info = np.iinfo(each)
        ends |= {int(info.min), int(info.max), int(info.max) - 1}
    return sorted(value for value in ends if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


@dpex.kernel
def compare(item: kapi.Item, a, values, held, swapped, pe):
    for k in range(values.size):
        for element in range(a.size):
            for cmp in range(1, 7):
                held[k, element, cmp - 1] = ishmem.test(a, cmp, values[k], element)
            swapped[k, element] = ishmem.atomic_compare_swap(a, values[k], a[element], pe, element) == a[element]


@dpex.kernel
def swap(item: kapi.Item, a, conditions, old, pe):
    for k in range(conditions.size):
        old[k] = ishmem.atomic_compare_swap(a, conditions[k], 7, pe, k)


def check_comparisons(dtype: str, wide: str) -> None:
    """The whole value is compared with each element."""
    elements, values = edges(dtype), edges(wide)
    a, given = ishmem.array(elements, dtype=dtype), dpnp.asarray(np.array(values, wide))
    held = dpnp.zeros((len(values), len(elements), 6), dtype="i4")
    swapped = dpnp.zeros((len(values), len(elements)), dtype="i4")
    dpex.call_kernel(compare, kapi.Range(1), a, given, held, swapped, ishmem.my_pe())
    wanted = [[[does(element, value) for does in COMPARE.values()] for element in elements] for value in values]
    assert (held.asnumpy() == np.array(wanted)).all()
    assert a.asnumpy().tolist() == elements


def check_swaps(dtype: str, wide: str) -> None:
    """A condition that no element has changes none; the old value comes back."""
    low = [value for value in edges(wide) if value % 2**32 == 3]
    a, old = ishmem.full(len(low), 3, dtype=dtype), dpnp.zeros(9, dtype=dtype)
    conditions = dpnp.asarray(np.array(low, wide))
    dpex.call_kernel(swap, kapi.Range(1), a, conditions, old, ishmem.my_pe())
    assert len(low) > 2
    assert a.asnumpy().tolist() == [7 if value == 3 else 3 for value in low]
    assert old.asnumpy()[: len(low)].tolist() == [3] * len(low)


@pytest.mark.slow_types
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.ishmem(1)
def test_whole_values(wide: str) -> None:
    for dtype in WAIT_TYPES:
        check_comparisons(dtype, wide)
    check_swaps("int32", wide)
    check_swaps("uint32", wide)


STORES = {
    "p": ("ishmem.p(a, value, pe)", "ishmem.put(a, value, pe)"),
    "atomic": (
        "ishmem.atomic_set(a, value, pe)", "ishmem.atomic_add(a, value, pe)",
        "ishmem.atomic_compare_swap(a, 0, value, pe)", "ishmem.atomic_max(a, value, pe)",
    ),
}  # fmt: skip
KERNELS = {kind: dpex.kernel(one_of(calls, "a", "value", "pe")) for kind, calls in STORES.items()}
CHOICES = (
    "ishmem.put_signal(a, a, signal, 1, number, pe)", "ishmem.wait_until(a, number, 1)",
    "a[0] = ishmem.test(a, number, 0)", "ishmem.wait_until_any(a, number, 1)",
    "a[0] = ishmem.test_all(a, number, 0)", "ishmem.signal_wait_until(signal, number, 1)",
)  # fmt: skip
choose = dpex.kernel(one_of(CHOICES, "a", "signal", "number", "pe", called="choose"))


def check_stores(kind: str, dtype: str, wide: str) -> None:
    a, info = ishmem.zeros(1, dtype=dtype), np.iinfo(dtype)
    peer = (ishmem.my_pe() + 1) % ishmem.n_pes()
    for how, call in enumerate(STORES[kind]):
        name = "p" if kind == "p" else call[len("ishmem.") : call.index("(")]
        for value in edges(wide):
            a[:] = 0
            ishmem.barrier_all()
            dpex.call_kernel(KERNELS[kind], kapi.Range(1), a, np.dtype(wide).type(value), peer, how)
            if info.min <= value <= info.max:
                ishmem.barrier_all()
                assert int(a.asnumpy()[0]) == (max(0, value) if name == "atomic_max" else value)
            else:
                words = f"{name} in a kernel on PE .: the value is {value}, which does not fit dtype {dtype} "
                with pytest.raises(ValueError, match=words):
                    ishmem.barrier_all()
                ishmem.barrier_all()
                assert a.asnumpy()[0] == 0
    ishmem.free(a)


@pytest.mark.slow_cases("the same of int64", "2pes-uint64")
@CHECKING
@pytest.mark.parametrize("wide", WIDE)
def test_stored_values_are_checked(wide: str) -> None:
    for dtype in RMA_TYPES:
        if np.dtype(dtype).kind in "iu":
            check_stores("p", dtype, wide)
    for dtype in ("int32", "uint32", "uint64"):
        check_stores("atomic", dtype, wide)


@CHECKING
def test_values_of_constants_are_checked() -> None:
    """Neither a hang nor a change of the signal."""
    a, signal, me = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="u8"), ishmem.my_pe()
    for how, words in enumerate(
        ("sig_op is 9; allowed are SIGNAL_SET, SIGNAL_ADD", *["cmp is 9; allowed are CMP_EQ"] * 5)
    ):
        dpex.call_kernel(choose, kapi.Range(1), a, signal, 9, me, how)
        with pytest.raises(ValueError, match=words) as caught:
            ishmem.quiet()
        assert "(choose, " in str(caught.value)
    assert a.asnumpy()[0] == signal.asnumpy()[0] == 0
