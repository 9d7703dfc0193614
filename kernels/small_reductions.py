"""Reductions of small blocks in teams that span nodes, which are combined on the way, as on the host.

Each leader combines the blocks of its node. In a step, it sends what it has to another leader, and combines what comes
from there, that of the lower nodes first: so all PEs get the same bits. The places of blocks in the slots of a leader
hold it all: its own has the sum of its node; that of another leader has what has come from there, combined with what
was here before. Nothing is changed after it has been sent, so no step waits until a source has been read.
"""

from __future__ import annotations

from typing import Any

from ishmem.common.call_id import REFUSED

from .barrier import next_number
from .copy import copy_bytes
from .intrinsics import compiled, rank_in, size_of
from .nodes import nodes_of, pe_in, step_at
from .proxy import PUT, copy_by_proxy
from .rendezvous import group_broadcast, group_sync, id_of, may_go_on, put_small_blocks
from .rendezvous_of_nodes import distance_to_table, meet_near, meeting_of, member_at, release_near, tell_and_hear
from .rendezvous_slots import block_step, slots_of
from .teams import members_of


def _make_steps(combine_two: Any) -> Any:
    @compiled
    def between(sample, nodes, members, nbytes, meeting, same, group):
        """Combine the blocks of all nodes, as the work-group of a leader; return whether all calls are the same."""
        address, apart = nodes.steps, block_step(nbytes)
        own = meeting.blocks + members.me * apart
        total = own
        for _ in range(nodes.n_steps):
            step, address = step_at(address)
            theirs = meeting.blocks + member_at(members, step.partner) * apart
            group_sync(group)
            if rank_in(group) == 0:
                if step.n_runs and nbytes:
                    copy_by_proxy(PUT, step.partner, own, total, nbytes)
                same = tell_and_hear(step, meeting, same)
            group_sync(group)
            if step.takes and not step.is_whole:
                first, second = (theirs, total) if step.is_second else (total, theirs)
                combine_two(sample, theirs, first, second, nbytes, members, group)
            if step.takes:
                total = theirs
        return same

    return between


def make_small_reduction(combine_two: Any) -> Any:
    """Make a reduction; ``combine_two(sample, to, first, second, nbytes, members, group)`` combines two blocks."""
    between = _make_steps(combine_two)

    @compiled
    def combine_nodes(sample, nodes, members, nbytes, meeting, same, group):
        """Combine the blocks of this node, and then of all, as the work-group of a leader."""
        apart = block_step(nbytes)
        own = meeting.blocks + members.me * apart
        for i in range(1, nodes.n_near):
            group_sync(group)
            other = meeting.blocks + member_at(members, pe_in(nodes.near, i)) * apart
            combine_two(sample, own, own, other, nbytes, members, group)
        return between(sample, nodes, members, nbytes, meeting, same, group)

    @compiled
    def reduce(sample, call, count, flow, group):
        """Run the reduction in a team of this PE that spans nodes; return 0.

        Model: tests/models/small_reductions.pml.
        """
        nodes, members, nbytes, same = nodes_of(call.team), members_of(call.team), count * call.itemsize, True
        call_id = id_of(call, count, flow, members.size)
        group_sync(group)
        if rank_in(group) == 0:
            if call_id != REFUSED:
                put_small_blocks(members, slots_of(call.team, 0), call, count, flow, True)
            next_number(call.team)
        group_sync(group)
        meeting = meeting_of(call.team, call_id, count)
        if rank_in(group) == 0:
            same = meet_near(nodes, members, meeting, count)
        if nodes.index == 0:
            same = combine_nodes(sample, nodes, members, nbytes, meeting, same, group)
        group_sync(group)
        if rank_in(group) == 0:
            same = release_near(nodes, meeting, same)
            same = may_go_on(call.team, members, call_id, count, same)
        if group_broadcast(group, same):
            total = meeting.blocks + nodes.total * block_step(nbytes) + distance_to_table(call.team)
            copy_bytes(call.dest, total, nbytes, rank_in(group), size_of(group))
        group_sync(group)
        return 0

    return reduce
