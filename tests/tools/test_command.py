"""The command ``ishmem``: its subcommands, ``info`` and ``run``."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest
from subprocesses import run_command, succeeded

from ishmem.cli import device_place
from ishmem.cli.command import SUBCOMMANDS
from ishmem.examples.apps import APPS
from ishmem.ipc import pyze
from ishmem.testing import nodes

ISHMEM = [sys.executable, "-m", "ishmem"]


def ishmem_command(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return run_command([*ISHMEM, *words], env=env)


def info(*words: str, **env: str) -> dict[str, Any]:
    done = ishmem_command("info", "--json", *words, env=env)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_help_lists_every_subcommand() -> None:
    done = ishmem_command("--help")
    assert done.returncode == 0, done.stderr
    for name, subcommand in SUBCOMMANDS.items():
        assert any(line.split()[:1] == [name] and subcommand.help in line for line in done.stdout.splitlines())


def test_help_loads_neither_the_stack_nor_a_subcommand() -> None:
    program = (
        "import sys; from ishmem.cli.command import command\n"
        "try: command(['--help'])\n"
        "except SystemExit: pass\n"
        "print('LOADED', *sorted(sys.modules), file=sys.stderr)"
    )
    done = run_command([sys.executable, "-c", program])
    loaded = set(done.stderr.split())
    assert "LOADED" in loaded
    used = {subcommand.target.split(":")[0] for subcommand in SUBCOMMANDS.values()} - {"ishmem.cli.command"}
    assert loaded.isdisjoint({"dpctl", "dpnp", "numba", "numpy", "rich", "matplotlib", *used})


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_each_subcommand_is_where_the_table_says(name: str) -> None:
    module, attribute = SUBCOMMANDS[name].target.split(":")
    assert isinstance(getattr(importlib.import_module(module), attribute), click.Command)


def test_a_name_that_is_wrong_gets_a_hint() -> None:
    done = ishmem_command("inof")
    assert done.returncode == 2
    assert "no such command: inof; did you mean info?" in done.stderr
    done = ishmem_command("zzz")
    assert "allowed are " + ", ".join(sorted(SUBCOMMANDS)) in done.stderr


def test_the_script_is_installed() -> None:
    done = run_command([os.path.join(os.path.dirname(sys.executable), "ishmem"), "--version"])
    assert done.stdout.startswith("ishmem ")


def test_run_is_ishmrun() -> None:
    done = ishmem_command("run", "-n", "2", "--no-prefix", sys.executable, "-c", "print('one ', end='')")
    assert (done.returncode, done.stdout.split()) == (0, ["one", "one"])
    assert ishmem_command("run").returncode == 2


# --- info


def test_info_of_the_simulator() -> None:
    facts = info("-n", "3", ISHMEM_SYMMETRIC_SIZE="64M")
    assert facts["driver"]["kind"] == "simulator"
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["driver"]["version"]), "as the doctor writes it"
    assert facts["versions"]["dpctl"] == metadata.version("dpctl")
    addresses = {device["PCI address"] for device in facts["devices"]}
    assert all(re.fullmatch(r"[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.[\da-f]", address) for address in addresses)
    assert len(facts["devices"]) == len(addresses) == 3
    assert facts["links"] == [["itself" if i == k else "atomics" for k in range(3)] for i in range(3)]
    assert facts["heap"] == {"size": 64 << 20, "fits": True}
    assert facts["settings"]["ISHMEM_SYMMETRIC_SIZE"] == "64M"
    assert facts["routes"] == [["copies mapped; atomics mapped; kernels direct"] * 3] * 3


def test_info_shows_what_settings_change() -> None:
    facts = info("-n", "4", ISHMEM_SIM_DEVICES="2", ISHMEM_COPY_CUTOVER="1M", ISHMEM_HOST_ATOMICS="kernel")
    assert len(facts["devices"]) == 2
    assert facts["routes"] == [["copies mapped, copy engine from 1M; atomics by a kernel; kernels direct"] * 4] * 4
    denied = info(ISHMEM_SIM_HOST_ATOMICS="0")
    assert not denied["devices"][0]["host atomics"]
    assert "atomics by a kernel" in denied["routes"][0][1]


def test_info_says_what_goes_through_the_host() -> None:
    apart = info(ISHMEM_SIM_DEVICES="2", ISHMEM_SIM_PEERS="none")["routes"]
    assert [[route.split("; kernels ")[1] for route in row] for row in apart] == [
        ["direct", "through the host; no ptr"], ["through the host; no ptr", "direct"],
    ]  # fmt: skip
    on_pcie = info(ISHMEM_SIM_DEVICES="2", ISHMEM_SIM_PEERS="access", ISHMEM_SIM_HOST_ATOMICS="0")["routes"]
    stores = "loads and stores direct, atomics through the host"
    assert {route.split("; kernels ")[1] for row in on_pcie for route in row} == {stores}


def test_info_of_a_job() -> None:
    """Under mpiexec the first process shows the nodes and all routes; without namespaces, ISHMEM_NODE makes nodes."""
    mpiexec = [str(Path(sys.executable).with_name("mpiexec"))]
    for node in range(2):
        mpiexec += [":"] * node + ["-n", str(1 + node), "env", f"ISHMEM_NODE=node{node}", *ISHMEM, "info", "--json"]
    done = succeeded(run_command(mpiexec, env={**nodes.SETTINGS, "ISHMEM_MPI_DEVICE_MEMORY": "on"}))
    facts = json.loads(done.stdout)
    assert [(node["PEs"], node["devices"]) for node in facts["nodes"]] == [([0], 1), ([1, 2], 2)]
    far = [[route.startswith("messages over MPI") for route in row] for row in facts["routes"]]
    assert far == [[False, True, True], [True, False, False], [True, False, False]]
    assert facts["MPI"]["library"].startswith("MPICH")
    assert facts["MPI"]["transport"] == "ofi, provider tcp"
    assert facts["MPI"]["payloads"] == "from and to device memory"
    assert facts["MPI"]["mpiexec"].startswith(mpiexec[0])


@pytest.fixture(scope="module")
def shown() -> str:
    """What ``ishmem info`` prints where a setting is wrong."""
    done = ishmem_command("info", env={"COLUMNS": "200", "ISHMEM_SYMMETRIC_SIZE": "much"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_info_of_mpi_without_a_job(shown: str) -> None:
    lines = shown.splitlines()
    assert any(line.split()[:2] == ["library", "MPICH"] for line in lines), shown
    assert any(line.split()[:4] == ["payloads", "known", "in", "a"] for line in lines), shown
    assert not any(line.startswith("Nodes") for line in lines)


def test_info_shows_a_setting_that_is_wrong(shown: str) -> None:
    assert "ISHMEM_SYMMETRIC_SIZE: got 'much', allowed: " in " ".join(shown.split())


@pytest.mark.parametrize("title", ["Versions", "Devices", "Links", "Routes between PEs", "Settings that are set"])
def test_info_has_a_table(shown: str, title: str) -> None:
    assert any(line.startswith(title) for line in shown.splitlines()), shown
    assert "simulated" in shown


def test_info_explains_its_words(shown: str) -> None:
    legend = shown.partition("Legend\n")[2]
    words = ("at once", "EUs", "NUMA", "CPU cores", "mapped", "direct", "coherent")
    assert [word for word in words if word not in legend] == []


def test_info_says_why_it_cannot() -> None:
    done = ishmem_command("info", env={"ISHMEM_DEVICE": "gpu"})
    if done.returncode:
        assert done.returncode == 2
        assert done.stderr.startswith("ishmem: ISHMEM_DEVICE=gpu, but ")
    done = ishmem_command("info", env={"ISHMEM_DEVICE": "cpu"})
    assert done.returncode == 2
    assert "ISHMEM_DEVICE: got 'cpu', allowed: auto, gpu or sim" in done.stderr


def test_places_of_devices(tmp_path: Path) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:3a:00.0"
    folder.mkdir(parents=True)
    (folder / "local_cpulist").write_text("0-23,48-71\n")
    (folder / "numa_node").write_text("1\n")
    assert device_place.place("0000:3a:00.0", tmp_path) == ("1", "0-23,48-71")
    (folder / "numa_node").write_text("-1\n")
    assert device_place.place("0000:3a:00.0", tmp_path) == ("", "0-23,48-71")
    assert device_place.place("0000:3b:00.0", tmp_path) == ("", "")
    assert pyze.driver_version(17170433) == "1.6.1"


def test_names_of_demo_are_apart() -> None:
    lines = ishmem_command("demo").stdout.splitlines()
    for name in APPS:
        assert any(line.split()[:1] == [name] for line in lines), name
