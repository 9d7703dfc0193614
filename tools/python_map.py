"""The map from other SHMEM libraries for Python: their calls with those of ishmem, for the page of `c_map`."""

from __future__ import annotations

_SHMEM4PY = (
    ("shmem.my_pe()", "ishmem.my_pe()"),
    ("shmem.zeros(shape, dtype)", "ishmem.zeros(shape, dtype=dtype)"),
    ("shmem.array(obj, dtype)", "ishmem.array(a, dtype)"),
    ("shmem.free(a)", "ishmem.free(a)"),
    ("shmem.put(target, source, pe, size)", "ishmem.put(dest, source, pe, nelems)"),
    ("shmem.get(target, source, pe, size)", "ishmem.get(dest, source, pe, nelems)"),
    ("shmem.iput(target, source, pe, tst, sst, size)", "ishmem.iput(dest, source, dst, sst, nelems, pe)"),
    ("shmem.atomic_op(target, value, op, pe)", "ishmem.atomic_add(dest, value, pe), and so on"),
    ("shmem.atomic_fetch_add(target, value, pe)", "ishmem.atomic_fetch_add(dest, value, pe)"),
    ("shmem.new_signal()", 'ishmem.zeros(1, dtype="u8")'),
    (
        "shmem.put_signal(target, source, pe, signal, value, sigop)",
        "ishmem.put_signal(dest, source, sig_addr, signal, sig_op, pe)",
    ),
    ("shmem.signal_wait_until(signal, cmp, value)", "ishmem.signal_wait_until(sig_addr, cmp, cmp_value)"),
    ("shmem.wait_until(ivar, cmp, value)", "ishmem.wait_until(ivar, cmp, cmp_value)"),
    ("shmem.wait_until_some(ivars, cmp, value)", "ishmem.wait_until_some(ivars, indices, cmp, cmp_value)"),
    ("shmem.broadcast(target, source, root, size, team)", "ishmem.broadcast(dest, source, root, team, nelems)"),
    ("shmem.sum_reduce(target, source, size, team)", "ishmem.sum_reduce(dest, source, team, nelems)"),
    ("shmem.reduce(target, source, op)", "ishmem.sum_reduce(dest, source), and so on"),
    ("shmem.barrier_all(), shmem.sync(team)", "ishmem.barrier_all(), team.sync()"),
    ("shmem.new_lock()", 'ishmem.zeros(1, dtype="i8")'),
)
_NVSHMEM4PY = (
    (
        'nvshmem.core.init(device=, mpi_comm=, initializer_method="mpi")',
        "ishmem.init(comm=), or ishmem.init() under ishmem run",
    ),
    ("nvshmem.core.get_unique_id()", "ishmem.get_uniqueid()"),
    ("nvshmem.core.array(shape, dtype), tensor(shape, dtype)", "ishmem.empty(shape, dtype=dtype)"),
    ("nvshmem.core.free_array(array)", "ishmem.free(a)"),
    ("nvshmem.core.get_peer_array(array, pe)", "ishmem.ptr(a, pe)"),
    ("nvshmem.core.put(dst, src, remote_pe, stream)", "ishmem.put_on_queue(dest, source, pe, sycl_queue)"),
    ("nvshmem.core.get(dst, src, remote_pe, stream)", "ishmem.get_on_queue(dest, source, pe, sycl_queue)"),
    (
        "nvshmem.core.put_signal(dst, src, signal_var, signal_val, signal_op, remote_pe, stream)",
        "ishmem.put_signal_on_queue(dest, source, sig_addr, signal, sig_op, pe, sycl_queue)",
    ),
    (
        "nvshmem.core.signal_wait(signal_var, signal_val, signal_op, stream)",
        "ishmem.signal_wait_until_on_queue(sig_addr, cmp, cmp_value, ret, sycl_queue)",
    ),
    ("nvshmem.core.quiet(stream)", "ishmem.quiet_on_queue(sycl_queue)"),
    (
        "nvshmem.core.barrier(team, stream)",
        "ishmem.quiet_on_queue(sycl_queue), then ishmem.team_sync_on_queue(team, sycl_queue)",
    ),
    (
        'nvshmem.core.reduce(team, dst, src, "sum", stream)',
        "ishmem.sum_reduce_on_queue(dest, source, team, None, sycl_queue)",
    ),
    ("nvshmem.core.fcollect(team, dst, src, stream)", "ishmem.fcollect_on_queue(dest, source, team, None, sycl_queue)"),
    (
        "nvshmem.core.team_split_strided(parent, start, stride, size, ...)",
        "ishmem.team_split_strided(parent_team, start, stride, size)",
    ),
    ("in kernels: device.numba.put(dst, src, pe)", "ishmem.put(dest, source, pe)"),
    ("in kernels: device.numba.put_block(dst, src, pe)", "ishmem.put_work_group(dest, source, pe, group)"),
    ("in kernels: device.numba.put_warp(dst, src, pe)", "ishmem.put_work_group(dest, source, pe, sub_group)"),
    ("in kernels: device.numba.atomic_add(dst, value, pe)", "ishmem.atomic_add(dest, value, pe)"),
    (
        "in kernels: device.numba.signal_wait(signal_var, signal_op, signal_val)",
        "ishmem.signal_wait_until(sig_addr, cmp, cmp_value)",
    ),
)
_IRIS = (
    ("ctx = iris.iris(heap_size)", "ishmem.init(heap_size)"),
    ("ctx.get_rank(), ctx.get_num_ranks()", "ishmem.my_pe(), ishmem.n_pes(); in kernels too"),
    ("ctx.zeros(shape, dtype=)", "ishmem.zeros(shape, dtype=dtype)"),
    ("ctx.get_heap_bases()", "nothing: kernels know the heaps"),
    ("ctx.barrier()", "ishmem.barrier_all()"),
    ("in kernels: iris.load(pointers, ...rank, heap_bases, mask)", "ishmem.g(source, pe, index)"),
    ("in kernels: iris.store(pointers, values, ...rank, heap_bases, mask)", "ishmem.p(dest, value, pe, index)"),
    (
        "in kernels: iris.put(from, to, ...rank, heap_bases, mask)",
        "ishmem.put_work_group(dest, source, pe, group, nelems)",
    ),
    (
        "in kernels: iris.get(from, to, ...rank, heap_bases, mask)",
        "ishmem.get_work_group(dest, source, pe, group, nelems)",
    ),
    (
        "in kernels: iris.atomic_add(pointers, value, ...rank, heap_bases)",
        "ishmem.atomic_fetch_add(dest, value, pe, index)",
    ),
    (
        "in kernels: iris.atomic_min(pointers, value, ...rank, heap_bases), atomic_max",
        "ishmem.atomic_fetch_min(dest, value, pe, index), and so on",
    ),
    (
        "in kernels: iris.atomic_cas(pointers, compare, value, ...rank, heap_bases)",
        "ishmem.atomic_compare_swap(dest, cond, value, pe, index)",
    ),
    (
        "in kernels: iris.atomic_xchg(pointers, value, ...rank, heap_bases)",
        "ishmem.atomic_swap(dest, value, pe, index)",
    ),
)
LIBRARIES = {
    "shmem4py": (
        "shmem4py works on host memory with numpy arrays; its names are those of OpenSHMEM, as here. The PE comes "
        "before strides and sizes there, and after them here.",
        _SHMEM4PY,
    ),
    "NVSHMEM4Py": (
        "Operations of the host run on a CUDA stream there: they correspond to the on-queue forms here, and the host "
        "forms without a queue are an addition. The block of CUDA is the work-group of SYCL.",
        _NVSHMEM4PY,
    ),
    "Iris": (
        "Iris addresses the same offset on another GPU by pointers, in blocks of a Triton program; ishmem takes arrays "
        "and an index, in one work-item, or whole arrays in a work-group.",
        _IRIS,
    ),
}
"""For each library: a text about the differences, and pairs of its calls and those of ishmem."""


def render() -> list[str]:
    """Return the sections as lines of markdown."""
    lines = ["", "## From other Python libraries"]
    for library, (text, pairs) in LIBRARIES.items():
        lines += ["", f"### {library}", "", text, "", f"| {library} | ishmem |", "|---|---|"]
        lines += [f"| {_code(theirs)} | {_code(ours)} |" for theirs, ours in pairs]
    return lines


def _code(text: str) -> str:
    """Return a cell in markdown, with the call marked as code and other words unchanged."""
    before, found, code = text.partition(": ") if text.startswith("in kernels: ") else ("", "", text)
    if code.startswith(("nothing", "no form")):
        return code
    code, separator, after = code.partition("; ") if "; " in code else code.partition(", and so on")
    return f"{before}{found}`{code}`{separator}{after}"
