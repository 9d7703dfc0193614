"""The option ``debug``: the SPIR-V tells the lines of the program."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Callable

import dpnp
import numpy as np
import pytest
from launching import own_compiler, run

from ishmem import dpex
from ishmem.dpex import spirv

pytestmark = own_compiler

STRING, LINE, FUNCTION, LABEL, FUNCTION_END, STORE = 7, 8, 54, 248, 56, 62
LINES = Path(__file__).read_text().splitlines()


def lines(code: bytes) -> set[tuple[str, int]]:
    """Return the files and lines in a module; each is one of the program, inside a function."""
    files, found, inside = {}, set(), False
    for op, operands in spirv.instructions(code):
        if op == STRING:
            files[operands[0]] = struct.pack(f"<{len(operands) - 1}I", *operands[1:]).rstrip(b"\0").decode()
        inside = (inside or op == LABEL) and op != FUNCTION_END
        if op == LINE:
            assert inside
            found.add((files[operands[0]], operands[1]))
    return found


def marked(*marks: str) -> set[tuple[str, int]]:
    """Return the lines of this file that end with marks."""
    return {(__file__, at) for at, line in enumerate(LINES, 1) if any(line.endswith(f"# {mark}") for mark in marks)}


def helper(x):
    if x > 3:
        x = x * 7 % 5  # helper
    return x


def branches(item, a):
    i = item.get_id(0)  # id
    x = a[i] + 1  # load
    for step in range(a[0]):  # loop
        x += inner(step)  # call
    if x > 3:
        a[i] = x * 2  # store


@pytest.fixture
def inner(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    function: Callable[..., Any] = dpex.device_func(helper, debug=True)
    monkeypatch.setitem(globals(), "inner", function)
    return function


def test_lines_of_kernel_and_device_function(inner: Any, valid_spirv: list[Any]) -> None:
    values = np.arange(5, 13)
    plain, debugged = (run(branches, 8, values, debug=debug)[0] for debug in (False, True))
    assert plain.tolist() == debugged.tolist()
    without, code = valid_spirv
    assert marked("helper") <= lines(without.spirv)
    assert not marked("id", "load", "loop", "call", "store") & lines(without.spirv)
    assert marked("id", "load", "loop", "call", "store", "helper") <= lines(code.spirv)


def test_a_store_comes_after_its_line(inner: Any, valid_spirv: list[Any]) -> None:
    run(branches, 8, np.arange(5, 13), debug=True)
    at, seen = 0, set()
    for op, operands in spirv.instructions(valid_spirv[0].spirv):
        at = operands[1] if op == LINE else 0 if op in (LABEL, FUNCTION) else at
        if op == STORE:
            seen.add(at)
    assert {line for _, line in marked("store")} <= seen


def test_without_the_option_there_are_no_lines(valid_spirv: list[Any]) -> None:
    def kernel(item, a):
        a[item.get_id(0)] = 3

    run(kernel, 4, np.arange(4))
    assert not lines(valid_spirv[0].spirv)


def test_complex_and_print(capfd: pytest.CaptureFixture[str]) -> None:
    @dpex.kernel(debug=True)
    def kernel(item, a):
        i = item.get_id(0)
        z = (a[i], a[i] * np.complex64(2j))[i % 2]
        if i == 1:
            print("line", i, z.imag)
        a[i] = z

    a = dpnp.ones(4, dtype="c8")
    dpex.call_kernel(kernel, dpex.Range(4), a)
    assert a.asnumpy().tolist() == [1, 2j, 1, 2j]
    assert "line 1 2" in capfd.readouterr().out
