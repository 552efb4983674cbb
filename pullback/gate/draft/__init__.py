"""A first gate.Model of a script that has none, written by looking at its functions."""
