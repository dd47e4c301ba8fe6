"""Image files: folders of classes, sizes, channels."""

import numpy as np
import pytest

pytest.importorskip("torch")
image_module = pytest.importorskip("PIL.Image")

from pansophy.neural_network.image_files import (  # noqa: E402
    image_paths,
    is_image_folder,
    read_images,
)


def test_classes_are_the_subfolders_in_order(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        for i in (2, 1):
            image = np.full((3, 4), i, np.uint8)
            image_module.fromarray(image).save(tmp_path / name / f"{i}.png")
    (tmp_path / "a" / "notes.txt").write_text("not an image")
    paths, classes = image_paths(tmp_path)
    assert classes == ["a", "a", "b", "b"]
    assert [p.name for p in paths] == ["1.png", "2.png"] * 2
    found = read_images(paths)
    assert found.shape == (4, 3, 4, 1) and found.dtype == np.uint8
    assert found[:, 0, 0, 0].tolist() == [1, 2, 1, 2]
    flat, none = image_paths(tmp_path / "a")
    assert len(flat) == 2 and none is None


def test_colours_and_sizes(tmp_path):
    image = np.zeros((4, 4, 3), np.uint8)
    image[..., 0] = 200
    image_module.fromarray(image).save(tmp_path / "red.png")
    path = [tmp_path / "red.png"]
    assert read_images(path)[0, 0, 0].tolist() == [200, 0, 0]
    assert read_images(path, (2, 2)).shape == (1, 2, 2, 1)
    assert read_images(path, (2, 6, 3)).shape == (1, 2, 6, 3)


def test_what_is_a_folder_or_a_list_of_files():
    assert is_image_folder("here") and is_image_folder(["a.png", "b.png"])
    assert not is_image_folder(np.zeros((2, 2))) and not is_image_folder([])
    assert not is_image_folder([[1.0, 2.0]])
