"""Save a fitted model to one file and load it anywhere, without running its content.

`save` and `load` take every estimator of pansophy, those of scikit-learn, and
pipelines that mix them. The file is a safetensors file: arrays are tensors, the rest
is a JSON manifest in its metadata (`file`). Values are written by kind (`codec`),
objects only of classes on a list (`classes`), and no pickle is ever read, so a file
from a stranger can at worst be refused. A user's own class joins the list through
`register`.
"""

from .classes import PersistError, register
from .file import inspect, load, save

__all__ = ["PersistError", "inspect", "load", "register", "save"]
