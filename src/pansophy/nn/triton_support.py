"""Whether Triton kernels can run here."""

from functools import cache


@cache
def has_triton() -> bool:
    """Whether Triton imports and there is a device, or its interpreter, to run it."""
    try:
        import triton
        import triton.language
    except Exception:  # a broken installation is none
        return False
    import torch

    return torch.cuda.is_available() or bool(triton.knobs.runtime.interpret)
