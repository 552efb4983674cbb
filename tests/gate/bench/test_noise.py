"""Whether a difference of times exceeds the noise: on times whose difference is known."""

import numpy as np
import pytest

from pullback.gate.bench.noise import compared, summary


def rounds(rng, median=10.0, between=0.02, within=0.05, count=3, outliers=0):
    """Lognormal times; each round has a level of its own."""
    found = []
    for level in rng.normal(0, between, count):
        times = median * np.exp(level + rng.normal(0, within, 60))
        times[:outliers] *= 20
        found.append(list(times))
    return found


def test_equal_sides_hardly_ever_differ():
    rng = np.random.default_rng(0)
    found = [compared(rounds(rng), rounds(rng), seed) for seed in range(12)]
    assert sum(one.exceeds for one in found) <= 1
    assert sum(one.low <= 1 <= one.high for one in found) >= 9


@pytest.mark.parametrize("factor", [1.3, 0.7])
def test_a_real_difference_is_told_with_its_interval(factor):
    rng = np.random.default_rng(1)
    for seed in range(2):
        one = compared(rounds(rng), rounds(rng, 10 * factor), seed)
        assert one.exceeds and one.low < factor < one.high and one.low <= one.ratio <= one.high
        assert ("slower" if factor > 1 else "faster") + " beyond the noise" in one.text()


def test_a_difference_within_the_spread_of_the_rounds_is_none():
    steady = [[10.0 + 0.01 * i for i in range(30)]] * 3
    jumping = [[x * level for x in steady[0]] for level in (1.05, 1.2, 1.3)]
    one = compared(steady, jumping)
    assert one.low > 1 and one.spread == pytest.approx(1.3 / 1.05) and not one.exceeds
    assert one.text().startswith("no difference beyond the noise: x1.200")


def test_the_same_seed_gives_the_same_interval_and_outliers_are_kept():
    rng = np.random.default_rng(2)
    one, other = rounds(rng, outliers=2), rounds(rng)
    assert compared(one, other, 5) == compared(one, other, 5) != compared(one, other, 6)
    said = summary(one)
    assert said["count"] == 180 and said["largest"] > 100 and said["p99"] > said["p90"] > said["median"] > said["least"]
    assert compared(one, other).ratio == pytest.approx(1.0, abs=0.1)
