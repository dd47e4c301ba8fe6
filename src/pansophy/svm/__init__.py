"""Support vector machines: linear classification and regression."""

from .linear_svc import LinearSVC
from .linear_svr import LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
