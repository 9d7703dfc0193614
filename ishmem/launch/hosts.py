"""``ishmem run --hosts a,b``: starts the PEs on several nodes through the site's mpiexec.

mpiexec starts a guard for each PE (`ishmem.launch.rank`). The guards mark the output of the PEs with the PE's number
and report the exit status of each PE, so prefixes, messages and the exit status are the same with every mpiexec.
Signals of the user go to mpiexec, which forwards them; that of Open MPI ends the PEs by SIGTERM in place of SIGINT.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ishmem.common import processes
from ishmem.common.job_end import Cause, JobEnd, State
from ishmem.ipc import wire
from ishmem.ipc.hub import Hub
from ishmem.launch import supervisor
from ishmem.launch.mpiexec import Mpiexec, Place, command
from ishmem.launch.options import UsageError, setting
from ishmem.launch.output import Printer
from ishmem.launch.rank import Ended, Line, parse

_HOST = r"([^\s:,=]+)(?::(\d+))?"
_LINE = _HOST + r"(?:\s+slots\s*=\s*(\d+))?(?:\s+[\w-]+\s*=\s*\S+)*"


def places(n: int | None, ppn: int | None, hosts: Sequence[tuple[str, int | None]]) -> list[Place]:
    """Return the hosts, each with its number of PEs: filled in order up to ``ppn`` or their slots, else equal shares.

    Args:
        n: The number of PEs; None for all slots.
        ppn: The number of PEs on each host, in place of its slots; None for the slots.
        hosts: Host names, each with its number of slots or None.

    Raises:
        UsageError: There are fewer slots than PEs, ``n`` is missing, or only some hosts have slots.
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
    """Return name and number of slots, or None, of each host in a list such as ``a,b`` or ``a:4,b:8``.

    Raises:
        UsageError: An entry is not of the form ``HOST`` or ``HOST:SLOTS``.
    """
    return _merged([_host(_HOST, word.strip(), "--hosts") for word in text.split(",")])


def read_hosts(path: str) -> list[tuple[str, int | None]]:
    """Return the hosts of a file, as `parse_hosts`: lines ``a``, ``a:4`` or ``a slots=4``; repeated hosts add up.

    Raises:
        UsageError: The file cannot be read, a line has another form, or there are no hosts.
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
    """Return each host once; slots of hosts that are listed several times, as in ``$PBS_NODEFILE``, are added."""
    listed = Counter(host for host, _slots in hosts)
    slots: dict[str, int | None] = {}
    for host, count in hosts:
        slots[host] = count if listed[host] == 1 else (slots.get(host) or 0) + (count or 1)
    return list(slots.items())


class MpiexecJob(JobEnd):
    """A job on several nodes that mpiexec runs."""

    def __init__(
        self, launcher: Mpiexec, places: Sequence[Place], prefix: bool, survive: bool, timeout: float | None
    ) -> None:
        """Prepare the job; its time-out counts from now.

        Args:
            launcher: The mpiexec.
            places: The hosts, with their numbers of PEs.
            prefix: Whether output lines have the PE's number as prefix.
            survive: Whether the job may continue after a loss; then the hub of the PEs is in this process.
            timeout: Seconds after which the job is ended; None for no limit.
        """
        super().__init__(timeout)
        self._launcher, self._hosts, self._prefix = launcher, places, prefix
        self._running = dict(enumerate(place.host for place in places for _ in range(place.pes)))
        self._ended_by_mpiexec = 0  # the exit status of the first PE that mpiexec has ended
        self._is_interrupted = self._is_over = False
        self._changed = threading.Condition()  # guards how the job ends
        self._hub = _start_hub(len(self._running)) if survive else None
        if self._hub:
            self._hub.on_lost = self._look_for_those_left

    def run(self, program: Sequence[str], sim: int | None) -> int:
        """Run the program to its end, with ``sim`` simulated devices on each node or None, and return the exit status.

        It is 124 after a time-out, else that of the first PE that failed, else 0 if all PEs have ended with 0, else
        that of mpiexec.
        """
        guard = [sys.executable, "-m", "ishmem.launch.rank", *(["--sim", str(sim)] if sim else []), "--", *program]
        processes.adopt_orphans()
        self._process = subprocess.Popen(
            command(self._launcher, self._hosts, guard),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=processes.die_with(os.getpid(), signal.SIGTERM),
        )
        with supervisor.forwarding(self._interrupt):
            watcher = threading.Thread(target=self._watch, daemon=True)  # earlier, it would take signals
            watcher.start()
            if not self._print():
                self._end_because(Cause.UNREAD)
            code = self._process.wait()
            with self._changed:
                self._is_over = True
                self._changed.notify()
            watcher.join()
        processes.end_children()
        return self._status(code)

    def _print(self) -> bool:
        printer = Printer()
        for target, stream in ((1, self._process.stdout), (2, self._process.stderr)):
            assert stream is not None
            printer.add(os.dup(stream.fileno()), target, self._shown)
            stream.close()
        return printer.run()

    def _shown(self, line: bytes) -> bytes:
        """Return the text to print for a line of mpiexec's output; empty for lines that are handled here."""
        found = parse(line)
        if isinstance(found, Line):
            return (b"[%d] " % found.pe if self._prefix else b"") + found.text
        if isinstance(found, Ended):
            self._note_end(found)
        elif self.state is State.RUNNING and line.strip(b"=\r\n "):
            self.report(line.decode(errors="replace").rstrip(), who="mpiexec")
        return b""

    def _note_end(self, end: Ended) -> None:
        """Handle the end of a PE: end the job if it must not continue, and report the cause."""
        with self._changed:
            self._running.pop(end.pe, None)
            hub = self._hub if self.goes_on else None
            if self._hub:
                self._hub.ended(end.pe, f"{processes.describe_end(end.code)}, on {end.host}")
                self._look_for_those_left()
            if end.code and end.by_mpiexec and not hub and not self._is_interrupted:
                self._ended_by_mpiexec = self._ended_by_mpiexec or processes.exit_status(end.code)
                return
            deserted = hub is not None and end.pe not in hub.left
            if line := self.pe_ended(f"{end.pe} on {end.host}", end.code, deserted, bool(self._running)):
                self.report(line)
            self._changed.notify()

    def may_go_on(self) -> bool:
        """Return whether the job continues after a loss: with ``--survive`` after ``init``, before ``global_exit``."""
        return self._hub is not None and self._hub.has_begun and self._hub.status is None

    def _look_for_those_left(self) -> None:
        """End the job if all PEs that still run are lost: they may be on a node that cannot be reached."""
        with self._changed:
            if self._are_all_lost() and self.state is State.RUNNING:
                self._end_because(Cause.ALL_LOST, grace=bool(self._running))

    def _are_all_lost(self) -> bool:
        return self._hub is not None and self._hub.lost.issuperset(self._running)

    def _end_because(self, cause: Cause, grace: bool = True) -> None:
        with self._changed:
            self.end(cause, grace=grace)
            self._changed.notify()

    def _status(self, code: int) -> int:
        if self.status is not None or self._are_all_lost():
            return self.result()
        if not self._ended_by_mpiexec and not self._running:
            return 0
        if self._hub and not self._ended_by_mpiexec:
            left = ", ".join(map(str, self._running))
            self.report(f"mpiexec has ended before PE {left}: a job does not survive the end of its daemon on a node")
            code = code or 1
        return processes.exit_status(code) or self._ended_by_mpiexec

    def _interrupt(self, number: int) -> None:
        with self._changed:
            self._is_interrupted = True
            self.forward(number)
            self._changed.notify()

    def _watch(self) -> None:
        """Send mpiexec the signals that end the job when they are due, until mpiexec has ended."""
        with self._changed:
            while not self._is_over:
                now = time.monotonic()
                self.act(now)
                self._changed.wait(self.due_at and max(self.due_at - now, 0.0))

    def names(self) -> str:
        """Return a text with the numbers of the running PEs, each with its host."""
        return ", ".join(f"{pe} on {host}" for pe, host in self._running.items())

    def send(self, number: int) -> None:
        """Send a signal to mpiexec, which ends the PEs; after SIGKILL, end the remaining children, too."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        if number == signal.SIGKILL:  # processes that mpiexec has started may keep our pipes open
            self._process.wait()
            processes.end_children()

    def report(self, *lines: str, who: str = "ishmem run") -> None:
        """Print lines to the standard error, each after ``who:``."""
        with contextlib.suppress(OSError):
            os.write(2, "".join(f"{who}: {line}\n" for line in lines).encode())


def _start_hub(n_pes: int) -> Hub:
    """Start and return the hub of a job that may continue after a loss; PEs find its address in ``ISHMEM_HUB``."""
    place = wire.Place(wire.host_addresses(), 0, setting("ISHMEM_NODE_TIMEOUT", 60.0) or 0.0, os.urandom(16).hex())
    hub = Hub(place.name(), n_pes)
    os.environ["ISHMEM_HUB"] = hub.job
    return hub
