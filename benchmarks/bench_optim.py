"""Solvers for smooth, curved, constrained and black-box problems against SciPy, torch.

Every contender gets the same objective with the same gradient and the same tolerance;
the quality is the objective where it stopped.
"""

import numpy as np

from .runner import Case

# -- smooth: logistic regression as a plain function, and a curved valley -----------


def logistic(size):
    """Mean log loss of n random rows with a little ridge; value, gradient, Hessian."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.geomspace(1, 10, d)
    y = np.where(X @ rng.standard_normal(d) / np.sqrt(d) > 0, 1.0, -1.0)

    def f(w):
        m = y * (X @ w)
        e = np.exp(-np.abs(m))
        value = np.mean(np.maximum(-m, 0) + np.log1p(e)) + 5e-4 * (w @ w)
        p = np.where(m > 0, e, 1.0) / (1 + e)
        return value, -(X.T @ (y * p)) / n + 1e-3 * w

    return f, np.zeros(d)


def curved(size):
    """The same with products of the Hessian."""
    f, w0 = logistic(size)
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.geomspace(1, 10, d)

    def product(w):
        e = np.exp(-np.abs(X @ w))
        h = e / (1 + e) ** 2 / n
        return lambda v: X.T @ (h * (X @ v)) + 1e-3 * v

    return f, w0, product


def newton_ours(data):
    from pansophy import optim

    f, x, product = data
    return optim.minimize(f, x, "newton_cg", product=product, tol=1e-6)


def newton_scipy(data):
    from scipy.optimize import minimize

    f, x, product = data
    held = [None, None]

    def times(w, v):  # the part of the product that depends on w alone, once
        if held[0] is None or not np.array_equal(w, held[0]):
            held[:] = w.copy(), product(w)
        return held[1](v)

    options = {"xtol": 1e-9, "maxiter": 500}
    return minimize(f, x, jac=True, method="Newton-CG", hessp=times, options=options)


def valley(size):
    """Rosenbrock's function of d unknowns, from its usual start."""
    from scipy.optimize import rosen, rosen_der

    (d,) = size
    return (lambda x: (rosen(x), rosen_der(x))), np.tile([-1.2, 1.0], d // 2)


def value(data, result):
    x = result.x if hasattr(result, "x") else result.state.position
    return float(data[0](x)[0])


def ours(method, tol=1e-6, **options):
    def run(data):
        from pansophy import optim

        f, x = data
        return optim.minimize(f, x, method, tol=tol, max_iter=20_000, **options)

    return run


def scipys(method, tol=1e-6):
    def run(data):
        from scipy.optimize import minimize

        f, x = data
        options = {"maxiter": 20_000, "gtol": tol}
        if method == "L-BFGS-B":
            options["ftol"] = 1e-16  # or it stops before the gradient is that small
        return minimize(f, x, jac=True, method=method, options=options)

    return run


# -- least squares of a curve -------------------------------------------------------


def decay(size):
    """Sums of two exponentials with noise, started well away from the answer."""
    (n,) = size
    rng = np.random.default_rng(0)
    t = np.linspace(0, 10, n)
    curve = lambda x: x[0] * np.exp(-x[1] * t) + x[2] * np.exp(-x[3] * t)
    y = curve([3.0, 0.4, 2.0, 2.0]) + 0.05 * rng.standard_normal(n)

    def jacobian(x):
        a, b = np.exp(-x[1] * t), np.exp(-x[3] * t)
        return np.stack([a, -x[0] * t * a, b, -x[2] * t * b], axis=1)

    return (lambda x: curve(x) - y), jacobian, np.array([1.0, 0.1, 1.0, 3.0])


def curve_ours(data):
    from pansophy import optim

    return optim.gauss_newton(data[0], data[2], data[1], tol=1e-8)


def curve_scipy(method):
    def run(data):
        from scipy.optimize import least_squares

        tight = {"gtol": 1e-8, "ftol": 1e-15, "xtol": 1e-15}  # to the same gradient
        return least_squares(data[0], data[2], data[1], method=method, **tight)

    return run


def curve_cost(data, result):
    x = result.x if hasattr(result, "x") else result.state.position
    return float(np.sum(data[0](x) ** 2)) / 2


# -- stochastic steps ---------------------------------------------------------------


def many_steps(size):
    d, steps = size
    rng = np.random.default_rng(0)
    return np.geomspace(1, 100, d), rng.standard_normal(d), steps


def adam_ours(data):
    from pansophy import optim

    h, x, steps = data
    chain = optim.adam(0.01)
    memory = chain.init(x)
    for _ in range(steps):
        move, memory = chain.update(h * x, memory, x)
        x = x + move
    return x


def adam_torch(data):
    import torch

    h, x, steps = (torch.as_tensor(v) for v in data[:2]), None, data[2]
    h, x = h
    x = x.clone().requires_grad_(True)
    adam = torch.optim.Adam([x], lr=0.01)
    for _ in range(steps):
        x.grad = h * x.detach()
        adam.step()
    return x.detach().numpy()


def bowl(data, x):
    return float(np.sum(data[0] * np.asarray(x) ** 2)) / 2


# -- black boxes --------------------------------------------------------------------


def waves(size):
    """A bowl with ripples: one global minimum among many, value 0 at 0."""
    (d,) = size
    f = lambda x: np.sum(x * x + 2 * (1 - np.cos(3 * x)), axis=-1)
    return f, [(-5.0, 6.0)] * d


def box_ours(name, **options):
    def run(data, seed=0):
        from pansophy import optim

        return getattr(optim, name)(*data, random_state=seed, **options)

    return run


def evolution(data, seed=0):
    from scipy.optimize import differential_evolution

    f, box = data
    return differential_evolution(
        lambda X: f(X.T),
        box,
        vectorized=True,
        polish=False,
        tol=1e-8,
        rng=seed,
        updating="deferred",
    )


def annealing(data, seed=0):
    from scipy.optimize import dual_annealing

    return dual_annealing(*data, rng=seed, no_local_search=True, maxiter=2000)


def depth(data, result):
    x = result.x if hasattr(result, "x") else result.state.position
    return float(data[0](np.asarray(x)))


SMOOTH = {"sizes": [(200, 5), (2000, 20), (20_000, 50)], "data": logistic}
VALLEY = {"sizes": [(4,), (20,), (100,)], "data": valley}
CASES = [
    Case(
        name="bfgs_logistic",
        what="BFGS, logistic loss as a Python function, n x d, |g| <= 1e-6",
        ours=ours("bfgs"),
        peers={"scipy": scipys("BFGS")},
        quality=value,
        tolerance=1e-9,
        **SMOOTH,
    ),
    Case(
        name="bfgs_valley",
        what="BFGS, Rosenbrock's valley of d unknowns",
        ours=ours("bfgs"),
        peers={"scipy": scipys("BFGS")},
        quality=value,
        tolerance=1e-9,
        **VALLEY,
    ),
    Case(
        name="conjugate_gradient_valley",
        what="conjugate gradients, Rosenbrock's valley of d unknowns",
        ours=ours("conjugate"),
        peers={"scipy": scipys("CG")},
        quality=value,
        tolerance=1e-9,
        **VALLEY,
    ),
    Case(
        name="minimize_auto_logistic",
        what="our own choice against SciPy's solvers, logistic loss, n x d",
        ours=ours("auto"),
        peers={"BFGS": scipys("BFGS"), "L-BFGS-B": scipys("L-BFGS-B")},
        quality=value,
        tolerance=1e-8,
        main="BFGS",
        **SMOOTH,
    ),
    Case(
        name="newton_cg_logistic",
        what="Newton with products H v, logistic loss, n x d",
        sizes=[(200, 5), (2000, 20), (20_000, 50)],
        data=curved,
        ours=newton_ours,
        peers={"scipy": newton_scipy},
        quality=value,
        tolerance=1e-9,
    ),
    Case(
        name="gauss_newton_curve",
        what="Levenberg-Marquardt, two exponentials through n points",
        sizes=[(50,), (1000,), (20_000,)],
        data=decay,
        ours=curve_ours,
        peers={"scipy trf": curve_scipy("trf"), "scipy lm": curve_scipy("lm")},
        quality=curve_cost,
        tolerance=1e-8,
    ),
    Case(
        name="adam_steps",
        what="Adam on a bowl of d unknowns, so many steps",
        sizes=[(10, 2000), (100, 2000), (10_000, 1000)],
        data=many_steps,
        ours=adam_ours,
        peers={"torch": adam_torch},
        quality=bowl,
        tolerance=1e-6,
    ),
    Case(
        name="particle_swarm",
        what="a rippled bowl of d unknowns, vectorised evaluation, to 1e-8",
        sizes=[(2,), (4,), (6,)],
        data=waves,
        ours=box_ours("particle_swarm", vectorised=True),
        peers={"differential_evolution": evolution},
        quality=depth,
        tolerance=1e-8,
    ),
    Case(
        name="genetic",
        what="a rippled bowl of d unknowns, vectorised evaluation, to 1e-8",
        sizes=[(2,), (4,), (6,)],
        data=waves,
        ours=box_ours("genetic", vectorised=True, population=120),
        peers={"differential_evolution": evolution},
        quality=depth,
        tolerance=1e-8,
    ),
    Case(
        name="simulated_annealing",
        what="a rippled bowl of d unknowns, one point at a time, no local solver",
        sizes=[(1,), (2,), (3,)],
        data=waves,
        ours=box_ours("simulated_annealing", cooling=0.75, max_iter=80),
        peers={"dual_annealing": annealing},
        quality=depth,
        tolerance=1e-6,
    ),
]
