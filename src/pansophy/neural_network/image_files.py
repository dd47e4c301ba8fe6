"""Images from files: a folder with one subfolder for each class, or a list of paths."""

from pathlib import Path

import numpy as np

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
    found = [(path, place.name) for place in classes for path in inside(place)]
    return [path for path, _ in found], [name for _, name in found]


def read_images(paths, image_shape=None) -> np.ndarray:
    """Images as bytes: (n, h, w, channels).

    Parameters
    ----------
    paths : list of paths
    image_shape : (h, w) or (h, w, channels), or None
        Images are brought to this size; two numbers, or one channel, make them grey.
        None takes the size and the channels of the first, which all must have.

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
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError("image files need Pillow: pip install pillow.") from error
    images = []
    resize = image_shape is not None
    for path in paths:
        try:
            with Image.open(path) as file:
                if image_shape is None:
                    grey = file.mode in ("1", "L", "I", "I;16", "F")
                    image_shape = (file.height, file.width, 1 if grey else 3)
                h, w, channels = (*image_shape, 1)[:3]
                image = file.convert("L" if channels == 1 else "RGB")
        except (UnidentifiedImageError, OSError) as error:
            raise ValueError(f"{path} is not an image that can be read.") from error
        if image.size != (w, h):
            if not resize:
                raise ValueError(
                    f"{path} has {image.height} x {image.width} pixels, but the first "
                    f"image {h} x {w}: give image_shape to bring them to one size."
                )
            image = image.resize((w, h), Image.Resampling.BILINEAR)
        images.append(np.asarray(image, dtype=np.uint8).reshape(h, w, channels))
    return np.stack(images)
