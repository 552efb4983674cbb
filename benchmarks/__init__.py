"""Benchmarks: every case once, written against JAX's interface, timed under pullback and under real jax."""
