"""Sphinx configuration of the site; `build.py` assembles the pages and runs Sphinx."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import fairlane
import stubs

stubs.take()

project = "Fairlane"
version = release = fairlane.__version__
copyright = "the authors of Fairlane"
html_show_copyright = False

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "additions",
    "search_words",
]
root_doc = "index"

# Headings have the same anchors as on GitHub.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence"]

# Docstrings use `name` for code, like pages.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = "Fairlane"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("pictures.js", "tables.js", "page.js")]
html_search_scorer = str(HERE / "search.js")
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# Copy only what the reader types, without prompt and output.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
