"""Jobs on several nodes, connected by MPI; nodes.py emulates the nodes on one machine.

These tests cover the network itself. That every operation reaches PEs on other nodes is covered by the tests of the
operations, which run unchanged with ``pytest --nodes 2``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dpctl
import dpnp
import numpy as np
import pytest
from common import dpex, kapi, same
from subprocesses import program, run_command

import ishmem
from ishmem import _core
from ishmem.runtime import job
from ishmem.testing import Pes, nodes

KEEPS_ADDRESSES = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="its kernels keep addresses")
SIZES = (8, 1000, 8 << 10, (8 << 10) + 8, 200_000, 3_000_000)
"""In bytes: short payloads go in a packet, long ones as messages of their own."""


@pytest.fixture(scope="module", params=["2+2", "1+3"])
def spread(request: pytest.FixtureRequest) -> Iterator[Pes]:
    """PEs on two nodes."""
    with Pes(4, nodes=[int(size) for size in request.param.split("+")]) as pool:
        yield pool


def neighbours() -> tuple[int, int]:
    """Return the PEs before and after this one; for some PEs, each is on another node."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    return (me - 1) % n, (me + 1) % n


def check_places() -> None:
    """The node's teams have exactly the PEs of the node, and ``ptr`` returns None for PEs of other nodes."""
    this, a = job.current(), ishmem.zeros(4, dtype="i8")
    near = set(this.node.pes)
    assert this.network is not None and 0 < len(near) < this.n_pes
    for pe in range(this.n_pes):
        assert (ishmem.ptr(a, pe) is not None) == (pe in near)
        assert ishmem.addr_accessible(a, pe)
        assert ishmem.pe_accessible(pe)
    for team in (ishmem.TEAM_NODE, ishmem.TEAM_SHARED):
        assert team.n_pes() == len(near)
        assert {team.translate_pe(i, ishmem.TEAM_WORLD) for i in range(team.n_pes())} == near
        team.sync()


def check_flag_after_data(nbytes: int, how: str) -> None:
    """A flag never arrives before the data that it announces."""
    before, after = neighbours()
    count = nbytes // 8
    dest, source = ishmem.zeros(count, dtype="i8"), np.zeros(count, "i8")
    flag = ishmem.zeros(1, dtype="u8")
    for turn in range(1, 11):
        source[:] = 1000 * turn + ishmem.my_pe()
        if how == "put_signal":
            ishmem.put_signal(dest, source, flag, turn, ishmem.SIGNAL_SET, after)
        elif how == "put_signal_nbi":
            ishmem.put_signal_nbi(dest, source, flag, 1, ishmem.SIGNAL_ADD, after)
        else:
            ishmem.put(dest, source, after)
            ishmem.fence()
            ishmem.p(flag, turn, after)
        ishmem.signal_wait_until(flag, ishmem.CMP_EQ, turn)
        seen = dest.asnumpy()
        assert seen.min() == seen.max() == 1000 * turn + before
        ishmem.barrier_all()


@pytest.mark.slow_cases("the same on 2 + 2 PEs", "1+3-")
@pytest.mark.parametrize("how", ["put_signal", "put_signal_nbi", "fence"])
def test_flag_after_data(spread: Pes, how: str) -> None:
    for nbytes in SIZES:
        spread.run(check_flag_after_data, nbytes, how)


def check_burst() -> None:
    """All PEs send to all others, more requests than may be in flight."""
    me, n, count = ishmem.my_pe(), ishmem.n_pes(), 10_000
    dest, counters = ishmem.zeros((n, 64), dtype="i8"), ishmem.zeros(1, dtype="i8")
    for i in range(count):
        ishmem.p(dest, i, i % n, 64 * me + i // n % 64)
        ishmem.atomic_inc(counters, (i + 1) % n)
    ishmem.barrier_all()
    assert int(counters[0]) == count
    seen = dest.asnumpy()
    for pe in range(n):
        last = {i // n % 64: i for i in range(count) if i % n == me}
        assert all(seen[pe, place] == value for place, value in last.items())


def check_kernel_completes_host_puts(how: str) -> None:
    """After a barrier or quiet in a kernel, the puts that the host has started before are at their PE.

    The PE of the puts hears of the quiet through a third PE, so that the message cannot queue up behind the puts.
    """
    me, n, count, length = ishmem.my_pe(), ishmem.n_pes(), 200, 1000
    dest, flags, go = (ishmem.zeros(size, dtype="i8") for size in (count * length, 2, 1))

    @dpex.kernel
    def complete(item: kapi.Item, flags, go, pe, turn, quiet):
        ishmem.wait_until(go, ishmem.CMP_EQ, turn)
        if quiet:
            ishmem.quiet()
            ishmem.p(flags, turn, pe)
        else:
            ishmem.barrier_all()

    for turn in range(1, 9):
        if how != "on queue":
            arguments = flags, go, (me + 1) % n, turn, int(how == "quiet")
            done = dpex.call_kernel_async(complete, kapi.Range(1), (), *arguments)
        for part in range(count):
            ishmem.put(dest[part * length : (part + 1) * length], np.full(length, turn), (me + 2) % n)
        ishmem.p(go, turn, me)
        if how == "on queue":
            ishmem.barrier_all_on_queue().wait()
        else:
            done[1].wait()
        if how == "quiet":
            ishmem.wait_until(flags, ishmem.CMP_EQ, turn)
            ishmem.p(flags, turn, (me + 1) % n, 1)
            ishmem.wait_until(flags, ishmem.CMP_EQ, turn, 1)
        same(dest, np.full(count * length, turn))
        ishmem.barrier_all()


@pytest.mark.slow("test_on_queue.py::test_barriers_deliver_earlier_puts, on one node")
@pytest.mark.parametrize("how", ["barrier", "quiet", "on queue"])
def test_kernel_completes_host_puts(spread: Pes, how: str) -> None:
    spread.run(check_kernel_completes_host_puts, how)


def start_on_queue(how: str, dest: dpnp.ndarray, flag: dpnp.ndarray, target: int) -> dpctl.SyclEvent:
    """Put the numbers 1 to 100 by an on-queue operation."""
    data = np.arange(1, 101)
    if how == "put":
        return ishmem.put_on_queue(dest, data, target, nelems=100)
    if how == "iput":
        return ishmem.iput_on_queue(dest, data, 2, 1, 100, target)
    return ishmem.put_signal_on_queue(dest, data, flag, 1, ishmem.SIGNAL_SET, target, nelems=100)


STOP = """
kill -STOP $0; until grep -q "^State:.T" /proc/$0/status; do :; done; touch $1/stopped
until [ -e $1/go ]; do sleep 0.01; done; kill -CONT $0
"""
"""A script that stops a process, creates the file ``stopped``, and continues the process when ``go`` exists."""


def check_on_queue_event(how: str, folder: Path) -> None:
    """The event of a put is not complete while its PE is stopped, so that nothing arrives there."""
    me, last = ishmem.my_pe(), ishmem.n_pes() - 1
    dest, flag = ishmem.zeros(200, dtype="i8"), ishmem.zeros(1, dtype="u8")
    ishmem.barrier_all()
    if me == last:
        stopped = subprocess.Popen(["sh", "-c", STOP, str(os.getpid()), folder])
    elif me == 0:
        while not (folder / "stopped").exists():
            time.sleep(0.01)
        event = start_on_queue(how, dest, flag, last)
        time.sleep(0.2)
        complete = event.execution_status == dpctl.event_status_type.complete
        (folder / "go").touch()
        assert not complete
        event.wait()
    ishmem.barrier_all()
    if me == last:
        assert stopped.wait() == 0
        same(dest[::2] if how == "iput" else dest[:100], np.arange(1, 101))


@pytest.mark.parametrize("how", ["put", "iput", "put_signal"])
def test_on_queue_event(spread: Pes, how: str, tmp_path: Path) -> None:
    spread.run(check_on_queue_event, how, tmp_path)


def check_long_bursts() -> None:
    """All PEs put long payloads to all others and get from them, more than may be in flight."""
    me, n, count, size = ishmem.my_pe(), ishmem.n_pes(), 100, 2500
    dest = ishmem.zeros((n, count, size), dtype="i8")
    source = np.arange(count * size).reshape(count, size)
    for i in range(count):
        for pe in range(n):
            ishmem.put_nbi(dest[me, i], source[i] + me, pe)
    ishmem.barrier_all()
    got = np.zeros((n, count, size), "i8")
    for i in range(count):
        for pe in range(n):
            ishmem.get_nbi(got[pe, i], dest[(pe + 1) % n, i], pe)
    ishmem.quiet()
    for pe in range(n):
        np.testing.assert_array_equal(dest[pe].asnumpy(), source + pe)
        np.testing.assert_array_equal(got[pe], source + (pe + 1) % n)
    ishmem.barrier_all()


def payloads_so_far() -> np.ndarray:
    """Return how many payloads this PE has sent or received by device address, and how many it has staged."""
    return np.array([_core.direct_payloads(), _core.staged_payloads()])


def check_payloads(count: int, expected: tuple[int, int]) -> None:
    """Put and get every kind of array to the next PE, by host and kernel, and count payloads as `payloads_so_far`.

    The rows of ``dest`` come from a symmetric, a private and a numpy array, two from rows with gaps between them, and
    from a symmetric and a private array by a kernel.
    """
    @dpex.kernel
    def move(item: kapi.Item, to, given, into, symmetric, pe):
        ishmem.put(to, given, pe)
        ishmem.get(into, symmetric, pe)

    before, after = neighbours()
    mine, theirs = (np.arange(count) + 1000 * pe for pe in (ishmem.my_pe(), after))
    source, private = ishmem.array(mine), dpnp.asarray(mine)
    wide = dpnp.asarray(np.stack([np.append(mine, 0)] * 2))
    dest = ishmem.zeros((7, count), dtype="i8")
    into = [ishmem.zeros(count, dtype="i8"), dpnp.zeros(count, dtype="i8"), np.zeros(count, "i8")]
    by_kernel = [ishmem.zeros(count, dtype="i8"), dpnp.zeros(count, dtype="i8")]
    before_all = payloads_so_far()
    ishmem.barrier_all()
    for row, each in enumerate((source, private, mine)):
        ishmem.put(dest[row], each, after)
    ishmem.put_nbi(dest[3:5], wide[:, :-1], after)
    for each in into:
        ishmem.get(each, source, after)
    for row, given in enumerate((source, private)):
        dpex.call_kernel(move, kapi.Range(1), dest[5 + row], given, by_kernel[row], source, after)
    ishmem.barrier_all()
    assert tuple(payloads_so_far() - before_all) == expected
    assert (dest.asnumpy() == np.arange(count) + 1000 * before).all()
    for each in (*into, *by_kernel):
        np.testing.assert_array_equal(dpnp.asnumpy(each), theirs)


def check_staged(nbytes: int, offset: int, expected: int) -> None:
    """Put, get and collectives from the heap, whatever the alignment; ``expected`` payloads are staged here."""
    before, after = neighbours()
    me, n, part = ishmem.my_pe(), ishmem.n_pes(), slice(offset, offset + nbytes)
    data = np.random.default_rng(nbytes).integers(0, 256, (n, nbytes + offset), np.uint8)[:, part]
    source, dest, all_dest = (ishmem.zeros(rows * nbytes + offset, dtype="u1") for rows in (1, 2, n))
    source[part] = dpnp.asarray(data[me])
    into = np.zeros(nbytes, "u1")
    so_far = payloads_so_far()  # before the barrier: after it, the other PE's get may be answered at any time
    ishmem.barrier_all()
    ishmem.put(dest[part], source[part], after)
    ishmem.put_nbi(dest[part.stop :], source[part], after)
    ishmem.get(into, source[part], after)
    ishmem.fcollect(all_dest[offset:], source[part])
    ishmem.barrier_all()
    assert tuple(payloads_so_far() - so_far) == (0, expected)
    np.testing.assert_array_equal(dest.asnumpy()[offset:], np.tile(data[before], 2))
    np.testing.assert_array_equal(into, data[after])
    np.testing.assert_array_equal(all_dest.asnumpy()[offset:], data.ravel())


CARDS = {"ISHMEM_SIM_HOST_ATOMICS": "0"}
"""Devices whose memory the host reads over PCIe."""


@pytest.mark.slow("test_operations[check_burst]")
@pytest.mark.parametrize("device_memory", ["on", "off"])
def test_payloads(device_memory: str) -> None:
    """By device addresses, or staged by the copy engine, from a card's memory.

    Of the 12 payloads that a PE starts, 10 are in device memory; those of the other PE arrive there. A PE stages what
    it sends from its heap: 2 of its puts and the answers to 5 gets of the other PE.
    """
    direct = device_memory == "on"
    with Pes(2, {"ISHMEM_MPI_DEVICE_MEMORY": device_memory, **CARDS}, [1, 1]) as pool:
        for count in (1024, 1025, 30_000):
            expected = (10 + 12 if count > 1024 else 0, 0) if direct else (0, 7 if count == 30_000 else 0)
            pool.run(check_payloads, count, expected)
        for nbytes in () if direct else ((16 << 10) - 1, 16 << 10, 1 << 20, (1 << 20) + 1, (5 << 20) + 3):
            for offset in (0, 1):
                pool.run(check_staged, nbytes, offset, 4 if nbytes >= 16 << 10 else 0)
        pool.run(check_flag_after_data, 200_000, "put_signal")


def check_source_reuse(count: int) -> None:
    """A put that has returned in a kernel no longer reads its source, which is symmetric or private."""
    @dpex.kernel
    def put_all(item: kapi.Item, to, with_gaps, source, times, pe):
        size = source.size
        for turn in range(times):
            for i in range(size):
                source[i] = turn + i
            ishmem.put(to[turn * size : (turn + 1) * size], source, pe)
        for turn in range(times):
            for i in range(size):
                source[i] = turn + i
            ishmem.iput(with_gaps[2 * turn * size : 2 * (turn + 1) * size], source, 2, 1, size, pe)
        ishmem.quiet()

    times, (_, after) = 2 * 16, neighbours()
    for source in (ishmem.zeros(count, dtype="i8"), dpnp.zeros(count, dtype="i8")):
        to, with_gaps = ishmem.zeros((times, count), dtype="i8"), ishmem.zeros((times, count, 2), dtype="i8")
        ishmem.barrier_all()
        dpex.call_kernel(put_all, kapi.Range(1), to.ravel(), with_gaps.ravel(), source, times, after)
        ishmem.barrier_all()
        wanted = np.arange(times)[:, None] + np.arange(count)
        np.testing.assert_array_equal(to.asnumpy(), wanted)
        np.testing.assert_array_equal(with_gaps.asnumpy(), np.stack([wanted, np.zeros_like(wanted)], axis=2))


@pytest.mark.slow_cases("other nodes", "2+2-1")
@pytest.mark.slow_cases("the same on 2 + 2 PEs", "1+3-1024", "1+3-1025")
@pytest.mark.slow_cases("other sizes", "2+2-1024", "2+2-1025")
@pytest.mark.parametrize("count", [1, 7, 1024, 1025])  # the third is the longest put whose data go in a packet
def test_kernel_reuses_source(spread: Pes, count: int) -> None:
    spread.run(check_source_reuse, count)


def check_counter() -> None:
    """PEs of both nodes, the owner's host and kernels add to one word at the same time; no addition is lost."""
    @dpex.kernel
    def add(item: kapi.Item, counter, times, pe):
        for _ in range(times):
            ishmem.atomic_add(counter, 1, pe)

    me, n, times, items = ishmem.my_pe(), ishmem.n_pes(), 300, 4
    counter = ishmem.zeros(1, dtype="i8")
    dpex.call_kernel(add, kapi.Range(items), counter, 1, me)  # compile the kernel before the test begins
    ishmem.barrier_all()
    ishmem.atomic_set(counter, 0, me)
    ishmem.barrier_all()
    for i in range(times):
        ishmem.atomic_add(counter, 1, 0)
        ishmem.atomic_fetch_add(counter, 1, n - 1)
        if i == times // 2:
            dpex.call_kernel(add, kapi.Range(items), counter, times, 0)
            dpex.call_kernel(add, kapi.Range(items), counter, times, n - 1)
    ishmem.barrier_all()
    if me in (0, n - 1):
        assert int(counter[0]) == n * times * (1 + items)


def check_busy_target(how: str) -> None:
    """Operations complete while their target sleeps, computes, waits in MPI or runs a kernel."""
    @dpex.kernel
    def hold(item: kapi.Item, done):
        ishmem.wait_until(done, ishmem.CMP_EQ, 1)

    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, done = ishmem.zeros(2, dtype="i8"), ishmem.zeros(1, dtype="i8")
    if me == n - 1:
        if how == "sleeps":
            time.sleep(1)
        elif how == "computes":
            end = time.monotonic() + 1
            while time.monotonic() < end:
                pass
        elif how == "kernel":
            dpex.call_kernel(hold, kapi.Range(1), done)
        else:
            from mpi4py import MPI

            MPI.COMM_WORLD.Recv(np.zeros(1), source=0)
        assert how == "MPI" or int(done.asnumpy()[0]) == 1
    elif me == 0:
        ishmem.p(a, 7, n - 1)
        ishmem.quiet()
        assert ishmem.g(a, n - 1) == 7
        assert ishmem.atomic_fetch_add(a, 1, n - 1, 1) == 0
        ishmem.p(done, 1, n - 1)
        ishmem.quiet()
        if how == "MPI":
            from mpi4py import MPI

            MPI.COMM_WORLD.Send(np.zeros(1), dest=n - 1)
    ishmem.barrier_all()


@pytest.mark.slow("test_operations[check_burst]")
@pytest.mark.parametrize("how", ["sleeps", "computes", "MPI", "kernel"])
def test_busy_target(spread: Pes, how: str) -> None:
    spread.run(check_busy_target, how)


def check_kernel_beside_wait() -> None:
    """A waiting host serves its own kernel, whose atomics wake a host on another node, which then wakes both.

    Quiet and the barrier stay in the core.
    """
    @dpex.kernel
    def ask(item: kapi.Item, question, reply, times, pe):
        for _ in range(times):
            ishmem.atomic_add(question, 1, pe)
            ishmem.quiet()
        ishmem.wait_until(reply, ishmem.CMP_EQ, times)

    me, n, times = ishmem.my_pe(), ishmem.n_pes(), 20
    question, reply = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="i8")
    if me == 0:
        kernel, _ = dpex.call_kernel_async(ask, kapi.Range(1), (), question, reply, times, n - 1)
        ishmem.wait_until(reply, ishmem.CMP_EQ, times)
        kernel.wait()
    elif me == n - 1:
        ishmem.wait_until(question, ishmem.CMP_EQ, times)
        ishmem.put(reply, question, 0)
    assert _core.quiet() is None
    assert _core.barrier_all() is None


@pytest.mark.slow_cases("the same on 2 + 2 PEs", "1+3-check_places", "1+3-check_burst", "1+3-check_counter")
@pytest.mark.parametrize(
    "check",
    [check_places, check_burst, check_long_bursts, check_counter, check_kernel_beside_wait],
    ids=lambda check: check.__name__,
)
def test_operations(spread: Pes, check: Callable[[], None]) -> None:
    spread.run(check, timeout=120)


def run_on_nodes(name: str, sizes: list[int], *args: str, timeout: float = 90, **env: str) -> tuple[int, str]:
    """Run one of `tests/programs` on emulated nodes; return its status and its output."""
    command = nodes.launcher(sizes, [sys.executable, str(program(name)), *args], preloaded=True)
    done = run_command(command, env=env, timeout=timeout)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow("test_init_finalize.py::test_restart, test_threads.py::test_mpi_communicator, on one node")
@pytest.mark.parametrize(
    ("name", "arguments", "sizes", "said"),
    [
        pytest.param("init_states", ["one_job_after_another"], [1, 2], "good", marks=KEEPS_ADDRESSES),
        ("mpi_of_the_program", ["half"], [2, 2], "right"),
        ("put_in_pieces", [], [1, 1], "right"),
    ],
)
def test_programs(name: str, arguments: list[str], sizes: list[int], said: str) -> None:
    """A process may be a PE of one job after another, with MPI initialised once; a job may use a part of MPI's world,
    on one node or several, while the program calls MPI itself; payloads larger than one MPI message are split.
    """
    status, output = run_on_nodes(name, sizes, *arguments)
    assert (status, output.count(said)) == (0, sum(sizes)), output


def test_without_namespaces(tmp_path: Path) -> None:
    """Each PE writes a file: mpiexec may mix the lines of PEs."""
    path = tmp_path / "program.py"
    path.write_text(
        "import pathlib, ishmem\n"
        "with ishmem.init('64M'):\n"
        f"    pathlib.Path({str(tmp_path)!r}, f'{{ishmem.my_pe()}}.pe').write_text(f'{{ishmem.TEAM_NODE.n_pes()}}')\n"
    )
    command = nodes.launcher([1, 2], [sys.executable, str(path)])
    done = run_command([*command[:3], "--cliques", *command[3:]], timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {file.stem: file.read_text() for file in tmp_path.glob("*.pe")} == {"0": "1", "1": "2", "2": "2"}


def test_error_ends_all(tmp_path: Path) -> None:
    """A PE that raises ends the PEs of all nodes, with a nonzero status."""
    path = tmp_path / "program.py"
    path.write_text("import ishmem\nishmem.init()\n1 / ishmem.my_pe()\nishmem.barrier_all()")
    done = run_command(nodes.launcher([1, 2], [sys.executable, str(path)], preloaded=True), timeout=90)
    assert done.returncode and "ZeroDivisionError" in done.stderr + done.stdout, done
