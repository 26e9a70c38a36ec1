"""Options of the method as parameters of the estimator, so that a search over parameters can vary them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from ..errors import InvalidInput
from ..methods.table import default_options_of, formulation_of, require_options
from ..numerics.arguments import shown
from ..numerics.checks import as_flag

NESTED = "method_options__"
# The method that is chosen by what is given.
AUTO = "auto"


def is_auto(name: Any) -> bool:
    """Whether the method is to be chosen by what is given."""
    return isinstance(name, str) and name.lower() == AUTO


def require_no_options(options: Mapping[str, Any]) -> None:
    """Raise if there are options, which nothing can be said about before a method is chosen."""
    if options:
        raise InvalidInput.about(
            "method_options", "must come with a method that has them; none is named, so that one is chosen"
        )


class OptionsAsParameters(BaseEstimator):
    """An estimator with a ``method`` and its ``method_options``, each of which is also a parameter of its own."""

    method: Any
    method_options: Mapping[str, Any] | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also every option of the method, as ``method_options__mu``."""
        found = super().get_params(as_flag(deep, "deep"))
        if deep:
            found |= {f"{NESTED}{name}": value for name, value in self._all_options().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``method_options__mu`` sets one option of the method and keeps the others."""
        nested = {name.removeprefix(NESTED): params.pop(name) for name in list(params) if name.startswith(NESTED)}
        if nested:
            which = params.get("method", self.method)
            if is_auto(which):
                require_no_options(nested)
            require_options(formulation_of(which), nested, "method_options")
        super().set_params(**params)
        if nested:
            # A new dictionary, because the old one may be shared with a clone.
            self.method_options = {**self.options_by_name, **nested}
        return self

    @property
    def options_by_name(self) -> Mapping[str, Any]:
        """The options that were given."""
        options = {} if self.method_options is None else self.method_options
        if not isinstance(options, Mapping):
            raise InvalidInput.about("method_options", f"must be a dict, such as {{'mu': 0.2}}, not {shown(options)}")
        return options

    def _all_options(self) -> dict[str, Any]:
        """Return the options that were given, and the defaults of the others; parameters are checked elsewhere."""
        try:
            defaults, given = default_options_of(formulation_of(self.method)), self.options_by_name
        except InvalidInput:
            return {}
        return {**defaults, **given}
