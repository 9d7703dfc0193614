"""Whole programs: the time in which a job starts and ends."""

from __future__ import annotations

import subprocess
import sys

from ishmem.benchmarks.cases import Plan, case
from ishmem.benchmarks.worlds import Local

_INIT = "import ishmem; ishmem.init(); ishmem.barrier_all(); ishmem.finalize()"
_IMPORT = "import ishmem, dpnp, ishmem.kernels"


@case("start", "program", limit="the same PEs only import dpnp and what compiles kernels")
def start(w: Local) -> Plan:
    """Return the plan of a job with imports, init, the first barrier and finalize."""
    job = [sys.executable, "-m", "ishmem.launch.run", "-n", str(w.n_pes), sys.executable, "-c"]
    names = {"run": subprocess.run, "job": [*job, _INIT], "imports": [*job, _IMPORT]}
    return Plan("run(job, check=True)", names, limit="run(imports, check=True)")
