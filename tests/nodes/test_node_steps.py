"""The steps between the leaders of nodes in a rendezvous, which the host and kernels follow."""

from __future__ import annotations

import pytest

from ishmem import _core
from ishmem.common.layout import LINE, MAX_TEAMS, Layout, NodeList

SHAPES = {
    "blocks": [pe // 2 for pe in range(16)],
    "in turn": [pe % 3 for pe in range(12)],
    "uneven": [0, 1, 1, 1, 2, 3, 3, 4, 5, 5],
    "two": [0, 1],
    "many": [pe // 3 for pe in range(300)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_steps(shape: str) -> None:
    """After the steps each leader has the slots of all members, by few messages, each into lines of its own."""
    nodes = SHAPES[shape]
    pes, count = list(range(len(nodes))), max(nodes) + 1
    lists = {pe: NodeList.of(pes, pe, nodes, _core.pair_steps) for pe in pes}
    leaders = [nodes.index(node) for node in range(count)]
    known = {pe: {other for other in pes if nodes[other] == nodes[pe]} for pe in leaders}
    waiting = {pe: list(lists[pe].steps) for pe in leaders}
    sent: dict[tuple[int, int, int], set[int]] = {}
    while any(waiting.values()):
        before = sum(map(len, waiting.values()))
        for pe, steps in waiting.items():
            while steps:
                step = steps[0]
                members = {first + i for first, n in step.runs for i in range(n)}
                assert members <= known[pe] and all(nodes[member] != nodes[step.partner] for member in members)
                if members:
                    sent[pe, step.partner, step.line] = members
                if step.takes and (step.partner, pe, step.line) not in sent:
                    break
                if step.takes:
                    known[pe] |= sent[step.partner, pe, step.line]
                steps.pop(0)
        assert sum(map(len, waiting.values())) < before, "the leaders wait for each other"
    assert all(members == set(pes) for members in known.values())
    for pe in leaders:
        messages = [key for key in sent if key[0] == pe]
        assert len(messages) <= (count - 1).bit_length() + 1
        lines = [step.line for step in lists[pe].steps]
        assert lines == sorted(set(lines)) and max(lines) < Layout(len(pes), 1).meeting_bytes // 2 // LINE - 1
    assert all(not lists[pe].steps for pe in pes if pe not in leaders)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums(shape: str) -> None:
    """Sums that are combined by the steps have all members in one order, and all PEs find them at one place."""
    nodes = SHAPES[shape]
    pes, count = list(range(len(nodes))), max(nodes) + 1
    lists = {pe: NodeList.of(pes, pe, nodes, _core.pair_steps) for pe in pes}
    leaders = [nodes.index(node) for node in range(count)]
    sums: dict[int, dict[int, tuple]] = {pe: {pe: (nodes[pe],)} for pe in leaders}  # by the place in the slots
    last, waiting = {pe: pe for pe in leaders}, {pe: list(lists[pe].steps) for pe in leaders}
    sent: dict[tuple[int, int], tuple] = {}
    while any(waiting.values()):
        before = sum(map(len, waiting.values()))
        for pe, steps in waiting.items():
            while steps:
                step, mine = steps[0], sums[pe][last[pe]]
                if step.runs:
                    sent.setdefault((pe, step.partner), mine)
                if step.takes and (step.partner, pe) not in sent:
                    break
                if step.takes:
                    theirs, last[pe] = sent[step.partner, pe], step.partner
                    both = (theirs, mine) if step.is_second else (mine, theirs)
                    sums[pe][step.partner] = theirs if step.is_whole else both
                steps.pop(0)
        assert sum(map(len, waiting.values())) < before, "the leaders wait for each other"
    totals = {sums[pe][lists[pe].total] for pe in leaders}
    assert len(totals) == 1
    assert str(*totals).translate(str.maketrans("(),", "   ")).split() == [str(node) for node in range(count)]
    assert all(lists[pe].total == lists[nodes.index(nodes[pe])].total for pe in pes)


@pytest.mark.parametrize("shape", SHAPES)
def test_exchanges(shape: str) -> None:
    """By the exchanges each PE gets the block of each other one; the blocks of an aggregator do not overlap."""
    nodes = SHAPES[shape]
    pes = list(range(len(nodes)))
    lists = {pe: NodeList.of(pes, pe, nodes, _core.pair_steps) for pe in pes}
    outgoing: dict[tuple[int, int], tuple[int, int]] = {}
    for pe, nodes_of_pe in lists.items():
        for distance, exchange in enumerate(nodes_of_pe.exchanges):
            there = [first + i for first, n in exchange.runs for i in range(n)]
            assert len(there) == exchange.size
            place = exchange.place + nodes_of_pe.index * exchange.size
            for number, member in enumerate(there):
                key = aggregator(nodes_of_pe, distance), place + number
                assert key not in outgoing and key[1] < nodes_of_pe.widest
                outgoing[key] = pe, member
    arrived, widest = {}, {lists[pe].widest for pe in pes}
    for pe, nodes_of_pe in lists.items():
        for distance, exchange in enumerate(nodes_of_pe.exchanges):
            if aggregator(nodes_of_pe, distance) == pe:
                for block in range(nodes_of_pe.n_near * exchange.size):
                    key = exchange.partner, exchange.partner_place + block
                    assert key not in arrived
                    arrived[key] = outgoing[pe, exchange.place + block]
    for pe, nodes_of_pe in lists.items():
        for distance, exchange in enumerate(nodes_of_pe.exchanges):
            there = [first + i for first, n in exchange.runs for i in range(n)]
            place = exchange.place + nodes_of_pe.index
            places = [place + number * nodes_of_pe.n_near for number in range(len(there))]
            assert [arrived[aggregator(nodes_of_pe, distance), at] for at in places] == [(one, pe) for one in there]
    assert len(widest) == 1 and max(place for _pe, place in outgoing) == widest.pop() - 1


def aggregator(nodes: NodeList, distance: int) -> int:
    return nodes.near[distance % nodes.n_near]


@pytest.mark.parametrize(("n_pes", "width"), [(4, 2), (96, 12), (10_000, 12)])
def test_lines(n_pes: int, width: int) -> None:
    """The lines of teams are behind the tiles, and do not overlap; a job on one node has none."""
    layout = Layout(n_pes, width)
    assert layout.meeting(0) == layout.tiles + layout.tile_bytes * (MAX_TEAMS // 2)
    assert layout.meeting(MAX_TEAMS // 2) <= layout.size
    assert layout.meeting(1) - layout.meeting(0) == layout.meeting_bytes > 0
    assert Layout(n_pes, n_pes).meeting_bytes == 0
