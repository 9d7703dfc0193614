"""The programs that count the instructions of operations in kernels."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pes import Pool, run_command

from ishmem.benchmarks import gpu_compiler


def test_counts() -> None:
    done = run_command([sys.executable, "-m", "ishmem.benchmarks.instructions"], env={"ISHMEM_CHECK": "0"})
    assert done.returncode == 0, done.stderr
    counts = {name.strip(): int(spirv) for name, spirv in re.findall(r"│ ([\w ]+?) +│ (\d+)", done.stdout)}
    assert counts["a plain store"] == 2
    assert counts["quiet"] == counts["fence"] == 1
    for name in ("p", "put", "get", "atomic_fetch_add"):
        assert 2 < counts[name] <= 12, name


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
    # A group stores 16 bytes for each work-item, and has the fences of its two barriers.
    own, plain = both(ops.put_many_group)
    assert max(ops.stored(own)) == 16
    assert fences(ops.messages(own)) == fences(ops.messages(plain))


def fences(messages: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in messages.items() if name.startswith("fence")}


@pytest.mark.pes(1)
def test_on_a_gpu(pes: Pool) -> None:
    if gpu_compiler.find(COMPILER) is None:
        pytest.skip("no GPU compiler: .ci/gpu-compiler fetches it")
    pes.run(check_on_a_gpu, timeout=200)


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
