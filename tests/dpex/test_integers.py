"""Operators on integers in kernels give Python's values where they fit the type; test_unsupported.py has the others."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
import pytest
from edge_values import INTEGERS, WORD, computed, edges, exact, pairs
from launching import own_compiler, quick_or_slow, run

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler

OPERATORS = [
    "a + b", "a - b", "a * b", "a // b", "a % b", "a & b", "a | b", "a ^ b", "a << b", "a >> b", "a ** b",
    "max(a, b)", "min(a, b)", "divmod(a, b)[0]", "divmod(a, b)[1]", "pow(a, b)", "a < b", "a <= b", "a > b", "a >= b",
    "a == b", "a != b",
]  # fmt: skip
OF_ONE = [
    "a + 3", "3 + a", "a - 1", "a + -1", "a * 3", "a // 3", "a % 7", "a // -5", "a % -5", "a & 0xff", "a & -2", "a | 1",
    "a ^ 0xff", "a << 3", "a << 63", "a << 64", "a >> 3", "a >> 63", "a >> 64", "a ** 2", "a ** 0", "a ** 5",
    "max(a, 1)", "min(a, 1)", "max(1, a, 100)", "min(a, -1)", "divmod(a, 3)[0]", "divmod(a, 7)[1]", "+a", "abs(a)",
    "int(a)", "round(a)", "round(a, 2)", "round(a, -1)", "round(a, -2)", "round(a, -17)", "round(a, -30)",
    "a > -1", "-1 < a", "a == 5", "a != 0",
]  # fmt: skip
SIGNED = {each for each in INTEGERS if each.startswith("int")}
NO_TYPE = {"a + b", "a - b", "a * b", "a // b", "a | b", "a ^ b", "divmod(a, b)[0]", "divmod(a, b)[1]"}
"""Operators whose values no type holds for an uint64 and a signed integer."""
POWERS = {"a ** b", "pow(a, b)"}
BITS = {"a & b", "a | b", "a ^ b"}

QUICK = [
    ("uint64", "uint64"), ("uint64", "int64"), ("int64", "uint64"), ("int64", "int64"), ("uint32", "uint32"),
    ("uint8", "int8"), ("int8", "uint64"), ("uint16", "uint8"), ("bool", "uint64"), ("int64", "uint32"),
]  # fmt: skip
PAIRS = quick_or_slow(itertools.product(INTEGERS, INTEGERS), QUICK)


def compiles(expression: str, left: str, right: str) -> bool:
    if expression in POWERS and right in SIGNED:
        return False
    is_mixed = "uint64" in (left, right) and bool({left, right} & SIGNED)
    return not (is_mixed and expression in NO_TYPE)


def fits(expression: str, value: int, dtypes: tuple[str, ...]) -> bool:
    """Return whether the type of the result holds a value."""
    if "uint64" in dtypes and value < 0 and "-" in expression and "%" not in expression and "//" not in expression:
        return "min" in expression or "&" in expression  # an uint64 less something is an uint64
    if -(1 << 63) <= value < 1 << 63:
        return True
    are_natural = not SIGNED.intersection(dtypes) and "int(" not in expression
    has_room = "uint64" in dtypes or "b" in expression
    return 0 <= value < WORD and (are_natural or "max" in expression or "&" in expression) and has_room


def check(expressions: list[str], a: np.ndarray, b: np.ndarray) -> None:
    bits, real = computed(expressions, a, b)
    dtypes = {str(a.dtype), str(b.dtype)}
    for number, expression in enumerate(expressions):
        for place, (x, y) in enumerate(zip(a.tolist(), b.tolist())):
            value = exact(expression, int(x), int(y))
            shown = f"{expression} of {a.dtype} {x} and {b.dtype} {y}"
            assert int(bits[number, place]) == value % WORD, shown
            used = dtypes if "b" in expression.replace("abs", "") else {str(a.dtype)}
            if fits(expression, value, tuple(used)):
                assert real[number, place] == float(value), shown


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_operators(left: str, right: str) -> None:
    expressions = [each for each in OPERATORS if compiles(each, left, right)]
    if left == right == "bool":
        expressions = [each for each in expressions if each not in BITS]
    check(expressions, *pairs(left, right))


@pytest.mark.slow_cases("the other types", "uint8", "int16", "int32", "uint32")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_with_constants(dtype: str) -> None:
    a = edges(dtype)
    wrong = ["int(a)"] if dtype == "uint64" else []
    check([each for each in OF_ONE if each not in wrong], a, a)


@pytest.mark.slow_cases("the other types", "uint8", "int16", "int32", "uint32")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_signs_and_reals(dtype: str) -> None:
    a = edges(dtype)
    expressions = ["-a", "float(a)", "bool(a)", "a / 3", "a ** -1", "a ** -2", "not a", "-(a < 3)"]
    found = dict(zip(expressions, computed(expressions, a, a)[1]))
    values = [int(each) for each in a]
    fitting = [-(1 << 63) <= -each < 1 << 63 for each in values]
    assert all(its == -each for its, each, fit in zip(found["-a"], values, fitting) if fit)
    assert found["float(a)"].tolist() == [float(each) for each in values]
    assert found["bool(a)"].tolist() == (1 - found["not a"]).tolist() == [float(bool(each)) for each in values]
    assert found["-(a < 3)"].tolist() == [-float(each < 3) for each in values]
    np.testing.assert_allclose(found["a / 3"], [each / 3 for each in values], rtol=3e-16)
    for power in (-1, -2):
        wanted = [float(each) ** power if each else np.inf for each in values]
        np.testing.assert_allclose(found[f"a ** {power}"], wanted, rtol=1e-15)
    if dtype != "bool":
        bits = computed(["~a"], a, a)[0][0]
        assert bits.tolist() == [~each % WORD for each in values]


def test_difference_of_small_unsigned_numbers_is_signed() -> None:
    a, b = np.array([1, 5], np.uint16), np.array([2, 3], np.uint16)
    expressions = ["a - b", "(a + a) - (b + b)", "a - b < 0", "abs(a - b)", "int(a) - int(b)", "a * 3 - b"]
    found = computed(expressions, a, b)[1]
    assert found.tolist() == [[-1, 2], [-2, 4], [1, 0], [1, 2], [-1, 2], [1, 12]]


def test_indices_are_natural() -> None:
    """An uint64 with the index of a loop, an id or a length is an uint64."""

    def kernel(item: Any, u: Any, o: Any) -> None:
        h = u[0]
        for q in range(3):
            h = (h ^ q) * 1099511628211 + item.get_id(0) + len(u)
            k = q * 2 + 1
            h = h + k
        for q in range(1, 4, 2):
            h = h + (q << 1) + u.shape[0]
        for q in range(len(u) - 1, -1, -1):
            h = h + np.int64(q)
        count = 0
        for _ in range(4):
            count += 1
        o[0] = h + count
        o[1] = u[1] if u[1] > 5 else 0
        o[2] = 0 if u[1] > 5 else u[1]

    x = (1 << 63) + 12345
    (_, found) = run(kernel, 1, np.array([x, 9], np.uint64), np.zeros(3, np.uint64))
    h = x
    for q in range(3):
        h = ((h ^ q) * 1099511628211 + 2 + q * 2 + 1) % WORD
    for q in range(1, 4, 2):
        h = (h + (q << 1) + 2) % WORD
    h += 1
    assert found.tolist() == [(h + 4) % WORD, 9, 0]


def test_sums_from_zero_and_in_place() -> None:
    """A variable takes the type that holds all that it is assigned; what is changed in place keeps its type."""

    def kernel(item: Any, u: Any, i: Any, o: Any) -> None:
        h = 0
        for q in range(2):
            h = h * 31 + q
            h ^= u[q]
        o[0] = h
        o[1] += i[0]
        o[1] *= i[1]
        x = u[0] if u[1] else item.get_id(0)
        x -= i[1]
        o[2] = x

    given = np.array([9, 5], np.uint64), np.array([-3, 7]), np.array([0, 10, 0], np.uint64)
    assert run(kernel, 1, *given)[-1].tolist() == [(9 * 31 + 1) ^ 5, 49, 2]


def test_ranges_of_unsigned_numbers_count_down() -> None:
    def kernel(item: Any, a: Any, u: Any, o: Any) -> None:
        for i in range(a[0]):
            o[0] += i - 2
        for i in range(u[0]):
            o[1] += i - 2
        for i in range(a[0], -1, -1):
            o[2] += i
        for i in range(u[1]):
            if i == 5:
                break
            o[3] += 1

    given = np.array([3], np.uint16), np.array([3, WORD - 1], np.uint64), np.zeros(4)
    assert run(kernel, 1, *given)[-1].tolist() == [-3, -3, 6, 5]


@dpex.device_func
def either(u: Any, a: Any) -> Any:
    if u > 5:
        return u
    return len(a)


def test_a_device_function_returns_an_uint64_or_a_length() -> None:
    def kernel(item: Any, u: Any, o: Any) -> None:
        for i in range(2):
            o[i] = either(u[i], o)

    assert run(kernel, 1, np.array([WORD - 1, 3], np.uint64), np.zeros(2, np.uint64))[-1].tolist() == [WORD - 1, 2]


@dpex.kernel
def add_naturals_of_groups(item: kapi.NdItem, u, steps):
    h, group, sub_group = u[0], item.get_group(), item.get_sub_group()
    for q in range(steps[0] - 1, steps[1] - 1, -1):
        h = h + np.uint64(q)
    for q in range(0, len(steps), 2 * len(steps)):
        h = h + q
    u[1], u[2] = h + group.get_group_id(0), h + sub_group.get_local_id()


def test_ids_of_groups_are_natural() -> None:
    large = 2**63 + 7
    u, steps = dpnp.asarray(np.array([large, 0, 0], np.uint64)), dpnp.asarray(np.array([3, 0]))
    dpex.call_kernel(add_naturals_of_groups, kapi.NdRange((1,), (1,)), u, steps)
    assert u.asnumpy().tolist() == [large, large + 3, large + 3]


@pytest.mark.parametrize("divisor", ["d & (d >> 1)", "max(d, d + n)", "item.get_sub_group().reduce_min(d)"])
def test_a_number_that_may_be_negative_is_not_natural(divisor: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(f"def kernel(item, u, a):\n    d, n = a[0], a[1]\n    u[0] = u[0] // ({divisor})\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    u, a = dpnp.ones(1, dtype="u8"), dpnp.ones(2, dtype="i8")
    with pytest.raises(Exception, match="no type holds all results"):
        dpex.call_kernel(dpex.kernel(names["kernel"]), kapi.NdRange((1,), (1,)), u, a)
