"""Cuts that satisfy constraints: CSC and CSCGFHF."""
