"""Nearly fifty pairs: a model, one line of it replaced, and what a diagnosis of the two must say."""

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent


class Pair(NamedTuple):
    """A model with `old` replaced by `new`: the stage, and the operations any of which is right (none: the line).

    `removed`: the transformations without each of which the difference must be gone.
    """

    name: str
    model: str
    old: str
    new: str
    stage: str
    operations: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def sources(self) -> tuple[str, str]:
        """The two files."""
        text = (FOLDER / f"{self.model}.py").read_text()
        assert text.count(self.old) == 1, (self.name, text.count(self.old))
        return text, text.replace(self.old, self.new)


T, C, R, D, P = "transformer", "cnn", "rnn", "ode", "particles"
PAIRS = [
    # -- transformer
    Pair("epsilon of the norm", T, "spread + 1e-5", "spread + 1e-2", "forward", ("add",)),
    Pair("norm by the other axis", T, "middle = jnp.mean(x, axis=-1", "middle = jnp.mean(x, axis=0", "forward",
         ("reduce_sum",)),
    Pair("spread without the middle", T, "jnp.mean((x - middle) ** 2", "jnp.mean(x ** 2", "forward",
         ("square", "integer_pow", "sub")),
    Pair("heads in another order", T, "x.reshape(x.shape[0], HEADS, -1).transpose(1, 0, 2)",
         "x.reshape(x.shape[0], -1, HEADS).transpose(2, 0, 1)", "forward", ("reshape", "transpose")),
    Pair("scores not scaled", T, " / jnp.sqrt(1.0 * WIDTH // HEADS)", "", "forward", ("div", "mul")),
    Pair("mask off by one", T, "mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))",
         "mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool), 1)", "forward"),
    Pair("softmax over the queries", T, "jax.nn.softmax(scores, axis=-1)", "jax.nn.softmax(scores, axis=-2)", "forward",
         ("reduce_max", "reduce_sum", "div")),
    Pair("relu for gelu", T, "jax.nn.gelu(norm(params, x) @ params[\"up\"])",
         "jax.nn.relu(norm(params, x) @ params[\"up\"])",
         "forward"),
    Pair("no residual", T, "x = x + attention(params, norm(params, x))", "x = attention(params, norm(params, x))",
         "forward", ("add",)),
    Pair("sum for mean in the loss", T, "return -jnp.mean(picked)", "return -jnp.sum(picked)", "loss", ("div",)),
    Pair("clipped at another size", T, "scale = jnp.minimum(1.0, 0.5 / size)", "scale = jnp.minimum(1.0, 0.25 / size)",
         "update", ("div", "min")),
    # -- convolutional network
    Pair("another middle of the images", C, "(images - 100.0) / 40.0", "(images - 101.0) / 40.0", "data", ("sub",)),
    Pair("images clipped earlier", C, "jnp.clip(images, -3.0, 3.0)", "jnp.clip(images, -1.0, 3.0)", "data",
         ("max", "min", "clamp")),
    Pair("keys in another order", C, "one, two, three = random.split(key, 3)",
         "two, one, three = random.split(key, 3)", "keys"),
    Pair("the other half of the key", C, "kept, _ = random.split(key)", "_, kept = random.split(key)", "keys"),
    Pair("padding", C, '(1, 1), "SAME", dim', '(1, 1), ((0, 2), (1, 1)), dim', "forward", ("conv_general_dilated",
         "conv")),
    Pair("largest for mean", C, "lax.reduce_window(x, 0.0, lax.add, (1",
         "4 * lax.reduce_window(x, -jnp.inf, lax.max, (1",
         "forward", ("reduce_window_max", "reduce_window_sum", "mul", "reduce_window")),
    Pair("leaky relu", C, "x = jax.nn.relu(convolution", "x = jax.nn.leaky_relu(convolution", "forward"),
    Pair("wrong half of the mask", C, "jnp.where(mask, x / 0.75, 0.0)", "jnp.where(mask, 0.0, x / 0.75)", "forward",
         ("select_n", "select")),
    Pair("straight through too far", C, "ct * inside,)", "ct * inside * 1.25,)", "gradients", ("mul",)),
    Pair("labels smoothed more", C, "0.1 / CLASSES", "0.2 / CLASSES", "loss", ("add",)),
    Pair("decay of the second moment", C, '0.999 * state["second"][name] + 0.001 * g ** 2',
         '0.999 * state["second"][name] + 0.001 * g', "update", ("mul", "integer_pow", "square")),
    # -- recurrent network
    Pair("reset on the wrong side", R, "jnp.concatenate([reset * state, x]) @",
         "jnp.concatenate([state, x * 1]) @", "forward",
         ("mul", "concatenate")),
    Pair("gates swapped", R, "keep * state + (1.0 - keep) * new", "(1.0 - keep) * state + keep * new", "forward",
         ("mul", "sub")),
    Pair("tanh for sigmoid",
         R, 'reset = jax.nn.sigmoid(both @ params["reset"])', 'reset = jnp.tanh(both @ params["reset"])',
         "forward", ("tanh", "logistic")),
    Pair("another start",
         R, 'lax.scan(step, params["start"], series)[1]', 'lax.scan(step, 0 * params["start"], series)[1]',
         "forward", ("mul",)),
    Pair("outputs in reverse", R, 'lax.scan(step, params["start"], series)[1]',
         'lax.scan(step, params["start"], series, reverse=True)[1]', "forward"),
    Pair("slope of the custom rule", R, "slope = jax.nn.sigmoid(x)", "slope = jax.nn.sigmoid(2.0 * x)",
         "gradients", ("mul",)),
    Pair("length off by one", R, "< length[:, None]", "<= length[:, None]", "loss", ("le", "lt")),
    Pair("half precision inside", R, "errors = weights * (forward(params, series) - target) ** 2",
         "errors = weights * (forward(params, series) - target).astype(jnp.float16) ** 2", "loss",
         ("convert_element_type",)),
    Pair("outputs in half precision", R, "return scaled(jax.vmap(lambda row: one(params, row))(series))",
         "return scaled(jax.vmap(lambda row: one(params, row))(series)).astype(jnp.bfloat16)", "types",
         ("convert_element_type",)),
    Pair("a factor that the trace freezes", R, "factor = 1.0\n", "factor = 1.0 if known(x) else 1.5\n", "jit"),
    Pair("not clipped", R, "jnp.clip(g, -0.05, 0.05)", "g", "update", ("max", "min", "clamp")),
    # -- differential equation
    Pair("sign of the damping", D, '- params["damping"] * y[1]', '+ params["damping"] * y[1]', "forward", ("add",
         "sub")),
    Pair("cosine for sine", D, "-jnp.sin(y[0])", "-jnp.cos(y[0])", "forward", ("cos", "sin")),
    Pair("half step forgotten", D, "k3 = force(params, y + 0.5 * h * k2, t + 0.5 * h)",
         "k3 = force(params, y + h * k2, t + 0.5 * h)", "forward", ("mul",)),
    Pair("weights of the stages", D, "(k1 + 2.0 * k2 + 2.0 * k3 + k4)", "(k1 + 2.0 * k2 + k3 + 2.0 * k4)", "forward",
         ("mul", "add")),
    Pair("driven by the wrong phase",
         D, 'jnp.cos(params["frequency"] * t)', 'jnp.cos(params["frequency"] + t)', "forward",
         ("add", "mul")),
    Pair("energy without a half", D, "energy = 0.5 * y[1] ** 2", "energy = y[1] ** 2", "loss", ("mul", "sub")),
    Pair("angle not wrapped", D, "jnp.arctan2(jnp.sin(error[:, 0]), jnp.cos(error[:, 0]))", "error[:, 0]", "loss",
         ("sin", "cos", "atan2")),
    Pair("rate of the step", D, 'rate = 0.05 / (1.0 +', 'rate = 0.05 / (2.0 +', "update", ("add",)),
    # -- particles: faults of transformations
    Pair("a factor that a checkpoint freezes", P, "weight = 1e-2", 'weight = 1e-2 if known(params["w"]) else 2e-2',
         "loss", ("mul",), ("checkpoint decay",)),
    Pair("a scan that counts its steps", P, "pushed = x + size * force(params, x)",
         "pushed = x + size * force(params, x) * len(seen)", "transforms", (), ("scan step in relax",)),
    Pair("a rule for vmap that forgets a term", P, "return jnp.exp(-r) / (1.0 + r), mapped[0]",
         "return jnp.exp(-r) / (1.1 + r), mapped[0]", "forward", ("add",), ("custom_vmap screened",)),
    Pair("mapped over another axis", P, "in_axes=(0, 0))", "in_axes=(1, 0))", "forward",
         ("transpose", "mul", "dot_general")),
    Pair("a rule in a scan", P, "return (ct * d / length(d),)", "return (ct * d,)", "gradients", ("div", "mul"),
         ("rule length",)),
    Pair("stopped too early", P, "learned = jnp.tanh(r[None] @", "learned = jnp.tanh(lax.stop_gradient(r)[None] @",
         "gradients", (), ('stop pair: learned = jnp.tanh(lax.stop_gradient(r)[None] @ params["w"]) @ params["v"]',)),
    Pair("a scan the other way", P, "lax.scan(step, x, 0.3 / (1.0 + jnp.arange(STEPS)))",
         "lax.scan(step, x, 0.3 / (1.0 + jnp.arange(STEPS)), reverse=True)", "forward"),
    Pair("pushed before it is damped", P, "return pushed / (1.0 + 0.1 * jnp.abs(pushed))",
         "return pushed / (1.0 + 0.1 * jnp.abs(x))", "forward", ("abs",)),
]
