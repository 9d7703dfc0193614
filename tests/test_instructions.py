"""The programs that count the instructions of operations in kernels and on the host."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from subprocesses import run_command

from ishmem.benchmarks import gpu_compiler
from ishmem.testing import nodes


def test_counts() -> None:
    done = run_command([sys.executable, "-m", "ishmem.benchmarks.instructions"], env={"ISHMEM_CHECK": "0"})
    assert done.returncode == 0, done.stderr
    counts = {name.strip(): int(spirv) for name, spirv in re.findall(r"│ ([\w ]+?) +│ (\d+)", done.stdout)}
    assert counts["a plain store"] == 2
    assert counts["quiet"] == counts["fence"] == 1
    for name in ("p", "put", "get", "atomic_fetch_add"):
        assert 2 < counts[name] <= 12, name


def test_counts_of_the_host() -> None:
    """Each call has a row for the same node and one for another, with instructions of the core."""
    command = nodes.launcher([1, 1], [sys.executable, "-m", "ishmem.benchmarks.host_instructions"])
    done = run_command(command)
    if "cannot count instructions" in done.stderr:
        pytest.skip("no process may trace another here")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(
        r"│ (\w+) +│ (the same node|another node) +│ (\d+) +│ (-?\d+) +│ (-?\d+) +│ (-?\d+) +│", done.stdout
    )
    assert [row[:2] for row in rows] == [
        (name, place)
        for place in ("the same node", "another node")
        for name in ("put", "put_nbi", "p", "atomic_add", "quiet")
    ]
    own = {row[:2]: int(row[2]) for row in rows}
    assert all(20 < count < 5000 for count in own.values()), own
    assert own["put", "the same node"] < own["put", "another node"]


COMPILER = Path(__file__).parent.parent / "build" / "gpu-compiler"


def check_on_a_gpu() -> None:
    from ishmem.benchmarks import gpu_operations as ops

    ops.set_up()
    compiler = gpu_compiler.find(COMPILER)
    operations = {what.run: what for what in ops.OPERATIONS}

    def both(function):
        what = operations[function]
        return ops.counted(compiler, what.run, what), ops.counted(compiler, what.plain, what)

    for function in (ops.p_each, ops.p_loop, ops.put_one):
        own, plain = both(function)
        assert len(own) - len(plain) <= 6, own
    # A loop of p has the store, and nothing else goes to memory.
    own, plain = both(ops.p_loop)
    assert ops.messages(own) == ops.messages(plain)
    assert sum(ops.messages(own).values()) == 1
    # A group stores 16 bytes for each work-item, and has the fences of its two barriers, and that of the record that it
    # writes when an array is too short.
    own, plain = both(ops.put_many_group)
    assert max(ops.stored(own)) == 16
    assert fences(ops.messages(own)) == {**fences(ops.messages(plain)), "fence.ugm.none.gpu": 1}


def fences(messages: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in messages.items() if name.startswith("fence")}


@pytest.mark.ishmem(1, timeout=200)
def test_on_a_gpu() -> None:
    if gpu_compiler.find(COMPILER) is None:
        pytest.skip("no GPU compiler: .ci/gpu-compiler fetches it")
    check_on_a_gpu()


def test_the_loop_that_is_counted() -> None:
    from ishmem.benchmarks.gpu_operations import messages, stored, turn

    line = "        send.ugm (32|M0) null r1 r2:4 0x0 0x08 {{$1}} // wr:4+4, rd:0; {}"
    narrow, wide = line.format("store.ugm.d32x2.a64"), line.format("store.ugm.d32x4.a64")
    back = "(f0.0)  goto.b (32|M0)                       L90                  {}"
    assembly = ["L0:", "        mov", "L8:", narrow, back.format("L8"), "L16:", wide, wide, back.format("L16"), "L90:"]
    found = turn("\n".join(assembly))
    assert found == [wide, wide, back.format("L16")]
    assert stored(found) == [16, 16]
    assert messages(found) == {"store.ugm.d32x4.a64": 2}
