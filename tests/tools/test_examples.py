"""The examples, run as a user runs them, on 1 to 4 PEs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from subprocesses import run_program, succeeded

EXAMPLES = Path(__file__).parents[2] / "examples"
ON_GPU = os.environ.get("ISHMEM_DEVICE") == "gpu"
SOME = pytest.mark.parametrize("n", [1, 3])


def photograph(path: Path, *shape: int) -> str:
    """Write a picture of smooth regions with an edge between them."""
    rows, columns = np.indices(shape[:2])
    picture = (np.where(rows > columns, 180, 60) + rows).astype("u1")
    if len(shape) == 3:
        picture = np.stack([picture, picture + 20, picture - 20], axis=2)
    PIL.Image.fromarray(picture).save(path)
    return str(path)


# 41 rows are not divisible by 2, 3 or 4; and there is one row per PE. Colour and grey.
@pytest.mark.slow_cases("the same on other numbers of PEs", "1-shape0", "2-shape1", "3-shape2")
@pytest.mark.parametrize(("n", "shape"), [(1, (41, 50, 3)), (2, (41, 50)), (3, (3, 200)), (4, (41, 50, 3))])
def test_denoise(n: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    picture, output = photograph(tmp_path / "in.png", *shape), tmp_path / "out.png"
    done = succeeded(run_program(EXAMPLES / "denoise.py", n, picture, "--iterations", "20", "--output", str(output)))
    assert done.stdout.startswith(f"[0] 20 iterations, PEs: {n}, ")
    same = "" if ON_GPU else "0, bit for bit the same\n"  # a GPU may round otherwise, within the example's tolerance
    assert f"[0] Largest difference from serial numpy: {same}" in done.stdout
    before, after = re.findall(r"([\d.]+) dB", done.stdout)
    assert float(after) > float(before) + 3
    assert "[0] denoising: 100%" in done.stderr
    assert output.read_bytes().startswith(b"\x89PNG")


def test_denoise_that_cannot_begin(tmp_path: Path) -> None:
    picture, none = photograph(tmp_path / "in.png", 1, 40, 3), str(tmp_path / "none.png")
    for n, path, said in (
        (2, picture, "] denoise.py: a photograph of 1 rows is too small for 2 PEs\n"),
        (1, none, f"[0] denoise.py: cannot load {none}"),
    ):
        done = run_program(EXAMPLES / "denoise.py", n, path)
        assert done.returncode == 1
        assert said in done.stderr and "Traceback" not in done.stderr


@SOME
def test_ring(n: int) -> None:
    done = succeeded(run_program(EXAMPLES / "ring.py", n))
    assert done.stdout.startswith(f"[0] 10 laps, {10 * n} hops, ")
    assert done.stdout.endswith(f"the token is right: [{' '.join(['10'] * n)}]\n")


@SOME
def test_producer_consumer(n: int) -> None:
    done = succeeded(run_program(EXAMPLES / "producer_consumer.py", n, "21"))
    words = rf"\[{n - 1}\] 21 blocks of 500 points through {n} PEs: off by (\S+) at most\n"
    found = re.fullmatch(words, done.stdout)
    assert found, done.stdout
    assert float(found[1]) < 1e-12


@SOME
def test_work_stealing(n: int) -> None:
    done = succeeded(run_program(EXAMPLES / "work_stealing.py", n))
    found = re.fullmatch(r"\[0\] 200 tasks, by PE: \[(.*)\]; every result is right\n", done.stdout)
    assert found, done.stdout
    shares = [int(share) for share in found[1].split(", ")]
    assert len(shares) == n
    assert sum(shares) == 200


@pytest.mark.parametrize(("n", "grid"), [(3, "3 x 1"), (4, "2 x 2")])
def test_halo2d(n: int, grid: str) -> None:
    done = succeeded(run_program(EXAMPLES / "halo2d.py", n))
    assert done.stdout.count(f" of {grid} is right\n") == n, done.stdout


def transformer(n: int, *options: str, env: dict[str, str] | None = None) -> None:
    done = succeeded(run_program(EXAMPLES / "transformer.py", n, *options, env=env))
    assert "[0] tokens: 26 21 26 21 26 21 42 42\n[0] the same tokens as numpy alone\n" in done.stdout, done
    assert f"[0] 16 steps by {'calls' if options else 'replays'}, " in done.stdout


@pytest.mark.slow_cases("the same on other numbers of PEs", "1", "3", "4")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_transformer(n: int) -> None:
    transformer(n)


@pytest.mark.slow("test_transformer")
@pytest.mark.parametrize("n", [2, 4])
def test_transformer_by_calls(n: int) -> None:
    transformer(n, "--direct")


@pytest.mark.slow("test_transformer")
@pytest.mark.parametrize("n", [2, 4])
def test_transformer_beside_mpi(n: int) -> None:
    path, options = EXAMPLES.parent / "tools" / "decode.py", ["--hosts", f"localhost:{n}"]
    done = succeeded(run_program(path, n, "1", "2", options=options, timeout=300, forked=False))
    found = re.findall(r"(\w+): .* right: (\w+)", done.stdout)
    assert found == [("replays", "True"), ("calls", "True"), ("mpi4py", "True")]


@pytest.mark.slow("test_values.py, test_runtime_checks.py")
@pytest.mark.parametrize("env", [{"ISHMEM_CHECK": "1"}, {"ISHMEM_SIM_ORDER": "late:2"}], ids=str)
def test_transformer_with_checks(env: dict[str, str]) -> None:
    transformer(2, env=env)
