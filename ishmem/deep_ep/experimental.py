"""Experimental calls of DeepEP's V2: Engram storage, pipelines and sessions of all-gathers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable

from ishmem.common.errors import StateError
from ishmem.kernel_calls import flat
from ishmem.runtime import foreign
from ishmem.runtime.unfinished_work import puts_on_queues
from ishmem.teams import Team

from .callers import Caller
from .exchange import ALIGNMENT, aligned, ranks_of
from .transfers import UNIT, Engram, GatherSessions, Pipeline, nbytes_of, same_memory


class Experimental:
    """Experimental calls of an `ElasticBuffer`; ``engram_write`` and ``*_set_config`` allocate their memory.

    All ranks make these calls and those of sessions in the same order. Between two ranks, the ``n``-th ``pp_recv``
    receives the tensor of the ``n``-th ``pp_send``.
    """

    _team: Team

    def __init__(self) -> None:
        self._parts: dict[type, Any] = {}

    def free_experimental(self) -> None:
        """Free the memory of the experimental calls; collective, blocking."""
        parts, self._parts = self._parts, {}
        for each in parts.values():
            each.free()

    @staticmethod
    def get_engram_storage_size_hint(
        num_entries: int, hidden: int, num_max_tokens_per_rank: int, dtype: Any = None
    ) -> tuple[int, int]:
        """Return the bytes for the rows fetched for so many tokens, and for all rows stored, by default of bfloat16."""
        row = aligned(nbytes_of((hidden,), dtype), UNIT)
        return aligned(row * num_max_tokens_per_rank, ALIGNMENT), aligned(row * num_entries, ALIGNMENT)

    @staticmethod
    def get_pp_buffer_size_hint(num_max_tensor_bytes: int, num_max_inflight_tensors: int) -> int:
        """Return the bytes of the buffers to and from both neighbours, for tensors up to this size and number."""
        return aligned(4 * num_max_inflight_tensors * aligned(num_max_tensor_bytes, UNIT), ALIGNMENT)

    @staticmethod
    def get_agrs_num_max_session_bytes(group: Any, shapes: Any, dtype: Any) -> int:
        """Return the bytes of a session that gathers tensors of ``shapes``, one shape or a sequence, from all ranks."""
        ranks = ranks_of(group)
        return sum(aligned(ranks * nbytes_of(shape, dtype), UNIT) for shape in _shapes(shapes)[0])

    @staticmethod
    def get_agrs_buffer_size_hint(group: Any, num_max_session_bytes: int) -> int:
        """Return ``num_max_session_bytes`` rounded up to a multiple of 2 MiB: the bytes of a buffer for sessions."""
        return aligned(num_max_session_bytes, ALIGNMENT)

    def engram_write(self, storage: Any, sf: Any = None) -> None:
        """Store rows of this rank in place of the rows of an earlier call.

        Collective, blocking. All ranks store the same number of rows, of one dtype and length.

        Args:
            storage: Rows [entries, hidden]; with ``sf`` of a dtype of one byte.
            sf: Scales [entries of all ranks, any number], the same on all ranks; None for elements of several bytes.

        Raises:
            ValueError, TypeError: As for ``dispatch``.
        """
        caller = Caller(storage)
        rows = caller.take(storage, "storage")
        if rows.ndim != 2 or not rows.size:
            raise ValueError(f"storage has shape {tuple(rows.shape)}; allowed is [entries, hidden], not empty")
        entries = rows.shape[0] * self._team.n_pes()
        shape = None if sf is None else tuple(sf.shape)
        fits = shape is not None and len(shape) == 2 and shape[0] == entries
        if not (fits if rows.dtype.itemsize == 1 else sf is None):
            allowed = f"[{entries}, any number] with rows of one-byte elements, None with others"
            raise ValueError(f"sf has shape {shape}; allowed are {allowed}")
        scales = None if sf is None else caller.take(sf, "sf")
        caller.finish()
        self._kinds = [each if each is None else SimpleNamespace(dtype=each.dtype) for each in (storage, sf)]
        self._replace(Engram, lambda: Engram(self._team, rows, scales))

    @puts_on_queues
    def engram_fetch(
        self, indices: Any, num_qps: int = 0, use_tma_aligned_col_major_sf: bool = False
    ) -> Callable[[], tuple[Any, Any]]:
        """Fetch rows of all ranks by their numbers, which begin with 0 for the first row of rank 0.

        Not collective, not blocking: a kernel on the queue of ``indices``. An index out of range is an error with
        ``ISHMEM_CHECK=1``, else undefined.

        Args:
            indices: Numbers of rows [tokens, entries of a token] of int32.
            num_qps, use_tma_aligned_col_major_sf: Hints; scales are in rows.

        Returns:
            A function that returns the rows [tokens, entries of a token * hidden] and their scales [tokens, entries of
            a token * scales of a row], or None without scales; later work on the queue runs after their arrival.

        Raises:
            ValueError, TypeError: Indices of another kind, shape or dtype.
            StateError: No rows are stored.
        """
        engram, caller = self._part(Engram, "engram_write"), Caller(indices)
        wanted = caller.take(indices, "indices", dtype="int32")
        if wanted.ndim != 2:
            raise ValueError(f"indices has shape {tuple(wanted.shape)}; allowed is [tokens, entries of a token]")
        rows, scales = engram.fetch(wanted)
        storage, sf = self._kinds

        def hook() -> tuple[Any, Any]:
            found = caller.give(rows, storage), None if scales is None else caller.give(scales, sf)
            caller.finish()
            return found

        return hook

    def pp_set_config(self, num_max_tensor_bytes: int, num_max_inflight_tensors: int) -> None:
        """Allocate slots for tensors from the next and the previous rank in the ring of ranks.

        Collective, blocking. Each of them can send ``num_max_inflight_tensors`` tensors of ``num_max_tensor_bytes`` or
        less before the first is received. All tensors sent before must have been received.

        Raises:
            ValueError: A number below 1.
        """
        _positive(num_max_tensor_bytes=num_max_tensor_bytes, num_max_inflight_tensors=num_max_inflight_tensors)
        self._replace(Pipeline, lambda: Pipeline(self._team, num_max_tensor_bytes, num_max_inflight_tensors))

    @puts_on_queues
    def pp_send(self, t: Any, dst_rank_idx: int, num_sms: int = 0) -> None:
        """Send tensor ``t`` to ``dst_rank_idx``, the next or the previous rank; of 2 ranks the other one is the next.

        Not collective, not blocking: on the queue of ``t``, which waits until a slot is free. ``num_sms`` is a hint.

        Raises:
            ValueError: A rank that is not a neighbour, or a tensor larger than the slots of ``pp_set_config``.
            StateError: ``pp_set_config`` was not called.
        """
        caller = Caller(t)
        self._part(Pipeline, "pp_set_config").send(flat(caller.take(t, "t"), "uint8"), dst_rank_idx)
        caller.finish()

    @puts_on_queues
    def pp_recv(self, t: Any, src_rank_idx: int, num_sms: int = 0) -> None:
        """Receive a tensor from ``src_rank_idx``, the next or the previous rank, into the contiguous tensor ``t``.

        Not collective; not blocking: on the queue of ``t``; blocking for a tensor on the CPU. ``num_sms`` is a hint.

        Raises:
            ValueError, StateError: As for ``pp_send``.
        """
        caller = Caller(t)
        array = caller.take(t, "t")
        self._part(Pipeline, "pp_set_config").receive(flat(array, "uint8"), src_rank_idx)
        if not same_memory(t, array):
            caller.write(t, array)
        caller.finish()

    def agrs_set_config(self, num_max_session_bytes: int, num_max_all_gathers_per_session: int) -> None:
        """Allocate the buffer for sessions up to these limits: see ``get_agrs_num_max_session_bytes``.

        Collective, blocking; not within a session.

        Raises:
            ValueError: A number below 1.
            StateError: A session has begun.
        """
        sizes = num_max_session_bytes, num_max_all_gathers_per_session
        if GatherSessions in self._parts:
            self._sessions().check_idle()
        _positive(num_max_session_bytes=sizes[0], num_max_all_gathers_per_session=sizes[1])
        self._replace(GatherSessions, lambda: GatherSessions(self._team, *sizes))

    def create_agrs_session(self) -> None:
        """Begin a session of all-gathers, whose results are valid until its end; not blocking.

        Raises:
            StateError: A session has begun, or ``agrs_set_config`` was not called.
        """
        self._sessions().begin()

    @puts_on_queues
    def destroy_agrs_session(self) -> None:
        """End the session; later work on the queue runs after all ranks have ended it; not blocking.

        Raises:
            StateError: No session has begun.
        """
        self._sessions().end()

    @contextmanager
    def agrs_new_session(self, enabled: bool = True) -> Iterator[None]:
        """Begin a session, and end it at the end of the block; do nothing with ``enabled=False``."""
        if enabled:
            self.create_agrs_session()
        try:
            yield
        finally:
            if enabled:
                self.destroy_agrs_session()

    def agrs_get_inplace_tensor(self, shapes: Any, dtype: Any) -> Any:
        """Return a tensor in the buffer, for an ``all_gather`` without a copy, or a tuple for a sequence of shapes.

        For a dtype of torch these are tensors: on the XPU, or without one on the CPU, where ``all_gather`` copies them;
        for other dtypes arrays of dpnp. Not blocking.

        Raises:
            ValueError: More bytes or all-gathers than the limits of ``agrs_set_config``.
            StateError: No session has begun.
        """
        given, is_one = _shapes(shapes)
        places = self._sessions().places([nbytes_of(shape, dtype) for shape in given])
        found = tuple(_as_array(place.own, shape, dtype) for place, shape in zip(places, given))
        return found[0] if is_one else found

    @puts_on_queues
    def all_gather(self, t: Any) -> tuple[Any, ...]:
        """Gather a tensor, or each of a sequence, from all ranks; not blocking.

        Args:
            t: A tensor or a list of tensors, of the same shape and dtype on all ranks.

        Returns:
            Tuple of tensors ``[ranks, *shape]``, valid until the session ends, and a function. Call it before using
            them: it orders later work on the queue after their arrival, and fills tensors on the CPU.

        Raises:
            ValueError, StateError: As for ``agrs_get_inplace_tensor``.
        """
        tensors = list(t) if isinstance(t, (list, tuple)) else [t]
        caller = Caller(tensors[0])
        taken = [caller.take(each, "t") for each in tensors]
        gathered, wait = self._sessions().gather(caller.queue, [flat(each, "uint8") for each in taken])
        n = self._team.n_pes()
        shaped = [_view(all, (n, *each.shape), each.dtype) for all, each in zip(gathered, taken)]
        results = [caller.give(each, like) for each, like in zip(shaped, tensors)]

        @puts_on_queues
        def handle() -> None:
            wait()
            caller.finish()

        return *results, handle

    def _sessions(self) -> GatherSessions:
        found: GatherSessions = self._part(GatherSessions, "agrs_set_config")
        return found

    def _part(self, kind: type, first: str) -> Any:
        """Return the object of class ``kind``; raise ``StateError`` if ``first``, which creates it, was not called."""
        if kind not in self._parts:
            raise StateError(f"{first} was not called; it allocates the memory of this call")
        return self._parts[kind]

    def _replace(self, kind: type, make: Callable[[], Any]) -> None:
        """Free the object of class ``kind``, if there is one, and store the result of ``make`` in its place."""
        if kind in self._parts:
            self._parts.pop(kind).free()
        self._parts[kind] = make()


def _positive(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; allowed are positive numbers")


def _shapes(shapes: Any) -> tuple[list[Sequence[int]], bool]:
    """Return a list of shapes, and whether ``shapes`` is a single one."""
    is_one = not shapes or not isinstance(shapes[0], (tuple, list))
    return ([shapes] if is_one else list(shapes)), is_one


def _view(array: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Return a dpnp array of a shape and dtype on the memory of ``array``, an array of bytes of that size."""
    import dpnp

    return dpnp.asarray(flat(array, dtype)).reshape(tuple(shape))


def _as_array(own: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Return part ``own`` of the buffer as a dpnp array, or for a dtype of torch a tensor; without an XPU a new one."""
    if not type(dtype).__module__.startswith("torch"):
        return _view(own, shape, dtype)
    import torch

    if foreign.queue() is None:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.from_dlpack(_view(own, (own.size,), "uint8")).view(dtype).view(tuple(shape))
