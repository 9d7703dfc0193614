"""Random kernels, without and with calls of sub-groups, a model of them, and a process that runs them on a device.

All values are small integers, which every dtype holds exactly. The source of a program has calls as
``CALL(place, method, ...)``. On the device they become calls of methods; in the model, a kernel is a generator that
yields them. A place is a tuple of statement numbers and loop counters, which is smaller for what comes earlier, so the
work-items that are at the smallest place call together.
"""

from __future__ import annotations

import ast
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

ITEMS, LIMIT = 120, 97
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
REDUCTIONS: dict[str, Callable[..., int]] = {
    "reduce_add": lambda values: sum(values.values()),
    "reduce_min": lambda values: min(values.values()),
    "reduce_max": lambda values: max(values.values()),
}


class Program(NamedTuple):
    """A kernel, the size of its work-groups, and dtypes of its input and output and the distances of their elements."""

    source: str
    group: int
    dtypes: tuple[str, str] = ("int64", "int64")
    strides: tuple[int, int] = (1, 1)

    @property
    def calls(self) -> bool:
        """Whether it calls operations of sub-groups."""
        return "CALL" in self.source

    def whole(self, values: np.ndarray, argument: int) -> np.ndarray:
        """Return an array of which the argument is every so many elements, with these values there."""
        found = np.zeros(ITEMS * self.strides[argument], self.dtypes[argument])
        found[:: self.strides[argument]] = values
        return found


class Writer:
    """Draws the statements of a kernel; with ``calls``, of sub-groups, with ``diverged`` also by some of one only.

    ``x`` and ``y`` differ between work-items, ``u`` and ``v`` are the same on all of a sub-group, ``w`` on all.
    """

    def __init__(self, draw: Any, calls: bool, diverged: bool) -> None:
        self.draw, self.calls, self.diverged, self.lines, self.counters = draw, calls, diverged, [], []
        self.loops, self.loop_level = 0, ""

    def one(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def term(self, names: str, depth: int = 2) -> str:
        """Draw an expression with a value below `LIMIT` of the variables ``names``."""
        leaf = depth == 0 or self.one(True, False)
        if leaf:
            place = f"(i * {self.one(1, 3)} + {self.one(0, 1, 2, 3)}) % {ITEMS}" if "x" in names else "3"
            return self.one(*names, *self.counters, str(self.one(0, 1, 2, 5, 9)), f"np.int64(a[{place}])")
        left, right = self.term(names, depth - 1), self.term(names, depth - 1)
        operator = self.one("+", "-", "*", "^", "&", "|", "//", ">>")
        right = f"({right} % 5 + 1)" if operator in ("//", ">>") else right
        return f"(({left} {operator} {right}) % {LIMIT})"

    def test(self, names: str) -> str:
        return f"{self.term(names)} {self.one('<', '>=', '==', '!=')} {self.term(names)}"

    def write(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def call(self, place: tuple[str, ...], diverged: bool) -> tuple[str, bool]:
        """Draw a call; return it and whether its value is the same on all work-items of the sub-group."""
        where, value = f"({', '.join(place)},)", self.term("xyuvn")
        method = self.one(*REDUCTIONS) if diverged else self.one(*REDUCTIONS, "broadcast", "shuffle", "shuffle_xor")
        if method in REDUCTIONS:
            return f"CALL({where}, {method!r}, {value}) % {LIMIT}", True
        lane = {"broadcast": "v % s", "shuffle": f"{self.term('xyn')} % s", "shuffle_xor": "(s + 1) % 2"}[method]
        return f"CALL({where}, {method!r}, {value}, {lane})", method == "broadcast"

    def block(self, depth: int, place: tuple[str, ...], level: str, count: int) -> None:
        """Draw ``count`` statements. ``level`` says who is here together: a "work-group", a "sub-group", or "some"."""
        for number in range(count):
            self.statement(depth, (*place, str(number)), level)

    def statement(self, depth: int, place: tuple[str, ...], level: str) -> None:
        kinds = ["assign", "store", "lanes", "chain"]
        kinds += ["if", "for"] * (depth < 4)
        if self.calls and (level != "some" or self.diverged):
            kinds += ["call", "call"]
            kinds += {"work-group": ["meet", "exchange"], "sub-group": ["exchange"], "some": ["barrier"]}[level]
        kinds += ["leave"] * (level != "some" or self.loop_level == "some")
        getattr(self, "write_" + self.one(*kinds))(depth, place, level)

    def write_assign(self, depth: int, _place: Any, level: str) -> None:
        name = self.one(*("xy" if level == "some" else "xyuv"))
        self.write(depth, f"{name} = {self.term('uv' if name in 'uv' else 'xyuvn')}")

    def write_call(self, depth: int, place: Any, level: str) -> None:
        text, same = self.call(place, level == "some")
        name = self.one(*("xyuv" if same and level != "some" else "xy"))
        self.write(depth, f"{name} = {text}")

    def write_store(self, depth: int, _place: Any, _level: str) -> None:
        self.write(depth, f"out[i] = {self.term('xyuvn')}")

    def write_lanes(self, depth: int, _place: Any, _level: str) -> None:
        self.write(depth, f"for k in range(n, {self.term('xyuv')} % 40, s):")
        self.write(depth + 1, f"x = (x + k * {self.term('yuv')}) % {LIMIT}")

    def write_chain(self, depth: int, _place: Any, _level: str) -> None:
        """Draw a chain of comparisons, of which the compiler makes a switch."""
        self.loops += 1
        name, kind = f"c{self.loops}", self.one("", "np.int8", "np.uint8", "np.int32")
        self.write(depth, f"{name} = {kind}({self.term('xyuvn')} % {self.one(3, 5, 9)})")
        for number in range(self.one(2, 3, 5)):
            self.write(depth, f"{'elif' if number else 'if'} {name} == {number}:")
            self.write(depth + 1, f"x = {self.term('xyuvn')}")

    def write_meet(self, depth: int, place: Any, _level: str, method: str = "meet") -> None:
        self.write(depth, f"CALL(({', '.join(place)},), {method!r})")

    def write_barrier(self, depth: int, place: Any, level: str) -> None:
        self.write_meet(depth, place, level, "barrier")

    def write_exchange(self, depth: int, place: Any, _level: str) -> None:
        where = ", ".join(place)
        self.write(depth, f"box[i] = {self.term('xyuvn')}")
        self.write(depth, f"CALL(({where}, 0), 'barrier')")
        self.write(depth, "x = box[i - n + (n + 1) % s]")
        self.write(depth, f"CALL(({where}, 1), 'barrier')")

    def write_leave(self, depth: int, _place: Any, level: str) -> None:
        names = {"work-group": "w", "sub-group": "uvw", "some": "xyn"}[level]
        self.write(depth, f"if {self.test(names)}:")
        ways = ["return"] * (level != "some") + ["break", "continue"] * bool(self.counters)
        self.write(depth + 1, self.one(*ways))

    def together(self, level: str) -> tuple[str, str]:
        """Draw the variables of a condition, and the level behind it."""
        names, behind = self.one(*{
            "work-group": [("w", "work-group"), ("uvw", "sub-group"), ("xyn", "some")],
            "sub-group": [("uvw", "sub-group"), ("xyn", "some")],
            "some": [("xynuvw", "some")],
        }[level])  # fmt: skip
        return names, behind

    def write_if(self, depth: int, place: Any, level: str) -> None:
        names, behind = self.together(level)
        self.write(depth, f"if {self.test(names)}:")
        self.block(depth + 1, (*place, "0"), behind, self.one(1, 2, 3))
        if self.one(True, False):
            self.write(depth, "else:")
            self.block(depth + 1, (*place, "1"), behind, self.one(1, 2))

    def write_for(self, depth: int, place: Any, level: str) -> None:
        names, behind = self.together(level)
        self.loops += 1
        counter = f"r{self.loops}"
        self.write(depth, f"for {counter} in range({self.term(names)} % {self.one(3, 5)}):")
        outer = self.counters, self.loop_level
        self.counters, self.loop_level = [*self.counters, counter], behind
        self.block(depth + 1, (*place, counter), behind, self.one(1, 2, 3))
        self.counters, self.loop_level = outer


HEAD = "def kernel(item, sub, group, a, box, out):"
START = f"""{HEAD}
    i, n, s = item.get_global_id(0), sub.get_local_id(), sub.get_local_range()
    x, y, u, v, w = np.int64(a[i]), i % 7, np.int64(a[5]), sub.get_group_id(), np.int64(a[0])
"""
START_ALONE = f"""{HEAD}
    i = item.get_global_id(0)
    n, s, x, y, u, v, w = i % 5, 5, np.int64(a[i]), i % 7, np.int64(a[5]), 3, np.int64(a[0])
"""
END_ALONE = f"    out[i] = (x + 3 * y + 5 * u + 7 * v) % {LIMIT}"
END = f"    out[i] = (x + 3 * y + 5 * u + 7 * v + CALL((99,), 'reduce_add', x)) % {LIMIT}"


@st.composite
def programs(draw: Any, calls: bool, diverged: bool = False) -> Program:
    """Draw a program; without ``diverged``, all work-items of a sub-group reach its calls together."""
    writer = Writer(draw, calls, diverged)
    writer.block(1, (), draw(st.sampled_from(("work-group", "sub-group"))), draw(st.integers(2, 6)))
    start, end = (START, END) if calls else (START_ALONE, END_ALONE)
    dtypes = draw(st.tuples(*[st.sampled_from(DTYPES)] * 2))
    strides = draw(st.tuples(*[st.sampled_from((1, 2, 3))] * 2))
    group = draw(st.sampled_from((1, 5, 8, 20, 24, 40, 60, 120)))
    return Program("\n".join([start, *writer.lines, end, ""]), group, dtypes, strides)


class _Calls(ast.NodeTransformer):
    def __init__(self, as_call: Callable[[list[ast.expr]], ast.expr]) -> None:
        self.as_call = as_call

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return self.as_call(node.args) if getattr(node.func, "id", "") == "CALL" else node


def function(source: str, as_call: Callable[[list[ast.expr]], ast.expr], **scope: Any) -> Any:
    """Return the kernel as a Python function, with its calls as ``as_call`` makes them."""
    tree = ast.fix_missing_locations(_Calls(as_call).visit(ast.parse(source)))
    scope["np"] = np
    exec(compile(ast.unparse(tree), "<random kernel>", "exec"), scope)
    return scope["kernel"]


def on_device_call(arguments: list[ast.expr]) -> ast.expr:
    """Return a call as an expression of the kernel language."""
    method, values = ast.literal_eval(arguments[1]), [ast.unparse(each) for each in arguments[2:]]
    barriers = {"meet": "kapi.group_barrier(group)", "barrier": "kapi.group_barrier(sub)"}
    text = barriers.get(method, f"sub.{method}({', '.join(values)})")
    return ast.parse(text, mode="eval").body


def on_device(program: Program) -> tuple[np.ndarray, int]:
    """Run a program on the device; return the whole array of its output, and the size of its sub-groups."""
    import dpnp

    from ishmem import dpex
    from ishmem.dpex import kernel_api as kapi

    groups = "    sub, group = item.get_sub_group(), item.get_group()"
    count = "    sizes[item.get_global_id(0)] = sub.get_local_range()"
    head = HEAD.replace("sub, group", "sizes")
    source = program.source.replace(HEAD, "\n".join([head, *([groups, count] if program.calls else [])]))
    kernel = dpex.kernel(function(source, on_device_call, kapi=kapi))
    box, sizes = dpnp.zeros(ITEMS, dtype="i8"), dpnp.zeros(ITEMS, dtype="i8")
    a, out = dpnp.asarray(program.whole(inputs(), 0)), dpnp.asarray(program.whole(np.zeros(ITEMS), 1))
    views = a[:: program.strides[0]], box, out[:: program.strides[1]]
    dpex.call_kernel(kernel, kapi.NdRange((ITEMS,), (program.group,)), sizes, *views)
    return dpnp.asnumpy(out), int(dpnp.asnumpy(sizes).max())


def inputs() -> np.ndarray:
    """Return the input of every program."""
    return np.arange(1, ITEMS + 1) * 37 % LIMIT


class _Place(NamedTuple):
    """The methods that a program calls besides `CALL`, of one work-item in the model."""

    index: int
    local: int
    size: int
    number: int

    def get_global_id(self, _dimension: int) -> int:
        return self.index

    def get_local_id(self) -> int:
        return self.local

    def get_local_range(self) -> int:
        return self.size

    def get_group_id(self) -> int:
        return self.number


def in_model(program: Program, most: int) -> np.ndarray:
    """Return the whole array of the output of a program whose sub-groups have up to ``most`` work-items."""
    kernel = function(program.source, lambda arguments: ast.Yield(ast.Tuple(arguments, ast.Load())))
    out, box = [0] * ITEMS, [0] * ITEMS
    for group in range(0, ITEMS, program.group):
        for number, first in enumerate(range(group, group + program.group, most or ITEMS)):
            size = min(most or ITEMS, group + program.group - first)
            places = [_Place(first + local, local, size, number) for local in range(size)]
            begun = [kernel(each, each, None, inputs().tolist(), box, out) for each in places]
            if program.calls:
                run_together(begun)
    return program.whole(np.array(out), 1)


def run_together(items: list[Iterator[Any]]) -> None:
    """Run the work-items of a sub-group: those at the smallest place call together."""
    waiting = {number: next(item, None) for number, item in enumerate(items)}
    while waiting := {number: call for number, call in waiting.items() if call is not None}:
        place = min(call[0] for call in waiting.values())
        calls = {number: call for number, call in waiting.items() if call[0] == place}
        for number, answer in answers(calls).items():
            try:
                waiting[number] = items[number].send(answer)
            except StopIteration:
                waiting[number] = None


def answers(calls: dict[int, Any]) -> dict[int, Any]:
    """Return what each work-item gets from the calls of all at one place."""
    method = next(iter(calls.values()))[1]
    if method in ("barrier", "meet"):
        return dict.fromkeys(calls)
    values = {number: call[2] for number, call in calls.items()}
    if method in REDUCTIONS:
        return dict.fromkeys(calls, REDUCTIONS[method](values))
    sources = {number: number ^ call[3] if method == "shuffle_xor" else call[3] for number, call in calls.items()}
    return {number: values[source] for number, source in sources.items()}


class Device:
    """A process that runs programs, with settings of the simulator."""

    def __init__(self, **settings: str) -> None:
        environment = {**os.environ, **settings}
        self.process = subprocess.Popen(
            [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, program: Program) -> tuple[np.ndarray, int]:
        """Return what `on_device` returns.

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


def serve() -> None:
    """Run the programs that arrive on standard input."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            fields = pickle.load(source)
        except EOFError:
            return
        try:
            pickle.dump((on_device(Program(*fields)), ""), sink)
        except Exception as error:
            pickle.dump((None, f"{type(error).__name__}: {error}"), sink)
        sink.flush()


if __name__ == "__main__":
    serve()
