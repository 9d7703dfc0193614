"""The loading of the SYCL stack, each time in a process of its own: it can be loaded only once."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import run_program

from ishmem.common.errors import IshmemError
from ishmem.environment import pinned_libraries, stack
from ishmem.environment.elf import library_of

OURS = ("LD_LIBRARY_PATH", "OCL_ICD_FILENAMES", "ZE_FLAT_DEVICE_HIERARCHY", "ONEAPI_DEVICE_SELECTOR")


def python(code, **env):
    """Run code in a Python that has none of the variables set, and give what it prints."""
    clean = {k: v for k, v in os.environ.items() if k not in OURS and not k.startswith("ISHMEM_SIM")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **env}, capture_output=True, text=True, check=False
    )


def test_load_in_plain_python():
    """dpnp computes by MKL, whose ``dgemm_`` has 64-bit integers: neither scipy nor others find it."""
    pytest.importorskip("scipy")
    code = """
import ctypes
from ishmem.environment import stack
assert stack.load() == stack.load() == "sim"
import dpctl, dpnp, numpy, scipy.linalg
a = dpnp.ones((8, 8))
print(len(dpctl.get_devices("level_zero")), dpnp.dot(a, a).sum(), dpnp.linalg.det(a + dpnp.eye(8)))
print(scipy.linalg.blas.dgemm(1.0, numpy.ones((3, 3)), numpy.ones((3, 3))).sum(), hasattr(ctypes.CDLL(None), "dgemm_"))
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-5:] == ["1", "512.", "9.", "27.0", "False"]  # MKL may print a warning before


def test_a_second_load_opens_no_file():
    """Imports of dpctl, dpnp and ishmem call it; it looks again where a variable has changed."""
    code = """
import os, sys
from ishmem.environment import stack
stack.load()
opened = []
sys.addaudithook(lambda event, arguments: event == "open" and opened.append(arguments[0]))
print(stack.load(), opened)
os.environ["ISHMEM_DEVICE"] = "gpu"
stack.load()
"""
    done = python(code)
    assert done.stdout == "sim []\n", done
    assert "ISHMEM_DEVICE=gpu, but this process has already loaded the Level Zero loader" in done.stderr, done


def test_load_when_needed():
    code = """
import sys
from pathlib import Path
from ishmem.environment import pinned_libraries, stack
stack.load_when_needed()
stack.load_when_needed()
print(stack.loaded_loader())
import ishmem
ishmem.init()
ishmem.barrier_all()
ishmem.finalize()
print("libmkl" in Path("/proc/self/maps").read_text())
import dpnp
print("libmkl" in Path("/proc/self/maps").read_text())
print(stack.is_simulator(stack.loaded_loader()), dpnp.zeros(8).sycl_device.filter_string)
"""
    mkl_before_dpnp = str(not pinned_libraries.apply())  # arrays are those of dpnp there
    assert python(code).stdout.split() == ["None", mkl_before_dpnp, "True", "True", "level_zero:gpu:0"]


def test_dpnp_before_ishmem_under_ishmem_run():
    code = (
        "import dpnp; print(dpnp.zeros(8).sycl_device.filter_string); "
        "from ishmem.environment import stack; stack.load()"
    )
    done = run_program(code, 2)
    assert sorted(done.stdout.splitlines()) == ["[0] level_zero:gpu:0", "[1] level_zero:gpu:0"], done.stderr


def test_the_users_variables_stay(monkeypatch):
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine:/yours")
    got = stack.environment("sim", 4)
    assert "ZE_FLAT_DEVICE_HIERARCHY" not in got
    folders = got["LD_LIBRARY_PATH"].split(":")
    libraries = [str(stack.library_folder())] if pinned_libraries.apply() else []
    assert folders == [str(stack.simulator().parent), *libraries, "/mine", "/yours"]


def test_environment_by_kind(monkeypatch):
    for name in (*OURS, "ISHMEM_SIM_DEVICES", "ISHMEM_SIM_OPENCL"):
        monkeypatch.delenv(name, raising=False)
    simulated, real = stack.environment("sim", 4), stack.environment("gpu")
    assert simulated["ISHMEM_SIM_DEVICES"] == "4"
    assert Path(simulated["ISHMEM_SIM_OPENCL"]).exists()
    assert not any(name.startswith("ISHMEM_SIM") for name in real)
    assert str(stack.simulator().parent) not in real.get("LD_LIBRARY_PATH", "").split(":")


INTEL, OTHER, MISSING = "0x8086", "0x10de", "libthere_is_none.so.1"
CHOICES = [
    # The vendor of the machine's GPU, the loader, whether the simulator is loaded, ISHMEM_DEVICE, and what is chosen.
    (None, "libc.so.6", False, None, "sim"),
    (None, "libc.so.6", False, "gpu", "no Intel GPU is visible"),
    (OTHER, "libc.so.6", False, None, "sim"),
    (INTEL, MISSING, False, None, "sim"),
    (INTEL, MISSING, False, "gpu", "is not installed"),
    (INTEL, "libc.so.6", False, None, "gpu"),
    (INTEL, "libc.so.6", False, "sim", "sim"),
    (INTEL, "libc.so.6", False, "tpu", "ISHMEM_DEVICE: got 'tpu', allowed: auto, gpu or sim"),
    (None, "libc.so.6", True, None, "sim"),
    (None, "libc.so.6", True, "gpu", "has already loaded"),
]


@pytest.mark.parametrize(("vendor", "loader", "loaded", "asked", "chosen"), CHOICES)
def test_choose(monkeypatch, tmp_path, vendor, loader, loaded, asked, chosen):
    simulator = str(stack.simulator())
    monkeypatch.setattr(stack, "_DRM", tmp_path)
    monkeypatch.setattr(stack, "LOADER", loader)
    monkeypatch.setattr(stack, "loaded_loader", lambda: simulator if loaded else None)
    monkeypatch.delenv("ISHMEM_DEVICE", raising=False)
    if asked:
        monkeypatch.setenv("ISHMEM_DEVICE", asked)
    if vendor:
        device = tmp_path / "renderD128" / "device"
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor + "\n")
    if chosen in ("sim", "gpu"):
        assert stack.choose() == chosen
    else:
        with pytest.raises((IshmemError, ValueError), match=chosen):
            stack.choose()


@pytest.mark.skipif(not pinned_libraries.apply(), reason="the wheels of this stack find their libraries")
def test_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(pinned_libraries.LIBRARIES, "libthere_is_none.so.7", "no-such-package==1.0")
    monkeypatch.setattr(pinned_libraries, "_loaded", set())
    with pytest.raises(ImportError, match=r"libthere_is_none.so.7 .* pip install 'no-such-package==1.0'"):
        pinned_libraries.load(stack.library_folder())


def test_stack_without_opencl_runtime(monkeypatch):
    monkeypatch.setattr(stack, "_OPENCL", "libthere_is_none.so.7")
    with pytest.raises(ImportError, match=r"libthere_is_none.so.7 of intel-opencl-rt is not in .*: install"):
        stack.variables("sim")


def test_libraries_outside_the_prefix_are_found(monkeypatch, tmp_path):
    expected = stack.library_folder()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert stack.library_folder() == expected


def test_group_library_names_what_is_missing(tmp_path):
    library = tmp_path / "group.so"
    library.write_bytes(library_of(["libc.so.6", "libm.so.6"], "/nowhere"))
    ctypes.CDLL(str(library))
    library = tmp_path / "broken.so"
    library.write_bytes(library_of(["libthere_is_none.so.7"], "/nowhere"))
    with pytest.raises(OSError, match="libthere_is_none"):
        ctypes.CDLL(str(library))


def test_stack_is_quick_to_import():
    done = python("import sys, ishmem.environment.stack; print(*{'numpy', 'dpctl', 'attrs'} & set(sys.modules))")
    assert done.stdout.strip() == ""
