"""The launcher: ``ishmrun -n 4 prog.py`` starts a program on 4 PEs.

Two processes run a job. The one that the user started (`main`) prints the PEs' output and forwards signals. It forks
the supervisor (`ishmem.launch.supervisor`), which starts the PEs, watches them and ends those that are left. When
either process dies, the other one cleans up.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from types import FrameType
from typing import NoReturn

from ishmem.common.errors import IshmemError
from ishmem.environment import stack
from ishmem.launch import supervisor
from ishmem.launch.output import Printer
from ishmem.runtime.status_board import StatusBoard

_DESCRIPTION = "Start a program on N processing elements (PEs), one GPU or tile each."
_EPILOG = """\
Each line of output has the number of its PE as prefix. When a PE fails, ishmrun ends the other PEs and
exits with the status of the PE that failed (128 + number for a signal). SIGINT, SIGTERM and SIGHUP go to all
PEs, which then have 10 seconds to end. Settings: see ISHMEM_* in the documentation."""

_OPEN_FILES = 1 << 16

_COUNT_DEVICES = """
from ishmem.ipc import pyze
print(sum(len(pyze.devices(driver)) for driver in pyze.drivers()))
"""


class UsageError(Exception):
    """The command line is wrong; the message is one line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(arguments: list[str] | None = None) -> int:
    """Run the launcher; see ``ishmrun --help``.

    Returns:
        The exit status: 0, that of the first PE that failed, 124 after a time-out, 2 for a wrong command line.
    """
    try:
        options = _parse(arguments)
        command = _command(options)
        _allow_open_files()
        environments = _environments(options)
        return _run(command, environments, options.timeout, not options.no_prefix)
    except (UsageError, IshmemError, ImportError, ValueError) as error:
        print(f"ishmrun: {error}", file=sys.stderr)
    except OSError as error:
        print(f"ishmrun: {error.strerror}{supervisor.hint(error)}", file=sys.stderr)
    return 2


def _allow_open_files() -> None:
    """Raise the limit of open files, which PEs inherit: each PE opens a descriptor for every other PE's heap."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _OPEN_FILES)), hard))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="ishmrun",
        usage="ishmrun -n N [--sim M] [--timeout S] [--no-prefix] (prog.py | -m module) [args ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-n", type=_count, required=True, metavar="N", help="number of PEs")
    parser.add_argument("--sim", type=_count, metavar="M", help="use M simulated GPUs")
    parser.add_argument("--timeout", type=_seconds, metavar="S", help="end the job after S seconds")
    parser.add_argument("--no-prefix", action="store_true", help="print output without PE numbers")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the program and its arguments")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:9]) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, allowed: a whole number, at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e9:
        raise argparse.ArgumentTypeError(f"got {text!r}, allowed: seconds, more than 0")
    return value


def _command(options: argparse.Namespace) -> list[str]:
    if options.module is not None:
        return _module_command(options.module)
    words = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not words:
        raise UsageError("no program given")
    program, *rest = words
    if os.path.isfile(program) or os.path.isdir(program):
        if program.endswith(".py") or not _is_executable(program):
            return [sys.executable, "-u", program, *rest]
        return [os.path.abspath(program), *rest]
    found = None if program.endswith(".py") else shutil.which(program)
    if not found:
        raise UsageError(f"no such program: {program}")
    return [found, *rest]


def _module_command(words: list[str]) -> list[str]:
    if not words:
        raise UsageError("no module given after -m")
    top = words[0].split(".")[0]
    if top not in sys.builtin_module_names and not PathFinder.find_spec(top, [os.getcwd(), *sys.path]):
        raise UsageError(f"no such module: {words[0]}")
    return [sys.executable, "-u", "-m", *words]


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _environments(options: argparse.Namespace) -> list[dict[str, str]]:
    """Return the environment of each PE."""
    if "ISHMEM_JOB" in os.environ:
        _forget_outer_job()
    if options.sim:
        os.environ.update(ISHMEM_DEVICE="sim", ISHMEM_SIM_DEVICES=str(options.sim))
    kind = stack.choose()
    common = {**os.environ, **stack.environment(kind, options.n), "ISHMEM_DEVICE": kind}
    common.update(ISHMEM_NPES=str(options.n), ISHMEM_JOB=os.urandom(16).hex())
    devices = _devices(kind, common)
    return [
        {"ONEAPI_DEVICE_SELECTOR": f"level_zero:{pe % devices}", **common, "ISHMEM_PE": str(pe)}
        for pe in range(options.n)
    ]


def _forget_outer_job() -> None:
    """Remove variables that an enclosing ishmrun has set, so that they do not count as settings of the user."""
    for name in ("ISHMEM_PE", "ISHMEM_NPES", "ISHMEM_JOB", "ISHMEM_BOARD", "ISHMEM_JOINED"):
        os.environ.pop(name, None)
    if re.fullmatch(r"level_zero:\d+", os.environ.get("ONEAPI_DEVICE_SELECTOR", "")):
        del os.environ["ONEAPI_DEVICE_SELECTOR"]


def _devices(kind: str, environment: dict[str, str]) -> int:
    if kind == "sim":
        try:
            return _count(environment["ISHMEM_SIM_DEVICES"])
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"ISHMEM_SIM_DEVICES: {error}") from None
    # In another process: a driver that is initialised here does not survive the fork.
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_DEVICES], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode or int(done.stdout) < 1:
        reason = (done.stderr.strip().splitlines() or ["Level Zero shows none"])[-1]
        raise UsageError(f"no GPU can be used: {reason}; --sim {environment['ISHMEM_NPES']} simulates them")
    return int(done.stdout)


def _run(command: list[str], environments: list[dict[str, str]], timeout: float | None, prefix: bool) -> int:
    pipes = [(os.pipe(), os.pipe()) for _ in environments] if prefix else []
    outputs = [(out[1], err[1]) for out, err in pipes]
    reports, report = os.pipe()
    board = StatusBoard.make(len(environments))
    for environment in environments:
        environment["ISHMEM_BOARD"] = board.path
    pid = supervisor.start(supervisor.JobSpec(command, environments, outputs, report, board, timeout, _hang_timeout()))
    with _forwarding(pid):
        for end in (report, *itertools.chain(*outputs)):
            os.close(end)
        printer = Printer()
        for pe, (out, err) in enumerate(pipes):
            printer.add(out[0], 1, b"[%d] " % pe)
            printer.add(err[0], 2, b"[%d] " % pe)
        printer.add(reports, 2, b"ishmrun: ")
        # The report pipe closes with the supervisor. If it was killed, wait() ends the processes that still write.
        printed = printer.run(until=reports)
        if not printed:
            os.kill(pid, supervisor.STOP)
        status = supervisor.wait(pid)
        if printed:
            printer.run()
        return status


def _hang_timeout() -> float | None:
    """Read ``ISHMEM_TIMEOUT``; the PEs report a value that is wrong."""
    try:
        return _seconds(os.environ.get("ISHMEM_TIMEOUT", ""))
    except argparse.ArgumentTypeError:
        return None


@contextlib.contextmanager
def _forwarding(pid: int) -> Iterator[None]:
    """Forward signals that end a program, except those that the user ignores."""

    def forward(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    wanted = [number for number in supervisor.FORWARDED if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, forward) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
