"""What lies in the internal part of each PE's heap, before the part that users allocate from.

Host code and kernels compute addresses from the offsets given here:

==============  ==================================================  ===========================================
table           int64 per PE of the node: its base minus my base    read by every device access
teams           a `TeamRecord` per team                             written by this host, read by kernels
host_sync       a line per team and barrier round                   written by peers' hosts
device_sync     a line per team and barrier round                   written by peers' kernels
rendezvous      two `RendezvousSlot` of each PE per team            written by peers' kernels
barriers_begun  int64 per team: barriers this host has begun        read by peers after this PE has left
agree           two records per team                                read by peers' hosts
ring            a line and two slots per team                       written by this host, read by peers' hosts
turn            int64: counter of ``any`` waits                     used by this PE's kernels
violation       a `Violation`: the first wrong argument             written by this PE's kernels
active_set      two lines per PE, and whether this PE gave up       written by peers' hosts
proxy           int64: address of the ring of requests              read by this PE's kernels
tickets         int64: requests that kernels have begun             used by this PE's kernels, read by this host
routes          int64 per PE of the node: a `Route`                 read by this PE's kernels
places          a byte per PE: 0, or 1 plus its place on the node   read by this PE's kernels
==============  ==================================================  ===========================================
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

LINE = 64
RECORD = 256
RENDEZVOUS_SLOT = 1024
PAGE = 4096
RING_SLOTS = 256  # of the proxy's ring: requests of kernels in flight
MAX_TEAMS = 128  # as in ishmem/core/heap.hpp
TWIN = 64  # a team's handle plus this is its twin's: the same PEs, for on-queue collectives
SLOT = LINE + 4096  # header and data: see ishmem/core/collectives.hpp


class TeamRecord(NamedTuple):
    """A team as kernels see it, one int64 each; ``me`` and ``size`` are -1 while the handle is free."""

    start: int = 0
    stride: int = 1
    size: int = -1
    me: int = -1
    sequence: int = 0

    def pack(self) -> bytes:
        """Return the record as bytes."""
        return struct.pack(f"<{len(self)}q", *self)

    @classmethod
    def unpack(cls, data: bytes) -> TeamRecord:
        """Make a record from bytes of the heap."""
        return cls(*struct.unpack_from(f"<{len(cls._fields)}q", data))

    @classmethod
    def at(cls, field: str) -> int:
        """Return the offset of a field in bytes."""
        return 8 * cls._fields.index(field)


class RendezvousSlot(NamedTuple):
    """What a member of a team writes to another when it enters a collective call in a kernel, one int64 each.

    Attributes:
        number: Number of the rendezvous; written last.
        call: The call, as ``ishmem.common.call_id`` packs it; equal on all members.
        count: Elements of a block; equal on all members.
        share: Elements that this member contributes, in calls where members contribute different numbers.
        payload: First word of the data of a small block, which may fill the rest of the slot.
    """

    number: int
    call: int
    count: int  # type: ignore[assignment]  # hides a method of tuple
    share: int
    payload: int

    @classmethod
    def at(cls, field: str) -> int:
        """Return the offset of a field in bytes."""
        return 8 * cls._fields.index(field)


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes from the heap's base, the same on all PEs of a job.

    Attributes:
        n_pes: PEs of the job.
        width: PEs of the node that has the most; ``n_pes`` in a job on one node.
    """

    n_pes: int
    width: int

    table = 0

    @property
    def sync_bytes(self) -> int:
        """Size of the lines of one team: one per round of the barrier, within nodes and between them, and one more."""
        return LINE * (2 * (self.n_pes - 1).bit_length() + 1)

    def team(self, handle: int) -> int:
        """Record of a team."""
        return _round_up(8 * self.width, LINE) + LINE * handle

    def host_sync(self, handle: int) -> int:
        """First line of a team's barrier on the host."""
        return self.team(MAX_TEAMS) + self.sync_bytes * handle

    def device_sync(self, handle: int) -> int:
        """First line of a team's barrier inside kernels."""
        return self.host_sync(MAX_TEAMS) + self.sync_bytes * handle

    @property
    def rendezvous_bytes(self) -> int:
        """Size of the slots of one team: one for even and one for odd rendezvous of every member."""
        return 2 * RENDEZVOUS_SLOT * self.n_pes

    def rendezvous(self, handle: int) -> int:
        """First slot of a team for collective calls inside kernels."""
        return self.device_sync(MAX_TEAMS) + self.rendezvous_bytes * handle

    @property
    def barriers_begun(self) -> int:
        """Number of barriers of each team that this PE's host has begun; written when the PE leaves."""
        return self.rendezvous(TWIN)

    def agree(self, handle: int, sequence: int) -> int:
        """Record of this PE for collective call number ``sequence`` of a team.

        Two records alternate: a PE is at most one collective call ahead of another.
        """
        return self.barriers_begun + _round_up(8 * MAX_TEAMS, LINE) + RECORD * (2 * handle + sequence % 2)

    @property
    def slot_bytes(self) -> int:
        """Size of a slot of a ring; its data hold three numbers for each PE."""
        return max(SLOT, LINE + _round_up(24 * self.n_pes, LINE))

    @property
    def ring_bytes(self) -> int:
        """Size of a team's ring for the collectives of the host."""
        return LINE + 2 * self.slot_bytes

    def ring(self, handle: int) -> int:
        """Ring of a team for the collectives of the host."""
        return self.agree(MAX_TEAMS, 0) + self.ring_bytes * handle

    @property
    def turn(self) -> int:
        """Counter of ``any`` calls of this PE's kernels; it rotates the element at which they begin."""
        return self.ring(MAX_TEAMS)

    @property
    def violation(self) -> int:
        """The `Violation` of ``ishmem.common.violations`` that this PE's kernels write."""
        return self.turn + LINE

    def active_set(self, pe: int, number: int) -> int:
        """Line of another PE for call number ``number`` of active sets that both are in; two lines alternate."""
        return self.violation + 2 * LINE + LINE * (2 * pe + number % 2)

    @property
    def gave_up(self) -> int:
        """Nonzero once this PE has given up active sets, an int64."""
        return self.active_set(self.n_pes, 0)

    @property
    def proxy(self) -> int:
        """Address of the ring in which this PE's kernels post requests to the host."""
        return self.gave_up + LINE

    @property
    def tickets(self) -> int:
        """Number of requests that this PE's kernels have begun."""
        return self.proxy + LINE

    @property
    def routes(self) -> int:
        """The `Route` of this PE's kernels to each PE of the node."""
        return self.tickets + LINE

    @property
    def places(self) -> int:
        """For each PE a byte: 0 on another node, else 1 plus its place among the PEs of this node."""
        return self.routes + _round_up(8 * self.width, LINE)

    @property
    def size(self) -> int:
        """Bytes of the internal part, in whole pages."""
        return _round_up(self.places + (self.n_pes if self.width < self.n_pes else 0), PAGE)


def _round_up(value: int, unit: int) -> int:
    return (value + unit - 1) // unit * unit
