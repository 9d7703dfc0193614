"""The kernels of ``ishmem.moe``: each PE sends lists of tokens, and receives the outputs for its own tokens.

A call is a launch whose work-groups take *units* of work in ascending order (`kernels.work_groups`): first units that
send, without waiting, then units that receive. The flag of a list contains the number of the call and the length of the
list, and each PE sends a flag for each list, also for an empty one.

Calls alternate between two halves of the workspace. A PE that begins call ``k + 2`` has received the flags of call ``k
+ 1`` from every member, each of which had completed call ``k`` before, so the rows of call ``k`` are free. Dispatches
and combines count separately, with rows of their own.

``buffer`` is a `BufferArrays`, ``call`` a `BufferCall`, ``received`` a `ReceivedArrays`; ``group`` is the work-group.

Model: tests/models/moe.pml.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem import order, rma, signals
from ishmem.common.constants import CMP_GE
from ishmem.common.inference import WORD
from ishmem.common.moe import COMBINES, DISPATCHES, ENDED, HEADER, LISTS, MAX_TOKENS, OUTPUTS, ROW, TICKET
from ishmem.common.shared_numbers import FROM_PROGRAM
from ishmem.common.violations import ROWS, routine_number
from ishmem.runtime.kernel_extension import kernel_factory

from .copy import WIDEST, copy_by_group, copy_wide, is_wide
from .float_words import UNIT_BYTES, add, float_words, scaled, weighted_sum
from .forms import of_fields
from .front_end import kernel, kernel_api as kapi, kernel_of_copies
from .intrinsics import (
    address_of,
    compiled,
    group_barrier,
    group_exclusive_sum,
    group_sum,
    item_bytes,
    load_word,
    rank_in,
    size_of,
)
from .options import CHECK, LATE, PROXIED
from .peers import peer_delta
from .proxy import Move, reachable, start_by_proxy, store_flag
from .runtime_checks import report
from .teams import members_of, pe_of
from .work_division import Workers, work_item_share
from .work_groups import end_launch, next_ticket

DISPATCH = routine_number("Buffer.dispatch")

LENGTH = 0xFFFFFFFF  # the lower half of a word: the length of a list in its flag, a choice in the list


class BufferCall(NamedTuple):
    """A call, and where its parts of the workspace begin: indices of flags and words, byte offsets of rows.

    Attributes:
        number: The number of the call in the upper half of a word.
        flags: Flags of the lists received.
        back: Flags of the lists whose outputs have come back.
        sent, received: Words of the lists.
        found: Words with the places of the outputs of choices.
        row_sizes: Words with the row sizes of the lists received.
        rows: Rows of the lists received.
        outputs: Rows of the outputs that have come back.
        max_tokens: Number of rows for each list.
        row: Bytes of a row.
    """

    number: int
    flags: int
    back: int
    sent: int
    received: int
    found: int
    row_sizes: int
    rows: int
    outputs: int
    max_tokens: int
    row: int


class Launch(NamedTuple):
    """A launch: the team, whether it ends the call (1 or 0), and its first unit."""

    team: int
    ends: int
    first: int


class Sizes(NamedTuple):
    """The sizes of a call: tokens, choices per token, lists received per PE, bytes of a row and of its scales."""

    tokens: int
    topk: int
    lists_per_pe: int
    nbytes: int
    scale_bytes: int


class BufferArrays(NamedTuple):
    """The arrays of the workspace: rows, words and flags."""

    rows: Any
    words: Any
    flags: Any


class Tokens(NamedTuple):
    """The arrays that a dispatch sends: tokens, their scales, and the lists that each token has chosen."""

    x: Any
    scales: Any
    topk_idx: Any


class ReceivedArrays(NamedTuple):
    """The arrays into which a dispatch receives.

    Attributes:
        x, scales: Tokens and their scales.
        counts: Number of tokens of each list.
        layout: For each list and member, the index of the first token and the number of tokens.
        origins: For each token, the index of its choice on the PE that has sent it.
    """

    x: Any
    scales: Any
    counts: Any
    layout: Any
    origins: Any


class Outputs(NamedTuple):
    """The arrays that a combine sends back: outputs ``x``, with ``layout`` and ``origins`` as in `ReceivedArrays`."""

    x: Any
    layout: Any
    origins: Any


class Sums(NamedTuple):
    """The arrays of the sums of a combine: lists chosen by each token, their weights, results and biases.

    The biases are arrays of the shape of the results, one after the other.
    """

    topk_idx: Any
    weights: Any
    out: Any
    biases: Any


@compiled
def call_of(words, number, lists_per_pe):
    """Return the `BufferCall` of call ``number``, computed from the header in the workspace's ``words``."""
    half, lists, max_tokens, outputs, row = number & 1, words[LISTS], words[MAX_TOKENS], words[OUTPUTS], words[ROW]
    length = lists * max_tokens
    received, first = HEADER + (1 + half) * length, 2 * length + half * outputs
    found, rows = HEADER + 3 * length, half * length * row
    row_sizes = found + outputs + half * lists
    flags, back, outputs = half * lists, (2 + (lists_per_pe == 1)) * lists, first * row
    return BufferCall(number << 32, flags, back, HEADER, received, found, row_sizes, rows, outputs, max_tokens, row)


@compiled
def choice_of(topk_idx, token, topk, chosen):
    """Return the index in ``topk_idx`` of the first of a token's ``topk`` choices of list ``chosen``; -1 if none."""
    for i in range(token * topk, (token + 1) * topk):
        if topk_idx[i] == chosen:
            return i
    return -1


@compiled
def make_list(words, topk_idx, sizes, chosen, at, group):
    """Write the tokens of list ``chosen``, each with its choice, to the words from ``at`` on; return their number."""
    rank, size, length = rank_in(group), size_of(group), 0
    for first in range(0, sizes.tokens, size):
        choice = -1
        if first + rank < sizes.tokens:
            choice = choice_of(topk_idx, first + rank, sizes.topk, chosen)
        before = length + group_exclusive_sum(group, choice >= 0)
        length += group_sum(group, choice >= 0)
        if choice >= 0:
            words[at + before] = (first + rank) << 32 | choice
    group_barrier(group)
    return length


@compiled
def put_part(to, origin, nbytes, pe, group):
    """Put this work-item's share of ``nbytes`` bytes at ``origin`` to PE ``pe``; ``to`` is the address on this PE."""
    if not PROXIED or reachable(pe):
        copy_by_group(to + peer_delta(pe), origin, nbytes, group)
    elif rank_in(group) == 0 and nbytes:
        start_by_proxy(True, FROM_PROGRAM, pe, Move(to, origin, 0, 0, nbytes, 1), Workers(0, 1))


@compiled
def token_at(tokens, i):
    """Return the number of token ``i`` in the list at address ``tokens``."""
    return load_word(tokens + 8 * i) >> 32


@compiled
def copy_tokens(to, apart, tokens, length, origin, nbytes, group):
    """Copy the rows, of ``nbytes`` bytes, of the ``length`` tokens in the list at address ``tokens`` to ``to``.

    Token ``t`` has its row at ``origin + t * nbytes``; rows at ``to`` start ``apart`` bytes apart. The work-items of a
    group share each row.
    """
    if not is_wide(to | apart, origin, nbytes):
        for i in range(length):
            copy_by_group(to + i * apart, origin + token_at(tokens, i) * nbytes, nbytes, group)
    elif rank_in(group) < nbytes // WIDEST:  # most work-items of a large group have nothing to do
        for i in range(length):
            copy_wide(to, origin + token_at(tokens, i) * nbytes, nbytes, group)
            to += apart


@compiled
def put_tokens(to, apart, tokens, length, origin, nbytes, pe, group):
    """Put rows of tokens to PE ``pe``; arguments as for `copy_tokens`, but ``to`` is the address on this PE."""
    if not PROXIED or reachable(pe):
        copy_tokens(to + peer_delta(pe), apart, tokens, length, origin, nbytes, group)
    else:
        for i in range(length):
            put_part(to + i * apart, origin + token_at(tokens, i) * nbytes, nbytes, pe, group)


@compiled
def copy_rows(to, to_apart, origin, apart, length, nbytes, group):
    """Copy ``length`` rows of ``nbytes`` bytes from ``origin``, ``apart`` bytes apart, to ``to``, by ``to_apart``."""
    if not is_wide(to | to_apart, origin | apart, nbytes):
        for i in range(length):
            copy_by_group(to + i * to_apart, origin + i * apart, nbytes, group)
    elif rank_in(group) < nbytes // WIDEST:
        for _ in range(length):
            copy_wide(to, origin, nbytes, group)
            to += to_apart
            origin += apart


@compiled
def set_flag_after_puts(flags, index, value, pe, group):
    """Set flag ``index`` of PE ``pe`` to ``value`` after all puts of a group's work-items to that PE."""
    order.fence_work_group(group)  # type: ignore[attr-defined]  # made from the table
    if rank_in(group) == 0:
        set_flag(flags, index, value, pe)


@compiled
def set_flag(flags, index, value, pe):
    """Set flag ``index`` of PE ``pe`` to ``value``; where the proxy holds puts, it also holds the flag."""
    if LATE:
        signals.signal_set(flags, value, pe, index)
    else:
        store_flag(pe, address_of(flags) + index * item_bytes(flags), value)


@compiled
def send_list(chosen, buffer, tokens, call, sizes, members, group):
    """Send the tokens and choices of list ``chosen`` to its PE, then the flag, as a work-group."""
    words = buffer.words
    mine, pe = call.sent + chosen * call.max_tokens, pe_of(members, chosen // sizes.lists_per_pe)
    there = chosen % sizes.lists_per_pe * members.size + members.me
    length, to = make_list(words, tokens.topk_idx, sizes, chosen, mine, group), there * call.max_tokens
    row, sent = address_of(buffer.rows) + call.rows + to * call.row, address_of(words) + 8 * mine
    put_tokens(row, call.row, sent, length, address_of(tokens.x), sizes.nbytes, pe, group)
    if sizes.scale_bytes:
        row += sizes.nbytes
        put_tokens(row, call.row, sent, length, address_of(tokens.scales), sizes.scale_bytes, pe, group)
    put_part(address_of(words) + 8 * (call.received + to), sent, 8 * length, pe, group)
    send_sizes(words, call.row_sizes + there, sizes, pe, group)
    set_flag_after_puts(buffer.flags, call.flags + there, call.number | length, pe, group)


@compiled
def send_sizes(words, index, sizes, pe, group):
    """With ISHMEM_CHECK, put the sizes of this PE's rows to word ``index`` of PE ``pe``."""
    if CHECK and rank_in(group) == 0:
        rma.p(words, sizes.nbytes << 32 | sizes.scale_bytes, pe, index)


@compiled
def sizes_match(words, index, sizes, pe):
    """Return whether the row sizes from PE ``pe``, in word ``index``, equal this PE's; report a violation if not."""
    if not CHECK:
        return True
    mine, theirs = sizes.nbytes << 32 | sizes.scale_bytes, words[index]
    if mine != theirs:
        report(DISPATCH, ROWS, pe, 0, mine, theirs, 0)
    return mine == theirs


@compiled
def await_list(here, member, buffer, received, call, sizes, members):
    """Wait, as one work-item, for list ``here`` from all members up to ``member``, and write the layout of the last.

    Returns:
        The number of rows of the previous lists in the upper half of an int64, the length of the last in the lower one.
    """
    start, length, first = 0, 0, here * members.size
    for other in range(member + 1):
        start += length
        length = (
            np.int64(signals.signal_wait_until(buffer.flags, CMP_GE, call.number, call.flags + first + other)) & LENGTH
        )
    if length and not sizes_match(buffer.words, call.row_sizes + first + member, sizes, pe_of(members, member)):
        length = 0
    received.layout[2 * (first + member)] = start
    received.layout[2 * (first + member) + 1] = length
    if member == members.size - 1:
        received.counts[here] = start + length
    return start << 32 | length


@compiled
def receive_list(unit, buffer, received, call, sizes, members, group):
    """Wait for list number ``unit``, and copy its rows behind those of the previous members, as a work-group."""
    here, member, first, packed = unit // members.size, unit % members.size, unit * call.max_tokens, 0
    if rank_in(group) == 0:
        packed = await_list(here, member, buffer, received, call, sizes, members)
    packed = group_sum(group, packed)
    group_barrier(group)
    start, length = here * members.size * call.max_tokens + (packed >> 32), packed & LENGTH
    for i in range(rank_in(group), length, size_of(group)):
        received.origins[start + i] = buffer.words[call.received + first + i] & LENGTH
    row = address_of(buffer.rows) + call.rows + first * call.row
    to = address_of(received.x) + start * sizes.nbytes
    copy_rows(to, sizes.nbytes, row, call.row, length, sizes.nbytes, group)
    if sizes.scale_bytes:
        to = address_of(received.scales) + start * sizes.scale_bytes
        copy_rows(to, sizes.scale_bytes, row + sizes.nbytes, call.row, length, sizes.scale_bytes, group)


@compiled
def end(words, number, ends, group):
    """End a launch in this work-group: the last one prepares the next launch, and adds ``ends`` to word ``number``."""
    here = address_of(words)
    end_launch(here + 8 * TICKET, here + 8 * ENDED, here + 8 * number, ends, group)


def dispatch(
    item: kapi.NdItem, buffer: BufferArrays, tokens: Tokens, received: ReceivedArrays, launch: Launch, sizes: Sizes
):  # fmt: skip
    """Process one unit of a dispatch as a work-group: send a list of ``tokens``, or receive one into ``received``."""
    group, members = item.get_group(), members_of(launch.team)
    call, lists = call_of(buffer.words, buffer.words[DISPATCHES], sizes.lists_per_pe), sizes.lists_per_pe * members.size
    unit = launch.first + next_ticket(address_of(buffer.words) + 8 * TICKET, group)
    if unit < lists:
        send_list(unit, buffer, tokens, call, sizes, members, group)
    else:
        receive_list(unit - lists, buffer, received, call, sizes, members, group)
    end(buffer.words, DISPATCHES, launch.ends, group)


@kernel_factory
def dispatch_kernel() -> Any:
    """Return the kernel of a dispatch: each work-group sends or receives one list of tokens; all sends start first."""
    return kernel_of_copies(of_fields(dispatch))


@compiled
def send_back(unit, buffer, outputs, call, sizes, members, group):
    """Put the outputs for the tokens of list ``unit`` to the places of their choices on its PE, then set the flag."""
    here, member = unit // members.size, unit % members.size
    first, pe = here * members.size * call.max_tokens + outputs.layout[2 * unit], pe_of(members, member)
    for i in range(outputs.layout[2 * unit + 1]):
        to = address_of(buffer.rows) + call.outputs + outputs.origins[first + i] * call.row
        put_part(to, address_of(outputs.x) + (first + i) * sizes.nbytes, sizes.nbytes, pe, group)
    set_flag_after_puts(buffer.flags, call.back + members.me * sizes.lists_per_pe + here, call.number, pe, group)


@compiled
def await_outputs(buffer, topk_idx, token, topk, lists, call, group):
    """Wait for a token's outputs; write the place of that of each of its ``topk`` choices, -1 for a choice of no list.

    A list that a token has chosen more than once has one output, at its first choice.
    """
    for i in range(token * topk + rank_in(group), (token + 1) * topk, size_of(group)):
        buffer.words[call.found + i] = -1
        if 0 <= topk_idx[i] < lists:
            signals.signal_wait_until(buffer.flags, CMP_GE, call.number, call.back + topk_idx[i])
            buffer.words[call.found + i] = choice_of(topk_idx, token, topk, topk_idx[i])
    group_barrier(group)


def _make_add_token(dtype: str, n_biases: int) -> Any:
    """Make the function by which a work-group sums the outputs of a token, after ``n_biases`` biases."""
    _lanes, load, store, numbers, rounded = float_words(dtype)
    sum_unit = weighted_sum(dtype, n_biases)

    @compiled
    def total(token, i, last, buffer, sums, call, sizes):
        """Return the sum of word ``i`` of the biases and weighted outputs of a token, in order."""
        result, outputs = numbers(0), address_of(buffer.rows) + call.outputs
        bias = address_of(sums.biases) + token * sizes.nbytes + i * WORD
        for which in range(n_biases):
            result = add(result, numbers(load(bias + which * sizes.tokens * sizes.nbytes, last)))
        for choice in range(token * sizes.topk, (token + 1) * sizes.topk):
            slot = buffer.words[call.found + choice]
            if slot >= 0:
                word = load(outputs + slot * call.row + i * WORD, last)
                result = add(result, scaled(numbers(word), sums.weights[choice]))
        return result

    @compiled
    def add_token(token, buffer, sums, lists, call, sizes, group):
        await_outputs(buffer, sums.topk_idx, token, sizes.topk, lists, call, group)
        outputs, to = address_of(buffer.rows) + call.outputs, address_of(sums.out) + token * sizes.nbytes
        low, rank, size = token * sizes.topk, rank_in(group), size_of(group)
        if (to | sizes.nbytes) % UNIT_BYTES == 0:
            slots, factors = address_of(buffer.words) + 8 * (call.found + low), address_of(sums.weights) + 4 * low
            bias, apart = address_of(sums.biases) + token * sizes.nbytes, sizes.tokens * sizes.nbytes
            first, step, end = work_item_share(sizes.nbytes // UNIT_BYTES, rank, size)
            for at in range(first * UNIT_BYTES, end * UNIT_BYTES, step * UNIT_BYTES):
                sum_unit(to + at, (outputs + at, call.row), slots, factors, sizes.topk, (bias + at, apart))
        else:
            first, step, end = work_item_share((sizes.nbytes + WORD - 1) // WORD, rank, size)
            for i in range(first, end, step):
                last = (i + 1) * WORD > sizes.nbytes
                store(to + i * WORD, rounded(total(token, i, last, buffer, sums, call, sizes)), last)

    return add_token


@kernel_factory
def combine_kernel(dtype: str, n_biases: int = 0) -> Any:
    """Return the kernel that sends outputs back and sums those of each token, for a dtype of `float_words.DTYPES`.

    Each sum starts with the ``n_biases`` biases of its token.

    The units: one for each list to send back, one for each token to sum, then one that waits for all lists.
    """
    add_token = _make_add_token(dtype, n_biases)

    def combine(item: kapi.NdItem, buffer: BufferArrays, outputs: Outputs, sums: Sums, launch: Launch, sizes: Sizes):
        group, members, words = item.get_group(), members_of(launch.team), buffer.words
        call, lists = call_of(words, words[COMBINES], sizes.lists_per_pe), sizes.lists_per_pe * members.size
        unit = launch.first + next_ticket(address_of(words) + 8 * TICKET, group)
        if unit < lists:
            send_back(unit, buffer, outputs, call, sizes, members, group)
        elif unit < lists + sizes.tokens:
            add_token(unit - lists, buffer, sums, lists, call, sizes, group)
        else:
            for i in range(rank_in(group), lists, size_of(group)):
                signals.signal_wait_until(buffer.flags, CMP_GE, call.number, call.back + i)
        end(words, COMBINES, launch.ends, group)

    return kernel_of_copies(of_fields(combine))


@kernel_factory
def fold_kernel(dtype: str) -> Any:
    """Return the kernel that sums rows: row ``i`` of ``out`` is the sum of those of ``x`` at ``places[i]``, in order.

    Negative places are skipped. Each work-group computes one row, whose size is a multiple of `UNIT_BYTES`.
    """
    sum_unit = weighted_sum(dtype)

    def fold(item: kapi.NdItem, _buffer: BufferArrays, x, places, ones, out, topk, nbytes):
        group, row = item.get_group(), item.get_group().get_group_id(0)
        first, step, end = work_item_share(nbytes // UNIT_BYTES, rank_in(group), size_of(group))
        origin, to = address_of(x), address_of(out) + row * nbytes
        chosen, factors = address_of(places) + 8 * row * topk, address_of(ones)
        for at in range(first * UNIT_BYTES, end * UNIT_BYTES, step * UNIT_BYTES):
            sum_unit(to + at, (origin + at, nbytes), chosen, factors, topk, (0, 0))

    return kernel_of_copies(of_fields(fold))


@kernel_factory
def fetch_kernel() -> Any:
    """Return ``kernel(item, storage, rows, indices, entries)``: work-group ``i`` gets row ``indices[i]``.

    ``storage`` contains the bytes of ``entries`` rows on each PE; ``rows`` receives the bytes of the rows.
    """

    def fetch(item: kapi.NdItem, storage, rows, indices, entries):
        group = item.get_group()
        row = group.get_group_id(0)
        nbytes, index = storage.size // entries, indices[row]
        start = index % entries * nbytes
        to = rows[row * nbytes : (row + 1) * nbytes]
        ishmem.get_work_group(to, storage[start : start + nbytes], index // entries, group)

    return kernel(fetch)
