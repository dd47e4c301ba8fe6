"""Convolutional autoencoder: images through strided convolutions and back.

Encoder and decoder are those of `conv_coders`; objective and samples are those of
`autoencoder_net`.

Flat rows are square images if their length is a square number, else images of one row
of pixels, unless `image_shape` says what they are.

Cost      that of the convolutions: 2 places F C k^2 operations for each, both ways
Shapes    X (n, h, w), (n, h, w, channels) or (n, h w channels)
Refs      [Masci2011]; [Dumoulin2016]
"""

from dataclasses import KW_ONLY, dataclass

from ...base import Transformer
from ...core.arrays.image_shapes import flat_image_shape, refuse_channels_first
from ...params import Activation, Count, ImageShape, LayerSizes, NonNegative, Positive
from .abstract_autoencoder import AbstractAutoencoder
from .autoencoder import layer_sizes
from .autoencoder_net import AutoencoderNet
from .conv_coders import ConvDecoder, ConvEncoder


@dataclass(eq=False, repr=False)
class ConvAutoencoder(Transformer, AbstractAutoencoder):
    """Autoencoder of images with convolutions and transposed convolutions.

    Parameters
    ----------
    n_filters : sequence of int, default=(16, 32)
        Kernels of each convolution; each halves height and width.
    kernel_size : int, default=3
        Height and width of the kernels.
    image_shape : (h, w) or (h, w, channels) or None, default=None
        What flat rows are.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="elu"
        After each convolution.
    noise : float, default=0
        Standard deviation of noise on training images, in units of the pixels'
        standard deviation (denoising autoencoder).
    scaling : {"auto", "column", "global"} or None, default="auto"
        Whether each pixel is standardised, or all by one mean and scale, as "auto" has
        it.

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction), valid_loss with
        early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pansophy.generative import ConvAutoencoder
    >>> X = load_digits().images[:300]
    >>> model = ConvAutoencoder(8, n_epochs=15, random_state=0, device="cpu").fit(X)
    >>> model.reconstruct(X).shape, model.sample(2).shape
    ((300, 8, 8), (2, 8, 8))
    """

    n_components: Count = 16
    _: KW_ONLY
    n_filters: LayerSizes = (16, 32)
    kernel_size: Count = 3
    image_shape: ImageShape | None = None
    activation: Activation = "elu"
    noise: NonNegative = 0.0
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.003
    n_epochs: Count = 50

    _pixels = True

    def fit(self, X, y=None, sample_weight=None):
        """Train the net.

        Parameters
        ----------
        X : images (n, h, w) or (n, h, w, channels), or flat rows (n, h w channels)
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        refuse_channels_first(self.image_shape_ or ())
        image_shape = (
            self.image_shape_ if self.image_shape is None else self.image_shape
        )
        shape = flat_image_shape(n_features, image_shape)
        k = int(self.n_components)
        filters = layer_sizes(self.n_filters)
        encoder = ConvEncoder(shape, filters, self.kernel_size, self.activation, k)
        return AutoencoderNet(encoder, ConvDecoder(encoder, k), k, noise=self.noise)

    def transform(self, X):
        """`encode`: the code of each image, (n, n_components)."""
        return self.encode(X)

    def inverse_transform(self, X):
        """`decode`: the image of each code."""
        return self.decode(X)
