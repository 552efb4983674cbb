"""pullback's own operations by jax's names for them, `sin_p` (jax.extend.core.primitives).

They serve to tell the equations of a program apart, and to bind them again. Their params are pullback's.
"""

from __future__ import annotations

from typing import Any

from pullback import lax
from pullback.core import errors
from pullback.core.primitive import TABLE
from pullback.extend.primitive import Primitive

# Of jax's, in no program of pullback: for libraries that keep a rule for each.
call_p, closed_call_p = Primitive("call"), Primitive("closed_call")

_OTHER_NAMES = {"add_jaxvals_p": "add_any_p", "linear_solve_p": "custom_linear_solve_p", "remat_p": "checkpoint_p"}


def __getattr__(name: str) -> Any:
    name = _OTHER_NAMES.get(name, name)
    if name.endswith("_p"):
        try:
            return getattr(lax, name)
        except errors.UnsupportedError:
            pass
    raise errors.unsupported(f"pullback.extend.core.primitives.{name}")


def __dir__() -> list[str]:
    return [f"{name}_p" for name in TABLE]
