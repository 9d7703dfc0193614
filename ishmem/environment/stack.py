"""Loads the SYCL stack: libraries of the wheels, OpenCL CPU runtime, Level Zero or simulator.

The wheels of dpctl and dpnp do not find their own libraries in ``<prefix>/lib``. `environment` returns the variables
that a child process needs; `load` loads the libraries into this process, and `load_when_needed` delays that until the
first import that needs them. MKL, more than half of it, is loaded when dpnp is imported. Settings of the user take
precedence.

The simulator replaces the Level Zero loader, unless ``ISHMEM_ZE_LOADER`` names a real loader: then the simulator is a
driver of that loader.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ishmem.common.errors import IshmemError
from ishmem.environment.elf import library_of

LOADER = "libze_loader.so.1"
"""Soname of the Level Zero loader, and of the simulator that stands in for it."""

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
"""What dpctl, dpnp and numba-dpex need from the wheels' library folder, and the package of each."""

_DRM = Path("/sys/class/drm")
_INTEL = "0x8086"

_NEED_STACK = ("dpctl", "dpnp", "numba_dpex", "ishmem.ipc")

_FIRST = "libintlc.so.5"
"""The first library that dpctl and dpnp miss."""

_loaded = _mkl_loaded = False


def choose() -> str:
    """Choose real or simulated devices, as ``ISHMEM_DEVICE`` (gpu, sim or auto) asks.

    ``auto`` means real GPUs where an Intel GPU is visible and a real Level Zero loader is installed,
    else the simulator. A loader that the process has already loaded decides.

    Returns:
        ``"gpu"`` or ``"sim"``.

    Raises:
        ValueError: ``ISHMEM_DEVICE`` is none of the three.
        IshmemError: The devices are not available, or the process has loaded the other loader.
    """
    asked = os.environ.get("ISHMEM_DEVICE", "").lower() or "auto"
    if asked not in ("auto", "gpu", "sim"):
        raise ValueError(f"ISHMEM_DEVICE: got {asked!r}, allowed: auto, gpu or sim")
    loaded = loaded_loader()
    if loaded:
        return _agree(asked, loaded)
    if asked == "sim":
        return "sim"
    missing = _missing_for_gpu()
    if missing and asked == "gpu":
        raise IshmemError(f"ISHMEM_DEVICE=gpu, but {missing}; ISHMEM_DEVICE=sim uses the simulator")
    return "sim" if missing else "gpu"


def load() -> str:
    """Load the stack into this process, so that dpctl and numba_dpex can be imported; MKL is loaded with dpnp.

    Libraries that are already loaded stay. A second call does nothing.

    Returns:
        ``"gpu"`` or ``"sim"``, as `choose`.

    Raises:
        ImportError: A library is missing; names it and the package that has it.
        ValueError, IshmemError: As `choose`.
    """
    global _loaded
    kind = choose()
    if _loaded:
        return kind
    folder = library_folder()
    _check(folder)
    for name, value in variables(kind).items():
        os.environ.setdefault(name, value)
    if not loaded_loader():
        _open_loader(kind)
    _open_group(folder, [name for name in LIBRARIES if not name.startswith("libmkl")])
    _loaded = True
    return kind


def _load_mkl() -> None:
    """Load MKL, once, with what it needs: see `ishmem.environment.elf`."""
    global _mkl_loaded
    if not _mkl_loaded:
        _open_group(library_folder(), list(LIBRARIES))
        _mkl_loaded = True


class _Finder:
    """An import hook that finds no module; it loads the stack when a module that needs it is imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in _NEED_STACK:
            _load_for_import(mkl=name == "dpnp")


def load_first() -> None:
    """Load the stack because a program imports dpctl, dpnp or numba_dpex before ishmem.

    The file ``ishmem.pth`` beside the package calls this. Where the wheels' libraries are found without ishmem, the
    program may have nothing to do with it, and nothing happens.
    """
    try:
        ctypes.CDLL(_FIRST)
    except OSError:
        _load_for_import(mkl=True)


def _load_for_import(mkl: bool) -> None:
    try:
        load()
        if mkl:
            _load_mkl()
    except (ValueError, IshmemError, ImportError) as error:
        raise error.with_traceback(None) from None  # what is wrong is in the message, not in the loader


def load_when_needed() -> None:
    """Load the stack at the first import of dpctl, dpnp, numba_dpex or ``ishmem.ipc``.

    So ``import ishmem`` is fast, and ishmrun, which needs no device, does not load it.
    """
    if not _loaded and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def environment(kind: str, devices: int = 1) -> dict[str, str]:
    """Return the variables that a child process needs in order to import dpnp before ishmem.

    Args:
        kind: ``"gpu"`` or ``"sim"``.
        devices: How many devices the simulator shows.

    Returns:
        Variables that differ from this process's environment; ``LD_LIBRARY_PATH`` and ``LD_PRELOAD`` are extended.

    Raises:
        ImportError: The libraries or the simulator are missing.
    """
    folders = [str(library_folder())]
    real = real_loader()
    if real or kind == "sim":
        folders.insert(0, str((real or simulator()).parent))
    before = os.environ.get("LD_LIBRARY_PATH", "")
    folders += [folder for folder in before.split(":") if folder and folder not in folders]
    result = {"LD_LIBRARY_PATH": ":".join(folders)}
    if real and kind == "sim":  # as _open_loader does
        result["LD_PRELOAD"] = ":".join(filter(None, [str(real), str(simulator()), os.environ.get("LD_PRELOAD")]))
    wanted = variables(kind)
    if kind == "sim":
        wanted["ISHMEM_SIM_DEVICES"] = str(devices)
    result.update({name: value for name, value in wanted.items() if name not in os.environ})
    return result


def variables(kind: str) -> dict[str, str]:
    """Return defaults of the variables that the stack reads, without library paths."""
    opencl = str(library_folder() / "libintelocl.so")
    result = {"OCL_ICD_FILENAMES": opencl, "ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}
    if kind == "sim":
        result["ISHMEM_SIM_OPENCL"] = opencl
        if real_loader():
            result["ZE_ENABLE_ALT_DRIVERS"] = str(simulator())
    return result


def library_folder() -> Path:
    """Find the folder that holds the wheels' libraries.

    Raises:
        ImportError: ``libsycl.so.7`` is installed nowhere.
    """
    for folder in _library_folders():
        if (folder / "libsycl.so.7").exists():
            return folder.resolve()
    raise ImportError(_not_found("libsycl.so.7", Path(sys.prefix, "lib")), name="dpctl")


def simulator() -> Path:
    """Find the simulator.

    Raises:
        ImportError: It was not built into this installation.
    """
    folders = [Path(folder, "simulator") for folder in sys.modules["ishmem"].__path__]
    for folder in folders:
        if (folder / LOADER).exists():
            return folder / LOADER
    raise ImportError(f"the simulator {LOADER} is not in {folders[0]}: install ishmem anew", name="ishmem")


def real_loader() -> Path | None:
    """Return the path in ``ISHMEM_ZE_LOADER``, ``None`` when it is not set.

    Raises:
        ValueError: There is no such file.
    """
    asked = os.environ.get("ISHMEM_ZE_LOADER")
    if asked and not Path(asked).is_file():
        raise ValueError(f"ISHMEM_ZE_LOADER: got {asked!r}, which is no file, allowed: the path of a {LOADER}")
    return Path(asked).absolute() if asked else None


def loaded_loader() -> str | None:
    """Return the path of the Level Zero loader that this process has loaded, or ``None``."""
    try:
        ctypes.CDLL(LOADER, os.RTLD_NOLOAD)
    except OSError:
        return None
    # The simulator has the same soname and may be the driver of a real loader.
    return min(_loaded_paths(), key=is_simulator, default=LOADER)


def _loaded_paths() -> set[str]:
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "libze_loader.so" in line}
    return {path.removesuffix(" (deleted)") for path in paths}


def is_simulator(loader: str) -> bool:
    """Return whether a Level Zero loader is the simulator: only it contains the names of its settings."""
    try:
        return b"ISHMEM_SIM_DEVICES" in Path(loader).read_bytes()
    except OSError:
        return False


def _agree(asked: str, loader: str) -> str:
    drivers = os.environ.get("ZE_ENABLE_ALT_DRIVERS", "").split(",")
    kind = "sim" if any(map(is_simulator, (loader, *_loaded_paths(), *drivers))) else "gpu"
    if asked not in ("auto", kind):
        raise IshmemError(
            f"ISHMEM_DEVICE={asked}, but this process has already loaded the Level Zero loader {loader}, "
            f"which is for ISHMEM_DEVICE={kind}"
        )
    return kind


def _missing_for_gpu() -> str | None:
    if not any(_vendor(device) == _INTEL for device in _DRM.glob("renderD*")):
        return "no Intel GPU is visible (/dev/dri/renderD*)"
    try:
        ctypes.CDLL(str(real_loader() or LOADER))
    except OSError:
        return f"the Level Zero loader {LOADER} is not installed (package libze1 or level-zero)"
    path = loaded_loader()
    return f"{path} is the simulator" if path and is_simulator(path) else None


def _vendor(device: Path) -> str:
    try:
        return (device / "device" / "vendor").read_text().strip()
    except OSError:
        return ""


def _library_folders() -> Iterator[Path]:
    yield Path(sys.prefix, "lib")
    from importlib import metadata  # a slow import, rarely needed

    try:
        files = metadata.files("intel-sycl-rt") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "libsycl.so.7":
            yield Path(str(file.locate())).parent


def _check(folder: Path) -> None:
    for name in LIBRARIES:
        if not (folder / name).exists() and not _is_loaded(name):
            raise ImportError(_not_found(name, folder), name="dpctl")


def _not_found(library: str, folder: Path) -> str:
    return f"{library} is not in {folder}: pip install {LIBRARIES[library]!r}"


def _is_loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library, os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def _open_loader(kind: str) -> None:
    """Load the Level Zero loader, or the simulator in its place.

    A real loader finds layers that are already loaded, wherever they are. A loader older than SYCL (1.8 of Debian 12)
    lacks functions that SYCL then finds in the simulator: both have global visibility, the loader first.
    """
    real = real_loader()
    if not real:
        _open(str(simulator()) if kind == "sim" else LOADER)
        return
    _open(str(real), ctypes.RTLD_GLOBAL)
    for layer in sorted(real.parent.glob("libze_*_layer.so.1")):
        _open(str(layer))
    if kind == "sim":
        _open(str(simulator()), ctypes.RTLD_GLOBAL)


def _open(path: str, mode: int = ctypes.RTLD_LOCAL) -> None:
    try:
        ctypes.CDLL(path, mode)
    except OSError as error:
        raise ImportError(f"the SYCL stack does not load: {error}", name="dpctl") from None


def _open_group(folder: Path, names: list[str]) -> None:
    """Load libraries as one group: see `ishmem.environment.elf`.

    The dynamic linker identifies the group by the file's path, so the descriptor stays open and is never reused.
    """
    file = os.memfd_create("ishmem-stack")
    os.write(file, library_of(names, str(folder)))
    _open(f"/proc/self/fd/{file}")
