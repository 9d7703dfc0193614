"""Random kernels as source code, and a process that runs them on a device.

All values are small integers, which every dtype holds exactly, so results do not depend on the types of intermediate
values.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

ITEMS = 40
LIMIT = 97
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


class Program(NamedTuple):
    """A kernel of two inputs and an output, each with a dtype and the distance of its elements."""

    source: str
    dtypes: tuple[str, str, str]
    strides: tuple[int, int, int]
    groups: int


def function(program: Program) -> Any:
    """Return the kernel as a Python function."""
    scope: dict[str, Any] = {"np": np}
    exec(program.source, scope)
    return scope["kernel"]


def arrays(program: Program) -> list[Any]:
    """Return the arrays in full: an array of the program is every so many elements of one."""
    numbers = [np.arange(ITEMS * stride) * 7 % LIMIT for stride in program.strides]
    return [each.astype(dtype) for each, dtype in zip(numbers, program.dtypes)]


@st.composite
def programs(draw: Any) -> Program:
    """Draw a program."""
    lines = draw(st.lists(statements(1), min_size=1, max_size=5))
    body = [line for block in lines for line in block]
    header = ["def kernel(item, a, b, out):", "    i = item.get_global_id(0)"]
    header += ["    x = np.int64(a[i])", "    y = np.int64(b[i])"]
    source = "\n".join([*header, *body, f"    out[i] = (x + 3 * y) % {LIMIT}", ""])
    dtypes = draw(st.tuples(*[st.sampled_from(DTYPES)] * 3))
    strides = draw(st.tuples(*[st.sampled_from((1, 2, 3))] * 3))
    return Program(source, dtypes, strides, draw(st.sampled_from((1, 5, 8, 20, 40))))


def terms() -> Any:
    """Return the strategy of expressions with values of less than `LIMIT`."""
    place = "np.int64({}[(i * {} + {}) % 40])".format
    places = st.builds(place, st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 5))
    leaves = st.one_of(st.sampled_from(("x", "y", "i")), st.integers(0, 9).map(str), places)
    operators = st.sampled_from(("+", "*", "-", "//", "&", "|", "^", ">>"))

    def combined(left: str, operator: str, right: str) -> str:
        divisor = f"({right} % 5 + 1)" if operator in ("//", ">>") else right
        return f"(({left} {operator} {divisor}) % {LIMIT})"

    return st.recursive(leaves, lambda inner: st.builds(combined, inner, operators, inner), max_leaves=6)


def statements(depth: int) -> Any:
    """Return the strategy of statements, as lists of lines."""
    pad = "    " * depth
    assign = st.builds(lambda name, value: [f"{pad}{name} = {value}"], st.sampled_from("xy"), terms())
    store = st.builds(lambda value: [f"{pad}out[i] = {value}"], terms())
    if depth > 2:
        return st.one_of(assign, store)
    inner = st.lists(statements(depth + 1), min_size=1, max_size=3).map(
        lambda found: [line for lines in found for line in lines]
    )
    compare = st.builds("{} {} {}".format, terms(), st.sampled_from(("<", ">=", "==", "!=")), terms())
    branch = st.builds(lambda test, yes, no: [f"{pad}if {test}:", *yes, f"{pad}else:", *no], compare, inner, inner)
    loop = st.builds(lambda count, lines: [f"{pad}for r{depth} in range({count} % 7):", *lines], terms(), inner)
    leave = st.builds(lambda test: [f"{pad}if {test}:", f"{pad}    return"], compare)
    return st.one_of(assign, store, branch, loop, leave)


def on_device(program: Program) -> list[Any]:
    """Run a program on the device; return the arrays in full afterwards."""
    import dpnp

    from ishmem import dpex

    whole = [dpnp.asarray(each) for each in arrays(program)]
    views = [each[::stride] for each, stride in zip(whole, program.strides)]
    dpex.call_kernel(dpex.kernel(function(program)), dpex.NdRange((ITEMS,), (program.groups,)), *views)
    return [dpnp.asnumpy(each) for each in whole]


class Device:
    """A process of a module that calls `serve`, with settings of the simulator."""

    def __init__(self, module: str, **settings: str) -> None:
        command = [sys.executable, str(Path(__file__).with_name(f"{module}.py"))]
        environment = {**os.environ, **settings}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, program: tuple[Any, ...]) -> Any:
        """Return what the process's function returns for a program.

        Raises:
            RuntimeError: It has raised an error; with its text.
        """
        try:
            pickle.dump(tuple(program), self.process.stdin)
            self.process.stdin.flush()
            answer, error = pickle.load(self.process.stdout)
        except BaseException:  # a time-out: a later call would get the answer to this one
            self.process.kill()
            raise
        if error:
            raise RuntimeError(error)
        return answer

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        assert self.process.wait(60) in (0, -signal.SIGKILL)


def serve(run: Callable[[tuple[Any, ...]], Any]) -> None:
    """Answer the programs that arrive on standard input with what ``run`` returns for them."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            fields = pickle.load(source)
        except EOFError:
            return
        try:
            pickle.dump((run(fields), ""), sink)
        except Exception as error:
            pickle.dump((None, f"{type(error).__name__}: {error}"), sink)
        sink.flush()


if __name__ == "__main__":
    serve(lambda fields: on_device(Program(*fields)))
