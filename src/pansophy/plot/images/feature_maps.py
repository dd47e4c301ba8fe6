"""Filters of a convolutional net and the feature maps that they make of an image."""

import math

import numpy as np

from ..chains.trace import panel_axes
from ..style import draw_styled

ACROSS = 8  # panels in a row


def image_panels(images, titles, *, ax=None, symmetric=False):
    """One panel for each image (h, w), without ticks; returns the axes in use."""
    n = len(images)
    columns = min(ACROSS, n)
    rows = math.ceil(n / columns)
    if ax is not None:
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) < n:
            raise ValueError(f"{n} panels are needed, but {len(axes)} axes were given.")
    else:
        width = 1.2 * columns
        axes = panel_axes(None, rows, columns, height=1.35, width=width).ravel()
    bound = max(float(np.abs(images).max()), 1e-12)
    style = {"cmap": "Greys"}
    if symmetric:  # 0 is white, the signs have colours
        style = {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}
    for panel, image, title in zip(axes, images, titles):
        panel.imshow(image, **style)
        panel.set_title(title, fontsize=8)
    for panel in axes:
        panel.set(xticks=[], yticks=[])
        panel.set_frame_on(False)
    return axes[:n]


def _first_net(model):
    """The torch module of a model: itself, or the first of a fitted estimator."""
    from ...nn.inspection.model_size import fitted_nets

    return fitted_nets(model)[0]


def _convolution_layer(net, layer):
    """(name, module) of a layer with kernels (F, C, h, w): that named, or the first."""
    result = {
        name: module
        for name, module in net.named_modules()
        if getattr(getattr(module, "weight", None), "ndim", 0) == 4
    }
    if layer is None and result:
        return next(iter(result.items()))
    if layer in result:
        return layer, result[layer]
    raise ValueError(
        f"the net has no convolution {layer!r}; it has {', '.join(result) or 'none'}."
    )


@draw_styled
def filters(model, layer=None, *, channel=None, ax=None):
    """Kernels of a convolution: one panel for each filter.

    Parameters
    ----------
    model : fitted estimator with nets, or torch module
    layer : str or None
        Name of the convolution; None: the first.
    channel : int or None
        Which of the input channels is drawn; None: the mean over them.
    ax : array of matplotlib axes, optional

    Returns
    -------
    array of matplotlib axes, one for each filter

    Examples
    --------
    >>> from pansophy import nn, plot
    >>> len(plot.filters(nn.ConvNet((1, 8, 8), 10, n_filters=(6,))))
    6
    """
    _, module = _convolution_layer(_first_net(model), layer)
    kernels = module.weight.detach().cpu().numpy()
    images = kernels.mean(1) if channel is None else kernels[:, channel]
    return image_panels(images, map(str, range(len(images))), ax=ax, symmetric=True)


@draw_styled
def feature_maps(model, image, layer=None, *, ax=None):
    """Feature maps of a layer for one image: one panel for each.

    Parameters
    ----------
    model : fitted estimator with nets, or torch module
    image : array
        One image (h, w) or (h, w, channels), or one row as the model takes it; for a
        torch module (channels, h, w).
    layer : str or None
        Name of a layer; None: the first convolution.
    ax : array of matplotlib axes, optional

    Returns
    -------
    array of matplotlib axes, one for each map

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn, plot
    >>> net = nn.ConvNet((1, 8, 8), 10, n_filters=(6,))
    >>> len(plot.feature_maps(net, np.zeros((1, 8, 8), np.float32)))
    6
    """
    from ...nn.nets.feature_extractor import layer_outputs, net_and_inputs

    net, inputs = net_and_inputs(model, np.asarray(image)[None])[0]
    name = _convolution_layer(net, None)[0] if layer is None else layer
    maps = layer_outputs(net, *inputs, layer=name)[0].cpu().numpy()
    if maps.ndim != 3:
        raise ValueError(f"{name!r} gives no maps of two dimensions: {maps.shape}.")
    return image_panels(maps, map(str, range(len(maps))), ax=ax)
