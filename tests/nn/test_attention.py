"""pullback.nn.dot_product_attention against real jax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback import nn
from tests.numpy.against_jax import close, ours, theirs

rng = np.random.default_rng(0)
B, T, S, N, K, H = 2, 4, 5, 6, 3, 8


def draw(*shape, dtype="float32"):
    return rng.normal(size=shape).astype(jnp.dtype(dtype))


def operands(n=N, k=K, dtype="float32"):
    return draw(B, T, n, H, dtype=dtype), draw(B, S, k, H, dtype=dtype), draw(B, S, k, H, dtype=dtype)


def compare(args, kwargs, rtol=None, grad=True):
    mine_kwargs, real_kwargs = ours(kwargs), theirs(kwargs)
    mine = nn.dot_product_attention(*ours(args), **mine_kwargs)
    real = jax.nn.dot_product_attention(*theirs(args), **real_kwargs)
    close(mine, real, kwargs, rtol)
    close(pullback.jit(lambda *xs: nn.dot_product_attention(*xs, **mine_kwargs))(*ours(args)), real, kwargs, rtol)
    if grad:
        def loss(attention, kwargs):
            def f(*xs):
                out = attention(*xs, **kwargs)
                out = out if kwargs.get("return_residual") else (out,)
                return sum([(x.astype(np.float32) ** 2).sum() for x in out])
            return f
        places = tuple(range(len([x for x in args if x is not None and x.dtype != bool])))
        close(pullback.grad(loss(nn.dot_product_attention, mine_kwargs), places)(*ours(args)),
              jax.grad(loss(jax.nn.dot_product_attention, real_kwargs), places)(*theirs(args)), kwargs, rtol or 1e-4)


MASK = rng.integers(0, 2, (B, N, T, S)).astype(bool)
LENGTHS = dict(query_seq_lengths=np.int32([2, 4]), key_value_seq_lengths=np.int32([3, 5]))


@pytest.mark.parametrize("kwargs", [
    {}, dict(scale=0.3), dict(is_causal=True), dict(local_window_size=1), dict(local_window_size=(1, 2)),
    dict(local_window_size=(2, 0), is_causal=True), LENGTHS, dict(return_residual=True),
    dict(**LENGTHS, is_causal=True, local_window_size=(1, 2), return_residual=True),
    dict(key_value_seq_lengths=np.int32([0, 4])), dict(implementation="xla")])
@pytest.mark.parametrize("heads", [(N, K), (N, N), (N, 1)])
def test_attention(kwargs, heads):
    compare(operands(*heads), kwargs, grad=heads == (N, K))


@pytest.mark.parametrize("bias", [(B, N, T, S), (1, 1, T, S), (1, N, 1, S), (T, S), (N, T, S), (B, 1, 1, 1)])
def test_bias(bias):
    compare((*operands(), draw(*bias)), {})
    compare((*operands(N, N), draw(*bias)), {}, grad=False)


@pytest.mark.parametrize("mask", [MASK, MASK[:1], MASK[:, :1], MASK[:, :, :1], MASK[0, 0], MASK & False])
def test_mask(mask):
    compare((*operands(), None, mask), {}, grad=False)
    compare((*operands(N, N), draw(B, N, T, S), mask), dict(is_causal=True, **LENGTHS), grad=False)


def test_masked_derivatives():
    q, k, v = operands()
    compare((q, k, v), dict(mask=MASK))


@pytest.mark.parametrize("kwargs", [{}, dict(is_causal=True, return_residual=True)])
def test_without_a_batch(kwargs):
    q, k, v = (x[0] for x in operands())
    compare((q, k, v), kwargs)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_dtypes(dtype):
    compare(operands(dtype=dtype), dict(is_causal=True, return_residual=True), rtol=3e-2, grad=False)
    compare((*operands(dtype=dtype), draw(1, 1, T, S)), LENGTHS, rtol=3e-2, grad=False)


def test_a_query_that_sees_nothing_gets_the_mean():
    q, k, v = operands(N, N)
    out = np.asarray(nn.dot_product_attention(*ours((q, k, v)), mask=ours(MASK[:1] & False)))
    np.testing.assert_allclose(out, np.broadcast_to(v.mean(1)[:, None], out.shape), rtol=1e-5, atol=1e-6)


def test_padding_queries_give_no_nan():
    q, k, v = operands()
    q[0, 2:] = np.nan
    lengths = ours(np.int32([2, 4]))
    assert np.isfinite(nn.dot_product_attention(ours(q), ours(k), ours(v), query_seq_lengths=lengths).sum())


def test_vmap_agrees_with_a_batch():
    q, k, v = operands()
    mapped = pullback.vmap(lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True))
    close(mapped(*ours((q, k, v))), jax.nn.dot_product_attention(q, k, v, is_causal=True), "vmap")


def test_no_operand_is_repeated():
    q, k, v = operands()
    program = pullback.make_jaxpr(nn.dot_product_attention)(*ours((q, k, v)))
    assert max(e.outputs[0].type.size for e in program.eqns) == max(B * N * T * S, q.size)
    assert [e.primitive.name for e in program.eqns].count("dot_general") == 2


def a(*shape, dtype="float32"):
    return ours(draw(*shape, dtype=dtype))


Q, KV = (B, T, N, H), (B, S, K, H)


@pytest.mark.parametrize("call, parts", [
    (lambda f: f(a(4, 8), a(4, 8), a(4, 8)), ["got query f32[4,8]", "axes (batch, position, head, feature)"]),
    (lambda f: f(a(B, T, 5, H), a(*KV), a(*KV)), ["query heads (5) that are a multiple of the key heads (3)"]),
    (lambda f: f(a(*Q), a(B, S, K, 7), a(B, S, K, 7)), ["required are one shape of key and value"]),
    (lambda f: f(a(*Q), a(*KV), a(B, T, K, H)), ["required are one shape of key and value"]),
    (lambda f: f(a(*Q), a(1, S, K, H), a(1, S, K, H)), ["required are one shape"]),
    (lambda f: f(a(*Q, dtype="bfloat16"), a(*KV), a(*KV)), ["one float dtype is required"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), a(B, 3, T, S)), ["bias is f32[2,3,4,5]; sizes (2, 6, 4, 5) or 1"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), mask=a(T, S)), ["mask is f32[4,5], bool is required"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), mask=ours(MASK[:, :, :3])), ["mask is bool[2,6,3,5]; sizes (2, 6, 4, 5)"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), query_seq_lengths=a(2)), ["query_seq_lengths is f32[2], i32[2] is required"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), key_value_seq_lengths=ours(np.int32([1]))), ["is i32[1], i32[2] is required"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), local_window_size=(1,)), ["local_window_size is (1,)"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), local_window_size=-1), ["local_window_size is -1"]),
    (lambda f: f(a(*Q), a(*KV), a(*KV), implementation="flash"), ["implementation is 'flash'; None or 'xla'"]),
])
def test_errors(call, parts):
    with pytest.raises(ValueError) as caught:
        call(nn.dot_product_attention)
    for part in ("dot_product_attention: ", *parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


def test_cudnn_is_not_there():
    with pytest.raises(RuntimeError, match="implementation is 'cudnn', which pullback does not have"):
        nn.dot_product_attention(a(*Q), a(*KV), a(*KV), implementation="cudnn")
