"""Sphinx configuration: pages in Markdown, the reference from the docstrings."""

from importlib.metadata import version as installed_version

project = "whence"
author = "The whence developers"
copyright = "2026, The whence developers"
release = version = installed_version("whence")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The tables are included by the pages.
exclude_patterns = ["_build", "benchmarks/tables", "reproduction/*"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {
    "members": True,
    "show-inheritance": False,
    # What scikit-learn adds to an estimator for routing metadata; its text refers to the glossary of its own pages.
    "exclude-members": "set_fit_request, set_score_request",
}
autoclass_content = "class"
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"whence {release}"
html_show_sphinx = False
