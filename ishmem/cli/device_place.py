"""NUMA node and CPU cores near a PCI device, from the kernel's files in /sys."""

from __future__ import annotations

from pathlib import Path


def place(address: str, root: Path = Path("/")) -> tuple[str, str]:
    """Return NUMA node and CPU cores near the device at PCI ``address``, "" if unknown; /sys is in ``root``."""
    folder = root / "sys/bus/pci/devices" / address
    node, cores = _text(folder / "numa_node"), _text(folder / "local_cpulist")
    return "" if node.startswith("-") else node, cores


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
