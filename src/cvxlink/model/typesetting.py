"""How a program prints itself: LaTeX for notebooks, and the same in plain characters for terminals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power

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
    r"\exp": "exp",
    r"\det": "det",
    r"\max": "max",
    r"\min": "min",
    r"\succeq": "⪰",
    r"\preceq": "⪯",
    r"\forall": "for all",
    r"\qquad": "  ",
    r"\quad": "  ",
    r"\sum": "Σ",
    r"\top": "ᵀ",
    r"\gamma": "γ",
    r"\delta": "δ",
    r"\epsilon": "ε",
    r"\eta": "η",
    r"\theta": "θ",
    r"\rho": "ρ",
    r"\tau": "τ",
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
    (r"Power(?:Approx)?\(((?:[^()]|\([^()]*\))*), 2\.0\)", r"square(\1)"),
    (r", None, False\)", ")"),
)

LONGEST_TERM = 200

# A fraction or a root without further braces inside, so that the innermost come first.
_FRACTION = re.compile(r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}|\\sqrt\{([^{}]*)\}")


def _divided(found: re.Match) -> str:
    """Return a fraction or a root on one line."""
    over, under, root = (part and (part if re.fullmatch(r"\\?\w+", part) else f"({part})") for part in found.groups())
    return f"√{root}" if root is not None else f"{over}/{under}"


def plain(tex: str) -> str:
    """Return LaTeX in plain characters, as closely as they allow."""
    text = re.sub(r"\\(?:text|operatorname|mathrm)\{([^}]*)\}", r"\1", tex)
    text = text.replace(r"\frac{1}{2}", r"\tfrac12")
    while (simpler := _FRACTION.sub(_divided, text)) != text:
        text = simpler
    for command, symbol in _SYMBOLS.items():
        last = r"(?![A-Za-z])" if command[-1].isalpha() else ""
        text = re.sub(re.escape(command) + last, symbol, text)
    text = re.sub(r"_(?:\{([^}]+)\}|([0-9a-z]))", lambda m: (m[1] or m[2]).translate(_SUBSCRIPTS), text)
    text = re.sub(r"\^(?:\{([^}]+)\}|([0-9ᵀ]))", lambda m: (m[1] or m[2]).translate(_SUPERSCRIPTS), text)
    return text.strip()


def expression(term: Any, names: dict[str, cp.Variable]) -> str:
    """Return a CVXPY objective or constraint in plain characters: its own LaTeX, or how CVXPY writes it."""
    return _Writer(names, plain, str).written(term)


def tex(term: Any, names: dict[str, cp.Variable]) -> str:
    """Return the same as LaTeX."""
    return _Writer(names, str, verbatim).written(term)


_RELATIONS: dict[type, str] = {cp.constraints.Inequality: r"\le", cp.constraints.Equality: "="}
_TURNED: dict[type, str] = {cp.constraints.Inequality: r"\ge", cp.constraints.Equality: "="}
_AROUND = {
    cp.maximum: (r"\max(", ")"),
    cp.minimum: (r"\min(", ")"),
    cp.max: (r"\max(", ")"),
    cp.min: (r"\min(", ")"),
    cp.abs: ("|", "|"),
    cp.exp: (r"\exp(", ")"),
    cp.log: (r"\log(", ")"),
}
BAR = r"\|"
_LETTERS = ("alpha", "beta", "gamma", "delta", "epsilon", "eta", "lambda", "mu", "nu", "rho", "sigma", "tau", "theta")


@dataclass(frozen=True)
class _Writer:
    """Composes a term from the LaTeX of its parts, and CVXPY's wording where a part has none.

    ``of_tex`` and ``of_words`` bring both into the same language: plain characters, or LaTeX.
    """

    names: dict[str, cp.Variable]
    of_tex: Callable[[str], str]
    of_words: Callable[[str], str]

    def written(self, term: Any) -> str:
        """Return the term."""
        if isinstance(term, (cp.Minimize, cp.Maximize)):
            term = term.args[0]
        own = self._own(term)
        if own is not None:
            return own
        if _knows_a_part(term):
            composed = self._composed(term)
            if composed is not None:
                return composed
        if isinstance(term, cp.constraints.PSD):
            return self.of_words(f"{_written(term.args[0], self.names)} ⪰ 0")
        return self.of_words(_written(term, self.names))

    def _own(self, term: Any) -> str | None:
        """Return what a term says of itself."""
        if hasattr(term, "stands_for"):
            written, of = term.stands_for
            symbol = self._symbol(of)
            if symbol is not None:
                return self.of_tex(written.replace("@", symbol))
        return None

    def _symbol(self, of: Any) -> str | None:
        """Return the LaTeX of a variable or a multiple of one."""
        number, symbols, core = _factors(of)
        name = next((name for name, variable in self.names.items() if variable is core), None)
        if name is None:
            return None
        symbol = getattr(core, "written_as", name)
        return symbol if core is of else f"({_scaled(number, symbols, symbol)})"

    def _composed(self, term: Any) -> str | None:
        """Return a sum, multiple, maximum or relation of parts; None for anything else."""
        if type(term) in _RELATIONS:
            left, right = (self._number(side) or self.written(side) for side in term.args)
            if term.args[0].is_constant():  # t ≥ 3 is 3 ≤ t to CVXPY
                return f"{right} {self.of_tex(_TURNED[type(term)])} {left}"
            return f"{left} {self.of_tex(_RELATIONS[type(term)])} {right}"
        if isinstance(term, AddExpression):
            return _added(self._number(part) or self.written(part) for part in term.args)
        number, symbols, core = _factors(term)
        if core is not term:
            return _scaled(number, [self.of_tex(symbol) for symbol in symbols], self.written(core))
        for kind, (before, after) in _AROUND.items():
            if isinstance(term, kind) and not any(term.get_data() or ()):
                inside = ", ".join(self._number(part) or self.written(part) for part in _listed(term.args))
                return f"{self.of_tex(before)}{inside}{after}"
        if isinstance(term, Power) and not term.parameters():
            exponent = float(getattr(term.p, "value", term.p))
            return f"({self.written(term.args[0])}){self.of_tex(f'^{{{exponent:g}}}')}"
        if isinstance(term, cp.quad_over_lin) and term.args[1].value == 1 and not any(term.get_data()):
            return f"{self.of_tex(BAR)}{self.written(term.args[0])}{self.of_tex(f'{BAR}^2')}"
        if isinstance(term, Sum) and not any(term.get_data()) and isinstance(term.args[0], Hstack):
            return _added(self.written(part) for part in _listed(term.args))
        return None

    def _number(self, term: Any) -> str:
        """Return one number, or a parameter, as it is printed; an empty text for anything else."""
        number, symbols, core = _factors(term)
        if core is None:
            return _scaled(number, [self.of_tex(symbol) for symbol in symbols], "")
        return ""


def _factors(term: Any) -> tuple[float, list[str], Any]:
    """Split off numbers and parameters: their product, the LaTeX of the parameters, and what is left, or None."""
    if hasattr(term, "stands_for") or not isinstance(term, cp.Expression):
        return 1.0, [], term
    if isinstance(term, Promote) or (isinstance(term, cp.reshape) and term.size == 1):
        return _factors(term.args[0])
    if isinstance(term, cp.Parameter) and term.size == 1:
        return 1.0, [_parameter(term)], None
    if term.size == 1 and term.is_constant() and not term.parameters():
        return float(np.sum(term.value)), [], None
    if isinstance(term, NegExpression):
        number, symbols, core = _factors(term.args[0])
        return -number, symbols, core
    if isinstance(term, cp.multiply | MulExpression | DivExpression):
        (a, first, left), (b, second, right) = map(_factors, term.args)
        if isinstance(term, DivExpression):
            if right is None and b:
                return a / b, [*first, *(f"/ {symbol}" for symbol in second)], left
        elif left is None or right is None:
            return a * b, first + second, right if left is None else left
    return 1.0, [], term


def _parameter(parameter: cp.Parameter) -> str:
    """Return the LaTeX of a parameter: its symbol, its name, or its value if nobody named it."""
    if hasattr(parameter, "written_as"):
        return parameter.written_as
    name = parameter.name()
    if re.fullmatch(r"param\d+", name) and parameter.value is not None:
        return f"{float(np.sum(parameter.value)):.4g}"
    if name in _LETTERS:
        return f"\\{name}"
    return name if len(name) == 1 else rf"\text{{{name.replace('_', ' ')}}}"


def _scaled(number: float, symbols: list[str], inside: str) -> str:
    """Return numbers and symbols times what is inside; a factor of 1 is not printed."""
    times = [symbol for symbol in symbols if not symbol.startswith("/")]
    per = [symbol for symbol in symbols if symbol.startswith("/")]
    if (number != 1 or symbols) and _is_a_sum(inside):
        inside = f"({inside})"
    elif (number != 1 or symbols) and inside.startswith("-"):
        number, inside = -number, inside[1:].lstrip()
    rest = [*times, *([inside] if inside else [])]
    size = [] if abs(number) == 1 and rest else [f"{abs(number):.4g}"]
    return ("-" if number < 0 else "") + " ".join([*size, *rest, *per])


def _added(parts: Iterable[str]) -> str:
    """Return a sum; what begins with a minus is subtracted, and zeros are left out."""
    text = ""
    for part in parts:
        if part in ("0", "-0"):
            continue
        if not text:
            text = part
        else:
            text += f" - {part[1:].lstrip()}" if part.startswith("-") else f" + {part}"
    return text or "0"


def _listed(arguments: list[Any]) -> list[Any]:
    """Return the parts of a list that CVXPY has put side by side, or the arguments themselves."""
    (first, *others) = arguments
    return list(first.args) if isinstance(first, Hstack) and not others else arguments


def _is_a_sum(text: str) -> bool:
    """Whether there is a plus or minus outside all brackets."""
    for command, bracket in ((r"\langle", "⟨"), (r"\rangle", "⟩"), (r"\|", "‖")):
        text = text.replace(command, bracket)
    text = re.sub(r"(?<=\d[eE])[-+](?=\d)", "", text)  # of numbers such as 1e-05
    depth, open_bars = 0, set[str]()
    for place, character in enumerate(text):
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if character in "|‖":
            open_bars ^= {character}
        before = text[:place].rstrip()[-1:]
        if depth == 0 and not open_bars and character in "+-" and before and before not in "^_,=":
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
