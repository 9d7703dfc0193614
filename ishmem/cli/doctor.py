"""``ishmem doctor``: check this machine and report the problems, each with a fix.

A check yields findings; it changes nothing and does not raise. Checks read files below `Machine.root`, so that tests
can create every condition.
"""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Callable

import click

from ishmem.cli.doctor_mpi import check_mpi, is_first
from ishmem.cli.doctor_software import (
    check_cache,
    check_device_functions,
    check_imports,
    check_libraries,
    check_names,
    check_packages,
    check_python,
    check_variables,
)
from ishmem.cli.findings import SECONDS, Finding, Machine, Severity, last_line, ok, python, warning, wrong
from ishmem.cli.report import check_report
from ishmem.environment import card, stack

DESCRIPTORS = 1024
MEMORY = 1 << 30


# ---- the devices


def check_nodes(machine: Machine) -> Iterator[Finding]:
    """Check that the kernel has Intel GPUs in /dev/dri, and that this user may read and write them."""
    nodes = sorted(machine.under("/dev/dri").glob("renderD*"))
    intel = [node for node in nodes if _vendor(machine, node.name) == "0x8086"]
    if not intel:
        yield warning("no Intel GPU in /dev/dri", "nothing for the simulator; else load the driver i915 or xe")
        return
    closed = [node for node in intel if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        names = ", ".join(f"/dev/dri/{node.name}" for node in closed)
        yield wrong(f"no permission for {names}", "sudo usermod -aG render,video $USER, then log in again")
    else:
        yield ok(f"{len(intel)} Intel GPUs, open to this user")


def _vendor(machine: Machine, name: str) -> str:
    try:
        return machine.under(f"/sys/class/drm/{name}/device/vendor").read_text().strip()
    except OSError:
        return ""


def check_card(machine: Machine) -> Iterator[Finding]:
    """Check whether emulated cards can be used: required, if the environment requests one."""
    if not machine.environ.get(card.VARIABLE):
        why = card.problem()
        yield ok(f"no emulated cards: {why}" if why else "emulated cards can be used: ishmem run --card b580")
    elif lacks := card.missing():
        mend = card.MEND.format(" ".join(lacks))
        yield wrong(f"the emulated card needs Intel's packages {', '.join(lacks)}", mend)
    elif why := card.problem():
        yield wrong(f"no emulated card: {why}", f"fix this, or unset {card.VARIABLE}")
    else:
        yield ok(f"an emulated card, {card.requested()}, below Intel's driver")


def check_hierarchy(machine: Machine) -> Iterator[Finding]:
    """Check the variables that select devices, and whether each tile of a card is a device."""
    shown = machine.environ.get("ZE_FLAT_DEVICE_HIERARCHY", "FLAT")
    if shown != "FLAT":
        yield warning(f"ZE_FLAT_DEVICE_HIERARCHY={shown}: a PE gets a card, not a tile", "unset it, or set it to FLAT")
    mask, selector = (machine.environ.get(name, "") for name in ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"))
    if mask:
        yield ok(f"ZE_AFFINITY_MASK={mask} leaves some devices, whose numbers count within it")
    if selector and not re.match(r"(level_zero|\*):", selector):
        yield wrong(f"ONEAPI_DEVICE_SELECTOR={selector} shows no Level Zero device", "unset ONEAPI_DEVICE_SELECTOR")
    elif mask and selector:
        yield warning(f"ONEAPI_DEVICE_SELECTOR={selector} counts within ZE_AFFINITY_MASK={mask}", "set one only")
    elif shown == "FLAT" and not mask:
        yield ok("every device is shown, tiles as devices")


_DEVICES = """
from pathlib import Path
from ishmem.environment import pinned_libraries, stack
print(stack.load())
loader = Path(stack.loaded_loader() or "")
bound = ["zeDeviceGetRootDevice", "zeCommandListHostSynchronize", "zeImageViewCreateExt"]  # by SYCL of 2024
for name in bound if pinned_libraries.apply() else ["zeInitDrivers"]:
    if loader.is_file() and name.encode() not in loader.read_bytes():
        print("lacks", loader, name, flush=True)  # SYCL may crash
from ishmem.ipc import pyze
handles = pyze.gpus()
print(len(handles))
import dpctl
print(len(dpctl.get_devices(backend="level_zero", device_type="gpu")))
for driver in pyze.drivers():
    print("driver", pyze.driver_version(pyze.driver_properties(driver).driverVersion), *pyze.api_version(driver))
from ishmem.runtime.peer_device import engines
for a in handles:
    print("engines", engines(a))
for a in handles:
    for b in handles:
        if a != b and not pyze.can_access_peer(a, b):
            print("none", handles.index(a), handles.index(b))
        elif a != b and not pyze.p2p_properties(a, b).flags & pyze.P2P_ATOMICS:
            print("no-atomics", handles.index(a), handles.index(b))
"""


def check_devices(machine: Machine) -> Iterator[Finding]:
    """Check the driver or simulator, its devices in Level Zero and in SYCL, and peer access between the devices."""
    environ = {**machine.environ}
    environ.setdefault("ISHMEM_SIM_DEVICES", "2")
    if cards := card.requested():
        environ[card.VARIABLE] = card.for_devices(cards, 2)
    done = python(_DEVICES, environ)
    lines = done.stdout.splitlines()
    lacks = [line.split()[1:] for line in lines if line.startswith("lacks ")]
    if lacks and (done.returncode < 0 or lines[0] == "gpu"):  # the simulator has those that SYCL of 2024 needs
        yield _old_loader(lacks, done.returncode < 0)
    if done.returncode:
        mend = "install the driver (libze1, libze-intel-gpu1), or use the simulator: ISHMEM_DEVICE=sim, or --sim"
        reason = f"ended by signal {-done.returncode}" if done.returncode < 0 else last_line(done)
        if "ERROR_UNINITIALIZED" in reason and (hidden := stack.mask_problem(environ)):
            reason, mend = f"{reason}: {hidden}", "unset ZE_AFFINITY_MASK"
        yield wrong(f"no device can be used: {reason}", mend)
        return
    kind, seen, of_sycl, *pairs = (line for line in lines if not line.startswith("lacks "))
    name = "the simulator" if kind == "sim" else "the driver"
    if seen == "0":
        mask = environ.get("ZE_AFFINITY_MASK")
        yield wrong(f"{name} shows no device", f"unset ZE_AFFINITY_MASK, now {mask}" if mask else "install the driver")
    else:
        yield ok(f"{name} shows {seen} devices")
    yield from _driver([line.split() for line in pairs])
    if seen != of_sycl and not environ.get("ONEAPI_DEVICE_SELECTOR"):
        mend = "give intel-cmplr-lib-ur the version of intel-sycl-rt"
        yield wrong(f"SYCL sees {of_sycl} devices, Level Zero {seen}", mend)
    apart = [line.split()[1:] for line in pairs if line.startswith("none")]
    if apart:
        yield warning(f"no peer access between devices {apart}", "use devices of one fabric; others are staged")
    weak = [line.split()[1:] for line in pairs if line.startswith("no-atomics")]
    if weak:
        yield warning(f"no peer atomics between devices {weak}", "nothing on PCIe; atomics take a slower route")


def _old_loader(lacks: list[list[str]], crashed: bool) -> Finding:
    found = f"the loader {lacks[0][0]} lacks {', '.join(name for _loader, name in lacks)}"
    mend = "install level-zero 1.18 or later"
    if crashed:
        return wrong(f"{found}, and SYCL has crashed", mend)
    if [name for _loader, name in lacks] == ["zeInitDrivers"]:
        return warning(f"{found}: SYCL of 2026 may crash with it", mend)
    return wrong(f"{found}, which SYCL needs", mend)


def _driver(facts: list[list[str]]) -> Iterator[Finding]:
    """Yield findings on drivers and compute queues; ``facts`` are the output lines of `_DEVICES`, split into words."""
    for version, *level in (fact[1:] for fact in facts if fact[0] == "driver"):
        yield ok(f"driver {version}, Level Zero {'.'.join(level)}")
    engines = [int(fact[1]) for fact in facts if fact[0] == "engines"]
    if engines:
        one = "one PE for each device, or kernels cannot wait for other PEs"
        yield ok(f"a device runs kernels of {min(engines)} processes concurrently{f': {one}' * (min(engines) == 1)}")


# ---- the operating system


def check_limits(machine: Machine) -> Iterator[Finding]:
    """Check that 1024 file descriptors are allowed, and that 1 GiB of memory is available."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        yield wrong(f"{soft} file descriptors allowed, {DESCRIPTORS} wanted", f"ulimit -n {min(hard, 65536)}")
    else:
        yield ok(f"{soft} file descriptors")
    available = _available(machine)
    if available < MEMORY:
        yield warning(f"{available >> 20} MiB of memory are free", "lower ISHMEM_SYMMETRIC_SIZE, or end other programs")
    else:
        yield ok(f"{available >> 30} GiB of memory are free")


def _available(machine: Machine) -> int:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+)", machine.under("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def check_sockets(_machine: Machine) -> Iterator[Finding]:
    """Check memfds, and that Unix sockets can send them to other processes."""
    try:
        fd = os.memfd_create("ishmem-doctor")
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with one, other:
            socket.send_fds(one, [b"x"], [fd])
            _data, fds, _flags, _address = socket.recv_fds(other, 1, 1)
        for each in (fd, *fds):
            os.close(each)
    except OSError as error:
        yield wrong(f"memory cannot be shared by Unix sockets: {error}", "let the container allow it")
        return
    yield ok("memfd and SCM_RIGHTS work")


def check_leftovers(machine: Machine) -> Iterator[Finding]:
    """Check for PEs whose launcher has ended, and for hubs of jobs that still wait for PEs."""
    try:
        sockets = machine.under("/proc/net/unix").read_text()
    except OSError:
        sockets = ""
    waiting = len(re.findall(r"^\S+ \S+ \S+ 00010000 .*@ishmem-[0-9a-f]{32}$", sockets, re.MULTILINE))  # listening
    orphans = [str(pid) for pid in _processes(machine) if _is_orphan(machine, pid)]
    if orphans:
        yield warning(f"PEs without their launcher: processes {', '.join(orphans)}", f"kill {' '.join(orphans)}")
    if waiting:
        yield warning(f"{waiting} jobs wait for PEs to come", "wait, or end them")
    if not orphans and not waiting:
        yield ok("nothing is left of other jobs")


def _processes(machine: Machine) -> list[int]:
    return sorted(int(path.name) for path in machine.under("/proc").glob("[0-9]*"))


def _is_orphan(machine: Machine, pid: int) -> bool:
    try:
        started = b"ISHMEM_PE=" in machine.under(f"/proc/{pid}/environ").read_bytes()
        parent = machine.under(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
    except (OSError, IndexError):
        return False
    return started and parent == "1" and pid != os.getpid()


# ---- all together

_JOB = """
import ishmem
ishmem.init("8M")
me, n = ishmem.my_pe(), ishmem.n_pes()
a = ishmem.zeros(n, dtype="i8")
for pe in range(n):
    ishmem.p(a, 7, pe, me)
ishmem.barrier_all()
assert all(ishmem.g(a, me, pe) == 7 for pe in range(n))
heap = ishmem.runtime.job.current().heap
rows = [" ".join(["row", *(str(int(route)) for route in row)]) for row in heap.between] if me == 0 else []
text = heap.describe_troubles()
lines = rows + ([f"trouble {me} {text}"] if text else [])
print("".join(line + "\\n" for line in lines), end="", flush=True)  # at once: all PEs print
ishmem.finalize()
"""
_REACH = ("direct", "no atomics", "by host")
"""Access of kernels to the memory of another device, by the number of the route."""


def check_job(machine: Machine) -> Iterator[Finding]:
    """Run a job with a PE for each device, whose PEs write to each other; report the routes between them as matrix."""
    n = 2 if machine.facts.returncode else max(len(json.loads(machine.facts.stdout)["devices"]), 2)
    launcher = [sys.executable, "-m", "ishmem.launch.run", "-n", str(n), "--no-prefix", "--timeout", str(SECONDS)]
    command = [*launcher, sys.executable, "-W", "ignore", "-c", _JOB]
    done = subprocess.run(command, env=machine.environ_of_no_job, capture_output=True, text=True, check=False)
    lines = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    matrix = [list(map(int, text.split())) for kind, text in lines if kind == "row"]
    if done.returncode:
        mend = "fix what the lines above report; ISHMEM_DEBUG=1 shows more"
        yield wrong(f"a job of {n} PEs fails: {last_line(done)}", mend)
        return
    yield ok(f"a job of {len(matrix)} PEs shares memory")
    troubles = [text.partition(" ") for kind, text in lines if kind == "trouble"]
    if troubles:  # the text of the lowest PE describes the troubles of all PEs
        yield warning(min(troubles, key=lambda trouble: int(trouble[0]))[2], "see docs/hardware.md, links and routes")
    yield ok("what kernels of a PE (rows) do in the memory of another (columns), as tried:" + _matrix(matrix))


def _matrix(routes: list[list[int]]) -> str:
    """Return a matrix of routes as text, one line for each PE."""
    width = max(map(len, _REACH)) + 2
    rows = [[str(pe), *(_REACH[route] for route in row)] for pe, row in enumerate(routes)]
    head = ["", *map(str, range(len(routes)))]
    return "".join("\n         " + "".join(word.ljust(width) for word in row).rstrip() for row in [head, *rows])


CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    check_python, check_packages, check_names, check_libraries, check_variables, check_imports, check_device_functions,
    check_cache, check_nodes, check_card, check_hierarchy, check_devices, check_limits, check_sockets, check_leftovers,
    check_mpi, check_job, check_report,
)  # fmt: skip


def examine(machine: Machine) -> Iterator[Finding]:
    """Yield the findings of all checks, in order; an exception in a check is a finding, too."""
    for check in CHECKS:
        try:
            yield from check(machine)
        except Exception as error:  # the checks after it are still useful
            yield wrong(f"{check.__name__.replace('_', ' ')}: {str(error) or type(error).__name__}", "report this")


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check this machine, and report problems and their fixes; exit status 1 if there is an error.

    Under mpiexec the first process checks its node, and the CPU cores of all processes.
    """
    if not is_first():
        return
    from rich.console import Console
    from rich.text import Text

    console, worst = Console(soft_wrap=True), Severity.OK
    styles = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.WRONG: "bold red"}
    for finding in examine(Machine()):
        console.print(Text(f"{finding.severity.value:8}", styles[finding.severity]) + Text(finding.text))
        if finding.mend:
            console.print(Text(f"         fix: {finding.mend}"))
        if finding.severity is Severity.WRONG or worst is Severity.OK:
            worst = finding.severity
    ctx.exit(1 if worst is Severity.WRONG else 0)
