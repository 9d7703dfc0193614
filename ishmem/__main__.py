"""Run the command ``ishmem`` as ``python -m ishmem``."""

from ishmem.cli.command import main

main()
