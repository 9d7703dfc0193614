"""Run the tests of numba-dpex, dpctl and dpnp on the simulated GPU: ``make test-clients``, or ``python tests/clients``.

With ``ISHMEM_CARD=b580``, they run on that emulated card.

Arguments are files, relative to the site-packages; without any, all files run.

They come with the wheels. Where numba-dpex is not installed, its wheel is downloaded for its tests, and they run on
`ishmem.dpex` (see ``alias.py``); some of dpnp's tests run there, too.

Each file runs in a process of its own, two at a time. If the process ends or stalls, its current test has failed and a
new process runs the rest. Tests that are expected to fail are listed in ``expected_failures.txt``, those of
`ishmem.dpex` in ``expected_failures_dpex.txt``, with their reasons. Any other failure is an error, and so is a listed
test that does not fail, unless its reason begins with ``May pass:``, or it runs on a card: some reasons are of the
simulator's runtime.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import reporter

from ishmem.dpex import HAS_NUMBA_DPEX
from ishmem.environment import card, stack

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "clients"
SITE = Path(sysconfig.get_path("purelib"))
WHEEL = BUILD / "numba-dpex"
"""Where numba-dpex's tests stand if it is not installed."""
FOLDERS: dict[str, tuple[str, ...]] = {
    "numba_dpex/tests/kernel_api": (),
    "numba_dpex/tests/kernel_tests": (),
    "dpctl/tests": (),
}
"""Folders of tests, and the files of each that run; none: all."""
if HAS_NUMBA_DPEX:
    FOLDERS["numba_dpex/tests/dpjit_tests"] = ()
else:  # of dpnp's tests some of what ishmem and its examples call
    FOLDERS["dpnp/tests"] = ("test_copy.py", "test_fill.py", "test_sort.py", "test_sum.py")
    FOLDERS["dpnp/tests/tensor"] = ("test_tensor_sum.py", "test_usm_ndarray_ctor.py", "test_usm_ndarray_sorting.py")
EXPECTED = HERE / ("expected_failures.txt" if HAS_NUMBA_DPEX else "expected_failures_dpex.txt")

AT_ONCE = int(os.environ.get("CLIENTS_AT_ONCE", "2"))
"""Files that run at a time."""
STALL = 600.0
"""Seconds without a new line of the report after which a process is ended."""
KERNEL_LIMIT = "30"
"""Seconds that a simulated kernel may take."""
ON_CARD = bool(card.requested())
CARD_KERNEL_LIMIT = "300"
"""Seconds that a kernel of an emulated card may take, which is slower."""

stop = threading.Event()
"""Set when the processes are to end."""

Outcomes = dict[str, tuple[str, str]]
"""Outcome and text of each test."""


def main(arguments: list[str]) -> int:
    """Run the files, or all of them; print progress, errors and counts; return the exit status."""
    if not HAS_NUMBA_DPEX:
        fetch_tests()
    files = arguments or [file for folder in FOLDERS for file in test_files(folder)]
    expected = expected_failures(EXPECTED.read_text())
    BUILD.mkdir(parents=True, exist_ok=True)
    found: dict[str, Outcomes] = {}
    for file, outcomes in run_all(files):
        found[file] = outcomes
        print(f"[{len(found):3}/{len(files)}] {file}: {counts(outcomes, expected)}", flush=True)
    problems = list(unexpected(found, expected))
    print(summary(found, expected), *problems, sep="\n")
    return 1 if problems else 0


def test_files(folder: str) -> list[str]:
    """Return the files of tests of one of ``FOLDERS``, relative to `root`."""
    inside = root(folder) / folder
    paths = [inside / name for name in FOLDERS[folder]] or inside.rglob("test_*.py")
    return sorted(str(path.relative_to(root(folder))) for path in paths)


def root(file: str) -> Path:
    """Return the folder that a file or folder of tests is relative to."""
    return WHEEL if file.startswith("numba_dpex/") and not HAS_NUMBA_DPEX else SITE


def fetch_tests() -> None:
    """Unpack the tests of numba-dpex's wheel into ``WHEEL``."""
    if (WHEEL / "numba_dpex").exists():
        return
    wanted = ["numba-dpex==0.23.0", "--no-deps", "--python-version", "3.11", "--only-binary", ":all:"]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wanted, "-d", str(BUILD / "wheels")], check=True)
    with zipfile.ZipFile(next((BUILD / "wheels").glob("numba_dpex-*.whl"))) as wheel:
        wheel.extractall(WHEEL, [name for name in wheel.namelist() if name.startswith("numba_dpex/tests/")])


def expected_failures(text: str) -> dict[str, str]:
    """Parse the list of expected failures: tests, one a line, below comments that state the reason.

    Raises:
        ValueError: A test has no reason.
    """
    found: dict[str, str] = {}
    reason: list[str] = []
    in_comment = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("#"):
            reason = [*(reason if in_comment else []), line.lstrip("# ")]
        elif line and not reason:
            raise ValueError(f"{EXPECTED.name}: no reason for {line}")
        elif line:
            found[line] = " ".join(reason)
        in_comment = line.startswith("#")
    return found


def run_all(files: list[str]) -> Iterator[tuple[str, Outcomes]]:
    """Run files, ``AT_ONCE`` at a time; yield the outcomes of each when it has ended."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {pool.submit(run, file): file for file in files}
        try:
            for job in as_completed(jobs):
                yield jobs[job], job.result()
        finally:  # after Ctrl-C, too
            stop.set()
            pool.shutdown(cancel_futures=True)


def run(file: str) -> Outcomes:
    """Run the tests of a file; start anew after a crash, with the tests that are left."""
    report = BUILD / (file.replace("/", ".") + ".jsonl")
    report.unlink(missing_ok=True)
    finished = -1
    while True:
        how = run_once(file, report)
        events = reporter.read(report)
        outcomes = {test: (event, text) for event, test, text in events if event in reporter.OUTCOMES}
        if (events and events[-1][0] == reporter.ENDED) or stop.is_set():
            return outcomes
        if events and events[-1][0] == reporter.STARTED:
            reporter.write(report, "failed", events[-1][1], how)
        elif len(outcomes) == finished:
            return {**outcomes, file: ("failed", how)}
        finished = len(outcomes)


def run_once(file: str, report: Path) -> str:
    """Run the tests of a file that have no outcome yet in one process; return how it ended."""
    report.touch()
    where = f"--rootdir={root(file)}", str(root(file) / file)
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, *where]
    command += [] if HAS_NUMBA_DPEX else ["-p", "alias"]
    command += ["-p", "reporter", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout"]
    with report.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=BUILD, env=environment(report), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        stalled = False
        try:
            while process.poll() is None and not stalled and not stop.is_set():
                time.sleep(0.1)
                stalled = time.time() - report.stat().st_mtime > STALL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if stalled:
        return f"no end after {STALL:g} s"
    return f"ended by signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"


def environment(report: Path) -> dict[str, str]:
    """Return the environment of the tests: the GPU is the only device."""
    kind = "gpu" if ON_CARD else "sim"
    given = {
        "ISHMEM_DEVICE": kind,
        "ISHMEM_CARD_TIME_LIMIT": CARD_KERNEL_LIMIT,
        "ISHMEM_KERNEL_CACHE": str(BUILD / f"kernels-{kind}"),
        "ISHMEM_KERNEL_CACHE_SIZE": "4G",
        "ISHMEM_TIMEOUT": KERNEL_LIMIT,
        "ONEAPI_DEVICE_SELECTOR": "level_zero:gpu",
        "NUMBA_DPEX_TESTS": str(WHEEL),
        "PYTHONPATH": str(HERE),
        reporter.FILE: str(report),
    }
    return {**os.environ, **stack.environment(kind), **given}


def counts(outcomes: Outcomes, expected: dict[str, str]) -> str:
    """Return the number of tests of each outcome as text."""
    number = Counter(kind(test, outcome, expected) for test, (outcome, _text) in outcomes.items())
    order = ("passed", "skipped", "expected failure", "FAILED", "PASSED UNEXPECTEDLY")
    return ", ".join(f"{number[one]} {one}" for one in order if number[one]) or "no tests"


def kind(test: str, outcome: str, expected: dict[str, str]) -> str:
    """Return what an outcome means for a test."""
    if test not in expected:
        return "FAILED" if outcome == "failed" else outcome
    if outcome != "failed" and may_pass(test, expected):
        return outcome
    return "expected failure" if outcome == "failed" else "PASSED UNEXPECTEDLY"


def may_pass(test: str, expected: dict[str, str]) -> bool:
    """Return whether a listed test fails in some runs only."""
    return ON_CARD or expected[test].startswith("May pass:")


def unexpected(found: dict[str, Outcomes], expected: dict[str, str]) -> Iterator[str]:
    """Yield a text for each error."""
    outcomes = {test: outcome for file in found.values() for test, outcome in file.items()}
    for test, (outcome, text) in sorted(outcomes.items()):
        if outcome == "failed" and test not in expected:
            yield f"FAILED: {test}: {text.strip()}"
        if outcome != "failed" and test in expected and not may_pass(test, expected):
            yield f"{outcome.upper()} UNEXPECTEDLY: {test} is in {EXPECTED.name}: {expected[test]}"
    for test in sorted(expected.keys() - outcomes.keys()):
        if test.partition("::")[0] in found:
            yield f"NO SUCH TEST: {test} is in {EXPECTED.name}"


def folder_of(file: str) -> str | None:
    """Return the one of ``FOLDERS`` that a file belongs to: the innermost."""
    return max((folder for folder in FOLDERS if file.startswith(folder + "/")), key=len, default=None)


def summary(found: dict[str, Outcomes], expected: dict[str, str]) -> str:
    """Return the counts of each of ``FOLDERS`` that has files."""
    lines = []
    for folder in FOLDERS:
        inside = [outcomes for file, outcomes in found.items() if folder_of(file) == folder]
        together = {test: outcome for outcomes in inside for test, outcome in outcomes.items()}
        lines += [f"{folder}: {counts(together, expected)}"] if inside else []
    return "\n".join(lines)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the processes, too
    sys.exit(main(sys.argv[1:]))
