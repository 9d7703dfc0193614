"""Functions of numbers in kernels agree with those of the host."""

from __future__ import annotations

import cmath
import math
from typing import Any

import dpnp
import numpy as np
import pytest
from launching import apply, own_compiler

from ishmem import dpex

pytestmark = own_compiler

BETWEEN = np.array([0.1, 0.25, 0.5, 0.9])
OF_ONE = [
    "acos", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "degrees", "erf", "erfc", "exp", "exp2", "expm1",
    "fabs", "gamma", "lgamma", "log", "log10", "log1p", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip
OF_ONE = [name for name in OF_ONE if hasattr(math, name)]  # Python 3.10 has no cbrt and no exp2
OF_INTEGERS = [name for name in ("sin", "exp", "log", "sqrt", "erf", "gamma", "exp2") if name in OF_ONE]
OF_TWO = ["atan2", "copysign", "fmod", "hypot", "log", "pow", "remainder"]
TO_INTEGERS = ["ceil", "floor", "trunc"]
QUESTIONS = ["isfinite", "isinf", "isnan"]
COMPLEX = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "sin", "sinh", "sqrt",
    "tan", "tanh",
]  # fmt: skip
UFUNCS = [
    name for name in sorted(dir(np)) if isinstance(getattr(np, name), np.ufunc) and getattr(np, name).nout == 1
    and name not in ("bitwise_count", "heaviside", "matmul", "matvec", "vecdot", "vecmat", "isnat")
    and not getattr(np, name).signature
]  # fmt: skip

TOLERANCE: dict[Any, float] = {np.float32: 1e-5, np.float64: 1e-12, np.complex64: 1e-5, np.complex128: 1e-12}


def close(got: Any, wanted: Any, dtype: Any) -> None:
    np.testing.assert_allclose(got, np.asarray(wanted).astype(got.dtype), rtol=TOLERANCE.get(dtype, 1e-12), atol=1e-12)


def agree(expressions: list[str], result: Any, *arrays: np.ndarray, exact: bool = False) -> None:
    """Compare expressions of elements ``a`` and ``b`` of arrays with Python's values."""
    names = {"math": math, "cmath": cmath}
    for expression, values in zip(expressions, apply(expressions, names, result, *arrays)):
        elements = zip(*(each.tolist() for each in arrays))
        wanted = [eval(expression, {**names, **dict(zip("ab", each))}) for each in elements]
        if exact:
            assert values.tolist() == wanted, expression
        else:
            close(values, wanted, result)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_math(dtype: Any) -> None:
    x = BETWEEN.astype(dtype)
    y = (x[::-1] + 1).astype(dtype)
    agree([*(f"math.{name}(a)" for name in OF_ONE), *(f"math.{name}(a, b)" for name in OF_TWO)], dtype, x, y)
    assert (apply(["math.nextafter(a, b)"], {"math": math}, dtype, x, y)[0] == np.nextafter(x, y)).all()


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_functions_of_math_of_integers(dtype: Any) -> None:
    x = np.array([1, 2, 3, 5], dtype)
    agree([f"math.{name}(a)" for name in OF_INTEGERS], np.float64, x)
    agree(["math.gcd(a, b)"], np.int64, x * 6, x + 1, exact=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_roundings_and_questions(dtype: Any) -> None:
    x, special = np.array([-2.5, -0.5, 0.0, 1.5, 7.25], dtype), np.array([1, np.inf, -np.inf, np.nan], dtype)
    agree([*(f"math.{name}(a)" for name in TO_INTEGERS), "round(a)", "int(a)"], np.int64, x, exact=True)
    agree([f"math.{name}(a)" for name in QUESTIONS], np.bool_, special, exact=True)


def test_parts_of_a_number() -> None:
    x = np.array([0.1, 3.0, -48.0, 1e300])
    got = apply(["math.frexp(a)[0]", "math.frexp(a)[1]", "math.ldexp(a, 3)"], {"math": math}, np.float64, x)
    mantissas, exponents = np.frexp(x)
    assert (got == [mantissas, exponents, x * 8]).all()


@pytest.mark.slow("test_functions_of_numpy")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers(dtype: Any) -> None:
    x = np.array([0.3 + 0.1j, 0.5 - 0.2j, -0.9 + 2j, 1.5 + 0j], dtype)
    y = np.array([1.2 - 1j, 2.0 + 0j, 0.5j, -1 + 0.25j], dtype)
    expressions = [f"cmath.{name}(a)" for name in COMPLEX]
    expressions += [
        "a + b", "a - b", "a * b", "a / b", "a ** b", "a ** 2", "-a", "a.conjugate()", "complex(a.imag, b.real)",
    ]  # fmt: skip
    agree(expressions, dtype, x, y)
    agree(["abs(a)", "a.real", "cmath.phase(a)", "cmath.polar(a)[0]"], x.real.dtype, x)


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.int64, np.float32, np.float64, np.complex64])
def test_functions_of_numpy(dtype: Any) -> None:
    x, y = np.array([1, 1, 2, 3]), np.array([2, 1, 1, 3])
    if dtype in (np.float32, np.float64, np.complex64):
        x, y = x / 4, y / 5
    x, y = x.astype(dtype), y.astype(dtype)
    groups: dict[Any, list[str]] = {}
    wanted: dict[str, Any] = {}
    for name in UFUNCS:
        expression = f"np.{name}(a, b)" if getattr(np, name).nin == 2 else f"np.{name}(a)"
        try:
            with np.errstate(all="ignore"):
                wanted[expression] = eval(expression, {"np": np, "a": x, "b": y})
        except (TypeError, ValueError):
            continue  # numpy has no form for this dtype
        if wanted[expression].dtype != np.float16:
            groups.setdefault(wanted[expression].dtype, []).append(expression)
    assert sum(map(len, groups.values())) > 20
    for result, expressions in groups.items():
        for expression, values in zip(expressions, apply(expressions, {"np": np}, result, x, y)):
            np.testing.assert_allclose(values, wanted[expression], rtol=1e-5, err_msg=expression)


def test_functions_of_dpnp() -> None:
    x = np.array([0.25, 1.0, 4.0])
    got = apply(["dpnp.sqrt(a)", "dpnp.maximum(a, 2)", "dpnp.pi * dpnp.cos(a)"], {"dpnp": dpnp}, np.float64, x)
    close(got, [np.sqrt(x), np.maximum(x, 2), np.pi * np.cos(x)], np.float64)


def test_constants() -> None:
    got = apply(["math.inf", "-math.inf", "math.pi", "math.e", "np.inf"], {"math": math, "np": np}, np.float64, BETWEEN)
    assert got[:, 0].tolist() == [math.inf, -math.inf, math.pi, math.e, math.inf]
    agree(["math.log(8, 2)"], np.float64, BETWEEN, exact=True)
    assert np.isnan(apply(["math.nan", "np.nan"], {"math": math, "np": np}, np.float64, BETWEEN)).all()


@dpex.kernel
def at_the_limits(item, z, w, quotients, powers, n, rounded):
    i = item.get_id(0)
    quotients[i], powers[i], rounded[i] = z[i] / w[i], z[i] ** w[i], round(n[i], -18 - i)


def test_quotients_powers_and_roundings_at_the_limits() -> None:
    z, w = np.array([1 + 1j, complex(np.inf, 0), 6 + 8j, 2]), np.array([0j, 0, 2, 3])
    n = np.array([15 * 10**17, 5, 5 * 10**18, 2**62])
    quotients, powers, rounded = dpnp.zeros(4, dtype="c16"), dpnp.zeros(4, dtype="c16"), dpnp.zeros(4, dtype="i8")
    arrays = (dpnp.asarray(each) for each in (z, w))
    dpex.call_kernel(at_the_limits, dpex.Range(4), *arrays, quotients, powers, dpnp.asarray(n), rounded)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quotients.asnumpy(), z / w)
    np.testing.assert_allclose(powers.asnumpy(), [each**other for each, other in zip(z, w)], rtol=1e-15)
    assert rounded.asnumpy().tolist() == [2 * 10**18, 0, 0, 0]
