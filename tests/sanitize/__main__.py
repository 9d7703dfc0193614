"""Builds the C++ parts with sanitizers and runs tests on them: ``make sanitize``, or ``python tests/sanitize``.

Both builds are installed into folders of their own, beside the editable installation. Python, SYCL and the OpenCL
runtime are not instrumented; the sanitizer's library is preloaded. Any report and any failed test is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "sanitize"
COMPILER = os.environ.get("CXX") or "c++"

IPC = [
    "host/test_ipc.py::test_two_processes_share_heaps[tiles]",
    "host/test_ipc.py::test_two_processes_share_heaps[pool]",
    "simulator/test_simulator.py::test_ipc_handles[opaque-hello-hello]",
    "simulator/test_simulator.py::test_memory",
    "simulator/test_simulator.py::test_events_and_time_limits",
]
ATOMICS = [
    "chapters/test_amo.py::test_host_atomics_at_the_limits_of_a_type[2pes-int32]",
    "chapters/test_amo.py::test_host_atomics_at_the_limits_of_a_type[2pes-float64]",
    "chapters/test_amo.py::test_no_update_is_lost_under_contention[2pes-everyone]",
    "job/test_threads.py::test_many_threads_on_a_queue",
    "job/test_threads.py::test_many_threads_on_shared_elements",
    "job/test_threads.py::test_threads_beside_allocation",
]
READERS = ["job/test_fuzz.py::test_damaged_modules_in_the_simulator"]


@dataclass
class Sanitizer:
    """A sanitizer: the flags of its build, the tests that run on it, and their environment."""

    name: str
    kinds: str
    library: str
    options: str
    tests: list[str]


ADDRESS = Sanitizer(
    "address",
    "address,undefined",
    "libasan.so",
    # The interpreter does not free all memory at exit. SYCL's kernels and the OpenCL runtime mix malloc and delete.
    "detect_leaks=0:alloc_dealloc_mismatch=0:detect_stack_use_after_return=1",
    [*IPC, *ATOMICS, *READERS],
)
THREAD = Sanitizer("thread", "thread", "libtsan.so", f"suppressions={HERE / 'thread.supp'}", [*IPC, *ATOMICS])


def main() -> int:
    """Run both at once, as each has parts that use one core only."""
    with ThreadPoolExecutor() as pool:
        return max(pool.map(check, [ADDRESS, THREAD]))


def check(sanitizer: Sanitizer) -> int:
    """Build, run the tests and report."""
    problem = missing(sanitizer)
    if problem:
        print(f"SKIPPED: the {sanitizer.name} sanitizer: {problem}\n", end="", flush=True)
        return 0
    for command, folder, environment in (build(sanitizer), uses(sanitizer), test(sanitizer)):
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            break
    reports = sorted(logs(sanitizer).glob("report.*"))
    said = "".join(report.read_text(errors="replace") for report in reports)
    wrong = bool(done.returncode or reports)
    head = f"---- {sanitizer.name} sanitizer: {'FAILED' if wrong else 'nothing found'}\n"
    print(head + (done.stdout + said if wrong else done.stdout.splitlines()[-1]) + "\n", end="", flush=True)
    return int(wrong)


def missing(sanitizer: Sanitizer) -> str:
    """Return why a sanitizer is not available here, or nothing."""
    path = library(sanitizer.library)
    if not os.path.isabs(path):
        return f"{COMPILER} has no {sanitizer.library}"
    done = subprocess.run(
        [sys.executable, "-c", "pass"], env={**os.environ, "LD_PRELOAD": path}, capture_output=True, text=True
    )
    return f"Python does not start with it: {done.stderr.strip()}" if done.returncode else ""


def library(name: str) -> str:
    """Return the path of a library of the compiler, or, where the compiler has none, its bare name."""
    done = subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True)
    return done.stdout.strip() or name


def logs(sanitizer: Sanitizer) -> Path:
    """Return the folder of a sanitizer's reports."""
    return BUILD / f"{sanitizer.name}.reports"


Step = tuple[list[str], Path, dict[str, str]]


def build(sanitizer: Sanitizer) -> Step:
    """Return command, folder and environment of the build."""
    target = BUILD / sanitizer.name
    shutil.rmtree(target, ignore_errors=True)
    settings = {
        "build-dir": f"{target}.cmake",
        "cmake.build-type": "Debug",
        "cmake.define.CMAKE_CXX_FLAGS_DEBUG": "-O1 -g1",
        "cmake.define.ISHMEM_SANITIZE": sanitizer.kinds,
    }
    options = [word for name, value in settings.items() for word in ("-C", f"{name}={value}")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    return [*pip, "--target", str(target), *options, str(ROOT)], ROOT, dict(os.environ)


LOADED = """
import sys
import ishmem
from ishmem import _core, stack
used = [_core.__file__, str(stack.simulator())]
sys.exit(0 if all(path.startswith(sys.argv[1]) for path in used) else f"not built with the sanitizer: {used}")
"""


def uses(sanitizer: Sanitizer) -> Step:
    """Return command, folder and environment of a program that looks which libraries the tests will use."""
    _command, folder, environment = test(sanitizer)
    return [sys.executable, "-c", LOADED, str(BUILD / sanitizer.name)], folder, environment


def test(sanitizer: Sanitizer) -> Step:
    """Return command, folder and environment of the tests; the folder is not the one with the package's source."""
    reports = logs(sanitizer)
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    options = f"log_path={reports / 'report'}:{sanitizer.options}"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{HERE}:{BUILD / sanitizer.name}",
        # The address sanitizer looks for the functions of C++ exceptions when it starts; extensions of dpctl throw.
        "LD_PRELOAD": f"{library(sanitizer.library)}:{library('libstdc++.so.6')}",
        "ASAN_OPTIONS": options,
        "TSAN_OPTIONS": options,
        "UBSAN_OPTIONS": f"log_path={reports / 'report'}:print_stacktrace=1",
    }
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pes", "2", *sanitizer.tests]
    return pytest, HERE.parent, environment


if __name__ == "__main__":
    sys.exit(main())
