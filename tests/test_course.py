"""The course in the terminal: which chapter is meant, and what help texts say."""

import pytest

from pansophy import course


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("k-means", "k-means"),
        ("KMeans", "k-means"),
        ("Ridge", "ridge"),
        ("ridge regresion", "ridge"),
        ("RidgeCV", "ridge"),
    ],
)
def test_chapter_is_found_by_name_title_class_and_slip(query, name):
    assert course.find_chapters(query)[0].name == name


def test_help_of_estimators_names_the_chapter():
    from pansophy.linear_model import Ridge

    assert "`pansophy learn ridge`" in Ridge.__doc__


def test_help_of_a_users_class_is_left_alone():
    from pansophy.base import Estimator

    class Ridge(Estimator):
        """A user's own."""

    assert Ridge.__doc__ == "A user's own."
