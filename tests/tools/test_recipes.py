"""Recipes and packaging files: what they run works here, and what they say agrees with the package."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import run_command, succeeded

import ishmem

ROOT = Path(__file__).parents[2]
PLUGIN = (ROOT / "ishmem" / "testing" / "plugin.py").read_text()
BATCH = ROOT / "examples" / "batch"
PROJECT_TEST = """
import ishmem, pytest

@pytest.mark.ishmem(npes=[2, 3])
def test_it(ishmem_npes):
    assert ishmem.n_pes() == ishmem_npes
"""
PROGRAM = "import ishmem\nwith ishmem.init():\n    print('program', ishmem.my_pe())\n"
BEGINNINGS = (
    "pip install dist/ishmem4py-*.whl pytest", "ishmem doctor", "ISHMEM_DEVICE=gpu ishmem doctor",
    "python3.13 -m venv .venv",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a program and a test; the commands of the environment are on the path, but no slow doctor."""
    (tmp_path / "bin").mkdir()
    real = Path(sys.executable).parent / "ishmem"
    (tmp_path / "bin" / "ishmem").write_text(f'#!/bin/sh\ntest "$*" = doctor || exec {real} "$@"\n')
    (tmp_path / "bin" / "ishmem").chmod(0o755)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(PROJECT_TEST)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow("the other recipes")
def test_the_script_for_pbs_runs(project: Path) -> None:
    env = {"PBS_O_WORKDIR": str(project), "program": "program.py", "device": "sim"}
    done = succeeded(run_command(["bash", str(BATCH / "pbs.sh")], env=env))
    assert "found something wrong" not in done.stderr
    assert "[1] program 1\n" in done.stdout
    assert "1 passed" in done.stdout  # on 2 PEs


def test_the_script_for_slurm_runs(project: Path) -> None:
    env = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "1", "DEVICE": "sim", "PES": "1"}
    done = succeeded(run_command(["bash", str(BATCH / "slurm_tests.sh")], env=env))
    assert "1 skipped" in done.stdout  # it runs on 2 or 3 PEs only


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_ci_services_run_commands_that_are_tested(name: str) -> None:
    """`make lint` checks the files against the services' schemas; here, each command is one that exists."""
    text = (ROOT / "examples" / "ci" / name).read_text()
    commands = re.findall(r"^      - run: (.*)$|^    - ((?!if:).*)$", text, re.M)
    lines = [(one or other).split(" #")[0].strip() for one, other in commands]
    assert len(lines) == {"github-actions.yml": 7, "gitlab-ci.yml": 7}[name]
    for line in lines:
        words = shlex.split(line)
        if words[0] == "pytest":
            options = [word for word in words[1:] if word.startswith("--ishmem")]
            assert options
            assert all(f'"{option.split("=")[0]}"' in PLUGIN for option in options)
        else:
            assert line.startswith(BEGINNINGS), line


def test_dockerfile_copies_what_exists() -> None:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    for words in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
        source = next(word for word in words.split() if not word.startswith("--"))
        assert (ROOT / source).exists()
    for command in re.findall(r"^RUN (.*)$", text, re.M):
        subprocess.run(["bash", "-n", "-c", command], check=True)
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv*", "build"} <= set(ignored)


def test_the_devcontainer_calls_a_target_of_the_makefile() -> None:
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert settings["containerEnv"]["ISHMEM_DEVICE"] == "sim"
    target = settings["postCreateCommand"].split()[1]
    assert re.search(rf"^{re.escape(target.replace('.venv', '$(VENV)'))}:", (ROOT / "Makefile").read_text(), re.M)


def test_the_citation_names_the_version_of_the_package() -> None:
    assert f"version: {ishmem.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()
