import logging
import re
import subprocess
import sys
import warnings

import pytest
from hypothesis import given, settings as limits, strategies as st

from ishmem.common import sizes
from ishmem.environment import settings

LARGEST = 2**63 - 1


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in settings.known():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(settings, "_warned", set())


def load_with(**variables):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv("ISHMEM_" + name, value)
        return settings.load()


def refused(**variables):
    with pytest.raises(ValueError, match="allowed: ") as caught:
        load_with(**variables)
    return str(caught.value)


def test_defaults():
    got = settings.load()
    assert got.symmetric_size == 512 << 20
    assert (got.device, got.host_atomics, got.leaks) == ("auto", "auto", "auto")
    assert (got.debug, got.copy_cutover, got.init_timeout) == (None, None, 60.0)
    assert (got.pe, got.npes, got.job) == (None, None, None)
    assert got.node_timeout >= 30


def test_empty_means_unset():
    assert load_with(SYMMETRIC_SIZE="", DEVICE="", PE="") == settings.load()


def test_frozen():
    with pytest.raises(AttributeError):
        settings.load().symmetric_size = 1


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("1K", 1024),
        ("1.5g", 3 << 29),
        (".5M", 1 << 19),
        ("2T", 2 << 40),
        (" 8k ", 8192),
        ("1GB", 1 << 30),
        ("3kib", 3072),
        ("64B", 64),
    ],
)
def test_sizes(text, size):
    assert load_with(SYMMETRIC_SIZE=text).symmetric_size == size
    assert load_with(COPY_CUTOVER=text).copy_cutover == size


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "1E", "K", "1.2.3", "1 K", "0x10", "8388608T", "nan", "٣", "0.1", "1.5", "1.0", "1.5B", "1KiBB", "1iB"],
)
def test_wrong_sizes(text):
    message = refused(SYMMETRIC_SIZE=text)
    assert message.startswith(f"ISHMEM_SYMMETRIC_SIZE: got {text!r}, allowed: ")


@limits(deadline=None)
@given(st.integers(1, LARGEST))
def test_sizes_round_trip(size):
    assert sizes.parse_size(sizes.format_size(size)) == size
    assert sizes.parse_size(str(size)) == size


@pytest.mark.parametrize(
    ("text", "level"),
    [("1", logging.DEBUG), ("True", logging.DEBUG), ("0", None), ("false", None), ("info", logging.INFO)],
)
def test_debug(text, level):
    assert load_with(DEBUG=text).debug == level


SIMULATOR = {
    "DEVICES": "two", "MEMORY": "16Q", "STRICT": "yes", "TRACE": "3", "IPC": "fds", "PEERS": "all", "FAIL": "launch",
    "SLOW": "5@x", "VECTORISE": "on", "HOST_ATOMICS": "2",
}  # fmt: skip
"""Settings of the simulator, with values that it does not take."""


def test_values_that_the_simulator_takes():
    load_with(SIM_MEMORY="0x10M", SIM_FAIL="alloc:3,launch:5@1", SIM_SLOW="20@1", SIM_VECTORISE="64K")


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("DEBUG", "loud", "DEBUG, INFO"),
        ("DEVICE", "tpu", "auto, gpu or sim"),
        ("HOST_ATOMICS", "x", "auto, mapped or kernel"),
        ("INIT_TIMEOUT", "0", "seconds, more than 0"),
        ("INIT_TIMEOUT", "inf", "seconds, more than 0"),
        ("LEAKS", "drip", "auto, warn, ignore or error"),
        ("PE", "-1", "0 to ISHMEM_NPES - 1"),
        ("TEAMS_MAX", "65", "3 to 64"),
        ("JOB", "../x", "32 hexadecimal digits"),
        ("SIM_ORDER", "early", "late, or late: and a seed"),
        ("SIM_ORDER", "late:x", "late, or late: and a seed"),
        ("SIM_ORDER", "late:-1", "late, or late: and a seed"),
        ("ALGORITHM", "sum_reduce=bar", "slot, mapped"),
        *((f"SIM_{name}", text, "") for name, text in SIMULATOR.items()),
    ],
)
def test_wrong_values(name, text, allowed):
    message = refused(**{name: text})
    assert f"ISHMEM_{name}: got '{text}', allowed: " in message
    assert allowed in message


def test_all_wrong_variables_are_named():
    message = refused(DEVICE="x", LEAKS="y")
    assert "ISHMEM_DEVICE" in message
    assert "ISHMEM_LEAKS" in message


def test_launcher_variables():
    job = "0123456789abcdef" * 2
    got = load_with(PE="1", NPES="2", JOB=job)
    assert (got.pe, got.npes, got.job) == (1, 2, job)
    assert "ISHMEM_NPES, ISHMEM_JOB: got nothing" in refused(PE="0")
    assert "ISHMEM_PE: got '2', allowed: 0 to 1" in refused(PE="2", NPES="2", JOB=job)


def test_unknown_name_warns_once():
    with pytest.warns(UserWarning, match="ISHMEM_SYMETRIC_SIZE is no setting .* mean ISHMEM_SYMMETRIC_SIZE"):
        load_with(SYMETRIC_SIZE="1G")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_with(SYMETRIC_SIZE="1G")
        load_with(SIM_DEVICES="2", ROOT="/opt")


def test_logging(capsys):
    settings.start_logging(load_with(DEBUG="info"), 2, 4)
    settings.start_logging(load_with(DEBUG="info"), 2, 4)
    logging.getLogger("ishmem").info("hello")
    logging.getLogger("ishmem").debug("hidden")
    lines = capsys.readouterr().err.splitlines()
    settings.start_logging(load_with())
    assert len(lines) == 1
    assert lines[0].startswith("[2/4 ")
    assert lines[0].endswith("INFO hello")


def test_table_has_every_setting():
    command = [sys.executable, "-m", "ishmem.environment.settings"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in settings.known() - {"ISHMEM_ROOT"}:
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("name", ["INIT_TIMEOUT", "TIMEOUT", "WAIT_NOTICE", "NODE_TIMEOUT"])
def test_times_end_at_one_number(name):
    """A time that no clock call takes is refused here, once, not by an overflow somewhere."""
    assert getattr(load_with(**{name: "1e9"}), name.lower()) == 1e9
    for wrong in ("1e20", "1e300", "inf", "nan", "-1", "soon"):
        assert "seconds" in refused(**{name: wrong})
        assert "at most 1e9" in refused(**{name: wrong})


def test_suggestions_are_documented():
    documented = settings.table()
    for name in ("FOO", "ROOTS", "SYMETRIC_SIZE", "DEVICES", "BORD", "ROUTE"):
        with pytest.warns(match=f"ISHMEM_{name} is no setting") as caught:
            load_with(**{name: "1"})
        suggested = re.findall(r"did you mean (\w+)\?", str(caught[0].message))
        assert all(f"`{each}`" in documented for each in suggested), suggested
