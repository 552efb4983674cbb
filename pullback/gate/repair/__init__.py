"""Edits of the user's functions that make a failing check hold: they name the line, and propose the repair."""
