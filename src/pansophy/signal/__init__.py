"""Fourier analysis and convolution."""

from .convolution import (
    continuous_convolution,
    convolve,
    correlate,
    detect_pattern,
    fft_convolve,
    filter_image,
    image_kernel,
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
    square_integral,
    trapezoid,
)

__all__ = [
    "FourierSeries",
    "change_basis",
    "continuous_convolution",
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
    "image_kernel",
    "inverse_fourier_transform",
    "square_integral",
    "trapezoid",
]
