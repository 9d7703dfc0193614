"""The process of ``ishmem.dpex`` that runs LLVM."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ishmem.dpex.compile import spirv_module, worker


def act(what: str, value: Any = None) -> Any:
    if what == "crash":
        os.write(2, b"LLVM ERROR: cannot select\n")
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError(f"no such thing as {value}")
    return value, os.getppid()  # calls run in children of the worker


@pytest.fixture(autouse=True)
def own_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    worker._end()
    yield
    worker._end()


def test_one_process_serves_all_calls() -> None:
    given = [0, 1, os.urandom(3 << 20)]
    results = [worker.call(act, "return", value) for value in given]
    assert [value for value, _pid in results] == given
    assert len({pid for _value, pid in results}) == 1
    assert results[0][1] != os.getpid()


@pytest.mark.parametrize(
    ("what", "message"),
    [("crash", "LLVM ERROR: cannot select"), ("kill", "LLVM ended with signal 9"), ("raise", "no such thing as 5")],
)
def test_a_crash_is_an_error(what: str, message: str) -> None:
    first = worker.call(act, "return", 1)
    with pytest.raises(worker.WorkerError, match=f"^{message}$"):
        worker.call(act, what, 5)
    value, pid = worker.call(act, "return", 2)
    assert value == 2
    assert pid != first[1]


def test_another_takes_over_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "IDLE", 0.01)
    _value, pid = worker.call(act, "return", 1)
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        time.sleep(0.01)
    assert worker.call(act, "return", 2)[0] == 2


def test_it_keeps_no_files_of_its_parent() -> None:
    read_end, write_end = os.pipe()
    worker.call(act, "return", 1)
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)


def test_a_fork_has_its_own() -> None:
    _value, pid = worker.call(act, "return", 1)
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            status = 0 if worker.call(act, "return", 2)[1] != pid else 2
            worker._end()
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert worker.call(act, "return", 3) == (3, pid)


def test_no_process_and_no_file_remains() -> None:
    files = len(os.listdir("/proc/self/fd"))
    for what in ("return", "crash", "return"):
        with contextlib.suppress(worker.WorkerError):
            _value, pid = worker.call(act, what, 1)
    worker._end()
    assert len(os.listdir("/proc/self/fd")) == files
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


NARROW = """
target triple = "spirv64-unknown-unknown"
define spir_kernel void @narrow(ptr addrspace(1) %out, i64 %x) {
  %t = trunc i64 %x to i4
  %z = zext i4 %t to i64
  %masked = shl i64 %z, 2
  store i64 %masked, ptr addrspace(1) %out
  ret void
}
"""


def test_integers_that_the_back_end_gets_wrong_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = "llvmlite.binding.newpassmanagers.PassBuilder.getModulePassManager"
    monkeypatch.setattr(passes, lambda _builder: SimpleNamespace(run=lambda *_arguments: None))
    with pytest.raises(ValueError, match="an integer of 4 bits"):
        spirv_module._spirv_of("narrow", [NARROW], False)
