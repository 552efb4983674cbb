"""Rewrites (Program -> Program) and analyses (Program -> facts)."""
