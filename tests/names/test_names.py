"""Every public name against the same name of real jax, over generated cases (see cases.py).

By default a sample; PULLBACK_NAMES=all runs all of it, PULLBACK_NAMES=jax.lax,jax.nn the named namespaces whole,
and PULLBACK_NAMES=3/10 the third of ten parts.
"""

from __future__ import annotations

import contextlib
import os
import zlib

import jax
import pytest

import pullback
from tests.names import compare, registry
from tests.names.differences import DIFFERENCES

WANTED = os.environ.get("PULLBACK_NAMES", "")
SAMPLE = 3  # cases of a name in the sample
VALUES = 32  # of so many names one has its values compared in the sample
newest = pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="names and errors are those of jax 0.11")


def number(text):
    """A number that is the same in every process."""
    return zlib.crc32(text.encode())


def chosen():
    every = registry.specified()
    if "/" in WANTED:
        part, parts = map(int, WANTED.split("/"))
        return every[part - 1::parts]
    if WANTED not in ("", "all"):
        return [pair for pair in every if pair[0] in WANTED.split(",")]
    return every


def sample(texts, count=SAMPLE):
    """The first call, and some of the others."""
    return texts[:1] + sorted(texts[1:], key=number)[:count - 1]


@contextlib.contextmanager
def wide():
    with jax.enable_x64(True), pullback.enable_x64(True):
        yield


@newest
@pytest.mark.parametrize("namespace, name", chosen(), ids=lambda text: text)
def test_name(namespace, name):
    texts = registry.calls(namespace, name)
    values = bool(WANTED) or number(namespace + name) % VALUES == 0
    found = compare.differences(texts if WANTED else sample(texts), values, jit=bool(WANTED))
    if WANTED:
        with wide():
            found += compare.differences(registry.calls(namespace, name, wide=True), jit=True)
    assert not found, "\n".join(f"{text}\n    {words}" for text, words in found)


@newest
def test_every_name_has_calls_or_a_reason():
    for namespace in registry.NAMESPACES:
        calls, without = registry.lines(namespace), registry.WITHOUT.get(namespace, {})
        names = set(registry.public(namespace))
        assert names - set(calls) - set(without) == set(), namespace
        assert set(calls) | set(without) <= names, namespace
        assert not set(calls) & set(without), namespace


def test_differences_have_reasons():
    assert all(len(why) > 10 for _, _, why in DIFFERENCES)


def test_a_difference_is_found():
    """The comparison itself: a wrong dtype, weak type, value and error class are told apart."""
    right, wrong = compare.run(jax, "jnp.add(f4(3), 1)"), compare.run(pullback, "jnp.add(f4(3), 2)")
    assert compare.difference(compare.run(pullback, "jnp.add(f4(3), 1)"), right) is None
    assert "values" in compare.difference(wrong, right)
    assert "types" in compare.difference(compare.run(pullback, "jnp.add(i4(3), 1)"), right)
    assert "types" in compare.difference(compare.run(pullback, "jnp.asarray(1)"), compare.run(jax, "jnp.int32(1)"))
    refused = compare.run(jax, "jnp.add(f4(3), 'a')")
    assert "pullback gives" in compare.difference(wrong, refused)
    assert "ValueError" in compare.difference(compare.Result(error=ValueError()), refused)
    assert compare.difference(compare.run(pullback, "jnp.add(f4(3), 'a')"), refused) is None
