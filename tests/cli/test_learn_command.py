"""`pansophy learn`: the chapter that is meant, its parts, and what it refuses."""

import json

from pansophy import course
from tests.cli.commands import call


def test_chapter_is_shown_with_formula_and_code():
    result = call("learn", "ridge")
    assert result.exit_code == 0
    assert result.output.startswith("RIDGE REGRESSION")
    assert "def " in result.output and "linear_model.Ridge" in result.output
    assert "course/ridge." in result.output


def test_json_and_the_list_of_chapters():
    chapter = json.loads(call("learn", "ridge", "--json").output)
    assert chapter["name"] == "ridge" and chapter["page"].startswith(("file:", "http"))
    listed = json.loads(call("learn", "--json").output)
    assert [c["name"] for c in listed] == list(course.read_course())
    assert "ridge" in call("learn").output


def test_words_that_mean_no_chapter_are_one_sentence():
    result = call("learn", "qwertzuiop")
    assert result.exit_code == 2
    assert "No chapter speaks of 'qwertzuiop'" in result.output
