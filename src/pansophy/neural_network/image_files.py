"""Images from files: a folder with one subfolder for each class, or a list of paths."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np

BILINEAR = 2  # Pillow's number for it
SUFFIXES = {
    ".png",
    ".jpg",
    ".jpeg",
    ".bmp",
    ".gif",
    ".tif",
    ".tiff",
    ".webp",
    ".ppm",
    ".pgm",
}


def is_image_folder(X) -> bool:
    """Whether X is the path of a folder, or a list of paths of files."""
    if isinstance(X, (str, Path)):
        return True
    return (
        isinstance(X, (list, tuple, np.ndarray))
        and len(X) > 0
        and all(isinstance(x, (str, Path)) for x in X)
    )


def image_paths(folder) -> tuple[list[Path], list[str] | None]:
    """Files of a folder in order, and their classes if it has a subfolder for each."""
    if not isinstance(folder, (str, Path)):
        return [Path(p) for p in folder], None
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no such folder of images: {folder}")
    inside = lambda place: sorted(
        p for p in place.iterdir() if p.suffix.lower() in SUFFIXES and p.is_file()
    )
    classes = sorted(p for p in folder.iterdir() if p.is_dir() and inside(p))
    if not classes:
        files = inside(folder)
        if not files:
            raise ValueError(
                f"{folder} holds no images ({', '.join(sorted(SUFFIXES))}), neither "
                "itself nor in subfolders, one for each class."
            )
        return files, None
    results = [(path, place.name) for place in classes for path in inside(place)]
    return [path for path, _ in results], [name for _, name in results]


class ImageFiles:
    """Images that stay in their files until they are asked for.

    It looks like an array of bytes (n, channels, h, w): it has a length, a shape and a
    dtype, parts of it are `ImageFiles`, and `np.asarray` reads them.

    Parameters
    ----------
    paths : list of paths
    shape : (h, w, channels)
    resize : bool
        Whether images of another size are brought to this one, or refused.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(self, paths, shape, *, resize=True):
        self.paths = list(paths)
        self.image_shape = shape
        self.resize = resize

    @property
    def shape(self):
        h, w, channels = self.image_shape
        return len(self.paths), channels, h, w

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if isinstance(index, slice):
            paths = self.paths[index]
        else:
            paths = [self.paths[i] for i in index]
        return ImageFiles(paths, self.image_shape, resize=self.resize)

    def __array__(self, dtype=None, copy=None):
        images = self.read(self.paths)
        return images if dtype is None else images.astype(dtype)

    def read(self, paths) -> np.ndarray:
        """Some of the images as bytes (n, channels, h, w)."""
        images = read_images(paths, self.image_shape, resize=self.resize)
        return np.ascontiguousarray(np.moveaxis(images, 3, 1))


def file_shape(path) -> tuple[int, int, int]:
    """Height, width and channels of the image in a file: 1 if it is grey, else 3."""
    with _open_image(path) as file:
        grey = file.mode in ("1", "L", "I", "I;16", "F")
        return file.height, file.width, 1 if grey else 3


@contextmanager
def _open_image(path):
    """A file opened by Pillow; one that is no image is named in the error."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError("image files need Pillow: pip install pillow.") from error
    try:
        with Image.open(path) as file:
            yield file
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"{path} is not an image that can be read.") from error


def read_images(paths, image_shape=None, *, resize=None) -> np.ndarray:
    """Images as bytes: (n, h, w, channels).

    Parameters
    ----------
    paths : list of paths
    image_shape : (h, w) or (h, w, channels), or None
        Images are brought to this size; two numbers, or one channel, make them grey.
        None takes the size and the channels of the first, which all must have.
    resize : bool or None
        Whether images of another size are brought to this one, or refused; None: if
        `image_shape` is given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from pansophy.neural_network.image_files import read_images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dot.png"
    ...     Image.fromarray(np.eye(3, dtype=np.uint8)).save(path)
    ...     read_images([path]).shape, read_images([path], (2, 2, 3)).shape
    ((1, 3, 3, 1), (1, 2, 2, 3))
    """
    if resize is None:
        resize = image_shape is not None
    if image_shape is None:
        image_shape = file_shape(paths[0])
    h, w, channels = (*image_shape, 1)[:3]
    images = np.empty((len(paths), h, w, channels), np.uint8)
    for i, path in enumerate(paths):
        with _open_image(path) as file:
            image = file.convert("L" if channels == 1 else "RGB")
        if image.size != (w, h):
            if not resize:
                raise ValueError(
                    f"{path} has {image.height} x {image.width} pixels, but the first "
                    f"image {h} x {w}: give image_shape to bring them to one size."
                )
            image = image.resize((w, h), BILINEAR)
        images[i] = np.asarray(image, dtype=np.uint8).reshape(h, w, channels)
    return images
