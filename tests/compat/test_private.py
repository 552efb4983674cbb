"""The names inside jax that libraries import, and jax's modules for libraries: they do what libraries need of them."""

import inspect
import subprocess
import sys
import weakref
from pathlib import Path

import jax as real
import jax.extend.linear_util as real_lu
import numpy as np
import pytest
from jax.experimental import multihost_utils as real_multihost_utils

import pullback
import pullback.numpy as jnp
from pullback import api_util, lax, monitoring, profiler, test_util
from pullback.compat import core as jax_core
from pullback.experimental import mesh_utils, multihost_utils
from pullback.extend import core, linear_util
from pullback.interpreters import partial_eval

ROOT = Path(__file__).resolve().parent.parent.parent

SCRIPT = """
import warnings
import jax, jax.numpy as jnp
import jax._src.traceback_util as traceback_util
import jax._src.dispatch, jax._src.xla_bridge, jax._src.compiler
from jax._src import core, dtypes, checkify, ad_util
from jax._src.flatten_util import ravel_pytree
from jax._src.tree_util import _registry
from jax._src.state.types import AbstractRef
from jax.experimental import hijax, layout
from jax.extend import source_info_util
import jax.version, collections
assert jax.version.__version_info__ == jax.__version_info__
traceback_util.register_exclusion("library.py")
jax._src.dispatch.wait_for_tokens()
assert core.trace_state_clean() and not jax.jit(lambda x: x + core.trace_state_clean())(0)
assert issubclass(dtypes.TypePromotionError, ValueError) and dtypes.to_complex_dtype("float32") == "complex64"
assert ravel_pytree([jnp.ones(2), 3.0])[0].shape == (3,)
assert {list, tuple, dict, type(None), collections.OrderedDict} <= set(_registry) and int not in _registry
assert not isinstance(jnp.ones(2), AbstractRef) and checkify.check is jax.experimental.checkify.check
assert layout.Format(layout.Layout((0, 1))).layout.major_to_minor == (0, 1)
class Read(hijax.HiPrim):
    pass
for call in (Read(), AbstractRef, lambda: core.no_such_name, lambda: dtypes.no_such_name, lambda: jax._src.pjit):
    try:
        call()
    except AttributeError as error:
        assert "not support" in str(error), error
    else:
        raise AssertionError(call)
try:
    import jax._src.no_such_module
except ModuleNotFoundError as error:
    assert "jax_compat" in str(error)
print("done")
"""


def test_names_of_jaxs_inside():
    done = subprocess.run([sys.executable, "-c", "import pullback.compat.jax as c; c.install(quiet=True)\n" + SCRIPT],
                          capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.stdout == "done\n", done.stderr


# -- functions of trees and their transformations ---------------------------------------------------


@pytest.mark.parametrize("lu", [linear_util, real_lu], ids=["pullback", "jax"])
def test_transformations_of_functions(lu):
    @lu.transformation2
    def doubled(f, factor, *args):
        return factor * f(*args)

    @lu.transformation_with_aux2
    def counted(f, store, *args):
        store.store(len(args))
        return f(*args)

    info = real.api_util.debug_info("test", max, (1,), {}) if lu is real_lu else None
    fun, count = counted(doubled(lu.wrap_init(lambda a, b: a + b, debug_info=info), 10))
    with pytest.raises(lu.StoreException):
        count()
    assert fun.call_wrapped(1, 2) == 30 and count() == 2
    assert lu.merge_linear_aux(count, counted(fun)[1]) == (True, 2)


def test_transformations_written_as_generators():
    @linear_util.transformation
    def negated(sign, *args):
        result = yield args, {}
        yield sign * result

    @linear_util.transformation_with_aux
    def with_length(*args):
        result = yield args, {}
        yield result, len(args)

    fun, length = with_length(negated(linear_util.wrap_init(lambda a, b: a - b), -1))
    assert fun.call_wrapped(5, 3) == -2 and length() == 2
    with pytest.raises(TypeError, match="a function is required"):
        linear_util.wrap_init(3)
    calls, fun = [], negated(linear_util.wrap_init(lambda a, b: a - b), -1)
    cached = linear_util.cache(lambda f, n: calls.append(n) or f.call_wrapped(n, n))
    assert cached(fun, 4) == cached(fun, 4) == 0 and calls == [4]


def test_flat_functions():
    given = ((jnp.ones(2), {"a": 3.0}), {"b": 1.0})
    leaves, in_tree = pullback.tree.flatten(given)
    flat, out_tree = api_util.flatten_fun(linear_util.wrap_init(lambda x, y, b: {"sum": x * y["a"] + b}), in_tree)
    assert [v.tolist() for v in flat.call_wrapped(*leaves)] == [[4.0, 4.0]]
    assert out_tree() == pullback.tree.structure({"sum": 0})
    pair = pullback.tree.structure((0, 0))
    flat, out_tree = api_util.flatten_fun_nokwargs(linear_util.wrap_init(lambda x, y: x), pair)
    assert flat.call_wrapped(1, 2) == [1]
    assert api_util.safe_map(lambda a, b: a + b, [1, 2], (3, 4)) == [4, 6]
    with pytest.raises(ValueError, match="one length"):
        api_util.safe_map(lambda a, b: a, [1], [1, 2])
    fun, dynamic = api_util.argnums_partial(linear_util.wrap_init(lambda a, b, c: (a, b, c)), (0, -1), (1, 2, 3))
    assert dynamic == (1, 3) and fun.call_wrapped(7, 9) == (7, 2, 9)
    with pytest.raises(ValueError, match="cannot be hashed"):
        api_util.argnums_partial(linear_util.wrap_init(max), 0, (1, [2]))
    treedef = pullback.tree.structure((([0, 0], 0), {"k": 0}))
    assert api_util.donation_vector((0,), ("k",), treedef) == \
        real.api_util.donation_vector((0,), ("k",), real.tree.structure((([0, 0], 0), {"k": 0})))
    assert api_util.rebase_donate_argnums((0, 3), (1,)) == real.api_util.rebase_donate_argnums((0, 3), (1,)) == (0, 2)
    assert api_util.flatten_axes("in_axes", pullback.tree.structure(([0, 0], 0)), (1, None)) == [1, 1, None]
    with pytest.raises(ValueError, match="in_axes must be a prefix"):
        api_util.flatten_axes("in_axes", pullback.tree.structure([0, 0]), (1, 2, 3))
    assert api_util.shaped_abstractify(pullback.ShapeDtypeStruct((2,), "int32")).shape == (2,)
    assert api_util.debug_info("jit", max, (), {}).func_name == "max"


def test_programs_of_flat_functions():
    fun = linear_util.wrap_init(lambda x, y: [jnp.sin(x) * y, y * 2, jnp.ones(2)])
    unknown, known = partial_eval.PartialVal.unknown, partial_eval.PartialVal.known
    program, outputs, constants = partial_eval.trace_to_jaxpr_nounits(
        fun, [unknown(pullback.typeof(1.0)), known(jnp.float32(3.0))])
    assert [p.is_known() for p in outputs] == [False, True, True] and float(outputs[1].const) == 6.0
    assert outputs[0].get_aval().shape == () and outputs[2].get_aval().shape == (2,)
    (value,) = jax_core.eval_jaxpr(program, constants, 1.0)
    np.testing.assert_allclose(float(value), 3 * np.sin(1.0), rtol=1e-6)
    program, types, constants = partial_eval.trace_to_jaxpr_dynamic(fun, [pullback.typeof(1.0)] * 2)
    assert [t.shape for t in types] == [(), (), (2,)]
    assert len(jax_core.eval_jaxpr(program, constants, 1.0, 2.0)) == 3


def test_traces_and_programs_by_jaxs_names():
    seen = []

    def f(x):
        trace = core.find_top_trace([x])
        seen.append((x._trace is trace and trace.main is x._trace.main, core.get_opaque_trace_state()))
        with core.take_current_trace() as taken:
            one = jnp.ones(()) + 1  # runs at once
        assert float(one) == 2.0
        with core.set_current_trace(taken):
            return x * 2
    pullback.jit(f)(1.0)
    pullback.jit(f)(jnp.ones(2))
    assert all(ok for ok, _ in seen) and seen[0][1] == seen[0][1] != seen[1][1]
    assert core.get_opaque_trace_state() == core.get_opaque_trace_state()
    def g(x):
        with pullback.named_scope("hello"):
            return pullback.jit(jnp.sin)(x)
    closed = pullback.make_jaxpr(g)(1.0)
    eqn = closed.eqns[0]
    assert eqn.source_info.name_stack == "hello" and eqn.source_info.traceback.function == "g"
    assert [e.primitive.name for e in eqn.params["jaxpr"].eqns] == ["sin"]
    assert "jaxpr" in eqn.params and "no_such_param" not in eqn.params and not eqn.primitive.call_primitive
    (again,) = eqn.primitive.bind(1.0, **{**eqn.params, "jaxpr": pullback.make_jaxpr(jnp.cos)(1.0)})
    np.testing.assert_allclose(float(again), np.cos(1.0), rtol=1e-6)
    loop = pullback.make_jaxpr(lambda x: pullback.lax.while_loop(lambda c: c < 9.0, lambda c: c + 1, x))(1.0).eqns[-1]
    assert [p.eqns[0].primitive.name for p in (loop.params["cond_jaxpr"], loop.params["body_jaxpr"])] == ["lt", "add"]
    assert not isinstance(closed.jaxpr.outvars[0], core.DropVar) and core.primitives.call_p is not core.primitives.jit_p


def test_batching_rule_that_is_told_the_size():
    double_p = core.Primitive("double")
    double_p.def_impl(lambda x: x * 2)
    double_p.def_abstract_eval(lambda x: x)
    seen = []

    def rule(size, name, trace_type, args, dims):
        seen.append(size)
        return double_p.bind(args[0]), dims[0]
    pullback.interpreters.batching.axis_primitive_batchers[double_p] = rule
    assert pullback.vmap(double_p.bind)(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0] and seen == [3]


# -- checks of derivatives, events, types -----------------------------------------------------------


def test_check_grads():
    test_util.check_grads(lambda x, y: {"a": jnp.sin(x["w"]) @ y}, ({"w": jnp.ones((2, 3))}, jnp.arange(3.0)), order=3)
    test_util.check_grads(lambda x: x ** 2, (jnp.array([1 + 2j, 3.0]),), order=1)
    test_util.check_grads(lambda x, n: x * n, (2.0, 3), order=2, modes=("fwd", "rev", "lin"))
    test_util.check_grads(lambda x: jnp.where(x > 1, 50 * x, x), (jnp.float32(0.995),), order=1)  # a jump is near
    wrong = pullback.custom_jvp(jnp.sin)
    wrong.defjvp(lambda p, t: (jnp.sin(p[0]), 1.1 * jnp.cos(p[0]) * t[0]))
    for mode, part in (("fwd", "the tangent of output is off"), ("rev", "by difference quotients")):
        with pytest.raises(AssertionError, match=part):
            test_util.check_grads(wrong, (0.3,), order=1, modes=(mode,))
    with pytest.raises(AssertionError, match="jvp of jvp"):
        second = pullback.custom_jvp(jnp.sin)
        second.defjvp(lambda p, t: (jnp.sin(p[0]), pullback.lax.stop_gradient(jnp.cos(p[0])) * t[0]))
        test_util.check_grads(second, (0.9,), order=2, modes=("fwd",))
    with pytest.raises(AssertionError, match="the value of output"):
        test_util.check_jvp(jnp.sin, lambda p, t: (p[0], t[0]), (1.0,))
    with pytest.raises(ValueError, match="a whole number from 1"):
        test_util.check_grads(jnp.sin, (1.0,), order=0)
    with pytest.raises(ValueError, match="one of 'fwd', 'rev' and 'lin'"):
        test_util.check_grads(jnp.sin, (1.0,), order=1, modes=("back",))


def test_events_reach_their_listeners():
    heard = []

    def note(*given, **metadata):
        heard.append((given, metadata))
    monitoring.register_event_listener(note)
    monitoring.register_event_duration_secs_listener(note)
    monitoring.register_event_time_span_listener(note)
    monitoring.register_scalar_listener(note)
    monitoring.record_event("/a", step=1)
    monitoring.record_event_duration_secs("/b", 0.5)
    monitoring.record_event_time_span("/c", 1.0, 2.0)
    monitoring.record_scalar("/d", 3)
    assert heard == [(("/a",), {"step": 1}), (("/b", 0.5), {}), (("/c", 1.0, 2.0), {}), (("/d", 3), {})]
    monitoring.unregister_event_listener(note)
    monitoring.record_event("/a")
    assert len(heard) == 4
    with pytest.raises(ValueError, match="is not registered"):
        monitoring.unregister_event_listener(note)
    monitoring.unregister_event_duration_listener(note)
    monitoring.unregister_event_time_span_listener(note)
    monitoring.clear_event_listeners()
    monitoring.record_scalar("/d", 3)
    assert len(heard) == 4


def test_types_in_the_place_of_arrays():
    struct = pullback.ShapeDtypeStruct((2,), jnp.float32)
    assert pullback.eval_shape(lambda x: (struct, x + 1), struct) == (struct, struct)
    assert struct.update(shape=(3,)) == pullback.ShapeDtypeStruct((3,), jnp.float32)
    assert not jnp.iscomplexobj(struct) and jnp.isrealobj(struct)
    assert jnp.iscomplexobj(jnp.complex64) and jnp.isrealobj(jnp.float32)
    assert pullback.make_jaxpr(lambda: struct)().out_avals[0].shape == (2,)
    zero = pullback.custom_derivatives.zero_from_primal((jnp.ones(2), 3), symbolic_zeros=True)
    assert [z.aval.shape for z in zero] == [(2,), ()]


def test_what_is_known_runs_at_once_and_the_rest_is_traced():
    @pullback.jit
    def f(x):
        with pullback.ensure_compile_time_eval():
            n = int(jnp.arange(4).sum())
            traced = x * n
        return traced
    assert float(f(2.0)) == 12.0
    with pytest.raises(pullback.errors.UnexpectedTracerError):
        def g(x):
            with jax_core.eval_context():
                return x + 1
        pullback.jit(g)(1.0)


def test_none_in_a_cotangent_where_the_argument_has_none():
    @pullback.custom_vjp
    def f(tree):
        return tree["a"] * 2
    f.defvjp(lambda tree: (tree["a"] * 2, None), lambda _, ct: ({"a": ct * 2, "b": None, "c": None},))
    assert float(pullback.grad(lambda x: f({"a": x, "b": None, "c": [1.0, 2.0]}))(1.0)) == 2.0
    f.defvjp(lambda tree: (tree["a"] * 2, None), lambda _, ct: ({"a": ct * 2, "b": None, "c": ct},))
    with pytest.raises(TypeError, match="another structure"):
        pullback.grad(lambda x: f({"a": x, "b": None, "c": [1.0, 2.0]}))(1.0)


def test_what_libraries_ask_of_traced_values_and_types():
    seen = []
    pullback.jit(lambda x: seen.append(weakref.ref(x)() is x) or x)(1.0)
    pullback.vmap(lambda x: seen.append(weakref.ref(x)() is x) or x)(jnp.ones(2))
    pullback.grad(lambda x: seen.append(weakref.ref(x)() is x) or x)(1.0)
    assert seen == [True] * 3
    weak = pullback.typeof(2.0)
    assert weakref.ref(weak)() is weak and not weak.strip_weak_type().weak_type
    assert pullback.typeof(3).at_least_vspace().dtype == pullback.float0
    signature = inspect.signature(pullback.jit(lambda x, *, k=1: x), follow_wrapped=False)
    assert list(signature.parameters) == ["x", "k"]


def test_keys_of_either_kind_and_numbers_folded_in():
    with pullback.enable_custom_prng(True):
        assert pullback.random.PRNGKey(0).dtype == pullback.random.key(0).dtype
    assert pullback.random.PRNGKey(0).dtype == "uint32"
    for number in (2.7, np.float32(9.2), 3):
        ours = pullback.random.key_data(pullback.random.fold_in(pullback.random.key(0), number))
        theirs = real.random.key_data(real.random.fold_in(real.random.key(0), number))
        assert ours.tolist() == theirs.tolist()
    with pytest.raises(TypeError, match="a number without axes"):
        pullback.random.fold_in(pullback.random.key(0), jnp.ones(2))


class Odd:
    """A callable whose name is no text."""

    __name__ = property(lambda self: 3)

    def __call__(self, x):
        return x * 2.0


def test_callables_of_any_name():
    x = jnp.arange(3.0)
    assert pullback.vmap(Odd())(x).tolist() == [0.0, 2.0, 4.0]
    for result in (pullback.grad(Odd())(1.0), pullback.jit(Odd())(1.0), pullback.checkpoint(Odd())(1.0)):
        assert float(result) == 2.0
    assert jnp.vectorize(Odd())(x).tolist() == [0.0, 2.0, 4.0] and pullback.custom_batching.custom_vmap(Odd()).fun
    assert float(lax.composite(Odd(), "odd")(1.0)) == 2.0
    assert pullback.hessian(Odd())(1.0) == 0.0 and len(pullback.make_jaxpr(Odd())(1.0).eqns) == 1

    def f(x):
        return x
    f.note, f.fun = 1, None
    for wrap in (pullback.jit, pullback.custom_jvp, pullback.custom_vjp, pullback.pmap, pullback.vmap,
                 pullback.custom_batching.custom_vmap):
        wrapped = wrap(f)
        assert wrapped.note == 1 and wrapped.__name__ == "f"
    f.cache = "mine"
    assert pullback.jit(f)(1.0) == 1.0  # what a jitted function has itself is not overwritten


def test_a_profile_is_written(tmp_path):
    with profiler.trace(tmp_path), profiler.StepTraceAnnotation("train", step_num=1):
        assert profiler.annotate_function(pullback.jit(lambda x: x + 1))(jnp.ones(3)).shape == (3,)
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
    with pytest.raises(RuntimeError, match="no profile has been started"):
        profiler.stop_trace()
    profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="already been started"):
        profiler.start_trace(tmp_path)
    profiler.stop_trace()
    with pytest.raises(NotImplementedError, match="Perfetto"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)
    with pytest.raises(ValueError, match="no server runs"):
        profiler.stop_server()
    with pytest.raises(AttributeError, match="not supported"):
        profiler.device_memory_profile  # noqa: B018


def test_one_device_and_one_process():
    mesh = pullback.sharding.Mesh(mesh_utils.create_device_mesh((1, 1)), ("x", "y"))
    assert mesh.size == 1
    with pytest.raises(ValueError, match="has 2 places for 1 devices"):
        mesh_utils.create_device_mesh((2,))
    x = {"a": jnp.ones(2)}
    for name, given in (("process_allgather", (x,)), ("process_allgather", (x, True)), ("broadcast_one_to_all", (x,))):
        ours = getattr(multihost_utils, name)(*given)["a"]
        theirs = getattr(real_multihost_utils, name)({"a": np.ones(2, np.float32)}, *given[1:])["a"]
        assert isinstance(ours, np.ndarray) and ours.shape == theirs.shape and ours.dtype == theirs.dtype
    multihost_utils.sync_global_devices("end")
    multihost_utils.assert_equal(x)
