"""The results of the PEs' proofs of access to each other's memory, and the warnings and errors about failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ishmem.runtime.peer_device import PeerDevice
from ishmem.runtime.peer_proof import PeerFailure

ADVICE = {
    PeerFailure.REFUSED: (
        "A newer compute driver and kernel may open it; in a container, the system call pidfd_getfd has to be allowed "
        "(CAP_SYS_PTRACE). "
    ),
    PeerFailure.LOADS | PeerFailure.COPIES | PeerFailure.ATOMICS: (
        "What may help: switch the ACS redirection of the PCIe ports between the cards off, put the cards on ports of "
        "one root, or take a newer compute driver and kernel. "
    ),
}
"""Advice for users on each kind of failure."""

Pair = tuple[int, int]
"""The places of two PEs on their node, the lower one first."""


class PairFailure(NamedTuple):
    """Why two PEs do not reach each other's memory, or not by all kinds of access.

    Attributes:
        wrong: The kinds of access that fail.
        details: The errors of the driver.
    """

    wrong: PeerFailure
    details: str


class Verdict(NamedTuple):
    """The results of one PE's proof of access.

    Attributes:
        wrong: The failures of access to the memory of each PE of the node, by place.
        refusals: The driver's error messages for memory that it refuses, keyed by place.
    """

    wrong: Sequence[PeerFailure]
    refusals: Mapping[int, str]

    def pack(self) -> bytes:
        """Return the results as bytes, for `unpack`."""
        texts = [self.refusals.get(place, "").replace("\n", " ") for place in range(len(self.wrong))]
        return bytes(self.wrong) + "\n".join(texts).encode()

    @classmethod
    def unpack(cls, data: bytes, n_pes: int) -> Verdict:
        """Return the results that another PE has packed; ``n_pes`` is the number of PEs of the node."""
        texts = data[n_pes:].decode(errors="replace").split("\n")
        failures = [PeerFailure(number) for number in data[:n_pes]]
        return cls(failures, {at: text for at, text in enumerate(texts) if text})


def pair_failures(verdicts: Sequence[Verdict]) -> dict[Pair, PairFailure]:
    """Return the failures of pairs of PEs, from the results of both, since both use the same route."""
    found = {}
    for low in range(len(verdicts)):
        for high in range(low + 1, len(verdicts)):
            wrong = verdicts[low].wrong[high] | verdicts[high].wrong[low]
            if wrong & PeerFailure.REFUSED:
                wrong = PeerFailure.REFUSED
            details = dict.fromkeys([verdicts[low].refusals.get(high), verdicts[high].refusals.get(low)])
            if wrong:
                found[low, high] = PairFailure(wrong, ", ".join(filter(None, details)))
    return found


def describe(found: Mapping[Pair, PairFailure], devices: Sequence[PeerDevice], pes: Sequence[int], place: int) -> str:
    """Return the warning of a PE, empty if it has none; the first PE that has one names all pairs.

    Args:
        found: The pairs that do not reach each other.
        devices: The devices of the PEs of the node.
        pes: Their numbers in the job.
        place: The place of the PE that warns.
    """
    involved = sorted({at for pair in found for at in pair})
    if place not in involved:
        return ""
    shown = found if place == involved[0] else {pair: each for pair, each in found.items() if place in pair}
    alike: dict[str, list[str]] = {}
    for (low, high), trouble in shown.items():
        alike.setdefault(_words(trouble), []).append(f"{pes[low]} and {pes[high]}")
    lines = [f"PEs {', '.join(pairs)}: {words}" for words, pairs in alike.items()]
    where = [f"PE {pes[at]} is on {devices[at].name}" for at in sorted({at for pair in shown for at in pair})]
    helps = [text for kinds, text in ADVICE.items() if any(trouble.wrong & kinds for trouble in shown.values())]
    return (
        f"memory of other devices is not as the driver says. {'; '.join(lines)}. What they cannot do goes through the "
        f"host, with the right results, but slower. {', '.join(where)}; {_drivers(shown, devices)}. {''.join(helps)}"
        "ISHMEM_P2P=off does without this access and this warning, ISHMEM_P2P=require makes it an error"
    )


def refusal(apart: Mapping[Pair, PairFailure | None], devices: Sequence[PeerDevice], pes: Sequence[int]) -> str:
    """Return the error for pairs of PEs without access; the failure is None where the driver reports no access."""
    lines = [
        f"PE {pes[low]} on {devices[low].name} and PE {pes[high]} on {devices[high].name} "
        f"({_words(trouble) if trouble else 'the driver reports no access'})"
        for (low, high), trouble in apart.items()
    ]
    return (
        f"ISHMEM_P2P=require, but these do not reach each other's memory: {'; '.join(lines)}; "
        f"{_drivers(apart, devices)}"
    )


def _drivers(pairs: Iterable[Pair], devices: Sequence[PeerDevice]) -> str:
    return f"driver {', '.join(sorted({devices[at].driver for pair in pairs for at in pair}))}"


def _words(trouble: PairFailure) -> str:
    return trouble.wrong.words + (f" ({trouble.details})" if trouble.details else "")
