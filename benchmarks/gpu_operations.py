"""Count GPU instructions of operations in kernels: ``python -m ishmem.benchmarks.gpu_operations [--page PAGE]``.

For each operation there are two kernels: one with the operation, and one with the code that a user would write without
ishmem. Both are compiled for a Max 1550 with Intel's compilers (`gpu_compiler`), and their instructions are counted.
"""

# Kernels have the types of numba, not those of mypy.
# mypy: ignore-errors

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple

import click
import dpnp
from numba import typeof, types

import ishmem
from ishmem import dpex
from ishmem.benchmarks import figures, gpu_compiler
from ishmem.dpex import kernel_api as kapi
from ishmem.kernels import front_end

MARKER = "gpu instructions"
DEVICE = "pvc"
ELEMENTS = 512  # of 8 bytes: 4 KiB
EQ, SET = int(ishmem.CMP_EQ), int(ishmem.SIGNAL_SET)


class Operation(NamedTuple):
    """An operation and the code with which it is compared.

    Attributes:
        name: Text for the table.
        run: The kernel with the operation.
        plain: The kernel without ishmem.
        beside: Text for the table that describes ``plain``.
        loop: Count only one iteration of the loop.
        group: The kernels run as work-groups.
    """

    name: str
    run: Callable[..., Any]
    plain: Callable[..., Any]
    beside: str
    loop: bool = False
    group: bool = False


def empty(item: kapi.Item, a, b, flag, pe, n):
    pass


def store_uniform(item: kapi.Item, a, b, flag, pe, n):
    a[3] = b[0]


def p_uniform(item: kapi.Item, a, b, flag, pe, n):
    ishmem.p(a, b[0], pe, 3)


def store_each(item: kapi.Item, a, b, flag, pe, n):
    i = item.get_id(0)
    a[i] = b[i]


def p_each(item: kapi.Item, a, b, flag, pe, n):
    i = item.get_id(0)
    ishmem.p(a, b[i], pe, i)


def load_each(item: kapi.Item, a, b, flag, pe, n):
    i = item.get_id(0)
    b[i] = a[i]


def g_each(item: kapi.Item, a, b, flag, pe, n):
    i = item.get_id(0)
    b[i] = ishmem.g(a, pe, i)


def store_loop(item: kapi.Item, a, b, flag, pe, n):
    i = item.get_id(0)
    for k in range(n):
        a[i + k] = k


def p_loop(item: kapi.Item, a, b, flag, pe, n):
    i = item.get_id(0)
    for k in range(n):
        ishmem.p(a, k, pe, i + k)


def copy_one(item: kapi.Item, a, b, flag, pe, n):
    a[0] = b[0]


def put_one(item: kapi.Item, a, b, flag, pe, n):
    ishmem.put(a, b, pe, 1)


def get_one(item: kapi.Item, a, b, flag, pe, n):
    ishmem.get(a, b, pe, 1)


def copy_many(item: kapi.Item, a, b, flag, pe, n):
    for k in range(ELEMENTS):
        a[k] = b[k]


def put_many(item: kapi.Item, a, b, flag, pe, n):
    ishmem.put(a, b, pe, ELEMENTS)


def get_many(item: kapi.Item, a, b, flag, pe, n):
    ishmem.get(a, b, pe, ELEMENTS)


def copy_one_group(item: kapi.NdItem, a, b, flag, pe, n):
    kapi.group_barrier(item.get_group())
    if item.get_local_id(0) == 0:
        a[0] = b[0]
    kapi.group_barrier(item.get_group())


def put_one_group(item: kapi.NdItem, a, b, flag, pe, n):
    ishmem.put_work_group(a, b, pe, item.get_group(), 1)


def get_one_group(item: kapi.NdItem, a, b, flag, pe, n):
    ishmem.get_work_group(a, b, pe, item.get_group(), 1)


def copy_many_group(item: kapi.NdItem, a, b, flag, pe, n):
    kapi.group_barrier(item.get_group())
    for k in range(item.get_local_id(0), ELEMENTS, item.get_group().get_local_range(0)):
        a[k] = b[k]
    kapi.group_barrier(item.get_group())


def put_many_group(item: kapi.NdItem, a, b, flag, pe, n):
    ishmem.put_work_group(a, b, pe, item.get_group(), ELEMENTS)


def get_many_group(item: kapi.NdItem, a, b, flag, pe, n):
    ishmem.get_work_group(a, b, pe, item.get_group(), ELEMENTS)


def plain_add(item: kapi.Item, a, b, flag, pe, n):
    kapi.AtomicRef(a, index=3, memory_order=kapi.MemoryOrder.RELAXED).fetch_add(n)


def atomic_add(item: kapi.Item, a, b, flag, pe, n):
    ishmem.atomic_add(a, n, pe, 3)


def plain_fetch_add(item: kapi.Item, a, b, flag, pe, n):
    b[1] = kapi.AtomicRef(a, index=3, memory_order=kapi.MemoryOrder.RELAXED).fetch_add(n)


def atomic_fetch_add(item: kapi.Item, a, b, flag, pe, n):
    b[1] = ishmem.atomic_fetch_add(a, n, pe, 3)


def release(item: kapi.Item, a, b, flag, pe, n):
    kapi.atomic_fence(kapi.MemoryOrder.RELEASE, kapi.MemoryScope.SYSTEM)


def everything(item: kapi.Item, a, b, flag, pe, n):
    kapi.atomic_fence(kapi.MemoryOrder.SEQ_CST, kapi.MemoryScope.SYSTEM)


def fence(item: kapi.Item, a, b, flag, pe, n):
    ishmem.fence()


def quiet(item: kapi.Item, a, b, flag, pe, n):
    ishmem.quiet()


def plain_wait(item: kapi.Item, a, b, flag, pe, n):
    while kapi.AtomicRef(a, index=0, memory_order=kapi.MemoryOrder.ACQUIRE).load() != n:
        pass


def wait_until(item: kapi.Item, a, b, flag, pe, n):
    ishmem.wait_until(a, EQ, n)


def plain_signal(item: kapi.Item, a, b, flag, pe, n):
    a[0] = b[0]
    kapi.AtomicRef(a, index=1, memory_order=kapi.MemoryOrder.RELEASE).store(n)


def put_signal(item: kapi.Item, a, b, flag, pe, n):
    ishmem.put_signal(a, b, flag, 1, SET, pe, 1)


def plain_flags(item: kapi.Item, a, b, flag, pe, n):
    kapi.AtomicRef(a, index=0, memory_order=kapi.MemoryOrder.RELEASE).store(n)
    while kapi.AtomicRef(b, index=0, memory_order=kapi.MemoryOrder.ACQUIRE).load() != n:
        pass


def barrier_all(item: kapi.Item, a, b, flag, pe, n):
    ishmem.barrier_all()


ONE_BY_GROUP = "a copy between two group barriers"
COPY, GROUP_COPY = "a loop of loads and stores", "the same loop by a group, between two group barriers"
RELAXED = "a relaxed `AtomicRef`"
OPERATIONS = (
    Operation("`p` at a constant index", p_uniform, store_uniform, "a store"),
    Operation("`p`, each work-item its index", p_each, store_each, "a store"),
    Operation("`p` in a loop, one turn", p_loop, store_loop, "a store in a loop", loop=True),
    Operation("`g`, each work-item its index", g_each, load_each, "a load"),
    Operation("`put`, 8 bytes", put_one, copy_one, "a load and a store"),
    Operation("`get`, 8 bytes", get_one, copy_one, "a load and a store"),
    Operation("`put`, 4 KiB", put_many, copy_many, COPY),
    Operation("`get`, 4 KiB", get_many, copy_many, COPY),
    Operation("the same, one turn of the loop", put_many, copy_many, COPY, loop=True),
    Operation("`put_work_group`, 8 bytes", put_one_group, copy_one_group, ONE_BY_GROUP, group=True),
    Operation("`get_work_group`, 8 bytes", get_one_group, copy_one_group, ONE_BY_GROUP, group=True),
    Operation("`put_work_group`, 4 KiB", put_many_group, copy_many_group, GROUP_COPY, group=True),
    Operation("`get_work_group`, 4 KiB", get_many_group, copy_many_group, GROUP_COPY, group=True),
    Operation("the same, one turn of the loop", get_many_group, copy_many_group, COPY, loop=True, group=True),
    Operation("`atomic_add`", atomic_add, plain_add, RELAXED),
    Operation("`atomic_fetch_add`", atomic_fetch_add, plain_fetch_add, RELAXED),
    Operation("`fence`", fence, release, "a release fence"),
    Operation("`quiet`", quiet, everything, "a sequentially consistent fence"),
    Operation("`wait_until`", wait_until, plain_wait, "a loop of acquiring loads"),
    Operation("`put_signal`, 8 bytes", put_signal, plain_signal, "a copy, then a releasing store"),
    Operation("`barrier_all`", barrier_all, plain_flags, "a releasing store and a wait"),
)  # fmt: skip


def spirv_of(function: Callable[..., Any], group: bool) -> bytes:
    """Compile a function as a kernel and return its SPIR-V, with the constants of a GPU."""
    array, flag = typeof(dpnp.zeros(2, dtype="int64")), typeof(dpnp.zeros(2, dtype="uint64"))
    item = front_end.NdItemType(1) if group else front_end.ItemType(1)
    arguments = item, array, array, flag, types.int64, types.int64
    return gpu_compiler.as_on_a_gpu(front_end.compiled(dpex.kernel(function), arguments))


def messages(lines: list[str]) -> Counter[str]:
    """Count memory messages (loads, stores, atomics and fences) by their names in the disassembly."""
    found = (re.search(r"// .*; ((?:load|store|atomic|fence)[\w.]*)", line) for line in lines)
    return Counter(match[1] for match in found if match)


def turn(assembly: str) -> list[str]:
    """Return the instructions of the loop with the widest stores; of several, the shortest; none if it is unrolled."""
    lines, labels, loops = [], {}, []
    for line in assembly.splitlines():
        if found := re.match(r"(\w+):", line):
            labels[found[1]] = len(lines)
            continue
        lines.append(line)
        if (found := re.search(r"\b(?:while|goto|jmpi)\b.* (L\d+)\b", line)) and found[1] in labels:
            loops.append(lines[labels[found[1]] :])
    return max(loops, key=lambda loop: (max(stored(loop), default=0), -len(loop)), default=[])


def stored(lines: list[str]) -> list[int]:
    """Return for each store instruction the bytes that a work-item stores."""
    units = (re.search(r"store\.ugm\.d(\d+)x?(\d*)", line) for line in lines)
    return [int(found[1]) * int(found[2] or 1) // 8 for found in units if found]


def counted(compiler: gpu_compiler.Compiler, function: Callable[..., Any], what: Operation) -> list[str]:
    """Return the instructions of a kernel, or of one iteration of its loop."""
    assembly = compiler.compile(spirv_of(function, what.group), DEVICE).assembly
    return turn(assembly) if what.loop else gpu_compiler.body(assembly)


class Counts(NamedTuple):
    """What a compiler makes of an operation: the instructions of its kernel, and of the one beside it."""

    own: list[str]
    other: list[str]
    empty: int

    def cells(self) -> list[str]:
        """Return the numbers of instructions, less those of an empty kernel, and their difference."""
        own, other = len(self.own) - self.empty, len(self.other) - self.empty
        return [str(own), str(other) if self.other else "unrolled", str(own - other) if self.other else ""]


def table(compilers: Sequence[gpu_compiler.Compiler]) -> str:
    """Return the markdown table of all operations, with three columns for each compiler."""
    columns = [f"{what}, {compiler.year}" for compiler in compilers for what in ("instructions", "beside", "more")]
    head = ["", "beside it", *columns, "what goes to memory"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    empties = [len(counted(compiler, empty, Operation("", empty, empty, ""))) for compiler in compilers]
    for what in OPERATIONS:
        found = [
            Counts(counted(compiler, what.run, what), counted(compiler, what.plain, what), 0 if what.loop else nothing)
            for compiler, nothing in zip(compilers, empties)
        ]
        numbers = [cell for counts in found for cell in counts.cells()]
        first = found[0]
        cells = [what.name + turned(what, first.own), what.beside + turned(what, first.other), *numbers, memory(found)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def turned(what: Operation, lines: list[str]) -> str:
    """Return text with the bytes that one loop iteration stores; empty unless a loop is counted."""
    return f", {sum(stored(lines))} bytes" if what.loop else ""


def memory(found: Sequence[Counts]) -> str:
    """Return the memory messages as text; of a later compiler, only if they are others."""
    texts = []
    for counts in found:
        named = messages(counts.own).items()
        texts.append(", ".join(f"{count} {name}" if count > 1 else name for name, count in named))
    return "; later: ".join(dict.fromkeys(texts))


def set_up() -> None:
    """Launch an empty kernel: a compiler may set itself up at the first launch."""
    dpex.call_kernel(dpex.kernel(empty), kapi.Range(1), *[dpnp.zeros(2, dtype="int64")] * 3, 0, 0)


@click.command()
@click.option("--compiler", "folder", type=click.Path(path_type=Path), default=gpu_compiler.FETCHED, show_default=True)
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="a page whose table is to be renewed")
@click.option("--show", metavar="NAME", help="print the assembly of a kernel, such as p_each or store_each")
def main(folder: Path, page: Path | None, show: str | None) -> None:
    """Count the instructions of operations in kernels on a GPU."""
    compilers = [found for found in (gpu_compiler.find(folder), gpu_compiler.find_newer()) if found]
    if not compilers:
        raise click.ClickException(f"no GPU compiler in {folder} or in the PATH; .ci/gpu-compiler fetches it")
    with ishmem.init():
        set_up()
        if show:
            for compiler in compilers:
                click.echo(compiler.compile(spirv_of(globals()[show], "group" in show), DEVICE).assembly)
            return
        text = table(compilers)
    click.echo(text)
    if page:
        figures.update(page, text, MARKER)


if __name__ == "__main__":
    main()
