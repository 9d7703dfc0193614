"""Processes of Linux: how they have ended, their parents, children and orphans, their namespaces and signals."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
from pathlib import Path
from typing import Callable

from ishmem.common.errors import IshmemError

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PIDFD_SEND_SIGNAL, _SI_QUEUE = 424, -1
_INFO, _INFO_BYTES = struct.Struct("@iii4xiIi"), 128  # siginfo_t of a signal with a value
_libc = ctypes.CDLL(None, use_errno=True)


def descriptor(pid: int) -> int | None:
    """Return a descriptor of a process, readable once it has ended; None if it has ended, and on old kernels."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def exit_status(code: int) -> int:
    """Return the exit status for a process that has ended with ``code``: 128 plus the signal, as shells do, or its own.

    Args:
        code: The exit status of the process, or minus the signal that has ended it.
    """
    return code if code >= 0 else 128 - code


def describe_end(code: int) -> str:
    """Return a text on how a process has ended: by the exit status ``code``, or by the signal ``-code``."""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def check_folder() -> None:
    """Check that the working folder of this process exists.

    Raises:
        IshmemError: The folder was removed.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise IshmemError(
            f"the working folder of this process was removed ({error.strerror}), and Python and SYCL need one; cd to "
            "another folder, also if a folder of the same name exists again"
        ) from None


def namespace(kind: str = "pid") -> int:
    """Return the number of this process's namespace of a kind, such as "pid" or "net"; 0 without ``/proc``."""
    try:
        return os.stat(f"/proc/self/ns/{kind}").st_ino
    except OSError:
        return 0


def network() -> str:
    """Return a name of this process's network namespace, to which abstract sockets belong; empty without ``/proc``."""
    return str(namespace("net") or "")


def send_value(handle: int, number: int, value: int) -> None:
    """Send signal ``number`` with an int ``value`` to the process of descriptor ``handle``, if it has not ended."""
    fields = _INFO.pack(number, 0, _SI_QUEUE, os.getpid(), os.getuid(), value)
    _libc.syscall(_PIDFD_SEND_SIGNAL, handle, number, ctypes.create_string_buffer(fields, _INFO_BYTES), 0)


def numbers(name: str = "self") -> list[int]:
    """Return the PIDs of a process in the PID namespaces, from that of ``/proc`` to its own.

    ``name`` is its name in ``/proc``. One PID if both namespaces are the same; empty without the process or ``/proc``.
    """
    try:
        text = Path(f"/proc/{name}/status").read_text(errors="replace")
    except OSError:
        return []
    lines = {key: words.split() for key, _, words in (line.partition(":") for line in text.splitlines())}
    return [int(word) for word in lines.get("NSpid") or lines["Pid"]]


def own_number(name: str) -> int | None:
    """Return the PID, in this process's namespace, of the process of a name in ``/proc``; None if it is not in that."""
    try:
        if os.readlink(f"/proc/{name}/ns/pid") != os.readlink("/proc/self/ns/pid"):
            return None
    except OSError:
        return None
    return next(iter(numbers(name)[-1:]), None)


def stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the state on.

    Empty if there is no such process, or if ``/proc`` is that of another namespace, where PIDs differ.
    """
    return _fields(str(pid)) if numbers() == [os.getpid()] else []


def adopt_orphans(adopt: bool = True) -> None:
    """Make this process the parent of its descendants' orphans from now on, or no longer."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def signal_at_end_of_parent(number: int) -> None:
    """Request that the kernel send this process signal ``number`` when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def die_with(parent: int, number: int = signal.SIGKILL) -> Callable[[], None]:
    """Return a function for a child to call before exec: it gets signal ``number`` when the process ``parent`` dies.

    If that has died already, the function ends the child with status 1.
    """

    def prepare() -> None:
        signal_at_end_of_parent(number)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def settle() -> None:
    """Reset state that exec keeps and a launcher relies on: dispositions of signals, the mask, open standard streams.

    Signals that a shell or nohup ignores for jobs in the background stay ignored: SIGHUP, SIGINT and SIGQUIT.
    """
    keep_ends_of_children()
    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for stream in range(3):  # else a pipe of the launcher would get its number
        with contextlib.suppress(OSError):
            os.fstat(stream)
            continue
        os.open(os.devnull, os.O_RDWR)


def keep_ends_of_children() -> None:
    """Reset an ignored SIGCHLD, which exec keeps: while it is ignored, `os.waitpid` returns no exit statuses."""
    with contextlib.suppress(ValueError):  # only the main thread can
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def end_children() -> None:
    """Kill all children of this process and their descendants, which become its children.

    Without a ``/proc`` that lists them, children that this process has adopted are not killed.
    """
    with contextlib.suppress(ChildProcessError):
        while found := children():
            for pid in found:
                with contextlib.suppress(ProcessLookupError):  # another thread has waited for it
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def children() -> list[int]:
    """Return the PIDs of the children of this process, in its own namespace.

    ``/proc`` may be that of another namespace, where PIDs differ, so each PID is checked by `is_child`.
    """
    own = numbers()
    return [pid for name in _names_of_children(own[:1]) for pid in numbers(name)[len(own) - 1 :][:1] if is_child(pid)]


def is_child(pid: int) -> bool:
    """Return whether a PID is that of a child that was not waited for yet, and so of no other process."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _names_of_children(parent: list[int]) -> list[str]:
    """Return the names in ``/proc`` of the children of a process, which has at most one name there."""
    names = [path.name for path in Path("/proc").glob("[0-9]*")] if parent else []
    return [name for name in names if [*map(int, _fields(name)[1:2])] == parent]


def _fields(name: str) -> list[str]:
    """Return the fields of ``/proc/NAME/stat`` from the state on; empty if there is no such process."""
    try:
        return Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return []
