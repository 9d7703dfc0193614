"""What ``ishmem.dpex`` says of kernels that do not compile or build, and of wrong launches."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launching import own_compiler, run
from test_unsupported import said_of

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.dpex.compile import worker
from ishmem.dpex.launch.kinds import ArrayKind, ItemKind

pytestmark = own_compiler

ARRAY = ArrayKind(is_dpnp=True, dtype="float64", ndim=1, layout="C", writable=True)


PRIVATE = "private = kapi.PrivateArray({}, np.float64, fill_zeros=True)\n"
# The body of a kernel of an item with groups, and the arrays `test_unsupported.ARRAYS`; what the line of the cause has.
OF_GROUPS = [
    ("a[0] = item.get_globl_id(0)", "item.get_globl_id(0)", "NdItem has no get_globl_id; did you mean get_global_id?"),
    ("kapi.group_barier(item.get_group())", "kapi.group_barier", "has no group_barier; did you mean group_barrier?"),
    ("kapi.group_barrier(item)", "kapi.group_barrier(item)", "group_barrier takes item.get_group(), got"),
]
OF_ITEMS = [
    ("a[0] = item.get_group().get_local_range(0)", "item.get_group()",
     "Item has no get_group: launch the kernel with an NdRange"),
    ("a[0] = item.get_global_id(0)", "item.get_global_id(0)", "Item has no get_global_id; its method is get_id"),
    # numba would try the call again without the constant's value, and take it
    ("a[0] = item.get_id(2)", "item.get_id(2)", "get_id(2): this index space has the dimensions 0 to 0"),
    ("kapi.AtomicRef(a, 0, memory_order=17).store(1.0)", "memory_order=17",
     "memory_order: got 17, allowed members of MemoryOrder: RELAXED (0)"),
    ("a[0] = undefined", "a[0] = undefined", "name 'undefined' is not defined"),
    ("a[0] = [1, 2][item.get_id(0)]", "[1, 2]", "kernels have no lists"),
    (PRIVATE.format(8) + "a[0] = private[8]", "private[8]",
     "index 8 is out of bounds for axis 0 of an array of shape (8,)"),
    (PRIVATE.format("(8, 2)") + "private[1, -3] = 1.0", "private[1, -3]",
     "index -3 is out of bounds for axis 1 of an array of shape (8, 2"),
    (PRIVATE.format(8) + "a[0] = private.reshape(3, 5)[1, 1]", "private.reshape(3, 5)",
     "reshape: an array of shape (8,) has no shape (3, 5)"),
    ("square = a.reshape(2, -1)\nsquare[:] = square.T", "square[:] = square.T",
     "no array can be assigned its own transpose in a kernel"),
    ("a[0] = a.reshape(-1, 2, -1)[0, 0, 0]", "a.reshape(-1, 2, -1)", "reshape: one extent may be -1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "source", "cause", "has_groups"),
    [(*each, has_groups) for has_groups, rows in ((True, OF_GROUPS), (False, OF_ITEMS)) for each in rows],
)
def test_line_and_cause(body: str, source: str, cause: str, has_groups: bool, tmp_path: Path) -> None:
    lines = said_of(body, tmp_path, has_groups)
    assert lines[0] == "the kernel body does not compile:"
    assert str(tmp_path) in lines[1]
    assert source in lines[2]
    assert cause in lines[3]


def unknown_name(item: kapi.Item, a):
    a[0] = undefined  # noqa: F821


def test_a_kernel_compiles_once_the_name_exists() -> None:
    kinds = ItemKind(1, False), ARRAY
    with pytest.raises(Exception, match="does not compile"):
        dpex.kernel(unknown_name).code_for(kinds)
    globals()["undefined"] = 3
    try:
        assert dpex.kernel(unknown_name).code_for(kinds).spirv
    finally:
        del globals()["undefined"]


def takes_two(item: kapi.Item, a, b):
    a[0] = b


def test_number_of_arguments() -> None:
    with pytest.raises(TypeError, match=r"^the kernel takes_two takes a, b after the item, got 1 arguments$"):
        dpex.kernel(takes_two).code_for((ItemKind(1, False), ARRAY))


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (np.zeros(3), "got ndarray; dpnp.asarray"),
        ("text", "got str"),
        (None, "got NoneType"),
        ([1], "got list"),
        (2**63, "not an int64; numpy.uint64"),
    ],
)
def test_arguments(argument: Any, words: str) -> None:
    with pytest.raises(Exception, match=words):
        dpex.call_kernel(dpex.kernel(takes_two), dpex.Range(1), argument, 1)


def test_calls_of_the_wrong_things() -> None:
    with pytest.raises(TypeError, match=r"a kernel is launched: dpex.call_kernel\(takes_two, "):
        dpex.kernel(takes_two)(1, 2)
    with pytest.raises(TypeError, match=r"a device function is called in kernels; takes_two.py_func"):
        dpex.device_func(takes_two)(1, 2)
    with pytest.raises(TypeError, match=r"call_kernel launches a function decorated by dpex.kernel"):
        dpex.call_kernel(takes_two, dpex.Range(1), 1, 2)
    with pytest.raises(TypeError, match=r"index_space is a Range or NdRange, got 8"):
        dpex.call_kernel(dpex.kernel(takes_two), 8, 1, 2)


def crash(*_arguments: Any) -> None:
    os.write(2, b"LLVM ERROR: unable to legalize instruction\n")
    os.kill(os.getpid(), signal.SIGABRT)


def test_a_crash_of_llvm_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from ishmem.dpex.compile import spirv_module
    from ishmem.dpex.errors import KernelBuildError

    worker._end()
    kernel = dpex.kernel(takes_two)
    kinds = ItemKind(1, False), ARRAY, "int64"
    with monkeypatch.context() as broken:
        broken.setattr(spirv_module, "_spirv_of", crash)
        with pytest.raises(KernelBuildError, match="takes_two does not build: LLVM ERROR: unable to legalize"):
            kernel.code_for(kinds)
    assert kernel.code_for(kinds).spirv[:4] == b"\x03\x02\x23\x07"


def test_a_tensor_on_the_cpu_names_ishmem_torch() -> None:
    """Of torch only the names are there: what is not known is refused before torch is asked for anything."""

    def data_ptr(self: Any) -> int:
        return 0

    tensor = type("Tensor", (), {"__module__": "torch", "data_ptr": data_ptr})()
    for argument in (tensor, (1, tensor)):
        with pytest.raises(dpex.errors.UnsupportedKernelArgumentError, match=r"got Tensor; .* ishmem\.torch"):
            run(unknown_name, 1, np.zeros(1), argument)
