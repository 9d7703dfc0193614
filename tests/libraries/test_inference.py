"""``ishmem.inference``: sums in float32 in the order of the PEs, rounded once, against numpy."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi, refused
from halves import as_bits, as_numbers, named
from subprocesses import program, run_program, succeeded

import ishmem
from ishmem import inference
from ishmem.common.inference import ONE_SHOT_BYTES, PIECE
from ishmem.inference import Communicator

DTYPES = ("float32", "float16", "bfloat16")
SIZES = (0, 1, 2, 7, 256, 1025, 5001, ONE_SHOT_BYTES // 2 + 777)
GUARD = 3
ROW = 96


def values(pe, n, dtype, seed=0):
    """Return the elements of a PE, of several magnitudes, so that sums are rounded."""
    generator = np.random.default_rng([pe, n, seed])
    return as_bits(generator.standard_normal(n) * 10.0 ** generator.integers(-3, 4, n), dtype)


def summed(parts, dtype):
    """Return the sum of arrays in their order, in float32, as float32."""
    total = as_numbers(parts[0], dtype)
    for part in parts[1:]:
        total = total + as_numbers(part, dtype)
    return total


@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes")
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="its dpnp orders nothing after other kernels")
@pytest.mark.ishmem([2, 3])
def test_calls_keep_the_order_of_dpnp() -> None:
    """Operations of dpnp see the result of the call before them, though a PE calls late, and do not disturb it."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Communicator(4096) as tp:
        for late in range(n):
            x = dpnp.full(1000, me, dtype="f4") + 1
            if me == late:
                time.sleep(0.3)
            tp.all_reduce(x)
            doubled = 2 * x
            x[...] = 0
            assert (doubled.asnumpy() == n * (n + 1)).all()
            assert not x.asnumpy().any()


def guarded(array):
    """Return a private device array with guard elements around it, and the view between them."""
    around = np.full(array.size + 2 * GUARD, 77, array.dtype)
    around[GUARD : GUARD + array.size] = array.ravel()
    whole = dpnp.asarray(around)
    return whole, whole[GUARD : GUARD + array.size]


def assert_guarded(whole, wanted):
    found = whole.asnumpy()
    assert (found[:GUARD] == 77).all() and (found[found.size - GUARD :] == 77).all()
    np.testing.assert_array_equal(found[GUARD : found.size - GUARD], wanted)


def check_all_reduce(dtype, sizes, **cutover):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Communicator(4 * max(sizes), **cutover) as tp:
        for size in sizes:
            wanted = as_bits(summed([values(pe, size, dtype) for pe in range(n)], dtype), dtype)
            source, x = guarded(values(me, size, dtype))
            dest, out = guarded(np.zeros(size, x.dtype))
            tp.all_reduce(x, out, **named(dtype)).wait()
            assert_guarded(dest, wanted)
            assert_guarded(source, values(me, size, dtype))
            tp.all_reduce(x, **named(dtype)).wait()
            assert_guarded(source, wanted)


@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes-float16", "4pes-float16")
@pytest.mark.slow_types
@pytest.mark.one_type("float16")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_shot_all_reduce(dtype) -> None:
    check_all_reduce(dtype, SIZES)


@pytest.mark.slow_types
@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_shot_all_reduce(dtype) -> None:
    """Whole chunks and a part of one, in which some PEs have no piece."""
    chunk = ishmem.n_pes() * PIECE * (1 if dtype == "float32" else 2)
    check_all_reduce(dtype, (chunk, chunk + 1, 2 * chunk + 777), one_shot_nbytes=0)


@pytest.mark.ishmem(2)
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_reduce_of_special_values(dtype) -> None:
    me = ishmem.my_pe()
    special = as_bits([np.nan, np.inf, -np.inf, -0.0, 65504, 1e-7, 3.4e38], dtype)
    with Communicator(64) as tp:
        x = dpnp.asarray(special if me == 0 else as_bits(np.zeros(7), dtype))
        tp.all_reduce(x, **named(dtype)).wait()
        with np.errstate(over="ignore"):
            wanted = as_numbers(special, dtype) + np.float32(0) * (ishmem.n_pes() > 1)
        np.testing.assert_array_equal(as_numbers(x.asnumpy(), dtype), wanted)


@pytest.mark.ishmem([2, 3])
@pytest.mark.one_node
def test_calls_of_late_pes_follow_each_other() -> None:
    """Calls of many sizes without a wait of the host, by PEs that fall behind at random."""
    seed = 5
    me, n = ishmem.my_pe(), ishmem.n_pes()
    sizes = np.random.default_rng(seed).integers(1, 4000, 20)
    late = np.random.default_rng([seed, me])
    with Communicator(1 << 14) as tp:
        arrays = [dpnp.asarray(values(me, int(size), "float32", turn)) for turn, size in enumerate(sizes)]
        for x in arrays:
            if late.random() < 0.2:
                time.sleep(late.random() / 50)
            event = tp.all_reduce(x)
        event.wait()
        for turn, (x, size) in enumerate(zip(arrays, sizes)):
            wanted = summed([values(pe, int(size), "float32", turn) for pe in range(n)], "float32")
            np.testing.assert_array_equal(x.asnumpy(), wanted)


@pytest.mark.slow_cases("2 PEs", "1pes-float16")
@pytest.mark.slow_cases("the same on 1 PE, and others on 2", "3pes-float16")
@pytest.mark.slow_types
@pytest.mark.one_type("float16")
@pytest.mark.ishmem
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_scatter(dtype) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Communicator(4 * 3001 * n) as tp:
        for size in (1, 5, 3001):
            parts = [values(pe, size, dtype) for pe in range(n)]
            dest, out = guarded(np.zeros(size * n, parts[0].dtype))
            tp.all_gather(dpnp.asarray(parts[me]), out, **named(dtype)).wait()
            assert_guarded(dest, np.concatenate(parts))
            wanted = summed([values(pe, size * n, dtype) for pe in range(n)], dtype)[me * size : (me + 1) * size]
            dest, out = guarded(np.zeros(size, parts[0].dtype))
            tp.reduce_scatter(dpnp.asarray(values(me, size * n, dtype)), out, **named(dtype)).wait()
            assert_guarded(dest, as_bits(wanted, dtype))


@pytest.mark.slow_cases("2 PEs", "1pes-bfloat16", "3pes-bfloat16")
@pytest.mark.slow_types
@pytest.mark.one_type("bfloat16")
@pytest.mark.ishmem
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_reduce_with_rms_norm(dtype) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Communicator(1 << 16) as tp:
        for rows in (1, 5, 70):
            before, weight = values(n, rows * ROW, dtype), values(n + 1, ROW, dtype)
            total = summed([values(pe, rows * ROW, dtype) for pe in range(n)], dtype)
            rest = as_bits(total + as_numbers(before, dtype), dtype)
            rounded = as_numbers(rest, dtype).reshape(rows, ROW).astype(np.float64)
            scale = 1 / np.sqrt((rounded**2).mean(axis=1, keepdims=True) + 1e-5)
            wanted = rounded * scale * as_numbers(weight, dtype)
            x = dpnp.asarray(values(me, rows * ROW, dtype).reshape(rows, ROW))
            residual, out = dpnp.asarray(before.reshape(rows, ROW)), dpnp.zeros_like(x)
            tp.all_reduce_add_rms_norm(x, residual, dpnp.asarray(weight), 1e-5, out, **named(dtype)).wait()
            np.testing.assert_array_equal(residual.asnumpy(), rest.reshape(rows, ROW))
            limit = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
            found = as_numbers(out.asnumpy(), dtype)
            np.testing.assert_allclose(found, wanted, rtol=limit, atol=1e-6 if dtype != "float16" else 1e-7)


@dpex.kernel
def reduce_in_kernel(item: kapi.NdItem, dest, source, workspace):  # type: ignore
    inference.all_reduce_work_group(dest, source, workspace, item.get_group())


def check_in_kernels(dtype, sizes, groups, **cutover):
    """A kernel of the program's own, in turn with calls of the host."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Communicator(4 * max(sizes), **cutover) as tp:
        event = None
        for size in sizes:
            wanted = as_bits(summed([values(pe, size, dtype) for pe in range(n)], dtype), dtype)
            x, (dest, out) = dpnp.asarray(values(me, size, dtype)), guarded(np.zeros_like(wanted))
            shape, before = dpex.NdRange((groups * 32,), (32,)), () if event is None else (event,)
            _, event = dpex.call_kernel_async(reduce_in_kernel, shape, before, out, x, tp.workspace)
            event.wait()
            assert_guarded(dest, wanted)
            event = tp.all_reduce(x, depends=event, **named(dtype))
            event.wait()
            np.testing.assert_array_equal(x.asnumpy(), wanted)


@pytest.mark.slow_types
@pytest.mark.ishmem(2)
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_reduce_in_kernels(dtype) -> None:
    if dtype == "float16" and dpex.HAS_NUMBA_DPEX:
        pytest.skip("kernels of numba-dpex have no arrays of float16")
    check_in_kernels(dtype, (1, 0, 5001), 3)
    if dtype == "float32":
        check_in_kernels(dtype, (5 * ishmem.n_pes() * PIECE + 9,), 3, one_shot_nbytes=0)


@pytest.mark.ishmem(2)
@pytest.mark.one_node
def test_wrong_sizes_in_kernels_raise() -> None:
    """A call in a kernel with wrong sizes moves nothing, and the next barrier raises."""
    with Communicator(64) as tp:
        x, short, long = (dpnp.zeros(n, dtype="f4") for n in (16, 15, 70000))
        unequal = short, x, ValueError, "dest has 15 elements and source has 16"
        wrong = (unequal, (long, long, IndexError, "in the array of"))
        for dest, source, kind, words in wrong:
            dpex.call_kernel(reduce_in_kernel, dpex.NdRange((32,), (32,)), dest, source, tp.workspace)
            refused(kind, f"all_reduce_work_group in a kernel on PE .*{words}", ishmem.barrier_all)


@pytest.mark.ishmem
@pytest.mark.one_node
def test_calls_on_queues() -> None:
    """Arrays of an in-order queue of the program's own, and symmetric ones, in turn."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    symmetric = ishmem.full(10, me, dtype="f4")
    queue = type(symmetric.sycl_queue)(symmetric.sycl_context, symmetric.sycl_device, property="in_order")
    private = dpnp.full(10, me, dtype="f4", sycl_queue=queue)
    with Communicator(40) as tp:
        for _ in range(3):
            tp.all_reduce(private)
            event = tp.all_reduce(symmetric)
        event.wait()
    total = n * (n - 1) // 2
    assert (private.asnumpy() == total * n**2).all() and (symmetric.asnumpy() == total * n**2).all()
    ishmem.free(symmetric)


@pytest.mark.ishmem(4)
@pytest.mark.one_node
def test_calls_of_teams() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    row, team = ishmem.TEAM_WORLD.split_2d(2)
    with Communicator(64, team) as tp:
        x = dpnp.full(9, me, dtype="f4")
        tp.all_reduce(x).wait()
        assert (x.asnumpy() == sum(range(me % 2, n, 2))).all()
    row.destroy()
    team.destroy()


@pytest.mark.ishmem(2)
@pytest.mark.one_node
def test_wrong_arguments_are_refused() -> None:
    tp = Communicator(64)
    x, ints, half = dpnp.zeros(16, dtype="f4"), dpnp.zeros(16, dtype="i2"), dpnp.zeros((2, 5), dtype="f2")
    for kind, words, call, *arguments in (
        (ValueError, "nbytes is 0; allowed are positive sizes", Communicator, 0),
        (TypeError, "nbytes is an integer, got float", Communicator, 1.5),
        (TypeError, r"Communicator.*int16", tp.all_reduce, ints),
        (TypeError, "dtype is 'int8'; allowed are float32, float16", lambda: tp.all_reduce(ints, dtype="int8")),
        (TypeError, "x is in host memory; it must be a dpnp array", tp.all_reduce, np.zeros(4, "f4")),
        (ValueError, "x has 68 bytes; this communicator takes 64", tp.all_reduce, dpnp.zeros(17, dtype="f4")),
        (ValueError, "x is not C-contiguous", tp.all_reduce, x[::2]),
        (ValueError, "out has 15 elements; it needs 16", tp.all_reduce, x, dpnp.zeros(15, dtype="f4")),
        (TypeError, "out has dtype float16 and x has dtype float32", tp.all_reduce, x, dpnp.zeros(16, dtype="f2")),
        (ValueError, "out has 16 elements; it needs 32", tp.all_gather, x, x),
        (ValueError, "x has 16 elements; it needs 30", tp.reduce_scatter, x, x[:15]),
        (ValueError, "a row of x has 5 elements, 10 bytes; allowed are multiples of 4",
         tp.all_reduce_add_rms_norm, half, dpnp.zeros_like(half), half[0]),
    ):  # fmt: skip
        refused(kind, words, call, *arguments)
    me = ishmem.my_pe()
    kind = ishmem.SymmetryError if me else ValueError
    refused(kind, "nbytes is 0; allowed are positive sizes", Communicator, 64 if me else 0)
    with pytest.raises(ishmem.SymmetryError, match="Communicator: the PEs disagree"):
        Communicator(1 << 20, one_shot_nbytes=(1 << 18) * me)
    tp.free()
    for call, *arguments in ((tp.all_reduce, x), (tp.free,)):
        refused(ishmem.StateError, "the communicator was freed", call, *arguments)


@pytest.mark.slow("test_values.py, test_runtime_checks.py")
@CHECKING
def test_checks_find_nothing_wrong() -> None:
    check_all_reduce("float32", (1, 7, 1025))
    test_gather_and_scatter("bfloat16")
    test_all_reduce_with_rms_norm("float16")
    check_in_kernels("float32", (1, 5001), 3)


@pytest.mark.slow("tests/libraries/test_moe.py")
@CHECKING
def test_calls_that_differ_raise_on_all_pes() -> None:
    """Calls that differ end with an error on all PEs, and leave the arrays; the next call is right."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Communicator(1 << 16) as tp:
        x, odd = dpnp.full(5000 + me, me, dtype="f4"), dpnp.full(64, me, dtype="f4" if me else "f2")
        gather = "all_gather of 9 elements of dtype float32"
        different = (
            (lambda: tp.all_reduce(x), "all_reduce of 5000 elements", "all_reduce of 5001 elements"),
            (lambda: tp.all_reduce(odd), "of 64 elements of dtype float16", "of 64 elements of dtype float32"),
            (lambda: tp.all_gather(x[:9], x[9:27]) if me else tp.all_reduce(x[:9]), "all_reduce of 9", gather),
        )
        for call, first, second in different:
            call().wait()
            words = f"(?=.*PE 0: Communicator[^;]*{first}).*PE 1: Communicator[^;]*{second}"
            refused(ishmem.SymmetryError, words, ishmem.quiet)
            ishmem.sync_all()
        assert (x.asnumpy() == me).all()
        x = x[:9]
        tp.all_reduce(x).wait()
        assert (x.asnumpy() == n * (n - 1) // 2).all()


@pytest.mark.slow("the same with other settings")
def test_peers_without_atomics(pool_with):
    """Cards on PCIe: loads and stores reach peers, atomics do not."""
    pool = pool_with(2, {"ISHMEM_SIM_PEERS": "access", "ISHMEM_SIM_HOST_ATOMICS": "0"})
    pool.run(check_all_reduce, "float16", (1, 7, 1025))
    pool.run(test_gather_and_scatter, "float32")


def no_communicator():
    refused(ValueError, r"loads and stores do not reach PE \d of the team", Communicator, 64)


def test_a_pe_of_another_node_is_refused(pool_with):
    pool_with(2, nodes=[1, 1]).run(no_communicator)


@pytest.mark.slow("test_gather_and_scatter; counts calls")
def test_a_call_submits_one_kernel():
    """Also of experts: a call submits one kernel, no copy, no barrier, and allocates nothing."""
    traced = {"ISHMEM_DEVICE": "sim", "ISHMEM_SIM_TRACE": "2"}
    done = succeeded(run_program(program("calls_of_inference"), 1, env=traced, forked=False))
    parts = (done.stdout + done.stderr).split("<begin>")[1:]
    assert len(parts) == 6
    for part in parts:
        calls = re.findall(r"\] (ze[A-Z]\w+)", part.partition("<end>")[0])
        submitted = [call for call in calls if re.search("Append|Execute|MemAlloc", call)]
        assert submitted == ["zeCommandListAppendLaunchKernel"], calls
