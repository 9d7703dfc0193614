"""Interface of DeepEP's V2: `ElasticBuffer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ishmem.runtime import job
from ishmem.runtime.unfinished_work import puts_on_queues
from ishmem.teams import TEAM_WORLD

from .callers import Caller
from .events import EventHandle, EventOverlap
from .exchange import TokenExchange, ranks_of, size_of_exchange, team_of
from .experimental import Experimental
from .layouts import DispatchOptions, EPHandle, SentRoute, new_handle, received, weights_of

__all__ = ["EPHandle", "ElasticBuffer"]

QPS = 17


class ElasticBuffer(Experimental):
    """Dispatch and combine of DeepEP's V2 over the processes of a group.

    The constructor allocates memory on the symmetric heap if it has the numbers of tokens, elements and choices. The
    first dispatch of other sizes allocates more and is blocking. All ranks make the same calls in the same order. Hints
    for other hardware are accepted and have no effect: ``num_cpu_bytes``, ``deterministic`` (results always are),
    ``allow_*``, ``prefer_overlap_with_compute``, ``sl_idx``, ``num_allocated_qps``, the time-outs, ``num_sms``,
    ``num_qps``, ``*_comm_stream``, those of ``barrier``, and ``use_tma_aligned_col_major_sf`` (scales are in rows).

    Attributes:
        group, rank_idx, num_ranks: The group, the number of this rank, and the number of ranks.
        num_bytes: Limit on the bytes of memory for one size of calls, or None. Other attributes are as in DeepEP.
    """

    def __init__(
        self, group: Any, num_bytes: int | None = None, num_cpu_bytes: int = 0, num_max_tokens_per_rank: int = 0,
        hidden: int = 0, num_topk: int = 0, use_fp8_dispatch: bool = False, deterministic: bool = False,
        allow_hybrid_mode: bool = True, allow_multiple_reduction: bool = True, prefer_overlap_with_compute: bool = True,
        sl_idx: int = 3, num_allocated_qps: int = 0, num_cpu_timeout_secs: int = 300, num_gpu_timeout_secs: int = 100,
        explicitly_destroy: bool = False,
    ) -> None:  # fmt: skip
        """Create a buffer for a group, and start ishmem if it is not running; collective, blocking.

        Args:
            group: A group of ``torch.distributed`` or a team of ishmem.
            num_bytes: Limit on the bytes for one size of calls: see ``get_buffer_size_hint``. None or 0: no limit.
            num_max_tokens_per_rank, hidden, num_topk: Largest number of tokens of a rank, elements of a token, choices
                of a token, in the calls to allocate memory for now; 0 if unknown.
            num_cpu_bytes, use_fp8_dispatch, deterministic, allow_hybrid_mode, allow_multiple_reduction,
                prefer_overlap_with_compute, sl_idx, num_allocated_qps, num_cpu_timeout_secs, num_gpu_timeout_secs,
                explicitly_destroy: Hints.

        Raises:
            TypeError, ValueError: Not a group; a group that is not the whole job; sizes that exceed ``num_bytes``.
            HeapExhausted, StateError, IshmemError: As for ``ishmem.moe.Buffer``.
        """
        super().__init__()
        known = min(num_max_tokens_per_rank, hidden, num_topk) > 0
        ranks = ranks_of(group)
        need = num_bytes or (size_of_exchange(ranks, num_max_tokens_per_rank, hidden, num_topk) if known else 0)
        self._team = team_of(group, None, need)
        self.group, self.rank_idx, self.num_ranks = group, self._team.my_pe(), self._team.n_pes()
        self.num_bytes, self.num_max_tokens_per_rank = num_bytes, num_max_tokens_per_rank
        self.allow_hybrid_mode, self.allow_multiple_reduction = allow_hybrid_mode, allow_multiple_reduction
        self.prefer_overlap_with_compute, self.deterministic = prefer_overlap_with_compute, deterministic
        self.explicitly_destroy, self.num_allocated_qps = explicitly_destroy, num_allocated_qps or QPS
        self.num_scaleout_ranks, self.num_scaleup_ranks = self.get_logical_domain_size()
        self.scaleout_rank_idx, self.scaleup_rank_idx = 0, self.rank_idx
        self.num_rdma_ranks, self.num_nvlink_ranks = self.get_physical_domain_size()
        self._exchanges: dict[tuple[int, int, int, bool], TokenExchange] = {}
        if known:
            self._exchange(num_max_tokens_per_rank, hidden, num_topk, False)

    def destroy(self) -> None:
        """Free all memory of the buffer; collective, blocking."""
        exchanges, self._exchanges = self._exchanges, {}
        for each in exchanges.values():
            each.free()
        self.free_experimental()

    @staticmethod
    def get_buffer_size_hint(
        group: Any, num_max_tokens_per_rank: int, hidden: int, num_topk: int = 0, use_fp8_dispatch: bool = False,
        allow_hybrid_mode: bool = True, allow_multiple_reduction: bool = True,
    ) -> int:  # fmt: skip
        """Return the bytes for calls of these sizes, with elements of 2 bytes; ``num_topk`` 0: as many as ranks."""
        ranks = ranks_of(group)
        return size_of_exchange(ranks, num_max_tokens_per_rank, hidden, num_topk or ranks)

    def barrier(self, use_comm_stream: bool = True, with_cpu_sync: bool = False, sequential: bool = True) -> None:
        """Wait on the host for the work on torch's stream, or the heap's queue, then for all ranks; collective."""
        EventHandle().event.wait()
        self._team.sync()

    @staticmethod
    def capture() -> EventHandle:
        """Return the event of all work so far on torch's current stream, or without an XPU on the job's queue."""
        return EventHandle()

    def get_comm_stream(self) -> Any:
        """Return the SYCL queue of the job."""
        return job.current().heap.queue

    def get_physical_domain_size(self) -> tuple[int, int]:
        """Return the number of nodes and the number of ranks on each, or 1 and all ranks if nodes differ in size.

        It is 1 and all ranks, too, if the group is a team other than ``TEAM_WORLD``.
        """
        network = job.current().network if self._team is TEAM_WORLD else None
        return domain_size(network.nodes if network else [0] * self.num_ranks)

    def get_logical_domain_size(self) -> tuple[int, int]:
        """Return 1 and the number of ranks: tokens are sent directly to their ranks, also between nodes."""
        return 1, self.num_ranks

    def get_theoretical_num_sms(
        self, num_experts: int, num_topk: int, num_scaleout_topk: int = 0, rdma_gbs: float = 0, nvlink_gbs: float = 0,
        sm_read_gbs: float = 200, sm_write_gbs: float = 50,
    ) -> int:  # fmt: skip
        """Return the number of compute units of the device, all of which kernels may use; arguments have no effect."""
        return int(job.current().heap.queue.sycl_device.max_compute_units)

    def get_theoretical_num_qps(self, num_sms: int) -> int:
        """Return the constructor's ``num_allocated_qps``, or 17 if that was 0; ``num_sms`` has no effect."""
        return self.num_allocated_qps

    @puts_on_queues
    def dispatch(
        self, x: Any, topk_idx: Any = None, topk_weights: Any = None, cumulative_local_expert_recv_stats: Any = None,
        num_experts: int | None = None, num_max_tokens_per_rank: int | None = None, expert_alignment: int | None = None,
        num_sms: int = 0, num_qps: int = 0, previous_event: Any = None, previous_event_before_epilogue: Any = None,
        async_with_compute_stream: bool = False, allocate_on_comm_stream: bool = False, handle: EPHandle | None = None,
        do_handle_copy: bool = True, do_cpu_sync: bool | None = None, do_expand: bool = False,
        do_zero_padding: bool = False, use_tma_aligned_col_major_sf: bool = False,
    ) -> tuple[Any, Any, Any, EPHandle, EventOverlap]:  # fmt: skip
        """Send tokens to the ranks of their experts, and receive the tokens for the experts of this rank.

        Collective. With ``do_cpu_sync`` it blocks until the tokens for this rank have arrived. With a handle it does
        not block and sends the tokens by the routes of that dispatch, as in the backward pass of a combine.

        Args:
            x: Tokens [tokens, hidden] in rows of 16 n bytes, or a pair of them and their scales [tokens, any number].
            topk_idx: Experts [tokens, choices] of int64 or int32, -1 for none; None with a handle.
            topk_weights: Weights [tokens, choices] of float32, or None.
            cumulative_local_expert_recv_stats: An array of int32 [experts of this rank], to which the call adds the
                numbers of tokens received; or None.
            num_experts: Number of experts of all ranks, a multiple of the number of ranks; None only with a handle.
            num_max_tokens_per_rank: Largest number of tokens of a rank, equal on all; by default the constructor's.
            expert_alignment: Rows of an expert are padded to a multiple of this number; by default 1.
            previous_event, previous_event_before_epilogue: Events that must have completed before the call's kernels.
            handle: Handle of an earlier dispatch of as many tokens with the same options, or None.
            do_handle_copy: Whether the new handle has a copy of ``topk_idx``, not the array itself.
            do_cpu_sync: Whether to block until the numbers of tokens have arrived; by default true without a handle. If
                false, results have the largest possible size.
            do_expand: Whether a token received has a row for each of its experts, with the rows sorted by expert.
            do_zero_padding: Whether to set padding rows to zero; only with ``do_expand``.
            num_sms, num_qps, async_with_compute_stream, allocate_on_comm_stream, use_tma_aligned_col_major_sf: Hints.

        Returns:
            The tokens received, or a pair of them and their scales; their choices, as numbers of this rank's experts
            or -1, None if expanded; their weights or None, one for each row if expanded; the handle; and an event.

        Raises:
            ValueError, TypeError: Arguments that do not fit together, or arrays of another kind, dtype or shape.
            HeapExhausted, StateError: As for ``ishmem.moe.Buffer``.
        """
        caller = Caller(x, previous_event, previous_event_before_epilogue)
        sizes = num_experts, num_max_tokens_per_rank, expert_alignment
        if do_zero_padding and not do_expand:
            raise ValueError("do_zero_padding is given without do_expand; allowed are both")
        tokens, scales = caller.tokens(x)
        if handle is None:
            options = self._options(*sizes, num_sms, bool(do_expand), do_cpu_sync is not False)
        else:
            _check_cached(handle, tokens, topk_idx, do_cpu_sync, (*sizes, bool(do_expand)))
        route = self._route(caller, tokens, topk_idx, options) if handle is None else handle.layout.route
        weights = caller.optional(topk_weights, "topk_weights", tuple(route.topk_idx.shape), "float32", tokens)
        beside = [scales, route.topk_idx if handle is None else scales[:, :0], weights]
        arrival = route.exchange.send(tokens, beside, route.pes)
        if handle is None:
            kept = caller.give(route.topk_idx, topk_idx) if do_handle_copy else topk_idx
            handle = new_handle(caller, route, arrival, options, kept)
        caller.add(cumulative_local_expert_recv_stats, "cumulative_local_expert_recv_stats", handle.layout.counts)
        found = received(handle, arrival, do_zero_padding)
        recv_x, idx = caller.give_tokens(found.x, found.scales, x), caller.give(found.topk_idx, topk_idx)
        shares = caller.give(found.topk_weights) if topk_weights is not None else None
        return recv_x, idx, shares, handle, caller.finish()

    @puts_on_queues
    def combine(
        self, x: Any, handle: EPHandle, topk_weights: Any = None, bias: Any = None, num_sms: int = 0, num_qps: int = 0,
        previous_event: Any = None, previous_event_before_epilogue: Any = None, async_with_compute_stream: bool = False,
        allocate_on_comm_stream: bool = False,
    ) -> tuple[Any, Any, EventOverlap]:  # fmt: skip
        """Send a row for each token received back to the token's rank, and sum the rows of each own token.

        Sums are computed in float32, first the biases and then the ranks in the order of a token's last choice of each,
        and rounded once. After an expanded dispatch, a rank first sums the rows of a token's experts on it, also in
        float32 and rounded once. Collective, not blocking. It is the backward pass of a dispatch.

        Args:
            x: An array of the shape of the tokens received, of bfloat16, float16 or float32.
            handle: The handle that the dispatch returned.
            topk_weights: Weights of the shape of the weights received, to be sent back to their choices; or None.
            bias: None, or one or a pair of arrays [tokens, hidden] of the dtype of ``x``.
            previous_event, previous_event_before_epilogue: Events that must have completed before the call's kernels.
            num_sms, num_qps, async_with_compute_stream, allocate_on_comm_stream: Hints.

        Returns:
            Sums [tokens, hidden]; weights [tokens, choices], 0 without expert, None without ``topk_weights``; an event.

        Raises:
            ValueError, TypeError, StateError: As for ``dispatch``.
        """
        caller, layout = Caller(x, previous_event, previous_event_before_epilogue), handle.layout
        exchange = layout.route.exchange
        length = handle.num_expanded_tokens if handle.do_expand else handle.num_recv_tokens
        rows = caller.take(x, "x", (length, exchange.hidden))
        biases = caller.biases(bias, (layout.route.topk_idx.shape[0], exchange.hidden), str(rows.dtype))
        if layout.places is not None:
            rows = exchange.fold(rows, layout.places)
        sums, shares = caller.give(exchange.give_back(rows, layout.handle, biases), x), None
        if topk_weights is not None:
            shape = (length,) if handle.do_expand else tuple(layout.recv_topk.shape)
            weights = weights_of(layout, caller.take(topk_weights, "topk_weights", shape, "float32"))
            shares = caller.give(exchange.give_back(weights, layout.handle))
        return sums, shares, caller.finish()

    def _exchange(self, max_tokens: int, hidden: int, topk: int, wide: bool) -> TokenExchange:
        """Return the exchange for calls of these sizes, ``wide`` for elements of 4 bytes; collective if it is new."""
        key = (max_tokens, hidden, topk, wide)
        if key not in self._exchanges:
            need = size_of_exchange(self.num_ranks, max_tokens, hidden, topk, 4 if wide else 2)
            if self.num_bytes and need > self.num_bytes:
                raise ValueError(f"num_bytes is {self.num_bytes}; {max_tokens} tokens of a rank need {need}")
            self._exchanges[key] = TokenExchange(self._team, *key)
        return self._exchanges[key]

    def _options(
        self, experts: int | None, max_tokens: int | None, alignment: int | None, num_sms: int, expand: bool,
        cpu_sync: bool,
    ) -> DispatchOptions:  # fmt: skip
        """Return the options of a dispatch without a handle, with defaults for None; ``ValueError`` if not allowed."""
        experts, most = experts or 0, max_tokens or self.num_max_tokens_per_rank
        if experts < 1 or experts % self.num_ranks:
            raise ValueError(f"num_experts is {experts}; allowed are positive multiples of {self.num_ranks}, the ranks")
        if most < 1 or (alignment is not None and alignment < 1):
            what = f"num_max_tokens_per_rank is {most} and expert_alignment {alignment}"
            raise ValueError(f"{what}; allowed are positive numbers")
        return DispatchOptions(experts, most, alignment or 1, num_sms, expand, cpu_sync)

    def _route(self, caller: Caller, tokens: Any, topk_idx: Any, options: DispatchOptions) -> SentRoute:
        """Return the exchange, choices and PEs of tokens to send; collective if the exchange is new."""
        idx = caller.choices(topk_idx, tokens.shape[0])
        wide = tokens.dtype.itemsize > 2
        exchange = self._exchange(options.num_max_tokens_per_rank, tokens.shape[1], idx.shape[1], wide)
        return SentRoute(exchange, idx, exchange.chosen(idx, options.num_experts // self.num_ranks))


def domain_size(nodes: Sequence[int]) -> tuple[int, int]:
    """Return the number of nodes and of ranks on each, given each rank's node; 1 and all if nodes differ in size."""
    sizes = Counter(nodes)
    same = len(set(sizes.values())) == 1
    return (len(sizes), len(nodes) // len(sizes)) if same else (1, len(nodes))


def _check_cached(handle: EPHandle, tokens: Any, topk_idx: Any, do_cpu_sync: Any, given: tuple[Any, ...]) -> None:
    """Raise ``ValueError`` if arguments contradict the handle; ``given`` has four options, None for not given."""
    if topk_idx is not None or do_cpu_sync:
        raise ValueError("topk_idx or do_cpu_sync is given with a handle; allowed are topk_idx=None, do_cpu_sync=False")
    kept = (handle.num_experts, handle.num_max_tokens_per_rank, handle.expert_alignment, handle.do_expand)
    names = ("num_experts", "num_max_tokens_per_rank", "expert_alignment", "do_expand")
    for name, value, wanted in zip(names, given, kept):
        if value not in (None, wanted):
            raise ValueError(f"{name} is {value}; allowed is {wanted}, that of the handle")
    shape = (handle.layout.route.topk_idx.shape[0], handle.layout.route.exchange.hidden)
    if tuple(tokens.shape) != shape:
        raise ValueError(f"x has shape {tuple(tokens.shape)}; allowed is {shape}, that of the handle's dispatch")
