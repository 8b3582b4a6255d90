"""Settings of the site: ``make docs`` builds it, runs the tutorials and fails on any warning."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from sphinx.addnodes import pending_xref

project = "copula-shirley"
author = "The copula-shirley authors"
release = importlib.metadata.version(project)
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb"]
exclude_patterns = ["_build"]

# pages are read by GitHub, too: its anchors of headings
myst_heading_anchors = 4
# none of which needs a script from elsewhere, so no formulas: the site works offline
myst_enable_extensions: list[str] = []

# tutorials run at every build; one that raises ends it
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 170
nb_merge_streams = True

# looked at every week: python -m sphinx -b linkcheck docs docs/_build/links
linkcheck_timeout, linkcheck_retries, linkcheck_workers = 20, 3, 4
# publishers that turn away whoever is no browser
linkcheck_ignore = [r"https://doi\.org/", r"https://dl\.acm\.org/", r"http://127\.0\.0\.1"]

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
WIDE_PAGES = ("course", "gallery", "index", "reference")
html_sidebars: dict[str, list[str]] = {page: [] for page in WIDE_PAGES}
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}

ROOT = Path(__file__).resolve().parents[1]


def name_only(_: Any, page: Any) -> None:
    """Files of the repository that are no page of the site are named there and not linked."""
    for link in list(page.findall(pending_xref)):
        places = (ROOT / link["reftarget"], ROOT / "docs" / link["reftarget"])
        if link["reftype"] == "myst" and any(place.exists() for place in places):
            link.replace_self(link.children)


def setup(app: Any) -> None:
    """Connect what this file defines."""
    app.connect("doctree-read", name_only)
