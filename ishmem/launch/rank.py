"""One PE that mpiexec has started: selects its device and runs the program.

``mpiexec -n 12 -ppn 6 ishmem run prog.py`` runs the program in place of its process (`become`). ``ishmem run --hosts``
starts this module as a *guard*: the program is its child; it marks the lines that the program prints with the PE's
number (`Line`), forwards signals, and reports the end of the program (`Ended`). mpiexec may kill a guard at any time:
its program then ends too.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import NamedTuple, NoReturn

from ishmem.common import processes
from ishmem.common.errors import IshmemError
from ishmem.common.job_end import FAILED_PROGRAM
from ishmem.environment.mpi_library import transport_default
from ishmem.environment.mpi_variables import Launched, launched
from ishmem.launch import devices, supervisor
from ishmem.launch.options import UsageError
from ishmem.launch.output import Printer

_READABLE = 0.2  # seconds for other processes of the node to read how a program has failed, before it is collected
_MARK = b"\x1e"
_LINE = re.compile(rb"\x1e(\d+) (.*)", re.DOTALL)
_ENDED = re.compile(rb"\x1e(\d+)=(-?\d+)(!?)@(.*)")


def environment(this: Launched, sim: int | None) -> dict[str, str]:
    """Return the program's environment, with a device by the rank on the node unless the user selects one.

    ``sim`` is the number of simulated devices, or None. Where the rank is not known, ``init`` selects the device.
    """
    common, gpus = devices.environment(this.local_size or 1, sim)
    common = {**transport_default(), **common}
    if this.local_rank is None:  # then ``init`` chooses, by the PE's place on the node
        return common
    return {**common, **devices.choice(common, gpus, this.local_rank)}


def become(this: Launched, sim: int | None, command: list[str]) -> NoReturn:
    """Replace this process by ``command``, with the environment of `environment`; ``OSError`` if that fails."""
    os.execvpe(command[0], command, environment(this, sim))


class Line(NamedTuple):
    """A line that a PE has printed, with its line end."""

    pe: int
    text: bytes


class Ended(NamedTuple):
    """The end of a PE.

    Attributes:
        pe: The number of the PE.
        code: The exit status, or minus the signal.
        by_mpiexec: Whether mpiexec has ended it, by a signal to the guard.
        host: The name of its node.
    """

    pe: int
    code: int
    by_mpiexec: bool
    host: str


def line_mark(pe: int) -> bytes:
    """Return the mark that a guard writes before each line of PE ``pe``."""
    return _MARK + b"%d " % pe


def end_mark(end: Ended) -> bytes:
    """Return the line by which a guard reports the end of its PE."""
    return _MARK + f"{end.pe}={end.code}{'!' * end.by_mpiexec}@{end.host}\n".encode()


def parse(line: bytes) -> Line | Ended | None:
    """Return the marked line or the end of a PE in a line of mpiexec's output; None if it is mpiexec's own line."""
    if match := _LINE.fullmatch(line):
        return Line(int(match[1]), match[2])
    if match := _ENDED.fullmatch(line.rstrip(b"\r\n")):
        return Ended(int(match[1]), int(match[2]), bool(match[3]), match[4].decode(errors="replace"))
    return None


class _Guard:
    """The guard of one PE, which runs the program as its child."""

    def __init__(self, pe: int, command: list[str], environment: dict[str, str]) -> None:
        """Start ``command``, the program of PE ``pe``, as a child with ``environment``."""
        self._pe, self._has_forwarded, self._over = pe, False, threading.Event()
        self._goes_on = "ISHMEM_HUB" in environment
        processes.adopt_orphans()
        pipes = [os.pipe(), os.pipe()]
        self._outputs = [read for read, _write in pipes]
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=pipes[0][1],
            stderr=pipes[1][1],
            close_fds=False,  # one of them may be the launcher's
            start_new_session=True,
            preexec_fn=processes.die_with(os.getpid()),
        )
        for _read, write in pipes:
            os.close(write)

    def run(self) -> NoReturn:
        """Print the output of the program until it ends, and exit with its status; with ``--survive``, with 0."""
        for number in supervisor.FORWARDED:  # passed on even if the launcher ignores them
            signal.signal(number, signal.SIG_DFL)
        with supervisor.forwarding(self._forward):
            self._run()

    def _run(self) -> NoReturn:
        ended, end = os.pipe()
        for watch in (self._await_program, self._await_loss_of_reader):
            threading.Thread(target=watch, args=(end,), daemon=True).start()
        printer = Printer()
        for target, pipe in enumerate(self._outputs, 1):
            printer.add(pipe, target, line_mark(self._pe))
        printer.add(ended, 2, b"")
        printed = printer.run(until=ended)
        self._process.kill()
        code = self._process.wait()
        if printed:
            _write(end_mark(Ended(self._pe, code, self._has_forwarded, socket.gethostname())))
            # The node's monitor may be a child of this PE: it ends with the node's last PE.
            threading.Timer(FAILED_PROGRAM, processes.end_children).start()
            printer.run()
            if self._goes_on:
                self._over.wait()  # where the first guard ends, mpiexec ends the others
        processes.end_children()
        os._exit(processes.exit_status(code) if not self._goes_on else 0)

    def _forward(self, number: int) -> None:
        self._has_forwarded = True
        self._over.set()
        self._process.send_signal(number)

    def _await_program(self, end: int) -> None:
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        if ended is not None and ended.si_status and not self._goes_on:
            time.sleep(_READABLE)
        self._process.wait()
        os.close(end)

    def _await_loss_of_reader(self, _end: int) -> None:
        """Kill the program when the standard output has lost its reader, mpiexec's process on this node."""
        poll = select.poll()
        poll.register(1, 0)
        poll.poll()
        self._over.set()
        self._process.kill()


def main(arguments: list[str]) -> int:
    """Run the guard of a PE for ``[--sim M] -- program [argument ...]`` and exit; return 2 if the PE cannot start."""
    sim = int(arguments[1]) if arguments[0] == "--sim" else None
    command, host = arguments[arguments.index("--") + 1 :], socket.gethostname()
    processes.settle()
    this = launched(single=True)
    if this is None or this.rank is None:
        print(f"{host}: it has set no variable with the rank; set ISHMEM_MPIEXEC to another one", file=sys.stderr)
        return 2
    try:
        _Guard(this.rank, command, environment(this, sim)).run()
    except (UsageError, IshmemError, ImportError, ValueError, OSError) as error:
        _write(line_mark(this.rank) + f"ishmem run: {error}\n".encode())
        _write(end_mark(Ended(this.rank, 2, False, host)))
    return 2


def _write(text: bytes) -> None:
    with contextlib.suppress(OSError):  # mpiexec may have ended
        os.write(2, text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
