"""Result files: JSON, with the environment of the measurement, and CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ishmem.benchmarks.runner import Options, Row
from ishmem.cli import info

FORMAT = 1
_CSV = ("op", "side", "axes", "pes", "contender", "status", "median", "q1", "q3", "min", "bytes", "GB/s", "Mop/s")


def environment(device: str = "") -> dict[str, Any]:
    """Return the conditions of the measurement, by name: date, machine, ``device``, commit, versions, settings."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": platform.node(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "device": device,
        "commit": _commit(),
        "versions": info.versions(),
        "settings": info.settings_that_are_set(),
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _commit() -> str:
    """Return the commit of the checkout that contains this package, with ``+`` if files have changed; else ""."""
    folder = Path(__file__).resolve().parent
    words = ["git", "-C", str(folder), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        tracked = subprocess.run([*words[:3], "ls-files", "--error-unmatch", "results.py"], capture_output=True)
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if tracked.returncode == 0 else ""


def write(path: Path, rows: Iterable[Row], options: Options, device: str, complete: bool) -> None:
    """Write results to a JSON file, one row per line; ``complete``: whether all points were measured."""
    head = {
        "format": FORMAT,
        "complete": complete,
        "environment": environment(device),
        "options": asdict(options),
    }
    text = json.dumps(head, indent=1)[:-2]
    lines = ",\n".join(json.dumps(row.as_dict()) for row in rows)
    path.write_text(f'{text},\n "rows": [\n{lines}\n]}}\n')


def read(path: str | Path) -> tuple[dict[str, Any], list[Row]]:
    """Return the header fields and the rows of a JSON file of results.

    Raises:
        ValueError: The file does not contain results of ``ishmem bench``.
    """
    try:
        data = json.loads(Path(path).read_text())
        if data.pop("format") != FORMAT:
            raise ValueError("another format version")
        return data, [Row(**row) for row in data.pop("rows")]
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} does not hold results of ishmem bench: {error}") from None


def options_of(head: dict[str, Any]) -> Options:
    """Return the options of a measurement from the header of its results, which `read` returns."""
    given = dict(head["options"])
    given.update({name: tuple(value) for name, value in given.items() if isinstance(value, list)})
    given["axes"] = {name: tuple(values) for name, values in given["axes"].items()}
    return Options(**given)


def as_csv(rows: Iterable[Row]) -> str:
    """Return results as CSV, with times in seconds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV)
    for row in rows:
        axes = " ".join(f"{name}={value}" for name, value in row.axes.items())
        cells = [row.op, row.side, axes, row.pes, row.contender, row.status]
        if row.seconds:
            cells += [row.seconds[name] for name in ("median", "q1", "q3", "min")]
            cells += [row.nbytes, row.bandwidth / 1e9, row.rate / 1e6]
        writer.writerow(cells)
    return out.getvalue()


def about(head: dict[str, Any]) -> str:
    """Return a line with the conditions of results, given their header: date, machine, versions, commit."""
    where, versions = head["environment"], head["environment"]["versions"]
    mpi = f", mpi4py {versions['mpi4py']} on MPICH {versions.get('mpich', '?')}" if "mpi4py" in versions else ""
    commit = f", commit {where['commit']}" if where["commit"] else ""
    return (
        f"{where['date'][:10]}, {where['cpu']}, {where['cores']} cores, {where['device']}; "
        f"Python {versions['Python']}{mpi}{commit}. Medians of the slowest PE."
    )
