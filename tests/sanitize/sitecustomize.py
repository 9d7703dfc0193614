"""Read by every Python of a sanitizer run: ishmem is the one on PYTHONPATH, not the editable installation."""

import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__name__.startswith("ScikitBuild")]
