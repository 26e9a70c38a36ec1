"""``python -m cvxlink`` is the command ``cvxlink``."""

from .cli import app

if __name__ == "__main__":
    app(prog_name="cvxlink")
