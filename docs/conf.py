"""How Sphinx makes the pages; `make docs` runs it."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

import cvxlink

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_order.py
# The gallery draws to files; no window is wanted.
os.environ.setdefault("MPLBACKEND", "agg")

project = "cvxlink"
author = "The cvxlink developers"
copyright = author
version = release = cvxlink.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip", "gallery/**/*.json"]

# ---------------------------------------------------------------------- pages

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"

# ---------------------------------------------------------------------- API

autodoc_member_order = "bysource"
# Types are in the descriptions of parameters; in signatures they would fill half a page.
autodoc_typehints = "none"
# A formulation overrides what every formulation has: only what it says itself is worth reading on its page.
autodoc_inherit_docstrings = False
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
add_module_names = False
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"

# ---------------------------------------------------------------------- gallery

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # all of them are run, whatever they are called
    "run_stale_examples": True,  # at every build: the library may have changed since
    "within_subsection_order": "gallery_order.Order",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "matplotlib_animations": False,
}
# Scripts show their pictures as they would on a desk; sphinx-gallery has collected them by then.
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")

# ---------------------------------------------------------------------- looks

html_theme = "furo"
html_title = f"cvxlink {version}"
html_static_path = ["_static"]
html_css_files = ["cvxlink.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#00619a"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}


def only_its_own(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out of the pages on formulations what every problem has: that is on the page of Problem."""
    return True if app.env.docname == "api/formulations" and hasattr(cvxlink.Problem, name) else None


def setup(app: Any) -> None:
    """Show files of data as they are, which Pygments does not know, and formulations without what all have."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-skip-member", only_its_own)
