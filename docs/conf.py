"""How Sphinx builds the site: make docs."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import sarrus  # noqa: E402

project = "sarrus"
author = "The sarrus authors"
copyright = "The sarrus authors, BSD-3-Clause"
version = release = sarrus.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "mathml",
    "docstrings",
    "public_names",
]
exclude_patterns = ["_ext", "_static"]
language = "en"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_allow_digits = False
math_eqref_format = "({number})"

html_theme = "furo"
html_title = "sarrus"
html_static_path = ["_static"]
html_css_files = ["sarrus.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name
    for name in ("Array", "ArrayLike", "Coordinates", "StateFunction", "Method", "Path", "Reference")
}
default_role = "py:obj"

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "
