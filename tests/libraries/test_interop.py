"""Symmetric arrays with numpy, dpctl, DLPack, mpi4py and numba: every row of the tables of docs/interop.md."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any, Callable

import numba
import numpy as np
import pytest
import torch_library
from common import dpex, dpnp, kapi, tensor
from subprocesses import run_program, succeeded

import ishmem

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
ROWS: dict[str, Callable[[], None]] = {}
N = 6


class Usm:
    """An array of a library that has ``__sycl_usm_array_interface__`` only."""

    def __init__(self, array: Any) -> None:
        self.__sycl_usm_array_interface__ = array.__sycl_usm_array_interface__


class Exporter:
    """An array of a library that has DLPack only."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def row(name: str, of_numba_dpex: bool = False) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a row of the table; one of numba-dpex is checked where that is installed."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        ROWS[name] = function if dpex.HAS_NUMBA_DPEX or not of_numba_dpex else lambda: None
        return function

    return add


def right() -> int:
    return (ishmem.my_pe() + 1) % ishmem.n_pes()


def left() -> int:
    return (ishmem.my_pe() - 1) % ishmem.n_pes()


def values(pe: int) -> np.ndarray:
    return np.arange(N, dtype="f8") + 10 * pe


def read(x: Any) -> np.ndarray:
    return tensor.asnumpy(x) if isinstance(x, tensor.usm_ndarray) else dpnp.asnumpy(x)


def sends_and_receives(make: Callable[[np.ndarray], Any]) -> None:
    """Put an array of a library to the right, and get the neighbour's into another one."""
    a = ishmem.zeros(N, dtype="f8")
    ishmem.put(a, make(values(ishmem.my_pe())), right())
    ishmem.barrier_all()
    assert (a.asnumpy() == values(left())).all()
    x = make(np.zeros(N))
    ishmem.get(x, a, right())
    assert (read(x) == values(ishmem.my_pe())).all()


def refused(error: type[BaseException], words: str, function: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(error, match=re.escape(words)):
        function(*arguments)


@row("numpy array as `x` in `put`, `get` and other host calls")
def numpy_arrays() -> None:
    sends_and_receives(np.array)


@row("dpnp array as `x`")
def dpnp_arrays() -> None:
    sends_and_receives(dpnp.asarray)


@dpex.kernel
def copy_to(item: kapi.Item, dest, source, pe):
    ishmem.put(dest, source, pe)


@row("`usm_ndarray` as `x`")
def usm_arrays() -> None:
    sends_and_receives(tensor.asarray)
    a = ishmem.zeros(N, dtype="f8")
    assert ishmem.is_symmetric(a.get_array())
    source = tensor.asarray(values(ishmem.my_pe()))
    dpex.call_kernel(copy_to, kapi.Range(1), a.get_array(), source, right())
    ishmem.barrier_all()
    assert (a.asnumpy() == values(left())).all()


@row("object with `__sycl_usm_array_interface__` only")
def usm_interface() -> None:
    a, x = ishmem.zeros(N, dtype="f8"), Usm(dpnp.ones(N, dtype="f8"))
    advice = f"{tensor.__name__}.asarray(source)"
    refused(TypeError, f"source is a dpnp or numpy array, got Usm; {advice}", ishmem.put, a, x, 0)
    ishmem.put(a, tensor.asarray(x), ishmem.my_pe())
    assert (a.asnumpy() == 1).all()
    assert ishmem.is_symmetric(tensor.asarray(Usm(a)))


@row("`from_dlpack(a)` of dpnp and of the module of `usm_ndarray`")
def export_by_dlpack() -> None:
    a = ishmem.array(values(0))
    for view in (dpnp.from_dlpack(a), tensor.from_dlpack(a[1:]), dpnp.from_dlpack(Exporter(a))):
        assert ishmem.is_symmetric(view)
        view[-1] = 7.0
        assert a.asnumpy()[-1] == 7
        a[-1] = 0


@row("`ishmem.from_dlpack(x)` of an array on a SYCL device")
def import_from_device() -> None:
    x = tensor.asarray(values(ishmem.my_pe()))
    sends_and_receives(lambda array: ishmem.from_dlpack(Exporter(dpnp.asarray(array))))
    y = ishmem.from_dlpack(Exporter(x))
    assert isinstance(y, dpnp.ndarray)
    assert not ishmem.is_symmetric(y)
    y[0] = -1.0
    assert read(x)[0] == -1
    assert ishmem.is_symmetric(ishmem.from_dlpack(ishmem.zeros(1)))


@row("`ishmem.from_dlpack(x)` of an array in host memory")
def import_from_host() -> None:
    x = values(ishmem.my_pe())
    sends_and_receives(lambda array: ishmem.from_dlpack(Exporter(array)))
    y = ishmem.from_dlpack(Exporter(x.reshape(2, 3)[::-1, 1:]))
    y[0, 0] = -1
    assert x[4] == -1
    assert ishmem.from_dlpack(x) is x
    assert ishmem.from_dlpack(Exporter(np.zeros((0, 3)))).shape == (0, 3)
    refused(TypeError, "x is an array with __dlpack__ and __dlpack_device__, got list", ishmem.from_dlpack, [1])


@row("DLPack object as `x` without that")
def dlpack_objects() -> None:
    a, x = ishmem.zeros(N, dtype="f8"), Exporter(values(0))
    refused(TypeError, "got Exporter; ishmem.from_dlpack(source) is an array on its memory", ishmem.put, a, x, 0)


@row("`ishmem.host_view(a)`")
def host_views() -> None:
    a = ishmem.array(np.arange(12, dtype="i4").reshape(3, 4))
    for part in (lambda a: a, lambda a: a[1:, 1:3], lambda a: a.T[::-1], lambda a: a[0, 0], lambda a: a[:0]):
        view = ishmem.host_view(part(a))
        assert (view.shape, view.dtype) == (part(a).shape, np.dtype("i4"))
        assert (view == part(a.asnumpy())).all()
    ishmem.host_view(a)[1, 2] = 99
    assert int(a[1, 2]) == 99
    ishmem.barrier_all()
    ishmem.host_view(a, right())[0, 0] = ishmem.my_pe()
    ishmem.barrier_all()
    assert int(a[0, 0]) == left()
    memory, fixed = ishmem.calloc(4, 2), ishmem.static("interop", 3, "i8")
    assert (ishmem.host_view(memory) == np.zeros(8, "u1")).all()
    assert ishmem.host_view(fixed[1:]).ctypes.data == fixed[1:].ctypes.data
    refused(ishmem.SymmetryError, "is not on the symmetric heap", ishmem.host_view, dpnp.zeros(3))
    refused(TypeError, "a is a dpnp or numpy array, got list", ishmem.host_view, [1])
    refused(IndexError, "pe is 99", ishmem.host_view, a, 99)


@row("`np.from_dlpack(a)`")
def numpy_takes_no_device_memory() -> None:
    a = ishmem.zeros(N)
    refused((RuntimeError, BufferError), "Unsupported device", np.from_dlpack, a)
    assert np.from_dlpack(ishmem.host_view(a)).shape == (N,)


@row("`np.asarray(a)`, numpy functions of `a`")
def numpy_conversion() -> None:
    a = ishmem.array(values(1))
    if not dpex.HAS_NUMBA_DPEX:
        for function in (np.asarray, np.sort):
            refused(TypeError, "Please use `.asnumpy()`", function, a)
        return
    for got in (np.asarray(a), np.array(a), np.asarray(a, dtype="f8"), a.asnumpy()):
        assert got.dtype == np.float64
        assert (got == values(1)).all()
    assert np.asarray(a, dtype="i4").dtype == np.int32
    np.testing.assert_array_equal(np.add(a, 1), values(1) + 1)
    assert isinstance(np.sum(a), dpnp.ndarray)


@row("numpy array on the left of an operator, `np.ones(3) * a`")
def numpy_on_the_left() -> None:
    a = ishmem.array(values(1))
    if not dpex.HAS_NUMBA_DPEX:
        refused(TypeError, "numpy.ndarray", lambda: np.ones(N) * a)
        assert isinstance(np.float64(1) * a, dpnp.ndarray)
        return
    for got in (np.ones(N) * a, np.float64(1) * a):
        assert isinstance(got, np.ndarray)
        assert got.dtype == np.float64
        assert (got == values(1)).all()


@row("numpy array on the right, `a * np.ones(3)`")
def numpy_on_the_right() -> None:
    a = ishmem.zeros(N)
    refused(TypeError, "ndarray", lambda: a * np.ones(N))


@row("mpi4py with `ishmem.host_view(a)`")
def mpi() -> None:
    from mpi4py import MPI

    a, b = ishmem.array(values(2)), ishmem.zeros(N, dtype="f8")
    MPI.COMM_SELF.Sendrecv(ishmem.host_view(a), 0, recvbuf=ishmem.host_view(b), source=0)
    assert (b.asnumpy() == values(2)).all()


@row("`dpjit` around `call_kernel` of a kernel that calls ishmem", of_numba_dpex=True)
def launches_in_dpjit() -> None:
    @dpex.dpjit
    def launch(dest, source, pe):
        dpex.call_kernel(copy_to, kapi.Range(1), dest, source, pe)

    a = ishmem.zeros(N, dtype="f8")
    for turn in range(2):
        launch(a, dpnp.asarray(values(ishmem.my_pe() + turn)), right())
        ishmem.barrier_all()
        assert (a.asnumpy() == values(left() + turn)).all()
        ishmem.barrier_all()


@row("`prange` over symmetric arrays", of_numba_dpex=True)
def prange() -> None:
    @dpex.dpjit
    def fill(a):
        for i in dpex.prange(a.size):
            a[i] = i

    a = ishmem.zeros(N, dtype="f8")
    fill(a)
    assert (a.asnumpy() == values(0)).all()


def put_in_loop(a):
    for i in numba.prange(a.size):
        ishmem.p(a, i, 0, i)


def put_in_function(a):
    ishmem.put(a, a, 0)


@row("ishmem called in `dpjit`, `prange` or `njit`")
def calls_in_compiled_host_code() -> None:
    words = "is called from Python or in a kernel, not in code that numba compiles for the host"
    a = ishmem.zeros(N, dtype="f8")
    refused(numba.core.errors.TypingError, words, numba.njit(put_in_function), np.zeros(N))
    if dpex.HAS_NUMBA_DPEX:
        for function in (put_in_loop, put_in_function):
            refused(numba.core.errors.TypingError, words, dpex.dpjit(function), a)


@row("`pickle`, `copy.deepcopy`")
def pickles() -> None:
    a = ishmem.zeros(N)
    refused(TypeError, "", pickle.dumps, a)
    refused(TypeError, "", copy.deepcopy, a)
    assert (pickle.loads(pickle.dumps(a.asnumpy())) == 0).all()


def check_rows() -> None:
    for name, check in ROWS.items():
        try:
            check()
        except BaseException as error:
            raise AssertionError(f"row {name}") from error
        ishmem.barrier_all()


def check_results() -> None:
    """Where the results of operations live."""
    a = ishmem.array(values(0).reshape(2, 3))
    contiguous = dpnp.ascontiguousarray(a)
    views = [a[1:], a[:, ::2], a.reshape(3, 2), a.ravel(), a.squeeze(), a.T, a.real, dpnp.asarray(a), contiguous]
    assert [ishmem.is_symmetric(x) for x in views] == [True] * 9
    b, first = ishmem.zeros_like(a), a
    b[...] = a
    a += 1
    dpnp.add(a, b, out=b)
    assert a is first
    assert ishmem.is_symmetric(a)
    assert (b.asnumpy() == 2 * values(0).reshape(2, 3) + 1).all()
    index = dpnp.array([0, 1])
    private = [
        a + 1, dpnp.sqrt(a), a.copy(), a.astype("f4"), a.flatten(), a.ravel().take(index), a[index],
        dpnp.concatenate([a, a]), dpnp.zeros_like(a), dpnp.array(a),
    ]  # fmt: skip
    assert [ishmem.is_symmetric(x) for x in private] == [False] * 10
    refused(ishmem.SymmetryError, "is not on the symmetric heap", ishmem.put, a + 1, a, 0)
    assert ishmem.is_symmetric(ishmem.array(a + 1))


def check_torch() -> None:
    """Tensors of torch on CPU, in both directions."""
    import torch

    for dtype in ("f4", "f8", "i2", "i4", "i8", "u1", "c8", "c16"):
        sent, expected = (torch.from_numpy(values(pe).astype(dtype)) for pe in (ishmem.my_pe(), left()))
        a, received = ishmem.zeros(N, dtype=dtype), torch.zeros_like(sent)
        ishmem.put(a, ishmem.from_dlpack(sent), right())
        ishmem.barrier_all()
        for view in (torch.from_numpy(ishmem.host_view(a)), torch.from_dlpack(ishmem.host_view(a))):
            assert view.dtype == sent.dtype
            assert torch.equal(view, expected)
        ishmem.get(ishmem.from_dlpack(received), a, right())
        assert torch.equal(received, sent)
        ishmem.barrier_all()
        view[1:3] = sent[3:5]
        assert (a.asnumpy()[1:3] == values(ishmem.my_pe())[3:5].astype(dtype)).all()
    table = torch.arange(6).reshape(2, 3).T
    assert ishmem.from_dlpack(table).tolist() == table.tolist()
    refused(TypeError, "got Tensor; calls take tensors once ishmem.torch is imported", ishmem.put, a, sent, 0)


def test_every_row_of_the_table(pool_with) -> None:
    """On PEs of this file's own: mpi4py initialises MPI in them."""
    pool_with(2).run(check_rows)
    pool_with(2).run(check_results)


def test_the_page_has_these_rows() -> None:
    table = PAGE.read_text().partition("## torch")[0]
    assert re.findall(r"^\| (.*?) \| .* \|$", table, re.M)[1:] == list(ROWS)


@pytest.mark.slow("test_torch.py")
def test_tensors_by_dlpack_and_host_views(pool_with) -> None:
    """With torch of this Python, or the one that ``.ci/torch`` fetches, which is for numpy 1; its PEs have no MPI."""
    pool_with(2, torch_library.environment()).run(check_torch)


HELD = """
import ishmem
with ishmem.init():
    view = ishmem.host_view(ishmem.zeros(4))
    ishmem.free_all()
view[:] = 3
assert view.sum() == 12
"""


def test_a_view_outlives_the_job() -> None:
    succeeded(run_program(HELD, 1))
