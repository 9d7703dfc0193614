"""Tests the wheel and the source archive that ``make dist`` has made: ``python tests/distribution DIST [--download]``.

The wheel is installed into a fresh environment and used from a folder outside the checkout, with no compiler on the
path. The packages of the SYCL stack, 2.9 GB, are those of the environment that runs this program: their files are
linked into the new one, and pip, without an index, finds that they are what the wheel requires. With ``--download``,
pip installs them from the package index instead, which takes minutes.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / "build" / "distribution"
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "icx", "icpx", "ninja", "cmake")
IN_WHEEL = (
    "ishmem/__init__.py", "ishmem/__init__.pyi", "ishmem/py.typed", "ishmem/kernels/rma.py", "ishmem/ipc/pyze.py",
    "ishmem/benchmarks/suite.py", "ishmem/testing/plugin.py", "ishmem/simulator/libze_loader.so.1",
    "ishmem/simulator/ze_simulator_compiler", "ishmem/emulator/libishmem_emulator.so", "ishmem.pth",
)  # fmt: skip
IN_SOURCE = ("CMakeLists.txt", "LICENSE", "README.md", "simulator/driver.cpp", "tests/conftest.py", "docs/testing.md")
NOT_IN_WHEEL = ("tests/", "tools/", "examples/", "ishmem/core/", "simulator/", "emulator/")
NOT_IN_SOURCE = (".venv/", "build/", "dist/", ".git/")

EXAMPLES: dict[str, list[str]] = {
    "denoise.py": ["--iterations", "20"],
    "halo2d.py": [],
    "producer_consumer.py": ["21"],
    "ring.py": [],
    "work_stealing.py": [],
}
PLUGIN_TEST = '''
import ishmem
from ishmem import dpex
import pytest
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def send(item: kapi.Item, box, right):
    ishmem.p(box, ishmem.my_pe(), right)


@pytest.mark.ishmem(npes=2)
def test_send():
    me = ishmem.my_pe()
    box = ishmem.full(1, -1, dtype="i8")
    dpex.call_kernel(send, kapi.Range(1), box, 1 - me)
    ishmem.barrier_all()
    assert int(box[0]) == 1 - me
'''


def main() -> int:
    """Run all checks; the exit status is 1 when one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with the wheel and the source archive")
    parser.add_argument("--download", action="store_true", help="install the required packages from the index")
    options = parser.parse_args()
    wheel, source = only(options.folder, "ishmem4py-*.whl"), only(options.folder, "ishmem4py-*.tar.gz")
    check_contents(wheel, zipfile.ZipFile(wheel).namelist(), IN_WHEEL, NOT_IN_WHEEL)
    with tarfile.open(source) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    check_contents(source, names, IN_SOURCE, NOT_IN_SOURCE)
    make_environment(wheel, options.download)
    with tempfile.TemporaryDirectory() as folder:
        use(Path(folder), wheel)
    print(f"{wheel.name} and {source.name} work.")
    return 0


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of a pattern."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} has {len(found)} files {pattern}, not one: {[path.name for path in found]}")
    return found[0].resolve()


def check_contents(path: Path, names: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]) -> None:
    """Check that an archive has the files that users need, and none of the others."""
    missing = [name for name in wanted if name not in names]
    surplus = [name for name in names if name.startswith(tuple(unwanted))]
    if missing or surplus:
        sys.exit(f"{path.name} lacks {missing} and has {surplus[:5]}")
    print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB")


def make_environment(wheel: Path, download: bool) -> None:
    """Make a fresh environment with the wheel in it."""
    shutil.rmtree(VENV, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(VENV)])
    if not download:
        link_packages(VENV)
    source = [] if download else ["--no-index"]
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-input"]
    run([*pip, *source, "--only-binary=:all:", f"ishmem4py[examples] @ {wheel.as_uri()}", "pytest>=8"], PATH=path())


def link_packages(venv: Path) -> None:
    """Link the files of all packages of this environment, but ishmem and its commands, into another one."""
    here = Path(sysconfig.get_path("purelib"))
    there = venv / here.relative_to(sys.prefix)
    for package in importlib.metadata.distributions(path=[str(here)]):
        if package.metadata["Name"].lower() in ("ishmem4py", "pip", "setuptools"):
            continue
        for file in package.files or []:
            old, new = Path(os.path.normpath(here / file)), Path(os.path.normpath(there / file))
            if old.is_file() and new.parent != venv / "bin" and not new.exists():
                new.parent.mkdir(parents=True, exist_ok=True)
                os.link(old, new)


def path() -> str:
    """Return a path on which there is no compiler."""
    found = str(VENV / "bin")
    compilers = [name for name in COMPILERS if shutil.which(name, path=found)]
    if compilers:
        sys.exit(f"{found} has compilers: {compilers}")
    return found


def use(folder: Path, wheel: Path) -> None:
    """Use what is installed as a user does, from a folder that has nothing of the checkout but the examples."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "test_plugin.py").write_text(PLUGIN_TEST)
    python = str(VENV / "bin" / "python")
    where = "import ishmem; print(ishmem.__version__, ishmem.__file__)"
    version, file = run([python, "-c", where], folder).split()
    if version != wheel.name.split("-")[1] or not Path(file).is_relative_to(VENV):
        sys.exit(f"{wheel.name} is installed as version {version} in {file}")
    run([python, "-c", "import dpnp, ishmem"], folder)
    run(["ishmem", "info"], folder)
    run(["ishmem", "doctor"], folder)
    run(["ishmem", "demo"], folder)
    for name, arguments in EXAMPLES.items():
        run(["ishmem", "run", "-n", "2", f"examples/{name}", *arguments], folder)
    run(["ishmrun", "-n", "2", python, "-c", where], folder)
    run([python, "-m", "pytest", "-q", "test_plugin.py"], folder)


def run(command: list[str], folder: Path | None = None, **variables: str) -> str:
    """Run a command without compilers and without settings of this shell; end this program if it fails."""
    print("  $", " ".join(command).replace(str(ROOT) + os.sep, ""), flush=True)
    kept = ("HOME", "LANG", "TMPDIR", "PIP_INDEX_URL", "PIP_CACHE_DIR", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env.update({"ISHMEM_DEVICE": "sim", "ISHMEM_KERNEL_CACHE": str(VENV / "kernels"), **variables})
    if folder:
        env["PATH"] = path()
        command = [shutil.which(command[0], path=env["PATH"]) or command[0], *command[1:]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
