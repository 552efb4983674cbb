"""Serving other names: `import jax` answered by pullback."""
