"""Transfers for the experimental calls: rows of other ranks, sends between neighbours, and sessions of all-gathers.

The work is on the queue of the caller's arrays, after earlier operations of dpnp there and before later ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

import dpctl

from ishmem import _core, memory, on_queue
from ishmem.common.constants import CMP_GE, SIGNAL_ADD
from ishmem.common.errors import StateError
from ishmem.kernel_calls import KernelCalls, Results, flat
from ishmem.runtime import unfinished_work
from ishmem.teams import Team

from .exchange import aligned

UNIT = 32
"""Sizes of rows and of the parts of buffers are multiples of this number of bytes."""

WORK_ITEMS = 64


def nbytes_of(shape: Sequence[int], dtype: Any) -> int:
    """Return the size in bytes of an array; ``dtype`` is of torch or numpy, or a name of numpy; None is bfloat16."""
    import numpy as np

    size = 2 if dtype is None else getattr(dtype, "itemsize", None)
    return math.prod(shape) * (size if isinstance(size, int) else np.dtype(dtype).itemsize)


class _OnQueue:
    """Sequence of on-queue calls of ishmem on a queue, ordered after earlier and before later operations of dpnp."""

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        self.queue = queue
        self.after: list[dpctl.SyclEvent] = unfinished_work.before(queue)

    def call(self, form: Callable[..., dpctl.SyclEvent], *arguments: Any, **named: Any) -> None:
        """Submit the call of on-queue function ``form``, after all earlier calls of this object."""
        self.after = [form(*arguments, sycl_queue=self.queue, depends=self.after, **named)]

    def wait_for(self, signal: Any, value: int, index: int) -> None:
        """Submit a wait until element ``index`` of the signal array ``signal`` is at least ``value``."""
        import dpnp

        found = dpnp.empty(1, dtype="int64", sycl_queue=self.queue)
        self.call(on_queue.signal_wait_until_on_queue, signal, CMP_GE, value, found, index=index)

    def finish(self) -> None:
        """Order later work on the queue after the calls."""
        for event in self.after:
            unfinished_work.put_before_dpnp(self.queue, event)


class Engram(KernelCalls):
    """Rows on all ranks, which any rank can fetch by their numbers; those of rank 0 have the first numbers."""

    _KIND = "Engram storage"

    def __init__(self, team: Team, rows: Any, scales: Any) -> None:
        """Copy the rows of this rank to the symmetric heap; ``scales`` has those of all ranks; collective, blocking."""
        self._left, self._scales, self._results = team, scales, Results()
        self.entries, self.hidden, self.dtype = rows.shape[0], rows.shape[1], rows.dtype
        super().__init__([memory.array(flat(rows, "uint8"))])

    def fetch(self, indices: Any) -> tuple[Any, Any]:
        """Return rows and scales (or None) for indices [tokens, any number]: those of a token are joined in one row."""
        import dpnp

        from ishmem.kernels.moe import fetch_kernel

        self._check_callable()
        tokens, each = indices.shape
        rows = self._results.empty((tokens, each * self.hidden), str(self.dtype), indices.sycl_queue)
        given = [flat(rows, "uint8"), flat(indices, "int32"), self.entries]
        if rows.size:
            self._submit(fetch_kernel(), indices.size, WORK_ITEMS, given, [])
        if self._scales is None:
            return rows, None
        return rows, dpnp.take(self._scales, indices.reshape(-1), axis=0).reshape((tokens, -1))


class Pipeline:
    """Buffers for tensors in transfer between neighbours of the ring of ranks.

    Direction 0 is to the next rank, and 1 to the previous one. The slots of a rank are for tensors that it receives.
    """

    def __init__(self, team: Team, nbytes: int, most: int) -> None:
        """Allocate slots for ``most`` tensors of at most ``nbytes`` bytes for each direction; collective, blocking."""
        self._pes, self._rank, self.nbytes, self._most = list(team.shape), team.my_pe(), nbytes, most
        self._size = aligned(nbytes, UNIT)
        self._slots = memory.empty(2 * most * self._size, dtype="uint8")
        self._arrived, self._taken = (memory.zeros(2, dtype="uint64") for _ in range(2))
        self._sent, self._received = [0, 0], [0, 0]

    def free(self) -> None:
        """Free the memory; collective, blocking."""
        for each in (self._slots, self._arrived, self._taken):
            memory.free(each)

    def send(self, data: Any, rank: int) -> None:
        """Submit the send of array of bytes ``data`` to neighbour ``rank``, after a wait for a free slot there."""
        towards = self._direction("dst_rank_idx", rank, self._rank, rank)
        count, pe, work = self._sent[towards], self._pes[rank], _OnQueue(data.sycl_queue)
        slot = self._slot(towards, count, data.size)
        self._sent[towards] = count + 1
        if count >= self._most:
            work.wait_for(self._taken, count - self._most + 1, towards)
        work.call(on_queue.put_signal_on_queue, slot, data, self._arrived, 1, SIGNAL_ADD, pe, index=towards)
        work.finish()

    def receive(self, data: Any, rank: int) -> None:
        """Submit the copy of the next array from neighbour ``rank`` to array of bytes ``data``; free its slot."""
        towards = self._direction("src_rank_idx", rank, rank, self._rank)
        count, me, work = self._received[towards], self._pes[self._rank], _OnQueue(data.sycl_queue)
        slot = self._slot(towards, count, data.size)
        self._received[towards] = count + 1
        work.wait_for(self._arrived, count + 1, towards)
        work.call(on_queue.get_on_queue, data, slot, me)
        work.call(on_queue.signal_add_on_queue, self._taken, 1, self._pes[rank], index=towards)
        work.finish()

    def _slot(self, towards: int, count: int, nbytes: int) -> Any:
        """Return the slot of tensor number ``count`` in direction ``towards``; ``ValueError`` for too many bytes."""
        if nbytes > self.nbytes:
            raise ValueError(f"the tensor has {nbytes} bytes; allowed are at most {self.nbytes}, as pp_set_config told")
        start = (towards * self._most + count % self._most) * self._size
        return self._slots[start : start + nbytes]

    def _direction(self, name: str, rank: int, source: int, target: int) -> int:
        """Return the direction from ``source`` to ``target``; ``ValueError`` about ``name`` if ``rank`` is another."""
        n = len(self._pes)
        neighbours = [(self._rank + 1) % n, (self._rank - 1) % n]
        if rank not in neighbours:
            raise ValueError(f"{name} is {rank}; allowed are {neighbours[0]} and {neighbours[1]}, the neighbours")
        return 0 if target == (source + 1) % n else 1


class _Gather(NamedTuple):
    """Part of the buffer for one gathered array, as bytes: of all ranks, and of this rank."""

    all: Any
    own: Any


class GatherSessions:
    """Buffer for the gathered tensors of one session at a time, and a signal for each all-gather of a session."""

    def __init__(self, team: Team, nbytes: int, most: int) -> None:
        """Allocate ``nbytes`` bytes and signals for ``most`` all-gathers of a session; collective, blocking."""
        self._team, self._pes, self._rank = team, list(team.shape), team.my_pe()
        self._nbytes, self._most = aligned(nbytes, UNIT), most
        self._buffer, self._arrived = memory.empty(self._nbytes, dtype="uint8"), memory.zeros(most, dtype="uint64")
        self._wanted = [0] * most
        self._active, self._start, self._count, self._session = False, 0, 0, 0
        self._queue: dpctl.SyclQueue = self._buffer.sycl_queue

    def free(self) -> None:
        """Free the memory; collective, blocking."""
        for each in (self._buffer, self._arrived):
            memory.free(each)

    def begin(self) -> None:
        """Begin a session; ``StateError`` if one has begun."""
        self.check_idle()
        self._active, self._start, self._count = True, 0, 0
        self._session += 1

    def end(self) -> None:
        """End the session; later work on the queue runs after all ranks have; ``StateError`` if there is none."""
        self._check_active()
        self._active = False
        work = _OnQueue(self._queue)
        work.call(on_queue.team_sync_on_queue, self._team)
        work.finish()

    def places(self, sizes: Sequence[int]) -> list[_Gather]:
        """Return parts of the buffer for the next all-gather, arrays of ``sizes`` bytes; ``ValueError`` if too many."""
        import dpnp

        self._check_active()
        n, start, found = len(self._pes), self._start, []
        for nbytes in sizes:
            end = start + n * nbytes
            if end > self._nbytes or self._count >= self._most:
                what = f"{end} bytes and {self._count + 1} all-gathers of a session"
                raise ValueError(f"{what}; allowed are at most {self._nbytes} and {self._most}: see agrs_set_config")
            own = start + self._rank * nbytes
            found.append(_Gather(dpnp.asarray(self._buffer[start:end]), self._buffer[own : own + nbytes]))
            start = aligned(end, UNIT)
        return found

    def gather(self, queue: dpctl.SyclQueue, arrays: Sequence[Any]) -> tuple[list[Any], Callable[[], None]]:
        """Put arrays of bytes to all ranks; return the gathered arrays, and a function that makes ``queue`` wait."""
        places = self.places([each.size for each in arrays])
        slot, work, self._queue = self._count, _OnQueue(queue), queue
        self._start += sum(aligned(each.all.size, UNIT) for each in places)
        self._count += 1
        self._wanted[slot] += len(self._pes)
        for each, place in zip(arrays, places):
            for pe in self._pes:
                if each.size and (pe != self._pes[self._rank] or not same_memory(each, place.own)):
                    work.call(on_queue.put_on_queue, place.own, each, pe)
        for pe in self._pes:
            work.call(on_queue.signal_add_on_queue, self._arrived, 1, pe, index=slot)
        work.finish()
        session, wanted = self._session, self._wanted[slot]

        def wait() -> None:
            if not self._active or session != self._session:
                raise StateError("the session of the all-gather has ended; allowed is a wait within it")
            waiting = _OnQueue(queue)
            waiting.wait_for(self._arrived, wanted, slot)
            waiting.finish()

        return [each.all for each in places], wait

    def check_idle(self) -> None:
        """Raise ``StateError`` if a session has begun."""
        if self._active:
            raise StateError("a session has begun; destroy_agrs_session ends it")

    def _check_active(self) -> None:
        if not self._active:
            raise StateError("no session has begun; create_agrs_session begins one")


def same_memory(array: Any, other: Any) -> bool:
    """Return whether two arrays have the same address."""
    first, second = (facts and facts[0] for facts in map(_core.describe, (array, other)))
    return first == second
