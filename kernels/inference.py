"""The device form of ``ishmem.inference.all_reduce_work_group``."""

from __future__ import annotations

from ishmem import inference
from ishmem.common import inference as layout
from ishmem.common.inference import ONE_SHOT
from ishmem.common.violations import SIZES, routine_number

from . import type_checks
from .communicator import Forms, collective, members_in, words_in
from .intrinsics import address_of, compiled, device, load_word
from .runtime_checks import fits, have_room

_DTYPES = {"float32": "float32", "float16": "float16", "int16": "bfloat16", "uint16": "bfloat16"}
_ALL_REDUCE = routine_number("all_reduce_work_group")

_workspace_words = compiled(layout.workspace_words)


@device(inference.all_reduce_work_group)
def _all_reduce_work_group(dest, source, workspace, group):
    routine = "all_reduce_work_group"
    type_checks.may_wait(routine)
    type_checks.array(routine, "dest", dest, tuple(_DTYPES))
    type_checks.array(routine, "source", source, tuple(_DTYPES))
    type_checks.array(routine, "workspace", workspace, ("int64",))
    type_checks.contiguous(routine, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    dtype = _DTYPES[str(source.dtype)]
    run, lanes = collective("all_reduce", dtype, routine), Forms.of(dtype).words.lanes

    def reduce_message(dest, source, workspace, group):
        one_shot_words = load_word(address_of(workspace) + ONE_SHOT)
        needed = _workspace_words(words_in(source.size, lanes), members_in(workspace).size, one_shot_words)
        fit = have_room(_ALL_REDUCE, dest, source, -1, source.size, SIZES) and fits(_ALL_REDUCE, workspace, -1, needed)
        if fit and source.size:  # a call without words does not show that the others have completed the one before
            run(workspace, dest, source, source.size, group)

    return reduce_message
