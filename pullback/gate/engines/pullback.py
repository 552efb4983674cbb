"""pullback as an engine."""

from __future__ import annotations

import pullback
from pullback.compat.jax import install
from pullback.core.trace import bind
from pullback.gate.engines.adapter import Adapter
from pullback.gate.engines.readers import PullbackReader
from pullback.runtime import pjrt


def engine(serve: bool = False) -> Adapter:
    """The adapter of pullback; with `serve`, `import jax` gives pullback from now on."""
    if serve:
        install(quiet=True)
    made = Adapter("pullback", pullback, ("pullback", "jaxlib"))
    made.reader = PullbackReader(pullback, made.folders, bind)
    made.compilations = pjrt.programs_made
    return made
