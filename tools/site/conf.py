"""Sphinx's settings for the site; `tools/site/build.py` runs it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "pansophy"
copyright = "the pansophy developers, BSD-3-Clause"
extensions = ["myst_parser", "sphinx_design", "extension"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
html_math_renderer = "katex"
html_theme = "furo"
html_title = "pansophy"
html_static_path = ["static", "katex"]
html_css_files = ["katex.min.css", "site.css"]
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_domain_indices = False
html_use_index = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
nitpicky = True
math_numfig = False
math_eqref_format = "({number})"
highlight_language = "none"
suppress_warnings = ["config.cache"]
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5f99",
        "color-brand-content": "#1f5f99",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        "font-stack--monospace": "ui-monospace, Menlo, 'DejaVu Sans Mono', monospace",
        "color-code-background": "#f5f6f8",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8ab8e6",
        "color-brand-content": "#8ab8e6",
    },
}
