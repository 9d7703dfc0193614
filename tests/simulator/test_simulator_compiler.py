"""How the simulator compiles: strides, switches and fences are right, crashes are errors, machine code is kept."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import time
from pathlib import Path

import level_zero
import numpy as np
import pytest
from common import dpex, dpnp, kapi
from subprocesses import program, run_program
from test_simulator import Level0, assembled, instruction, run, spirv

from ishmem.common.errors import LevelZeroError
from ishmem.environment import stack
from ishmem.ipc import pyze

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")


@pytest.fixture(autouse=True)
def _variables_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tests use the simulator in this process; it reads its settings when the driver starts."""
    for name, value in stack.variables("sim").items():
        monkeypatch.setenv(name, value)


def set_strided(item: kapi.Item, a):
    a[item.get_id(0)] = -3


def copy_strided(item: kapi.Item, a, b):
    b[item.get_id(0)] = a[item.get_id(0)]


def number_rows(item: kapi.Item, a):
    a[item.get_id(0), item.get_id(1)] = 1000 * item.get_id(0) + item.get_id(1)


def test_strided_arrays() -> None:
    """Each stride in a small space, forwards and backwards, by as many work-items as fill vectors and do not."""
    store, load = dpex.kernel(set_strided), dpex.kernel(copy_strided)
    for step in (*range(1, 10), *range(-9, 0)):
        for start in (0, 1, 5) if step > 0 else (-1, -4):
            full, want = dpnp.arange(300), np.arange(300)
            view, same = full[start::step], want[start::step]
            got = dpnp.zeros(same.size, dtype=full.dtype)
            dpex.call_kernel(load, kapi.Range(same.size), view, got)
            assert dpnp.asnumpy(got).tolist() == same.tolist(), (start, step)
            dpex.call_kernel(store, kapi.Range(same.size), view)
            same[:] = -3
            assert dpnp.asnumpy(full).tolist() == want.tolist(), (start, step)


def test_strided_arrays_of_two_dimensions() -> None:
    kernel = dpex.kernel(number_rows)
    for rows, columns in ((slice(None, None, 2), slice(None, None, 3)), (slice(None), slice(1, None, 2))):
        for turned in (False, True):
            full, want = dpnp.zeros((24, 40), dtype="i8"), np.zeros((24, 40), dtype="i8")
            view, same = full[rows, columns], want[rows, columns]
            view, same = (view.T, same.T) if turned else (view, same)
            dpex.call_kernel(kernel, kapi.Range(*same.shape), view)
            same[:] = [[1000 * i + j for j in range(same.shape[1])] for i in range(same.shape[0])]
            assert (dpnp.asnumpy(full) == want).all()


# ---- modules made by hand


def select(width: int, words: int, merge: bool = False) -> bytes:
    """Assemble ``out[0] = 10, 20 or 30`` by a switch on ``width`` bits of an argument: 1, 2 or another."""
    void, ulong, odd, out, kernel = range(1, 6)
    main, pointer, value, label, one, two, other, end, narrow, result = range(6, 16)
    ten, twenty, thirty = 16, 17, 18
    high = [0] * (words - 1)
    return assembled(
        "select", main, 19,
        instruction(19, void),
        instruction(21, ulong, 64, 0),
        instruction(21, odd, width, 0),
        instruction(32, out, 5, ulong),
        instruction(33, kernel, void, out, ulong),
        *(instruction(43, ulong, name, number, 0) for name, number in ((ten, 10), (twenty, 20), (thirty, 30))),
        instruction(54, void, main, 0, kernel),
        instruction(55, out, pointer),
        instruction(55, ulong, value),
        instruction(248, label),
        instruction(113, odd, narrow, value),
        *([instruction(247, end, 0)] if merge else []),
        instruction(251, narrow, other, 1, *high, one, 2, *high, two),
        *(line for name in (one, two, other) for line in (instruction(248, name), instruction(249, end))),
        instruction(248, end),
        instruction(245, ulong, result, ten, one, twenty, two, thirty, other),
        instruction(62, pointer, result, 2, 8),
        needs=(5844,),
    )  # fmt: skip


@pytest.fixture(scope="module")
def ze():
    return Level0()


def run_select(ze: Level0, module: int, value: int) -> int:
    kernel = pyze.create_kernel(module, "select")
    out = level_zero.alloc_device(ze.context, ze.device, 64)
    pyze.set_argument(kernel, 0, out)
    pyze.set_argument(kernel, 1, ctypes.c_uint64(value))
    pyze.zeKernelSetGroupSize(kernel, 1, 1, 1)
    pyze.append_launch(ze.list, kernel, (1, 1, 1))
    result = struct.unpack("<Q", ze.read(out, 8))[0]
    pyze.zeKernelDestroy(kernel)
    pyze.zeMemFree(ze.context, out)
    return result


@pytest.mark.parametrize(("width", "words", "merge"), [(2, 1, False), (5, 1, True), (33, 2, False), (63, 1, True)])
def test_switches_on_odd_widths(ze, width, words, merge) -> None:
    module = pyze.create_module(ze.context, ze.device, select(width, words, merge))
    assert [run_select(ze, module, value) for value in (0, 1, 2, 3, 1 + (1 << 63))] == [30, 10, 20, 30, 10]
    pyze.zeModuleDestroy(module)


RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQ_CST, EVERYWHERE = 0, 2, 4, 8, 16, 0x200
BARRIER, LOAD, STORE = 225, 227, 228
MFENCE, FIRST = b"\x0f\xae\xf0", 0x1234567


def fenced(op: int, order: int) -> bytes:
    """Assemble ``out[0] = FIRST; out[1] = 2; ...; out[0] = 3`` with an operation of an order in between.

    It is a memory barrier, an atomic load of ``out[1]``, whose value goes to ``out[2]``, an atomic store to ``out[2]``,
    or none.
    """
    void, uint, ulong, out, kernel, main, pointer, label, second, third, loaded = range(1, 12)
    first, two, three, scope, semantics, one = range(12, 18)
    between = {
        BARRIER: [instruction(op, scope, semantics)],
        LOAD: [instruction(op, ulong, loaded, second, scope, semantics), instruction(62, third, loaded, 2, 8)],
        STORE: [instruction(op, third, scope, semantics, two)],
    }
    return assembled(
        "fenced", main, 18,
        instruction(19, void),
        instruction(21, uint, 32, 0),
        instruction(21, ulong, 64, 0),
        instruction(32, out, 5, ulong),
        instruction(33, kernel, void, out),
        *(instruction(43, ulong, name, value, 0) for name, value in ((first, FIRST), (one, 1), (two, 2), (three, 3))),
        instruction(43, uint, scope, 0),
        instruction(43, uint, semantics, order | EVERYWHERE),
        instruction(54, void, main, 0, kernel),
        instruction(55, out, pointer),
        instruction(248, label),
        instruction(67, out, second, pointer, one),
        instruction(67, out, third, pointer, two),
        instruction(62, pointer, first, 2, 8),
        instruction(62, second, two, 2, 8),
        *between.get(op, []),
        instruction(62, pointer, three, 2, 8),
    )  # fmt: skip


ORDERS = {
    BARRIER: (ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQ_CST),
    LOAD: (RELAXED, ACQUIRE, SEQ_CST),
    STORE: (RELAXED, RELEASE, SEQ_CST),
}


CASES = [(0, 0), *((op, order) for op, orders in ORDERS.items() for order in orders)]


def value_in(path: Path) -> bytes:
    """Return what a file of the cache of machine code holds behind the mark and the key, which has a size before it."""
    data = path.read_bytes()
    key = data.index(b"\n") + 1
    return data[key + 8 + int.from_bytes(data[key : key + 8], "little") :]


@pytest.mark.slow_cases("other atomics", "225-8", "228-4", "227-16", "228-16")
@pytest.mark.slow_cases("checks the simulator only", "225-2", "225-4", "227-0", "227-2", "228-0")
@pytest.mark.parametrize(("op", "order"), CASES)
def test_only_sequential_consistency_takes_a_fence(op, order, tmp_path) -> None:
    """The other orders keep the compiler from moving accesses: without one, it drops the first store."""
    found = run(program("atomics_with_an_order"), str(op), str(order), ISHMEM_KERNEL_CACHE=str(tmp_path))[0].split()
    assert found[:2] == ["3", "2"]
    assert op in (0, BARRIER) or found[2] == "2"
    machine_code = value_in(kept(tmp_path)[0])
    # Such a load needs no fence on x86, nor binds stores before it: the runtime of 2026 makes a plain load of it.
    is_plain = order == RELAXED or ((op, order) == (LOAD, SEQ_CST) and not dpex.HAS_NUMBA_DPEX)
    assert (MFENCE in machine_code) == (order == SEQ_CST and not is_plain)
    assert (struct.pack("<I", FIRST) in machine_code) == (not is_plain)


def test_a_crash_of_the_compiler_is_an_error(ze) -> None:
    code = select(2, 1)
    nowhere = code.replace(struct.pack("<2I", 2, 11), struct.pack("<2I", 2, 16))  # a switch to what is no label
    assert nowhere != code
    for _ in range(2):
        with pytest.raises(LevelZeroError, match="MODULE_BUILD_FAILURE") as caught:
            pyze.create_module(ze.context, ze.device, nowhere)
        assert "crashed" in str(caught.value)
    pyze.zeModuleDestroy(pyze.create_module(ze.context, ze.device, spirv()))


def compilers(mark: str) -> list[int]:
    """Return the processes that compile for the program with a mark in its environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"ze_simulator_compiler" in command and mark.encode() in environment:
            found.append(int(folder.name))
    return found


@pytest.mark.slow("checks the simulator only")
def test_compilers_that_die_or_hang(tmp_path) -> None:
    """One that is killed or does not answer is given up for another, and none outlives its program."""
    mark = f"MARK={tmp_path}"
    variables = {"MARK": str(tmp_path), "ISHMEM_KERNEL_CACHE": "off", "ISHMEM_SIM_COMPILE_LIMIT": "5"}
    out, _ = run(program("compilers_die_or_hang"), mark, **variables)
    assert out == "built\n" * 4
    deadline = time.monotonic() + 10
    while compilers(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not compilers(mark)


# ---- what is kept

COMPILED = "is compiled"


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("machine/*.machine"))


def build_once(folder: Path, **variables: str) -> bool:
    """Build a module in a process of its own; return whether it was compiled."""
    out, err = run(program("build_module"), ".", ISHMEM_KERNEL_CACHE=str(folder), ISHMEM_SIM_TRACE="1", **variables)
    assert out == "built\n"
    return COMPILED in err


@pytest.mark.slow("checks the simulator only")
def test_machine_code_is_kept_and_damage_is_noticed(tmp_path) -> None:
    assert build_once(tmp_path)
    assert not build_once(tmp_path)
    (path,) = kept(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    out, err = run(program("damaged_machine_code"), str(path), ISHMEM_KERNEL_CACHE=str(tmp_path), ISHMEM_SIM_TRACE="1")
    assert (out, err.count(COMPILED)) == ("built\n" * 4, 4)
    assert not build_once(tmp_path)
    assert build_once(tmp_path, CL_CONFIG_CPU_TARGET_ARCH="corei7")
    assert len(kept(tmp_path)) == 2
    assert build_once(tmp_path / "new", ISHMEM_KERNEL_CACHE_SIZE="100")
    assert not kept(tmp_path / "new")


@pytest.mark.slow("checks the simulator only")
def test_no_machine_code_is_kept(tmp_path) -> None:
    for value, complains in (("0", False), ("OFF", False), ("of", True)):
        out, err = run(program("build_module"), str(tmp_path), ISHMEM_KERNEL_CACHE=value)
        assert out == "built\n"
        assert (f"ISHMEM_KERNEL_CACHE={value} is not auto, off, or a folder" in err) == complains
        assert not any(tmp_path.iterdir())


@pytest.mark.slow("checks the simulator only")
def test_one_machine_code_serves_all_pes_and_numbers_of_pes(tmp_path) -> None:
    variables = {"ISHMEM_KERNEL_CACHE": str(tmp_path), "ISHMEM_SIM_TRACE": "1"}
    compiled = []
    for n in (2, 3, 1, 2):
        done = run_program(program("put_in_a_ring"), n, env=variables)
        got = sorted(line.split("got ")[1] for line in done.stdout.splitlines())
        assert got == [str(100 * n + pe) for pe in range(n)], done
        compiled.append(done.stderr.count(COMPILED) + done.stdout.count(COMPILED))
    assert compiled[0] > 0 and compiled[1:] == [0, 0, 0]


needs_todays_stack = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="today's compilers only")


def output_of(source: str, **variables: str) -> str:
    """Return what a job of two PEs prints."""
    done = run_program(source, 2, env=variables)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


@pytest.mark.slow("checks the simulator only")
@needs_todays_stack
def test_the_compiler_is_loaded_while_the_first_kernel_is_compiled(tmp_path) -> None:
    """The first PE builds a module without code first, which is not kept; not if its kernels are in the cache."""
    variables = {"ISHMEM_KERNEL_CACHE": str(tmp_path), "ISHMEM_SIM_TRACE": "2"}
    found = []
    for _ in range(2):
        printed = output_of(program("put_in_a_ring"), **variables)
        found.append([len(re.findall(rf"^\[{pe}\] .*zeModuleCreate$", printed, re.MULTILINE)) for pe in range(2)])
    kernels = found[1][0]
    assert kernels > 0
    assert found == [[kernels + 1, kernels], [kernels, kernels]]
    assert len(kept(tmp_path)) == kernels


@pytest.mark.slow("checks the simulator only")
@needs_todays_stack
def test_long_kernels_without_work_groups_are_not_vectorised(tmp_path) -> None:
    """Code that is the same with another setting is not compiled again."""
    example = (Path(__file__).parents[2] / "examples" / "halo2d.py").read_text()
    compiled = []
    for setting in ("auto", "0", "64K"):
        variables = {"ISHMEM_KERNEL_CACHE": str(tmp_path), "ISHMEM_SIM_VECTORISE": setting, "ISHMEM_SIM_TRACE": "1"}
        variables["ISHMEM_P2P"] = "off"  # else init compiles a kernel of its own
        printed = output_of(example, **variables)
        compiled.append(sorted(map(int, re.findall(r"a module of (\d+) bytes is compiled", printed))))
    short, long = compiled[0]
    assert short < 16 << 10 < long
    assert [len(each) for each in compiled] == [2, 1, 1]
    assert compiled[1][0] < 16 << 10 < compiled[2][0]


# ---- errors of a job, and threads


def test_a_kernel_that_does_not_build_is_an_error_of_the_launch() -> None:
    env = {"ISHMEM_SIM_FAIL": "build:1@1", "ISHMEM_P2P": "off"}  # init builds a kernel for the proof of peer memory
    done = run_program(program("kernel_that_does_not_build"), 2, env=env)
    assert done.returncode == 0, done
    mine = [line for line in done.stdout.splitlines() if line.startswith("[1]")]
    assert "told" in mine[0] and "the kernel fill does not build" in mine[0] and "ISHMEM_SIM_FAIL" in mine[0], done
    assert mine[1:] == [mine[0], "[1] sum 0"] and "[0] sum 28" in done.stdout, done


def test_threads_that_run_kernels_are_not_pinned() -> None:
    a = dpnp.zeros(16, dtype="i8")
    dpex.call_kernel(dpex.kernel(set_strided), kapi.Range(16), a)
    allowed = {len(os.sched_getaffinity(int(task.name))) for task in Path("/proc/self/task").iterdir()}
    assert allowed == {len(os.sched_getaffinity(0))}


def test_a_limit_that_is_no_number_is_refused() -> None:
    _, err = run("from ishmem.ipc import pyze; pyze.drivers()", ISHMEM_SIM_COMPILE_LIMIT="soon", ISHMEM_SIM_TRACE="0")
    assert "ISHMEM_SIM_COMPILE_LIMIT=soon" in err
