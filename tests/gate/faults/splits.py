"""Data: splits, duplicates, and how they are prepared."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

D = 3
RAW = {"train": {"x": 5 + 2 * numbers(12, D, seed=1), "y": numbers(12, seed=2)},
       "test": {"x": 5 + 2 * numbers(6, D, seed=3), "y": numbers(6, seed=4)}}
CONTRACT = gate.Contract(params="f32[d]", batch={"x": "f32[n, d] in [-6, 6]", "y": "f32[n]"})


def prepared(jax):
    jnp = jax.numpy

    def prepare(raw):
        x = raw["train"]["x"]
        mean, spread = x.mean(0), np.maximum(x.std(0), 1e-6)
        done = {}
        for name, part in raw.items():
            done[name] = {"x": (part["x"] - mean) / spread, "y": part["y"]}
        return done

    @CONTRACT.guard
    def loss(params, x, y):
        return jnp.mean((x @ params - y) ** 2)

    pipeline = gate.Pipeline(RAW, prepare)
    return gate.Model(loss, numbers(D, seed=5), prepare(RAW)["train"], pipeline=pipeline, contract=CONTRACT, near=1e-2)


def given(jax):
    jnp = jax.numpy
    train = {"x": (RAW["train"]["x"] - 5) / 2, "y": RAW["train"]["y"]}
    test = {"x": (RAW["test"]["x"] - 5) / 2, "y": RAW["test"]["y"]}
    extra = {"x": numbers(4, D, seed=7), "y": numbers(4, seed=8)}

    @CONTRACT.guard
    def loss(params, x, y):
        return jnp.mean((x @ params - y) ** 2)

    return gate.Model(loss, numbers(D, seed=5), train, contract=CONTRACT, near=1e-2,
                      splits={"train": train, "validation": extra, "test": test})


TWINS = {
    "prepared": [
        Twin("statistics_of_all_data", "data", 'x = raw["train"]["x"]',
             'x = np.concatenate([part["x"] for part in raw.values()])', text="depends on test"),
        Twin("statistics_of_each_split", "data", '(part["x"] - mean) / spread',
             '(part["x"] - part["x"].mean(0)) / part["x"].std(0)', text="neighbours"),
        Twin("statistics_of_the_test_split", "data", 'x = raw["train"]["x"]', 'x = raw["test"]["x"]',
             text="depends on test"),
        Twin("test_not_prepared", "data", '"x": (part["x"] - mean) / spread',
             '"x": (part["x"] - mean) / spread if name == "train" else part["x"]', text="test"),
        Twin("test_prepared_twice", "data", "return done",
             'done["test"]["x"] = (done["test"]["x"] - mean) / spread; return done', text="test"),
        Twin("scale_forgotten_in_test", "data", '"x": (part["x"] - mean) / spread',
             '"x": (part["x"] - mean) / (spread if name == "train" else 1.0)',
             text="in another way"),
        Twin("features_reversed_in_test", "data", "return done",
             'done["test"]["x"] = done["test"]["x"][:, ::-1]; return done', text="in another way"),
    ],
    "given": [
        Twin("test_objects_in_training", "data", 'extra = {"x": numbers(4, D, seed=7), "y": numbers(4, seed=8)}',
             'extra = {"x": test["x"][:4], "y": test["y"][:4]}', leaf="splits/test"),
        Twin("training_objects_in_test", "data", '"test": test}',
             '"test": {name: v[3:7] for name, v in train.items()}}', leaf="splits/test"),
        Twin("other_labels", "data", '"test": test}', '"test": {"x": train["x"][:6], "y": test["y"]}}',
             leaf="splits/test", text="other labels"),
        Twin("almost_equal", "data", '"test": test}', '"test": {"x": train["x"][:6] + 1e-4, "y": train["y"][:6]}}',
             leaf="splits/test", text="almost equal"),
        Twin("test_not_scaled", "data", '(RAW["test"]["x"] - 5) / 2', 'RAW["test"]["x"]', leaf="splits/test"),
        Twin("test_in_double", "data", '(RAW["test"]["x"] - 5) / 2', '((RAW["test"]["x"] - 5) / 2).astype("float64")',
             leaf="splits/test"),
    ],
}
