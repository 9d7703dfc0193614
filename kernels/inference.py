"""The kernels of ``ishmem.inference``: collectives whose words carry the number of their call.

A word of 4 bytes of a message and the low half of the number of the call make a slot of 8 bytes, which one plain store
writes and a link does not tear. The receiver polls the slot until the number is right, and then has the data: no fence,
no barrier and no atomic between PEs is needed, which a PCIe link may lack.

Calls alternate between two halves of the workspace. A PE that begins call ``k + 2`` has received words of call
``k + 1`` from every member, each of which had completed call ``k`` before, so the slots of call ``k`` are free.

Model: tests/models/inference.pml.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ishmem.common.call_id import dtype_number, pack
from ishmem.common.inference import CALL, CHUNK, FINISHED, ONE_SHOT, PIECE, SLOTS, TEAM, TICKET, TOLD, WORD
from ishmem.common.violations import MISMATCH, number
from ishmem.runtime.kernel_extension import kernel_factory

from .float_words import FloatWords, add, dot, float_words, multiply, scaled
from .forms import of_fields
from .front_end import kernel, kernel_api as kapi
from .intrinsics import (
    address_of,
    compiled,
    group_barrier,
    group_float_sum,
    group_sum,
    load_word,
    rank_in,
    size_of,
    store_volatile,
)
from .long_waits import clear_wait_record, make_word_poll, must_end_wait, record_member_wait
from .nodes import after
from .options import CHECK
from .peers import peer_delta
from .runtime_checks import report
from .spec_constants import heap_base
from .teams import members_of, pe_of
from .work_division import work_item_share
from .work_groups import end_launch, groups_of, next_ticket

LOW_HALF = 0xFFFFFFFF


class Call(NamedTuple):
    """A call of a collective.

    Attributes:
        number: The number of the call in the upper half of a word.
        slots: The address of its slots for data; those by which members tell of their calls precede it.
    """

    number: int
    slots: int


class Part(NamedTuple):
    """The chunks of a work-group: ``first`` and then every ``step``-th one.

    All PEs of a team have the same parts, and the work-groups that have begun the first ones: see
    `kernels.work_groups`.
    """

    first: int
    step: int


class Message(NamedTuple):
    """The size of a message: in elements, words and chunks."""

    nelems: int
    words: int
    chunks: int


class Addresses(NamedTuple):
    """The addresses of the arrays of an all-reduce with RMS norm; ``weight`` is that of the weights of a row."""

    dest: int
    source: int
    residual: int
    weight: int


class Rows(NamedTuple):
    """The rows of an all-reduce with RMS norm.

    Attributes:
        count: Rows of the message.
        inverse: The inverse of the length of a row.
        eps: What is added to the mean of the squares.
    """

    count: int  # type: ignore[assignment]  # hides a method of tuple
    inverse: float
    eps: float


@compiled
def begin(workspace, words, size):
    """Begin a call: return the `Call` of this PE in a workspace of ``words`` words for ``size`` PEs."""
    number = load_word(workspace + CALL)
    half = (words * 8 - SLOTS) // 2
    return Call(number << 32, workspace + SLOTS + (number & 1) * half + 8 * TOLD * size)


@compiled
def end(workspace, group):
    """Let the last work-group of this PE that finishes the call prepare the next one."""
    end_launch(workspace + TICKET, workspace + FINISHED, workspace + CALL, 1, group)


@compiled
def send(call, slot, word, members, member):
    """Write a word and the call's number to a slot of a member."""
    store_volatile(call.slots + slot * 8 + peer_delta(pe_of(members, member)), word | call.number)


@compiled
def send_to_others(call, slot, word, members):
    """Write a word and the call's number to a slot of every other member."""
    for i in range(1, members.size):
        send(call, slot, word, members, after(members.me, i, members.size))


@compiled
def is_of_other_call(word, number):
    """Return whether a word of a slot is of another call than that of a number."""
    return (word ^ number) >> 32 != 0


look = make_word_poll(is_of_other_call)


@compiled
def receive(call, slot, members, member):
    """Wait for the word that a member sends to a slot of this PE in this call; return it."""
    recorded, at = False, call.slots + slot * 8
    seen = look(at, call.number)
    while is_of_other_call(seen, call.number):
        if must_end_wait():
            break
        recorded = record_member_wait(pe_of(members, member), call.number >> 32, at - heap_base(), None, recorded)
        seen = look(at, call.number)
    if recorded:
        clear_wait_record()
    return seen & LOW_HALF


@compiled
def members_in(workspace):
    """Return the `Members` of the team of a communicator."""
    return members_of(load_word(address_of(workspace) + TEAM))


@compiled
def words_in(nelems, lanes):
    """Return the number of words of a message."""
    return (nelems + lanes - 1) // lanes


def call_id_of(routine: str, dtype: str) -> int:
    """Return the id of a call, which fits half a word."""
    return int(pack(number(routine), dtype_number(dtype), 0, 0, 0))


@compiled
def calls_match(call, routine, nelems, part, members, group):
    """Return whether all members call the same routine for the same number of elements; True without ISHMEM_CHECK."""
    if not CHECK:
        return True
    mine = -TOLD * (members.me + 1)
    if part.first == 0 and rank_in(group) == 0:
        send_to_others(call, mine, routine, members)
        send_to_others(call, mine + 1, nelems & LOW_HALF, members)
    different = 0
    if rank_in(group) == 0:
        for distance in range(1, members.size):
            member = after(members.me, distance, members.size)
            theirs = receive(call, -TOLD * (member + 1), members, member)
            count = receive(call, -TOLD * (member + 1) + 1, members, member)
            if theirs != routine or count != nelems & LOW_HALF:
                report(routine & 255, MISMATCH, pe_of(members, member), routine, nelems, count, theirs)
                different = 1
    return group_sum(group, different) == 0


@compiled
def all_have_sent(group):
    """Wait until all work-items of a group have sent their words.

    A work-item that waits may keep others of its group from running, in any order of the device's choice.
    """
    return group_barrier(group)


@compiled
def share_of(low, high, group):
    """Return the words of a chunk that this work-item processes, as start, stop and step."""
    first, step, end = work_item_share(max(high - low, 0), rank_in(group), size_of(group))
    return low + first, low + end, step


@compiled
def part_of(workspace, group):
    """Return the `Part` of a work-group."""
    return Part(next_ticket(workspace + TICKET, group), groups_of(group))


@kernel_factory
def kernel_of(name: str, dtype: str) -> Any:
    """Return the kernel of a collective, ``kernel(item, workspace, dest, source, nelems)``, for a dtype.

    It has any number of work-groups, the same on all PEs. ``nelems`` is the number of elements of ``source``; for
    ``reduce_scatter`` of a block.
    """
    work, routine = _WORKS[name](Forms.of(dtype)), call_id_of(f"Communicator.{name}", dtype)

    def collective(item: kapi.NdItem, workspace, dest, source, nelems):
        group, members, here = item.get_group(), members_in(workspace), address_of(workspace)
        call, part = begin(here, workspace.size, members.size), part_of(here, group)
        if calls_match(call, routine, nelems, part, members, group):
            work(call, address_of(dest), address_of(source), nelems, part, here, members, group)
        end(here, group)

    collective.__name__ = collective.__qualname__ = name
    return kernel(collective)


class Forms(NamedTuple):
    """What kernels do with the words of a message of a dtype; messages are given by addresses.

    Attributes:
        words: The dtype's words.
        word: ``word(message, nelems, i)`` returns word ``i`` of a message.
        put: ``put(message, nelems, i, word)`` stores it.
        total: ``total(call, own, slot, apart, members)`` returns the sum of a word over the members, in their order;
            the slots of the members are ``apart`` slots from each other.
    """

    words: FloatWords
    word: Any
    put: Any
    total: Any

    @classmethod
    @functools.cache
    def of(cls, dtype: str) -> Forms:
        """Return the forms of a dtype of `DTYPES`."""
        words = float_words(dtype)
        lanes, load, store, numbers = words.lanes, words.load, words.store, words.numbers

        @compiled
        def word(message, nelems, i):
            return load(message + i * WORD, (i + 1) * lanes > nelems)

        @compiled
        def put(message, nelems, i, word):
            store(message + i * WORD, word, (i + 1) * lanes > nelems)

        @compiled
        def total(call, own, slot, apart, members):
            result = numbers(own if members.me == 0 else receive(call, slot, members, 0))
            for member in range(1, members.size):
                word = own if member == members.me else receive(call, slot + member * apart, members, member)
                result = add(result, numbers(word))
            return result

        return cls(words, word, put, total)


def _all_reduce(forms: Forms) -> Any:
    """Make the all-reduce, one-shot or two-shot by the size of the message."""
    lanes, one_shot, two_shot = forms.words.lanes, _one_shot(forms), _two_shot(forms)

    @compiled
    def work(call, dest, source, nelems, part, workspace, members, group):
        if words_in(nelems, lanes) <= load_word(workspace + ONE_SHOT):
            one_shot(call, dest, source, nelems, part, members, group)
        else:
            two_shot(call, dest, source, nelems, part, members, group)

    return work


def _one_shot(forms: Forms) -> Any:
    """Make the all-reduce of short messages: each PE sends all of its words to all PEs, and sums what it receives."""
    lanes, rounded, word, put, total = forms.words.lanes, forms.words.word, forms.word, forms.put, forms.total

    @compiled
    def work(call, dest, source, nelems, part, members, group):
        words = words_in(nelems, lanes)
        for low in range(part.first * CHUNK, words, part.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                send_to_others(call, members.me * words + i, word(source, nelems, i), members)
        all_have_sent(group)
        for low in range(part.first * CHUNK, words, part.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                put(dest, nelems, i, rounded(total(call, word(source, nelems, i), i, words, members)))

    return work


def _two_shot(forms: Forms) -> Any:
    """Make the all-reduce of long messages: each PE sums one piece of each chunk, and sends the sums to all PEs.

    The slots of a member's pieces come first, then those of the sums, one for each word of the message.
    """
    lanes, rounded, word, put, total = forms.words.lanes, forms.words.word, forms.word, forms.put, forms.total

    @compiled
    def send_pieces(call, source, message, chunk, members, group):
        for distance in range(1, members.size):
            member = after(members.me, distance, members.size)
            low = (chunk * members.size + member) * PIECE
            first, last, step = share_of(low, min(low + PIECE, message.words), group)
            for i in range(first, last, step):
                slot = (members.me * message.chunks + chunk) * PIECE + i - low
                send(call, slot, word(source, message.nelems, i), members, member)

    @compiled
    def sum_piece(call, dest, source, message, chunk, members, group):
        low, sums = (chunk * members.size + members.me) * PIECE, members.size * message.chunks * PIECE
        first, last, step = share_of(low, min(low + PIECE, message.words), group)
        for i in range(first, last, step):
            slot = chunk * PIECE + i - low
            own = word(source, message.nelems, i)
            result = rounded(total(call, own, slot, message.chunks * PIECE, members))
            put(dest, message.nelems, i, result)
            send_to_others(call, sums + i, result, members)

    @compiled
    def receive_sums(call, dest, message, chunk, members, group):
        sums = members.size * message.chunks * PIECE
        for distance in range(1, members.size):
            member = after(members.me, distance, members.size)
            low = (chunk * members.size + member) * PIECE
            first, last, step = share_of(low, min(low + PIECE, message.words), group)
            for i in range(first, last, step):
                put(dest, message.nelems, i, receive(call, sums + i, members, member))

    @compiled
    def work(call, dest, source, nelems, part, members, group):
        words = words_in(nelems, lanes)
        message = Message(nelems, words, (words + members.size * PIECE - 1) // (members.size * PIECE))
        for chunk in range(part.first, message.chunks, part.step):
            send_pieces(call, source, message, chunk, members, group)
        all_have_sent(group)
        for chunk in range(part.first, message.chunks, part.step):
            sum_piece(call, dest, source, message, chunk, members, group)
        all_have_sent(group)
        for chunk in range(part.first, message.chunks, part.step):
            receive_sums(call, dest, message, chunk, members, group)

    return work


def _all_gather(forms: Forms) -> Any:
    """Make the all-gather: each PE sends its words to all PEs."""
    word, put, lanes = forms.word, forms.put, forms.words.lanes
    part_bytes = WORD // lanes

    @compiled
    def work(call, dest, source, nelems, part, workspace, members, group):
        words, me, apart = words_in(nelems, lanes), members.me, nelems * part_bytes
        for low in range(part.first * CHUNK, words, part.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                own = word(source, nelems, i)
                send_to_others(call, me * words + i, own, members)
                put(dest + me * apart, nelems, i, own)
        all_have_sent(group)
        for low in range(part.first * CHUNK, words, part.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for distance in range(1, members.size):
                member = after(members.me, distance, members.size)
                for i in range(first, last, step):
                    put(dest + member * apart, nelems, i, receive(call, member * words + i, members, member))

    return work


def _reduce_scatter(forms: Forms) -> Any:
    """Make the reduce-scatter: each PE sends to each member the block of its message that this member sums."""
    lanes, rounded, word, put, total = forms.words.lanes, forms.words.word, forms.word, forms.put, forms.total
    part_bytes = WORD // lanes

    @compiled
    def work(call, dest, source, nelems, part, workspace, members, group):
        words, me, apart = words_in(nelems, lanes), members.me, nelems * part_bytes
        for low in range(part.first * CHUNK, words, part.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for distance in range(1, members.size):
                member = after(members.me, distance, members.size)
                for i in range(first, last, step):
                    send(call, me * words + i, word(source + member * apart, nelems, i), members, member)
        all_have_sent(group)
        for low in range(part.first * CHUNK, words, part.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                own = word(source + me * apart, nelems, i)
                put(dest, nelems, i, rounded(total(call, own, i, words, members)))

    return work


_WORKS = {"all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter}


@functools.cache
def all_reduce(dtype: str) -> Any:
    """Return the device function of an all-reduce by all work-groups of a launch."""
    work, routine = _all_reduce(Forms.of(dtype)), call_id_of("all_reduce_work_group", dtype)

    @compiled
    def run(workspace, dest, source, nelems, group):
        members, here = members_in(workspace), address_of(workspace)
        call, part = begin(here, workspace.size, members.size), part_of(here, group)
        if calls_match(call, routine, nelems, part, members, group):
            work(call, address_of(dest), address_of(source), nelems, part, here, members, group)
        end(here, group)

    return run


def _add_rms_norm(forms: Forms) -> Any:
    """Make the all-reduce with residual and RMS norm; a chunk is a row of the message."""
    lanes, numbers, rounded = forms.words.lanes, forms.words.numbers, forms.words.word
    word, put, total = forms.word, forms.put, forms.total

    @compiled
    def send_row(call, arrays, nelems, row, words, members, group):
        first, last, step = share_of(row * words, (row + 1) * words, group)
        for i in range(first, last, step):
            send_to_others(call, members.me * words_in(nelems, lanes) + i, word(arrays.source, nelems, i), members)

    @compiled
    def add_row(call, arrays, nelems, row, words, members, group):
        """Sum a row over the members, add it to the residual, and return the sum of the squares of this share of it."""
        first, last, step = share_of(row * words, (row + 1) * words, group)
        whole, squares = words_in(nelems, lanes), np.float32(0)
        for i in range(first, last, step):
            sums = total(call, word(arrays.source, nelems, i), i, whole, members)
            result = rounded(add(sums, numbers(word(arrays.residual, nelems, i))))
            put(arrays.residual, nelems, i, result)
            squares += dot(numbers(result), numbers(result))
        return squares

    @compiled
    def norm_row(arrays, nelems, row, words, scale, group):
        """Multiply a row of the residual by ``scale`` and the weights."""
        first, last, step = share_of(row * words, (row + 1) * words, group)
        for i in range(first, last, step):
            weight = numbers(word(arrays.weight, nelems, i - row * words))
            product = multiply(numbers(word(arrays.residual, nelems, i)), weight)
            put(arrays.dest, nelems, i, rounded(scaled(product, scale)))

    @compiled
    def work(call, arrays, nelems, rows, part, members, group):
        words = words_in(nelems, lanes) // rows.count
        for row in range(part.first, rows.count, part.step):
            send_row(call, arrays, nelems, row, words, members, group)
        all_have_sent(group)
        for row in range(part.first, rows.count, part.step):
            squares = add_row(call, arrays, nelems, row, words, members, group)
            scale = np.float32(1) / math.sqrt(group_float_sum(group, squares) * rows.inverse + rows.eps)
            norm_row(arrays, nelems, row, words, scale, group)

    return work


@kernel_factory
def add_rms_norm_kernel(dtype: str) -> Any:
    """Return the kernel of the all-reduce with residual and RMS norm of a dtype.

    Its arguments are ``workspace, dest, source, residual, weight, nelems``, and those of `Rows`.
    """
    work, routine = _add_rms_norm(Forms.of(dtype)), call_id_of("Communicator.all_reduce_add_rms_norm", dtype)

    def all_reduce_add_rms_norm(item: kapi.NdItem, workspace, dest, source, residual, weight, nelems, rows: Rows):
        group, members, here = item.get_group(), members_in(workspace), address_of(workspace)
        call, part = begin(here, workspace.size, members.size), part_of(here, group)
        if calls_match(call, routine, nelems, part, members, group):
            arrays = Addresses(address_of(dest), address_of(source), address_of(residual), address_of(weight))
            work(call, arrays, nelems, rows, part, members, group)
        end(here, group)

    return kernel(of_fields(all_reduce_add_rms_norm))
