"""What a new user tries first: mistakes get an error that says what to do, and what looks right works."""

from __future__ import annotations

import inspect
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi, same
from numba.core.errors import NumbaError
from subprocesses import place, program, run_command, run_program

import ishmem

# --- on the host


@pytest.mark.ishmem(2)
def test_teams_are_no_integers() -> None:
    a, b = ishmem.zeros(4, dtype="i8"), ishmem.zeros(4 * ishmem.n_pes(), dtype="i8")
    calls: list[Any] = [
        lambda: ishmem.fcollect(b, a, 2),
        lambda: ishmem.collect(b, a, ishmem.my_pe() + 1),
        lambda: ishmem.broadcast(a, a, 0, np.int64(0)),
        lambda: ishmem.sum_reduce(a, a, 4),
        lambda: ishmem.alltoalls(b, b, 1, 1, 4, 0),
        lambda: ishmem.alltoallv(b, b, [4], [4], team=1),
        lambda: ishmem.sum_reduce_on_queue(a, a, 4),
        lambda: ishmem.team_sync_on_queue(0),
        lambda: ishmem.team_sync(0),
        lambda: ishmem.team_my_pe(0),
        lambda: ishmem.team_translate_pe(ishmem.TEAM_WORLD, 0, 0),
        lambda: ishmem.ctx_create(0),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"team is a Team: ishmem.TEAM_WORLD.*a number of elements is nelems="):
            call()
    with pytest.raises(TypeError, match=r"team is a Team.*got 'world'"):
        ishmem.team_sync("world")
    with pytest.raises(TypeError, match=r"team is a Team.*got array\(\[0, 0, 0, 0\]\) \(dpnp_array\)"):
        ishmem.sum_reduce(ishmem.TEAM_WORLD, a, a)  # the arguments in the order of C


@pytest.mark.ishmem(2)
def test_free() -> None:
    a = ishmem.zeros(10, dtype="i8")
    words = r"free takes a whole allocation, got .* of zeros of 80 bytes.*not a slice"
    for part in (a[1:], a[:5], a[10:]):
        with pytest.raises(ValueError, match=words):
            ishmem.free(part)
    with pytest.raises(ishmem.SymmetryError, match="it is an ordinary array"):
        ishmem.free(dpnp.zeros(3))
    with pytest.raises(ishmem.HeapExhausted, match="del frees no symmetric array"):
        ishmem.empty(1 << 40, dtype="i1")


# --- in kernels


@dpex.kernel
def move_views(item: kapi.Item, tiles, steps, odd, grid, row, team, sums, pe):
    ishmem.put(tiles[1:3, 1:4], grid[2:4, 3:6], pe)
    ishmem.get(steps[::2], grid[0, 1:6], pe)
    ishmem.put(odd[::-2], steps[:4], pe)
    ishmem.put(row, grid[:, 2], pe)
    ishmem.put(sums[2:3], 7, pe)
    ishmem.atomic_add(sums, 0.5, pe, 3)
    sums[0] = ishmem.team_n_pes(ishmem.TEAM_WORLD) + ishmem.team_my_pe(team)


@dpex.kernel
def move_views_by_group(item: kapi.NdItem, tiles, steps, grid, pe):
    group = item.get_group()
    ishmem.put_work_group(tiles[1:3, 1:4], grid[2:4, 3:6], pe, group=group)
    ishmem.get_work_group(steps[::2], grid[0, 1:6], pe, group)
    ishmem.put_work_group(tiles[3, 4:5], 9, pe, group)


@pytest.mark.ishmem(2)
def test_views() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    numbers = np.arange(24, dtype="i8").reshape(4, 6) + 100 * me
    left, right = numbers + 100 * ((me - 1) % n - me), numbers + 100 * ((me + 1) % n - me)
    grid = ishmem.array(numbers)
    for by_group in (False, True):
        tiles, odd = ishmem.zeros((4, 5), dtype="i8"), ishmem.zeros(8, dtype="i8")
        row, sums, steps = ishmem.zeros(4, dtype="i8"), ishmem.zeros(4), dpnp.zeros(10, dtype="i8")
        wanted = np.zeros((4, 5), "i8")
        wanted[1:3, 1:4] = left[2:4, 3:6]
        if by_group:
            space = kapi.NdRange((3,), (3,))
            dpex.call_kernel(move_views_by_group, space, tiles, steps, grid, (me + 1) % n)
            wanted[3, 4] = 9
        else:
            arrays = tiles, steps, odd, grid, row, ishmem.TEAM_WORLD, sums
            dpex.call_kernel(move_views, kapi.Range(1), *arrays, (me + 1) % n)
        ishmem.barrier_all()
        same(tiles, wanted)
        same(steps, np.insert(right[0, 1:6], range(1, 6), 0))
        if not by_group:
            same(row, left[:, 2])
            same(odd, np.array([0, 0, 0, numbers[0, 2], 0, 0, 0, numbers[0, 1]]))
            assert sums.asnumpy().tolist() == [n + me, 0, 7, 0.5]
        ishmem.barrier_all()


def says(text: str, *arrays: Any) -> str:
    names: dict[str, Any] = {"ishmem": ishmem}
    exec(f"def kernel(item, a, b):\n    {text}\n", names)
    with pytest.raises(NumbaError) as caught:
        dpex.call_kernel(dpex.kernel(names["kernel"]), kapi.Range(1), *arrays)
    return str(caught.value)


MISTAKES = {
    "ishmem.zeros(3)": "ishmem.zeros is a host function and has no form for kernels; allocate and free on the host",
    "ishmem.init()": "ishmem.init is a host function",
    "ishmem.iput(a[:, 0, 0], b, 1, 1, 2, 0)": "iput: dest is not contiguous; put and get take strided 1-D slices",
    "ishmem.put(a[:, 1:, 1:], b, 0)": "put: dest is a view of 3 dimensions that is not contiguous",
    "ishmem.put(b[::2], b[::2], 0, nelems=2)": "put: nelems is for contiguous arrays in the same memory order; pass",
    "ishmem.put(a, b, 0.5)": "put: pe is an integer, got float64",
    "ishmem.putt(b, b, 0)": "ishmem has no putt; did you mean put?",
    "ishmem.allreduce(b, b)": "ishmem has no allreduce; its name here is sum_reduce",
    "ishmem.put_work_group(b, b, 0, item)": "put_work_group: group is item.get_group() of an NdItem, got",
    "ishmem.put_work_group(b, b, 0, item.get_group())": "Item has no get_group: launch the kernel with an NdRange",
    "ishmem.put(b)": "missing a required argument: 'source'",
    "ishmem.team_sync('world')": "team_sync: team is an integer",
}


@pytest.mark.ishmem(1)
def test_kernel_mistakes() -> None:
    a, b = ishmem.zeros((4, 4, 4), dtype="i8"), ishmem.zeros(8, dtype="i8")
    for text, words in MISTAKES.items():
        said = says(text, a, b)
        lines = said.splitlines()
        assert words in lines[-1], said
        assert lines[0] == "the kernel kernel does not compile:", said
        assert len(lines) <= 4, said


@dpex.kernel
def set_first(item: kapi.Item, a):
    a[0] = 1


@pytest.mark.ishmem(1)
def test_wrong_kernel_arguments() -> None:
    with pytest.raises(Exception, match=r"got ndarray; dpnp.asarray\(a\) copies a numpy array to the device") as caught:
        dpex.call_kernel(set_first, kapi.Range(1), np.zeros(4))
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(TypeError, match=r"a kernel is launched: dpex.call_kernel\(set_first, dpex.Range\(n\), ...\)"):
        set_first(np.zeros(4))
    half = ishmem.zeros(4, dtype="float16")
    if dpex.HAS_NUMBA_DPEX:
        assert "numba-dpex has no float16 in kernels; ishmem.dpex has" in says("ishmem.put(a, b, 0)", half, half)


def test_a_kernel_that_does_not_compile_is_told_once() -> None:
    done = run_program(program("kernel_that_does_not_compile"), 2)
    assert done.returncode == 1
    for pe in (0, 1):
        assert f"[{pe}] a kernel that uses ishmem was compiled outside ishmem.init()" in done.stdout, done
        assert f"[{pe}] then {pe}" in done.stdout, done
    said = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(said) < 15, done.stderr
    full = [line[4:] for line in said if not re.search("as on another PE|is lost", line)]
    assert full[0] == "Traceback (most recent call last):", done.stderr
    assert re.fullmatch(r'  File ".*kernel_that_does_not_compile.py", line 12', full[-3]), done.stderr
    assert full[-2:] == ['    ishmem.put(a, a, "one")', "put: pe is an integer, got 'one'"], done.stderr


@pytest.mark.parametrize("name", [name for name in ishmem.__all__ if name.endswith("_work_group")])
def test_a_group_stands_after_the_arguments_without_default(name: str) -> None:
    given = list(inspect.signature(getattr(ishmem, name)).parameters.values())
    required = [each.name for each in given if each.default is inspect.Parameter.empty]
    assert required[-1] == "group"
    assert [each.name for each in given][: len(required)] == required


# --- two kernels of one PE that wait for each other on one queue


@dpex.kernel
def answer(item: kapi.Item, a, b):
    ishmem.wait_until(a, ishmem.CMP_EQ, 1)
    ishmem.atomic_set(b, 1, ishmem.my_pe())


@dpex.kernel
def ask(item: kapi.Item, a, b):
    ishmem.atomic_set(a, 1, ishmem.my_pe())
    ishmem.wait_until(b, ishmem.CMP_EQ, 1)

def check_dependent_kernels() -> None:
    """Kernels with an event between them do not overlap, however many are in the queue."""
    a, b = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="i8")
    before: tuple[Any, ...] = ()
    hosts = []
    for _ in range(40):
        host, device = dpex.call_kernel_async(add_one, kapi.Range(1), before, a, b)
        before = (device,)
        hosts.append(host)
    before[0].wait()
    assert int(a[0]) == 40
    for host in hosts:
        host.wait()


@dpex.kernel
def add_one(item: kapi.Item, a, b):
    seen = a[0]
    for i in range(100):
        b[0] = i
    a[0] = seen + 1



@pytest.mark.ishmem(1, timeout=60)
def test_kernels_of_one_queue() -> None:
    for _ in range(3):
        a, b = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="i8")
        events = [dpex.call_kernel_async(kernel, kapi.Range(1), (), a, b) for kernel in (answer, ask)]
        for host, device in events:
            device.wait()
            host.wait()
        assert (int(a[0]), int(b[0])) == (1, 1)
    check_dependent_kernels()


# --- programs


def test_a_hung_kernel_without_launcher() -> None:
    done = run_command([sys.executable, str(program("hung_kernel"))], env={"ISHMEM_TIMEOUT": "2"})
    assert done.returncode not in (0, 130), done
    assert "ISHMEM_TIMEOUT, 2 s, is over; the PEs are:\n  PE 0: " in done.stderr, done
    # The simulator gives the kernel up a second later; on a busy machine the program may be asked after that.
    at = place("hung_kernel", "hangs")
    assert re.search(rf"{at}|kernel (__main__\.)?hang has not ended", done.stderr), done


@pytest.mark.slow_cases("without it", "beside opencl")
@pytest.mark.parametrize("words", [[], ["beside opencl"]], ids=["alone", "beside opencl"])
def test_sigint_during_a_kernel(words: list[str]) -> None:
    """Also where LLVM, in the OpenCL runtime, has installed its handler first."""
    command, pipe = [sys.executable, str(program("hung_kernel")), *words], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as it:
        assert it.stdout and it.stderr
        with open(f"/proc/{it.pid}/mem", "rb", buffering=0) as memory:  # the kernel holds the interpreter's lock
            address = int(it.stdout.readline())
            while os.pread(memory.fileno(), 8, address) == bytes(8):
                time.sleep(0.01)
        it.send_signal(signal.SIGINT)
        line = next(line for line in it.stderr if "Unknown host CPU" not in line)
        assert line.startswith("ishmem: SIGINT, but a PE does not answer"), line
        assert place("hung_kernel", "hangs") in it.stderr.readline()
        it.send_signal(signal.SIGINT)
        assert it.wait(9) == 130  # in less than the 10 s after which it ends without a second SIGINT


def test_input_and_text_of_ishmem_run() -> None:
    text = "import sys; print(sys.argv[1:], repr(sys.stdin.read()))"
    for options, reader in (((), 0), (("--stdin", "1"), 1)):
        command = [sys.executable, "-m", "ishmem.launch.run", "-np", "2", *options, "-c", text, "x", "-n"]
        done = subprocess.run(command, input="some words", capture_output=True, text=True, timeout=60)
        wanted = [f"[{pe}] ['x', '-n'] {'some words' * (pe == reader)!r}" for pe in (0, 1)]
        assert sorted(done.stdout.splitlines()) == wanted, done
    refused = run_command([sys.executable, "-m", "ishmem.launch.run", "-n", "2", "--stdin", "2", "-c", "1"])
    assert refused.stderr == "ishmem run: --stdin: got 2, allowed: 0 to 1\n"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def test_breakpoint(terminal: tuple[int, int]) -> None:
    keyboard, stdin = terminal
    text = "import os\nif os.environ['ISHMEM_PE'] == '0':\n    number = 41\n    breakpoint()\n    print('done')"
    command = [sys.executable, "-m", "ishmem.launch.run", "-n", "2", "-c", text]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as it:
        assert it.stdout
        seen = b""
        for typed in (b"p number + 1\n", b"c\n"):
            while not seen.endswith(b"(Pdb) "):
                seen += os.read(it.stdout.fileno(), 100)
            os.write(keyboard, typed)
            seen += b"\n"
        seen += it.stdout.read()
        assert it.wait(30) == 0
    assert b"[0] 42\n" in seen and b"[0] done\n" in seen, seen


def test_dpnp_may_be_imported_first() -> None:
    unset = ("LD_LIBRARY_PATH", "LD_PRELOAD")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-c", "import dpnp, ishmem; ishmem.init('8M'); ishmem.finalize()"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    wrong = {**env, "ISHMEM_DEVICE": "cpu"}
    done = subprocess.run([*command[:2], "import dpnp"], env=wrong, capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert lines[-1] == "ValueError: ISHMEM_DEVICE: got 'cpu', allowed: auto, gpu or sim", done.stderr
    assert len([line for line in lines if "ishmem" in line and "File" in line]) <= 3, done.stderr
    unrelated = "import sys, json; print('ishmem' in sys.modules)"
    assert subprocess.run([*command[:2], unrelated], env=env, capture_output=True, text=True).stdout == "False\n"


LATE_HOOK = """
import sys
from importlib.machinery import PathFinder
import ishmem
class Hook:
    def find_spec(self, name, path=None, target=None):
        return PathFinder.find_spec(name, path) if name == "ishmem.dpex.decorators" else None
sys.meta_path.insert(0, Hook())
ishmem.init("8M")
from ishmem import dpex
@dpex.kernel
def kernel(item, a):
    a[0] = ishmem.n_pes()
a = ishmem.zeros(1)
dpex.call_kernel(kernel, dpex.Range(1), a)
print(int(a[0]))
ishmem.free(a)
"""


@pytest.mark.slow("other orders of imports")
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="about the modules of ishmem.dpex")
def test_an_import_hook_that_came_later() -> None:
    """Hooks such as pytest's load the compiler of kernels, and ishmem is a part of it all the same."""
    done = run_program(LATE_HOOK, 1, forked=False)
    assert (done.returncode, done.stdout) == (0, "[0] 1\n"), done


def test_a_comm_that_is_none() -> None:
    done = run_command([sys.executable, "-c", "import ishmem; ishmem.init(comm='x')"])
    assert done.stderr.splitlines()[-1].startswith("TypeError: comm is a communicator of mpi4py"), done.stderr
