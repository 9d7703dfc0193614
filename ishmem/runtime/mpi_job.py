"""The end of a job over MPI: the monitor of each node, and when MPI is finalised or aborted.

A PE that fails ends all processes, and ishmem ends before MPI does. The first PE of each node starts the monitor
(``ishmem.launch.monitor``), to which all PEs of the node are connected by their links.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from ishmem.common.errors import IshmemError
from ishmem.common.job_end import FAILED_PROGRAM, REPORT_OVER_MPI
from ishmem.runtime import program_status

if TYPE_CHECKING:
    from ishmem.runtime.network import Network, Node

Addresses = list[tuple[str, int]]

_START = 20.0  # seconds for the monitor to start


class MpiJob:
    """The exit of this process from a job of several PEs over MPI.

    A process that exits without `leave` aborts the MPI job: the others would wait for it in ``MPI_Finalize``. In a job
    that continues after losses, processes exit without ``MPI_Finalize``, which may wait for lost ones.

    Attributes:
        failure: Returns time and exit status of the first failure in the job, or None.
    """

    def __init__(self, goes_on: bool = False) -> None:
        """Monitor the end of this process; ``goes_on`` is whether the job continues after a loss."""
        self._goes_on = goes_on
        from mpi4py import MPI

        self._mpi, self._process = MPI, os.getpid()
        self._key = MPI.KEYVAL_INVALID
        self._finish: Callable[[], None] | None = None
        self._finalize_mpi = MPI.Finalize
        self.failure: Callable[[], tuple[float, int] | None] = lambda: None
        program_status.watch_status()
        atexit.register(self._at_exit)

    def before_finalize(self, finish: Callable[[], None]) -> None:
        """Call ``finish`` when the program calls ``MPI_Finalize`` before this PE leaves."""
        self._finish = finish
        # With a thread of the engine in MPI, calls inside MPI_Finalize can leave MPICH's lock taken. So ishmem ends
        # before MPI_Finalize begins; the attribute serves code that reaches MPI_Finalize in another way.
        self._mpi.Finalize = self._finalize
        self._key = self._mpi.Comm.Create_keyval(delete_fn=self._mpi_ends)
        self._mpi.COMM_SELF.Set_attr(self._key, None)  # MPI_Finalize deletes it first of all

    def _finalize(self) -> None:
        if self._finish:
            self._finish()
        if not self._goes_on:
            self._finalize_mpi()

    def leave(self) -> None:
        """Leave the job: the end of this process is no failure any more."""
        self._finish = None
        if self._goes_on:
            return
        self._mpi.Finalize = self._finalize_mpi
        atexit.unregister(self._at_exit)
        if self._key != self._mpi.KEYVAL_INVALID and not self._mpi.Is_finalized():
            key = self._key
            self._mpi.COMM_SELF.Delete_attr(key)
            self._mpi.Comm.Free_keyval(key)

    def end_later(self, status: int) -> None:
        """End this process with ``status`` after 5 s if threads or exit handlers delay its end after a failure.

        After ``finalize`` this is needed because the monitor of the node no longer monitors the process.
        """
        timer = threading.Timer(FAILED_PROGRAM, self._end_failed, (status,))
        timer.daemon = True
        timer.start()

    def _end_failed(self, status: int) -> None:
        self.abort(status)
        os._exit(status)

    def abort(self, status: int) -> None:
        """End all processes of the MPI job with a status, or only this one if the job continues after losses.

        Does not return unless MPI is finalised.
        """
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        if self._goes_on:
            os._exit(status)
        if not self._mpi.Is_finalized():
            self._mpi.COMM_WORLD.Abort(status)

    def _mpi_ends(self, _comm: Any, _key: int, _value: Any) -> None:
        self._key = self._mpi.KEYVAL_INVALID  # MPI is deleting the attribute: `leave` must not
        if self._finish:
            self._finish()

    def _at_exit(self) -> None:
        if os.getpid() != self._process:
            return
        if self._goes_on:
            self.abort(program_status.status())
        since, status = self.failure() or (time.monotonic(), program_status.status() or 1)
        time.sleep(max(since + REPORT_OVER_MPI - time.monotonic(), 0.0))
        self.abort(status)


def check(comm: Any) -> None:
    """Raise ``IshmemError`` if ``comm`` is of mpi4py, and MPI is not initialised or has been finalised."""
    module = _mpi_of(comm)
    if module and (not module.Is_initialized() or module.Is_finalized()):
        ended = module.Is_finalized()
        how = "finalised: call it before MPI.Finalize()" if ended else "not initialised: call MPI.Init_thread() first"
        raise IshmemError(f"ishmem.init() needs MPI, which is {how}")


def of(comm: Any, goes_on: bool) -> MpiJob | None:
    """Return the `MpiJob` of a job over ``comm``; None for one PE or a communicator that is not mpi4py's."""
    return MpiJob(goes_on) if _mpi_of(comm) and comm.Get_size() > 1 else None


def _mpi_of(comm: Any) -> Any:
    module = sys.modules.get("mpi4py.MPI")
    return module if module is not None and isinstance(comm, module.Comm) else None


class MonitorProcess:
    """The monitor that the first PE of a node starts."""

    def __init__(self, **config: Any) -> None:
        """Start the monitor; ``config`` has the fields of its ``Config``."""
        command = [sys.executable, "-m", "ishmem.launch.monitor"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._write(config)

    @functools.cached_property
    def addresses(self) -> Addresses:
        """The addresses at which the monitor listens; blocks until it does, at most 20 s.

        Raises:
            IshmemError: It did not start.
        """
        output = self._process.stdout
        assert output is not None
        line = output.readline() if _await_input(output, _START) else ""
        output.close()
        if not line:
            raise IshmemError("the monitor of this node, python -m ishmem.launch.monitor, did not start")
        return [(host, port) for host, port in json.loads(line)]

    def connect(self, addresses: Addresses) -> None:
        """Send it the addresses of the parent node's monitor, to which it connects; an empty list on node 0."""
        self._write(addresses)

    def close(self) -> None:
        """Close its standard input, so that it ends once all PEs of the node have left."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _write(self, value: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()


def start_monitor(job: str, node: Node, network: Network | None, silence: float) -> MonitorProcess | None:
    """Start the monitor of the node if this is the node's first PE, else return None; ``silence`` is in seconds."""
    if node.place:
        return None
    nodes, hosts = (network.nodes, network.hosts) if network else ([0] * len(node.pes), {0: socket.gethostname()})
    common = job.removesuffix(f"-{node.number}")  # secret, as the name of the job is
    token = hashlib.sha256(f"ishmem monitor token {common}".encode()).hexdigest()
    numbers = range(max(nodes) + 1)
    return MonitorProcess(
        job=job, pes=node.pes, node=node.number, token=token, silence=silence,
        first=[nodes.index(number) for number in numbers], hosts=[hosts[number] for number in numbers],
    )  # fmt: skip


def _await_input(source: IO[str], seconds: float) -> bool:
    """Wait at most ``seconds`` for data or the end of the stream; return whether either has come."""
    poll = select.poll()  # unlike select, it takes descriptors above 1023
    poll.register(source, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
