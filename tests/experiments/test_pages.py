"""Pages of prose into which tables and numbers are filled."""

import pytest

from experiments.pages import fill, markdown

PAGE = "# Title\n\n<!-- table one -->\nold\n<!-- /table -->\n\nThe mean is <!-- text mean -->?<!-- /text -->.\n"


def test_only_what_is_between_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for number in ("3.5", ""):
        fill(page, {"one": "| a |\n| b |", "mean": number})
        one = "<!-- table one -->\n| a |\n| b |\n<!-- /table -->"
        assert page.read_text() == f"# Title\n\n{one}\n\nThe mean is <!-- text mean -->{number or '–'}<!-- /text -->.\n"


def test_prose_comes_from_the_template(tmp_path):
    template, page = tmp_path / "template.md", tmp_path / "page.md"
    template.write_text(PAGE)
    fill(page, {"one": "new", "mean": "1"}, template)
    assert page.read_text() == PAGE.replace("old", "new").replace("?", "1") and template.read_text() == PAGE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "differing: mean, one"),
        (PAGE + "<!-- text more --><!-- /text -->", "differing: more"),
        (PAGE.replace("<!-- /table -->", ""), "not closed"),
        (PAGE.replace("<!-- /text -->", "<!-- /table -->"), "not closed"),
    ],
)
def test_a_page_with_other_marks_is_an_error_and_stays(tmp_path, content, message):
    page = tmp_path / "page.md"
    page.write_text(content)
    with pytest.raises(ValueError, match=rf"page\.md: .*{message}"):
        fill(page, {"one": "new", "mean": "1"})
    assert page.read_text() == content


def test_a_table_without_rows_is_nothing():
    assert markdown(["a"], []) == ""
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
