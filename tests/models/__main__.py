"""Verify the protocols under a weak memory model with Spin: ``make prove``, or ``python tests/models [model ...]``.

Each ``*.pml`` file in this directory, except weak.pml, models functions of the library, which it names. Spin explores
all states of the model for each number of PEs. Each ``NO_...`` macro defines a variant that omits one fence, memory
order or step of the code; Spin must find an error in it. A model with an error, or a variant without one, is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "models"
COMPILER = os.environ.get("CC") or "cc"
PES = {
    "barrier": (2, 3, 4),  # with 3 PEs, every PE is notified by each other PE directly
    "meeting": (2, 3, 4),  # with 3, two are joined; with 4, there are two rounds
    "rounds": (2, 3, 4),  # as for meeting
    "small_alltoall": (3, 4),
    "small_reductions": (2, 3, 4),
    "work_groups": (2,),  # work-groups; three hold, too, and take 100 s
}
USUAL = (2, 3)
LIMITS = ["-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=16384", "-DMEMLIM=6000"]
DEPTH = "-m100000"


@dataclass
class Run:
    """Result of a Spin run on a model or on a variant of it."""

    model: str
    pes: int
    variant: str
    states: int
    seconds: float
    fault: str  # empty if Spin found no error

    @property
    def refuted(self) -> bool:
        """Whether Spin found a counterexample, as opposed to failing to run."""
        return self.fault.startswith(("assertion violated", "invalid end state"))


def variants(model: str) -> list[str]:
    """Return the names of the variants of a model, its ``NO_...`` macros."""
    return sorted(set(re.findall(r"^#ifn?def (NO_\w+)", (HERE / f"{model}.pml").read_text(), re.MULTILINE)))


def check(spin: str, model: str, pes: int, variant: str = "") -> Run:
    """Explore all states of a model or variant with Spin."""
    folder, begun = BUILD / "-".join(filter(None, (model, str(pes), variant))), time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    defines = [f"-DN={pes}", *([f"-D{variant}"] if variant else [])]
    # Compile time matters more than speed: an error in a variant is found early.
    steps = [
        [spin, f"-P{COMPILER} -E -x c", *defines, "-a", str(HERE / f"{model}.pml")],
        [COMPILER, "-w", "-O0" if variant else "-O1", *LIMITS, "-o", "pan", "pan.c"],
        ["./pan", "-n", DEPTH],
    ]
    said = ""
    for command in steps:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = done.stdout
        if done.returncode:
            break
    states = re.search(r"^ *(\d+) states, stored", said, re.MULTILINE)
    return Run(model, pes, variant, int(states[1]) if states else 0, time.monotonic() - begun, fault_in(said))


def fault_in(said: str) -> str:
    """Return the error that Spin found, or the end of its output if the search is incomplete; else an empty string."""
    found = re.search(r"^pan:1: (.*) \(at depth", said, re.MULTILINE)
    if found:
        return found[1]
    if "Warning: Search not completed" in said or "max search depth too small" in said or "errors: 0" not in said:
        return f"not completed: {said[-400:]}"
    return ""


def refute(spin: str, model: str, variant: str) -> Run:
    """Search for a counterexample to a variant, with the smallest number of PEs first."""
    for pes in PES.get(model, USUAL):
        run = check(spin, model, pes, variant)
        if run.refuted:
            break
    return run


def report(model: str, proofs: list[Run], refutations: list[Run]) -> bool:
    """Print the rows of a model; return whether all proofs hold and all variants are refuted."""
    for run in proofs:
        print(f"{model:20}{run.pes:>4}{run.states:>11,}{run.seconds:>8.1f} s  {run.fault or 'holds'}")
    left = [run for run in refutations if not run.refuted]
    names = ", ".join(run.variant for run in refutations if run.refuted)
    print(f"{'':20}refuted {len(refutations) - len(left)} of {len(refutations)} variants: {names}")
    for run in left:
        print(f"{'':20}NOT REFUTED: {run.variant} {run.fault}")
    sys.stdout.flush()
    return not left and not any(run.fault for run in proofs)


def main() -> int:
    """Check the models named by the arguments, or all."""
    here = ROOT / "build" / "spin" / "usr" / "bin" / "spin"
    spin = shutil.which("spin") or (str(here) if here.exists() else None)
    if not spin or not shutil.which(COMPILER):
        lacking = "C compiler" if spin else "spin, which .ci/spin fetches from Debian"
        print(f"SKIPPED: NOTHING WAS PROVEN: there is no {lacking}")
        return 0
    models = sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.pml") if path.stem != "weak")
    print(f"{'model':20}{'PEs':>4}{'states':>11}{'time':>10}  result")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Start with most PEs, which take longest.
        cases = [(pes, model) for model in models for pes in PES.get(model, USUAL)]
        proofs = {case: pool.submit(check, spin, case[1], case[0]) for case in sorted(cases, key=lambda c: -c[0])}
        others = {(m, v): pool.submit(refute, spin, m, v) for m in models for v in variants(m)}
        good = [
            report(
                model,
                [proofs[case].result() for case in cases if case[1] == model],
                [run.result() for (name, _variant), run in others.items() if name == model],
            )
            for model in models
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
