"""Interface of DeepEP's V1: `Buffer`, with the normal and the low-latency calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

import dpnp
import numpy as np

from ishmem import collectives, interop, memory, moe, teams
from ishmem.common.errors import IshmemError
from ishmem.runtime import job
from ishmem.runtime.unfinished_work import puts_on_queues

from .callers import Caller
from .events import EventHandle, EventOverlap
from .exchange import KINDS, TokenExchange, local_choices, size_of_exchange, team_of
from .float8 import to_float8

HINTED_TOKENS, HINTED_TOPK = 4096, 8
"""Numbers of tokens of a rank and of choices of a token in size hints of functions without these arguments."""


@dataclass
class Config:
    """Sizes for tuning on other hardware; hints without effect here."""

    num_sms: int = 20
    num_max_nvl_chunked_send_tokens: int = 6
    num_max_nvl_chunked_recv_tokens: int = 256
    num_max_rdma_chunked_send_tokens: int = 6
    num_max_rdma_chunked_recv_tokens: int = 256

    def get_nvl_buffer_size_hint(self, hidden_bytes: int, num_ranks: int) -> int:
        """Return the bytes for 4096 tokens of ``hidden_bytes`` bytes per rank, with 8 or ``num_ranks`` choices each."""
        return size_of_exchange(num_ranks, HINTED_TOKENS, hidden_bytes, max(num_ranks, HINTED_TOPK), 1)

    def get_rdma_buffer_size_hint(self, hidden_bytes: int, num_ranks: int) -> int:
        """Return 0: there is no separate memory for other nodes."""
        return 0


class Handle(NamedTuple):
    """Handle of a normal dispatch.

    Attributes:
        rank_prefix_matrix: ``[i, j]`` is the number of tokens that rank ``j`` received from ranks 0 to ``i``; after a
            dispatch with ``num_worst_tokens`` it is -1 except in the column of this rank.
        channel_prefix_matrix, recv_channel_prefix_matrix: None.
        recv_src_idx: The number of each token received on the rank that sent it.
        is_token_in_rank: Argument of the dispatch.
        send_head: None.
    """

    rank_prefix_matrix: Any
    channel_prefix_matrix: Any
    recv_channel_prefix_matrix: Any
    recv_src_idx: Any
    is_token_in_rank: Any
    send_head: Any


class _Plan(NamedTuple):
    """Data for a combine: the exchange, its handle, the rank of each choice or -1, and the number of rows received."""

    exchange: TokenExchange
    handle: moe.Handle
    pes: Any
    tokens: int


class NormalHandle(Handle):
    """A `Handle` with ``plan``, the data for its combine."""

    plan: _Plan


class LowLatencyHandle(tuple):  # type: ignore[type-arg]
    """Token of each row, ``first row << 32 | number of rows`` by expert and rank, and three sizes of the call."""

    plan: tuple[moe.Buffer, moe.Handle]


class Buffer:
    """Dispatch and combine of DeepEP's V1 over the processes of a group.

    The first call of a size allocates memory on the symmetric heap, so it is blocking and collective. All ranks make
    the same calls in the same order. Hints for other hardware are accepted and have no effect: the sizes (except that
    the heap of a job started by a buffer has at least their sum), ``low_latency_mode``, QPs, ``allow_*``, SMs,
    ``config``, ``async_finish``, ``allocate_on_comm_stream`` and ``use_logfmt``.

    Attributes:
        rank, group_size, group: The number of this rank, the number of ranks, and the group or communicator.
        num_nvl_bytes, num_rdma_bytes, low_latency_mode, explicitly_destroy, enable_shrink: Arguments of the creation.
    """

    num_sms: int = 20

    def __init__(
        self, group: Any, num_nvl_bytes: int = 0, num_rdma_bytes: int = 0, low_latency_mode: bool = False,
        num_qps_per_rank: int = 24, allow_nvlink_for_low_latency_mode: bool = True, allow_mnnvl: bool = False,
        explicitly_destroy: bool = False, enable_shrink: bool = False, comm: Any = None,
    ) -> None:  # fmt: skip
        """Create a buffer for a group, or for ``comm``, a communicator of mpi4py; start ishmem if it is not running.

        Raises:
            ValueError: A group that is not the whole job, or neither ``group`` nor ``comm``.
            HeapExhausted, StateError, IshmemError: As for ``ishmem.init``.
        """
        self._team = team_of(group, comm, num_nvl_bytes + num_rdma_bytes)
        self.rank, self.group_size = self._team.my_pe(), self._team.n_pes()
        self.group = comm if group is None else group
        self.num_nvl_bytes, self.num_rdma_bytes, self.low_latency_mode = num_nvl_bytes, num_rdma_bytes, low_latency_mode
        self.explicitly_destroy, self.enable_shrink = explicitly_destroy, enable_shrink
        self._exchanges: dict[tuple[Any, ...], TokenExchange] = {}
        self._buffers: dict[tuple[int, ...], moe.Buffer] = {}
        self._masked: set[int] = set()
        self._counts: dict[int, tuple[Any, Any]] = {}
        self._outputs: Any = None
        self._half = 0

    def destroy(self) -> None:
        """Free all memory of the buffer; collective, blocking."""
        for each in (*self._exchanges.values(), *self._buffers.values()):
            each.free()
        for array in (each for pair in self._counts.values() for each in pair):
            memory.free(array)
        self._exchanges, self._buffers, self._counts = {}, {}, {}

    @staticmethod
    def is_sm90_compiled() -> bool:
        """Return True, by which programs choose float8 tokens."""
        return True

    @staticmethod
    def set_num_sms(new_num_sms: int) -> None:
        """Set ``Buffer.num_sms``, a hint without effect here; ``ValueError`` for an odd number."""
        if new_num_sms % 2:
            raise ValueError(f"new_num_sms is {new_num_sms}; allowed are even numbers")
        Buffer.num_sms = new_num_sms

    @staticmethod
    def capture() -> EventOverlap:
        """Return the event of all work so far on torch's current stream, or without an XPU on the job's queue."""
        return EventOverlap(EventHandle())

    @staticmethod
    def get_low_latency_rdma_size_hint(
        num_max_dispatch_tokens_per_rank: int, hidden: int, num_ranks: int, num_experts: int
    ) -> int:
        """Return the bytes for low-latency calls of these sizes, with 2-byte elements and up to 8 choices per token."""
        return size_of_exchange(num_experts, num_max_dispatch_tokens_per_rank, hidden, HINTED_TOPK)

    @staticmethod
    def get_dispatch_config(num_ranks: int) -> Config:
        """Return a `Config` with ``Buffer.num_sms`` and defaults; it has no effect here."""
        return Config(Buffer.num_sms)

    get_combine_config = get_dispatch_config

    def get_comm_stream(self) -> Any:
        """Return the SYCL queue of the job."""
        return job.current().heap.queue

    @puts_on_queues
    def get_dispatch_layout(
        self, topk_idx: Any, num_experts: int, previous_event: Any = None, async_finish: bool = False,
        allocate_on_comm_stream: bool = False,
    ) -> tuple[Any, None, Any, Any, EventOverlap]:  # fmt: skip
        """Count the tokens for each rank and each expert, and mark the tokens for each rank; not collective.

        ``topk_idx`` are experts [tokens, choices] of int64 or int32, -1 for none, among ``num_experts`` of all ranks.
        The kernels start after ``previous_event``; other arguments are hints.

        Returns:
            Tokens for each rank, int32 [ranks]; None; tokens for each expert, int32 [experts]; whether a token is for a
            rank, bool [tokens, ranks]; and an event.
        """
        caller = Caller(topk_idx, previous_event)
        self._local(num_experts)
        counts = moe.layout_of(caller.choices(topk_idx, topk_idx.shape[0]), num_experts, self.group_size)
        per_rank, per_expert, in_rank = (caller.give(each) for each in counts)
        return per_rank, None, per_expert, in_rank, caller.finish()

    @puts_on_queues
    def dispatch(
        self, x: Any, handle: Any = None, num_tokens_per_rank: Any = None, num_tokens_per_rdma_rank: Any = None,
        is_token_in_rank: Any = None, num_tokens_per_expert: Any = None, topk_idx: Any = None, topk_weights: Any = None,
        expert_alignment: int = 1, num_worst_tokens: int = 0, config: Any = None, previous_event: Any = None,
        async_finish: bool = False, allocate_on_comm_stream: bool = False,
    ) -> tuple[Any, Any, Any, Any, Any, EventOverlap]:  # fmt: skip
        """Send tokens to the ranks of their experts, by the results of ``get_dispatch_layout`` or by a handle.

        Collective. Without a handle and ``num_worst_tokens`` it blocks, until all ranks have sent their token counts.

        Args:
            x: Tokens [tokens, hidden], or a pair of them and their scales [tokens, any number].
            handle: Handle of an earlier dispatch with the same routes, without layout and ``topk_*``; by default None.
            num_tokens_per_rank, is_token_in_rank, num_tokens_per_expert: Results of ``get_dispatch_layout``.
            topk_idx, topk_weights: Experts [tokens, choices] and weights of float32 to send with the tokens, or None.
            expert_alignment: The returned token numbers of experts are padded to a multiple of this number.
            num_worst_tokens: Length of the results of a call that does not block, 0 for others; a rank sends at most
                this number of tokens, divided by the number of ranks.
            previous_event: An event that must have completed before the call's kernels start.
            num_tokens_per_rdma_rank, config, async_finish, allocate_on_comm_stream: Hints.

        Returns:
            The tokens received, or a pair of them and their scales; their choices, as numbers of this rank's experts or
            -1; their weights, 0 for other experts; a list of the numbers of tokens of the experts, empty with
            ``num_worst_tokens``; a handle; and an event. With a handle all but the first and the last are None.

        Raises:
            ValueError, TypeError: Arguments that do not fit together, or arrays of another kind, dtype or shape.
        """
        caller = Caller(x, previous_event)
        tokens, scales = caller.tokens(x)
        if handle is not None:
            plan = handle.plan
            arrival = plan.exchange.send(tokens, [scales], plan.pes)
            recv_x = caller.give_tokens(arrival.rows[: plan.tokens], arrival.beside[0][: plan.tokens], x)
            return recv_x, None, None, None, None, caller.finish()
        in_rank = caller.take(is_token_in_rank, "is_token_in_rank", (tokens.shape[0], self.group_size), "bool")
        per_rank = caller.take(num_tokens_per_rank, "num_tokens_per_rank", (self.group_size,), "int32")
        per_expert = caller.take(num_tokens_per_expert, "num_tokens_per_expert", None, "int32")
        local = self._local(per_expert.shape[0])
        idx = None if topk_idx is None else caller.choices(topk_idx, tokens.shape[0])
        columns = (tokens.shape[0], 0 if idx is None else idx.shape[1])
        weights = caller.optional(topk_weights, "topk_weights", columns, "float32", tokens)
        rank_counts = None if num_worst_tokens else self._gather_counts(tokens.shape[0], per_rank, per_expert)
        most = -(-num_worst_tokens // self.group_size) if rank_counts is None else max(int(rank_counts[:, 0].max()), 1)
        exchange = self._exchange(most, tokens.shape[1], columns[1], tokens.dtype.itemsize > 2)
        pes = dpnp.where(in_rank, dpnp.arange(self.group_size, sycl_queue=caller.queue), -1)
        beside = [scales, caller.optional(None, "", columns, None, tokens) if idx is None else idx, weights]
        arrival = exchange.send(tokens, beside, pes)
        length, lengths, prefix = self._lengths(arrival.handle, rank_counts, num_worst_tokens, local, expert_alignment)
        new = NormalHandle(
            caller.give(prefix), None, None, caller.give(arrival.handle.origins[0, :length] // self.group_size),
            is_token_in_rank, None,
        )  # fmt: skip
        new.plan = _Plan(exchange, arrival.handle, pes, length)
        recv_x = caller.give_tokens(arrival.rows[:length], arrival.beside[0][:length], x)
        recv_topk = shares = None
        if idx is not None:
            recv_topk = local_choices(arrival.beside[1][:length], self.rank * local, local, prefix[-1, self.rank])
            if topk_weights is not None:
                shares = dpnp.where(recv_topk >= 0, arrival.beside[2][:length], dpnp.float32(0))
        return recv_x, caller.give(recv_topk, topk_idx), caller.give(shares), lengths, new, caller.finish()

    @puts_on_queues
    def combine(
        self, x: Any, handle: Any, topk_weights: Any = None, bias: Any = None, config: Any = None,
        previous_event: Any = None, async_finish: bool = False, allocate_on_comm_stream: bool = False,
    ) -> tuple[Any, Any, EventOverlap]:  # fmt: skip
        """Send a row for each token received back to the token's rank, and sum the rows of each own token.

        Sums are computed in float32, first the biases and then the ranks in their order, and rounded once. Collective,
        not blocking, after ``previous_event``. ``x`` are rows of float32, float16 or bfloat16 for the tokens received
        by ``handle``, ``topk_weights`` None or float32 [tokens received, any number], and ``bias`` None, or one or two
        arrays like the result. Returns the sums [tokens, hidden], the sums of the weights or None, and an event.

        Raises:
            ValueError, TypeError, StateError: As for ``dispatch``.
        """
        caller, plan = Caller(x, previous_event), handle.plan
        rows = caller.take(x, "x", (plan.tokens, plan.exchange.hidden))
        biases = caller.biases(bias, (plan.pes.shape[0], plan.exchange.hidden), str(rows.dtype))
        sums, shares = caller.give(plan.exchange.give_back(rows, plan.handle, biases), x), None
        if topk_weights is not None:
            weights = caller.optional(topk_weights, "topk_weights", (plan.tokens, -1), "float32", rows)
            shares = caller.give(plan.exchange.give_back(weights, plan.handle))
        return sums, shares, caller.finish()

    def clean_low_latency_buffer(self, num_max_dispatch_tokens_per_rank: int, hidden: int, num_experts: int) -> None:
        """Do nothing: the calls do not require zeroed memory."""

    @puts_on_queues
    def low_latency_dispatch(
        self, x: Any, topk_idx: Any, num_max_dispatch_tokens_per_rank: int, num_experts: int,
        cumulative_local_expert_recv_stats: Any = None, dispatch_wait_recv_cost_stats: Any = None, use_fp8: bool = True,
        round_scale: bool = False, use_ue8m0: bool = False, async_finish: bool = False, return_recv_hook: bool = False,
    ) -> tuple[Any, Any, LowLatencyHandle, EventOverlap, Callable[[], None] | None]:  # fmt: skip
        """Send each token to each of its experts; collective, not blocking.

        ``x``, ``topk_idx`` and results are those of ``ishmem.moe.Buffer.low_latency_dispatch``, but the hook is None
        without ``return_recv_hook``. A rank has at most ``num_max_dispatch_tokens_per_rank`` tokens. With ``use_fp8``,
        ``x`` is a tensor of bfloat16, sent as float8 with a scale for 128 elements: powers of 2 with ``round_scale``,
        exponents with ``use_ue8m0``. Counts of tokens are added to ``cumulative_local_expert_recv_stats``.
        ``dispatch_wait_recv_cost_stats`` is None: times are not measured.

        Raises:
            ValueError, TypeError, StateError: As for ``ishmem.moe.Buffer.low_latency_dispatch``.
        """
        _refuse(dispatch_wait_recv_cost_stats, "dispatch_wait_recv_cost_stats")
        given = to_float8(x, round_scale, use_ue8m0) if use_fp8 else x
        caller = Caller(given)
        tokens, scales = caller.tokens(given)
        idx = caller.choices(topk_idx, tokens.shape[0])
        sizes = (num_max_dispatch_tokens_per_rank, x.shape[1], num_experts)
        buffer = self._low_latency(*sizes, idx.shape[1], x.dtype.itemsize > 2)
        sent = (tokens, scales) if use_fp8 else tokens
        received, counts, own, event, hook = buffer.low_latency_dispatch(sent, idx, return_recv_hook=return_recv_hook)
        rows, factors = received if isinstance(received, tuple) else (received, None)
        recv_x, count = caller.give_tokens(rows, factors, given), caller.give(counts)
        source = dpnp.empty_like(own.origins)
        ranges = dpnp.empty(own.layout.shape[:2], dtype="int64", sycl_queue=caller.queue)
        handle = LowLatencyHandle((caller.give(source), caller.give(ranges), *sizes))
        handle.plan = buffer, own

        def receive() -> EventOverlap:
            hook()
            source[...] = own.origins // idx.shape[1]
            ranges[...] = own.layout[..., 0].astype("int64") << 32 | own.layout[..., 1]
            caller.add(cumulative_local_expert_recv_stats, "cumulative_local_expert_recv_stats", counts)
            return caller.finish()

        event = EventOverlap(EventHandle(caller.queue)) if return_recv_hook else receive()
        return recv_x, count, handle, event, _without_result(receive) if return_recv_hook else None

    @puts_on_queues
    def low_latency_combine(
        self, x: Any, topk_idx: Any, topk_weights: Any, handle: LowLatencyHandle, use_logfmt: bool = False,
        zero_copy: bool = False, async_finish: bool = False, return_recv_hook: bool = False, out: Any = None,
        combine_wait_recv_cost_stats: Any = None,
    ) -> tuple[Any, EventOverlap, Callable[[], None] | None]:  # fmt: skip
        """Send the outputs of this rank's experts back, and return the weighted sum for each own token, in float32.

        ``x`` has the shape of the tokens received; with ``zero_copy`` the outputs are read from the array of
        ``get_next_low_latency_combine_buffer``. ``topk_idx`` and ``handle`` are of the dispatch, ``topk_weights``
        float32. Returns ``out`` or a new array [tokens, hidden], an event, and with ``return_recv_hook`` a function
        that receives, else None. ``combine_wait_recv_cost_stats`` is None, as times are not measured.

        Raises:
            ValueError, TypeError, StateError: As for ``ishmem.moe.Buffer.low_latency_combine``.
        """
        _refuse(combine_wait_recv_cost_stats, "combine_wait_recv_cost_stats")
        (buffer, own), caller = handle.plan, Caller(x)
        rows = caller.take(self._outputs if zero_copy else x, "x", (*own.origins.shape, buffer.hidden))
        idx = caller.choices(topk_idx, topk_idx.shape[0])
        weights = caller.take(topk_weights, "topk_weights", tuple(idx.shape), "float32")
        kind = KINDS.get(str(rows.dtype))
        sums, _, hook = buffer.low_latency_combine(
            rows, idx, weights, own, dtype=kind, return_recv_hook=return_recv_hook
        )
        result = caller.give(sums, x) if out is None else out

        def receive() -> EventOverlap:
            hook()
            if out is not None:
                caller.take(out, "out", tuple(sums.shape))
                caller.write(out, sums)
            return caller.finish()

        event = EventOverlap(EventHandle(caller.queue)) if return_recv_hook else receive()
        return result, event, _without_result(receive) if return_recv_hook else None

    def get_next_low_latency_combine_buffer(self, handle: LowLatencyHandle) -> Any:
        """Return zeros of bfloat16 for outputs of ``handle``'s experts, which the next ``zero_copy`` combine reads."""
        buffer, own = handle.plan
        shape = (*own.origins.shape, buffer.hidden)
        if not isinstance(handle[0], type(own.origins)):
            import torch

            self._outputs = torch.zeros(shape, dtype=torch.bfloat16, device=handle[0].device)
        else:
            self._outputs = dpnp.zeros(shape, dtype="int16", sycl_queue=own.origins.sycl_queue)
        return self._outputs

    def low_latency_update_mask_buffer(self, rank_to_mask: int, mask: bool = False) -> None:
        """Mask a lost rank: tokens for its experts are dropped, and low-latency calls exclude it.

        Collective over the remaining ranks, blocking, in a job that continues after a loss. It masks all lost ranks.
        Handles of earlier dispatches become invalid.

        Raises:
            StateError: The job ends with the first loss.
            IshmemError: The rank is not lost; or it is, and ``mask`` is false.
        """
        if not mask and rank_to_mask in self._masked:
            raise IshmemError(f"rank {rank_to_mask} is lost and stays masked; it can come back in a new job only")
        if mask:
            left = teams.shrink(self._team)
            lost = {rank for rank, pe in enumerate(self._team.shape) if pe not in tuple(left.shape)}
            if rank_to_mask not in lost:
                raise IshmemError(f"rank {rank_to_mask} is not lost; lost are {sorted(lost)}")
            self._masked = lost
            for each in self._buffers.values():
                each.mask(left)

    def low_latency_query_mask_buffer(self, mask_status: Any) -> None:
        """Set the elements of ``mask_status``, int32 [ranks], to 1 for masked ranks and to 0 for others."""
        mask_status[:] = 0
        for rank in self._masked:
            mask_status[rank] = 1

    def low_latency_clean_mask_buffer(self) -> None:
        """Unmask all ranks, which is impossible for lost ones: do nothing, or raise if ranks are masked.

        Raises:
            IshmemError: Ranks are masked.
        """
        for rank in self._masked:
            self.low_latency_update_mask_buffer(rank)

    def _local(self, num_experts: int) -> int:
        """Return the number of experts of each rank; ``ValueError`` if ``num_experts`` is no multiple of the ranks."""
        if num_experts < 1 or num_experts % self.group_size:
            raise ValueError(f"num_experts is {num_experts}; allowed are positive multiples of {self.group_size}")
        return num_experts // self.group_size

    def _gather_counts(self, tokens: int, per_rank: Any, per_expert: Any) -> np.ndarray[Any, Any]:
        """Return an array with a row for each rank: its number of tokens, tokens for each rank and for each expert."""
        own = np.concatenate(([tokens], per_rank.asnumpy(), per_expert.asnumpy()))
        if own.size not in self._counts:
            halves = memory.zeros((2, self.group_size, own.size), dtype="int64")
            self._counts[own.size] = memory.zeros(own.size, dtype="int64"), halves
        source, halves = self._counts[own.size]
        self._half = 1 - self._half  # a rank that is ahead writes the other half while this one reads
        interop.host_view(source)[:] = own
        collectives.fcollect(halves[self._half], source, self._team)
        return np.array(interop.host_view(halves)[self._half])

    def _lengths(
        self, handle: moe.Handle, rank_counts: Any, worst: int, local: int, alignment: int
    ) -> tuple[int, list[int], Any]:
        """Return the number of rows received, padded token numbers of ``local`` experts, or [], and prefix matrix."""
        n, queue = self.group_size, handle.layout.sycl_queue
        if rank_counts is None:
            prefix = dpnp.full((n, n), -1, dtype="int32", sycl_queue=queue)
            prefix[:, self.rank] = dpnp.cumsum(handle.layout[0, :, 1], dtype="int32")
            return worst, [], prefix
        sums, first = rank_counts.cumsum(axis=0)[:, 1 : 1 + n], 1 + n + self.rank * local
        padded = -(-rank_counts[:, first : first + local].sum(axis=0) // alignment) * alignment
        return int(sums[-1, self.rank]), padded.tolist(), dpnp.asarray(sums.astype("int32"), sycl_queue=queue)

    def _exchange(self, tokens: int, hidden: int, topk: int, wide: bool) -> TokenExchange:
        """Return the exchange for normal calls of these sizes; collective if it is new."""
        key = (1 << (tokens - 1).bit_length(), hidden, max(topk, self.group_size), wide)
        if key not in self._exchanges:
            self._exchanges[key] = TokenExchange(self._team, *key)
        return self._exchanges[key]

    def _low_latency(self, tokens: int, hidden: int, experts: int, topk: int, wide: bool) -> moe.Buffer:
        """Return the buffer for low-latency calls of these sizes; collective if it is new."""
        key = (tokens, hidden, experts, topk, wide)
        if key not in self._buffers:
            self._buffers[key] = moe.Buffer(*key[:4], self._team, dtype="float32" if wide else "bfloat16")
        return self._buffers[key]


def _refuse(stats: Any, name: str) -> None:
    if stats is not None:
        raise ValueError(f"{name} is given; allowed is None, as times are not measured")


def _without_result(call: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that calls ``call`` and returns None."""

    def hook() -> None:
        call()

    return hook
