"""The barrier of a team inside kernels, by the same algorithms as ``barrier`` in ``ishmem/core/barrier.cpp``.

``call_site`` has the words of the program's call, for reports of long waits, or is None. A *line* is memory of this
PE's heap with a number that one other PE writes.
"""

from __future__ import annotations

from ishmem.common.layout import LINE, TeamRecord

from .atomic_instructions import memory_fence
from .intrinsics import compiled, load_word, store_word
from .long_waits import clear_wait_record, make_word_poll, must_end_wait, record_member_wait
from .memory_orders import FLAG_SEEN
from .nodes import nodes_of, pe_in, place_after, spans_nodes
from .options import SPANS
from .proxy import store_flag
from .spec_constants import heap_base, sync_bytes, sync_lines, team_records

SEQUENCE = TeamRecord.at("sequence")

flag_fence = memory_fence(FLAG_SEEN)


@compiled
def is_before(seen, number):
    """Return whether sequence number ``seen`` is less than ``number``."""
    return seen < number


poll_line = make_word_poll(is_before)


@compiled
def next_number(team):
    """Increment the sequence number of a team's rendezvous and barriers of this PE; return the new number."""
    counter = team_records() + SEQUENCE + LINE * team
    number = load_word(counter) + 1
    store_word(counter, number)
    return number


@compiled
def team_barrier(team, members, call_site):
    """Wait until all ``members`` of a team, given by its handle, are in the barrier."""
    if SPANS and spans_nodes(team):
        barrier_of_nodes(team, call_site)
    else:
        flat_barrier(team, members, call_site)


@compiled
def flat_barrier(team, members, call_site):
    """Run a dissemination barrier of the ``members`` of a team on one node."""
    start, stride, size, me = members
    number, line, distance = next_number(team), sync_lines() + sync_bytes() * team, 1
    while distance < size:
        store_flag(start + place_after(me, distance, size) * stride, line, number)
        await_line(line, number, start + place_after(me, size - distance, size) * stride, call_site)
        distance *= 2
        line += LINE


@compiled
def await_line(line, number, pe, call_site):
    """Wait until the line at address ``line``, which PE ``pe`` writes, is at least ``number``, or a PE is lost."""
    recorded = False
    while is_before(poll_line(line, number), number):
        if must_end_wait():
            break
        recorded = record_member_wait(pe, number, line - heap_base(), call_site, recorded)
    if recorded:
        clear_wait_record()
    flag_fence()


@compiled
def barrier_of_nodes(team, call_site):
    """Run a barrier of a team that spans nodes: on each node, then between the leaders, which release their nodes."""
    nodes, number, lines = nodes_of(team), next_number(team), sync_lines() + sync_bytes() * team
    disseminate(nodes.near, nodes.n_near, nodes.index, lines + LINE, number, call_site)
    if nodes.index == 0:
        disseminate(nodes.leaders, nodes.count, nodes.node, lines + LINE * (1 + nodes.rounds), number, call_site)
    release(nodes, lines, number, call_site)


@compiled
def disseminate(pes, size, me, line, number, call_site):
    """Run barrier ``number`` of the ``size`` PEs listed at ``pes``, this one at index ``me``, from ``line`` on."""
    distance = 1
    while distance < size:
        store_flag(pe_in(pes, place_after(me, distance, size)), line, number)
        await_line(line, number, pe_in(pes, place_after(me, size - distance, size)), call_site)
        distance *= 2
        line += LINE


@compiled
def release(nodes, line, number, call_site):
    """Store ``number`` to ``line`` of the other members on this node, as leader; as another member, wait for it."""
    if nodes.index:
        await_line(line, number, pe_in(nodes.near, 0), call_site)
        return
    for i in range(1, nodes.n_near):
        store_flag(pe_in(nodes.near, i), line, number)
