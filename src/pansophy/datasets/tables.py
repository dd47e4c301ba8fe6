"""Tables by name."""

from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

SKLEARN = {
    "iris": ("load_iris", "species", "150 irises, 4 measurements, 3 species"),
    "wine": ("load_wine", "cultivar", "178 wines, 13 measurements, 3 cultivars"),
    "breast_cancer": (
        "load_breast_cancer",
        "diagnosis",
        "569 tumours, 30 measurements, malignant or benign",
    ),
    "diabetes": (
        "load_diabetes",
        "progression",
        "442 patients, 10 measurements, progression after a year",
    ),
}
CUSTOMERS = "1000 made-up customers, 11 columns of all kinds, left or stayed"


class Dataset(NamedTuple):
    """An Arrow table, the column to predict, and one line about it."""

    table: Any
    target: str
    about: str


def names() -> list[str]:
    """The tables that `load` knows."""
    return ["customers", *SKLEARN]


def path(name="customers") -> Path:
    """The CSV file of a table that is a file in the package."""
    if name != "customers":
        raise ValueError(f"Only 'customers' is a file, got {name!r}.")
    return Path(str(resources.files("pansophy.datasets").joinpath("customers.csv")))


def load(name="customers") -> Dataset:
    """A bundled table.

    Examples
    --------
    >>> from pansophy.datasets import load
    >>> data = load("customers")
    >>> data.table.shape, data.target
    ((1000, 12), 'left')
    """
    import pyarrow as pa
    from pyarrow import csv

    if name == "customers":
        options = csv.ConvertOptions(strings_can_be_null=True)
        return Dataset(csv.read_csv(path(), convert_options=options), "left", CUSTOMERS)
    if name not in SKLEARN:
        raise ValueError(f"name must be one of {', '.join(names())}, got {name!r}.")
    import sklearn.datasets

    loader, target, about = SKLEARN[name]
    data = getattr(sklearn.datasets, loader)()
    columns = {
        str(n).replace(" (cm)", "").replace(" ", "_"): data.data[:, j]
        for j, n in enumerate(data.feature_names)
    }
    y = data.target
    if name != "diabetes":
        y = [str(c) for c in data.target_names[y]]
    return Dataset(pa.table({**columns, target: y}), target, about)
