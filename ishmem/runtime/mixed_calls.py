"""Detects a collective call that some PEs make on the host and others in a kernel: a deadlock."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import dpctl

from ishmem import _core
from ishmem.common.errors import SymmetryError
from ishmem.common.layout import LINE, TeamRecord

if TYPE_CHECKING:
    from ishmem.runtime.job import Job

_COMPLETE = dpctl.event_status_type.complete


class MixedCalls:
    """The check, repeated in a long wait, for a collective call that some members make in a kernel, others on the host.

    A member that has begun a collective call in a kernel waits for this PE's kernels to begin it. When that member has
    not entered the call that this PE's host is in, and this PE runs no kernel, both wait forever.
    """

    def __init__(self, this: Job) -> None:
        self._this = this
        self._kernels: dpctl.SyclEvent | None = None  # complete once all kernels submitted before have ended

    def check(self) -> None:
        """Check once whether members of a team make calls on the host and in kernels that wait for each other.

        Raises:
            SymmetryError: PEs make a call on the host and in kernels.
        """
        # Read a member's kernel state before its host state.
        handles = self._this.whole_teams.keys() & set(self._this.handles)
        found = [(handle, pe) for handle in sorted(handles) for pe in self._in_kernel(handle)]
        found = [(handle, pe) for handle, pe in found if pe in self._late(handle)]
        if not found or self._this.queue_workers.used:  # on-queue kernels may not have begun yet
            self._kernels = None
        elif self._kernels is None:
            self._kernels = self._this.heap.queue.submit_barrier()
        elif self._kernels.execution_status == _COMPLETE:
            handle, pe = found[0]
            raise SymmetryError(
                f"PE {pe} calls a collective of team {handle} in a kernel, PE {self._this.pe} on the host; all members "
                "make a call in the same way"
            )

    def _in_kernel(self, handle: int) -> list[int]:
        """Return the members that have begun a call in a kernel that this PE's kernels have not."""
        layout, shape = self._this.heap.layout, self._this.teams[handle]
        begun = self._read(self._this.pe, layout.team(handle) + TeamRecord.at("sequence"))
        slots = [layout.rendezvous(handle, odd) for odd in (0, 1)]
        met = {pe: [slot + member * layout.header_bytes for slot in slots] for member, pe in enumerate(shape)}
        before, line = self._before(handle)
        met[before].append(layout.device_sync(handle) + line)
        nodes = self._this.node_list(handle)
        for step in nodes.steps if nodes else ():
            met[step.partner] += [layout.meeting(handle, odd) + LINE * step.line for odd in (0, 1)]
        return [pe for pe, places in met.items() if any(self._read(self._this.pe, place) > begun for place in places)]

    def _late(self, handle: int) -> list[int]:
        """Return the members that have certainly not entered the collective call of this PE's host."""
        this, late = self._this, []
        mine, barrier, first = self._entered(this.pe, handle), _core.team_sequence(handle), this.first_sequences[handle]
        if mine > first:
            late = [pe for pe in this.teams[handle] if self._entered(pe, handle) < mine]
        before, line = self._before(handle)
        if barrier > first and before != this.pe and self._barrier_told(handle, line) < barrier:
            late.append(before)
        return late

    def _barrier_told(self, handle: int, line: int) -> int:
        """Return the number of the last barrier that the previous member has announced to this PE."""
        return self._read(self._this.pe, self._this.heap.layout.host_sync(handle) + line) >> _core.KINDS_BITS

    def _before(self, handle: int) -> tuple[int, int]:
        """Return the member for whose flag this PE waits first in a barrier, and the flag's offset in the lines.

        In a team that spans nodes this is a member on this node; it is this PE if there is no other one.
        """
        shape, nodes = self._this.teams[handle], self._this.node_list(handle)
        if nodes:
            return nodes.near[nodes.index - 1], LINE
        return shape.pe((shape.index(self._this.pe) - 1) % shape.size), 0

    def _entered(self, pe: int, handle: int) -> int:
        """Return the number of the last collective call that the host of PE ``pe`` has entered."""
        layout = self._this.heap.layout
        return max(self._read(pe, layout.host_ring(handle) + LINE + half * layout.host_slot_bytes) for half in (0, 1))

    def _read(self, pe: int, place: int) -> int:
        return int(struct.unpack("<q", _core.read(pe, place, 8))[0])
