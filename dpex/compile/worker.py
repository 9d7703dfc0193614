"""A process that runs LLVM, whose SPIR-V back end ends the process where it finds an error.

It is a fork of this process, so it has what this one has imported, but none of its open files. It forks again for each
call: LLVM keeps numbers of a module for the next one in the process. It has done so before the call comes, so a call
does not wait for a fork, and this process pays once for the pages that it shares with a fork. The worker ends when it
has nothing to do for some seconds, or when this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import struct
import sys
import warnings
from typing import Any, Callable, NoReturn

IDLE = 5.0  # seconds
_SIZE = struct.Struct("<q")


class WorkerError(Exception):
    """The call failed, or the process crashed; the message is what it printed."""


class EndedError(Exception):
    """The process has ended without an error."""


class Worker:
    """A forked process that calls a function.

    Args:
        function: The function; its arguments and its result are pickled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        requests, self._to_child = os.pipe()
        self._from_child, results = os.pipe()
        self._output = os.memfd_create("llvm")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child runs LLVM only, which holds no lock here
            self.pid = os.fork()
        if self.pid == 0:
            _serve(function, requests, results, self._output)
        os.close(requests)
        os.close(results)

    def call(self, *arguments: Any) -> Any:
        """Call the function; the worker has ended if this raises.

        Raises:
            WorkerError: The call failed.
            EndedError: The worker had ended before, having had nothing to do for long.
        """
        try:
            _write(self._to_child, pickle.dumps(arguments))
            answer = _read(self._from_child)
        except BrokenPipeError:
            answer = None
        except BaseException:
            self.close()
            raise
        if answer is not None:
            return pickle.loads(answer)
        status, printed = self.close()
        if status == 0:
            raise EndedError
        raise WorkerError(printed or f"LLVM ended with {f'signal {-status}' if status < 0 else f'status {status}'}")

    def close(self) -> tuple[int, str]:
        """End the process; return its exit status and what it has printed since the last result."""
        os.close(self._to_child)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:  # the program waits for all of its children, or ignores their signal
            status = 0
        printed = os.pread(self._output, os.fstat(self._output).st_size, 0)
        os.close(self._from_child)
        os.close(self._output)
        return status, printed.decode(errors="replace").strip()

    def forget(self) -> None:
        """Leave the process to another fork of its parent."""
        for file in (self._to_child, self._from_child, self._output):
            os.close(file)


def _serve(function: Callable[..., Any], requests: int, results: int, output: int) -> NoReturn:
    """Answer requests; end this process without any of its exit handlers."""
    status = 1
    try:
        _detach(requests, results, output)
        while _served(function, requests, results):
            pass
        status = 0
    except BaseException as error:
        os.write(2, str(error).encode())
    finally:
        os._exit(status)


def _served(function: Callable[..., Any], requests: int, results: int) -> bool:
    """Answer a request in a process made for it; return whether there was one.

    LLVM's back end keeps numbers of a module for the next one in the process, which is then invalid. The process is
    made before the request comes.
    """
    take, give = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(give)
        _answer(function, take, results)
    os.close(take)
    waiting = select.poll()  # select.select() takes only descriptors below 1024
    waiting.register(requests, select.POLLIN)
    request = _read(requests) if waiting.poll(1000 * IDLE) else None
    if request is not None:
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        _write(give, request)
    os.close(give)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        os.kill(os.getpid(), -status)
    if status:
        os._exit(status)
    return request is not None


def _answer(function: Callable[..., Any], requests: int, results: int) -> NoReturn:
    """Answer a request, if one comes; end this process."""
    status = 1
    try:
        request = _read(requests)
        if request is not None:
            _write(results, pickle.dumps(function(*pickle.loads(request))))
        status = 0
    except BaseException as error:
        os.write(2, str(error).encode())
    finally:
        os._exit(status)


def _detach(requests: int, results: int, output: int) -> None:
    """Keep no files of the parent, whose end others notice by their closing, and none of its signal handlers."""
    null = os.open(os.devnull, os.O_RDONLY)
    for number, own in enumerate((null, output, output)):
        os.dup2(own, number)
    low, high = sorted((requests, results))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV):
        signal.signal(number, signal.SIG_DFL)


def _write(pipe: int, value: bytes) -> None:
    view = memoryview(_SIZE.pack(len(value)) + value)
    while view:
        view = view[os.write(pipe, view) :]


def _read(pipe: int) -> bytes | None:
    """Return the next value; ``None`` if the other process has closed the pipe."""
    size = _read_bytes(pipe, _SIZE.size)
    return None if size is None else _read_bytes(pipe, _SIZE.unpack(size)[0])


def _read_bytes(pipe: int, count: int) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        part = os.read(pipe, count - len(found))
        if not part:
            return None
        found += part
    return bytes(found)


_worker: Worker | None = None


def start(function: Callable[..., Any]) -> None:
    """Start the worker, unless it runs: it is then ready when its first call comes."""
    global _worker
    _worker = _worker or Worker(function)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in the worker, which serves one function only; start it if need be.

    Raises:
        WorkerError: The call failed, or the process crashed.
    """
    global _worker
    for _attempt in range(2):
        start(function)
        worker, _worker = _worker, None
        assert worker is not None
        with contextlib.suppress(EndedError):
            result = worker.call(*arguments)
            _worker = worker
            return result
    raise WorkerError("LLVM ended without a word")


def _end() -> None:
    global _worker
    if _worker:
        _worker.close()
    _worker = None


def _forget() -> None:
    """Leave the worker to the parent."""
    global _worker
    if _worker:
        _worker.forget()
    _worker = None


atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
