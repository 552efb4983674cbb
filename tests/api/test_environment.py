"""What runs here: types, live arrays, settings of one way, errors."""

import doctest
import gc

import jax
import numpy as np
import pytest

import pullback
from pullback.api import environment

jnp = pullback.numpy


def test_what_is_here():
    assert (pullback.host_id(), pullback.host_ids(), pullback.process_indices()) == (0, [0], [0])
    gc.collect()
    x = jnp.arange(3)
    assert any(array is x for array in pullback.live_arrays())
    x.delete()
    assert not any(array is x for array in pullback.live_arrays())
    info = pullback.print_environment_info(return_string=True)
    assert all(f"{name}:" in info for name in ("jaxlib", "numpy", "python", "devices", "platform"))


def test_printed_information(capsys):
    assert pullback.print_environment_info() is None
    assert "jaxlib:" in capsys.readouterr().out


def test_types():
    for value in (1, 1.5, True, np.float32(2), np.ones((2, 3))):
        ours, theirs = pullback.typeof(value), jax.typeof(value)
        assert (ours.shape, ours.dtype, ours.weak_type) == (theirs.shape, theirs.dtype, theirs.weak_type)
    with pytest.raises(TypeError, match="an array or a number is required"):
        pullback.typeof("x")


def test_settings_of_one_way():
    for name, values in (("transfer_guard", ("allow", "log", "disallow")), ("softmax_custom_jvp", (True, False)),
                         ("legacy_prng_key", ("allow", "warn", "error")),
                         ("transfer_guard_host_to_device", ("log_explicit",)),
                         ("default_device", (None, "cpu", pullback.devices()[0]))):
        for value in values:
            with getattr(pullback, name)(value):
                assert jnp.ones(2).sum() == 2
        with pytest.raises(ValueError, match=f"{name}: got 'other'"):
            getattr(pullback, name)("other")


def test_no_tracing():
    f = pullback.jit(lambda x: x + 1)
    f(1)
    with pullback.no_tracing(True):
        assert f(2) == 3
        with pytest.raises(RuntimeError, match=r"must be traced for f32\[\], and no_tracing is set"):
            f(2.0)


def test_checks_of_programs():
    with pullback.enable_checks(True):
        assert pullback.jit(lambda x: jnp.sin(x) * 2)(0.0) == 0


def test_errors_have_the_bases_of_jax():
    for name in ("ConcretizationTypeError", "TracerArrayConversionError", "TracerIntegerConversionError",
                 "UnexpectedTracerError", "KeyReuseError"):
        assert issubclass(getattr(jax.errors, name), jax.errors.JAXTypeError)
        assert issubclass(getattr(pullback.errors, name), pullback.errors.JAXTypeError)
    assert issubclass(pullback.errors.NonConcreteBooleanIndexError, pullback.errors.JAXIndexError)
    with pytest.raises(pullback.errors.JAXTypeError, match="bool|truth"):
        pullback.jit(lambda x: 1 if x else 2)(1)


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(environment, extraglobs={
        "np": np, "jnp": jnp, "devices": pullback.devices, "pullback": pullback})
    assert attempted and not failed


@pytest.mark.parametrize("engine", [pullback, jax], ids=lambda e: e.__name__)
def test_settings_without_a_value(engine):
    def bad(x):
        return engine.numpy.log(x)

    with engine.debug_nans(), pytest.raises(FloatingPointError):
        bad(-1.0)
    with engine.debug_nans(), engine.debug_nans(False):
        bad(-1.0)
    with engine.disable_jit(), engine.checking_leaks():
        assert engine.jit(lambda x: 1 if x > 0 else 2)(3) == 1
    with engine.disable_jit(), engine.disable_jit(False), pytest.raises(engine.errors.TracerBoolConversionError):
        engine.jit(lambda x: 1 if x > 0 else 2)(3)
    for setting in (engine.numpy_rank_promotion, engine.default_matmul_precision, engine.default_prng_impl):
        with pytest.raises(TypeError):
            setting()
    with pytest.raises(TypeError):
        engine.jit(None)
