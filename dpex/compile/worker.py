"""A worker process that runs LLVM, whose SPIR-V back end ends its process when it finds an error.

It is a fork of this process, so it has the same imported modules, but no open files. It forks again for each call,
since LLVM continues the numbers of a module in the next one of the process. It forks before the call arrives, so a call
does not wait for a fork, and this process pays once for the pages that it shares with a fork. The worker ends when it
is idle for some seconds, or when this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import warnings
from multiprocessing.connection import Connection, Pipe
from typing import Any, Callable, NoReturn

IDLE = 5.0  # seconds
_SERVED, _FAILED, _IDLE = range(3)
"""Exit statuses of a child of the worker: it has returned a result, has failed, or has received no call."""


class WorkerError(Exception):
    """The call failed, or the process crashed; the message is its output."""


class EndedError(Exception):
    """The worker has ended without an error, because it was idle."""


class ForkedWorker:
    """A forked worker process that calls a function.

    Args:
        function: The function; its arguments and its result are pickled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._calls, calls = Pipe()
        self._output = os.memfd_create("llvm")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child runs LLVM only, which holds no lock here
            self.pid = os.fork()
        if self.pid == 0:
            _serve(function, calls, self._output)
        calls.close()

    def call(self, *arguments: Any) -> Any:
        """Return the result of calling the function in the worker; the worker has ended if this raises.

        Raises:
            WorkerError: The call failed.
            EndedError: The worker had ended before, after `IDLE` seconds without a call.
        """
        try:
            self._calls.send(arguments)
            return self._calls.recv()
        except (EOFError, ConnectionError):
            status, printed = self.close()
        except BaseException:
            self.close()
            raise
        if status == 0:
            raise EndedError
        raise WorkerError(printed or f"LLVM ended with {f'signal {-status}' if status < 0 else f'status {status}'}")

    def close(self) -> tuple[int, str]:
        """End the worker; return its exit status, or minus its signal, and its output since the last call began."""
        self._calls.close()
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:  # the program waits for all of its children, or ignores their signal
            status = 0
        printed = os.pread(self._output, os.fstat(self._output).st_size, 0)
        os.close(self._output)
        return status, printed.decode(errors="replace").strip()

    def forget(self) -> None:
        """Close this process's descriptors of the worker without ending it."""
        self._calls.close()
        os.close(self._output)


def _serve(function: Callable[..., Any], calls: Connection, output: int) -> NoReturn:
    """Execute calls, each in a child; then end this process without its exit handlers."""
    status = _FAILED
    try:
        _detach(calls.fileno(), output)
        while (status := _status_of_answer(function, calls)) == _SERVED:
            pass
        if status < 0:
            os.kill(os.getpid(), -status)
    except BaseException as error:
        os.write(2, str(error).encode())
    finally:
        os._exit(0 if status == _IDLE else status)


def _status_of_answer(function: Callable[..., Any], calls: Connection) -> int:
    """Fork a child that executes one call; return its exit status, or minus its signal."""
    child = os.fork()
    if child == 0:
        _answer(function, calls)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _answer(function: Callable[..., Any], calls: Connection) -> NoReturn:
    """Wait `IDLE` seconds for a call and execute it; then end this process."""
    status = _IDLE
    try:
        if calls.poll(IDLE):
            arguments = calls.recv()
            status = _FAILED
            os.ftruncate(1, 0)
            os.lseek(1, 0, os.SEEK_SET)
            calls.send(function(*arguments))
            status = _SERVED
    except EOFError:  # the parent has ended, or needs no more
        pass
    except BaseException as error:
        os.write(2, str(error).encode())
    finally:
        os._exit(status)


def _detach(calls: int, output: int) -> None:
    """In the forked worker: close inherited files, so that their readers see an end, and reset the signal handlers."""
    null = os.open(os.devnull, os.O_RDONLY)
    for number, own in enumerate((null, output, output)):
        os.dup2(own, number)
    os.closerange(3, calls)
    os.closerange(calls + 1, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV):
        signal.signal(number, signal.SIG_DFL)


_worker: ForkedWorker | None = None


def start(function: Callable[..., Any]) -> None:
    """Start the worker for calls of ``function``, unless it runs."""
    global _worker
    _worker = _worker or ForkedWorker(function)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call in the worker, which is started if it does not run; always of the same function.

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
    """In a forked child, drop the worker of the parent without ending it."""
    global _worker
    if _worker:
        _worker.forget()
    _worker = None


atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
