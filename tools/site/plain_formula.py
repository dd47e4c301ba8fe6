"""Formulas as plain Unicode for a terminal; what cannot be said so stays TeX."""

import re

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε",
    "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ",
    "omega": "ω", "iota": "ι", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "sum": "Σ", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "infty": "∞",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈",
    "sim": "~", "propto": "∝", "equiv": "≡", "in": "∈", "notin": "∉", "subset": "⊂",
    "cup": "∪", "cap": "∩", "to": "→", "rightarrow": "→", "leftarrow": "←",
    "Rightarrow": "⇒", "iff": "⇔", "gets": "←", "mapsto": "↦", "times": "×",
    "cdot": "·",
    "odot": "⊙", "otimes": "⊗", "oplus": "⊕", "pm": "±", "mp": "∓", "top": "ᵀ",
    "lVert": "‖", "rVert": "‖", "Vert": "‖", "|": "‖", "lvert": "|", "rvert": "|",
    "vert": "|", "mid": "|", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "ldots": "…", "dots": "…", "cdots": "⋯", "quad": "  ",
    "qquad": "   ", "ell": "ℓ", "forall": "∀", "exists": "∃", "emptyset": "∅",
    "circ": "∘", "ast": "*", "star": "*", "prime": "′", "lbrace": "{", "rbrace": "}",
    "gg": "≫", "ll": "≪", "succ": "≻", "prec": "≺", "perp": "⊥", "setminus": "∖",
    "log": "log", "ln": "ln", "exp": "exp", "max": "max", "min": "min", "sup": "sup",
    "inf": "inf", "arg": "arg", "det": "det", "sin": "sin", "cos": "cos", "tan": "tan",
    "tanh": "tanh", "lim": "lim", "dim": "dim", "Pr": "Pr", "ker": "ker", "deg": "deg",
    "argmax": "argmax", "argmin": "argmin", "div": "÷", "neg": "¬", "wedge": "∧",
    "vee": "∨", "land": "∧", "lor": "∨", "bot": "⊥", "Longrightarrow": "⇒",
    "longrightarrow": "→", "sqcup": "⊔", "parallel": "∥", "colon": ":",
    "coloneqq": ":=",
}  # fmt: skip
UP = dict(zip("0123456789+-=()niTk*ᵀ′", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵏ*ᵀ′"))
DOWN = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"))
FONTS = (
    "mathbf|mathrm|mathit|mathcal|mathbb|mathsf|boldsymbol|text|textrm|textbf|bm"
    "|operatorname\\*?"
)
MARKS = {
    "hat": "\u0302",
    "bar": "\u0304",
    "tilde": "\u0303",
    "dot": "\u0307",
    "vec": "\u20d7",
}
GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"


def shifted(text: str, letters: dict[str, str], mark: str) -> str:
    """An index or exponent: in small letters if there are such, else after a mark."""
    if all(c in letters for c in text):
        return "".join(letters[c] for c in text)
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"


def bracketed(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"[\w.…]+|\(.*\)", text) else f"({text})"


def plain_formula(tex: str) -> str:
    """A formula in Unicode, or the TeX itself where something is not known.

    >>> plain_formula(r"\\\\sum_{i=1}^{n} (y_i - w^\\\\top x_i)^2")
    'Σ_(i=1)ⁿ (yᵢ - wᵀ xᵢ)²'
    """
    text = re.sub(
        r"\\begin\{(aligned|split|gathered)\}|\\end\{(aligned|split|gathered)\}",
        "",
        tex,
    )
    text = re.sub(
        r"\\(left|right|bigl|bigr|Bigl|Bigr|big|Big|bigg|Bigg|biggl|biggr)(?![a-zA-Z])\.?",
        "",
        text,
    )
    text = re.sub(r"\\\\(?:\[[^\]]*\])?", "\n", text)
    text = (
        re.sub(r"\\[,;:! ]|~", " ", text)
        .replace("\\{", "\\lbrace ")
        .replace("\\}", "\\rbrace ")
    )
    text = re.sub(
        r"\\label\{[^}]*\}|\\(displaystyle|limits|nonumber)(?![a-zA-Z])", "", text
    )
    text = text.replace("&", "")
    for _ in range(6):
        before = text
        text = re.sub(rf"\\(?:{FONTS})\s*{GROUP}", r"\1", text)
        text = re.sub(rf"\\(?:{FONTS})\s+([A-Za-z])", r"\1", text)
        text = re.sub(
            rf"\\(?:t|d)?frac\s*{GROUP}\s*{GROUP}",
            lambda m: f"{bracketed(m[1])}/{bracketed(m[2])}",
            text,
        )
        text = re.sub(r"\\(?:t|d)?frac\s*(\d)\s*(\d)", r"\1/\2", text)
        text = re.sub(rf"\\sqrt\s*{GROUP}", lambda m: f"√{bracketed(m[1])}", text)
        text = re.sub(rf"\\(?:under|over)brace\s*{GROUP}\s*[_^]\s*{GROUP}", r"\1", text)
        text = re.sub(
            r"\\(?:wide)?(hat|bar|tilde|dot|vec)\s*(?:\{(\\?\w+)\}|(\\?[A-Za-z]))",
            accent,
            text,
        )
        text = re.sub(r"\\overline\s*\{(\w)\}", "\\1\u0304", text)
        if text == before:
            break
    text = re.sub(r"\\([A-Za-z]+)", lambda m: SYMBOLS.get(m[1], m[0]), text)
    text = (
        text.replace("\\|", "‖")
        .replace("\\%", "%")
        .replace("\\_", "_")
        .replace("\\#", "#")
    )
    text = "\n".join(
        " ".join(line.split()) for line in text.split("\n") if line.strip()
    )
    letters = {"^": UP, "_": DOWN}
    small = lambda m: shifted(m[2].strip(), letters[m[1]], m[1])
    text = re.sub(r"([_^])([^\s{}()])", small, text)
    while re.search(r"[_^]\{[^{}]*\}", text):
        text = re.sub(r"([_^])\{([^{}]*)\}", small, text)
    if "\\" in text:
        return " ".join(tex.split())
    text = (
        text.replace("{", "").replace("}", "")
        if "{" in text and "\\lbrace" not in tex and "\\{" not in tex
        else text
    )
    text = re.sub(r"([‖|]) (\w+) ?([‖|])", r"\1\2\3", text)
    return re.sub(r" +([,.;])", r"\1", text).strip().rstrip(".,;")


def accent(match) -> str:
    letter = match[2] or match[3]
    letter = SYMBOLS.get(letter[1:], letter) if letter.startswith("\\") else letter
    return (
        letter + MARKS[match[1]] if len(letter) == 1 else f"{letter}{MARKS[match[1]]}"
    )
