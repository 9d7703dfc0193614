"""The emulated card: a process in which Intel's own driver finds a card that is not there.

``ISHMEM_CARD`` names it. The emulator is a library in place of the kernel's driver, so it must be in the process before
anything opens a device; and Intel's driver may need a newer C library than the system's. So a Python process with this
variable executes itself once more by the dynamic loader, as the interpreter starts (``ishmem.pth``): with the same
process number, arguments, descriptors and environment. Its children that are Python do the same.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from ishmem.common.errors import IshmemError

VARIABLE = "ISHMEM_CARD"
DRIVERS = "ISHMEM_CARD_DRIVER"
EMULATOR = "libishmem_emulator.so"
TILES = {"b580": 1, "max1550": 2, "lnl": 1}
"""The cards that the emulator has, and the tiles of each: a tile is a device."""
MOST = 8
"""Most cards of a kind."""
ALLOWED = f"{', '.join(TILES)}, each with :1 to :{MOST} or not, several separated by commas"

_ONE = rf"({'|'.join(TILES)})(:[1-{MOST}])?"
VALUES = rf"{_ONE}(,{_ONE})*"

_DRIVER = "libze_intel_gpu.so.1"
PACKAGES = {
    _DRIVER: "libze-intel-gpu1",
    "libze_loader.so.1": "libze1",
    "libigc.so.2": "libigc2",
    "libiga64.so.2": "libigc2",
    "libigdgmm.so.12": "libigdgmm12",
}
"""Intel's libraries that the card needs, and the package of each in Debian and Ubuntu."""
MEND = (
    "in a source tree, .ci/card; Debian sid: apt install {0}; Ubuntu: add-apt-repository "
    "ppa:kobuk-team/intel-graphics, then apt install {0}"
)

_EXTENSIONS = frozenset(("avx2", "fma", "f16c"))
"""Extensions of the processor that the emulator's code uses."""

_DYNAMIC_LOADER = "ld-linux-x86-64.so.2"
_SYSTEM = tuple(map(Path, ("/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/usr/local/lib")))


def requested() -> str:
    """Return the value of ``ISHMEM_CARD``; ``""`` where it is not set or ``ISHMEM_DEVICE`` is ``sim``.

    Raises:
        ValueError: It names no cards.
    """
    value = os.environ.get(VARIABLE, "").lower()
    if os.environ.get("ISHMEM_DEVICE", "").lower() == "sim":
        return ""
    if value and not re.fullmatch(VALUES, value):
        raise ValueError(f"{VARIABLE}: got {value!r}, allowed: {ALLOWED}")
    return value


def is_active() -> bool:
    """Return whether the emulator is loaded in this process."""
    return EMULATOR in Path("/proc/self/maps").read_text()


def for_devices(cards: str, devices: int) -> str:
    """Return ``cards`` with the number of cards that have ``devices`` devices, at most `MOST`.

    Unchanged if it has a number, as ``b580:4``, or names several kinds of cards.
    """
    if cards not in TILES:
        return cards
    return f"{cards}:{min(-(-devices // TILES[cards]), MOST)}"


def folder() -> Path | None:
    """Return the folder with Intel's libraries for the emulated card; None if those of the system serve.

    It is ``lib`` in the folder that ``ISHMEM_CARD_DRIVER`` names, or else in the one that ``.ci/card`` has made.
    """
    named = os.environ.get(DRIVERS)
    made = Path(named) if named else Path(__file__).parents[2] / "build" / "card"
    return made.absolute() / "lib" if named or made.is_dir() else None


def missing() -> list[str]:
    """Return the names of Intel's packages whose libraries are not installed."""
    own = folder()
    places = [own] if own else [*map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))), *_SYSTEM]
    return sorted({PACKAGES[name] for name in PACKAGES if not any((place / name).exists() for place in places)})


def emulator() -> Path | None:
    """Return the path of the emulator of this installation, ``None`` where it was not built."""
    places = (Path(place, "emulator", EMULATOR) for place in sys.modules["ishmem"].__path__)
    return next((place for place in places if place.exists()), None)


def problem() -> str:
    """Return why this process cannot run on an emulated card, ``""`` if it can."""
    if sys.version_info < (3, 10):
        return "it needs Python 3.10 or later"
    if lacks_here := _EXTENSIONS.difference(Path("/proc/cpuinfo").read_text().split()):
        return f"the emulator needs a processor with {', '.join(sorted(lacks_here))}"
    if not emulator():
        return f"the emulator {EMULATOR} is not in this installation: install ishmem4py anew"
    if lacks := missing():
        return f"Intel's packages {', '.join(lacks)} are missing: {MEND.format(' '.join(lacks))}"
    return ""


def check() -> None:
    """Check that a process can be on the card that ``ISHMEM_CARD`` names.

    Raises:
        IshmemError: The card cannot be emulated here.
    """
    if reason := problem():
        raise IshmemError(f"{VARIABLE}={requested()}, but {reason}")


def require() -> None:
    """Check that this process is on the card that ``ISHMEM_CARD`` names.

    Raises:
        IshmemError: This process is not on that card.
    """
    if not is_active():
        raise IshmemError(
            f"{VARIABLE}={requested()}, but this process has begun without it: set {VARIABLE} before Python starts, "
            f"as in {VARIABLE}={requested()} python prog.py"
        )


def enter() -> None:
    """Execute this process once more on the card that ``ISHMEM_CARD`` names; return if that is not possible.

    It also returns if no card is named, or the process is on it. ``ishmem.pth`` calls this before any code of the
    program; ``require`` raises the error of a failure later.
    """
    try:
        possible = requested() and not is_active() and not problem() and sys.executable
    except ValueError:
        return
    if possible:
        command = _command()
        os.execve(command[0], command, {**os.environ, **_variables()})


def _command() -> list[str]:
    """Return the command of this process, by the dynamic loader of Intel's libraries or of the system.

    The loader's options, unlike variables, are not for children: those that are not Python keep the system's libraries.
    """
    own = folder()
    loaders = [place / _DYNAMIC_LOADER for place in (own, Path("/lib64")) if place]
    loader = next(path for path in loaders if path.exists())
    path = ":".join(filter(None, [str(own or ""), os.environ.get("LD_LIBRARY_PATH")]))
    python, *arguments = sys.orig_argv
    libraries = ["--library-path", path] if path else []
    return [str(loader), "--preload", str(emulator()), *libraries, "--argv0", python, sys.executable, *arguments]


def _variables() -> dict[str, str]:
    own = folder()
    return {"ZE_ENABLE_ALT_DRIVERS": str(own / _DRIVER)} if own else {}
