"""The process that mpiexec starts for a forked PE: requests the PE from the emulated node and ends with its status.

    python -S -I forked_pe.py FOLDER PROGRAM [ARGUMENT ...]

It starts in a hundredth of the time of a PE, since it imports nothing else of ishmem.
"""

import contextlib
import marshal
import os
import signal
import socket
import sys

LARGEST = 1 << 20
"""Most bytes of a request."""

PMI = "PMI_FD"
"""The variable with the descriptor of a process's connection to mpiexec."""

_FORWARDED = signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2


def main(folder: str, *command: str) -> None:
    """Request a PE that runs ``command`` from the node with sockets in ``folder``; end with the PE's status."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(f"{folder}/{os.uname().nodename}.pes")
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    files = [0, 1, 2, *(int(os.environ[name]) for name in [PMI] if name in os.environ)]
    socket.send_fds(connection, [marshal.dumps((command, dict(os.environ), os.getcwd()))], files)
    pid = int(connection.recv(16))
    for number in _FORWARDED:
        signal.signal(number, lambda number, _frame: _send(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    status = int(connection.recv(16) or -signal.SIGKILL)
    if status < 0:
        with contextlib.suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    main(*sys.argv[1:])
