"""Mutable references, which pullback does not have."""
