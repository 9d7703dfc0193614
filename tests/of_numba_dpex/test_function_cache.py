"""Device functions of ishmem on disk: new kernels load what other kernels and other processes have compiled."""

from __future__ import annotations

import pickle
import re
import textwrap
from pathlib import Path
from typing import Callable

from llvmlite import binding as llvm
from pes import run_program

from ishmem.kernels import intrinsics

PROGRAM = textwrap.dedent("""
    import logging
    import sys

    import ishmem
    from ishmem.dpex import call_kernel, kernel, kernel_api as kapi

    @kernel
    def put(item: kapi.Item, a, b, pe):
        ishmem.put(b[1:], a[1:], pe)

    @kernel
    def add(item: kapi.Item, a, b, pe):
        ishmem.atomic_add(b, min(a[3], 5), pe)
        ishmem.sum_reduce(b[3:], a[3:])

    @kernel
    def every(item: kapi.Item, a, b, pe):
        ishmem.sum_reduce(b[3:], a[3:])
        ishmem.atomic_add(b, min(a[3], 5), pe)
        ishmem.put(b[1:], a[1:], pe, 2)

    @kernel
    def outside(item: kapi.Item, a, b, pe):
        ishmem.put(b, a, pe + 100)

    logging.basicConfig(stream=sys.stdout)
    logging.getLogger("ishmem").setLevel("DEBUG")
    ishmem.init()
    me, n = ishmem.my_pe(), ishmem.n_pes()
    before, total = (me - 1) % n + 1, n * (n + 1) // 2
    expected = {"put": [0] + [before] * 4, "add": [before, 0, 0, total, total], "outside": [0] * 5}
    expected["every"] = [before] * 3 + [total] * 2
    for name in sys.argv[1:]:
        a, b = ishmem.full(5, me + 1, dtype="i8"), ishmem.zeros(5, dtype="i8")
        call_kernel(globals()[name], kapi.Range(1), a, b, (me + 1) % n)
        ishmem.barrier_all()
        assert b.asnumpy().tolist() == expected[name], b
    ishmem.finalize()
""")

def compiled(folder: Path, *kernels: str, fails: str = "", **settings: str) -> list[str]:
    """Run kernels on 2 PEs; return the names of the device functions that were compiled."""
    done = run_program(PROGRAM, 2, *kernels, env={"ISHMEM_KERNEL_CACHE": str(folder), **settings}, timeout=120)
    assert (done.returncode == 0) is not bool(fails) and fails in done.stderr, done.stderr
    return re.findall(r"device function ishmem\.kernels\.(\S+) \d+ is compiled", done.stdout)


def test_a_new_kernel_loads_functions(tmp_path: Path) -> None:
    """Those of two processes that have compiled different ones, and none that has been compiled for other options."""
    assert "rma._put_allowed" in compiled(tmp_path, "put")
    first = compiled(tmp_path, "add")
    assert "reductions._make.<locals>.reduce" in first
    assert not {"rma._dest_size", "rma._put_allowed"} & set(compiled(tmp_path, "every"))
    assert not compiled(tmp_path, "put", "add", "every")
    checked = compiled(tmp_path, "outside", ISHMEM_CHECK="1", fails="PEs are numbered 0 to 1")
    assert "rma._put_allowed" in checked
    for path in tmp_path.glob("*.function"):
        path.write_bytes(path.read_bytes()[:-4])
    for path in tmp_path.glob("*.kernel"):
        path.unlink()
    assert set(first) <= set(compiled(tmp_path, "add"))


def test_names(tmp_path: Path) -> None:
    """A name that two files define is that of one function, made from its key; all others contain the file's key."""
    compiled(tmp_path, "put")
    compiled(tmp_path, "add")
    symbols, defined = {}, {}
    for path in tmp_path.glob("*.function"):
        _type, symbols[path.stem], code = pickle.loads(path.read_bytes()[48:])
        functions = [each for each in llvm.parse_bitcode(code).functions if not each.is_declaration]
        defined[path.stem] = {each.name for each in functions}
    assert len(set(symbols.values())) == len(symbols) > 10
    for key, names in defined.items():
        assert symbols[key] in names
        assert all(name.endswith(key) for name in names - set(symbols.values()))


def test_functions_made_later() -> None:
    """After the import the number of a device function may differ between processes, so its key would, too."""

    def choose(_x: object) -> Callable[..., object]:
        return lambda x: x

    implementation = intrinsics._recorded(choose)(None)
    assert implementation not in intrinsics.origins
