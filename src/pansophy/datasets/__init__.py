"""Small tables that come with the library, and generators of larger ones.

Nothing is downloaded: `customers` is a file in the package, made by `make_customers`;
`weather` is 14 rows long; the others are those that scikit-learn carries.
"""

from .generate import make_customers
from .messy import make_messy
from .ratings import make_ratings
from .tables import Dataset, load, load_weather, names, path

__all__ = [
    "Dataset",
    "load",
    "load_weather",
    "make_customers",
    "make_messy",
    "make_ratings",
    "names",
    "path",
]
