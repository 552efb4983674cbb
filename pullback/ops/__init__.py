"""What can be computed: the primitives, one object each. As jax.ops it holds the reductions of segments."""

from __future__ import annotations

from pullback.ops.segment import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
