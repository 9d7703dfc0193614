"""Checks of ``ishmem doctor``: Python, packages, commands, libraries, and the variables that replace them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ishmem.cli.findings import Finding, Machine, last_line, ok, python, warning, without_choice, wrong
from ishmem.environment import pinned_libraries, stack
from ishmem.environment.mpi_variables import without

DISTRIBUTION = "ishmem4py"
PINNED = "numba-dpex"
"""Name of the extra that pins the whole stack, and of the package whose presence means that the extra is in use."""


def check_python(_machine: Machine) -> Iterator[Finding]:
    """Check that ishmem allows this version of Python."""
    from packaging.specifiers import SpecifierSet

    name = ".".join(map(str, sys.version_info[:3]))
    allowed = metadata.metadata(DISTRIBUTION)["Requires-Python"]
    if SpecifierSet(allowed).contains(name):
        yield ok(f"Python {name}")
    else:
        yield wrong(f"Python {name}; {DISTRIBUTION} needs {allowed}", "make the environment with another Python")


def check_packages(_machine: Machine) -> Iterator[Finding]:
    """Check that the required packages are installed, in versions that ishmem allows."""
    from packaging.requirements import Requirement

    extra = PINNED if _version(PINNED) else ""
    requirements = [Requirement(line) for line in metadata.requires(DISTRIBUTION) or []]
    applicable = [one for one in requirements if not one.marker or one.marker.evaluate({"extra": extra})]
    differ = []
    for one in applicable:
        found = _version(one.name)
        if not found or not one.specifier.contains(found, prereleases=True):
            differ.append(f"{one.name} is {found or 'missing'}, not {one.specifier}")
    if differ:
        yield wrong("; ".join(differ), "make the environment anew from nothing: pip's upgrades in place delete files")
    else:
        yield ok(f"{len(applicable)} required packages have versions that fit{' numba-dpex' * bool(extra)}")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def check_names(machine: Machine) -> Iterator[Finding]:
    """Check for the Python distribution and the launcher of Intel SHMEM, named ``ishmem`` and ``ishmrun`` too."""
    intel_release = _version("ishmem")
    if intel_release:
        yield warning(
            f"the distribution ishmem {intel_release} is Intel SHMEM's; both install a command ishmrun",
            f"pip uninstall ishmem, then pip install --force-reinstall --no-deps {DISTRIBUTION}; or use `ishmem run`",
        )
    found = shutil.which("ishmrun", path=machine.environ.get("PATH", ""))
    if found and not _is_our_launcher(found):
        yield warning(f"the first ishmrun on PATH is another program, {found}", "use `ishmem run`, or change PATH")
    elif not intel_release:
        yield ok("no other ishmrun is before that of this installation" if found else "ishmrun is not on PATH")


def _is_our_launcher(command: str) -> bool:
    with open(command, "rb") as file:
        return b"ishmem.launch.run" in file.read(1 << 16)


def check_libraries(_machine: Machine) -> Iterator[Finding]:
    """Check that the libraries of the SYCL stack and its plugin for Level Zero are installed."""
    try:
        folder = stack.library_folder()
    except ImportError as error:
        yield wrong(str(error), "make the environment anew")
        return
    pinned = pinned_libraries.missing(folder) if pinned_libraries.apply() else {}
    missing = [f"{name} ({package})" for name, package in pinned.items()]
    if not any(folder.glob("libur_adapter_level_zero.so*")) and not any(folder.glob("libpi_level_zero.so*")):
        missing.append("the Level Zero plugin of SYCL (intel-cmplr-lib-ur)")
    if missing:
        yield wrong(f"not in {folder}: {', '.join(missing)}", "pip install the packages named")
    else:
        yield ok(f"libraries of SYCL in {folder}")


def check_variables(machine: Machine) -> Iterator[Finding]:
    """Check for variables that give other libraries precedence over those of the wheels."""
    found = [
        f"{folder}/{name}"
        for folder in machine.environ.get("LD_LIBRARY_PATH", "").split(":")
        for name in _libraries(machine, folder)
    ]
    if found:
        yield warning(
            f"LD_LIBRARY_PATH puts {', '.join(found)} before the wheels' own", "start without oneAPI's setvars.sh"
        )
    icd = machine.environ.get("OCL_ICD_FILENAMES", "")
    if icd and not all(_in_environment(os.path.dirname(name)) for name in icd.split(":")):
        yield warning(f"OCL_ICD_FILENAMES={icd} replaces the wheels' OpenCL runtime", "unset OCL_ICD_FILENAMES")
    if not found and not icd:
        yield ok("LD_LIBRARY_PATH and OCL_ICD_FILENAMES leave the wheels' libraries first")


def _libraries(machine: Machine, folder: str) -> list[str]:
    """Return the names of libraries of SYCL, OpenCL and MKL in a folder, none if it is the folder of the wheels."""
    if not Path(folder).is_absolute() or _in_environment(folder):
        return []
    patterns = ("libsycl.so.[0-9]", "libOpenCL.so.1", "libmkl_core.so.[0-9]")
    return [path.name for pattern in patterns for path in sorted(machine.under(folder).glob(pattern))]


def check_imports(machine: Machine) -> Iterator[Finding]:
    """Check that dpnp and then ishmem can be imported in a new process."""
    done = python("import dpnp, ishmem", without_choice(without(machine.environ)))
    if done.returncode:
        mend = "install ishmem anew, which puts ishmem.pth into site-packages; until then, import ishmem before dpnp"
        yield warning(f"import dpnp before ishmem fails: {last_line(done)}", mend)
    else:
        yield ok("dpnp and ishmem can be imported in any order")


def _in_environment(folder: str) -> bool:
    try:
        return os.path.realpath(folder) == str(stack.library_folder())
    except ImportError:
        return False


def check_device_functions(machine: Machine) -> Iterator[Finding]:
    """Check that the device functions from ``ishmem precompile`` match the installed versions."""
    from ishmem.dpex.front_end import COMPILER
    from ishmem.runtime.kernel_loading import INSTALLED, VERSION

    if not COMPILER.compiles_ahead:
        yield ok(f"{COMPILER.name} compiles kernels")
        return
    program = "from ishmem.cli import precompile; print(precompile.version(), end='')"
    version = python(program, without_choice(machine.environ))
    if version.returncode:
        yield wrong(f"kernels' compiler cannot be imported: {last_line(version)}", "fix what the lines above report")
    elif not (INSTALLED / VERSION).exists():
        yield ok("no device functions are compiled ahead; after ishmem precompile, new kernels compile faster")
    elif (INSTALLED / VERSION).read_text() == version.stdout:
        yield ok("device functions of usual calls are compiled ahead")
    else:
        yield warning(f"the device functions in {INSTALLED} are of other versions and not used", "ishmem precompile")


def check_cache(machine: Machine) -> Iterator[Finding]:
    """Check that the folder for compiled kernels, if they are to be kept, can be written."""
    from ishmem.runtime import kernel_loading

    folder = kernel_loading.folder(machine.environ.get("ISHMEM_KERNEL_CACHE", "auto"))
    if folder is None:
        yield ok("compiled kernels are not kept: ISHMEM_KERNEL_CACHE=off")
    elif os.access(next(each for each in (folder, *folder.parents) if each.exists()), os.W_OK):
        yield ok(f"compiled kernels are kept in {folder}")
    else:
        mend = "set ISHMEM_KERNEL_CACHE to a folder that can be written"
        yield warning(f"compiled kernels are not kept: {folder} cannot be written", mend)
