"""Synthetic customer tables with the troubles of real ones."""

import numpy as np

from ..core.random import make_rng
from ..params import check_count

PLANS = np.array(["basic", "family", "premium"])
REGIONS = np.array(["north", "south", "east", "west", "centre"])
CITIES = np.array([f"city {i:02d}" for i in range(1, 31)])
PAYMENTS = np.array(["card", "transfer", "invoice", "cash"])


def make_customers(n_rows=1000, random_state=0) -> dict[str, list]:
    """Generate customers of a phone company and whether they left: a dict of columns.

    Numbers on several scales, categories with few and with many levels, values
    missing at random and not at random, an id, a constant column. About a quarter
    leave; the chance depends on months, plan, price, complaints and city, partly by
    interactions, so that no method is perfect and the dummy can be beaten.

    Parameters
    ----------
    n_rows : int
    random_state : int, Generator or None

    Examples
    --------
    >>> from pansophy.datasets import make_customers
    >>> table = make_customers(5)
    >>> table["customer_id"]
    ['C00001', 'C00002', 'C00003', 'C00004', 'C00005']
    """
    n = check_count("n_rows", n_rows)
    rng = make_rng(random_state)
    plan = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    city = rng.choice(30, n, p=np.r_[np.full(10, 0.06), np.full(20, 0.02)])
    region = rng.choice(5, n)
    pay = rng.choice(4, n, p=[0.5, 0.25, 0.2, 0.05])
    months = np.minimum(rng.gamma(1.5, 16, n), 120).astype(int) + 1
    age = np.clip(rng.normal(44, 15, n), 18, 92).astype(int)
    price = 12 + 9 * plan + rng.normal(0, 2.5, n) + 3 * (pay == 2)
    data_gb = rng.lognormal(1.2 + 0.5 * plan, 0.8)
    complaints = rng.poisson(0.5 + 0.6 * (region == 3))
    city_effect = np.sin(np.arange(30) * 1.7) * 0.8
    score = (
        -1.35
        - 0.035 * (months - 25)
        + 0.09 * (price - 20)
        + 0.7 * np.minimum(complaints, 3)
        + city_effect[city]
        + 0.9 * ((plan == 0) & (data_gb > 6))  # outgrown the plan
        - 0.6 * ((plan == 2) & (months > 12))
        + 0.5 * (pay == 3)
    )
    left = rng.random(n) < 1 / (1 + np.exp(-score))
    no_age = rng.random(n) < 0.08
    no_data = rng.random(n) < np.where(
        left, 0.12, 0.05
    )  # being missing tells something
    no_pay = rng.random(n) < 0.04
    with_gaps = lambda values, gone: [
        None if g else v for v, g in zip(values.tolist(), gone)
    ]
    return {
        "customer_id": [f"C{i:05d}" for i in range(1, n + 1)],
        "age": with_gaps(age, no_age),
        "months": months.tolist(),
        "plan": PLANS[plan].tolist(),
        "monthly_price": price.round(2).tolist(),
        "data_gb": with_gaps(data_gb.round(2), no_data),
        "complaints": complaints.tolist(),
        "region": REGIONS[region].tolist(),
        "city": CITIES[city].tolist(),
        "payment": with_gaps(PAYMENTS[pay], no_pay),
        "currency": ["EUR"] * n,
        "left": np.where(left, "yes", "no").tolist(),
    }
