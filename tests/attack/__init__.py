"""Attacks on what the package promises: seeded cases, played one by one."""
