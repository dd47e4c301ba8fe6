"""A saved model behind HTTP: `run("model.pansophy")`, or `app(model)` for a server.

POST rows as JSON to /predict or /explain, read /schema, /health and /docs. What may be
posted is read off the schema of the training table; nothing in a request is run, and
what is wrong with one is said in a sentence that names row and column.
"""

from .limits import ServerLimits
from .server import app, run

__all__ = ["ServerLimits", "app", "run"]
