"""Collectives: on the host beside mpi4py, on a queue, and in kernels by a work-item or a work-group.

The size is that of a block: the data that one PE contributes, or receives from one other PE.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from ishmem.benchmarks.cases import Plan, case, values
from ishmem.benchmarks.worlds import PEERS, Ishmem, Mpi

Array = np.ndarray[Any, Any]
ROOT = 0
GROUPS = (64, 256)
"""Numbers of work-items in the work-groups that call collectives."""
STRIDE = 2
SIZES = (8, 512, 4096, 65536, 1 << 20, 32 << 20)
SIZES_IN_KERNELS = (8, 65536, 4 << 20)
BY_HOST = "the same by the host"


@dataclass(frozen=True)
class Collective:
    """A routine, independent of its forms (host, queue, work-item, work-group).

    Attributes:
        wanted: A function that returns the expected ``dest`` for PE, number of PEs, a function that returns the source
            of a PE, and number of elements in a block.
        mpi: The statement of mpi4py.
        dest: A function of the number of PEs that returns the number of blocks in ``dest``.
        source: A function of the number of PEs that returns the number of blocks in ``source``.
        arguments: The arguments after ``dest, source``, in kernels as well.
        step: Stride, in elements, of the elements that move.
    """

    wanted: Callable[[int, int, Callable[[int], Array], int], Array]
    mpi: str
    dest: Callable[[int], int] = lambda n: 1
    source: Callable[[int], int] = lambda n: 1
    arguments: str = ""
    step: int = 1


def _all(n: int) -> int:
    return n


def _joined(pe: int, n: int, source: Callable[[int], Array], block: int) -> Array:
    return np.concatenate([source(each) for each in range(n)])


def _at_root(pe: int, n: int, source: Callable[[int], Array], block: int) -> Array:
    return _joined(pe, n, source, block) * (pe == ROOT)


def _exchanged(pe: int, n: int, source: Callable[[int], Array], block: int) -> Array:
    return np.concatenate([_part(source(each), pe, block) for each in range(n)])


def _exchanged_in_steps(pe: int, n: int, source: Callable[[int], Array], block: int) -> Array:
    wanted = _exchanged(pe, n, source, block)
    wanted.reshape(-1, STRIDE)[:, 1:] = 0
    return wanted


def _scattered(pe: int, n: int, source: Callable[[int], Array], block: int) -> Array:
    return _part(source(ROOT), pe, block)


def _part(source: Array, pe: int, block: int) -> Array:
    return source[pe * block : (pe + 1) * block]


def _reduced(combine: Any) -> Callable[..., Array]:
    return lambda pe, n, source, block: combine.reduce([source(each) for each in range(n)])


def _scanned(before: int) -> Callable[..., Array]:
    """Return the function `Collective.wanted` of a scan: inclusive (``before=0``) or exclusive (``before=1``)."""
    return lambda pe, n, source, block: sum((source(each) for each in range(pe + 1 - before)), 0 * source(0))


IN_STEPS = f", {STRIDE}, {STRIDE}, elements"
COLLECTIVES = {
    "broadcast": Collective(
        lambda pe, n, source, block: source(ROOT), f"comm.Bcast(source if pe == {ROOT} else dest, {ROOT})",
        arguments=f", {ROOT}",
    ),
    "fcollect": Collective(_joined, "comm.Allgather(source, dest)", _all),
    "collect": Collective(_joined, "comm.Allgatherv(source, dest)", _all),
    "alltoall": Collective(_exchanged, "comm.Alltoall(source, dest)", _all, _all),
    "alltoalls": Collective(
        _exchanged_in_steps, "comm.Alltoallw([source, *apart], [dest, *apart])", _all, _all, IN_STEPS, STRIDE
    ),
    "alltoallv": Collective(
        _exchanged, "comm.Alltoallv([source, counts], [dest, counts])", _all, _all, ", counts, counts"
    ),
    "gather": Collective(_at_root, f"comm.Gather(source, dest, {ROOT})", _all, arguments=f", {ROOT}"),
    "scatter": Collective(_scattered, f"comm.Scatter(source, dest, {ROOT})", source=_all, arguments=f", {ROOT}"),
    "gatherv": Collective(
        _at_root, f"comm.Gatherv(source, [dest, counts], {ROOT})", _all, arguments=f", counts, {ROOT}"
    ),
    "scatterv": Collective(
        _scattered, f"comm.Scatterv([source, counts], dest, {ROOT})", source=_all, arguments=f", counts, {ROOT}"
    ),
    **{
        f"{name}_reduce": Collective(_reduced(combine), f"comm.Allreduce(source, dest, MPI.{operation})")
        for name, combine, operation in (
            ("sum", np.add, "SUM"), ("prod", np.multiply, "PROD"), ("max", np.maximum, "MAX"),
            ("min", np.minimum, "MIN"), ("and", np.bitwise_and, "BAND"), ("or", np.bitwise_or, "BOR"),
            ("xor", np.bitwise_xor, "BXOR"),
        )
    },
    "sum_inscan": Collective(_scanned(0), "comm.Scan(source, dest, MPI.SUM)"),
    "sum_exscan": Collective(_scanned(1), "comm.Exscan(source, dest, MPI.SUM)"),
}  # fmt: skip
"""The measured routines that move or combine data, by name."""


def plan_of(w: Ishmem | Mpi, name: str, size: int, form: str = "{}(dest, source{})") -> Plan:
    """Return the plan of a collective with blocks of ``size`` bytes; ``form`` is that of the call of ishmem."""
    routine, n, span = COLLECTIVES[name], w.n_pes, size * COLLECTIVES[name].step
    origin, elements = span * routine.source(n), len(values(span, 0))
    source, dest = w.filled(origin), w.blank(span * routine.dest(n))
    wanted = routine.wanted(w.pe, n, lambda pe: values(origin, pe), elements)
    names = w.names(source=source, dest=dest, elements=elements // routine.step, counts=[elements] * n)
    statement = w.either(f"ishmem.{form.format(name, routine.arguments)}", routine.mpi)
    plan = Plan(statement, names, lambda done: w.expect(dest, wanted), size)
    if isinstance(w, Mpi):
        names.update(pe=w.pe, apart=_apart(w, names) if routine.step > 1 else None)
        if name == "broadcast" and w.pe == ROOT:
            plan.check = None
    return plan


def _apart(w: Mpi, names: dict[str, Any]) -> list[Any]:
    """Return counts, displacements in bytes and types of an Alltoallw of every ``STRIDE``-th element."""
    n, count, itemsize = w.n_pes, names["elements"], names["dest"].itemsize
    kind = {1: w.MPI.UINT8_T, 8: w.MPI.INT64_T}[itemsize].Create_vector(count, 1, STRIDE).Commit()
    return [[1] * n, [each * count * STRIDE * itemsize for each in range(n)], [kind] * n]


@functools.cache
def _kernel(name: str, group: bool) -> Any:
    """Return the kernel ``(dest, source, elements, counts, times)`` that calls a routine ``times`` times.

    ``elements`` is the number of elements in a block, and ``counts`` the array of these numbers for all blocks.
    """
    from ishmem.benchmarks.kernels import kernel_of

    form, last = (f"{name}_work_group", ", item.get_group()") if group else (name, "")
    call = f"ishmem.{form}(dest, source{COLLECTIVES[name].arguments}{last})"
    lines = ["def loop(item, dest, source, elements, counts, times):", "    for _ in range(times):", f"        {call}"]
    return kernel_of(lines, "loop")


def plan_in_kernel(w: Ishmem, name: str, size: int, items: int = 0) -> Plan:
    """Return the plan of collective ``name`` in a kernel, with blocks of ``size`` bytes; its limit is the host form.

    ``items`` is the size of the work-group that calls it, or 0 for a single work-item.
    """
    import dpnp

    from ishmem import dpex
    from ishmem.dpex import kernel_api as kapi

    plan = plan_of(w, name, size)
    plan.names["all_counts"] = dpnp.asarray(plan.names["counts"])
    plan.names["items"] = kapi.NdRange((items,), (items,)) if items else kapi.Range(1)
    plan.names.update(call=dpex.call_kernel, loop=_kernel(name, items > 0))
    plan.limit, plan.counted = f"for _ in range(count):\n    {plan.statement}", True
    plan.statement = "call(loop, items, dest, source, elements, all_counts, count)"
    return plan


def _register(name: str) -> None:
    @case(name, "host", size=SIZES, pes=(2, 4), peers=PEERS)
    def by_host(w: Ishmem | Mpi, size: int) -> Plan:
        return plan_of(w, name, size)

    @case(name, "queue", size=(8, 65536, 1 << 20))
    def on_queue(w: Ishmem, size: int) -> Plan:
        return plan_of(w, name, size, "{}_on_queue(dest, source{}).wait()")

    @case(name, "device", size=SIZES_IN_KERNELS, pes=(2, 4), limit=BY_HOST)
    def by_item(w: Ishmem, size: int) -> Plan:
        return plan_in_kernel(w, name, size)

    @case(name, "group", size=SIZES_IN_KERNELS, pes=(2, 4), limit=BY_HOST, items=GROUPS)
    def by_group(w: Ishmem, size: int, items: int) -> Plan:
        return plan_in_kernel(w, name, size, items)


@case("sync_all", "host", pes=(2, 4), peers=PEERS)
def sync_all(w: Ishmem | Mpi) -> Plan:
    return Plan(w.either("ishmem.sync_all()", "comm.Barrier()"), w.names())


for _name in COLLECTIVES:
    _register(_name)
