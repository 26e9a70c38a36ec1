"""Backends: each takes a declared program and returns an attempt at it."""
