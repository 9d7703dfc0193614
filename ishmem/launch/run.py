"""The launcher: ``ishmem run -n 4 prog.py`` starts a program on 4 PEs.

Two processes run a job on one node. The one that the user started (`main`) prints the PEs' output and forwards signals.
It forks the supervisor (`ishmem.launch.supervisor`), which starts the PEs, monitors them and ends those that remain.
When either process dies, the other one cleans up. `ishmem.launch.hosts` runs jobs on several nodes; a process of an MPI
job becomes a PE (`ishmem.launch.rank`).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import os
import resource
import sys

from ishmem.common import kernel_wait, processes
from ishmem.common.errors import IshmemError
from ishmem.common.limits import advice, doing
from ishmem.common.status_board import StatusBoard
from ishmem.environment import card
from ishmem.environment.mpi_variables import Launched, launched
from ishmem.launch import devices, preload, supervisor
from ishmem.launch.options import UsageError, command, parse, setting
from ishmem.launch.output import Printer

_OPEN_FILES = 1 << 16


def main(arguments: list[str] | None = None) -> int:
    """Run the launcher with these words of the command line, by default ``sys.argv``; see ``ishmem run --help``.

    In a PE that it forks, and in a process of an MPI job, it runs the program and does not return.

    Returns:
        The exit status: 0, or that of the first PE that failed; 124 after a time-out, 2 if the job cannot start.
    """
    program: tuple[list[str], set[int]] | None = None
    processes.settle()
    try:
        processes.check_folder()
        return _start(parse(arguments))
    except preload.Program as forked:
        program = forked.command, forked.kept
    except (UsageError, IshmemError, ImportError, ValueError) as error:
        print(f"ishmem run: {error}", file=sys.stderr)
    except OSError as error:
        print(f"ishmem run: cannot start the job: {error}{advice(error)}", file=sys.stderr)
    except (MemoryError, RuntimeError) as error:  # of a thread that cannot start
        print(f"ishmem run: cannot start the job: {error or 'no memory'}{advice(error)}", file=sys.stderr)
    if program:
        preload.run(*program)
    return 2


def _start(options: argparse.Namespace) -> int:
    this, on_hosts = launched(), options.hosts or options.hostfile
    if this is not None:
        _check_inside(this, options)
    elif options.n is None and not on_hosts:
        raise UsageError("-n, the number of PEs, is missing")
    program = command(options)
    if options.card:
        _use_card(options)
    if options.survive:
        os.environ["ISHMEM_ON_LOSS"] = "continue"
    if options.trace:
        os.environ["ISHMEM_TRACE"] = os.path.abspath(options.trace)
    _allow_open_files()
    if this is not None:
        from ishmem.launch import rank

        rank.become(this, options.sim, program)
    if on_hosts:
        return _on_hosts(options, program)
    return _run(program, _environments(options.n, options.sim), options)


def _use_card(options: argparse.Namespace) -> None:
    """Set the emulated card of the PEs; with ``--preload``, also of this process, which imports the stack for them."""
    os.environ.pop("ISHMEM_DEVICE", None)
    os.environ[card.VARIABLE] = options.card
    if options.preload:
        card.enter()


def _check_inside(this: Launched, options: argparse.Namespace) -> None:
    """Raise `UsageError` for options that start PEs, in a process of an MPI job: each would start as many."""
    for option in ("n", "hosts", "hostfile", "ppn", "timeout"):
        if getattr(options, option) is not None:
            name = f"-{option}" if option == "n" else f"--{option}"
            raise UsageError(
                f"{name}: this ishmem run is {this.words}, and so is one PE; "
                f"leave out {name}, or leave out the launcher and let ishmem run start the PEs"
            )
    if options.survive:
        raise UsageError(
            f"--survive: this ishmem run is {this.words}, which ends all PEs with the first one; "
            "start them by ishmem run --survive --hosts"
        )
    if options.preload:
        raise UsageError(f"--preload: this ishmem run is {this.words}, and its only PE imports the stack itself")


def _on_hosts(options: argparse.Namespace, program: list[str]) -> int:
    from ishmem.launch import hosts, mpiexec

    listed = hosts.parse_hosts(options.hosts) if options.hosts else hosts.read_hosts(options.hostfile)
    places = hosts.places(options.n, options.ppn, listed)
    mpiexec.require_mpi4py()
    launcher = mpiexec.find(os.environ.get("ISHMEM_MPIEXEC"))
    job = hosts.MpiexecJob(launcher, places, not options.no_prefix, options.survive, options.timeout)
    return job.run(program, options.sim)


def _allow_open_files() -> None:
    """Raise the limit of open files, which PEs inherit: each PE opens a descriptor for every other PE's heap."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _OPEN_FILES)), hard))


def _environments(n: int, sim: int | None) -> list[dict[str, str]]:
    """Return the environment of each of ``n`` PEs; ``sim`` is the number of simulated devices or None."""
    common, gpus = devices.environment(n, sim)
    common.update(ISHMEM_NPES=str(n), ISHMEM_JOB=os.urandom(16).hex(), ISHMEM_NETWORK=processes.network())
    return [{**common, **devices.choice(common, gpus, pe), "ISHMEM_PE": str(pe)} for pe in range(n)]


def _run(program: list[str], environments: list[dict[str, str]], options: argparse.Namespace) -> int:
    with doing("make pipes for the output of the PEs"):
        pipes = [(os.pipe(), os.pipe()) for _ in environments] if not options.no_prefix else []
        reports, report = os.pipe()
    outputs = [(out[1], err[1]) for out, err in pipes]
    board = StatusBoard.make(len(environments))
    for environment in environments:
        environment["ISHMEM_BOARD"] = board.path
    spec = supervisor.JobSpec(
        program, environments, outputs, report, board, options.timeout, setting("ISHMEM_TIMEOUT"),
        setting("ISHMEM_WAIT_NOTICE", kernel_wait.NOTICE) or 0.0, options.stdin, options.preload,
    )  # fmt: skip
    pid = supervisor.start(spec)
    with supervisor.forwarding(functools.partial(_forward, pid)):
        for end in (report, *itertools.chain(*outputs)):
            os.close(end)
        printer, is_terminal = Printer(), os.isatty(0)
        for pe, (out, err) in enumerate(pipes):
            printer.add(out[0], 1, b"[%d] " % pe, prompts=is_terminal and pe == options.stdin)
            printer.add(err[0], 2, b"[%d] " % pe)
        printer.add(reports, 2, b"ishmem run: ")
        # The report pipe closes with the supervisor. If it was killed, wait() ends the processes that still write.
        printed = printer.run(until=reports)
        if not printed:
            _forward(pid, supervisor.STOP)
        status = supervisor.wait(pid)
        if printed:
            printer.run()
        return status


def _forward(pid: int, number: int) -> None:
    if processes.is_child(pid):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main())
