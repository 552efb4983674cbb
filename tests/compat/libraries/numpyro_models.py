"""Samples by NUTS and HMC, variational inference, predictions, and distributions."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide

X = jax.random.normal(jax.random.key(0), (50, 2))
y = X @ jnp.array([1.0, -2.0]) + 0.3 + 0.1 * jax.random.normal(jax.random.key(1), (50,))


def model(X, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("n", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ w + b, s), obs=y)


for kernel in (NUTS(model), HMC(model)):
    chain = MCMC(kernel, num_warmup=200, num_samples=200, progress_bar=False)
    chain.run(jax.random.PRNGKey(0), X, y)
    samples = chain.get_samples()
    print({name: values.mean(0).round(1) for name, values in samples.items()})
fit = SVI(model, autoguide.AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
print(fit.run(jax.random.PRNGKey(1), 50, X, y, progress_bar=False).losses[:3])
print(Predictive(model, posterior_samples=samples)(jax.random.PRNGKey(2), X)["y"].shape)
for d in (dist.Gamma(2.0, 3.0), dist.Dirichlet(jnp.ones(3)), dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
          dist.Categorical(logits=jnp.arange(3.0)), dist.LKJCholesky(3), dist.VonMises(0.0, 1.0),
          dist.TruncatedNormal(0.0, 1.0, low=-1.0), dist.BetaBinomial(2.0, 3.0, 10)):
    v = d.sample(jax.random.key(3), (4,))
    print(type(d).__name__, v, d.log_prob(v))
