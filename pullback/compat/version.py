"""The version of jax whose interface is served (jax.version)."""

__version__ = "0.11.2"
__version_info__ = tuple([int(n) for n in __version__.split(".")])
