"""``ishmem.torch``: symmetric tensors, and tensors as arguments of all calls, on the CPU."""

from __future__ import annotations

import doctest
import gc
import io
import math
from typing import Any

import numpy as np
import pytest
import torch_library
from common import dpex, dpnp, kapi, refused, ring
from halves import as_bits
from subprocesses import run_program
from test_inference import summed, values
from test_memory_extras import live
from test_moe import ROUTES

import ishmem
from ishmem.common.type_tables import ATOMICS, HALVES, OPAQUE, RMA_TYPES
from ishmem.testing import Pes

N = 7
REDUCED = ("int32", "int64", *HALVES, "float32", "float64", "complex64")


@pytest.fixture(scope="module", params=[1, 3])
def tensors(request: pytest.FixtureRequest, pool_with: Any) -> Pes:
    """PEs that can import torch."""
    return pool_with(request.param, torch_library.environment())


@pytest.fixture(scope="module")
def two(pool_with: Any) -> Pes:
    return pool_with(2, torch_library.environment())


def dtypes(names: Any = (*RMA_TYPES, *OPAQUE)) -> list[Any]:
    """Return the dtypes that this torch has."""
    import torch

    return [getattr(torch, name) for name in names if hasattr(torch, name)]


def pattern(dtype: Any, *seed: int, shape: Any = N) -> Any:
    """Return a tensor of numbers that each dtype holds, which differ from seed to seed."""
    import torch

    numbers = np.random.default_rng(seed).integers(0, 5, shape)
    return torch.from_numpy(numbers).to(torch.float32).to(dtype)


def bits(tensor: Any) -> Any:
    """Return the elements as integers, as not all dtypes can be compared."""
    import torch

    widths = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}
    return tensor.contiguous().flatten().view(widths[tensor.element_size()])


def same(tensor: Any, wanted: Any) -> None:
    assert (tensor.shape, tensor.dtype) == (wanted.shape, wanted.dtype)
    assert bits(tensor).tolist() == bits(wanted).tolist()


def check_creation() -> None:
    import torch

    me = ishmem.my_pe()
    for dtype in dtypes():
        for shape in (5, (2, 3), [2, 1, 2], (), 0, (2, 0), torch.Size([3])):
            given = [
                (ishmem.torch.zeros(shape, dtype=dtype), 0), (ishmem.torch.ones(shape, dtype=dtype), 1),
                (ishmem.torch.full(shape, me % 2, dtype=dtype), me % 2), (ishmem.torch.empty(shape, dtype=dtype), None),
            ]  # fmt: skip
            given += [(ishmem.torch.zeros_like(given[0][0]), 0), (ishmem.torch.empty_like(given[0][0]), None)]
            for tensor, value in given:
                assert tensor.device.type == "cpu"
                assert ishmem.is_symmetric(tensor) and ishmem.is_symmetric(tensor[..., :1] if tensor.ndim else tensor)
                wanted = tensor if value is None else torch.full(given[0][0].shape, value).to(dtype)
                same(tensor, wanted)
                assert tuple(tensor.shape) == tuple([shape] if isinstance(shape, int) else shape)
            for tensor, _ in given:
                ishmem.torch.free(tensor)
    assert ishmem.torch.zeros(2).dtype == torch.get_default_dtype() == ishmem.torch.full(2, 0.5).dtype
    assert ishmem.torch.full(2, 3).dtype == torch.int64
    assert ishmem.torch.empty_like(torch.zeros(2), dtype=torch.int8).dtype == torch.int8


def check_refused_creation() -> None:
    import torch

    refused(TypeError, "the tensor has dtype complex32; allowed are bool", ishmem.torch.zeros, 2, dtype=torch.complex32)
    refused(ValueError, "shape is .*-1", ishmem.torch.zeros, -1)
    refused(ValueError, "device is meta; allowed are xpu and cpu", ishmem.torch.zeros, 2, device="meta")
    if not (hasattr(torch, "xpu") and torch.xpu.is_available()):
        refused(ValueError, "device is xpu, and this torch does not have", ishmem.torch.zeros, 2, device="xpu")
    refused((RuntimeError, OverflowError), "", ishmem.torch.full, 2, 1 << 80, dtype=torch.int8)
    assert ishmem.torch.zeros(2, device="cpu").tolist() == [0, 0]
    different = 2 + ishmem.my_pe() % 2
    if ishmem.n_pes() > 1:
        refused(ishmem.SymmetryError, "zeros", ishmem.torch.zeros, different)
        kinds = torch.bfloat16, torch.int16
        refused(ishmem.SymmetryError, "dtype bfloat16", ishmem.torch.zeros, 4, dtype=kinds[ishmem.my_pe() % 2])


def check_movement(dtype_name: str) -> None:
    import torch

    (dtype,), (me, _, right, left) = dtypes([dtype_name]), ring()
    for pe, writer in ((right, left), (me, me)):
        for put in (ishmem.put, ishmem.put_nbi):
            a, sent = ishmem.torch.zeros(N + 2, dtype=dtype), pattern(dtype, me, shape=N)
            put(a[1:-1], sent, pe)
            ishmem.barrier_all()
            same(a[1:-1], pattern(dtype, writer))
            same(a[:: N + 1], torch.zeros(2, dtype=dtype))
            ishmem.barrier_all()
            put(a, sent, pe, 2)
            ishmem.barrier_all()
            same(a[:2], pattern(dtype, writer)[:2])
        for get in (ishmem.get, ishmem.get_nbi):
            source, to = ishmem.torch.empty(N, dtype=dtype), torch.zeros(N, dtype=dtype)
            source.copy_(pattern(dtype, me))
            ishmem.barrier_all()
            get(to, source, pe)
            ishmem.quiet()
            same(to, pattern(dtype, pe))
            ishmem.barrier_all()


def check_views(dtype_name: str) -> None:
    """Parts and transposes of tensors."""
    import torch

    (dtype,), (me, _, right, left) = dtypes([dtype_name]), ring()
    table = ishmem.torch.zeros((4, 6), dtype=dtype)
    column = pattern(dtype, me, shape=4)
    ishmem.put(table[:, 2], column, right)
    ishmem.barrier_all()
    same(table[:, 2], pattern(dtype, left, shape=4))
    same(table[:, 1], torch.zeros(4, dtype=dtype))
    ishmem.barrier_all()
    ishmem.put(table.t(), pattern(dtype, me, shape=(4, 6)).t(), right)
    ishmem.barrier_all()
    same(table, pattern(dtype, left, shape=(4, 6)))
    got = torch.zeros((2, 3), dtype=dtype)
    ishmem.barrier_all()
    ishmem.get(got, table[1:3, 2:5], me)
    same(got, table[1:3, 2:5])
    ishmem.barrier_all()
    ishmem.iput(table, column, 6, 1, 4, right)
    ishmem.barrier_all()
    same(table[:, 0], pattern(dtype, left, shape=4))
    refused(TypeError, f"dest has dtype {dtype_name} and source has dtype", ishmem.put, table, other_like(table), right)


def other_like(tensor: Any) -> Any:
    import torch

    return torch.zeros(tensor.shape, dtype=torch.int32 if tensor.dtype is not torch.int32 else torch.float32)


def check_with_arrays() -> None:
    """Tensors beside arrays of dpnp and numpy, and what becomes an array of them."""
    import torch

    me, _, right, left = ring()
    a, t = ishmem.zeros(N, dtype="f4"), ishmem.torch.zeros(N)
    numbers = np.arange(N, dtype="f4")
    ishmem.put(a, torch.from_numpy(numbers + me), right)
    ishmem.put(t, dpnp.asarray(numbers + me), right)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == t.tolist() == (numbers + left).tolist()
    assert ishmem.host_view(t).ctypes.data == t.data_ptr()
    array = ishmem.from_dlpack(t)
    assert isinstance(array, dpnp.ndarray) and ishmem.is_symmetric(array)
    array[0] = 9
    dpnp.asnumpy(array)
    assert t[0] == 9
    assert ishmem.from_dlpack(torch.ones(2)).tolist() == [1, 1]
    assert ishmem.array(torch.ones(3)).asnumpy().tolist() == [1] * 3
    assert ishmem.zeros_like(t).shape == (N,)
    half = ishmem.torch.full(4, 1.5, dtype=torch.bfloat16)
    assert ishmem.host_view(half).dtype == np.int16 and ishmem.from_dlpack(half).dtype == np.int16
    assert ishmem.view(half, "u1").shape == (8,)
    assert int(ishmem.ptr(ishmem.torch.full(2, me, dtype=torch.int32), me)[0]) == me
    fixed = torch.from_numpy(ishmem.static("tensors", 4, "i8"))
    ishmem.put(fixed, torch.full((4,), me), right)
    ishmem.barrier_all()
    assert fixed.tolist() == [left] * 4


def check_elements() -> None:
    me, n, right, left = ring()
    for dtype in dtypes():
        a, value = ishmem.torch.zeros((2, 3), dtype=dtype), 2.0 if dtype.is_floating_point else True
        ishmem.p(a, value, right, (1, 2))
        ishmem.barrier_all()
        assert a[1, 2].item() == value == ishmem.g(a, right, 5)
        same(a.flatten()[3:5], pattern(dtype, shape=1).new_zeros(2))
        ishmem.barrier_all()
    import torch

    a = ishmem.torch.zeros(2, dtype=torch.bfloat16)
    refused(TypeError, "not of the kind of dtype bfloat16", ishmem.p, a, "1", right)
    refused(ValueError, "does not fit dtype bfloat16", ishmem.p, a, 1e39, right)
    ishmem.p(a, math.inf, me)
    ishmem.put(a, 1.0, me, 1)
    assert ishmem.g(a, me) == 1 and ishmem.g(a, me, 1) == 0


def check_atomics() -> None:
    import torch

    me, n, right, left = ring()
    for dtype in dtypes(ATOMICS["atomic_add"].types):
        a = ishmem.torch.full(3, 2, dtype=dtype)
        ishmem.atomic_add(a, 5, right, index=1)
        ishmem.barrier_all()
        assert a.tolist() == [2, 7, 2]
        ishmem.barrier_all()
        old = torch.zeros(1, dtype=dtype)
        assert ishmem.atomic_fetch_add(a, 1, right, index=1) == 7
        ishmem.barrier_all()
        ishmem.atomic_swap_nbi(old, a, 4, right, index=1)
        ishmem.quiet()
        assert old.item() == 8
        ishmem.barrier_all()
        assert a.tolist() == [2, 4, 2]
    counter = ishmem.torch.zeros(1, dtype=torch.int64)
    ishmem.atomic_inc(counter, 0)
    ishmem.atomic_max(counter, 1, 0)
    ishmem.barrier_all()
    assert counter.item() == (n if me == 0 else 0)
    half = ishmem.torch.zeros(2, dtype=torch.bfloat16)
    refused(TypeError, "dest has dtype bfloat16; allowed are int32", ishmem.atomic_add, half, 1, right)


def check_collectives(dtype_name: str) -> None:
    import torch

    (dtype,), (me, n, _, _) = dtypes([dtype_name]), ring()
    source = ishmem.torch.zeros(N, dtype=dtype)
    source.copy_(pattern(dtype, me))
    everyone = torch.stack([pattern(dtype, pe) for pe in range(n)])
    dest, gathered = ishmem.torch.zeros(N, dtype=dtype), ishmem.torch.zeros((n, N), dtype=dtype)
    ishmem.broadcast(dest, source, n - 1)
    same(dest, everyone[n - 1])
    for collective in (ishmem.fcollect, ishmem.collect):
        gathered.zero_()
        ishmem.barrier_all()
        collective(gathered, source)
        same(gathered, everyone)
    ishmem.alltoall(gathered, symmetric_copy(everyone))
    same(gathered, torch.stack([everyone[me]] * n))
    if dtype_name in REDUCED:
        ishmem.sum_reduce(dest, source)
        numbers = everyone.float() if dtype_name in HALVES else everyone
        same(dest, numbers.sum(dim=0).to(dtype))
    elif dtype_name in OPAQUE:
        words = f"sum_reduce: dest has dtype {dtype_name}; allowed .* but reductions and scans take bfloat16"
        refused(TypeError, words, ishmem.sum_reduce, dest, source)


def symmetric_copy(tensor: Any) -> Any:
    copy = ishmem.torch.empty_like(tensor)
    copy.copy_(tensor)
    return copy


def check_signals() -> None:
    import torch

    me, n, right, left = ring()
    data, signal = ishmem.torch.zeros(N, dtype=torch.bfloat16), ishmem.torch.zeros(2, dtype=torch.int64)
    ishmem.put_signal(data, pattern(torch.bfloat16, me), signal, 3, ishmem.SIGNAL_SET, right)
    assert ishmem.signal_wait_until(signal, ishmem.CMP_EQ, 3) == 3 == ishmem.signal_fetch(signal)
    same(data, pattern(torch.bfloat16, left))
    ishmem.atomic_set(signal, 5, right, index=1)
    ishmem.wait_until(signal, ishmem.CMP_EQ, 5, index=1)
    assert ishmem.test(signal, ishmem.CMP_EQ, 3) == 1
    ishmem.wait_until_all(signal, ishmem.CMP_GE, 3)
    found = torch.zeros(2, dtype=torch.int64)
    assert ishmem.wait_until_some(signal, found, ishmem.CMP_EQ, 5, torch.tensor([1, 0])) == 1 and found[0] == 1
    assert ishmem.wait_until_any_vector(signal, ishmem.CMP_EQ, torch.tensor([0, 5])) == 1
    lock = ishmem.torch.zeros(1, dtype=torch.int64)
    with ishmem.lock(lock):
        pass


def check_on_queue() -> None:
    import torch

    me, n, right, left = ring()
    a, got = ishmem.torch.zeros(N, dtype=torch.bfloat16), torch.zeros(N, dtype=torch.bfloat16)
    signal, seen = (ishmem.torch.zeros(1, dtype=torch.int64) for _ in range(2))
    ishmem.put_on_queue(a, pattern(torch.bfloat16, me), right).wait()
    ishmem.barrier_all()
    same(a, pattern(torch.bfloat16, left))
    ishmem.get_on_queue(got, a, right).wait()
    same(got, pattern(torch.bfloat16, me))
    ishmem.barrier_all()
    ishmem.put_signal_on_queue(a, got, signal, 1, ishmem.SIGNAL_SET, right).wait()
    ishmem.signal_wait_until_on_queue(signal, ishmem.CMP_EQ, 1, seen).wait()
    assert seen.item() == 1
    b, total = ishmem.torch.full(N, me + 1.0), ishmem.torch.zeros(N)
    ishmem.sum_reduce_on_queue(total, b).wait()
    assert total.tolist() == [n * (n + 1) / 2] * N
    ishmem.broadcast_on_queue(a, symmetric_copy(pattern(torch.bfloat16, me)), 0).wait()
    same(a, pattern(torch.bfloat16, 0))


def tensor_of(numbers: np.ndarray, dtype: str) -> Any:
    """Return a symmetric tensor of the elements that `as_bits` has made."""
    import torch

    return symmetric_copy(torch.from_numpy(numbers).view(getattr(torch, dtype)))


def check_communicator(dtype: str) -> None:
    import torch

    me, n, right, left = ring()
    with ishmem.inference.Communicator(1 << 16) as tp:
        parts = [values(pe, 40 * n, dtype) for pe in range(n)]
        x, gathered = tensor_of(parts[me], dtype), ishmem.torch.zeros(40 * n * n, dtype=getattr(torch, dtype))
        out, block = ishmem.torch.empty_like(x), ishmem.torch.zeros(40, dtype=x.dtype)
        tp.all_gather(x, gathered).wait()
        same(gathered, torch.cat([tensor_of(part, dtype) for part in parts]))
        tp.reduce_scatter(x, block).wait()
        tp.all_reduce(x, out).wait()
        tp.all_reduce(x).wait()
        wanted = tensor_of(as_bits(summed(parts, dtype), dtype), dtype)
        same(out, wanted)
        same(x, wanted)
        same(block, wanted[40 * me : 40 * me + 40])
        residual, weight = ishmem.torch.zeros((2, 20 * n), dtype=x.dtype), ishmem.torch.ones(20 * n, dtype=x.dtype)
        tp.all_reduce_add_rms_norm(x.view(2, 20 * n), residual, weight, out=out.view(2, 20 * n)).wait()
        rows = residual.float()
        norm = rows / (rows.pow(2).mean(dim=1, keepdim=True) + 1e-6).sqrt()
        np.testing.assert_allclose(out.view(2, 20 * n).float().numpy(), norm.numpy(), rtol=1e-2, atol=1e-2)
        if hasattr(torch, "float8_e5m2"):
            narrow = ishmem.torch.zeros(4, dtype=torch.float8_e5m2)
            refused(TypeError, "x has dtype float8_e5m2; allowed are float32, float16, bfloat16", tp.all_reduce, narrow)
        refused(TypeError, "x is in host memory", tp.all_reduce, torch.zeros(4))
        ishmem.barrier_all()


def check_moe(dtype: str) -> None:
    """A dispatch and a combine of tensors, beside the same with arrays."""
    import torch

    me, n, right, left = ring()
    topk_idx = ROUTES["random"](np.random.default_rng([me, n]), me, n).astype(np.int64)
    numbers = as_bits(np.random.default_rng(me).standard_normal((len(topk_idx), 16)), dtype)
    weights = np.full(topk_idx.shape, 0.5, np.float32)
    named = {"dtype": dtype} if dtype == "bfloat16" else {}
    with ishmem.moe.Buffer(len(topk_idx), 16, 2 * n, topk_idx.shape[1], dtype=dtype) as buffer:
        x, shares = tensor_of(numbers, dtype), tensor_of(weights, "float32")
        idx = symmetric_copy(torch.from_numpy(topk_idx))
        results = []
        for given in ((x, idx, shares), (dpnp.asarray(numbers), dpnp.asarray(topk_idx), dpnp.asarray(weights))):
            recv, counts, handle, event, _ = buffer.low_latency_dispatch(*given[:2])
            event.wait()
            out, event, _ = buffer.low_latency_combine(recv, given[1], given[2], handle, **named)
            event.wait()
            tokens, _, _, lengths, handle = buffer.dispatch(*given)
            to = ishmem.torch.empty_like(x) if given[0] is x else dpnp.asarray(numbers)
            y, event = buffer.combine(tokens, handle, *([] if given[0] is x else [to]), **named)
            event.wait()
            results.append((counts.asnumpy().tolist(), out.asnumpy().tolist(), lengths, y.asnumpy().tolist()))
        assert results[0] == results[1]
        if dtype == "bfloat16":
            y = ishmem.torch.empty_like(x)
            rows = ishmem.torch.zeros((2 * n * len(topk_idx), 16), dtype=x.dtype)[: handle.rows]
            combined, event = buffer.combine(rows, handle, y)
            event.wait()
            assert combined is y and not y.any()
        ishmem.barrier_all()


@dpex.kernel
def add_and_put(item: kapi.Item, dest, source, pe):
    i = item.get_id(0)
    source[i] += 1
    ishmem.put(dest[i : i + 1], source[i : i + 1], pe)


def check_kernels() -> None:
    import torch

    me, n, right, left = ring()
    for dtype in dtypes(["float32", "int64", "float64"]):
        dest, source = ishmem.torch.zeros((2, N), dtype=dtype), ishmem.torch.full((2, N), me, dtype=dtype)
        dpex.call_kernel(add_and_put, kapi.Range(N), dest[1], source[1], right)
        ishmem.barrier_all()
        assert dest.tolist() == [[0] * N, [left + 1] * N] and source.tolist() == [[me] * N, [me + 1] * N]
        ishmem.barrier_all()
        _, event = dpex.call_kernel_async(add_and_put, kapi.Range(N), [], dest[1], source[1], right)
        event.wait()
        ishmem.barrier_all()
        assert dest[1].tolist() == [left + 2] * N
        ishmem.barrier_all()
    half = ishmem.torch.zeros(N, dtype=torch.bfloat16)
    dpex.call_kernel(add_and_put, kapi.Range(N), half, half, me)
    assert half.view(torch.int16).tolist() == [1] * N
    error = dpex.errors.UnsupportedKernelArgumentError
    refused(error, "got Tensor", dpex.call_kernel, add_and_put, kapi.Range(1), dest, torch.zeros(N), me)


def check_peer() -> None:
    import torch

    me, n, right, left = ring()
    for dtype in dtypes(["bfloat16", "float32", "int8", *OPAQUE]):
        a = ishmem.torch.full((3, 4), me + 1, dtype=dtype)
        ishmem.barrier_all()
        theirs = ishmem.torch.peer(a[1:, ::2], right)
        same(theirs, torch.full((2, 2), right + 1).to(dtype))
        assert theirs.stride() == a[1:, ::2].stride() and ishmem.is_symmetric(theirs) == (right == me)
        ishmem.barrier_all()
        theirs[0, 0] = 4
        ishmem.barrier_all()
        assert a[1, 0].item() == 4
        same(a[1, 1:], torch.full((3,), me + 1).to(dtype))
    refused(ishmem.SymmetryError, "not on the symmetric heap", ishmem.torch.peer, torch.zeros(2), right)
    refused(TypeError, "tensor is a torch.Tensor, got ndarray", ishmem.torch.peer, np.zeros(2), right)
    refused(IndexError, "pe is 99", ishmem.torch.peer, a, 99)


def check_garbage() -> None:
    """The memory of a tensor that one PE, or each, has dropped stays allocated, at its place."""
    import torch

    me, n, right, left = ring()
    before = live()
    a = ishmem.torch.full(N, me, dtype=torch.bfloat16)
    address, part = a.data_ptr(), a[2:]
    if me == 0:
        del a
    gc.collect()
    assert live() == before + 1
    ishmem.put(part, pattern(torch.bfloat16, me)[2:], right)
    ishmem.barrier_all()
    same(part, pattern(torch.bfloat16, left)[2:])
    a = None
    del part
    gc.collect()
    assert live() == before + 1
    b = ishmem.torch.zeros(N)
    assert b.data_ptr() != address and live() == before + 2
    ishmem.torch.free(b)
    assert live() == before + 1
    ishmem.free_all()
    assert live() == 0


def check_free() -> None:
    import torch

    a = ishmem.torch.zeros((4, 4))
    kept = a[1]
    refused(ValueError, "free takes a whole allocation", ishmem.torch.free, kept)
    ishmem.free(a)
    refused(ishmem.SymmetryError, "not on the symmetric heap, or was freed", ishmem.put, kept, torch.zeros(4), 0)
    refused(ishmem.SymmetryError, "freed twice", ishmem.torch.free, a)
    refused(ishmem.SymmetryError, "not allocated on the symmetric heap", ishmem.torch.free, torch.zeros(3))
    ishmem.torch.free(None)


def check_refused_tensors() -> None:
    import torch

    a, me = ishmem.torch.zeros(2), ishmem.my_pe()
    refused(TypeError, "layout torch.sparse_coo", ishmem.put, a, torch.zeros(2).to_sparse(), me)
    nowhere = torch.zeros(2, device="meta")
    refused(TypeError, "on meta; allowed are strided ones on cpu and xpu", ishmem.put, a, nowhere, me)
    z = ishmem.torch.zeros(2, dtype=torch.complex64)
    refused(TypeError, "conjugate view of a tensor; tensor.resolve_conj", ishmem.put, z, z.conj(), me)
    refused(TypeError, "a tensor has dtype complex32", ishmem.put, z, torch.zeros(2, dtype=torch.complex32), me)
    ishmem.put(a, torch.ones(2, requires_grad=True), me)
    ishmem.put(a, torch.nn.Parameter(torch.ones(2)), me)
    assert a.tolist() == [1, 1]


@pytest.mark.slow_cases("fewer PEs", "3-check_creation")
@pytest.mark.slow_cases("the same on 3 PEs", "1-")
@pytest.mark.parametrize(
    "check",
    [
        check_creation, check_refused_creation, check_with_arrays, check_elements, check_atomics, check_signals,
        check_on_queue, check_peer, check_garbage, check_free, check_refused_tensors,
    ],
    ids=lambda check: check.__name__,
)  # fmt: skip
def test_calls_take_tensors(tensors: Pes, check: Any) -> None:
    tensors.run(check)


def has(dtype: str) -> bool:
    import torch

    return hasattr(torch, dtype)


@pytest.mark.parametrize("dtype", [*RMA_TYPES, *OPAQUE])
def test_tensors_of_each_dtype_move(two: Pes, dtype: str) -> None:
    if not all(two.run(has, dtype)):
        pytest.skip(f"this torch has no {dtype}")
    for check in (check_movement, check_views, check_collectives):
        two.run(check, dtype)


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("check", [check_communicator, check_moe], ids=lambda check: check.__name__)
def test_inference_takes_tensors(two: Pes, check: Any, dtype: str) -> None:
    two.run(check, dtype)


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="call_kernel of numba-dpex takes arrays of dpnp only")
def test_kernels_take_tensors(two: Pes) -> None:
    two.run(check_kernels)


def check_between_nodes() -> None:
    me, n, right, left = ring()
    a = ishmem.torch.full(3, me)
    assert ishmem.torch.peer(a, me).tolist() == [me] * 3 and ishmem.torch.peer(a, right) is None


@pytest.mark.slow("test_calls_take_tensors, on one node")
def test_tensors_move_between_nodes(pool_with) -> None:
    pool = pool_with(2, torch_library.environment(), [1, 1])
    for dtype in ("bfloat16", "float32"):
        for check in (check_movement, check_views, check_collectives):
            pool.run(check, dtype)
    pool.run(check_between_nodes)


def check_examples() -> None:
    import torch

    me, n, right, _ = ring()
    given = {"ishmem": ishmem, "torch": torch, "me": me, "n": n, "right": right}
    runner, parser = doctest.DocTestRunner(), doctest.DocTestParser()
    for name in ishmem.torch.__all__:
        said = io.StringIO()
        test = parser.get_doctest(getattr(ishmem.torch, name).__doc__, dict(given), name, None, None)
        assert test.examples and not runner.run(test, out=said.write).failed, said.getvalue()


def test_examples_in_docstrings_run(two: Pes) -> None:
    two.run(check_examples)


def test_the_package_does_not_import_torch() -> None:
    done = run_program("import sys, ishmem; ishmem.init(); ishmem.zeros(2); print('torch' in sys.modules)", 1)
    assert done.stdout.split()[-1] == "False", done.stderr


class _Stream:
    """What ishmem uses of a stream of torch: the address of its queue."""

    def __init__(self, queue: Any) -> None:
        self.queue, self.sycl_queue = queue, queue.addressof_ref()


@dpex.kernel
def late(item: kapi.Item, x, value):
    for i in range(30_000_000):
        if i % 1_000_000 == 0:
            x[0] += 1
    x[0] = value


def follow_a_stream() -> None:
    """Calls on tensors go to the queue of the current stream, after what it has and before what it gets."""
    import dpctl

    import ishmem.torch
    from ishmem.graph import Graph

    me, n = ishmem.my_pe(), ishmem.n_pes()
    x, y, got = ishmem.torch.zeros(1), ishmem.torch.zeros(1), ishmem.torch.zeros(1)
    heap = ishmem.from_dlpack(x).sycl_queue
    queue = dpctl.SyclQueue(heap.sycl_context, heap.sycl_device, property="in_order")
    before, ishmem.torch._current_stream = ishmem.torch._current_stream, lambda: _Stream(queue)
    try:
        with ishmem.inference.Communicator(1 << 10) as group:
            dpex.call_kernel_async(late, kapi.Range(1), (), x, float(me + 1))
            group.all_reduce(x, y)
            dpex.call_kernel_async(late, kapi.Range(1), (), x, 0.0)  # starts after the sum
            ishmem.put_on_queue(got, y, (me + 1) % n)  # on the current stream, too
            queue.wait()
            ishmem.barrier_all()
            assert x.item() == 0 and y.item() == got.item() == n * (n + 1) / 2
            event = dpex.call_kernel_async(late, kapi.Range(1), (), ishmem.from_dlpack(x).to_device(heap), 5.0)[1]
            ishmem.torch.current_stream_wait(event)
            group.all_reduce(x, y)
            ishmem.put(got, y, me)  # a call of the host waits for the stream
            assert got.item() == 5 * n
            graph = Graph()
            with graph.record(_Stream(queue)):
                group.all_reduce(x, y)
            x.fill_(7)
            graph.replay().wait()
            assert y.item() == 7 * n
    finally:
        ishmem.torch._current_stream = before


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="call_kernel_async of numba-dpex takes arrays of dpnp only")
def test_calls_follow_the_current_stream(two: Pes) -> None:
    two.run(follow_a_stream)
