"""Fourier analysis and convolution."""

from .convolution import (
    convolve,
    correlate,
    detect_pattern,
    fft_convolve,
    filter_image,
)
from .fourier import (
    FourierSeries,
    change_basis,
    dft,
    dft_matrix,
    fft,
    fourier_series,
    fourier_transform,
    ifft,
    inverse_fourier_transform,
    trapezoid,
)

__all__ = [
    "FourierSeries",
    "change_basis",
    "convolve",
    "correlate",
    "detect_pattern",
    "dft",
    "dft_matrix",
    "fft",
    "fft_convolve",
    "filter_image",
    "fourier_series",
    "fourier_transform",
    "ifft",
    "inverse_fourier_transform",
    "trapezoid",
]
