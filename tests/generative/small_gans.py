"""A small pair of generator and critic, which tests of adversarial training share."""

import torch

from pansophy.generative.gan.adversarial_net import (
    AdversarialNet,
    AdversarialShape,
    NoiseCodes,
    build_halves,
)


def small_gan(**options):
    """Two small halves of three components each."""
    torch.manual_seed(0)
    codes = options.get("codes", NoiseCodes())
    shape = AdversarialShape(
        2, 3, (8, 8), n_classes=options.get("n_classes", 0), n_codes=codes.n_outputs
    )
    spectral = options.pop("spectral", False)
    halves = build_halves(shape, spectral=spectral)
    return AdversarialNet(*halves, n_components=3, **options)
