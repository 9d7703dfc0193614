"""Sphinx's configuration: ``make docs`` builds the site in build/docs and treats warnings as errors."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.append(str(HERE.parent))  # tools

import inventories  # noqa: E402

import ishmem  # noqa: E402

project = "ishmem"
author = "The ishmem developers"
copyright = author
version = release = ishmem.__version__

extensions = [
    "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.intersphinx", "reference",
]  # fmt: skip
exclude_patterns = ["_ext"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # tests/tools/test_docs.py runs the notebooks
autodoc_typehints = "none"  # the signature has the names, the docstring the dtypes
trim_doctest_flags = True
# The build needs no network: it reads the names that it links to from docs/_ext/inventories.txt.
intersphinx_mapping = inventories.mapping(HERE / "_ext" / "inventories.txt", HERE.parent / "build" / "inventories")

html_theme = "pydata_sphinx_theme"
html_title = f"ishmem {release}"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "show_nav_level": 1}
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Only pages with others beside or below them have a side bar of their section: it would be empty on the others.
SECTIONS = ["architecture", "performance"]
html_sidebars = {
    name: []
    for name in ("index", "notebooks/*", *(page.stem for page in HERE.glob("*.md")))
    if not any(name.startswith(section) for section in SECTIONS) and name != "kernel-cache"
}
