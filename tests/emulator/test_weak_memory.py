"""The emulated card's weak memory shows a missing fence in compiled kernels, and spares right ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_card import ON_CARD, run

pytestmark = ON_CARD

SHOWN = {
    "b580": ("elements_in_kernel", "strided_in_kernel", "no_wait_in_kernel"),
    "max1550": ("elements_in_kernel", "strided_in_kernel", "no_wait_in_kernel", "flag_in_kernel", "work_group"),
}
"""The programs of `order_programs` whose missing call changes what a card may do, by card.

Not those of host calls, which store from the host. Not those of kernels in which something else is a release as well:
``put_signal``, ``sync_all``, and on a B580, which has no atomics on peers, each request to the proxy. Nor those in
which a thread accesses one word twice, or whose ``put_nbi`` or ``get_nbi`` has read its source when it returns.
"""

FEW = {
    "plain_flags": ("message_acquired", "message_to_a_peer", "store_buffering", "barrier_of_a_work_group"),
    "order_programs.runner": ("strided_in_kernel",),
}
"""Those that run with few seeds, by module: no two of them lack the same kind of fence."""


def on_card(card: str, *command: str) -> subprocess.CompletedProcess[str]:
    whole = (sys.executable, "-m", "ishmem", "run", "--card", card, "-n", "2", sys.executable, *command)
    return run(*whole, PYTHONPATH=str(Path(__file__).parents[1]))


@pytest.mark.slow_cases("fewer seeds", *(f"{card}-50-{module}" for card in SHOWN for module in FEW))
@pytest.mark.parametrize("module", FEW)
@pytest.mark.parametrize(("card", "seeds"), [("b580", 2), ("b580", 50), ("max1550", 50)])
def test_missing_fences_are_shown(card: str, seeds: int, module: str) -> None:
    shown = SHOWN[card] if module == "order_programs.runner" else ()
    names = FEW[module] if seeds == 2 else shown
    done = on_card(card, "-m", module, str(seeds), *names)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_setting_of_weak_memory_is_refused() -> None:
    code = "import dpnp; assert int(dpnp.arange(8).sum()) == 28"
    done = run(sys.executable, "-c", code, ISHMEM_CARD="b580", ISHMEM_CARD_MEMORY="weak")
    assert done.returncode == 0 and "ISHMEM_CARD_MEMORY=weak: write weak:SEED" in done.stderr, done
