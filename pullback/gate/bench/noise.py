"""Whether two sets of times differ by more than the noise.

A side is a list of rounds, each the times of one process. Times of one process are alike in what they share (where its
memory lies, what else ran meanwhile), so processes are drawn first and times within them second: the hierarchical
bootstrap of Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

__all__ = ["Comparison", "compared", "summary"]

_DRAWS = 1000
Rounds = Sequence[Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How much longer the second takes than the first: the ratio of typical times, and its interval.

    Args:
      spread: the largest ratio of two rounds of one and the same side: what is no difference at all.
      exceeds: the interval leaves 1 out, and the ratio is beyond the spread.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    spread: float
    exceeds: bool

    def text(self) -> str:
        """In one line."""
        shown = f"x{self.ratio:.3f} [{self.low:.3f}, {self.high:.3f}] at {100 * self.confidence:g} %"
        noise = f"rounds of one side differ by up to x{self.spread:.3f}"
        if not self.exceeds:
            return f"no difference beyond the noise: {shown}; {noise}"
        return f"{'slower' if self.ratio > 1 else 'faster'} beyond the noise: {shown}; {noise}"


def summary(rounds: Rounds) -> dict[str, float]:
    """Median, 90th and 99th percentile, least and largest of all times; the medians' spread over the rounds."""
    times = np.concatenate([np.asarray(times, float) for times in rounds])
    return {"median": float(np.median(times)), "p90": float(np.quantile(times, 0.9)),
            "p99": float(np.quantile(times, 0.99)), "least": float(times.min()), "largest": float(times.max()),
            "count": len(times), "spread": _spread(rounds)}


def compared(first: Rounds, second: Rounds, seed: int = 0, confidence: float = 0.95) -> Comparison:
    """The second side against the first.

    Args:
      first, second: times of each process of a side, in any unit.
      seed: of the draws.
      confidence: of the interval.
    """
    rng = np.random.default_rng((seed, 11))
    draws = np.log(_drawn(second, rng)) - np.log(_drawn(first, rng))
    low, high = np.exp(np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2]))
    ratio = _typical(second) / _typical(first)
    spread = max(_spread(first), _spread(second))
    exceeds = bool((low > 1 or high < 1) and max(ratio, 1 / ratio) > spread)
    return Comparison(float(ratio), float(low), float(high), confidence, spread, exceeds)


def _typical(rounds: Rounds) -> float:
    return float(np.median([np.median(times) for times in rounds]))


def _spread(rounds: Rounds) -> float:
    medians = [float(np.median(times)) for times in rounds]
    return max(medians) / min(medians)


def _drawn(rounds: Rounds, rng: np.random.Generator) -> np.ndarray:
    """What the typical time could have been, once for each draw."""
    medians = np.empty((len(rounds), len(rounds), _DRAWS))
    for i, times in enumerate(rounds):  # a round may be drawn as often as there are rounds, each time anew
        values = np.asarray(times, float)
        for j in range(len(rounds)):
            medians[i, j] = np.median(rng.choice(values, (_DRAWS, len(values))), axis=1)
    chosen = rng.integers(len(rounds), size=(len(rounds), _DRAWS))
    picked = medians[chosen, np.arange(len(rounds))[:, None], np.arange(_DRAWS)]
    typical: np.ndarray = np.median(picked, axis=0)
    return typical
