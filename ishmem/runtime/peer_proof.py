"""The proof that a PE's device can access the heap of another PE: drivers report access that fails on some cards.

In an unused part of each heap, a line holds a random pattern that the heap's own device has written. Each PE's device
reads that line of every other heap of the node, and writes its own pattern to a line there: once by loads and stores
(the copy kernel of the driver), once by the copy engine. Where atomics are reported, the work-items of a kernel add to
a word there. The owner reads and checks the lines through its own device.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import IntFlag
from typing import NamedTuple

from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.ipc import pyze
from ishmem.runtime.peer_kernel import ITEMS, Increments

LINE = 64
"""Bytes of a pattern."""

_WORD = struct.Struct("<I")


class PeerFailure(IntFlag):
    """The kinds of access that fail between two devices; 0 if none that was tried fails."""

    REFUSED = 1
    LOADS = 2
    COPIES = 4
    ATOMICS = 8

    @property
    def words(self) -> str:
        """Description for users."""
        names = {
            PeerFailure.REFUSED: "the driver refuses the memory",
            PeerFailure.LOADS: "loads and stores move wrong data",
            PeerFailure.COPIES: "the copy engine moves wrong data",
            PeerFailure.ATOMICS: "atomics give wrong results",
        }
        return ", ".join(text for kind, text in names.items() if kind & self)


WAYS = (PeerFailure.LOADS, PeerFailure.COPIES, PeerFailure.ATOMICS)


class Lines(NamedTuple):
    """The offsets of the proof's lines in each heap of a node; the first line is the heap's own pattern.

    Attributes:
        n_pes: PEs of the node.
    """

    n_pes: int

    @property
    def size(self) -> int:
        """Bytes of all lines."""
        return LINE * (1 + 2 * len(WAYS) * self.n_pes)

    def read(self, way: PeerFailure, place: int) -> int:
        """Return the offset of the line into which this PE copies, by ``way``, the pattern of the PE at ``place``."""
        return LINE * (1 + WAYS.index(way) * self.n_pes + place)

    def written(self, way: PeerFailure, place: int) -> int:
        """Return the offset of the line that the PE at ``place`` writes by ``way``."""
        return LINE * (1 + (len(WAYS) + WAYS.index(way)) * self.n_pes + place)


class Peer(NamedTuple):
    """A heap of another PE.

    Attributes:
        address: Its device address in this process.
        has_atomics: Whether atomics are reported.
    """

    address: int
    has_atomics: bool


class Own(NamedTuple):
    """This PE's side of the proof: handles of Level Zero, the device address of its heap, and its place on the node."""

    context: int
    device: int
    base: int
    place: int


class Batch:
    """Commands for one engine, which are submitted at once.

    Attributes:
        commands: The command list.
    """

    def __init__(self, own: Own, group: int) -> None:
        """Create a command list and a queue for an engine of queue group ``group`` of this PE's device."""
        self._queue = pyze.create_queue(own.context, own.device, group, pyze.MODE_ASYNCHRONOUS)
        self.commands = pyze.create_list(own.context, own.device, group)

    def submit(self) -> None:
        """Submit the commands to the engine."""
        pyze.zeCommandListClose(self.commands)
        pyze.execute(self._queue, [self.commands])

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the commands; return whether they have ended."""
        return bool(pyze.zeCommandQueueSynchronize(self._queue, int(seconds * 1e9)) == pyze.SUCCESS)

    def destroy(self) -> None:
        """Destroy the list and the queue."""
        pyze.zeCommandListDestroy(self.commands)
        pyze.zeCommandQueueDestroy(self._queue)


class AccessProof:
    """This PE's part of the proof.

    Attributes:
        lines: The offsets of the lines.
    """

    def __init__(self, own: Own, patterns: Sequence[bytes], peers: Mapping[int, Peer]) -> None:
        """Store the random ``patterns`` of all PEs of the node, by place, and ``peers``, the heaps of the others."""
        self._own, self._patterns, self._peers = own, patterns, peers
        self.lines = Lines(len(patterns))
        self._ways = WAYS[:2] if pyze.copy_group(own.device) is not None else WAYS[:1]

    def run(self, seconds: float) -> None:
        """Read from and write to the heaps of other PEs; blocking.

        Raises:
            IshmemError: The device is lost, or does not finish within ``seconds``.
        """
        if not self._peers:
            return
        try:
            self._run(seconds)
        except LevelZeroError as error:
            raise IshmemError(
                f"the device has failed when init tried its access to the memory of other devices: {error}; "
                "ISHMEM_P2P=off does without this access"
            ) from error

    def _run(self, seconds: float) -> None:
        groups = [pyze.compute_group(self._own.device), pyze.copy_group(self._own.device) or 0]
        batches = {way: Batch(self._own, group) for way, group in zip(self._ways, groups)}
        for way, batch in batches.items():
            self._append_copies(batch.commands, way)
        launched = self._append_atomics(batches[PeerFailure.LOADS].commands)
        for batch in batches.values():
            batch.submit()
        for way, batch in batches.items():
            if not batch.wait(seconds):
                raise IshmemError(
                    f"the device has not read and written the memory of other devices ({way.name}) within "
                    f"{seconds:g} s; ISHMEM_P2P=off does without this access"
                )
        for batch in batches.values():  # not after an error: the device may be lost
            batch.destroy()
        for kernel in launched:
            kernel.destroy()

    def _append_copies(self, commands: int, way: PeerFailure) -> None:
        base, place, lines = self._own.base, self._own.place, self.lines
        for at, peer in self._peers.items():
            pyze.append_copy(commands, base + lines.read(way, at), peer.address, LINE)
            pyze.append_copy(commands, peer.address + lines.written(way, place), base, LINE)

    def _append_atomics(self, commands: int) -> list[Increments]:
        """Append a kernel that increments a word in other heaps, initially the first word of this PE's pattern."""
        target = self.lines.written(PeerFailure.ATOMICS, self._own.place)
        peers = {at: peer.address + target for at, peer in self._peers.items() if peer.has_atomics}
        if not peers:
            return []
        for address in peers.values():
            pyze.append_copy(commands, address, self._own.base, LINE)
        pyze.append_barrier(commands)
        places = [(address, self._own.base + self.lines.read(PeerFailure.ATOMICS, at)) for at, address in peers.items()]
        return [Increments(self._own.context, self._own.device, commands, places)]

    def check(self, seen: bytes) -> dict[int, PeerFailure]:
        """Return the failures of access to the other heaps, by place, after all PEs of the node have called `run`.

        ``seen`` are the lines of this PE's heap, as read by its device.
        """
        return {at: self._wrong(seen, at, peer) for at, peer in self._peers.items()}

    def _wrong(self, seen: bytes, at: int, peer: Peer) -> PeerFailure:
        wrong, pattern = PeerFailure(0), self._patterns[at]
        for way in self._ways:
            lines = self.lines.read(way, at), self.lines.written(way, at)
            if any(seen[line : line + LINE] != pattern for line in lines):
                wrong |= way
        if peer.has_atomics and not self._are_counted(seen, at):
            wrong |= PeerFailure.ATOMICS
        return wrong

    def _are_counted(self, seen: bytes, at: int) -> bool:
        """Return whether the atomics of both PEs were exact: distinct old values, and a word raised by their number."""
        mine, others = (_WORD.unpack_from(self._patterns[place])[0] for place in (self._own.place, at))
        got = struct.unpack_from(f"<{ITEMS}I", seen, self.lines.read(PeerFailure.ATOMICS, at))
        end = _WORD.unpack_from(seen, self.lines.written(PeerFailure.ATOMICS, at))[0]
        return sorted(got) == sorted((mine + item) % 2**32 for item in range(ITEMS)) and end == (others + ITEMS) % 2**32
