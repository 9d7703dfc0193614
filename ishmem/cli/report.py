"""Text of ``ishmem doctor`` for a problem report: versions of packages, kernel, driver and devices, and variables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ishmem.cli.findings import Finding, Machine, last_line, ok, warning
from ishmem.common import sizes

_KEY = re.compile(r"(NEO_(L0_)?)?(NEOReadDebugKeys|([A-Z]+[a-z0-9]+){2,})")
"""Names of debug keys of Intel's driver: in camel case, which is rare in names of other variables."""
_OTHERS = re.compile(r"(?!ISHMEM_JOB$)(ISHMEM|ZEX?|ZES|ZET|SYCL|UR|ONEAPI|IGC)_\w+")
_FIRMWARE = re.compile(r"(\w+) firmware:.*?found\D*?(\d+(?:\.\d+)+)", re.DOTALL)


def check_report(machine: Machine) -> Iterator[Finding]:
    """Yield all versions and the debug keys of the driver as one finding, and a warning if debug keys are in effect."""
    keys = _named(_KEY, machine.environ)
    reads = machine.environ.get("NEOReadDebugKeys") == "1"
    if keys and reads:
        yield warning(f"debug keys change Intel's driver: {_words(keys)}", f"unset {' '.join(keys)}")
    facts = {} if machine.facts.returncode else json.loads(machine.facts.stdout)
    lines = _software(facts) if facts else [f"devices: none can be used: {last_line(machine.facts)}"]
    lines += [f"device {number}: {_device(machine, each)}" for number, each in enumerate(facts.get("devices", ()))]
    ignored = " (not read, as NEOReadDebugKeys is not 1)" * bool(keys and not reads)
    lines.append(f"debug keys: {_words(keys) or 'none'}{ignored}")
    lines.append(f"variables: {_words(_named(_OTHERS, machine.environ)) or 'none'}")
    yield ok("report, to paste:" + "".join(f"\n         {line}" for line in lines))


def _named(pattern: re.Pattern[str], environ: dict[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in sorted(environ) if pattern.fullmatch(name)}


def _words(variables: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in variables.items())


def _software(facts: dict[str, Any]) -> list[str]:
    driver, versions = facts["driver"], facts["versions"]
    return [
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"kernel: Linux {os.uname().release}",
        f"loader: {Path(driver['loader']).resolve()}",
        f"driver: {driver['kind']} {driver['version']}, Level Zero {driver['Level Zero']}",
    ]


def _device(machine: Machine, facts: dict[str, Any]) -> str:
    """Return a text on a device, its kernel driver and, if this user may read it, its firmware."""
    words = [facts["name"], sizes.format_size(facts["memory"])] + ["integrated"] * facts["integrated"]
    if address := facts["PCI address"]:
        folder = machine.under(f"/sys/bus/pci/devices/{address}")
        ids = ":".join(_text(folder / name).removeprefix("0x") for name in ("vendor", "device"))
        kernel = os.path.basename(os.path.realpath(folder / "driver")) if (folder / "driver").exists() else "unknown"
        module = machine.under(f"/sys/module/{kernel}")
        version = _text(module / "version") or _text(module / "srcversion")
        words += [f"PCI {address} {ids}".rstrip(": "), f"kernel driver {kernel} {version}".rstrip()]
        words.append(f"firmware {_firmware(machine, address) or 'unknown (root sees it in debugfs)'}")
    return ", ".join(words)


def _firmware(machine: Machine, address: str) -> str:
    folders = machine.under("/sys/kernel/debug/dri").glob("*")
    files = [path for each in folders if address in _text(each / "name") for path in each.glob("gt*/uc/*_info")]
    found = {" ".join(match) for path in files for match in _FIRMWARE.findall(_text(path))}
    return ", ".join(sorted(found))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
