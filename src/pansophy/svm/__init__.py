"""Support vector machines, linear and with kernels: classes, numbers, outliers."""

from ..scikit_learn import share_names
from .linear_svc import LinearSVC
from .linear_svr import LinearSVR
from .nu_svc import NuSVC
from .nu_svr import NuSVR
from .one_class_svm import OneClassSVM
from .svc import SVC
from .svr import SVR, suggest_epsilon

__all__ = [
    "SVC",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "suggest_epsilon",
]

__getattr__, __dir__ = share_names(__name__)
