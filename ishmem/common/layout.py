"""The layout of the internal part of each PE's heap, which precedes the part that users allocate from.

Host code and kernels compute addresses from the offsets given here:

==============  ==================================================  ===========================================
table           int64 per PE of the node: its base minus my base    read by every device access
                then the same for each handle: see `Layout.alias`
teams           a `TeamRecord` per team                             written by this host, read by kernels
host_sync       a line per team and barrier round                   written by peers' hosts
device_sync     a line per team and barrier round                   written by peers' kernels
rendezvous      two `RendezvousSlot` of each member per team        written by peers' kernels
barriers_begun  int64 per team: barriers this host has begun        read by peers after this PE has left
agree           two records per team                                read by peers' hosts
host_ring       a line and two slots per team                       written by this host, read by peers' hosts
turn            int64: counter of ``any`` waits                     used by this PE's kernels
violation       a `Violation`: the first wrong argument             written by this PE's kernels
active_set      two lines per PE, and whether this PE gave up       written by peers' hosts
begun           a `Begun`: the calls that this host has begun       read by peers that wait for long
kernel_wait     a `KernelWait`: a long wait of a work-item          written by this PE's kernels, read by hosts
proxy           int64: address of the proxy's ring of requests      read by this PE's kernels
tickets         int64: requests that kernels have begun             used by this PE's kernels, read by this host
routes          like the table, a `Route` each                      read by this PE's kernels
places          a byte per PE: 0, or 1 plus its place on the node   read by this PE's kernels
regions         a `Regions`: the memory that is registered          written by this host, read by kernels
tiles           parts of arrays that reductions combine, per team   used by this PE's kernels and its proxy
meetings        two lines per team and step between nodes, and more written by peers' kernels
==============  ==================================================  ===========================================
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ishmem.common import kernel_wait
from ishmem.common.shared_numbers import LINE as LINE, MAX_TEAMS as MAX_TEAMS

RECORD = 256
RENDEZVOUS_SLOT = 1024
PAGE = 4096
PROXY_RING_SLOTS = 256  # requests of kernels in flight
FULL_SLOTS = 64
"""PEs of the largest job on several nodes whose rendezvous slots have room for data."""

FEW_MEMBERS = 256
"""Members of the largest team that any handle serves in a job with more PEs; see `Layout.wide`."""

WIDE_BYTES = 9 << 20  # for the slots of larger teams
PREDEFINED = 3  # teams
TWIN = 64  # a team's handle plus this is its twin's: the same PEs, for on-queue collectives
PairStep = tuple[int, int, bool, bool, int, int, bool, bool]
"""A ``PairStep`` of ishmem/core/exchange.hpp, whose number is that of the line in kernels."""

StepsOf = Callable[[int, int], list[PairStep]]
"""Function ``(n_nodes, node)`` that returns the steps of a node."""

Place = Callable[[int, int], int]
"""Function ``(node, distance)`` that returns the index of the first block of an exchange; see `NodeExchange`."""

SLOT = LINE + 4096  # header and data: see ishmem/core/collectives.hpp


class TeamRecord(NamedTuple):
    """The record of a team that kernels read, one int64 a field; ``me`` and ``size`` are -1 while the handle is free.

    ``sequence`` counts barriers and rendezvous in kernels. ``nodes`` is the address of the `NodeList`, 0 for a team on
    one node; ``pes`` that of the PE numbers of a team without a stride, else 0: it has the numbers of `Layout.alias`.
    """

    start: int = 0
    stride: int = 1
    size: int = -1
    me: int = -1
    sequence: int = 0
    nodes: int = 0
    pes: int = 0

    def pack(self) -> bytes:
        """Return the record as bytes; device addresses of GPUs exceed an int64, so fields are stored modulo 2**64."""
        return struct.pack(f"<{len(self)}Q", *(value % (1 << 64) for value in self))

    @classmethod
    def unpack(cls, data: bytes) -> TeamRecord:
        """Return the record that ``data``, bytes of the heap, begins with."""
        return cls(*struct.unpack_from(f"<{len(cls._fields)}q", data))

    @classmethod
    def at(cls, field: str) -> int:
        """Return the offset of a field in bytes."""
        return 8 * cls._fields.index(field)


class Begun(NamedTuple):
    """The numbers of barriers and collectives that a PE's host has begun, which it publishes in long waits.

    See ishmem/core/leave_records.cpp.

    Attributes:
        version: Odd while the record is being written.
        alone: Whether no other thread of the PE can call ishmem.
        teams: For each handle the number of barriers, in the upper 32 bits, and of other collectives.
    """

    version: int
    alone: int
    teams: tuple[int, ...]

    @classmethod
    def unpack(cls, data: bytes) -> Begun:
        """Return the record that ``data``, bytes of the heap, begins with."""
        version, alone, *teams = struct.unpack_from(f"<{2 + MAX_TEAMS}Q", data)
        return cls(version, alone, tuple(teams))

    @staticmethod
    def nbytes() -> int:
        """Return the size of the record in bytes."""
        return 8 * (2 + MAX_TEAMS)


class NodeStep(NamedTuple):
    """A step of a node's leader with another leader, as kernels read it: an int64 a field, then the runs.

    Attributes:
        partner: The PE of the other leader.
        line: Index of the line that announces the step, among those of the team.
        takes: Whether the other leader sends.
        is_second: Whether the nodes of the other leader come before those of this one.
        is_whole: Whether the sender has the data of all nodes.
        runs: Members whose slots this leader sends before the line: the first of consecutive ones, and their number.
    """

    partner: int
    line: int
    takes: int
    is_second: int
    is_whole: int
    runs: tuple[tuple[int, int], ...]

    def words(self) -> list[int]:
        """Return the record as integers."""
        return [*self[:5], len(self.runs), *(word for run in self.runs for word in run)]


class NodeExchange(NamedTuple):
    """The exchange between two nodes in a small alltoall of kernels, as kernels read it: one int64 a field.

    One member of each node, its *aggregator*, sends all blocks for the other node and receives all from it.

    Attributes:
        place: Index of the first block of this exchange in the slots of this node's aggregator.
        partner: The PE that is the aggregator of the other node.
        partner_place: Index of the first block in the slots of the partner.
        size: Number of members on the other node.
        runs: The members on the other node: the first of consecutive ones, and their number.
    """

    place: int
    partner: int
    partner_place: int
    size: int
    runs: tuple[tuple[int, int], ...]

    def words(self, runs_at: int) -> list[int]:
        """Return the record as integers; its runs are at byte ``runs_at`` of the list."""
        return [*self[:4], len(self.runs), runs_at]


class NodeList(NamedTuple):
    """The nodes of the members of a team that spans several, as kernels read them: an int64 a field, then the lists.

    Attributes:
        n_near: Members on this node; the first is its leader.
        index: Number of this PE among them.
        n_leaders: Number of nodes.
        node: Number of this node.
        rounds: Rounds of a dissemination barrier on the largest node.
        total: Member number of the leader from which this node's leader receives in its last step.
        widest: Largest number of blocks in the exchanges of an aggregator, on any node.
        near: PEs on this node.
        leaders: The first PE of each node.
        steps: The steps of this PE in a rendezvous, if it is a leader: those of hosts (ishmem/core/exchange.hpp).
        exchanges: The exchanges of this node, with itself and the nodes after it, cyclically. Its members in turn are
            the aggregators.
    """

    n_near: int
    index: int  # type: ignore[assignment]  # hides a method of tuple
    n_leaders: int
    node: int
    rounds: int
    total: int
    widest: int
    near: tuple[int, ...]
    leaders: tuple[int, ...]
    steps: tuple[NodeStep, ...]
    exchanges: tuple[NodeExchange, ...]

    @classmethod
    def of(
        cls, pes: Sequence[int], me: int, nodes: Sequence[int] | Mapping[int, int], steps_of: StepsOf
    ) -> NodeList | None:
        """Return the list for PE ``me`` of the members ``pes``; None if they are on one node of ``nodes``.

        ``steps_of`` is ``_core.pair_steps``. PEs may have any numbers, such as those of `Layout.alias`.
        """
        on: dict[int, list[int]] = {}
        for pe in pes:
            on.setdefault(nodes[pe], []).append(pe)
        if len(on) < 2:
            return None
        groups, near = list(on.values()), on[nodes[me]]
        rounds = max(map(len, groups)) - 1
        leaders = tuple(group[0] for group in groups)
        node = leaders.index(near[0])
        pairs = steps_of(len(leaders), node)
        total = pes.index(leaders[[partner for _line, partner, _sends, takes, *_ in pairs if takes][-1]])
        member, place = {pe: number for number, pe in enumerate(pes)}, _place_in(groups)
        return cls(
            len(near), near.index(me), len(leaders), node, rounds.bit_length(), total, _widest(groups, place),
            tuple(near), leaders, _steps(member, groups, pairs) if near[0] == me else (),
            _exchanges(member, groups, node, place),
        )  # fmt: skip

    def pack(self) -> bytes:
        """Return the list as bytes: numbers, PEs, exchanges, steps, and the runs of the exchanges."""
        steps = [word for step in self.steps for word in step.words()]
        lists = NODE_LIST_WORDS + self.n_near + self.n_leaders
        runs_at = 8 * (lists + EXCHANGE_WORDS * self.n_leaders + len(steps))
        records: list[int] = []
        runs: list[int] = []
        for exchange in self.exchanges:
            records += exchange.words(runs_at + 8 * len(runs))
            runs += [word for run in exchange.runs for word in run]
        words = [*self[:7], len(self.steps), *self.near, *self.leaders, *records, *steps, *runs]
        return struct.pack(f"<{len(words)}q", *words)


NODE_LIST_WORDS, EXCHANGE_WORDS = 8, 6
"""Words of a `NodeList` before its lists, and of a `NodeExchange` without its runs."""


def _runs(members: list[int]) -> tuple[tuple[int, int], ...]:
    """Return ascending members as runs: the first of consecutive ones, and their number."""
    runs: list[tuple[int, int]] = []
    for number in members:
        if runs and sum(runs[-1]) == number:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return tuple(runs)


def _steps(member: dict[int, int], groups: list[list[int]], pairs: list[PairStep]) -> tuple[NodeStep, ...]:
    """Return the steps of a leader; ``groups`` are the PEs on each node, ``member`` their numbers as members."""
    steps = []
    for line, partner, sends, takes, first, last, is_second, is_whole in pairs:
        known = [pe for number in range(first, last) if number != partner for pe in groups[number]] if sends else []
        runs = _runs(sorted(member[pe] for pe in known))
        steps.append(NodeStep(groups[partner][0], line, int(takes), int(is_second), int(is_whole), runs))
    return tuple(steps)


def _exchanges(member: dict[int, int], groups: list[list[int]], node: int, place: Place) -> tuple[NodeExchange, ...]:
    """Return the exchanges of node number ``node``; ``groups`` and ``member`` as for `_steps`."""
    exchanges = []
    for distance in range(len(groups)):
        other, back = (node + distance) % len(groups), -distance % len(groups)
        members = groups[other]
        partner, runs = members[back % len(members)], _runs([member[pe] for pe in members])
        exchanges.append(NodeExchange(place(node, distance), partner, place(other, back), len(members), runs))
    return tuple(exchanges)


def _place_in(groups: list[list[int]]) -> Place:
    """Return the `Place` function: the blocks in an aggregator's exchanges before that with the node at a distance."""
    sizes = [len(group) for group in groups]
    sums = {width: _sums(sizes * 2, width) for width in set(sizes)}

    def place(node: int, distance: int) -> int:
        width = sizes[node]
        return width * (sums[width][node + distance % width] - sums[width][node + distance])

    return place


def _sums(sizes: list[int], step: int) -> list[int]:
    """Return for each node the number of members on it and on every ``step``-th node after it, then zeros."""
    sums = [*sizes, *[0] * step]
    for node in reversed(range(len(sizes))):
        sums[node] += sums[node + step]
    return sums


def _widest(groups: list[list[int]], place: Place) -> int:
    """Return the largest number of blocks in the exchanges of an aggregator."""
    count = len(groups)
    return max(place(node, count + index) for node, group in enumerate(groups) for index in range(len(group)))


class RendezvousSlot(NamedTuple):
    """The data that a member of a team writes to others on entry to a collective call in a kernel, one int64 a field.

    In a job on several nodes the slots of a team are divided: the words before ``payload`` of all members come first,
    then their blocks without gaps.

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


class Regions:
    """The table of registered memory that kernels read, in int64.

    It has the number of slots that were ever used; for each slot its region's first address on this PE and its end, 0
    and 0 if it is free; then for each slot, per PE of the node, the bytes from here to its region minus those to its
    heap.
    """

    MOST = 128
    """Number of slots."""

    ENTRY, FIRST = 16, 8
    SHIFTS = FIRST + ENTRY * MOST


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
        """Bytes of the lines of one team: one per round of the barrier, within nodes and between them, and one more."""
        return LINE * (2 * (self.n_pes - 1).bit_length() + 1)

    def alias(self, handle: int) -> int:
        """Return the number that kernels use for the first member of a team without a stride; the others follow.

        The tables of distances and routes, or that of places on several nodes, have entries for these numbers, too, so
        kernels need no further step for such a team.
        """
        return self.n_pes * (1 + handle)

    @property
    def numbers(self) -> int:
        """Entries of the tables of distances and routes: one for each number of a PE, or place on several nodes."""
        return self.alias(TWIN) if self.width == self.n_pes else self.width

    def team(self, handle: int) -> int:
        """Return the offset of the `TeamRecord` of the team ``handle``."""
        return _round_up(8 * self.numbers, LINE) + LINE * handle

    def host_sync(self, handle: int) -> int:
        """Return the offset of the first cache line of the host's barrier of the team ``handle``."""
        return self.team(MAX_TEAMS) + self.sync_bytes * handle

    def device_sync(self, handle: int) -> int:
        """Return the offset of the first cache line of the barrier in kernels of the team ``handle``."""
        return self.host_sync(MAX_TEAMS) + self.sync_bytes * handle

    @property
    def is_large(self) -> bool:
        """Whether the job has several nodes and more than `FULL_SLOTS` PEs: slots are short, and few teams large."""
        return self.width < self.n_pes and self.n_pes > FULL_SLOTS

    @property
    def rendezvous_slot(self) -> int:
        """Size in bytes of a `RendezvousSlot` with its payload."""
        return LINE if self.is_large else RENDEZVOUS_SLOT

    @property
    def header_bytes(self) -> int:
        """Bytes from the number in a `RendezvousSlot` to that of the next member."""
        return RendezvousSlot.at("payload") if self.width < self.n_pes else self.rendezvous_slot

    @property
    def rendezvous_bytes(self) -> int:
        """Size in bytes of the slots of a team of all PEs: one for even and one for odd rendezvous of each."""
        return 2 * self.rendezvous_slot * self.n_pes

    @property
    def wide(self) -> int:
        """Number of handles, the first ones, whose teams have slots for all PEs; others have them for `FEW_MEMBERS`."""
        return max(PREDEFINED + 1, min(WIDE_BYTES // self.rendezvous_bytes, TWIN)) if self.is_large else TWIN

    def rendezvous(self, handle: int, odd: int = 0) -> int:
        """Return the offset of the first slot of team ``handle`` for even (``odd`` 0) or odd (1) rendezvous."""
        first, narrow = self.device_sync(MAX_TEAMS), 2 * self.rendezvous_slot * FEW_MEMBERS
        if handle < self.wide:
            return first + self.rendezvous_bytes * handle + odd * self.rendezvous_bytes // 2
        return first + self.rendezvous_bytes * self.wide + narrow * (handle - self.wide) + odd * narrow // 2

    def device_call_at(self, place: int) -> tuple[int, bool]:
        """Return the team (-1: none) whose kernels wait at offset ``place``, and whether they wait in a barrier."""
        for handle in range(MAX_TEAMS):
            if 0 <= place - self.device_sync(handle) < self.sync_bytes:
                return handle, True
            if self.rendezvous(handle) <= place < self.rendezvous(handle + 1):
                return handle, False
        return -1, False

    def handles_for(self, size: int, free: int) -> int:
        """Return the bit mask of those handles in the mask ``free`` that a team of ``size`` PEs may have."""
        wide = free & (1 << self.wide) - 1
        if size > FEW_MEMBERS and self.is_large:
            return wide
        return free & ~wide or free

    @property
    def barriers_begun(self) -> int:
        """Offset of the numbers of barriers that this PE's host has begun, by team; written when the PE leaves."""
        return self.rendezvous(TWIN)

    def agree(self, handle: int, sequence: int) -> int:
        """Return the offset of this PE's record for collective call number ``sequence`` of a team.

        Two records alternate: a PE is at most one collective call ahead of another.
        """
        return self.barriers_begun + _round_up(8 * MAX_TEAMS, LINE) + RECORD * (2 * handle + sequence % 2)

    @property
    def host_slot_bytes(self) -> int:
        """Bytes of a slot of a host ring: room for three numbers per member, or per `FEW_MEMBERS` in large jobs."""
        members = min(self.n_pes, FEW_MEMBERS) if self.is_large else self.n_pes
        return max(SLOT, LINE + _round_up(24 * members, LINE))

    @property
    def host_ring_bytes(self) -> int:
        """Size in bytes of a team's host ring."""
        return LINE + 2 * self.host_slot_bytes

    def host_ring(self, handle: int) -> int:
        """Return the offset of the host ring of the team ``handle``: the slots by which hosts enter a collective."""
        return self.agree(MAX_TEAMS, 0) + self.host_ring_bytes * handle

    @property
    def turn(self) -> int:
        """Offset in bytes of the counter by which kernels choose where ``wait_until_any`` and ``test_any`` begin."""
        return self.host_ring(MAX_TEAMS)

    @property
    def violation(self) -> int:
        """Offset in bytes of the `Violation` that this PE's kernels write: see ``ishmem.common.violations``."""
        return self.turn + LINE

    def active_set(self, pe: int, number: int) -> int:
        """Return the offset of PE ``pe``'s line for call ``number`` of active sets with both PEs; two alternate."""
        return self.violation + 4 * LINE + LINE * (2 * pe + number % 2)

    @property
    def gave_up(self) -> int:
        """Offset of an int64 that is nonzero once an ``active_set`` call of this PE has failed."""
        return self.active_set(self.n_pes, 0)

    @property
    def begun(self) -> int:
        """Offset of the `Begun` of this PE."""
        return self.gave_up + LINE

    @property
    def kernel_wait(self) -> int:
        """Offset of the `KernelWait` of ``ishmem.common.kernel_wait`` that this PE's kernels write."""
        return self.begun + _round_up(Begun.nbytes(), LINE)

    @property
    def proxy(self) -> int:
        """Offset of the address of the ring in which this PE's kernels post requests to the host's proxy."""
        return self.kernel_wait + _round_up(kernel_wait.LOST + 8, LINE)

    @property
    def tickets(self) -> int:
        """Offset of the number of requests to the proxy that this PE's kernels have begun."""
        return self.proxy + LINE

    @property
    def routes(self) -> int:
        """Offset of the table with the `Route` of this PE's kernels to each PE of the node."""
        return self.tickets + LINE

    @property
    def places(self) -> int:
        """Offset of a byte for each number of a PE: 0 on another node, else 1 plus its place among this node's PEs."""
        return self.routes + _round_up(8 * self.numbers, LINE)

    @property
    def tile_bytes(self) -> int:
        """Size in bytes of the tiles of one team: those of several nodes and of the result. 0 in a job on one node."""
        if self.width == self.n_pes:
            return 0
        return 16 << 10 if self.is_large else 64 << 10

    @property
    def regions(self) -> int:
        """Offset of the `Regions` of this PE."""
        return _round_up(self.places + (self.alias(TWIN) if self.width < self.n_pes else 0), LINE)

    @property
    def tiles(self) -> int:
        """Offset of the tiles, parts of arrays that reductions combine, of the first team."""
        return _round_up(self.regions + Regions.SHIFTS + 8 * Regions.MOST * self.width, LINE)

    @property
    def meeting_bytes(self) -> int:
        """Size in bytes of the lines of one team for rendezvous between nodes; 0 in a job on one node.

        Even and odd rendezvous have a line for each step between the leaders of nodes, then those of a barrier on each
        node, then one that releases a node.
        """
        lines = (self.n_pes - 1).bit_length() + 3 + (self.width - 1).bit_length()
        return 2 * LINE * lines if self.width < self.n_pes else 0

    def meeting(self, handle: int, odd: int = 0) -> int:
        """Return the offset of team ``handle``'s first line for steps of leaders, in even (``odd`` 0) or odd calls."""
        return self.tiles + self.tile_bytes * TWIN + self.meeting_bytes * handle + odd * self.meeting_bytes // 2

    @property
    def size(self) -> int:
        """Bytes of the internal part, in whole pages."""
        return _round_up(self.meeting(TWIN), PAGE)


def _round_up(value: int, unit: int) -> int:
    return (value + unit - 1) // unit * unit
