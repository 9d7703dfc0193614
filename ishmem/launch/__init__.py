"""``ishmrun``: starts the PEs, prints their output, watches them, and ends the job when one fails.

Only ``ishmem.cli`` imports it. It imports ``ishmem.environment`` and ``ishmem.runtime.status_board``, no more, so that
it starts quickly.
"""
