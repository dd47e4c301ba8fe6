"""What the site adds to Sphinx: formulas by KaTeX, short links, pages of names."""

import json
import pickle
import posixpath
from html import escape
from pathlib import Path

import mathematics
from docutils import nodes
from sphinx.util.docutils import SphinxRole

FOLDERS = {
    "chapter": "course",
    "guide": "guides",
    "example": "gallery",
    "api": "api",
    "src": "source",
}


class ShortLink(SphinxRole):
    """A link such as {chapter}`lasso` or {api}`the class <linear_model.Lasso>`.

    The table of targets is made by `build.py`; a target that is not in it is an error.
    """

    def __init__(self, kind: str):
        self.kind = kind

    def run(self):
        title, target = self.text, self.text
        if self.text.endswith(">") and "<" in self.text:
            title, _, target = self.text[:-1].rpartition("<")
            title = title.strip()
        known = self.config.site_targets[self.kind].get(target)
        if known is None:
            message = f"{{{self.kind}}}`{self.text}` leads nowhere"
            error = self.inliner.reporter.error(message, line=self.lineno)
            return [nodes.Text(title)], [error]
        page, anchor, label = known
        shown = title if title != target else label
        is_code = self.kind in ("api", "src") and title == target
        inner = nodes.literal(shown, shown) if is_code else nodes.Text(shown)
        if not page:  # planned and not yet written
            return [inner], []
        here = posixpath.dirname(self.env.docname)
        uri = posixpath.relpath(f"{page}.html", here or ".") + anchor
        return [nodes.reference("", "", inner, refuri=uri, internal=True)], []


def visit_inline_formula(writer, node):
    html = mathematics.render(node.astext(), display=False)
    writer.body.append(f'<span class="formula">{html}</span>')
    raise nodes.SkipNode


def visit_formula(writer, node):
    html = mathematics.render(node.astext(), display=True)
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({node["number"]})</span>'
    ids = "".join(f' id="{i}"' for i in node["ids"][:1])
    writer.body.append(
        f'<div class="formula"{ids}><div class="tex">{html}</div>{number}</div>'
    )
    raise nodes.SkipNode


def add_library_pages(app):
    """The pages of public names and sources, in the theme and in the search."""
    pages = pickle.loads(Path(app.config.site_pages).read_bytes())
    for page in pages:
        if page.summary and app.builder.search:
            document = nodes.document(None, None, source=page.name)
            document += nodes.title("", page.title)
            document += nodes.paragraph("", page.summary)
            document.settings = None
            app.builder.indexer.feed(page.name, page.name, page.title, document)
        context = {"title": page.title, "body": page.body, "siblings": page.siblings}
        yield page.name, context, "page.html"


def before_navigation(app, pagename, templatename, context, doctree):
    """Pages of public names have no tree of contents: theirs lists their neighbours."""
    if "siblings" in context:
        context["toctree"] = lambda **options: ""


def after_navigation(app, pagename, templatename, context, doctree):
    """The neighbours of a public name as its navigation."""
    siblings = context.get("siblings")
    if not siblings:
        return
    here = posixpath.dirname(pagename)
    rows = []
    for label, page in siblings:
        uri = posixpath.relpath(page, here) + ".html"
        now = " current-page" if page == pagename else ""
        rows.append(
            f'<li class="toctree-l1{now}"><a class="reference internal" '
            f'href="{uri}">{escape(label)}</a></li>'
        )
    top = '<p class="caption"><a href="index.html">All packages</a></p>'
    context["furo_navigation_tree"] = f"{top}<ul>{''.join(rows)}</ul>"


def setup(app):
    targets = json.loads(Path(app.srcdir).with_name("targets.json").read_text("utf-8"))
    app.add_config_value("site_targets", targets, "env")
    app.add_config_value(
        "site_pages", str(Path(app.srcdir).with_name("pages.pickle")), ""
    )
    for kind in targets:
        app.add_role(kind, ShortLink(kind))
    app.add_html_math_renderer(
        "katex", (visit_inline_formula, None), (visit_formula, None)
    )
    app.connect("html-collect-pages", add_library_pages)
    app.connect("html-page-context", before_navigation, priority=100)
    app.connect("html-page-context", after_navigation, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
