"""Install ``deep_ep`` as name of ``ishmem.deep_ep`` by ``python -m ishmem.deep_ep``; ``--remove`` removes it.

It writes a path file that appends a folder to ``sys.path``, so an installed package of this name has precedence.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Write the path file to site-packages, or delete it with ``["--remove"]``; exit with an error text for others."""
    if arguments not in ([], ["--remove"]):
        sys.exit(f"got {' '.join(arguments)}; allowed are no argument, and --remove")
    file = Path(sysconfig.get_path("purelib")) / "ishmem_deep_ep.pth"
    if arguments:
        file.unlink(missing_ok=True)
        print(f"removed {file}")
    else:
        file.write_text(f"{Path(__file__).parent / 'names'}\n")
        print(f"wrote {file}: import deep_ep is ishmem.deep_ep, unless another package has the name")


if __name__ == "__main__":
    main(sys.argv[1:])
