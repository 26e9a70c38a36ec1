"""How a program prints itself: LaTeX for notebooks, and the same in plain characters for terminals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import MulExpression

_SYMBOLS = {
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\mathcal{M}": "𝓜",
    r"\mathcal{C}": "𝓒",
    r"\bar L": "L̄",
    r"\bar K": "K̄",
    r"\bar Q": "Q̄",
    r"\perp": "⊥",
    r"\times": "×",
    r"\sigma": "σ",
    r"\tfrac12": "½",
    "^{1/2}": "^½",
    "^{-1/2}": "^-½",
    r"\log": "log",
    r"\max": "max",
    r"\succeq": "⪰",
    r"\preceq": "⪯",
    r"\forall": "for all",
    r"\qquad": "  ",
    r"\quad": "  ",
    r"\sum": "Σ",
    r"\top": "ᵀ",
    r"\mu": "μ",
    r"\nu": "ν",
    r"\alpha": "α",
    r"\beta": "β",
    r"\lambda": "λ",
    r"\varepsilon": "ε",
    r"\in": "∈",
    r"\leq": "≤",
    r"\geq": "≥",
    r"\infty": "∞",
    r"\ne": "≠",
    r"\le": "≤",
    r"\ge": "≥",
    r"\,": " ",
    r"\|": "‖",
}
_SUBSCRIPTS = str.maketrans("0123456789+-aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_SUPERSCRIPTS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")

# CVXPY's names of its atoms, with default arguments that a reader does not need.
_WORDS = (
    (r" \+ Promote\(-0\.0, \([^)]*\)\)", ""),
    (r"Sum\(((?:(?!Sum\().)*?), None, False\)", r"sum(\1)"),
    (r"diag_mat\((\w+), 0\)", r"diag(\1)"),
    (r"quad_over_lin\((.*?), 1\.0, None, False\)", r"sum_squares(\1)"),
)

LONGEST_TERM = 200


def plain(tex: str) -> str:
    """Return LaTeX in plain characters, as closely as they allow."""
    text = re.sub(r"\\(?:text|operatorname|mathrm)\{([^}]*)\}", r"\1", tex)
    for command, symbol in _SYMBOLS.items():
        last = r"(?![A-Za-z])" if command[-1].isalpha() else ""
        text = re.sub(re.escape(command) + last, symbol, text)
    text = re.sub(r"_(?:\{([^}]+)\}|([0-9a-z]))", lambda m: (m[1] or m[2]).translate(_SUBSCRIPTS), text)
    text = re.sub(r"\^(?:\{([^}]+)\}|([0-9ᵀ]))", lambda m: (m[1] or m[2]).translate(_SUPERSCRIPTS), text)
    return text.strip()


def expression(term: Any, names: dict[str, cp.Variable]) -> str:
    """Return a CVXPY objective or constraint in plain characters: its own LaTeX, or how CVXPY writes it."""
    return _composed(term, names, plain, str)


def tex(term: Any, names: dict[str, cp.Variable]) -> str:
    """Return the same as LaTeX."""
    return _composed(term, names, str, verbatim)


def _composed(
    term: Any, names: dict[str, cp.Variable], of_tex: Callable[[str], str], of_words: Callable[[str], str]
) -> str:
    """Compose a term from the LaTeX of its parts, and CVXPY's wording where a part has none."""
    if isinstance(term, (cp.Minimize, cp.Maximize)):
        term = term.args[0]
    if hasattr(term, "stands_for"):
        written, of = term.stands_for
        name = next((name for name, variable in names.items() if variable is of), None)
        if name is not None:
            return of_tex(written.replace("@", getattr(of, "written_as", name)))
    if _knows_a_part(term):
        if isinstance(term, AddExpression):
            return " + ".join(_composed(part, names, of_tex, of_words) for part in term.args)
        if isinstance(term, cp.multiply | MulExpression) and term.args[0].is_constant() and term.args[0].size == 1:
            inside = _composed(term.args[1], names, of_tex, of_words)
            factor = f"{float(np.sum(term.args[0].value)):.4g}"
            return f"{factor} ({inside})" if _is_a_sum(inside) else f"{factor} {inside}"
    if isinstance(term, cp.constraints.PSD):
        return of_words(f"{_written(term.args[0], names)} ⪰ 0")
    return of_words(_written(term, names))


def _is_a_sum(text: str) -> bool:
    """Whether there is a plus outside all brackets."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if depth == 0 and text.startswith(" + ", place):
            return True
    return False


def _knows_a_part(term: Any) -> bool:
    return any(hasattr(part, "stands_for") or _knows_a_part(part) for part in getattr(term, "args", ()))


def _written(term: Any, names: dict[str, cp.Variable]) -> str:
    text = str(term)
    for constant in term.constants():
        if constant.size > 1:
            shape = "×".join(map(str, constant.shape))
            text = text.replace(str(constant), f"[{shape}]")
    for name, variable in names.items():
        text = re.sub(rf"\b{re.escape(variable.name())}\b", name, text)
    for cvxpy_wording, words in _WORDS:
        text = re.sub(cvxpy_wording, words, text)
    text = re.sub(r"\d+\.\d{5,}(?:e-?\d+)?", lambda m: f"{float(m[0]):.4g}", text)
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= LONGEST_TERM else f"{text[: LONGEST_TERM - 2]} …"


def verbatim(text: str) -> str:
    """Return plain text as LaTeX that shows it unchanged."""
    escaped = re.sub(r"([#$%&_{}])", r"\\\1", text.replace("\\", r"\backslash "))
    escaped = escaped.replace("⪰", r"$\succeq$")
    return rf"\texttt{{{escaped}}}"
