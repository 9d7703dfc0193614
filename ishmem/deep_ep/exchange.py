"""Exchange for both interfaces: kernels of `ishmem.moe` send rows to PEs and back, without blocking the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ishmem import init_finalize, moe
from ishmem.common import moe as workspace
from ishmem.kernel_calls import device_array, flat
from ishmem.runtime import job
from ishmem.teams import TEAM_WORLD, Team

KINDS = {"float32": "float32", "float16": "float16", "int16": "bfloat16", "uint16": "bfloat16"}
"""Dtype of the elements to sum, by the dtype of the array: 16-bit integers are the bits of bfloat16."""

ALIGNMENT = 2 << 20
"""Sizes of memory are multiples of this number of bytes."""

MARGIN = 64 << 20
"""Bytes of the heap in addition to the buffer, in a job that a buffer starts."""


def ranks_of(group: Any) -> int:
    """Return the number of processes of a process group of torch or a team of ishmem.

    Raises:
        TypeError: Neither a group nor a team.
    """
    if not (isinstance(group, Team) or hasattr(group, "size")):
        raise TypeError(f"group is {type(group).__name__}; allowed are a ProcessGroup of torch and a team of ishmem")
    return int(group.n_pes() if isinstance(group, Team) else group.size())


def team_of(group: Any, comm: Any, nbytes: int) -> Team:
    """Return the team of ``group`` or ``comm``; start the job if none runs, with a heap for at least ``nbytes`` bytes.

    Raises:
        ValueError: Both are None, or it is not the whole job. A team of ishmem is returned as it is.
    """
    if isinstance(group, Team):
        return group
    if group is None and comm is None:
        raise ValueError("group and comm are None; allowed is one of them")
    if not job.running():
        heap_size = nbytes + MARGIN if nbytes > MARGIN else None
        init_finalize.init(heap_size, **({"comm": comm} if group is None else {"process_group": group}))
    place = (comm.Get_rank(), comm.Get_size()) if group is None else (group.rank(), group.size())
    found = TEAM_WORLD.my_pe(), TEAM_WORLD.n_pes()
    if place != found:
        what = f"this process is {place[0]} of {place[1]} in group, and PE {found[0]} of {found[1]} in the job"
        raise ValueError(f"{what}; allowed are the group that the job was started with, and a team of ishmem")
    return TEAM_WORLD


class Arrival(NamedTuple):
    """Result of a dispatch: rows received, in order of PEs, the 2-D arrays sent with them, and a handle to combine."""

    rows: Any
    beside: list[Any]
    handle: moe.Handle


class TokenExchange(moe.Buffer):
    """A `moe.Buffer` that sends rows to PEs: each PE is one expert; ``wide``: elements of 4 bytes, not 2."""

    def __init__(self, team: Team, max_tokens: int, hidden: int, topk: int, wide: bool) -> None:
        super().__init__(max_tokens, hidden, team.n_pes(), topk, team, dtype="float32" if wide else "bfloat16")

    def check(self, tokens: int) -> None:
        """Raise ``ValueError`` if ``tokens``, a number, exceeds ``max_tokens``."""
        if tokens > self.max_tokens:
            raise ValueError(f"x has {tokens} tokens; allowed are at most {self.max_tokens} of a rank")

    def chosen(self, topk_idx: Any, experts: int) -> Any:
        """Return the PEs of choices, with ``experts`` experts on a PE; -1 except at a token's last choice of a PE."""
        return self._pes_of(device_array(topk_idx // experts, "topk_idx"), last=True).array

    def send(self, tokens: Any, beside: list[Any], pes: Any) -> Arrival:
        """Send tokens and rows of arrays ``beside`` to ``pes``, -1: none; not blocking; ``ValueError`` if too many."""
        self.check(tokens.shape[0])
        rows, joined, _, handle, _ = self._send(tokens, beside, device_array(pes, "the PEs of topk_idx"))
        return Arrival(rows, moe.parted(joined, beside), handle)

    def give_back(self, x: Any, handle: moe.Handle, biases: Sequence[Any] = ()) -> Any:
        """Send rows ``x`` to their tokens' PEs; return for own tokens the sums of rows and ``biases``; not blocking."""
        return self._combine_round(kind_of(x), device_array(x, "x"), handle, None, None, biases)[0]

    def fold(self, x: Any, places: Any) -> Any:
        """Return an array whose row ``i`` is the sum of the rows ``places[i]`` (int64, -1 for none) of ``x``."""
        import dpnp

        from ishmem.kernels.moe import fold_kernel

        kind, queue = kind_of(x), x.sycl_queue
        out = self._results.empty((places.shape[0], x.shape[1]), str(x.dtype), queue)
        if places.shape[0]:
            ones = dpnp.ones(places.shape[1], dtype="float32", sycl_queue=queue)
            arrays = [moe.bits(x), flat(places, "int64"), flat(ones, "float32"), moe.bits(out)]
            numbers = [places.shape[1], x.shape[1] * x.dtype.itemsize]
            self._submit(fold_kernel(kind), places.shape[0], moe.LEAST_WORK_ITEMS, [*arrays, *numbers], [])
        return out


def kind_of(x: Any) -> str:
    """Return the dtype of the elements of ``x`` to sum, by `KINDS`; ``ValueError`` for another dtype."""
    if str(x.dtype) not in KINDS:
        raise ValueError(f"x has dtype {x.dtype}; allowed are float32, float16 and bfloat16")
    return KINDS[str(x.dtype)]


def rows_of(place: Any, rows: Any) -> Any:
    """Return the rows with numbers ``place``; for negative numbers unspecified elements, or zeros without any rows."""
    import dpnp

    if not rows.shape[0]:
        shape = (*place.shape, *rows.shape[1:])
        return dpnp.zeros(shape, dtype=rows.dtype, sycl_queue=rows.sycl_queue)
    return dpnp.take(rows, dpnp.maximum(place, 0), axis=0)


def local_choices(chosen: Any, first: int, experts: int, count: Any) -> Any:
    """Return experts ``chosen`` minus ``first``; -1 outside 0 to ``experts - 1``, and in rows from ``count`` on."""
    import dpnp

    local = chosen - first
    taken = dpnp.arange(chosen.shape[0], sycl_queue=chosen.sycl_queue) < count
    return dpnp.where((local >= 0) & (local < experts) & taken[:, None], local, -1)


def size_of_exchange(n_pes: int, max_tokens: int, hidden: int, topk: int, itemsize: int = 2) -> int:
    """Return the bytes on the heap of a `TokenExchange` with ``hidden`` elements in a row, a multiple of 2 MiB."""
    row = workspace.row_bytes(hidden * itemsize, topk)
    nbytes, words, flags = workspace.sizes(n_pes, max_tokens, max_tokens * topk, row)
    return aligned(nbytes + 8 * (words + flags), ALIGNMENT)


def aligned(nbytes: int, unit: int) -> int:
    """Return ``nbytes`` rounded up to a multiple of ``unit``."""
    return -(-nbytes // unit) * unit

