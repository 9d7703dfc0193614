"""What kernels do not have: each construct is named in one line, with its line and what to write instead."""

from __future__ import annotations

import builtins
import inspect
import itertools
import math
import re
import textwrap
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
import pytest
from launching import own_compiler

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.dpex.launch.kinds import ArrayKind, ItemKind

pytestmark = own_compiler

REAL = ArrayKind(is_dpnp=True, dtype="float64", ndim=1, layout="C", writable=True)
ARRAYS = tuple(REAL._replace(dtype=dtype) for dtype in ("float64", "int64", "uint64", "complex64"))
TEXT, NAMES, TABLE = "abc", ["a", "b"], {1: 2}


class Thing:
    x = 1


THING = Thing()


@dpex.device_func
def with_private_array(x):
    return kapi.PrivateArray(2, np.int64), x


@dpex.device_func
def shifted(x, shift=1, *, scale, offset=0):
    return scale * x + shift + offset


numbers = itertools.count()


def kernel_of(body: str, folder: Path) -> Any:
    """Return the kernel of an item and `ARRAYS` with a body, in a file of its own."""
    file = folder / f"kernel{next(numbers)}.py"
    file.write_text(f"def body(item, a, n, u=0, z=0):\n{textwrap.indent(body, '    ')}\n")
    names: dict[str, Any] = {**globals()}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return dpex.kernel(names["body"])


def compile_body(body: str, folder: Path, has_groups: bool = True) -> None:
    kernel_of(body, folder).code_for((ItemKind(1, has_groups), *ARRAYS))


def said_of(body: str, folder: Path, has_groups: bool = True) -> list[str]:
    """Return the lines of the error of a kernel with a body: the kernel, the file, the line of the program, a cause."""
    with pytest.raises(Exception, match="does not compile") as caught:
        compile_body(body, folder, has_groups)
    assert type(caught.value).__name__ == "KernelCompileError"
    lines = str(caught.value).splitlines()
    assert len(lines) == 4, lines
    assert lines[2].strip() in body
    return lines


INSIDE = re.compile(r"nopython|[Nn]umba|unify|No implementation|Function\(|opcode|Literal\[|<class|\$\w|NRT|Error: ")

STRINGS = "kernels have no operations on strings: choose by numbers"
TRY = "kernels have no try: they cannot catch an exception; test the values by if before"
DICTIONARIES = "kernels have no dictionaries: a tuple or a kernel_api.PrivateArray may serve"
GENERATORS = "kernels have no generators: write a for loop"
GLOBALS = "which kernels do not take"
MATCH = "kernels have no match with patterns of"

# The body of a kernel of an item, a and n; the line that is shown; the words.
TABLE_OF_CONSTRUCTS = [
    ("def f(*, k=3):\n    return k\na[0] = f()", 0, "no defaults of keyword-only parameters: leave out the *"),
    ('s = f"{n[0]}"', 0, 'kernels have no f-strings: print("x is", x) prints text and values'),
    ('print(f"{n[0]}")', 0, "kernels have no f-strings"),
    ('assert a[0] > 0, f"{a[0]}"', 0, "kernels have no f-strings"),
    ('raise ValueError(f"{n[0]}")', 0, "kernels have no f-strings"),
    ("d = {1: 2}", 0, DICTIONARIES),
    ("d = {}", 0, DICTIONARIES),
    ("n[0] = {1: 2}[n[0]]", 0, DICTIONARIES),
    ("d = {}\nd[1] = 2\na[0] = d[1]", 1, DICTIONARIES),
    ("a[0] = np.dot(a, a)", 0, "kernels have no numpy.dot: add up the products in a for loop"),
    ("raise n[0]", 0, "kernels raise exceptions only"),
    ("a[0] = item.get_global_id", 0, "an element of an array takes a number, got the method get_global_id"),
    ("x = TEXT\nfor c in x:\n    print(1)", 1, STRINGS),
    ("d = {i: i for i in range(3)}", 0, DICTIONARIES),
    ("a[0] = 1\nd = dict()", 1, "kernels have no dict(): a tuple"),
    ("p = kapi.PrivateArray(1, np.int64)\nkapi.AtomicRef(p, 0, address_space=kapi.AddressSpace.GENERIC).store(1)", 1,
     "atomics are for global and local memory"),
    ("n[0] = with_private_array(1)[1]", 0, "returns a PrivateArray, which ends with it"),
    ("p = kapi.PrivateArray(1, np.int64)\nkapi.AtomicRef(n, 0).compare_exchange(p, 1, (0, 0))", 1,
     "AtomicRef takes an index for each dimension: got 2 for an array of 1"),
    ("s = {1, n[0]}", 0, "kernels have no sets: a tuple"),
    ("s = {i for i in range(3)}", 0, "kernels have no sets: a tuple"),
    ("s = [1, n[0]]", 0, "kernels have no lists: a tuple"),
    ("s = [\n    1,\n    n[0]\n]", 0, "kernels have no lists: a tuple"),
    ("n[0] = sum([i for i in range(3)])", 0, "kernels have no lists: write a for loop"),
    ("n[0] = max([1, 2])", 0, "kernels have no lists: a tuple"),
    ("n[0] = np.array([1, 2])[0]", 0, "kernels have no lists: a tuple"),
    ("n[0] = sum(i for i in range(3))", 0, GENERATORS),
    ("yield 1", 0, GENERATORS),
    ("a[0] = 1\nyield from range(3)", 1, GENERATORS),
    ("n[0] = TABLE[1]", 0, f"TABLE is a dict, {GLOBALS}"),
    ("for k in TABLE:\n    n[0] += k", 0, f"TABLE is a dict, {GLOBALS}"),
    ("n[0] = len(NAMES)", 0, f"NAMES is a list, {GLOBALS}: make it a tuple"),
    ("n[0] = 1 in NAMES", 0, f"NAMES is a list, {GLOBALS}"),
    ("n[0] = THING.x", 0, f"THING is a Thing, {GLOBALS}"),
    ("n[0] = said_of(1)", 0, "said_of is a function of Python alone: decorate it by dpex.device_func"),
    ('n[0] = "a" in "abc"', 0, STRINGS),
    ('n[0] = "a" in TEXT', 0, STRINGS),
    ("n[0] = TEXT in TEXT", 0, STRINGS),
    ("s = TEXT + TEXT", 0, STRINGS),
    ("s = TEXT[0]", 0, STRINGS),
    ("s = TEXT.upper()", 0, STRINGS),
    ('s = "{}".format(n[0])', 0, STRINGS),
    ('s = "%d" % n[0]', 0, STRINGS),
    ("s = str(n[0])", 0, STRINGS),
    ('for s in "abc":\n    n[0] += 1', 0, STRINGS),
    ('n[0] = int("3")', 0, STRINGS),
    ("try:\n    a[0] = 1\nexcept ValueError:\n    a[0] = 2", 2, TRY),
    ("try:\n    a[0] = 1\nexcept Exception:\n    a[0] = 2", 0, TRY),
    ("try:\n    a[0] = 1\nfinally:\n    a[0] = 2", 0, TRY),
    ("with THING:\n    a[0] = 1", 0, "kernels have no with: call the functions for its begin and end"),
    ("with THING as t:\n    a[0] = t", 0, "kernels have no with: call the functions for its begin and end"),
    ('if n[0]:\n    raise ValueError("x") from None', 1, "kernels have no raise ... from: raise the exception alone"),
    ("import math as m\na[0] = m.pi", 0, "kernels have no import: import the module at the top of the file"),
    ("from math import pi\na[0] = pi", 0, "kernels have no import: import the name at the top of the file"),
    ("class C:\n    pass", 0, "kernels have no classes: define the class on the host"),
    ("global x\nx = 1", 1, "kernels have no assignments to globals"),
    ("a.x = 1", 0, "kernels have no assignments to attributes"),
    ('setattr(a, "x", 1)', 0, "kernels have no setattr(): write to an element of an array argument"),
    ("x = 1\ndel x", 1, "kernels have no del: leave it out"),
    ("del a[0]", 0, "kernels have no del: leave it out"),
    ("match n[0]:\n    case [x, y]:\n        a[0] = 1", 1, f"{MATCH} sequences"),
    ("match n[0]:\n    case {1: x}:\n        a[0] = 1", 1, f"{MATCH} dictionaries"),
    ("x, *y = 1, 2, 3\na[0] = y[0]", 0, "kernels have no * on the left of an assignment"),
    ('n[0] = shifted(**{"x": 1})', 0, "kernels have no ** in calls: name each argument"),
    ("n[0] = shifted(1, 2, 3)", 0, "shifted takes 2 arguments by position, got 3: write scale=..."),
    ("n[0] = shifted(1)", 0, "shifted takes scale, which is not given: write scale=..."),
    ("n[0] = pow(n[0], 2, 5)", 0, "kernels have no pow with a modulus: multiply in a loop"),
    ("n[0] = hash(n[0])", 0, "kernels have no hash(): combine numbers by *, ^ and >>"),
    ("n[0] = sorted((2, 1))[0]", 0, "kernels have no sorted(): sort the elements of an array in place"),
    ("n[0] = any((1, 2))", 0, "kernels have no any(): join the conditions by or"),
    ('print(n[0], sep="")', 0, "print in kernels takes values only, without sep, end, file and flush"),
    ("a[0] = math.comb(5, 2)", 0, "kernels have no math.comb: call it on the host"),
    ("a[0] = np.linalg.norm(a)", 0, "kernels have no numpy.linalg.norm: call it on the host"),
    ("a[0] = np.where(a[0] > 0, 1, 2)", 0, "kernels have no numpy.where: write x if condition else y"),
    ("a[0] = item.get_sub_group().get_local_id()[0]", 0, "get_local_id() is a number: leave out [0]"),
    ("a[0] = item.get_global_id(0)[0]", 0, "item.get_global_id(0) is a number: leave out [0]"),
    ("a[0] = n[0][0]", 0, "int64 has no elements to take by [...]"),
    ("a[0] = item.get_global_id()", 0, "the call does not fit (dim): missing a required argument: 'dim'"),
    ('a[0] = item.get_global_id("x")', 0, "takes the number of a dimension, got 'x'"),
    ("a[0] = item + 1", 0, "kernels have no + of NdItem and 1"),
    ("a[0] = n[0] << 0.5", 0, "kernels have no << of int64 and float64"),
    ("a[0] = 1 in a", 0, "kernels have no 'in' for an array of float64: compare the elements in a for loop"),
    ("a[0] = a", 0, "an element of an array takes a number, got an array of float64"),
    ("a[0] = None", 0, "an element of an array takes a number, got None"),
    ('a["x"] = 1', 0, "an index of an array is an integer or a slice, got a string"),
    ("a[0.5] = 1", 0, "an index of an array is an integer or a slice, got float64"),
    ("a[0] = a[0, 1]", 0, "an array of float64 has fewer dimensions than 2 indices name"),
    ("a[0] = n[0].astype(np.float32)", 0, "int64 has no astype: numpy.float32(x) converts a number"),
    ("a[0] = n[0].bit_length()", 0, "int64 has no bit_length in kernels"),
    ("a[0] = n[0]()", 0, "int64 cannot be called with ()"),
    ("for x in n[0]:\n    a[0] = 1", 0, "a for loop cannot go over int64: range(n) gives"),
    ("x = 1\nif n[0]:\n    x = (1, 2)\na[0] = x", 3, "x is int on one way and the tuple (int, int) on another"),
    ("a[0], a[1] = 1, 2, 3", 0, "a tuple of 3 elements cannot be unpacked into 2 names"),
    ("a[0] = nothing", 0, "name 'nothing' is not defined"),
    ("raise n[0]", 0, 'kernels raise exceptions only, as raise ValueError("text")'),
    ("x = n[0]\nraise x", 1, 'kernels raise exceptions only, as raise ValueError("text")'),
    # arrays that would be new
    ("a[0] = a.copy()[0]", 0, "copy: kernels have no memory for a new array"),
    ("a[0] = a.astype(np.int32)[0]", 0, "astype: kernels have no memory"),
    ("a[0] = a.cumsum()[0]", 0, "cumsum: kernels have no memory"),
    ("a[0] = (a + a)[0]", 0, "kernels have no memory"),
    ("a[0] = (2 < a)[0]", 0, "kernels have no memory"),
    ("a[0] = (-a)[0]", 0, "kernels have no memory"),
    ("a[0] = np.abs(a)[0]", 0, "kernels have no memory"),
    ("a[0] = np.zeros(3)[0]", 0, "kernels have no memory"),
    ("a[0] = np.empty_like(a)[0]", 0, "kernels have no memory"),
    ("a[0] = a.std()", 0, "arrays in kernels have no std"),
    ("a[0] = z.min()", 0, "min takes an array of real numbers"),
    # integers whose values no type holds
    ("a[0] = u[0] + n[0]", 0, "uint64 + int64"),
    ("a[0] = u[0] + n[0]", 0, "np.uint64(...) around the int64 if it is never"),
    ("a[0] = u[0] * -1", 0, "uint64 * -1"),
    ("a[0] = u[0] * -1", 0, "write np.int64(...) around the uint64 if it is less than 2**63"),
    ("a[0] = n[0] - u[0]", 0, "int64 - uint64"),
    ("a[0] = u[0] // n[0]", 0, "uint64 // int64"),
    ("a[0] = divmod(u[0], n[0])[0]", 0, "uint64 // int64"),
    ("a[0] = u[0] ^ n[0]", 0, "uint64 ^ int64"),
    ("a[0] = n[0] ** n[1]", 0, "negative exponent"),
    ("a[0] = u[0] << -1", 0, "-1 is negative"),
    ("a[0] = u[0] if n[0] else n[1]", 0, "for one variable"),
    ("a[0] = np.add(u[0], -1)", 0, "-1 does not fit uint64"),
    ("a[0] = np.power(n[0], -1)", 0, "negative integer powers"),
    # calls of other functions
    ("a[0] = item.get_sub_group().reduce_add(np.int8(n[0]))", 0, "reduce_add takes a value of the types int32, "),
    *(
        (f"def f(x, y=3):\n    return x * y\na[0] = f({given})", 2, words)
        for given, words in (
            ("", "missing a required argument: 'x'"), ("1, 2, 3", "too many"), ("1, d=2", "unexpected keyword"),
            ("1, x=2", "multiple values"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "line", "words"), TABLE_OF_CONSTRUCTS)
def test_a_construct_is_named(body: str, line: int, words: str, tmp_path: Path) -> None:
    _, place, source, cause = said_of(body, tmp_path)
    assert place.endswith(f'.py", line {line + 2}'), place
    assert source.strip() == body.splitlines()[line].strip()
    assert words in cause
    assert not INSIDE.search(cause)


@pytest.mark.parametrize("line", ["return hash(f'{y}')", "return y.nothing"])
def test_the_line_of_a_device_function(line: str, tmp_path: Path) -> None:
    file = tmp_path / "called.py"
    file.write_text(f"def called(x):\n    y = x\n    {line}\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    globals()["called"] = dpex.device_func(names["called"])
    with pytest.raises(Exception, match=r"kernels have no (hash|f-strings)|has no nothing") as caught:
        compile_body("a[0] = called(n[0])", tmp_path)
    assert str(caught.value).splitlines()[2].strip() == line


def test_what_python_folds_is_not_named(tmp_path: Path) -> None:
    """A list that Python makes a tuple of, and text without values, are no reason for an error without a line."""
    body = 'for i in [1, 2]:\n    n[0] += i\nif n[0] in [3, 4]:\n    print(f"none")\n'
    compile_body(body, tmp_path)
    with pytest.raises(Exception, match="a function on this line does not take these arguments"):
        compile_body(f"{body}x = len(1, 2)", tmp_path)


def test_without_a_source_file() -> None:
    """Bytecodes name the construct."""
    names: dict[str, Any] = {}
    exec("def body(item, a, n):\n    import math\n    a[0] = 1\n", names)
    with pytest.raises(Exception, match="kernels have no import: import the module at the top"):
        dpex.kernel(names["body"]).code_for((ItemKind(1, has_groups=True), *ARRAYS[:2]))


def test_an_inner_function_with_star_arguments(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"the inner function g takes \*args"):
        compile_body("def g(*x):\n    return x[0]\na[0] = g(1, 2)", tmp_path)


FUNCTIONS = sorted(
    name
    for name, value in vars(builtins).items()
    if callable(value)
    and not name.startswith("_")
    and not (inspect.isclass(value) and issubclass(value, BaseException))
)


@pytest.mark.slow("test_a_construct_is_named")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_python_works_or_is_named(name: str, tmp_path: Path) -> None:
    """With whatever it is called, no message is of numba's inside."""
    calls = [f"{name}(n[0])", f"{name}(a)", f"{name}((1, 2))"]
    if name != "len":  # numba names no line for it
        calls.append(f"{name}(1, 2)")
    for call in calls:
        says_what_it_refuses(call, tmp_path)


@pytest.mark.slow("test_a_construct_is_named")
@pytest.mark.parametrize("name", [name for name in dir(math) if callable(getattr(math, name)) and name[0] != "_"])
def test_every_function_of_math_works_or_is_named(name: str, tmp_path: Path) -> None:
    for call in (f"math.{name}(a[0])", f"math.{name}(a[0], a[1])", f"math.{name}((1, 2))", f"math.{name}(n[0])"):
        says_what_it_refuses(call, tmp_path)


def says_what_it_refuses(call: str, folder: Path) -> None:
    try:
        compile_body(f"x = {call}", folder)
    except Exception as error:
        lines = str(error).splitlines()
        assert len(lines) == 4, lines
        assert lines[2].strip() == f"x = {call}"
        assert not INSIDE.search(lines[3]), lines[3]
        assert "did you mean" not in lines[3]


def test_what_works(tmp_path: Path) -> None:
    results = [
        ("np.clip(a[0], 0.5, 1)", 0.5), ("np.clip(n[1], -2, 2)", -2), ("np.clip(n[1], None, 2)", -7),
        ("np.clip(n[1], a_min=-3, a_max=2)", -3), ("np.clip(a[1], 0, 1)", math.nan), ("np.clip(a[2], 0, 7)", 7),
        ("np.clip(n[0], min=5)", 5), ("np.clip(n[0], 5, 4)", 4),
        ("math.isclose(a[0], 0.25 + 1e-12)", 1), ("math.isclose(a[0], 0.26)", 0), ("math.isclose(a[2], a[2])", 1),
        ("math.isclose(a[0], 0.26, abs_tol=0.1)", 1), ("math.isclose(a[0], 0.26, rel_tol=0.1)", 1),
        ("math.isclose(a[1], a[1])", 0), ("math.isclose(a[2], -a[2])", 0), ("math.isclose(n[0], n[0])", 1),
        ('len("abc")', 3), ("len(TEXT)", 3), ("(x := n[0]) + (x := 2) * x", 7), ("(x := n[2]) or 5", 5),
        ("(x := n[0]) and x", 3),
        ("shifted(2, scale=10)", 21), ("shifted(2, 3, scale=10, offset=4)", 27), ("shifted(scale=n[0], x=1)", 4),
    ]  # fmt: skip
    body = "\n".join(f"out[{place}] = {call}" for place, (call, _) in enumerate(results))
    body += '\nassert a[0] > 0, "text"\nwhile (x := n[0] - 1) > 5:\n    x = 0\nif (y := n[0]) > 1:\n    n[2] = x + y'
    a, n = dpnp.asarray([0.25, math.nan, math.inf]), dpnp.asarray([3, -7, 0])
    out = dpnp.zeros(len(results))
    body = "out = a[3:]\n" + body
    joined = dpnp.concatenate([a, out])
    dpex.call_kernel(kernel_of(body, tmp_path), dpex.Range(1), joined, n)
    np.testing.assert_array_equal(dpnp.asnumpy(joined)[3:], [value for _, value in results])
    assert int(n[2]) == 5


def test_variables_assigned_to_themselves(tmp_path: Path) -> None:
    body = "x = n[0]\nx = x\nif n[1] < x:\n    x = x\n    x = max(x, 4)\nelse:\n    x = x\nn[2] = x\na[0] = a[0]"
    a, n = dpnp.asarray([0.25]), dpnp.asarray([3, -7, 0])
    dpex.call_kernel(kernel_of(body, tmp_path), dpex.Range(1), a, n)
    assert int(n[2]) == 4


@dpex.kernel
def filled(item, a, value=5, *, add=0.5):
    a[item.get_id(0)] = value + add


@dpex.kernel
def filled_without_item(a, value=5):
    a[0] = value


def test_defaults_and_named_arguments_of_kernels() -> None:
    a = dpnp.zeros(2)
    for named, value in (({}, 5.5), ({"value": 7}, 7.5), ({"add": 1, "value": 2}, 3), ({"add": 2.5}, 7.5)):
        dpex.call_kernel(filled, dpex.Range(2), a, **named)
        assert dpnp.asnumpy(a).tolist() == [value] * 2
    dpex.call_kernel(filled, dpex.Range(2), a, 9)
    assert dpnp.asnumpy(a).tolist() == [9.5] * 2
    _, event = dpex.call_kernel_async(filled, dpex.Range(2), [], a=a, value=1)
    event.wait()
    assert dpnp.asnumpy(a).tolist() == [1.5] * 2
    dpex.call_kernel(filled_without_item, dpex.Range(1), a=a)
    assert a[0] == 5
    dpex.call_kernel(filled_without_item, dpex.Range(1), a, 6)
    assert a[0] == 6


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((1, 2), {}, "takes a, value=5, *, add=0.5 after the item, got 3 by position"),
        ((), {"ad": 1}, "takes a, value=5, *, add=0.5 after the item, got ad"),
        ((1,), {"value": 1}, "after the item, got value once more"),
    ],
)
def test_arguments_that_do_not_fit(arguments: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        dpex.call_kernel(filled, dpex.Range(2), dpnp.zeros(2), *arguments, **named)
    with pytest.raises(TypeError, match="got none for a"):
        dpex.call_kernel(filled, dpex.Range(2), value=3)


def test_named_arguments_in_plain_python() -> None:
    a = np.zeros(2)
    kapi.call_kernel(filled.py_func, kapi.Range(2), a, add=1)
    assert a.tolist() == [6, 6]


@dpex.kernel
def in_groups(item: kapi.NdItem, a):
    a[item.get_global_id(0)] = 1


def test_sizes_of_launches() -> None:
    a = dpnp.zeros(8)
    for make, error, words in (
        (lambda: dpex.NdRange((8,), (0,)), ValueError, "local_size[0] is 0; a work-group has at least 1 work-item"),
        (lambda: dpex.NdRange((8, 8), (4, 0)), ValueError, "local_size[1] is 0"),
        (lambda: dpex.NdRange((8,), (-4,)), ValueError, "dim0 of a Range is -4; it is at least 0"),
        (lambda: dpex.Range(8, -1), ValueError, "dim1 of a Range is -1"),
        (lambda: dpex.Range(8.0), TypeError, "dim0 of a Range is an int, got 8.0"),
        (lambda: dpex.NdRange((), ()), TypeError, "has one to three extents, got ()"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            make()
    assert dpex.Range(np.int64(4), 0) == (4, 0)
    largest = a.sycl_device.max_work_group_size
    with pytest.raises(Exception, match=f"kernel in_groups have {2 * largest} work-items.* takes at most {largest}"):
        dpex.call_kernel(in_groups, dpex.NdRange((2 * largest,), (2 * largest,)), a)
    dpex.call_kernel(in_groups, dpex.NdRange((0,), (4,)), a)
    assert not dpnp.asnumpy(a).any()
