"""numpy's functions, reals and complex numbers in kernels give the host's values, also at the ends of types."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from edge_values import INTEGERS, REALS, edges, pairs
from launching import apply, own_compiler, quick_or_slow

pytestmark = [own_compiler, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

OF_TWO = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "power", "left_shift", "right_shift",
    "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "fmax", "fmin", "gcd", "less", "equal",
    "greater_equal", "true_divide", "copysign", "hypot", "logical_and",
]  # fmt: skip
OF_ONE = ["sign", "absolute", "negative", "positive", "invert", "square", "reciprocal", "isnan", "sqrt", "floor"]
INEXACT = {"power", "hypot", "sqrt", "reciprocal", "true_divide"}
QUICK = [("uint64", "uint64"), ("int64", "int64"), ("float64", "float32"), ("float32", "int64")]
PAIRS = quick_or_slow(itertools.product((*INTEGERS, *REALS), repeat=2), QUICK)


def same(found: np.ndarray, wanted: np.ndarray, exact: bool) -> np.ndarray:
    """Return where values are the same; of reals that the device computes otherwise, to the last bits."""
    if wanted.dtype.kind not in "fc" or exact:
        return (found == wanted) | ((found != found) & (wanted != wanted))
    return np.isclose(found, wanted, rtol=8 * np.finfo(wanted.dtype).eps, atol=0, equal_nan=True)


def compare(names: list[str], a: np.ndarray, b: np.ndarray) -> None:
    """Compare functions with numpy's, those with results of one type in one kernel."""
    given = {"np": np, "a": a, "b": b, "c": np.maximum(b, 0) if b.dtype.kind == "i" else b}
    by_type: dict[Any, list[tuple[str, np.ndarray]]] = {}
    for name in names:
        arguments = "a" if getattr(np, name).nin == 1 else "a, c" if name == "power" else "a, b"
        expression = f"np.{name}({arguments})"
        try:
            wanted = eval(expression, given)
        except TypeError:  # numpy has no such function for these types
            continue
        by_type.setdefault(wanted.dtype, []).append((expression, wanted))
    for dtype, found in by_type.items():
        got = apply([expression for expression, _ in found], {"np": np}, dtype, a, b, given["c"])
        for (expression, wanted), values in zip(found, got):
            bad = ~same(values, wanted, not any(name in expression for name in INEXACT))
            shown = [(x, y, g, w) for x, y, g, w in zip(a[bad], b[bad], values[bad], wanted[bad])][:3]
            assert not bad.any(), (expression, str(a.dtype), str(b.dtype), shown)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_functions(left: str, right: str) -> None:
    compare(OF_TWO, *pairs(left, right))


@pytest.mark.slow_cases("other types", "uint32", "uint64", "uint16", "int8")
@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS])
def test_functions_of_one(dtype: str) -> None:
    a = edges(dtype)
    if dtype.startswith(("int", "uint")):
        zero = apply(["np.reciprocal(a)"], {"np": np}, dtype, np.zeros(1, dtype))
        assert zero.tolist() == [[0]]  # numpy gives any number
        a = a[a != 0]
    compare(OF_ONE, a, a)


def test_constants_take_the_type_of_the_others() -> None:
    a = edges("uint8")
    expressions = [
        "np.add(a, 10)", "np.multiply(3, a)", "np.left_shift(a, 1)", "np.floor_divide(a, 7)", "np.power(a, 2)",
    ]  # fmt: skip
    for expression, found in zip(expressions, apply(expressions, {"np": np}, np.int64, a)):
        assert found.tolist() == eval(expression, {"np": np, "a": a}).tolist(), expression


OF_REALS = [
    "a + b", "a - b", "a * b", "a // b", "a % b", "divmod(a, b)[0]", "divmod(a, b)[1]", "max(a, b)", "min(a, b)",
    "-a", "abs(a)", "a < b", "a == b", "a != b",
]  # fmt: skip


def in_python(expression: str, a: Any, b: Any) -> float:
    """Return Python's value; where Python raises, numpy's."""
    try:
        return float(eval(expression, {"a": a, "b": b}))
    except ZeroDivisionError:
        return float(eval(expression, {"a": np.float64(a), "b": np.float64(b)}))


@pytest.mark.parametrize("other", ["float64", "int64", "uint64"])
def test_operators_of_reals(other: str) -> None:
    a, b = pairs("float64", other)
    for expression, found in zip(OF_REALS, apply(OF_REALS, {}, np.float64, a, b)):
        for x, y, value in zip(a.tolist(), b.tolist(), found):
            if expression[0] == "a" and "=" in expression + "<" and y == int(y if y == y and abs(y) < 1e30 else 0):
                y = float(y)  # Python compares a float with an integer exactly
            wanted = in_python(expression, x, float(y) if "m" in expression else y)
            is_same = value == wanted and math.copysign(1, value) == math.copysign(1, wanted)
            assert is_same or (value != value and wanted != wanted), (expression, x, y, value, wanted)


def test_powers_of_reals() -> None:
    a, n = np.array([2.0, -2.0, 1e-110, 1e105, 0.0, -1.0, 3.0]), np.array([-1074, -3, -1, 0, 1, 3, 2**53 + 1])
    x, y = (each.ravel() for each in np.meshgrid(a, n))
    found = apply(["a ** b", "a ** -3", "a ** 3", "a ** -1"], {}, np.float64, x, y)
    for expression, values in zip(["a ** b", "a ** -3", "a ** 3", "a ** -1"], found):
        wanted = eval(expression, {"a": x, "b": y.astype(float)})
        np.testing.assert_allclose(values, wanted, rtol=1e-14, atol=0)


ROUNDED = [
    1.115, 2.675, 0.285, 1.005, 0.5, 1.5, 2.5, -0.001, 1e300, 5e-324, 12345.6789, 0.125, 2**52 + 0.5, 1e22, -250.0,
]  # fmt: skip


def test_rounding() -> None:
    """To the nearest decimal of the value itself, of two the even one."""
    x = np.array([*ROUNDED, *np.random.default_rng(1).uniform(-1e4, 1e4, 200).round(4)])
    digits = range(-4, 8)
    for number, found in zip(digits, apply([f"round(a, {each})" for each in digits], {}, np.float64, x)):
        for value, got in zip(x.tolist(), found.tolist()):
            wanted = round(value, number)
            assert (got, math.copysign(1, got)) == (wanted, math.copysign(1, wanted)), (value, number)
    special = apply(["round(a, 2)"], {}, np.float64, np.array([np.inf, -np.inf, np.nan]))[0]
    assert special[:2].tolist() == [np.inf, -np.inf] and np.isnan(special[2])


def test_powers_of_complex_numbers() -> None:
    a = np.array([0, 0, 0, 1 + 2j, 1 + 2j, 1 + 2j, 1j, 2 + 1j])
    b = np.array([-1, 2, 1j, 2, 3, -1, 2, 0.5 + 1j])
    found = apply(["a ** b", "np.power(a, b)"], {"np": np}, np.complex128, a, b)
    wanted = a**b
    for values in found:
        assert (np.isnan(values) == np.isnan(wanted)).all(), values
        exact = slice(3, 5)
        assert (values[exact] == wanted[exact]).all()
        fine = ~np.isnan(wanted)
        np.testing.assert_allclose(values[fine], wanted[fine], rtol=1e-14)
    squares = apply(["a ** 2", "a ** -1"], {}, np.complex128, a[3:])
    np.testing.assert_allclose(squares, [a[3:] ** 2, 1 / a[3:]], rtol=1e-15)
