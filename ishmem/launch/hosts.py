"""``ishmem run --hosts a,b``: starts the PEs on several nodes through the site's mpiexec.

mpiexec starts a guard beside each PE (`ishmem.launch.rank`). The guards mark what the PEs print with the PE's number
and report how each PE has ended, so prefixes, messages and the exit status are the same with every mpiexec.
Signals of the user go to mpiexec, which passes them on; that of Open MPI ends the PEs by SIGTERM in place of SIGINT.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ishmem.common import processes, tcp
from ishmem.common.status_board import describe_end
from ishmem.ipc.hub import REPORT, Hub, unknown
from ishmem.ipc.wire import Place as HubPlace
from ishmem.launch import supervisor
from ishmem.launch.ending import AFTER_SIGNAL, SUPERVISOR
from ishmem.launch.mpiexec import Mpiexec, Place, command
from ishmem.launch.options import UsageError, seconds
from ishmem.launch.output import Printer
from ishmem.launch.rank import Ended, Line, parse

_HOST = r"([^\s:,=]+)(?::(\d+))?"
_LINE = _HOST + r"(?:\s+slots\s*=\s*(\d+))?(?:\s+[\w-]+\s*=\s*\S+)*"


def places(n: int | None, ppn: int | None, hosts: Sequence[tuple[str, int | None]]) -> list[Place]:
    """Distribute PEs over hosts, in order: as many as each host has slots, or ``ppn``, else equal shares.

    Args:
        n: Number of PEs; None for all slots.
        ppn: PEs on each host.
        hosts: Names, each with its number of slots or None.

    Raises:
        UsageError: There are fewer slots than PEs, or ``n`` is missing.
    """
    slots = {host: ppn or count for host, count in hosts}
    if all(slots.values()):
        total = sum(count or 0 for count in slots.values())
        if (n or 0) > total:
            raise UsageError(f"-n {n}: got {n} PEs for {total} slots: {_words(slots)}; allowed: -n up to {total}")
        return _fill(n or total, slots)
    if any(slots.values()):
        missing = ", ".join(host for host, count in slots.items() if not count)
        raise UsageError(f"--hosts: no slots for {missing}; give HOST:SLOTS for every host or for none, or --ppn")
    if n is None:
        raise UsageError("-n, the number of PEs, is missing; or give HOST:SLOTS, or --ppn")
    share, larger = divmod(n, len(slots))
    return [Place(host, share + (i < larger)) for i, host in enumerate(slots) if share + (i < larger)]


def _fill(n: int, slots: dict[str, int | None]) -> list[Place]:
    filled = []
    for host, count in slots.items():
        filled.append(Place(host, min(n, count or 0)))
        n -= filled[-1].pes
    return [place for place in filled if place.pes]


def _words(slots: dict[str, int | None]) -> str:
    return ", ".join(f"{host}:{count}" for host, count in slots.items())


def parse_hosts(text: str) -> list[tuple[str, int | None]]:
    """Parse a list of hosts, ``a,b`` or ``a:4,b:8``, with the slots of each.

    Raises:
        UsageError: A word is neither.
    """
    return _merged([_host(_HOST, word.strip(), "--hosts") for word in text.split(",")])


def read_hosts(path: str) -> list[tuple[str, int | None]]:
    """Read a hosts file: on each line ``a``, ``a:4`` or ``a slots=4``; a host on several lines has a slot for each.

    Raises:
        UsageError: The file cannot be read, a line is none of these, or there are no hosts.
    """
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise UsageError(f"--hostfile: {path}: {error.strerror}") from None
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    found = _merged([_host(_LINE, line, f"--hostfile: {path}") for line in lines if line])
    if not found:
        raise UsageError(f"--hostfile: {path} has no hosts")
    return found


def _host(pattern: str, text: str, option: str) -> tuple[str, int | None]:
    match = re.fullmatch(pattern, text)
    if match is None or "0" in match.groups():
        raise UsageError(f"{option}: got {text!r}, allowed: HOST or HOST:SLOTS, with at least 1 slot")
    host, *counts = match.groups()
    return host, next((int(count) for count in counts if count), None)


def _merged(hosts: list[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """Add up the slots of hosts that are listed several times, as in ``$PBS_NODEFILE``."""
    listed = Counter(host for host, _slots in hosts)
    slots: dict[str, int | None] = {}
    for host, count in hosts:
        slots[host] = count if listed[host] == 1 else (slots.get(host) or 0) + (count or 1)
    return list(slots.items())


class MpiexecJob:
    """A job on several nodes, while mpiexec runs it."""

    def __init__(self, launcher: Mpiexec, places: Sequence[Place], prefix: bool, survive: bool = False) -> None:
        """Prepare the job.

        Args:
            launcher: The mpiexec.
            places: The hosts, with their numbers of PEs.
            prefix: Whether lines get the numbers of their PEs.
            survive: Whether the job may go on after a loss, which the hub in this process tells the PEs.
        """
        self._launcher, self._places, self._prefix = launcher, places, prefix
        self._running = dict(enumerate(place.host for place in places for _ in range(place.pes)))
        self._first: Ended | None = None  # of the PEs that failed by themselves
        self._told: Ended | None = None  # of those that mpiexec told to end
        self._sent: set[int] = set()
        self._timed_out = False
        self._timers: list[threading.Timer] = []
        self._hub = _start_hub(len(self._running)) if survive else None
        if self._hub:
            self._hub.on_lost = self._look_for_those_left
        self._survivors, self._losses, self._is_ending = 0, list[Ended](), False

    def run(self, program: Sequence[str], sim: int | None, timeout: float | None) -> int:
        """Run the program to its end and return the exit status.

        It is that of the first PE that failed; else that of mpiexec, unless all PEs have ended with 0; 124 after a
        time-out.
        """
        guard = [sys.executable, "-m", "ishmem.launch.rank", *(["--sim", str(sim)] if sim else []), "--", *program]
        processes.adopt_orphans()
        self._process = subprocess.Popen(
            command(self._launcher, self._places, guard),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=processes.die_with(os.getpid(), signal.SIGTERM),
        )
        with supervisor.forwarding(self._forward):
            if timeout:  # threads that are started before take signals
                self._later(timeout, self._time_out, timeout)
            printed = self._print()
            if not printed:
                self._end_after(0)
            code = self._process.wait()
        for timer in self._timers:
            timer.cancel()
        processes.end_children()
        return self._status(code, printed)

    def _print(self) -> bool:
        printer = Printer()
        for target, stream in ((1, self._process.stdout), (2, self._process.stderr)):
            assert stream is not None
            printer.add(os.dup(stream.fileno()), target, self._shown)
            stream.close()
        return printer.run()

    def _shown(self, line: bytes) -> bytes:
        """Return what to print for a line that mpiexec has printed."""
        found = parse(line)
        if isinstance(found, Line):
            return (b"[%d] " % found.pe if self._prefix else b"") + found.text
        if isinstance(found, Ended):
            self._end(found)
        elif self._first is None and not self._sent and not self._is_ending and line.strip(b"=\r\n "):
            _report(line.decode(errors="replace").rstrip(), "mpiexec")
        return b""

    def _end(self, end: Ended) -> None:
        self._running.pop(end.pe, None)
        if self._hub:
            self._hub.ended(end.pe, f"{describe_end(end.code)}, on {end.host}")
            self._look_for_those_left()
        goes_on = self._hub if self._goes_on() else None
        if end.code == 0 and (not goes_on or end.pe in goes_on.left):
            self._survivors += 1
            return
        if goes_on:
            self._losses.append(end)
            how = describe_end(end.code) + " without ishmem.finalize()" * (end.code == 0)
            others = "; the other PEs go on (--survive)" if self._running else ""
            _report(f"PE {end.pe} on {end.host} {how}{others}")
            return
        if end.told and not self._sent:
            self._told = self._told or end
            return
        if -end.code not in self._sent:
            others = "; ending the other PEs" if self._running and self._first is None else ""
            _report(f"PE {end.pe} on {end.host} {describe_end(end.code)}{others}")
        if self._first is None:
            self._first = end
            self._end_after(SUPERVISOR.failing)

    def _goes_on(self) -> bool:
        """Return whether a PE that dies does not end the job: not before the end of ``init``."""
        hub = self._hub
        ends = self._first or self._sent or self._timed_out
        return not ends and hub is not None and hub.has_begun and hub.status is None

    def _look_for_those_left(self) -> None:
        """End the job where all PEs have ended, whose guards wait, or are lost: some may be on a node out of reach."""
        if self._hub and not self._is_ending and self._hub.lost.issuperset(self._running):
            self._is_ending = True
            self._end_after(SUPERVISOR.failing if self._running else 0)

    def _status(self, code: int, printed: bool) -> int:
        if self._timed_out:
            return supervisor.TIMED_OUT
        if not printed:
            return processes.exit_status(-signal.SIGPIPE)
        if self._first is not None:
            code = self._first.code
        elif self._is_ending:
            code = 0 if self._survivors or not self._losses else self._losses[0].code or 1
        elif self._told is not None:
            code = code or self._told.code
        elif not self._running:
            return 0
        elif self._hub:
            left = ", ".join(map(str, self._running))
            _report(f"mpiexec has ended before PE {left}: a job does not survive the end of its daemon on a node")
            code = code or 1
        return processes.exit_status(code)

    def _forward(self, number: int) -> None:
        again = bool(self._sent)
        self._sent.add(number)
        _report(f"{signal.Signals(number).name} passed on to the PEs")
        self._signal(signal.SIGKILL if again else number)
        self._later(AFTER_SIGNAL, self._signal, signal.SIGKILL)

    def _time_out(self, timeout: float) -> None:
        self._timed_out = True
        left = ", ".join(f"{pe} on {host}" for pe, host in self._running.items())
        _report(f"timed out after {timeout:g} s; ending PE {left}")
        self._end_after(0)

    def _end_after(self, delay: float) -> None:
        self._later(delay, self._signal, signal.SIGTERM)
        self._later(delay + SUPERVISOR.ending, self._signal, signal.SIGKILL)

    def _later(self, delay: float, call: Callable[[Any], None], argument: Any) -> None:
        timer = threading.Timer(delay, call, (argument,))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        if number == signal.SIGKILL:  # processes that mpiexec has started may keep our pipes open
            self._process.wait()
            processes.end_children()


def _start_hub(n_pes: int) -> Hub:
    """Start the hub of a job that may go on after a loss; the PEs find it by their environment."""
    try:
        silence = seconds(os.environ.get("ISHMEM_NODE_TIMEOUT", "60"))
    except argparse.ArgumentTypeError:  # the PEs report it
        silence = 60.0
    place = HubPlace(tcp.addresses(), 0, silence, os.urandom(16).hex())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, supervisor.FORWARDED)  # its thread shall take no signal
    try:
        hub = Hub(place.name(), n_pes, unknown, REPORT)
        os.environ["ISHMEM_HUB"] = hub.job
        return hub
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _report(text: str, who: str = "ishmem run") -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{who}: {text}\n".encode())
