"""A program whose kernels share device functions, and which of those a run of it compiles."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from subprocesses import run_program

PROGRAM = textwrap.dedent("""
    import logging
    import sys
    from pathlib import Path

    import ishmem
    from ishmem.dpex import call_kernel, kernel, kernel_api as kapi
    from ishmem.runtime import kernel_loading

    @kernel
    def put(item: kapi.Item, a, b, pe):
        ishmem.put(b[1:], a[1:], pe)

    @kernel
    def rows(item: kapi.Item, a, b, pe):
        ishmem.put(b[1:].reshape((2, 2)), a[1:].reshape((2, 2)), pe)

    @kernel
    def wait(item: kapi.Item, a, b, pe):
        ishmem.wait_until(b, ishmem.CMP_LE, a[0] - a[0])

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
    kernel_loading.INSTALLED = Path(sys.argv[1])
    ishmem.init()
    me, n = ishmem.my_pe(), ishmem.n_pes()
    before, total = (me - 1) % n + 1, n * (n + 1) // 2
    expected = {"put": [0] + [before] * 4, "add": [before, 0, 0, total, total], "outside": [0] * 5}
    expected.update(rows=expected["put"], wait=[0] * 5)
    expected["every"] = [before] * 3 + [total] * 2
    for name in sys.argv[2:]:
        a, b = ishmem.full(5, me + 1, dtype="i8"), ishmem.zeros(5, dtype="i8")
        call_kernel(globals()[name], kapi.Range(1), a, b, (me + 1) % n)
        ishmem.barrier_all()
        assert b.asnumpy().tolist() == expected[name], b
    ishmem.finalize()
""")


NOTHING = Path("/nothing/is/here")
"""The folder of installed device functions, by default."""


def compiled(folder: Path, *kernels: str, installed: Path = NOTHING, fails: str = "", **settings: str) -> list[str]:
    """Run kernels on 2 PEs; return the names of the device functions that were compiled."""
    env = {"ISHMEM_KERNEL_CACHE": str(folder), **settings}
    done = run_program(PROGRAM, 2, str(installed), *kernels, env=env, timeout=120)
    assert (done.returncode == 0) is not bool(fails) and fails in done.stderr, done.stderr
    return re.findall(r"device function ishmem\.kernels\.(\S+) \S+ is compiled", done.stdout)
