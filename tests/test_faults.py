"""PEs that die, hang or lack resources: errors on the other PEs, ishmrun's report, and leftovers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import trials
from subprocesses import run_command, run_program

from ishmem import dpex, get_uniqueid

SMALL = {"ISHMEM_SYMMETRIC_SIZE": "1M"}
LAUNCH = "" if dpex.HAS_NUMBA_DPEX else "call_kernel, "  # numba-dpex compiles its launches
VICTIM = 1

HEAD = """
import ctypes, os, signal, subprocess, sys, threading, time
import ishmem
VICTIM = 1
me = int(os.environ["ISHMEM_PE"])
ENDS = {
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": lambda: ctypes.string_at(0),
    "0": lambda: os._exit(0),
    "7": lambda: os._exit(7),
}

def end():
    ENDS[sys.argv[1]]()

def soon():
    threading.Timer(0.5, end).start()

def until(condition):
    from ishmem.common.status_board import StatusBoard

    board = StatusBoard.find(os.environ["ISHMEM_BOARD"], int(os.environ["ISHMEM_NPES"]))
    while not condition(board):
        time.sleep(0.01)

def told(call, *args):
    try:
        call(*args)
    except ishmem.PeerLost as error:
        print("told", error.pe, error, flush=True)
        raise SystemExit(5)
    print("not told")
"""

INIT = """
ishmem.init()
a, lock = ishmem.zeros(2, dtype="i8"), ishmem.zeros(1, dtype="i8")
ishmem.barrier_all()
"""

OTHERS_ARE_IN_INIT = "until(lambda board: board[0].state and board[2].state); "

# What dies where: what the victim does, what the others do.
MOMENTS = {
    "before init": (OTHERS_ARE_IN_INIT + "end()", "told(ishmem.init)"),
    "before init, one late": (
        OTHERS_ARE_IN_INIT + "end()",
        "from ishmem.ipc.exchange import Links; connect = Links._join; Links._join = lambda *args: "
        "(me == 2 and until(lambda board: board[0].ended), connect(*args))[1]; told(ishmem.init)",
    ),
    "while exchanging": (
        "from ishmem.runtime.heap import SymmetricHeap; SymmetricHeap.exchange = lambda *_: end(); ishmem.init()",
        "told(ishmem.init)",
    ),
    "while mapping": (
        "from ishmem.runtime.heap import SymmetricHeap; SymmetricHeap.attach = lambda *_: end(); ishmem.init()",
        "told(ishmem.init)",
    ),
    "between operations": (INIT + "time.sleep(0.3); end()", INIT + "told(ishmem.barrier_all)"),
    "in a wait": (
        INIT + "soon(); ishmem.wait_until(a, ishmem.CMP_EQ, 9)",
        INIT + "told(ishmem.wait_until, a, ishmem.CMP_EQ, 9)",
    ),
    "in a sync": (INIT + "soon(); ishmem.sync_all()", INIT + "told(ishmem.wait_until_any, a, ishmem.CMP_EQ, 9)"),
    "in a barrier": (INIT + "soon(); ishmem.barrier_all()", INIT + "told(ishmem.wait_until, a, ishmem.CMP_EQ, 9)"),
    "with a lock": (
        INIT + "ishmem.set_lock(lock); ishmem.barrier_all(); time.sleep(0.3); end()",
        INIT + "ishmem.barrier_all(); told(ishmem.set_lock, lock)",
    ),
    "waiting for a lock": (
        INIT + "ishmem.barrier_all(); soon(); ishmem.set_lock(lock)",
        INIT + "if me == 0: ishmem.set_lock(lock)\nishmem.barrier_all(); told(ishmem.barrier_all)",
    ),
    "in a team split": (INIT + "end()", INIT + "told(ishmem.TEAM_WORLD.split_strided, 0, 1, 2)"),
    "in an allocation": (INIT + "end()", INIT + "told(ishmem.zeros, 5)"),
    "in a collective": (INIT + "end()", INIT + "told(ishmem.broadcast, a, a, 0)"),
    "in a reduction": (INIT + "end()", INIT + "told(ishmem.sum_reduce, a, a)"),
    "before finalize": (INIT + "ishmem.free_all(); end()", INIT + "ishmem.free_all(); told(ishmem.finalize)"),
}  # fmt: skip


def by_pe(victim: str, others: str) -> str:
    cases = (f"if me == VICTIM:\n{textwrap.indent(victim, '    ')}", f"else:\n{textwrap.indent(others, '    ')}")
    return HEAD + "\n".join(cases)


def words(how: str) -> str:
    return f"was ended by {how}" if how.startswith("SIG") else f"exited with status {how}"


def status(how: str) -> int:
    return 128 + signal.Signals[how] if how.startswith("SIG") else int(how) or 1


@pytest.mark.parametrize(
    ("moment", "how"),
    [(moment, "SIGKILL") for moment in MOMENTS]
    + [("between operations", how) for how in ("SIGSEGV", "0", "7")]
    + [(moment, "0") for moment in ("before init", "before init, one late", "before finalize")]
    + [("while mapping", "7"), ("in a wait", "SIGSEGV")],
)  # fmt: skip
def test_death(trial: trials.Trial, moment: str, how: str) -> None:
    """The other PEs raise who died and how, the job has that exit status, and nothing is left behind."""
    done = run_program(by_pe(*MOMENTS[moment]), 3, how, env=SMALL)
    told = sorted(line for line in done.stdout.splitlines() if "told" in line)
    assert [line[:10] for line in told] == ["[0] told 1", "[2] told 1"], done
    assert all(words(how) in line for line in told), done
    # A PE that is gone before it was in init, with status 0, is no failure of its own.
    assert done.returncode == (5 if moment.startswith("before init") and how == "0" else status(how)), done


WHERE = (
    HEAD
    + INIT
    + """
if me == VICTIM:
    until(lambda board: board[0].since and board[2].since)
    time.sleep(0.5)
    end()
elif me == 0:
    ishmem.barrier_all()  # barrier
elif me == 2:
    ishmem.wait_until(a, ishmem.CMP_GE, 9, 1)  # wait
elif me == 3:
    time.sleep(9)  # sleep
"""
)


def line_of(source: str, mark: str) -> int:
    (number,) = [i for i, line in enumerate(source.splitlines(), 1) if line.endswith(f"# {mark}")]
    return number


def test_where_the_pes_were(trial: trials.Trial) -> None:
    """ishmrun reports the call of each PE, also of one that is not in ishmem and does not end by itself."""
    done = run_program(WHERE, 4, "SIGKILL", env=SMALL)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ishmrun:")]
    assert lines[0] == "ishmrun: PE 1 was ended by SIGKILL; ending the other PEs", done
    barrier, wait, sleep = (rf"\S+program\.py:{line_of(WHERE, mark)}" for mark in ("barrier", "wait", "sleep"))
    wanted = [
        rf"  PE 0: barrier_all(?: \(barrier \d+\))?, {barrier}, for [\d.]+ s",
        r"  PE 1: in no wait \(was ended by SIGKILL\)",
        rf"  PE 2: wait_until, element 1 is 0, wanted >= 9 \(zeros of 16 bytes.*\), {wait}, for [\d.]+ s",
        rf"  PE 3: {sleep}",
    ]
    for line, pattern in zip(lines[1:5], wanted):
        assert re.fullmatch("ishmrun: " + pattern, line), done
    assert "ishmrun: not ended within 3 s: PE 3; ending it" in lines, done


KERNEL = HEAD + """
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def wait(item: kapi.Item, a, value):
    ishmem.wait_until(a, ishmem.CMP_EQ, value)
""" + INIT + """
dpex.call_kernel(wait, kapi.Range(1), a, 0)
ishmem.barrier_all()
"""  # fmt: skip

IN_VAIN = (
    KERNEL
    + """
if me == VICTIM and sys.argv[1] == "SIGALRM":
    signal.setitimer(signal.ITIMER_REAL, 0.5)  # ends it in the kernel
    dpex.call_kernel(wait, kapi.Range(1), a, 9)
elif me == VICTIM:
    time.sleep(0.5)
    end()
elif me == 0 and sys.argv[1] == "SIGKILL":
    dpex.call_kernel(wait, kapi.Range(1), a, 9)  # kernel
told(ishmem.barrier_all)
"""
)


def test_death_in_a_kernel(trial: trials.Trial) -> None:
    done = run_program(IN_VAIN, 3, "SIGALRM", env=SMALL)
    assert sorted(line[:10] for line in done.stdout.splitlines()) == ["[0] told 1", "[2] told 1"], done
    assert done.returncode == 128 + signal.SIGALRM, done


def test_a_kernel_that_waits_for_the_dead(trial: trials.Trial) -> None:
    """The kernel cannot raise; ishmrun reports where the PE is and ends it."""
    done = run_program(IN_VAIN, 3, "SIGKILL", env=SMALL)
    assert [line[:10] for line in done.stdout.splitlines()] == ["[2] told 1"], done
    assert done.returncode == 128 + signal.SIGKILL, done
    line = line_of(IN_VAIN, "kernel")
    assert re.search(rf"PE 0: {LAUNCH}\S*program.py:{line}; kernel wait, program.py:\d+: ", done.stderr), done
    assert "not ended within 3 s: PE 0" in done.stderr, done


INFERENCE = HEAD + """
import dpnp
import ishmem.inference, ishmem.moe
ishmem.init()
n = ishmem.n_pes()
experts, tp = ishmem.moe.Buffer(4, 64, n, 1), ishmem.inference.Communicator(4096)
x, choices = dpnp.ones((4, 64), dtype="f4"), dpnp.full((4, 1), (me + 1) % n, dtype="i8")
CALLS = {"dispatch": lambda: experts.low_latency_dispatch(x, choices)[3], "all_reduce": lambda: tp.all_reduce(x)}
call = CALLS[sys.argv[2]]
call().wait()
ishmem.barrier_all()
if me == VICTIM:
    time.sleep(2)
    end()
call().wait()  # wait
"""  # fmt: skip


@pytest.mark.parametrize(
    ("call", "waits_for"),
    [("dispatch", "element 1 of the variable is 0, wanted"), ("all_reduce", "PE 1 has not begun call 2 of the team")],
)
def test_death_in_inference(trial: trials.Trial, call: str, waits_for: str) -> None:
    """The kernels of the other PEs wait in vain: ishmrun reports for what, and ends them."""
    done = run_program(INFERENCE, 3, "SIGKILL", call)
    assert done.returncode == 128 + signal.SIGKILL, done
    line = line_of(INFERENCE, "wait")
    for pe in (0, 2):
        assert re.search(rf"PE {pe}: wait, \S*program.py:{line}; a kernel: {waits_for}", done.stderr), done
    assert "PE 1 was ended by SIGKILL" in done.stderr, done


HANG = (
    HEAD
    + INIT
    + """
def hang(call, *args):
    try:
        call(*args)
    except ishmem.WaitTimeout as error:
        print("hang", "|".join(str(error).splitlines()), flush=True)
        raise SystemExit(5)

if me == 0:
    ishmem.set_lock(lock)
    hang(ishmem.barrier_all)
elif me == 1:
    hang(ishmem.wait_until_all, a, ishmem.CMP_NE, 0)
else:
    time.sleep(0.5)
    hang(ishmem.set_lock, lock)
"""
)


def test_hang(trial: trials.Trial) -> None:
    """Every wait raises, with the call sites of all PEs."""
    done = run_program(HANG, 3, env={**SMALL, "ISHMEM_TIMEOUT": "6"})
    assert done.returncode == 5, done
    lines = sorted(done.stdout.splitlines())
    assert [line[:8] for line in lines] == [f"[{pe}] hang" for pe in range(3)], done
    for line in lines:
        assert "ISHMEM_TIMEOUT, 6 s, is over" in line
        assert re.search(r"\|  PE 0: barrier_all(?: \(barrier \d+\))?, \S+program.py:\d+, for [\d.]+ s\|", line), done
        assert re.search(r"\|  PE 1: wait_until_all, 2 variables, wanted != 0 .*program.py:\d+, for [\d.]+ s", line), (
            done
        )
        assert re.search(r"\|  PE 2: set_lock, element 0, which PE 0 has, \S+program.py:\d+, for [\d.]+ s", line), done


def test_no_hang(trial: trials.Trial) -> None:
    """Shorter waits and time outside ishmem raise nothing."""
    body = INIT + "time.sleep(1.5 * (me == 1)); ishmem.barrier_all(); ishmem.free_all(); ishmem.finalize()"
    done = run_program(HEAD + body, 2, env={**SMALL, "ISHMEM_TIMEOUT": "30"})
    assert (done.returncode, done.stderr) == (0, ""), done


HANG_IN_KERNELS = (
    KERNEL
    + """
dpex.call_kernel(wait, kapi.Range(1), a, 9)  # kernel
"""
)


KILLED_WHILE_COMPILING = """
import os
import ishmem
from ishmem.dpex import call_kernel, kernel, kernel_api as kapi
from llvmlite import binding

@kernel
def barrier(item: kapi.Item, a):
    ishmem.barrier_all()

ishmem.init()
a = ishmem.zeros(1, dtype="i8")
me = os.getpid()
binding.ModuleRef.verify = lambda _module: os.kill(me, 9)
call_kernel(barrier, kapi.Range(1), a)
"""


def test_killed_while_compiling(trial: trials.Trial) -> None:
    """No file stays, and no process."""
    environment = {**trial.environment(), **SMALL, "ISHMEM_KERNEL_CACHE": "off"}
    done = run_program(KILLED_WHILE_COMPILING, 1, env=environment, timeout=30)
    assert done.returncode == 128 + signal.SIGKILL, done
    assert not trial.left()


def test_hang_in_kernels(trial: trials.Trial) -> None:
    """No PE can detect the hang; ishmrun does."""
    done = run_program(HANG_IN_KERNELS, 2, env={**SMALL, "ISHMEM_TIMEOUT": "6"})
    assert done.returncode == 124, done
    assert "ishmrun: ISHMEM_TIMEOUT, 6 s, is over" in done.stderr, done
    line = line_of(HANG_IN_KERNELS, "kernel")
    place = rf"PE \d: {LAUNCH}\S+program.py:{line}, for [\d.]+ s in a kernel"
    assert len(re.findall(place, done.stderr)) == 2, done


HANG_ALONE = """
import sys
import ishmem
ishmem.init(uid=sys.argv[1], rank=int(sys.argv[2]), nranks=2)
a = ishmem.zeros(1, dtype="i8")
ishmem.wait_until(a, ishmem.CMP_EQ, 1)
"""


def test_hang_without_ishmrun(trial: trials.Trial) -> None:
    """The PEs share the status board that PE 0 has created."""
    command = [sys.executable, "-c", HANG_ALONE, get_uniqueid()]
    env = {**trials.os.environ, **SMALL, "ISHMEM_TIMEOUT": "6"}  # the first zeros imports dpnp
    started = [
        subprocess.Popen([*command, str(pe)], stderr=subprocess.PIPE, text=True, env=env, process_group=None)
        for pe in range(2)
    ]  # fmt: skip
    for one in started:
        errors = one.communicate(timeout=60)[1]
        assert one.returncode == 1
        assert all(f"PE {pe}: wait_until, element 0 is 0, wanted == 1" in errors for pe in range(2)), errors


# ---- the user ends the job


WAITING = (
    HEAD
    + INIT
    + """
print("ready", flush=True)
ishmem.wait_until(a, ishmem.CMP_EQ, 9)
"""
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_to_ishmrun(trial: trials.Trial, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    command = [sys.executable, "-m", "ishmem.launch.run", "-n", "2", str(tmp_path / "waiting.py")]
    job = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**trials.os.environ, **SMALL}
    )
    assert job.stdout
    assert {job.stdout.readline(), job.stdout.readline()} == {"[0] ready\n", "[1] ready\n"}
    job.send_signal(number)
    try:
        errors = job.communicate(timeout=60)[1]
    finally:
        job.kill()
    assert job.returncode in (128 + number, 1), errors


def test_broken_pipe(trial: trials.Trial, tmp_path: Path) -> None:
    (tmp_path / "flood.py").write_text(HEAD + INIT + "while True: print('x' * 100)\n")
    command = f"{sys.executable} -m ishmem.launch.run -n 2 {tmp_path / 'flood.py'} | head -1"
    done = run_command(["sh", "-c", command], env=SMALL)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done


def test_short_jobs(trial: trials.Trial) -> None:
    from jobs import run

    for _ in range(4):
        assert not run(trial, 2)


# ---- what is missing, and what is there already


def limited(options: str, n: int, source: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "limited.py").write_text(source)
    command = f"{options}; exec {sys.executable} -m ishmem.launch.run -n {n} {tmp_path / 'limited.py'}"
    return run_command(["bash", "-c", command], env={**SMALL, **env})


FINE = HEAD + INIT + "ishmem.free_all(); ishmem.finalize(); print('fine')\n"


def test_few_file_descriptors(trial: trials.Trial, tmp_path: Path) -> None:
    """init raises the soft limit; an error names the hard limit."""
    assert limited("ulimit -Sn 15", 2, FINE, tmp_path).stdout.count("fine") == 2
    for limit in (8, 13):
        done = limited(f"ulimit -n {limit}", 4, FINE, tmp_path)
        assert done.returncode == 2
        assert re.search(rf"Too many open files; a process may have {limit} \(see ulimit -Hn\)", done.stderr), done


def test_few_file_descriptors_in_a_pe(trial: trials.Trial, tmp_path: Path) -> None:
    source = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))\n" + FINE
    done = limited("true", 2, source, tmp_path, ISHMEM_INIT_TIMEOUT="5")
    assert done.returncode == 1
    assert re.search("Too many open files|ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", done.stderr), done


def test_little_memory(trial: trials.Trial, tmp_path: Path) -> None:
    done = limited("true", 2, FINE, tmp_path, ISHMEM_SYMMETRIC_SIZE="64M", ISHMEM_SIM_MEMORY="32M")
    assert done.returncode == 1
    assert done.stderr.count("lower ISHMEM_SYMMETRIC_SIZE or heap_size=") >= 2, done
    done = limited("ulimit -v 8000000", 2, FINE, tmp_path, ISHMEM_SYMMETRIC_SIZE="8G")
    assert done.returncode == 1
    assert re.search(r"memory|does not fit", done.stderr), done


def test_two_jobs_at_once(trial: trials.Trial, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text(FINE)
    command = [sys.executable, "-m", "ishmem.launch.run", "-n", "2", str(tmp_path / "fine.py")]
    env = {**trials.os.environ, **SMALL}
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) for _ in range(2)]
    outputs = [one.communicate(timeout=60)[0] for one in started]
    assert [sorted(output.splitlines()) for output in outputs] == [["[0] fine", "[1] fine"]] * 2


OUTER = (
    HEAD
    + INIT
    + """
one = "import ishmem; ishmem.init(); print('alone', ishmem.my_pe(), ishmem.n_pes()); ishmem.finalize()"
alone = [sys.executable, "-c", one]
for command in (alone, [sys.executable, "-m", "ishmem.launch.run", "-n", "2", *alone]):
    done = subprocess.run(command, capture_output=True, text=True)
    print(sorted(done.stdout.splitlines()), done.stderr)
ishmem.free_all()
ishmem.finalize()
"""
)


def test_a_program_and_a_job_within_a_pe(trial: trials.Trial) -> None:
    """The environment of the outer job does not make the program one of its PEs."""
    done = run_program(OUTER, 1, env=SMALL)
    assert done.stdout.splitlines() == ["[0] ['alone 0 1'] ", "[0] ['[0] alone 0 2', '[1] alone 1 2'] "], done


BUSY = """
def count(n):
    def numbers():
        yield from range(3)
    with contextlib.suppress(ZeroDivisionError):
        exec("1 / 0")
    return sum(numbers()) + (count(n - 1) if n else 0)

def held():
    other = subprocess.Popen(["sh", "-c", "sleep 2; echo"], stdout=subprocess.PIPE)
    ctypes.PyDLL(None).read(other.stdout.fileno(), ctypes.create_string_buffer(1), 1)
"""
ASK = """
from ishmem.common.status_board import StatusBoard
import contextlib
ishmem.init()
done = ishmem.zeros(1, dtype="i8")
board = StatusBoard.find(os.environ["ISHMEM_BOARD"], ishmem.n_pes())
if me == VICTIM:
    while ishmem.g(done, me) == 0:
        count(5)
    ishmem.barrier_all()
    held()
else:
    places = set()
    for _ in range(300):
        places |= {board.ask([VICTIM]).get(VICTIM)}
    ishmem.p(done, 1, VICTIM)
    ishmem.barrier_all()
    time.sleep(0.2)
    print(len(places - {None}), board.ask([VICTIM]), flush=True)
ishmem.finalize()
"""


def test_a_pe_that_is_asked_where_it_is_goes_on() -> None:
    """Whether Python runs, whose frames change meanwhile, or other code holds the interpreter."""
    program = HEAD + BUSY + ASK
    done = run_program(program, 2, env=SMALL)
    held = 1 + program[: program.index("ctypes.PyDLL")].count("\n")
    assert done.returncode == 0, done.stderr
    _prefix, places, answer = done.stdout.split(maxsplit=2)
    assert int(places) > 1
    assert f":{held}" in answer


AT_EXIT = """
import faulthandler
from ishmem.common.status_board import INSIST
ishmem.init()
ishmem.finalize()
faulthandler.unregister(INSIST)  # as the interpreter does when it ends
os.kill(os.getpid(), INSIST)
print("goes on", flush=True)
"""


def test_a_pe_that_is_asked_while_it_ends_goes_on() -> None:
    done = run_program(HEAD + AT_EXIT, 1, env=SMALL)
    assert (done.returncode, done.stdout) == (0, "[0] goes on\n"), done.stderr
