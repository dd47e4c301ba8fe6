"""Small tables that come with the library, and generators of larger ones.

Nothing is downloaded: `customers` is a file in the package, made by `make_customers`;
the others are those that scikit-learn carries.
"""

from .generate import make_customers
from .tables import Dataset, load, names, path

__all__ = ["Dataset", "load", "make_customers", "names", "path"]
