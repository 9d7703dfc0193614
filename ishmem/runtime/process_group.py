"""The processes of a torch process group as the PEs of a job."""

from __future__ import annotations

import os
import sys
from typing import Any

from ishmem.common.errors import IshmemError


class Processes:
    """The processes of a group, with the methods of a communicator that `ishmem.runtime.network` uses.

    torch is not imported here: a process that has a group has imported it.
    """

    def __init__(self, group: Any) -> None:
        """Wrap a group of torch.distributed.

        Raises:
            TypeError: ``group`` is no group of torch.distributed.
            ValueError: This process is not in it.
        """
        self._group, self._torch = group, sys.modules.get("torch.distributed")
        if self._torch and group is self._torch.GroupMember.NON_GROUP_MEMBER:
            raise ValueError("this process is not in process_group")
        if self._torch is None or not isinstance(group, self._torch.ProcessGroup):
            raise TypeError(
                f"process_group is a ProcessGroup of torch.distributed, such as torch.distributed.group.WORLD after "
                f"init_process_group, got {type(group).__name__}"
            )

    def Get_rank(self) -> int:
        """Return the number of this process in the group."""
        return int(self._torch.get_rank(self._group))  # type: ignore[union-attr]

    def Get_size(self) -> int:
        """Return the number of processes."""
        return int(self._torch.get_world_size(self._group))  # type: ignore[union-attr]

    def allgather(self, record: bytes) -> list[bytes]:
        """Return the records of all processes; collective."""
        records: list[Any] = [None] * self.Get_size()
        self._torch.all_gather_object(records, record, group=self._group)  # type: ignore[union-attr]
        return records


def refuse_torchrun() -> None:
    """Raise if torchrun has started several processes: without their group, each would be a job of one PE.

    Raises:
        IshmemError: torchrun has started several processes.
    """
    size = os.environ.get("WORLD_SIZE", "1")
    if "TORCHELASTIC_RUN_ID" in os.environ and size != "1":
        raise IshmemError(
            f"torchrun has started {size} processes; call torch.distributed.init_process_group() and "
            "ishmem.init(process_group=torch.distributed.group.WORLD)"
        )
