"""Loading of the SYCL stack: OpenCL CPU runtime, Level Zero or simulator, libraries that wheels do not find themselves.

`environment` returns the variables that a child process needs; `load` loads the libraries into this process, and
`load_when_needed` delays that until the first import that needs them. Settings of the user take precedence.

The simulator replaces the Level Zero loader, unless ``ISHMEM_ZE_LOADER`` names a real loader: then the simulator is a
driver of that loader.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ishmem.common import processes
from ishmem.common.errors import IshmemError
from ishmem.environment import card, pinned_libraries

LOADER = "libze_loader.so.1"
"""Soname of the Level Zero loader, and of the simulator that replaces it."""

_OPENCL = "libintelocl.so"
"""The OpenCL CPU runtime, in the folder of the libraries of all wheels."""

_HOST_TASKS = "16"
"""Threads of SYCL for host tasks: on-queue operations that wait occupy one for each queue."""

MASK = "ZE_AFFINITY_MASK"
"""The variable that hides devices from a process; devices are numbered without the hidden ones."""

HIERARCHY = "ZE_FLAT_DEVICE_HIERARCHY"
"""The variable that determines whether tiles are devices."""

SELECTED = "ISHMEM_SELECTED"
"""The variable with the device selector and the mask with which ishmem run has started a program."""

_SELECTOR = "ONEAPI_DEVICE_SELECTOR"

_DRM = Path("/sys/class/drm")
_INTEL = "0x8086"

_NEED_STACK = ("dpctl", "dpnp", "ishmem.ipc.pyze")

_ASKED = ("ISHMEM_DEVICE", card.VARIABLE, "ZE_ENABLE_ALT_DRIVERS")
_loaded: tuple[list[str | None], str] | None = None
"""The values of the variables in `_ASKED` and the result of `choose`, once the stack is loaded."""


def choose() -> str:
    """Choose real or simulated devices by ``ISHMEM_DEVICE`` (gpu, sim or auto).

    ``auto`` means real GPUs where an Intel GPU is visible and a real Level Zero loader is installed,
    else the simulator. A loader that the process has already loaded determines the result. With ``ISHMEM_CARD`` the
    result is ``"gpu"``, since to Intel's driver and all software above it emulated cards are real GPUs.

    Returns:
        ``"gpu"`` or ``"sim"``.

    Raises:
        ValueError: ``ISHMEM_DEVICE`` is none of the three, or ``ISHMEM_CARD`` names no card.
        IshmemError: The devices are not available, or the process has loaded the other loader.
    """
    asked = os.environ.get("ISHMEM_DEVICE", "").lower() or "auto"
    if asked not in ("auto", "gpu", "sim"):
        raise ValueError(f"ISHMEM_DEVICE: got {asked!r}, allowed: auto, gpu or sim")
    if card.requested():
        card.check()
        return "gpu"
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
    """Load the stack into this process, so that dpctl can be imported.

    Libraries that are already loaded stay. A second call does nothing, unless variables for other devices are set.

    Returns:
        ``"gpu"`` or ``"sim"``, as `choose`.

    Raises:
        ImportError: A library is missing; names it and the package that has it.
        ValueError, IshmemError: As `choose`.
    """
    global _loaded
    if _loaded and _loaded[0] == _asked():
        return _loaded[1]
    kind = choose()
    if not _loaded:
        _load(kind)
    _loaded = _asked(), kind
    return kind


def defaults() -> dict[str, str]:
    """Return the variables of this process's stack, which reads some of them late; empty if it is not loaded."""
    return variables(_loaded[1]) if _loaded else {}


def _asked() -> list[str | None]:
    return [os.environ.get(name) for name in _ASKED]


def _load(kind: str) -> None:
    processes.check_folder()
    if card.requested():
        card.require()
    for name, value in variables(kind).items():
        os.environ.setdefault(name, value)
    _follow_mask()
    if not loaded_loader():
        _open_loader(kind)
    if pinned_libraries.apply():
        pinned_libraries.load(library_folder())


def selected(selector: str, environ: Mapping[str, str]) -> str:
    """Return the value of `SELECTED` for a device selector and the mask in an environment."""
    return f"{selector} {environ.get(MASK, '')}"


def _follow_mask() -> None:
    """Show all devices that are not masked if the mask was set after ishmem run selected one; `init` then selects."""
    selector, told = os.environ.get(_SELECTOR, ""), os.environ.get(SELECTED)
    if told and told.split(" ")[0] == selector and told != selected(selector, os.environ):
        os.environ.update({_SELECTOR: "level_zero:*", HIERARCHY: _hierarchy()})


def _hierarchy() -> str:
    """Return the value of `HIERARCHY`: tiles are devices, unless the mask names tiles by their cards, as ``0.1``."""
    return "COMPOSITE" if "." in os.environ.get(MASK, "") else "FLAT"


def mask_problem(environ: Mapping[str, str]) -> str:
    """Return the text that the mask in ``environ`` hides all devices, if a process has found none; empty without it."""
    mask = environ.get(MASK, "")
    words = f"{MASK}={mask} hides all of them" if mask else ""
    if "." in mask and environ.get(HIERARCHY, "FLAT") != "COMPOSITE":
        words += f", as it names tiles by their cards: set {HIERARCHY}=COMPOSITE, or number the tiles"
    return words


class _Finder:
    """An import hook that finds no module; it loads the stack when a module that needs it is imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in _NEED_STACK:
            _load_for_import(mkl=name == "dpnp")


def load_first() -> None:
    """Load the stack because a program imports dpctl, dpnp or numba-dpex before ishmem.

    The file ``ishmem.pth`` beside the package calls this. Where the wheels find their libraries, the program may have
    nothing to do with ishmem: then nothing happens, unless ``ISHMEM_DEVICE`` is set.
    """
    if not pinned_libraries.are_found() if pinned_libraries.apply() else "ISHMEM_DEVICE" in os.environ:
        _load_for_import(mkl=True)


def _load_for_import(mkl: bool) -> None:
    try:
        load()
        if mkl and pinned_libraries.apply():
            pinned_libraries.load(library_folder(), mkl=True)
    except (ValueError, IshmemError, ImportError) as error:
        raise error.with_traceback(None) from None  # the message has the cause; the traceback shows only the loader


def load_when_needed() -> None:
    """Load the stack at the first import of dpctl, dpnp or ``ishmem.ipc.pyze``.

    So ``import ishmem`` is fast, and ishmem run, which needs no device, does not load it.
    """
    if not _loaded and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def environment(kind: str, devices: int = 1) -> dict[str, str]:
    """Return the variables that a child process needs in order to import dpnp before ishmem.

    Args:
        kind: ``"gpu"`` or ``"sim"``.
        devices: Number of devices of the simulator.

    Returns:
        Variables that differ from this process's environment; ``LD_LIBRARY_PATH`` and ``LD_PRELOAD`` are extended.

    Raises:
        ImportError: The libraries or the simulator are missing.
    """
    folders = [str(library_folder())] if pinned_libraries.apply() else []
    real = real_loader()
    if real or kind == "sim":
        folders.insert(0, str((real or simulator()).parent))
    before = os.environ.get("LD_LIBRARY_PATH", "")
    folders += [folder for folder in before.split(":") if folder and folder not in folders]
    result = {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}
    if real and kind == "sim":  # as _open_loader does
        result["LD_PRELOAD"] = ":".join(filter(None, [str(real), str(simulator()), os.environ.get("LD_PRELOAD")]))
    wanted = variables(kind)
    if kind == "sim":
        wanted["ISHMEM_SIM_DEVICES"] = str(devices)
    result.update({name: value for name, value in wanted.items() if name not in os.environ})
    return result


def variables(kind: str) -> dict[str, str]:
    """Return the defaults of environment variables of the SYCL stack, without library paths, for ``gpu`` or ``sim``."""
    opencl = str(library_folder() / _OPENCL)
    result = {"OCL_ICD_FILENAMES": opencl, HIERARCHY: _hierarchy()}
    result["SYCL_QUEUE_THREAD_POOL_SIZE"] = _HOST_TASKS
    if kind == "sim":
        result["ISHMEM_SIM_OPENCL"] = opencl
        if real_loader():
            result["ZE_ENABLE_ALT_DRIVERS"] = str(simulator())
    return result


def library_folder() -> Path:
    """Return the folder with the wheels' libraries.

    Raises:
        ImportError: The OpenCL CPU runtime is installed nowhere.
    """
    for folder in _library_folders():
        if (folder / _OPENCL).exists():
            return folder.resolve()
    where = Path(sys.prefix, "lib")
    raise ImportError(f"{_OPENCL} of intel-opencl-rt is not in {where}: install ishmem4py anew", name="dpctl")


def simulator() -> Path:
    """Return the path of the simulator.

    Raises:
        ImportError: It was not built into this installation.
    """
    folders = [Path(folder, "simulator") for folder in sys.modules["ishmem"].__path__]
    for folder in folders:
        if (folder / LOADER).exists():
            return folder / LOADER
    raise ImportError(f"the simulator {LOADER} is not in {folders[0]}: install ishmem4py anew", name="ishmem")


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


def has_devices() -> bool:
    """Return whether SYCL has opened the drivers of devices in this process."""
    return "libur_adapter_level_zero" in Path("/proc/self/maps").read_text()


def is_simulator(loader: str) -> bool:
    """Return whether the Level Zero loader at a path is the simulator: only that contains the names of its settings."""
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
        files = metadata.files("intel-opencl-rt") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == _OPENCL:
            yield Path(str(file.locate())).parent


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
