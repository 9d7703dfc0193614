"""Validate cached kernels, and compile them with Intel's GPU compilers: ``make gpu-compile``.

With names of devices, such as ``make gpu-compile ARGS="pvc bmg-g21"``, the kernels are compiled for these only, each by
the newest compiler that knows it.

``make test`` saves the kernels of tests and examples in a folder of ``build/kernels``. This program validates those of
ishmem.dpex with ``spirv-val``, and compiles each kernel for each device. Results of the compiler are stored in
``build/gpu-compile`` under the hash of the kernel, so a second run compiles only new kernels. A kernel that is not
valid is a failure, and so is one that does not compile, unless `KNOWN` has the reason. What a kernel executes is
counted on emulated cards: ``python -m tools.counts``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tools import gpu_compiler, spirv_validator
from tools.gpu_compiler import DEVICES, NEWER_DEVICES, Compiler, Refused

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT, RESULTS = ROOT / "build" / "kernels", ROOT / "build" / "gpu-compile"
REPORT = RESULTS / "kernels.md"
OWN = KEPT / "dpex"
"""Where those of ishmem.dpex are. numba-dpex's are not valid: each has a variable of numba outside of functions."""
HEADER = 16 + 32  # magic and checksum of a cached kernel, see dpex/cache/store.py

KNOWN = {
    ("dg2", "Double type is not supported"): "it has float64 numbers, which an Arc lacks",
    ("dg2", "double type is not supported"): "it has float64 numbers, which an Arc lacks",
    **dict.fromkeys(
        ((device, "IGC: Internal Compiler Error: Floating point exception") for device in NEWER_DEVICES),
        "a crash of the compiler of 2026, cause not found; that of 2022 compiles it",
    ),
}
"""Expected compile errors, by device and part of the compiler's message, and their reasons."""
TOO_LONG = ("reduce_few_by_group", "reduce_numbers", "talk")
"""Kernels of which some, of 47,000 instructions and more, are rejected by the compiler of 2022 without a reason."""
WITHOUT_REASON = "exit status 1\nCompilation from IR - skipping loading of FCL"


class Kernel(NamedTuple):
    """A cached kernel: its name in Python, its SPIR-V, and the hash under which results are stored."""

    name: str
    code: bytes
    hash: str


class Result(NamedTuple):
    """Figures of a kernel compiled for a device; ``error`` is empty if it compiled."""

    simd: int = 0
    registers: int = 0
    spilled: int = 0
    error: str = ""


def main() -> int:
    """Validate and compile the kernels, print failures and return the exit status."""
    found = [gpu_compiler.find(ROOT / gpu_compiler.FETCHED), gpu_compiler.find_newer(ROOT / gpu_compiler.NEWER)]
    compilers = chosen([compiler for compiler in found if compiler], sys.argv[1:])
    validator = spirv_validator.find(ROOT / spirv_validator.FETCHED)
    if not compilers:
        tell_skipped("no GPU compiler (see .ci/gpu-compiler): NO KERNEL WAS COMPILED FOR A GPU")
    if not validator:
        tell_skipped("no spirv-val (see .ci/spirv-val): NO KERNEL WAS VALIDATED")
    if not compilers and not validator:
        return 0
    valid = int(validator is not None and validate(validator, kept_kernels(OWN)))
    return valid | report(compilers, kept_kernels())


def chosen(compilers: list[Compiler], devices: list[str]) -> list[Compiler]:
    """Return the compilers with the devices that each compiles for: all, or the given ones for the newest that can."""
    if not devices:
        return compilers
    left = set(devices)
    for compiler in reversed(compilers):  # the newest is the last
        compiler.devices = {device: name for device, name in compiler.devices.items() if device in left}
        left -= compiler.devices.keys()
    if left and compilers:
        sys.exit(f"no compiler is known for {', '.join(sorted(left))}; allowed: {', '.join(NEWER_DEVICES)}")
    return [compiler for compiler in compilers if compiler.devices]


def tell_skipped(what: str) -> None:
    """Print that a part is left out."""
    line = "=" * 100
    print(f"{line}\nSKIPPED: {what}.\n{line}")


def validate(validator: str, kernels: list[Kernel]) -> int:
    """Validate the kernels, print what is wrong and return the exit status."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(pool.map(lambda kernel: spirv_validator.fault(validator, kernel.code), kernels))
    wrong = [(kernel, fault) for kernel, fault in zip(kernels, faults) if fault]
    print(f"spirv-val: {len(kernels)} kernels; {len(wrong)} are not valid")
    for kernel, fault in wrong:
        print(f"  FAILED: {kernel.name}, {kernel.hash[:32]}: {fault}")
    return int(bool(wrong))


def report(compilers: list[Compiler], kernels: list[Kernel]) -> int:
    """Compile the kernels, write the report, print failures and return the exit status."""
    status, tables = 0, []
    for compiler in compilers:
        print(f"compiler {compiler.version()}:", flush=True)
        results = compile_all(compiler, kernels)
        tables.append(f"# {compiler.version()}\n\n{table(results)}")
        status |= tell(results, compiler.devices)
    if tables:
        REPORT.write_text("\n".join(tables))
    return status


def compile_all(compiler: Compiler, kernels: list[Kernel]) -> dict[tuple[Kernel, str], Result]:
    """Return the results of one compiler for all its devices."""
    known = compiled_before(compiler)
    jobs = [(kernel, device) for kernel in kernels for device in compiler.devices]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(jobs, pool.map(lambda job: result(compiler, known, *job), jobs)))


def kept_kernels(folder: Path = KEPT) -> list[Kernel]:
    """Return the cached kernels with the constants of a GPU, without duplicates, sorted by name."""
    found: dict[str, Kernel] = {}
    for path in folder.rglob("*.kernel"):
        name, _, code = path.read_bytes()[HEADER:].partition(b"\0")
        code = gpu_compiler.renamed(gpu_compiler.as_on_a_gpu(code))
        digest = hashlib.sha256(code).hexdigest()
        found[digest] = Kernel(readable(name.decode()), code, digest)
    return sorted(found.values(), key=lambda kernel: (kernel.name, len(kernel.code)))


def readable(mangled: str) -> str:
    """Return module and function of a name mangled by numba, which is a sequence of lengths and parts."""
    parts, at = [], len("_ZN")
    while found := re.match(r"\d+", mangled[at:]):
        at += found.end()
        parts.append(mangled[at : at + int(found[0])])
        at += int(found[0])
    parts = [re.sub(r"_24\d+$", "", part) for part in parts if "locals" not in part]  # $ and a number
    return ".".join(parts) or mangled[:40]


def compiled_before(compiler: Compiler) -> Path:
    """Return the folder with results of this compiler version; create it if necessary."""
    folder = RESULTS / compiler.version()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def result(compiler: Compiler, known: Path, kernel: Kernel, device: str) -> Result:
    """Return the stored result of a kernel, or compile it and store the result."""
    path = known / f"{kernel.hash[:32]}-{device}.json"
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Result(**json.loads(path.read_text()))
    try:
        made = compiler.compile(kernel.code, device)
    except Refused as reason:
        found = Result(error=str(reason))
    else:
        found = Result(made.simd, made.registers, made.spilled)
    path.write_text(json.dumps(found._asdict()))
    return found


def table(results: dict[tuple[Kernel, str], Result]) -> str:
    """Return a markdown table with a row for each kernel and device."""
    lines = ["| kernel | device | SPIR-V bytes | SIMD | registers | spilled bytes |", "|---" * 6 + "|"]
    for (kernel, device), found in results.items():
        facts: list[Any] = [found.simd, found.registers, found.spilled]
        if found.error:
            facts = ["does not compile", "", ""]
        lines.append("| " + " | ".join(map(str, [kernel.name, device, len(kernel.code), *facts])) + " |")
    return "\n".join(lines) + "\n"


def tell(results: dict[tuple[Kernel, str], Result], devices: dict[str, str] = DEVICES) -> int:
    """Print a summary and the compile errors for each device; return the exit status."""
    wrong = 0
    for device, product in devices.items():
        here = [(kernel, found) for (kernel, other), found in results.items() if other == device]
        failed = [(kernel, found.error) for kernel, found in here if found.error]
        spilling = {kernel.name for kernel, found in here if found.spilled}
        print(f"{device} ({product}): {len(here)} kernels; {len(failed)} do not compile; {len(spilling)} spill")
        for name in sorted(spilling):
            print(f"  spills: {name}")
        for kernel, error in failed:
            known = known_reason(device, error, kernel.name)
            wrong += not known
            print(f"  {'known' if known else 'FAILED'}: {kernel.name}, {kernel.hash[:32]}: {known or error}")
    print(f"each kernel: {REPORT.relative_to(ROOT)}")
    if not results:
        print("FAILED: there is no kept kernel at all: run make test")
    return int(wrong > 0 or not results)


def known_reason(device: str, error: str, name: str) -> str:
    """Return the reason for an expected compile error of a kernel, or an empty string if it is not expected."""
    if device in DEVICES and name in TOO_LONG and error.endswith(WITHOUT_REASON):
        return "it has more than 47,000 instructions; the compiler of 2022 gives no reason, that of 2026 compiles it"
    return next((why for (where, said), why in KNOWN.items() if where == device and said in error), "")


if __name__ == "__main__":
    sys.exit(main())
