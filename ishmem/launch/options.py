"""The command line of ``ishmem run`` and ``ishmrun``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from importlib.machinery import PathFinder
from typing import NoReturn

from ishmem.common import limits

_USAGE = """\
ishmem run -n N [--sim M | --card CARD] [--timeout S] [--preload] [--survive] [--trace FOLDER] [--no-prefix]
          PROGRAM [args ...], where PROGRAM is prog.py, -m module, -c code or an executable
       ishmem run -n N --hosts HOST[:SLOTS],... [--ppn P] ... prog.py [args ...]     on several nodes, by mpiexec
       mpiexec ... ishmem run prog.py [args ...]                                     as one PE of an MPI job
       ishmrun ...                                                                   the same as ishmem run"""
_DESCRIPTION = "Start a program on N processing elements (PEs), one GPU or tile each."
_EPILOG = """\
Each line of output has the number of its PE as prefix. When a PE fails, ishmem run ends the other PEs and
exits with the status of the PE that failed (128 + number for a signal). Standard input goes to PE 0, or
to that of --stdin, so breakpoint() works there. SIGINT, SIGTERM and SIGHUP go to all
PEs, which then have 10 seconds to end. Several nodes need mpi4py and the site's mpiexec, which ISHMEM_MPIEXEC
may name; PEs are numbered host by host. Settings: see ISHMEM_* in the documentation."""


class UsageError(Exception):
    """The command line is wrong; the message is one line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options of the command line, a list of words; None stands for ``sys.argv``. ``--help`` exits.

    Raises:
        UsageError: The command line is wrong.
    """
    parser = _Parser(
        prog="ishmem run",
        usage=_USAGE,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-n", type=count, metavar="N", help="number of PEs")
    parser.add_argument("-np", dest="n", type=count, metavar="N", help="the same")
    parser.add_argument("--hosts", metavar="HOST[:SLOTS],...", help="run on these nodes; SLOTS PEs fit on each")
    parser.add_argument("--hostfile", metavar="FILE", help="the same, read from a file with a host on each line")
    parser.add_argument("--ppn", "-ppn", type=count, metavar="P", help="number of PEs on each node")
    parser.add_argument("--sim", type=count, metavar="M", help="use M simulated GPUs, on each node")
    parser.add_argument("--card", metavar="CARD", help="use emulated cards, such as b580, on each node")
    parser.add_argument("--timeout", type=seconds, metavar="S", help="end the job after S seconds")
    parser.add_argument("--trace", metavar="FOLDER", help="write a trace of all PEs, which `ishmem trace` shows")
    parser.add_argument("--no-prefix", action="store_true", help="print output without PE numbers")
    parser.add_argument("--preload", action="store_true", help="import dpctl, dpnp and numba once, not once in each PE")
    parser.add_argument("--survive", action="store_true", help="go on with the other PEs when one dies: ishmem.shrink")
    parser.add_argument("--stdin", type=number, metavar="PE", default=0, help="the PE that gets the input; default 0")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m")
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, help="run a text, as python -c")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the program and its arguments")
    options = parser.parse_args(arguments)
    if options.hosts and options.hostfile:
        raise UsageError("--hosts and --hostfile: got both, allowed: one of them")
    if options.sim and options.card:
        raise UsageError("--sim and --card: got both, allowed: one of them")
    if options.n and options.stdin >= options.n:
        raise UsageError(f"--stdin: got {options.stdin}, allowed: 0 to {options.n - 1}")
    if options.ppn and not (options.hosts or options.hostfile):
        raise UsageError("--ppn needs --hosts or --hostfile")
    if options.preload and (options.hosts or options.hostfile):
        raise UsageError("--preload: got --hosts or --hostfile as well, allowed: jobs on this node")
    return options


def count(text: str) -> int:
    """Return the integer in a text; raise ``ArgumentTypeError`` if it is no whole number from 1 to 999999999."""
    return number(text, 1)


def number(text: str, least: int = 0) -> int:
    """Return the integer in a text; raise ``ArgumentTypeError`` if it is not from ``least`` to 999999999."""
    digits = text.lstrip("0") or "0"  # not too many for int()
    if not text.isascii() or not text.isdigit() or len(digits) > 9 or int(digits) < least:
        raise argparse.ArgumentTypeError(f"got {text!r}, allowed: a whole number, at least {least}, below 1000000000")
    return int(digits)


def seconds(text: str) -> float:
    """Return the time in seconds in a text; raise ``ArgumentTypeError`` unless it is more than 0, at most 1e9."""
    try:
        return limits.seconds(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}, allowed: {limits.TIME_ALLOWED}") from None


def setting(name: str, default: float | None = None) -> float | None:
    """Return a time in seconds from variable ``name``; ``default`` if it is unset or wrong, which the PEs report."""
    try:
        return seconds(os.environ[name])
    except (KeyError, argparse.ArgumentTypeError):
        return default


def command(options: argparse.Namespace) -> list[str]:
    """Return the command of a PE: the interpreter with a Python program, or an executable with its arguments.

    Raises:
        UsageError: There is no such program or module.
    """
    if options.module is not None:
        return _module_command(options.module)
    if options.code is not None:
        if not options.code:
            raise UsageError("no text given after -c")
        return [sys.executable, "-u", "-c", *options.code]
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
