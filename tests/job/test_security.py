"""A job refuses other users, processes that do not know its name, and invalid messages."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from subprocesses import ISHMRUN, program, run_program
from test_links import LIMIT, OF_JOB, check_round, in_threads, open_files, wait_until

from ishmem.common.errors import IshmemError
from ishmem.ipc import handles, wire
from ishmem.ipc.links import Links
from ishmem.ipc.wire import Kind, Message

STRANGER = 65534
"""User number of the attacker."""


@pytest.fixture
def job() -> str:
    return uuid.uuid4().hex


def as_stranger(text: str, *words: str) -> list[str]:
    """Run a program as another user and return its lines; skips the test where that is not possible."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    python = os.path.realpath(sys.executable)
    command = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", python, "-I", "-S"]
    try:
        done = subprocess.run([*command, "-c", text, *words], capture_output=True, text=True, timeout=OF_JOB, cwd="/")
    except FileNotFoundError as error:
        pytest.skip(f"no way to start a process of another user: {error}")
    if not done.stdout and ("Permission denied" in done.stderr or done.returncode == 127):
        # Python's own folders may be closed to others: then without a new program, and with its modules loaded before.
        done = subprocess.run(
            [sys.executable, "-c", f"import array, contextlib, ctypes, os, signal, socket, sys; os.setgroups([]); "
             f"os.setresgid(*3*[{STRANGER}]); os.setresuid(*3*[{STRANGER}])\n{text}", *words],
            capture_output=True, text=True, timeout=OF_JOB,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[str]]:
    """A job of two PEs that waits for a line."""
    command = [*ISHMRUN, "-n", "2", "--no-prefix", str(program("job_with_static_memory"))]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(15)


def test_another_user_has_no_way_in(victim: subprocess.Popen[str]) -> None:
    assert victim.stdout and victim.stdin
    lines = [victim.stdout.readline().split() for _ in range(2)]
    assert sorted(lines) == [["ready", "0"], ["ready", "1"]], lines
    pids = children(victim.pid)
    said = as_stranger(program("attacks_on_processes").read_text(), *map(str, [victim.pid, *pids]))
    assert len(pids) >= 3  # the supervisor and two PEs
    assert not [line for line in said if line.startswith("DONE")]
    assert len([line for line in said if line.startswith("refused")]) == 47 * (1 + len(pids))
    out, _ = victim.communicate("go on\n", timeout=OF_JOB)
    assert victim.returncode == 0 and out.count("whole") == 2, out


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, and theirs."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    direct = [int(word) for word in found.stdout.split()]
    return [*direct, *(below for child in direct for below in children(child))]


def test_another_user_cannot_join(job: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "ishmem")
    before, found = open_files(), {}

    def connect(pe: int) -> None:
        found[pe] = Links.connect(job, pe, 2, LIMIT)

    first = threading.Thread(target=connect, args=(0,))
    first.start()
    time.sleep(0.1)
    try:
        hello = wire.hello(job, 1, 2).pack().hex()  # it even knows the name of the job
        answer = as_stranger(program("hello").read_text(), wire.address(job)[1:], hello, "1")
    finally:
        connect(1)
        first.join(LIMIT)
    message = wire.parse(bytes.fromhex(answer[0]))
    assert message.kind == Kind.REFUSED and f"user {STRANGER}" in message.payload.decode()
    assert "refused a connection" in caplog.text
    in_threads([(check_round, links, 4) for links in found.values()])
    for links in found.values():
        links.close()
    assert wait_until(lambda: open_files() <= before)


LISTENS = """
import socket, sys, time
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("\\0" + sys.argv[1])
listener.listen(5)
time.sleep(2)
"""


def test_another_user_cannot_stand_in_for_pe_0(job: str) -> None:
    squatter = threading.Thread(target=as_stranger, args=(LISTENS, wire.address(job)[1:]))
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    squatter.start()
    try:
        assert wait_until(lambda: f"@{wire.address(job)[1:]}" in Path("/proc/net/unix").read_text(), LIMIT)
        with pytest.raises(IshmemError, match=f"user {STRANGER}"):
            Links.connect(job, 1, 2, LIMIT)
        with pytest.raises(IshmemError, match="cannot listen") as caught:
            Links.connect(job, 0, 2, LIMIT)
        assert job not in str(caught.value)
    finally:
        squatter.join()


def test_the_hub_must_know_the_job(job: str) -> None:
    """A process of the same user that has seen the address listens on it, and welcomes without the job's name."""
    with wire.new_socket() as listener:
        listener.bind(wire.address(job))
        listener.listen(1)

        def welcome() -> None:
            with wire.accept(listener, job) as connection:
                assert connection.recv(1 << 16)
                wire.send(connection, Message(Kind.WELCOME, 1))

        impostor = threading.Thread(target=welcome)
        impostor.start()
        with pytest.raises(IshmemError, match="for the PEs of this job but is not part of it"):
            Links.connect(job, 1, 2, 5)
        impostor.join()


def test_the_name_of_a_job_is_not_told(job: str) -> None:
    told = wire.address(job) + wire.hello(job, 1, 2).pack().hex() + wire.welcome(job, 1).pack().hex()
    assert job not in told and bytes.fromhex(job).hex() not in told


def descriptors() -> Iterator[tuple[str, int]]:
    """Yield what is not the memory of a heap: its name and a descriptor."""
    yield "pipe", os.pipe2(os.O_CLOEXEC)[0]
    yield "socket", socket.socket(socket.AF_UNIX).detach()
    yield "folder", os.open("/", os.O_RDONLY)
    yield "null", os.open("/dev/null", os.O_RDWR)
    yield "read-only", os.open(__file__, os.O_RDONLY)
    small = os.memfd_create("small")
    os.ftruncate(small, 4096)
    yield "too small", small
    yield "empty", os.memfd_create("empty")
    sealed = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
    os.ftruncate(sealed, 1 << 20)
    import fcntl

    fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    yield "sealed", sealed


def test_descriptors_of_the_wrong_kind_are_refused() -> None:
    before = open_files()
    for name, fd in descriptors():
        with pytest.raises(IshmemError, match="cannot map"):
            handles.map_host([fd], 1 << 20)
        os.close(fd)
        assert len(open_files() - before) == 1, name  # the other end of the pipe
    with pytest.raises(IshmemError, match="cannot map"):
        handles.map_host([], 1 << 20)


def test_a_pe_that_sends_no_heap_ends_init_on_every_pe() -> None:
    kinds = ["pipe", "none", "many", "small", "bytes", "offset"]
    done = run_program(program("pe_sends_no_heap"), 2, *kinds, options=["--no-prefix"], timeout=OF_JOB)
    for kind in kinds:
        assert done.stdout.count(f"{kind} ") == 2 and f"{kind} True" in done.stdout, done


LISTS_DESCRIPTORS = """
import subprocess, ishmem
ishmem.init("8M")
kept = ishmem.static("kept", 4)
subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, check=True)
ishmem.finalize()
"""


def test_no_descriptor_is_inherited_by_accident() -> None:
    """A program started by a PE inherits no descriptor of the PE."""
    done = run_program(LISTS_DESCRIPTORS, 1, options=["--no-prefix"], forked=False)
    assert done.returncode == 0 and "/proc/" in done.stdout, done
    assert not any(word in done.stdout for word in ("ze_simulator", "ishmem-kept", "socket")), done.stdout
