"""A study as one HTML file that works from disk, without a network, and can be mailed around."""

from .assembly import page, save_page

__all__ = ["page", "save_page"]
