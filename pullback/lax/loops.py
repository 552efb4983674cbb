"""Loops that say how much of them reverse mode keeps: pullback.while_loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import errors
from pullback.lax.control_flow import cond, repeated, scan
from pullback.ops.while_loop import SLOTS

__all__ = ["while_loop"]


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
               max_steps: int | None = None, slots: int = SLOTS) -> Any:
    """`lax.while_loop`, with a say in what reverse mode keeps.

    Args:
      cond_fun, body_fun, init_val: as of lax.while_loop.
      max_steps: a bound on the number of steps: the loop becomes a scan of that length, whose reverse mode keeps
        every step. A loop that would go on stops there.
      slots: how many values reverse mode keeps at once where there is no bound; the others are computed again, each
        at most r times where C(slots + r, slots) is the number of steps.

    Returns:
      The value for which cond_fun does not hold.

    Raises:
      ValueError: max_steps or slots is no count. TypeError: as of lax.while_loop.

    Source: Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000).

    Example:
      >>> loop = lambda x: pullback.while_loop(lambda v: v < 100, lambda v: v * 2, x, max_steps=10)
      >>> grad(loop)(3.0).item()
      64.0
    """
    for name, count, least in (("max_steps", max_steps, 0), ("slots", slots, 1)):
        if count is not None and (not isinstance(count, int) or count < least):
            raise errors.value_error(f"{name} is {count!r}, an int of at least {least} is required", op="while_loop",
                                     fix="leave it out")
    if max_steps is None:
        return repeated(cond_fun, body_fun, init_val, slots)

    def step(state: Any, _: None) -> tuple[Any, None]:
        return cond(cond_fun(state), body_fun, lambda same: same, state), None
    return scan(step, init_val, None, length=max_steps)[0]
