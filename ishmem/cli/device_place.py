"""The NUMA node and the cores near a PCI device, as the kernel shows them."""

from __future__ import annotations

from pathlib import Path


def place(address: str, root: Path = Path("/")) -> tuple[str, str]:
    """Return NUMA node and CPU cores near a device, by its PCI address; empty where the kernel does not know it."""
    folder = root / "sys/bus/pci/devices" / address
    node, cores = _text(folder / "numa_node"), _text(folder / "local_cpulist")
    return "" if node.startswith("-") else node, cores


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
