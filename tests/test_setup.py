"""init, finalize and queries: states, arguments, and how a job ends."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from subprocesses import run_command, run_program

import ishmem
from ishmem import dpex
from ishmem.testing import Pes, PesError

SMALL = {"ISHMEM_SYMMETRIC_SIZE": "1M"}


def run(body: str, n: int, *args: str, **options: object) -> subprocess.CompletedProcess[str]:
    source = "import os, sys, time\nimport ishmem\n" + textwrap.dedent(body)
    env = {**SMALL, **options.pop("env", {})}  # type: ignore[dict-item]
    return run_program(source, n, *args, env=env, **options)  # type: ignore[arg-type]


def said(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines that the PEs have printed, without their numbers."""
    return sorted(line.split("] ", 1)[1] for line in result.stdout.splitlines())


STATES = """
import numpy as np

def refused(words, call, *args, kind=ishmem.StateError):
    try:
        call(*args)
    except kind as error:
        assert words in str(error), (words, error)
    else:
        raise SystemExit(f"{call} did not raise")

def everything(words):
    a = np.zeros(3)
    for name, args in {
        "my_pe": (), "n_pes": (), "finalize": (), "barrier_all": (), "sync_all": (), "fence": (), "quiet": (),
        "zeros": (3,), "malloc": (3,), "calloc": (3, 4), "align": (64, 3), "array": ([1],), "arange": (3,),
        "full": (3, 1), "empty_like": (a,), "free": (a,), "free_all": (), "ptr": (a, 0), "is_symmetric": (a,),
        "addr_accessible": (a, 0), "pe_accessible": (0,), "put": (a, a, 0), "get": (a, a, 0),
        "put_nbi": (a, a, 0), "get_nbi": (a, a, 0), "p": (a, 1.0, 0), "g": (a, 0), "atomic_fetch": (a, 0),
        "atomic_add": (a, 1, 0), "atomic_compare_swap": (a, 1, 2, 0), "atomic_fetch_inc_nbi": (a, a, 0),
        "wait_until": (a, 1, 0), "test": (a, 1, 0),
    }.items():
        refused(words, getattr(ishmem, name), *args)

everything("before ishmem.init()")
assert not ishmem.is_initialized()
assert ishmem.info_get_version() == (1, 6) and isinstance(ishmem.info_get_name(), str)
for wrong in ("nonsense", -1, 0, "1X", 1.5j):
    refused("heap_size is", lambda: ishmem.init(heap_size=wrong), kind=ValueError)
refused("0 <= rank < nranks", lambda: ishmem.init(uid="0" * 32), kind=ValueError)
refused("0 <= rank < nranks", lambda: ishmem.init(uid="0" * 32, rank=2, nranks=2), kind=ValueError)
refused("together with uid=", lambda: ishmem.init(rank=0, nranks=2), kind=ValueError)
refused("does not fit", lambda: ishmem.init(heap_size="100T"), kind=ishmem.IshmemError)
ishmem.init()
refused("further call", lambda: ishmem.init("8M"), kind=ValueError)
assert ishmem.is_initialized() and ishmem.query_initialized()
kept = ishmem.zeros(3)
ishmem.put(kept, np.ones(3), ishmem.my_pe())
ishmem.free(kept)
more = ishmem.ones(3)
ishmem.free(more)
ishmem.finalize()
everything("after ishmem.finalize()")
assert not ishmem.is_initialized() and not ishmem.query_initialized()
print("good")
"""


@pytest.mark.parametrize("n", [1, 2])
def test_states(n: int) -> None:
    result = run(STATES, n)
    assert (result.returncode, said(result)) == (0, ["good"] * n), result


REPEATED = """
import numpy as np
import ishmem

with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    box, seen = ishmem.zeros(1, dtype="i8"), ishmem.zeros(n, dtype="i8")
    with ishmem.init():  # by a library
        ishmem.init_thread(ishmem.THREAD_MULTIPLE)
        ishmem.put_nbi(box, np.array([me + 1]), (me + 1) % n)
        ishmem.finalize()  # as barrier_all
        assert box.asnumpy()[0] == (me - 1) % n + 1
        ishmem.atomic_inc(seen, 0, me)
    assert ishmem.is_initialized()
    if me == 0:
        assert seen.asnumpy().tolist() == [1] * n
    ishmem.free_all()
assert not ishmem.is_initialized()
print("good")
"""


@pytest.mark.parametrize("n", [1, 3])
def test_repeated_init(n: int) -> None:
    result = run(REPEATED, n)
    assert (result.returncode, said(result)) == (0, ["good"] * n), result


UNMATCHED = """
import ishmem
ishmem.init()
ishmem.init()
ishmem.finalize()
assert ishmem.is_initialized()
print("good")
"""


def test_the_end_of_a_program_finalises_whatever_the_number_of_inits() -> None:
    result = run(UNMATCHED, 2)
    assert (result.returncode, said(result)) == (0, ["good"] * 2), result


RESTARTED = """
import numpy as np
import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def add(item: kapi.Item, a, pe):
    ishmem.atomic_add(a, 1, pe)
    ishmem.put(a[1:2], a[2:3], pe)
    ishmem.barrier_all()

old = None
for turn in range(3):
    ishmem.init(["16M", "32M", "8M"][turn])
    me, n = ishmem.my_pe(), ishmem.n_pes()
    pad = ishmem.zeros(1000 * turn + 1)
    if old is not None:
        try:
            ishmem.put(old, old, 0)
        except ishmem.SymmetryError:
            pass
        else:
            raise SystemExit("an array of the former job was taken")
    a = ishmem.array(np.array([10, 0, me], "i8"))
    dpex.call_kernel(add, kapi.Range(1), a, (me + 1) % n)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [11, (me - 1) % n, me], a
    team = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
    ishmem.sum_reduce(a, a, team)
    assert a.asnumpy().tolist() == [11 * n, n * (n - 1) // 2, n * (n - 1) // 2], a
    event = ishmem.barrier_all_on_queue()
    event.wait()
    old = a
    ishmem.free_all()
    ishmem.finalize()
print("good")
"""


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="its kernels keep addresses")
@pytest.mark.parametrize("variables", [{}, {"ISHMEM_SIM_PEERS": "none"}, {"ISHMEM_SIM_ORDER": "late:1"}], ids=str)
def test_restart(variables: dict[str, str]) -> None:
    """A process may be a PE of one job after another; kernels get the addresses of the new heap."""
    result = run(RESTARTED, 2, env=variables)
    assert (result.returncode, said(result)) == (0, ["good"] * 2), result


@pytest.mark.skipif(not dpex.HAS_NUMBA_DPEX, reason="ishmem.dpex can restart")
def test_no_restart_with_numba_dpex() -> None:
    result = run("import ishmem\nishmem.init()\nishmem.finalize()\nishmem.init()", 1)
    assert result.returncode == 1 and "with numba-dpex" in result.stderr, result


CHANGED = """
import os
import ishmem
from ishmem import dpex

@dpex.kernel
def one(item, a):
    a[0] = ishmem.my_pe()

ishmem.init()
dpex.call_kernel(one, dpex.Range(1), ishmem.zeros(1))
ishmem.free_all()
ishmem.finalize()
os.environ["ISHMEM_CHECK"] = "1"
try:
    ishmem.init()
except ishmem.StateError as error:
    print("check=False" in str(error) and "check=True" in str(error))
"""


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="a process is a PE only once")
def test_restart_with_other_settings_of_kernels() -> None:
    result = run(CHANGED, 1)
    assert (result.returncode, said(result)) == (0, ["True"]), result


def test_one_pe_without_launcher() -> None:
    program = """
        import ishmem
        with ishmem.init(heap_size=3 << 20) as session:
            assert ishmem.is_initialized()
            a = ishmem.zeros((3 << 20) - 64, dtype="uint8")
            print(ishmem.my_pe(), ishmem.n_pes(), a.size)
            ishmem.free(a)
        assert not ishmem.is_initialized()
    """
    result = run_command([sys.executable, "-c", textwrap.dedent(program)])
    assert result.stdout == f"0 1 {(3 << 20) - 64}\n", result


@pytest.mark.parametrize("size", ["2M", "2048k", str(2 << 20), "0.001953125G"])
def test_heap_size(size: str) -> None:
    """By the argument, which wins, and by the variable."""
    body = """
        given = sys.argv[1]
        ishmem.init(heap_size=int(given) if given.isdigit() else given) if len(sys.argv) == 2 else ishmem.init()
        ishmem.free(ishmem.empty(2 << 20, dtype="uint8"))
        try:
            ishmem.empty((2 << 20) + 1, dtype="uint8")
        except ishmem.HeapExhausted as error:
            print(error)
        ishmem.finalize()
    """
    assert f"of {2 << 20} bytes" in run(body, 1, size).stdout
    if size == "2M":
        assert f"of {2 << 20} bytes" in run(body, 1, size, "env", env={"ISHMEM_SYMMETRIC_SIZE": size}).stdout


def test_heap_too_large() -> None:
    """The heap is too large on one PE only: every PE raises, and may call init again."""
    body = """
        try:
            ishmem.init(heap_size="100T" if os.environ["ISHMEM_PE"] == "1" else None)
        except ishmem.IshmemError as error:
            assert not ishmem.is_initialized()
            print(error)
    """
    result = run(body, 3)
    assert result.returncode == 0, result
    lines = result.stdout.splitlines()
    assert sum("PE 1" in line for line in lines) >= 2, result
    assert sum(f"{100 << 40}" in line or "does not fit" in line for line in lines) == 3, result


def test_context_manager() -> None:
    """An error in the block of one PE ends the job with its status; the others raise at once."""
    body = """
        try:
            with ishmem.init():
                if ishmem.my_pe() == 1:
                    raise KeyError("mine")
                ishmem.barrier_all()
        except KeyError:
            assert not ishmem.is_initialized()
            sys.exit(0)
        except ishmem.PeerLost as error:
            print("told", error.pe)
    """
    result = run(body, 3)
    assert (result.returncode, said(result)) == (0, ["told 1"] * 2), result


def test_what_is_loaded() -> None:
    """A program of host calls loads no numba, and dpnp only for its arrays on today's stack."""
    body = """
        ishmem.init()
        ishmem.barrier_all()
        print(*sorted({"dpnp", "numba", "numba_dpex", "ishmem.kernels"} & set(sys.modules)), "and no more")
        from ishmem import dpex
        dpex.kernel  # imports the compiler
        from ishmem.runtime import binding
        assert binding.process().n_pes == ishmem.n_pes()
        ishmem.finalize()
        try:
            binding.options()
        except Exception as error:
            print(type(error).__name__)
    """
    result = run(body, 2, forked=False)
    loaded = "and no more" if dpex.HAS_NUMBA_DPEX else "dpnp and no more"
    wanted = ["TypingError"] * 2 + [loaded] * 2
    assert (result.returncode, said(result)) == (0, wanted), result


def test_exit_without_finalize() -> None:
    body = """
        ishmem.init()
        a = ishmem.zeros(4)
        ishmem.barrier_all()
        print("end")
    """
    result = run(body, 3)
    assert (result.returncode, said(result)) == (0, ["end"] * 3), result


@pytest.mark.parametrize("how", ["raise SystemError('mine')", "sys.exit(7)", "os._exit(7)", "os.kill(os.getpid(), 9)"])
def test_failure(how: str) -> None:
    """One PE fails: the others raise, and the job has its status."""
    body = f"""
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that they live to tell
        ishmem.init()
        ishmem.barrier_all()
        start = time.monotonic()
        if ishmem.my_pe() == 1:
            {how}
        try:
            ishmem.barrier_all()
        except ishmem.PeerLost as error:
            assert error.pe == 1 and "PE 1" in str(error)
            print("told" if time.monotonic() - start < 20 else "late", flush=True)
        os._exit(0)
    """
    result = run(body, 3)
    assert said(result) == ["told"] * 2, result
    assert result.returncode == {"r": 1, "s": 7}.get(how[0], 7 if "exit" in how else 137), result
    if how[0] == "r":
        assert "SystemError: mine" in result.stderr


UID = """
import sys
import ishmem
uid, rank, nranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with ishmem.init(heap_size="1M", uid=uid, rank=rank, nranks=nranks):
    a = ishmem.zeros(1, dtype="int64")
    ishmem.atomic_add(a, ishmem.my_pe() + 1, 0)
    ishmem.barrier_all()
    print(ishmem.my_pe(), ishmem.n_pes(), ishmem.g(a, 0))
    ishmem.barrier_all()
    ishmem.free(a)
"""


def test_uid() -> None:
    """Processes that were started without ishmrun join by a unique id."""
    uids = {ishmem.get_uniqueid() for _ in range(3)}
    assert len(uids) == 3
    command = [sys.executable, "-c", UID, uids.pop()]
    started = [subprocess.Popen([*command, str(rank), "3"], stdout=subprocess.PIPE, text=True) for rank in range(3)]
    try:
        assert [one.communicate(timeout=60)[0] for one in started] == [f"{rank} 3 6\n" for rank in range(3)]
        assert [one.returncode for one in started] == [0, 0, 0]
    finally:
        for one in started:
            one.kill()


def test_missing_pe() -> None:
    """A PE that never calls init is named after the timeout."""
    command = [sys.executable, "-c", UID, ishmem.get_uniqueid(), "0", "3"]
    start = time.monotonic()
    result = run_command(command, env={"ISHMEM_INIT_TIMEOUT": "1"})
    assert result.returncode == 1
    assert re.search(r"PEs 1, 2 did not arrive", result.stderr.splitlines()[-1]), result.stderr
    assert time.monotonic() - start < 30


def test_device() -> None:
    body = """
        import dpctl, dpnp
        gpus = dpctl.get_devices(backend="level_zero", device_type="gpu")
        device = {"name": "level_zero:gpu:1", "object": gpus[-1], "default": None}[sys.argv[1]]
        ishmem.init(device=device)
        wanted = {"name": gpus[1], "object": gpus[-1], "default": gpus[ishmem.my_pe()]}[sys.argv[1]]
        a = ishmem.zeros(3)
        assert a.sycl_device == wanted, (a.sycl_device, wanted)
        assert a.sycl_queue == dpnp.zeros(3, device=wanted).sycl_queue
        for pe in range(ishmem.n_pes()):
            ishmem.p(a, ishmem.my_pe() + 1.0, pe, ishmem.my_pe())
        ishmem.barrier_all()
        assert a.asnumpy().tolist() == [1.0, 2.0, 0.0]
        sys.stdout.write(f"{len(gpus)}\\n")
        ishmem.free(a)
        ishmem.finalize()
    """
    env = {"ISHMEM_SIM_DEVICES": "3", "ISHMEM_DEVICE": "sim"}
    for which in ("name", "object", "default"):
        result = run_command([sys.executable, "-c", UID_DEVICE + textwrap.dedent(body), which], env={**SMALL, **env})
        assert (result.returncode, result.stdout.split()) == (0, ["3", "3"]), result
    wrong = "import ishmem\nishmem.init(device='level_zero:gpu:77')"
    assert run_command([sys.executable, "-c", wrong], env=SMALL).returncode == 1


# Two PEs that see all simulated devices: a process and its child.
UID_DEVICE = """
import os, subprocess, sys, time
os.environ.setdefault("UID", __import__("uuid").uuid4().hex)
child = None
if "RANK" not in os.environ:
    os.environ["RANK"] = "1"
    child = subprocess.Popen([sys.executable, "-c", open("/proc/self/cmdline").read().split("\\0")[2], *sys.argv[1:]])
    os.environ["RANK"] = "0"
import ishmem
plain_init = ishmem.init
def init(**given):
    plain_init(uid=os.environ["UID"], rank=int(os.environ["RANK"]), nranks=2, **given)
ishmem.init = init
"""


def check_queries(n: int) -> int:
    assert (ishmem.n_pes(), ishmem.is_initialized()) == (n, True)
    assert ishmem.info_get_version() == (1, 6)
    assert 0 < len(ishmem.info_get_name()) < 256
    return ishmem.my_pe()


def test_queries(pes: Pes) -> None:
    assert pes.run(check_queries, pes.n) == list(range(pes.n))


def check_fails(odd: int) -> None:
    if ishmem.my_pe() == odd:
        raise np.linalg.LinAlgError("on purpose")
    ishmem.barrier_all()


@pytest.mark.ishmem(2)
def test_harness_reports(pes: Pes) -> None:
    """A failing check is a failing test, also while the other PE waits; the next one runs on new PEs."""
    with pytest.raises(PesError, match="on purpose"):
        pes.run(check_fails, 1)
    assert pes.run(check_queries, 2) == [0, 1]
