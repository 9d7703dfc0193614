"""The libraries of numba-dpex's stack: the wheels of its dpctl and dpnp do not find them in ``<prefix>/lib``.

`apply` returns whether this stack is installed. Later wheels find their libraries, and nothing here is used.
"""

from __future__ import annotations

import ctypes
import os
from importlib.machinery import PathFinder
from pathlib import Path

from ishmem.environment.elf import library_of

LIBRARIES = {
    "libsycl.so.7": "intel-sycl-rt==2024.2.2",
    "libOpenCL.so.1": "intel-opencl-rt==2024.2.2",
    "libintlc.so.5": "intel-cmplr-lib-rt==2024.2.2",
    "libimf.so": "intel-cmplr-lib-rt==2024.2.2",
    "libirng.so": "intel-cmplr-lib-rt==2024.2.2",
    "libsvml.so": "intel-cmplr-lib-rt==2024.2.2",
    "libtbb.so.12": "tbb==2021.12.0",
    "libmkl_intel_ilp64.so.2": "mkl==2024.2.2",
    "libmkl_tbb_thread.so.2": "mkl==2024.2.2",
    "libmkl_core.so.2": "mkl==2024.2.2",
    "libmkl_sycl_blas.so.4": "onemkl-sycl-blas==2024.2.2",
    "libmkl_sycl_dft.so.4": "onemkl-sycl-dft==2024.2.2",
    "libmkl_sycl_lapack.so.4": "onemkl-sycl-lapack==2024.2.2",
    "libmkl_sycl_rng.so.4": "onemkl-sycl-rng==2024.2.2",
    "libmkl_sycl_stats.so.4": "onemkl-sycl-stats==2024.2.2",
    "libmkl_sycl_vm.so.4": "onemkl-sycl-vm==2024.2.2",
}
"""The libraries in the wheels' library folder that dpctl, dpnp and numba-dpex need, and the package of each."""

_FIRST = "libintlc.so.5"
"""The first library that dpctl and dpnp miss."""

_loaded: set[bool] = set()
"""Whether the group without MKL (False) and that with it (True) is loaded."""


def apply() -> bool:
    """Return whether the installed dpctl is one whose wheel does not find its libraries: it has dpctl.tensor."""
    spec = PathFinder.find_spec("dpctl")  # not by the import hooks, one of which calls this
    return bool(spec and spec.origin and Path(spec.origin).with_name("tensor").is_dir())


def are_found() -> bool:
    """Return whether the libraries are found without ishmem, as by ``LD_LIBRARY_PATH``."""
    try:
        ctypes.CDLL(_FIRST)
    except OSError:
        return False
    return True


def missing(folder: Path) -> dict[str, str]:
    """Return the names of `LIBRARIES` that are not in ``folder`` and not in this process, with the package of each."""
    return {
        name: package
        for name, package in LIBRARIES.items()
        if not (folder / name).exists() and not _is_loaded(name)
    }  # fmt: skip


def load(folder: Path, mkl: bool = False) -> None:
    """Load the libraries in ``folder``, once; those of MKL, more than half of the bytes, only with ``mkl=True``.

    Raises:
        ImportError: A library is missing; names it and the package that has it.
    """
    if mkl in _loaded:
        return
    for name, package in missing(folder).items():
        raise ImportError(f"{name} is not in {folder}: pip install {package!r}", name="dpctl")
    _open_group(folder, [name for name in LIBRARIES if mkl or not name.startswith("libmkl")])
    _loaded.add(mkl)


def _is_loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library, os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def _open_group(folder: Path, names: list[str]) -> None:
    """Load libraries as one group: see `ishmem.environment.elf`.

    The dynamic linker identifies the group by the file's path, so the descriptor stays open and is never reused.
    """
    file = os.memfd_create("ishmem-stack")
    os.write(file, library_of(names, str(folder)))
    try:
        ctypes.CDLL(f"/proc/self/fd/{file}")
    except OSError as error:
        raise ImportError(f"the SYCL stack does not load: {error}", name="dpctl") from None
