"""What Python offers for arrays, tuples, numbers and functions gives the same results in kernels as in plain Python."""

from __future__ import annotations

import collections
import enum
from typing import Any, Callable

import dpnp
import numpy as np
import pytest
from launching import apply, capabilities, own_compiler, run

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi, spirv

pytestmark = own_compiler

KERNELS: list[Any] = []


def t(*arrays: np.ndarray, items: int = 4) -> Callable[[Any], Any]:
    """Enter a kernel, the arrays that it gets, and the number of its work-items."""

    def enter(kernel: Any) -> Any:
        KERNELS.append(pytest.param(kernel, arrays, items, id=kernel.__name__))
        return kernel

    return enter


def A(count: int, dtype: Any = np.int64) -> np.ndarray:
    return np.arange(count, dtype=dtype)


def M(dtype: Any = np.int64) -> np.ndarray:
    return np.arange(24, dtype=dtype).reshape(4, 6)


P = collections.namedtuple("P", "x y")


class Color(enum.IntEnum):
    RED = 1
    BLUE = 4


class Plain(enum.Enum):
    A = 1
    B = 2


CONST = np.array([3, 1, 2, 5])
SCALE = 2.5
Point = P(2, 3)


def sum3(a):
    return a[0] + a[1] + a[2]


def dev(a, b=3, c=4):
    return a + b * c


def dev2(t, k=1):
    return t[0] * k, t[1]


def chain(x, value):
    """Return a number that depends on a large one, by a chain of which the compiler makes a switch."""
    if x == 0:
        return 1
    if x == 2**40:
        return value
    if x == 2**41:
        return 3
    if x == 3 * 2**40:
        return value + 4
    if x == 2**43:
        return 6
    if x == 5:
        return 11
    return 5


@t(A(16), A(16) * 3, np.array([2**40]), np.array([2**40], np.uint64), np.array([2.5, 0.5]), items=16)
def chains(item, o, given, large, natural, halves):
    i = item.get_id(0)
    o[i] = chain(large[0] * (i % 5), given[i]) + 100 * chain(natural[0] * (i % 5), given[i])
    o[i] += 10_000 * chain((large[0] * 2**5 + i * 2**42) % 2**44, given[i])
    y = halves[i % 2] * (i % 4)
    if y == 0.0:
        o[i] += 1_000_000
    elif y == 2.5:
        o[i] += 2_000_000
    elif y == 5.0:
        o[i] += 3_000_000
    elif y == 1.0 or y == 1.5:
        o[i] += 4_000_000


@t(A(16), A(16) * 7 % 11 - 5, items=16)
def states(item, o, given):
    i = item.get_id(0)
    state, steps = 0, 0
    while steps < 50:
        steps += 1
        if state == 0:
            state = 1 if given[i] > 0 else 2
        elif state == 1:
            o[i] += 1
            state = 3
        elif state == 2:
            o[i] -= 1
            state = 3
        elif state == 3:
            if steps > 20 + i:
                break
            state = 4
        else:
            state = 0
            continue
        o[i] += 2


@t(A(16), A(16), items=16)
def tuples_in_loops(item, o, given):
    i = item.get_id(0)
    weights, halves, total = (3, 5, 7), (0.5, 1.5, 2.5), 0.0
    for r in range(3):
        o[i] += weights[r] * given[(i + r) % 16]
        total += halves[r] * given[i]
    o[i] += int(total)
    for dx, dy in ((-1, 0), (1, 0), (0, 1), (0, -1)):
        x, y = i % 4 + dx, i // 4 + dy
        if 0 <= x < 4 and 0 <= y < 4:
            o[i] += given[4 * y + x]


@t(M(), M())
def parts(item, o, m):
    i = item.get_id(0)
    r = m[i]
    o[i, 0] = r[1:4][1] + r[-1] + r[::2][1] + r[::-1][0]
    o[i, 1] = m[i][2] + m[i, 1:3][0] + m[i, -1] + m[:, 2][i] + m[1:, 1:][i - 1, 0]
    o[i, 2] = m.T[2, i] + m.T.shape[0] + m.shape[1] + m.size + m.ndim + len(m) + m.itemsize
    o[i, 3] = m.reshape((2, 12))[1, i] + m.reshape(24)[i]
    o[i, 4] = m.ravel()[i + 6]
    o[i, 5] = m[..., 3][i]


@t(M(), M())
def iterate(item, o, m):
    i = item.get_id(0)
    o[i] = 0
    for v in m[i]:
        o[i, 0] += v
    for k, v in enumerate(m[i]):
        o[i, 1] += k * v
    for a, b in zip(m[i], m[0]):
        o[i, 2] += a * b
    for r in m:
        o[i, 3] += r[i]


@t(A(8), M(), A(96).reshape(4, 4, 6), M(), A(6))
def assign(item, line, tile, o, m, v):
    i = item.get_id(0)
    if i == 0:
        line[2:5] = 7
        line[::3] = 1
        line[5:8] = v[1:4]
        tile[1] = 5
        tile[:, 2] = 9
        tile[2:, 3:] = -1
    o[0][i] = v
    o[1][i, :] = m[3 - i]
    o[2][i, ...] = m[i, ...]
    o[3, i, :] = m[i, :]


@t(M())
def tuples(item, o):
    i = item.get_id(0)
    a = (i, 2 * i, 3)
    x, y, z = a
    s = 0
    for q in a:
        s += q
    o[i, 0] = x + y + z + s + len(a) + a[-1] + (1, 2)[0] + sum3(a) + max(a) + min(a)
    p = P(i, 2)
    o[i, 1] = p.x + p.y + Point.x + p[1]
    o[i, 2] = Color.RED + Color.BLUE * i + (1 if Plain.A == Plain.B else 2) + (Color.BLUE == 4)
    o[i, 3] = CONST[i] + len(CONST)
    x, y = dev2((i, 2), k=5)
    o[i, 4] = dev(i) + dev(i, 1) + dev(i, b=2, c=9) + x + y
    o[i, 5] = 100 * (SCALE * i)


@t(A(10), items=1)
def inner_functions(item, o):
    x = len(o) - 8

    def product(a, b = 3):
        return a * b

    def late(a, b = x + 1, *, c):
        return a * 100 + b * 10 + c

    def outer(a, b = 2):
        def inner(p, q = 4, r = 5):
            return p * 100 + q * 10 + r

        return inner(a, r=b)

    digits = lambda a, b=3, c=7: a * 100 + b * 10 + c  # noqa: E731
    x = 50
    o[0], o[1], o[2] = product(2, b=5), digits(1, 2), digits(1, c=9)
    o[3], o[4], o[5] = late(1, c=3), outer(1), outer(b=7, a=2)
    o[6], o[7], o[8] = product(a=2), digits(1), digits(c=1, b=2, a=3)
    for i in range(3):
        o[9] += product(i, b=i)


@t(A(8, np.float64), np.array([7, -7, 7, -7, 5, -5, 0, 1.5]), items=8)
def casts(item, o, a):
    i = item.get_id(0)
    o[i] = (
        int(a[i])
        + float(i)
        + abs(a[i])
        + round(a[i])
        + bool(a[i])
        + round(a[i], 1)
        + pow(a[i], 2)
        + a[i] ** 3
        + 2**i
        + np.int8(a[i])
        + np.float32(a[i])
    )


@t(A(4))
def ranges(item, o):
    i = item.get_id(0)
    s = 0
    for k in range(10, 0, -3):
        s += k
    for k in range(i):
        s += 100 * k
    for k in range(2, 9, 2):
        if k == 6:
            break
    else:
        s += 5
    while s < 1000:
        s *= 3
        if s % 2 == 0:
            continue
        s += 1
    else:
        s += 7
    o[i] = s


@t(np.zeros(4, np.bool_), A(4))
def bools(item, o, a):
    i = item.get_id(0)
    o[i] = (a[i] > 1 and a[i] != 3) or a[i] == 0
    o[i] ^= True


@t(M(), A(4))
def statements(item, o, a):
    i = item.get_id(0)
    p = kapi.PrivateArray((2, 3), np.int64, fill_zeros=True)
    p[1, 2] = i
    p[0, :] = 4
    o[i, 0] = 0
    for k in range(2):
        for m in range(3):
            o[i, 0] += p[k, m]
    o[i, 1] += 5
    o[i, 1] *= 2
    o[i, 1] //= 3
    o[i, 1] -= 1
    x, y = i, 2
    x, y = y, x
    o[i, 1] += x * 10 + y
    o[i, 2] = 1 if a[i] > 2 else (2 if a[i] else 3)
    o[i, 3] = a[i] if 0 < a[i] <= 2 else 100
    if a[i] in (1, 2):
        o[i, 3] += 1000
    mode = "fast"
    if mode == "fast":
        o[i, 4] = 1
    else:
        o[i, 4] = 2


@t(A(4, np.complex128), A(4))
def cplx(item, o, a):
    i = item.get_id(0)
    z = complex(a[i], 1) * (2 + 1j)
    o[i] = z.conjugate() + z.real + abs(z) + z**2


@t(A(4), M(np.float32))
def types_(item, o, m):
    i = item.get_id(0)
    x = m.dtype.type(3.7)
    o[i] = type(o[i])(x)


@pytest.fixture
def device_functions(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes the functions of this file functions of the device."""

    def change() -> None:
        for name in ("dev", "dev2", "sum3", "chain"):
            monkeypatch.setitem(globals(), name, dpex.device_func(globals()[name]))

    return change


@pytest.mark.parametrize(("kernel", "arrays", "items"), KERNELS)
def test_kernel(kernel: Any, arrays: Any, items: int, device_functions: Any) -> None:
    wanted = [array.copy() for array in arrays]
    kapi.call_kernel(kernel, kapi.Range(items), *wanted)
    device_functions()
    for got, its in zip(run(kernel, items, *arrays), wanted):
        np.testing.assert_allclose(got, its)


def test_raise_ends_the_work_item() -> None:
    def kernel(item, out):
        i = item.get_id(0)
        if i == 2:
            raise ValueError("no")
        out[i] = 50

    assert run(kernel, 4, A(4))[0].tolist() == [50, 50, 2, 50]


def test_private_arrays_of_two_shapes_in_one_variable() -> None:
    def kernel(item, out):
        i = item.get_id(0)
        few, many = kapi.PrivateArray(2, np.int64, True), kapi.PrivateArray(5, np.int64, True)
        chosen = few if i % 2 else many
        chosen[1] = 7
        out[i] = chosen.size + chosen[1] + few[0]

    assert run(kernel, 4, A(4))[0].tolist() == [12, 9, 12, 9]


def rec(n):
    return 1 if n < 2 else n * rec(n - 1)


def test_recursion_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(item, out):
        out[0] = rec(3)

    monkeypatch.setitem(globals(), "rec", dpex.device_func(rec))
    with pytest.raises(Exception, match="functions of kernels cannot call themselves"):
        run(kernel, 1, A(4))


def test_an_overload_that_is_registered_after_a_launch() -> None:
    """The compiler looks into a registry again where there is more in it."""
    from numba.extending import overload

    def twice(x):
        raise NotImplementedError

    def kernel(item: kapi.Item, a):
        a[item.get_id(0)] = twice(a[item.get_id(0)])

    with pytest.raises(Exception, match="does not compile"):
        run(kernel, 3, np.arange(3))
    overload(twice)(lambda x: lambda x: 2 * x)
    assert run(kernel, 3, np.arange(3))[0].tolist() == [0, 2, 4]


def test_print(capfd: pytest.CaptureFixture[str]) -> None:
    def kernel(item, given):
        print("100% of", given[0], given[0] / 4, (given[1], 2.5), given[0] > 0, complex(1, -2))
        print(np.float32(0.1))
        print("end")

    run(kernel, 1, A(4) + 3)
    assert capfd.readouterr().out.split("\n")[-4:] == ["100% of 3 0.75 (4, 2.5) 1 (1-2j)", "0.1", "end", ""]


def test_an_array_is_not_printed() -> None:
    def kernel(item, given):
        print(given)

    with pytest.raises(Exception, match="print in kernels takes numbers, constant strings and tuples of them"):
        run(kernel, 1, A(4))


@pytest.mark.parametrize(("dtype", "names"), [(np.float32, False), (np.float64, True), (np.int64, False)])
def test_float64_is_used_only_where_the_kernel_does(dtype: Any, names: bool, valid_spirv: Any) -> None:
    def kernel(item, out):
        i = item.get_id(0)
        out[i] = out[i] * out[i] + out[i]

    run(kernel, 4, A(4, dtype))
    assert (10 in capabilities(valid_spirv[-1].spirv)) == names  # Float64


def test_integers_are_compared_without_float64(valid_spirv: Any) -> None:
    a, b = np.array([-1, 5]), np.array([5, 5], np.uint64)
    assert apply(["a < b", "b == a"], {}, bool, a, b).tolist() == [[True, False], [False, True]]
    assert 10 not in capabilities(valid_spirv[-1].spirv)


def test_signatures_given_ahead() -> None:
    from numba import int64

    from ishmem.dpex.compile.types import DpnpNdArray, ItemType

    array = DpnpNdArray(1, int64)

    @dpex.kernel([(ItemType(1), array)])
    def kernel(item, out):
        out[item.get_id(0)] += 1

    out = dpnp.zeros(4, dtype=np.int64)
    dpex.call_kernel(kernel, dpex.Range(4), out)
    assert dpnp.asnumpy(out).tolist() == [1, 1, 1, 1]
    with pytest.raises(Exception, match="compiled for given signatures only"):
        dpex.call_kernel(kernel, dpex.Range(4), dpnp.zeros(4, dtype=np.float32))


def test_vec_type_hint(valid_spirv: Any) -> None:
    """The hint is an execution mode of the SPIR-V: mode 30 with the type, the number of elements in its upper half."""

    def kernel(item, out):
        out[item.get_id(0)] = 7

    for hint, words in ((None, []), ("int4", [4 << 16 | 2]), ("half16", [16 << 16 | 4])):
        options = {"vec_type_hint": hint} if hint else {}
        assert run(kernel, 4, np.zeros(4), **options)[0].tolist() == [7] * 4
        modes = [operands for op, operands in spirv.instructions(valid_spirv[-1].spirv) if op == 16]
        assert [operands[2] for operands in modes if operands[1] == 30] == words
    with pytest.raises(ValueError, match=r"vec_type_hint is 'int5'; allowed are char, .* with 2, 4, 8 or 16 elements"):
        run(kernel, 4, np.zeros(4), vec_type_hint="int5")


@pytest.mark.parametrize("function", [lambda item, *arrays: None, lambda item, **arrays: None])
def test_a_kernel_names_its_parameters(function: Callable[..., None]) -> None:
    with pytest.raises(TypeError, match=r"takes \*args or \*\*kwargs; name its parameters"):
        dpex.kernel(function)
