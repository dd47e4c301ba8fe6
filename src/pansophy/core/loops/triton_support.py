"""Whether Triton kernels can run here."""

import os
import shutil
import sysconfig
from functools import cache
from pathlib import Path


@cache
def has_triton() -> bool:
    """Whether Triton imports and there is a device, or its interpreter, to run it.

    On a device every kernel is started by a piece of C that Triton compiles.
    """
    try:
        import triton
        import triton.language
    except Exception:  # a broken installation is none
        return False
    import torch

    if triton.knobs.runtime.interpret:
        return True
    return torch.cuda.is_available() and has_c_compiler()


def has_c_compiler() -> bool:
    """Whether a C compiler and the headers of Python are where Triton looks."""
    named = os.environ.get("CC")
    compilers = [named] if named else ["clang", "gcc", "cc"]
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    return any(map(shutil.which, compilers)) and headers.exists()
