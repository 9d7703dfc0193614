"""Kernels of ``ishmem.inference``: collectives that send the number of their call with each word.

A slot of 8 bytes holds a word of a message, 4 bytes, and the low half of the number of the call. One plain store writes
it, and a link does not split it. The receiver polls the slot until the number is right, and then has the data. So PEs
need no fence, barrier or atomic between them; a PCIe link may have no atomics.

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
from ishmem.common.violations import MISMATCH, routine_number
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
from .nodes import place_after
from .options import CHECK
from .peers import peer_delta
from .runtime_checks import report
from .spec_constants import heap_base
from .teams import TeamMembers, members_of, pe_of
from .work_division import work_item_share
from .work_groups import end_launch, groups_of, next_ticket

LOW_HALF = 0xFFFFFFFF


class CommunicatorCall(NamedTuple):
    """A call of a collective of a communicator.

    Attributes:
        number: The number of the call, in the upper half of the int64.
        slots: Address of its data slots; the slots by which members publish their calls precede them.
        members: The members of the team.
    """

    number: int
    slots: int
    members: TeamMembers


class Task(NamedTuple):
    """The part of a call that one work-group processes.

    All PEs of a team divide a message into the same chunks; work-groups begin chunks in ascending order: see
    `kernels.work_groups`.

    Attributes:
        call: The call.
        first, step: Its first chunk, and the distance to its next one.
        dest, source: Addresses of the arrays.
        nelems: Elements of ``source``, or of a block of it in a reduce-scatter.
        workspace: Address of the workspace.
    """

    call: CommunicatorCall
    first: int
    step: int
    dest: int
    source: int
    nelems: int
    workspace: int


class Chunks(NamedTuple):
    """The number of words of a message, and the number of chunks into which they are divided."""

    words: int
    count: int  # type: ignore[assignment]  # hides a method of tuple


class Rows(NamedTuple):
    """The rows of an all-reduce with RMS norm.

    Attributes:
        count: Rows of the message.
        inverse: The inverse of the length of a row.
        eps: The number added to the mean of the squares.
    """

    count: int  # type: ignore[assignment]  # hides a method of tuple
    inverse: float
    eps: float


class NormArrays(NamedTuple):
    """The further arrays of an all-reduce with RMS norm.

    Attributes:
        residual, weight: Addresses of the residual, and of the weights of a row.
        words: Words of a row.
    """

    residual: int
    weight: int
    words: int


@compiled
def begin(workspace, dest, source, nelems, group):
    """Begin a call with these arrays in this work-group; return its `Task`, of which ``nelems`` is a field."""
    here, members = address_of(workspace), members_in(workspace)
    number, half = load_word(here + CALL), (workspace.size * 8 - SLOTS) // 2
    call = CommunicatorCall(number << 32, here + SLOTS + (number & 1) * half + 8 * TOLD * members.size, members)
    first, step = next_ticket(here + TICKET, group), groups_of(group)
    return Task(call, first, step, address_of(dest), address_of(source), nelems, here)


@compiled
def end(task, group):
    """End a call in this work-group, given its task; the last work-group of this PE to end prepares the next call."""
    end_launch(task.workspace + TICKET, task.workspace + FINISHED, task.workspace + CALL, 1, group)


@compiled
def send(call, slot, word, member):
    """Write a word and the number of the call to slot number ``slot`` of a member."""
    store_volatile(call.slots + slot * 8 + peer_delta(pe_of(call.members, member)), word | call.number)


@compiled
def send_to_others(call, slot, word):
    """Write a word and the number of the call to slot number ``slot`` of every other member."""
    for i in range(1, call.members.size):
        send(call, slot, word, place_after(call.members.me, i, call.members.size))


@compiled
def is_of_other_call(word, number):
    """Return whether the call number in ``word``, read from a slot, differs from ``number``."""
    return (word ^ number) >> 32 != 0


poll_slot = make_word_poll(is_of_other_call)


@compiled
def receive(call, slot, member):
    """Return the word that a member sends to slot ``slot`` of this PE in this call; any word once a PE is lost."""
    recorded, at = False, call.slots + slot * 8
    seen = poll_slot(at, call.number)
    while is_of_other_call(seen, call.number):
        if must_end_wait():
            break
        pe = pe_of(call.members, member)
        recorded = record_member_wait(pe, call.number >> 32, at - heap_base(), None, recorded)
        seen = poll_slot(at, call.number)
    if recorded:
        clear_wait_record()
    return seen & LOW_HALF


@compiled
def members_in(workspace):
    """Return the `TeamMembers` of the team of a communicator."""
    return members_of(load_word(address_of(workspace) + TEAM))


@compiled
def words_in(nelems, lanes):
    """Return the number of words of a message of ``nelems`` elements, ``lanes`` in a word."""
    return (nelems + lanes - 1) // lanes


def call_id_of(routine: str, dtype: str) -> int:
    """Return the id of calls of a routine for a dtype; it has fewer than 32 bits."""
    return int(pack(routine_number(routine), dtype_number(dtype), 0, 0, 0))


@compiled
def calls_match(task, routine, group):
    """Return whether all members call ``routine``, an id of `call_id_of`, for ``task.nelems`` elements; report if not.

    Without ``ISHMEM_CHECK``, return True without a comparison.
    """
    if not CHECK:
        return True
    call, members, count = task.call, task.call.members, task.nelems & LOW_HALF
    mine = -TOLD * (members.me + 1)
    if task.first == 0 and rank_in(group) == 0:
        send_to_others(call, mine, routine)
        send_to_others(call, mine + 1, count)
    different = 0
    if rank_in(group) == 0:
        for distance in range(1, members.size):
            member = place_after(members.me, distance, members.size)
            theirs = receive(call, -TOLD * (member + 1), member)
            their_count = receive(call, -TOLD * (member + 1) + 1, member)
            if theirs != routine or their_count != count:
                report(routine & 255, MISMATCH, pe_of(members, member), routine, task.nelems, their_count, theirs)
                different = 1
    return group_sum(group, different) == 0


@compiled
def all_have_sent(group):
    """Wait until all work-items of a group have sent their words; order their memory operations."""
    return group_barrier(group)


@compiled
def share_of(low, high, group):
    """Return this work-item's share of the words from ``low`` to ``high``, as start, stop and step, in its group."""
    first, step, end = work_item_share(max(high - low, 0), rank_in(group), size_of(group))
    return low + first, low + end, step


@functools.cache
def collective(name: str, dtype: str, routine: str) -> Any:
    """Return the device function of a collective for a dtype: ``run(workspace, dest, source, nelems, group)``.

    ``name`` is ``"all_reduce"``, ``"all_gather"`` or ``"reduce_scatter"``. All work-groups of a launch call the
    function. Errors report ``routine`` as the called routine.
    """
    work, call_id = _WORKS[name](Forms.of(dtype)), call_id_of(routine, dtype)

    @compiled
    def run(workspace, dest, source, nelems, group):
        task = begin(workspace, dest, source, nelems, group)
        if calls_match(task, call_id, group):
            work(task, group)
        end(task, group)

    return run


@kernel_factory
def kernel_of(name: str, dtype: str) -> Any:
    """Return the kernel of collective ``name``, ``kernel(item, workspace, dest, source, nelems)``, for a dtype."""
    run = collective(name, dtype, f"Communicator.{name}")

    def run_collective(item: kapi.NdItem, workspace, dest, source, nelems):
        run(workspace, dest, source, nelems, item.get_group())

    run_collective.__name__ = run_collective.__qualname__ = name
    return kernel(run_collective)


class Forms(NamedTuple):
    """The device functions for messages of a dtype; messages are addresses.

    Attributes:
        words: The `FloatWords` of the dtype.
        word: ``word(message, nelems, i)`` returns word ``i`` of a message.
        put: ``put(message, nelems, i, word)`` stores word ``i``.
        total: ``total(call, own, slot, apart)`` returns the sum of a word over the members, in their order; the slots
            of the members are ``apart`` slots from each other.
    """

    words: FloatWords
    word: Any
    put: Any
    total: Any

    @classmethod
    @functools.cache
    def of(cls, dtype: str) -> Forms:
        """Return the `Forms` of a dtype of `float_words.DTYPES`."""
        words = float_words(dtype)
        lanes, load, store, numbers = words.lanes, words.load, words.store, words.numbers

        @compiled
        def word(message, nelems, i):
            return load(message + i * WORD, (i + 1) * lanes > nelems)

        @compiled
        def put(message, nelems, i, word):
            store(message + i * WORD, word, (i + 1) * lanes > nelems)

        @compiled
        def total(call, own, slot, apart):
            result = numbers(own if call.members.me == 0 else receive(call, slot, 0))
            for member in range(1, call.members.size):
                word = own if member == call.members.me else receive(call, slot + member * apart, member)
                result = add(result, numbers(word))
            return result

        return cls(words, word, put, total)


def _all_reduce(forms: Forms) -> Any:
    """Make the all-reduce, one-shot or two-shot by the size of the message."""
    lanes, one_shot, two_shot = forms.words.lanes, _one_shot(forms), _two_shot(forms)

    @compiled
    def work(task, group):
        if words_in(task.nelems, lanes) <= load_word(task.workspace + ONE_SHOT):
            one_shot(task, group)
        else:
            two_shot(task, group)

    return work


def _one_shot(forms: Forms) -> Any:
    """Make the all-reduce of short messages: each PE sends all of its words to all PEs, and sums those received."""
    lanes, rounded, word, put, total = forms.words.lanes, forms.words.word, forms.word, forms.put, forms.total

    @compiled
    def work(task, group):
        call, dest, source, nelems = task.call, task.dest, task.source, task.nelems
        words = words_in(nelems, lanes)
        for low in range(task.first * CHUNK, words, task.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                send_to_others(call, call.members.me * words + i, word(source, nelems, i))
        all_have_sent(group)
        for low in range(task.first * CHUNK, words, task.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                put(dest, nelems, i, rounded(total(call, word(source, nelems, i), i, words)))

    return work


def _two_shot(forms: Forms) -> Any:
    """Make the all-reduce of long messages: each PE sums one piece of each chunk, and sends the sums to all PEs.

    The slots of a member's pieces come first, then those of the sums, one for each word of the message.
    """
    lanes, rounded, word, put, total = forms.words.lanes, forms.words.word, forms.word, forms.put, forms.total

    @compiled
    def send_pieces(task, chunks, chunk, group):
        call, members = task.call, task.call.members
        for distance in range(1, members.size):
            member = place_after(members.me, distance, members.size)
            low = (chunk * members.size + member) * PIECE
            first, last, step = share_of(low, min(low + PIECE, chunks.words), group)
            for i in range(first, last, step):
                slot = (members.me * chunks.count + chunk) * PIECE + i - low
                send(call, slot, word(task.source, task.nelems, i), member)

    @compiled
    def sum_piece(task, chunks, chunk, group):
        call, members = task.call, task.call.members
        low, sums = (chunk * members.size + members.me) * PIECE, members.size * chunks.count * PIECE
        first, last, step = share_of(low, min(low + PIECE, chunks.words), group)
        for i in range(first, last, step):
            own = word(task.source, task.nelems, i)
            result = rounded(total(call, own, chunk * PIECE + i - low, chunks.count * PIECE))
            put(task.dest, task.nelems, i, result)
            send_to_others(call, sums + i, result)

    @compiled
    def receive_sums(task, chunks, chunk, group):
        call, members = task.call, task.call.members
        sums = members.size * chunks.count * PIECE
        for distance in range(1, members.size):
            member = place_after(members.me, distance, members.size)
            low = (chunk * members.size + member) * PIECE
            first, last, step = share_of(low, min(low + PIECE, chunks.words), group)
            for i in range(first, last, step):
                put(task.dest, task.nelems, i, receive(call, sums + i, member))

    @compiled
    def work(task, group):
        words, chunk_words = words_in(task.nelems, lanes), task.call.members.size * PIECE
        chunks = Chunks(words, (words + chunk_words - 1) // chunk_words)
        for chunk in range(task.first, chunks.count, task.step):
            send_pieces(task, chunks, chunk, group)
        all_have_sent(group)
        for chunk in range(task.first, chunks.count, task.step):
            sum_piece(task, chunks, chunk, group)
        all_have_sent(group)
        for chunk in range(task.first, chunks.count, task.step):
            receive_sums(task, chunks, chunk, group)

    return work


def _all_gather(forms: Forms) -> Any:
    """Make the all-gather: each PE sends its words to all PEs."""
    word, put, lanes = forms.word, forms.put, forms.words.lanes
    item_bytes = WORD // lanes

    @compiled
    def work(task, group):
        call, dest, source, nelems = task.call, task.dest, task.source, task.nelems
        words, members, apart = words_in(nelems, lanes), call.members, nelems * item_bytes
        for low in range(task.first * CHUNK, words, task.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                own = word(source, nelems, i)
                send_to_others(call, members.me * words + i, own)
                put(dest + members.me * apart, nelems, i, own)
        all_have_sent(group)
        for low in range(task.first * CHUNK, words, task.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for distance in range(1, members.size):
                member = place_after(members.me, distance, members.size)
                for i in range(first, last, step):
                    put(dest + member * apart, nelems, i, receive(call, member * words + i, member))

    return work


def _reduce_scatter(forms: Forms) -> Any:
    """Make the reduce-scatter: each PE sends to each member the block of its message that this member sums."""
    lanes, rounded, word, put, total = forms.words.lanes, forms.words.word, forms.word, forms.put, forms.total
    item_bytes = WORD // lanes

    @compiled
    def work(task, group):
        call, dest, source, nelems = task.call, task.dest, task.source, task.nelems
        words, members, apart = words_in(nelems, lanes), call.members, nelems * item_bytes
        for low in range(task.first * CHUNK, words, task.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for distance in range(1, members.size):
                member = place_after(members.me, distance, members.size)
                for i in range(first, last, step):
                    send(call, members.me * words + i, word(source + member * apart, nelems, i), member)
        all_have_sent(group)
        for low in range(task.first * CHUNK, words, task.step * CHUNK):
            first, last, step = share_of(low, min(low + CHUNK, words), group)
            for i in range(first, last, step):
                own = word(source + members.me * apart, nelems, i)
                put(dest, nelems, i, rounded(total(call, own, i, words)))

    return work


_WORKS = {"all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter}


def _add_rms_norm(forms: Forms) -> Any:
    """Make the all-reduce with residual and RMS norm; a chunk is a row of the message."""
    lanes, numbers, rounded = forms.words.lanes, forms.words.numbers, forms.words.word
    word, put, total = forms.word, forms.put, forms.total

    @compiled
    def send_row(task, words, row, group):
        call, nelems = task.call, task.nelems
        first, last, step = share_of(row * words, (row + 1) * words, group)
        for i in range(first, last, step):
            send_to_others(call, call.members.me * words_in(nelems, lanes) + i, word(task.source, nelems, i))

    @compiled
    def add_row(task, arrays, row, group):
        """Sum a row over the members, add it to the residual; return the sum of squares of this work-item's share."""
        nelems, residual = task.nelems, arrays.residual
        first, last, step = share_of(row * arrays.words, (row + 1) * arrays.words, group)
        whole, squares = words_in(nelems, lanes), np.float32(0)
        for i in range(first, last, step):
            sums = total(task.call, word(task.source, nelems, i), i, whole)
            result = rounded(add(sums, numbers(word(residual, nelems, i))))
            put(residual, nelems, i, result)
            squares += dot(numbers(result), numbers(result))
        return squares

    @compiled
    def norm_row(task, arrays, row, scale, group):
        """Multiply a row of the residual by ``scale`` and the weights."""
        nelems, words = task.nelems, arrays.words
        first, last, step = share_of(row * words, (row + 1) * words, group)
        for i in range(first, last, step):
            weight = numbers(word(arrays.weight, nelems, i - row * words))
            product = multiply(numbers(word(arrays.residual, nelems, i)), weight)
            put(task.dest, nelems, i, rounded(scaled(product, scale)))

    @compiled
    def work(task, arrays, rows, group):
        for row in range(task.first, rows.count, task.step):
            send_row(task, arrays.words, row, group)
        all_have_sent(group)
        for row in range(task.first, rows.count, task.step):
            squares = add_row(task, arrays, row, group)
            scale = np.float32(1) / math.sqrt(group_float_sum(group, squares) * rows.inverse + rows.eps)
            norm_row(task, arrays, row, scale, group)

    return work


@kernel_factory
def add_rms_norm_kernel(dtype: str) -> Any:
    """Return the kernel of `Communicator.all_reduce_add_rms_norm` for a dtype.

    Its arguments: the workspace, arrays ``dest, source, residual, weight``, their number of elements, and `Rows`.
    """
    forms = Forms.of(dtype)
    work, lanes, routine = _add_rms_norm(forms), forms.words.lanes, "Communicator.all_reduce_add_rms_norm"
    call_id = call_id_of(routine, dtype)

    def all_reduce_add_rms_norm(item: kapi.NdItem, workspace, dest, source, residual, weight, nelems, rows: Rows):
        group = item.get_group()
        task = begin(workspace, dest, source, nelems, group)
        if calls_match(task, call_id, group):
            words = words_in(nelems, lanes) // rows.count
            work(task, NormArrays(address_of(residual), address_of(weight), words), rows, group)
        end(task, group)

    return kernel(of_fields(all_reduce_add_rms_norm))
