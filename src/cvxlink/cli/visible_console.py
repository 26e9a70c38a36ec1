"""A console that shows characters instead of obeying them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ..errors import visible


class VisibleConsole(Console):
    """A console on which text from files cannot move the cursor, change colours or set the title of the window."""

    def render_str(self, text: str, *arguments: Any, **options: Any) -> Text:
        """Return text to print, with control characters written out; cells of tables come by here, too."""
        return super().render_str(visible(text), *arguments, **options)
