"""How Sphinx makes the site; ``python -m tools.site`` lays out what it reads."""

import sys
from pathlib import Path

from sphinx.ext.autodoc.mock import MockFinder

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# Ray lives in an environment of its own (requirements-rllib.txt).
sys.meta_path.insert(0, MockFinder(["ray"]))

import ray  # noqa: E402

import fastenv  # noqa: E402

ray.__version__ = "2.60.0"  # fastenv.adapters.rllib refuses others

project = "fastenv"
author = "fastenv contributors"
copyright = author
version = release = fastenv.__version__
language = "en"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "tools.site.references",
]
templates_path = [str(ROOT / "docs" / "_templates")]
html_static_path = ["_static"]

# -- pages -----------------------------------------------------------------------------------------

# The tests run the notebooks; the site shows the outputs that they keep.
nb_execution_mode = "off"
nb_ipywidgets_js = {}  # would be loaded from another site
nb_merge_streams = True
myst_heading_anchors = 6
myst_enable_extensions = ["html_image"]
smartquotes = False  # "--env" is an option, not a dash
# The tutorial of a new game marks the files to be written by headings two levels down.
suppress_warnings = ["myst.header"]
copybutton_exclude = ".linenos, .gp"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- reference -------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say more of types: shapes and units
numpydoc_show_class_members = False  # the templates of the pages list them
numpydoc_xref_param_type = False
add_module_names = False
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 88

# -- look ------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"fastenv {release}"
html_css_files = ["fastenv.css"]
html_favicon = "_static/pill.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the browser says
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "fastenv",
        "image_light": "_static/pill.svg",
        "image_dark": "_static/pill.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
# Pages without others beside them.
html_sidebars = {name: [] for name in ("index", "gallery", "README", "CHANGELOG", "RUNS")}
