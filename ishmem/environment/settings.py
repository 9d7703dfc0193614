"""Settings, read from ``ISHMEM_*`` environment variables.

``python -m ishmem.environment.settings`` prints them as a table in markdown.
"""

import difflib
import itertools
import logging
import os
import re
import socket
import warnings
from pathlib import Path
from typing import Any, Callable, Optional, Union

import attrs
from attrs.converters import optional as unless_none, to_bool
from attrs.validators import and_, ge, in_, le, matches_re, optional

from ishmem.common import algorithms, kernel_wait, limits
from ishmem.common.sizes import parse_size
from ishmem.environment import card as emulated

PREFIX = "ISHMEM_"

SIMULATOR = {
    "SIM_DEVICES": ("1; `ishmem run`: one for each PE", "number", "number of simulated GPUs"),
    "SIM_MEMORY": ("16G", "bytes, K, M or G", "memory of each simulated GPU"),
    "SIM_STRICT": ("0", "0 or 1", "host access to device memory ends the process, as on hardware"),
    "SIM_TRACE": ("0", "0, 1 or 2", "print the driver's calls"),
    "SIM_INLINE": ("0", "0 or 1", "work runs in the submitting call, not on a thread of the queue"),
    "SIM_IPC": ("fd", "fd, pool, opaque, opaque-strict or tiles", "format of the IPC handles"),
    "SIM_PEERS": (
        "atomics",
        "atomics, access, none or wrong",
        "what a simulated GPU may do with the memory of another card",
    ),
    "SIM_CARD": ("1", "number", "simulated GPUs on one card, which always reach each other"),
    "SIM_KINDS": (
        "discrete",
        "discrete, integrated or npu, separated by commas",
        "kind of each simulated device; those after the last one are discrete GPUs",
    ),
    "SIM_ENGINES": ("64", "number", "processes whose kernels a simulated GPU runs concurrently"),
    "SIM_HOST_ATOMICS": ("1", "0 or 1", "whether host atomics on device memory are coherent"),
    "SIM_FAIL": (
        "none",
        "`alloc:N`, `ipc-open:N`, `resident:N`, `build:N`, `launch:N`, `copy:N`, each with `@PE` or not",
        "inject faults from the N-th call on",
    ),
    "SIM_SLOW": ("0", "microseconds; `@PE`", "added duration of each launch and each copy"),
    "SIM_VECTORISE": (
        "auto",
        "auto, or bytes, K",
        "largest module whose kernels are vectorised; auto: 16K, or any with work-groups, from runtime 2026.2 on",
    ),
    "SIM_OPTIMISE": ("32K", "bytes, K", "largest module that the OpenCL runtime optimises"),
    "SIM_COMPILE_LIMIT": ("600", "seconds", "how long the compilation of a module may take"),
    "SIM_OPENCL": ("of the wheel", "path", "the OpenCL CPU runtime, libintelocl.so"),
}
"""Variables that the simulator reads: default, allowed values, meaning. See docs/simulator.md."""

_SWITCH, _NUMBER, _FAULT = (
    r"[01]",
    r"\d+|0[xX][\da-fA-F]+",
    r"(alloc|ipc-open|resident|build|launch|copy):0*[1-9]\d*(@\d+)?",
)
_SIMULATOR_VALUES = {
    "SIM_DEVICES": _NUMBER,
    "SIM_MEMORY": rf"({_NUMBER})[KMGkmg]?",
    "SIM_STRICT": _SWITCH,
    "SIM_TRACE": r"[012]",
    "SIM_INLINE": _SWITCH,
    "SIM_IPC": "fd|pool|opaque|opaque-strict|tiles",
    "SIM_PEERS": "atomics|access|none|wrong",
    "SIM_CARD": _NUMBER,
    "SIM_KINDS": r"(discrete|integrated|npu)(,(discrete|integrated|npu))*",
    "SIM_ENGINES": _NUMBER,
    "SIM_HOST_ATOMICS": _SWITCH,
    "SIM_FAIL": rf"none|{_FAULT}(,{_FAULT})*",
    "SIM_SLOW": r"\d+(@\d+)?",
    "SIM_VECTORISE": rf"auto|({_NUMBER})[Kk]?",
    "SIM_OPTIMISE": rf"({_NUMBER})[Kk]?",
    "SIM_COMPILE_LIMIT": _NUMBER,
}
"""Patterns of the values that the simulator accepts, for variables that do not accept every text."""

EMULATOR = {
    "CARD_TRACE": ("0", "0, 1, 2", "trace of an emulated card: 1 ioctls, submissions and kernels; 2 each packet, too"),
    "CARD_TIME_LIMIT": ("none", "seconds", "a kernel on an emulated card that runs for longer is reset"),
    "CARD_SEED": ("0", "number", "chooses the order of an emulated card's hardware threads"),
    "CARD_MEMORY": ("none", "weak:NUMBER", "an emulated card has caches and late stores, which the number chooses"),
    "CARD_COUNT": ("none", "path", "a file to which each kernel on an emulated card appends its counts, as JSON"),
}
"""Variables that the emulated card reads: default, allowed values, meaning. See docs/emulator.md."""

# Set by installations of Intel SHMEM; not a setting.
_FOREIGN = {"ISHMEM_ROOT"}

_SIZE_ALLOWED = "bytes, or a number with K, M, G or T (powers of 1024), such as 512M or 1.5GB; more than 0"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_OFF, _ON = ("", "0", "false", "no", "off"), ("1", "true", "yes", "on")

_warned: set[str] = set()


def _time_or_never(text: Any) -> float:
    return limits.seconds(text) if float(text) else 0.0


def _level(value: Union[str, int, None]) -> Optional[int]:
    text = str(value).strip()
    if value is None or text.lower() in _OFF:
        return None
    if text.lower() in _ON:
        return logging.DEBUG
    if text.upper() not in _LEVELS:
        raise ValueError(f"not a level: {value!r}")
    return int(getattr(logging, text.upper()))


def _folder(value: Any) -> str:
    text = str(value).strip()
    if text.lower() in ("auto", *_ON):
        return "auto"
    if text.lower() in _OFF:
        return "off"
    if "/" not in text:
        raise ValueError(f"not a folder: {value!r}")
    try:
        return str(Path(text).expanduser().absolute())
    except RuntimeError:
        raise ValueError(f"the folder of no user: {value!r}") from None


def _trace_folder(value: Any) -> Optional[str]:
    text = str(value).strip()
    if value is None or text.lower() in _OFF:
        return None
    return _folder(f"./{'ishmem-trace' if text.lower() in _ON else text}" if "/" not in text else text)


def _algorithms(text: str) -> str:
    algorithms.parse(text)
    return text


_TIME_OR_NEVER = f"{limits.TIME_ALLOWED.replace('more than 0, ', '')}; 0: never"


def _setting(
    default: Any, allowed: str, description: str, convert: Callable[[Any], Any] = str, check: Any = None
) -> Any:
    """Return a field whose text ``convert`` converts and whose value ``check`` checks; the default `None` is unset."""
    if default is None:
        convert, check = unless_none(convert), check and optional(check)
    metadata = {"allowed": allowed, "description": description}
    return attrs.field(default=default, converter=convert, validator=check, metadata=metadata)


def _choice(default: str, *others: str, description: str) -> Any:
    words = (default, *others)
    return _setting(default, f"{', '.join(words[:-1])} or {words[-1]}", description, str.lower, in_(words))


@attrs.frozen(kw_only=True)
class Settings:
    """The settings: a field for each variable, ``ISHMEM_`` and its name in capitals, with a description."""

    symmetric_size: int = _setting("512M", _SIZE_ALLOWED, "size of each PE's symmetric heap", parse_size)
    debug: Optional[int] = _setting(
        None, "true, false, or a level: " + ", ".join(_LEVELS), "messages of the logger `ishmem` on stderr", _level
    )
    device: str = _choice(
        "auto", "gpu", "sim", description="real GPUs or the simulator; auto: real GPUs if there are any"
    )
    card: Optional[str] = _setting(
        None,
        emulated.ALLOWED,
        "emulated cards below Intel's own driver, in place of other devices; `ishmem run`: one device for each PE; see "
        "docs/emulator.md",
        str.lower,
        matches_re(emulated.VALUES),
    )
    card_driver: Optional[str] = _setting(
        None,
        "a folder",
        "Intel's driver for the emulated card, as .ci/card has put it; unset: build/card of the source tree, else the "
        "system's",
    )
    ze_loader: Optional[str] = _setting(
        None,
        "path of a libze_loader.so.1",
        "the Level Zero loader; unset: the system's loader, or none with the simulator",
    )
    host_atomics: str = _choice(
        "auto",
        "mapped",
        "kernel",
        description="how the host does atomics: on the mapped heap or by a kernel; auto: as the device allows",
    )
    copy_cutover: Optional[int] = _setting(
        None,
        _SIZE_ALLOWED,
        "size from which the copy engine copies instead of the host; unset: chosen by device",
        parse_size,
    )
    algorithm: str = _setting(
        "",
        "`routine=algorithm` or `routine=algorithm:size`, separated by commas; see docs/collectives.md",
        "forces the algorithm of a collective routine, from a block size on",
        _algorithms,
    )
    profile: Optional[str] = _setting(
        None, "a file that `ishmem tune` wrote", "algorithms and cutovers; unset: the default path of `ishmem tune`"
    )
    init_timeout: float = _setting(60.0, limits.TIME_ALLOWED, "how long `init` waits for the other PEs", limits.seconds)
    timeout: Optional[float] = _setting(
        None,
        limits.TIME_ALLOWED,
        "longest time of a wait, also on a queue, or of a kernel that the program waits for; then every wait raises "
        "`WaitTimeout`, which says where each PE is; unset: no limit",
        limits.seconds,
    )
    wait_notice: float = _setting(
        kernel_wait.NOTICE,
        _TIME_OR_NEVER,
        "a wait that has lasted so long prints one line, which says where each PE is, and goes on",
        _time_or_never,
    )
    node_timeout: float = _setting(
        60.0,
        _TIME_OR_NEVER,
        "in a job on several nodes, how long a node may be silent before it counts as lost; one whose connection "
        "closes is lost at once",
        _time_or_never,
    )
    on_loss: str = _choice(
        "end",
        "continue",
        description="what a job does when a PE dies: end, or continue with those that are left; `ishmem run --survive`",
    )
    teams_max: int = _setting(
        64, "3 to 64", "largest number of teams on a PE, the three predefined ones included", int, and_(ge(3), le(64))
    )
    check: bool = _setting(
        False,
        "true or false",
        "kernels check PEs, addresses, bounds, values and the calls of groups; the host raises the errors; freed "
        "memory is 0xFF and waits",
        to_bool,
    )
    kernel_cache: str = _setting(
        "auto",
        "auto, off, or a folder (with a /)",
        "where compiled code is kept; auto: the user's cache folder",
        _folder,
    )
    kernel_cache_size: int = _setting(
        "256M",
        _SIZE_ALLOWED,
        "size of the kernel cache; what was not used for the longest time is removed first",
        parse_size,
    )
    p2p: str = _choice(
        "auto",
        "off",
        "require",
        description="access of kernels to the memory of other GPUs; auto: where the driver reports it and the proof in "
        "`init` succeeds; off: through the host; require: an error of `init` where it is not possible",
    )
    shared_device: str = _choice(
        "refuse",
        "allow",
        description="kernels that wait for other PEs, when a GPU cannot run the kernels of all its PEs concurrently",
    )
    leaks: str = _choice(
        "auto",
        "warn",
        "ignore",
        "error",
        description="what `finalize` does about arrays that were not freed; auto: a `ResourceWarning`, which Python "
        "shows with -X dev or -W default",
    )
    sim_order: Optional[str] = _setting(
        None,
        "late, or late: and a seed, a number",
        "operations on other PEs arrive late and in another order, so that a missing fence, quiet, wait or barrier "
        "shows; see docs/howto/find-missing-order.md",
        check=matches_re("late(:[0-9]{1,18})?"),
    )
    trace: Optional[str] = _setting(
        None,
        "a folder",
        "where each PE writes a trace of its calls, which `ishmem trace` shows; see docs/trace.md",
        _trace_folder,
    )
    stats: bool = _setting(False, "true or false", "each PE prints counts and times of its calls when it ends", to_bool)
    pe: Optional[int] = _setting(None, "0 to ISHMEM_NPES - 1", "number of this PE; set by `ishmem run`", int, ge(0))
    npes: Optional[int] = _setting(None, "at least 1", "number of PEs; set by `ishmem run`", int, ge(1))
    job: Optional[str] = _setting(
        None, "32 hexadecimal digits", "name of the job; set by `ishmem run`", check=matches_re("[0-9a-f]{32}")
    )
    node: Optional[str] = _setting(
        None, "a name", "the node that this PE is on, for tests; unset: found by the machine's boot and its network"
    )
    mpiexec: Optional[str] = _setting(
        None,
        "a path",
        "the mpiexec of `ishmem run --hosts`; unset: the one beside mpi4py's MPI library, else the first on the path",
    )
    mpi_device_memory: str = _choice(
        "auto",
        "on",
        "off",
        description="between nodes, whether MPI gets the device addresses of payloads above 8 KiB; auto: if the MPI "
        "library says that it handles Level Zero memory",
    )
    board: Optional[str] = _setting(None, "a path", "the shared status board of the job; set by `ishmem run`")
    hub: Optional[str] = _setting(
        None, "a text", "where the hub of `ishmem run --survive` on several nodes listens; set by `ishmem run`"
    )
    network: Optional[str] = _setting(
        None, "a number", "the network namespace of `ishmem run`, where PEs have to be; set by `ishmem run`"
    )
    selected: Optional[str] = _setting(
        None,
        "a text",
        "the value of ONEAPI_DEVICE_SELECTOR and of ZE_AFFINITY_MASK with which `ishmem run` has started the program",
    )
    joined: Optional[int] = _setting(
        None,
        "a process number",
        "the process that joined the job, so that its child processes do not; set by init",
        int,
        ge(1),
    )


FIELDS: dict[str, Any] = {PREFIX + field.name.upper(): field for field in attrs.fields(Settings)}
"""The field of each variable."""


def load(on_loss: Optional[str] = None) -> Settings:
    """Read the settings from the environment; warn, once each, about unknown names. An empty variable counts as unset.

    ``on_loss``, unless None, overrides the setting of that name.

    Raises:
        ValueError: Variables are wrong; the message has the name, the text and the allowed values of each.
    """
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known() and name not in _warned:
            _warned.add(name)
            warnings.warn(_unknown(name), stacklevel=2)
    if wrong := [name for name, values in _SIMULATOR_VALUES.items() if not _is_one_of(values, PREFIX + name)]:
        raise ValueError(
            "; ".join(
                f"{PREFIX}{name}: got {os.environ[PREFIX + name]!r}, allowed: {SIMULATOR[name][1]}" for name in wrong
            )
        )
    given = {name: text for name, text in os.environ.items() if text and name in FIELDS}
    if on_loss is not None:
        given[f"{PREFIX}ON_LOSS"] = str(on_loss)
    try:
        settings = _settings(given)
    except ValueError:
        raise ValueError("; ".join(filter(None, itertools.starmap(_problem, given.items())))) from None
    _check_launched(settings)
    return settings


def _settings(texts: dict[str, str]) -> Settings:
    fields: dict[str, Any] = {FIELDS[name].name: text for name, text in texts.items()}
    return Settings(**fields)


def _problem(name: str, text: str) -> str:
    """Return the error message for the text of a variable; empty if the text is valid."""
    try:
        _settings({name: text})
    except ValueError as error:
        cause = f"; {error}" if name == f"{PREFIX}ALGORITHM" else ""
        return f"{name}: got {text!r}, allowed: {FIELDS[name].metadata['allowed']}{cause}"
    return ""


def _check_launched(settings: Settings) -> None:
    """Check the variables of the launcher together."""
    launch = {"ISHMEM_PE": settings.pe, "ISHMEM_NPES": settings.npes, "ISHMEM_JOB": settings.job}
    missing = [name for name, value in launch.items() if value is None]
    if 0 < len(missing) < len(launch):
        raise ValueError(f"{', '.join(missing)}: got nothing, allowed: all of {', '.join(launch)}, or none of them")
    if settings.pe is not None and settings.npes is not None and settings.pe >= settings.npes:
        raise ValueError(f"ISHMEM_PE: got '{settings.pe}', allowed: 0 to {settings.npes - 1} (ISHMEM_NPES - 1)")


def _is_one_of(values: str, name: str) -> bool:
    """Return whether a variable is unset or empty, or matches a pattern."""
    given = os.environ.get(name, "")
    return not given or re.fullmatch(values, given) is not None


def known() -> set[str]:
    """Return the names of all variables that ishmem reads."""
    return {*FIELDS, *(PREFIX + name for name in {**SIMULATOR, **EMULATOR}), *_FOREIGN}


def start_logging(settings: Settings, pe: int = 0, npes: int = 1) -> None:
    """Show the messages of the logger ``ishmem`` on stderr, with ``pe``, ``npes`` and host, if ``DEBUG`` is set."""
    logger = logging.getLogger("ishmem")
    for handler in [handler for handler in logger.handlers if handler.name == "ishmem"]:
        logger.removeHandler(handler)
    if settings.debug is None:
        return
    handler = logging.StreamHandler()
    handler.name = "ishmem"
    handler.setFormatter(logging.Formatter(f"[{pe}/{npes} {socket.gethostname()}] %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(settings.debug)


def table() -> str:
    """Return the settings as a table in markdown."""
    rows = ["| variable | default | allowed | meaning |", "|---|---|---|---|"]
    for name, field in FIELDS.items():
        default = "" if field.default in (None, "") else f"`{field.default}`"
        rows.append(f"| `{name}` | {default} | {field.metadata['allowed']} | {field.metadata['description']} |")
    rows += [f"| `{PREFIX}{name}` | {' | '.join(texts)} |" for name, texts in {**SIMULATOR, **EMULATOR}.items()]
    return "\n".join(rows)


def _unknown(name: str) -> str:
    documented = [each.removeprefix(PREFIX) for each in known() - _FOREIGN]
    close = difflib.get_close_matches(name.removeprefix(PREFIX), documented, n=1)
    return f"{name} is no setting of ishmem" + (f"; did you mean {PREFIX}{close[0]}?" if close else "")


if __name__ == "__main__":
    print(table())
