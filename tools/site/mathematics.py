"""Formulas: TeX to HTML and MathML, by the KaTeX that is kept beside this file.

KaTeX is a JavaScript library; `quickjs` runs it inside this process, so a page needs no
script to show its formulas. What KaTeX does not understand is an error.
"""

import json
import os
from functools import cache
from pathlib import Path

KATEX = Path(__file__).parent / "katex"
RENDER = """
function render(tex, display) {
    return katex.renderToString(tex, {displayMode: display, output: "htmlAndMathml",
        throwOnError: true, strict: "error", trust: false});
}
"""


class FormulaError(ValueError):
    """A formula that KaTeX does not understand."""


def is_installed() -> bool:
    """Whether formulas can be rendered here."""
    try:
        import quickjs  # noqa: F401
    except ModuleNotFoundError:
        return False
    return (KATEX / "katex.min.js").exists()


@cache
def context_of_process(pid: int):
    """KaTeX, loaded once in each process."""
    import quickjs

    context = quickjs.Context()
    context.eval((KATEX / "katex.min.js").read_text("utf-8"))
    context.eval(RENDER)
    return context


@cache
def render(tex: str, *, display: bool) -> str:
    """HTML (with MathML for screen readers) of one formula."""
    import quickjs

    context = context_of_process(os.getpid())
    try:
        return context.eval(f"render({json.dumps(tex)}, {json.dumps(display)})")
    except quickjs.JSException as error:
        message = str(error).splitlines()[0].removeprefix("ParseError: ")
        raise FormulaError(f"{message} in the formula {tex!r}") from None
