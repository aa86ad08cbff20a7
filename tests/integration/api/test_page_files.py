"""The files of the page: served with a strict policy, small, and nothing else is served."""

import html.parser
import re

import pytest

from sourcebound.api.routes.page import load_page
from support.processes.http_server import Served

FIRST_LOAD_BYTES = 200_000


class Inline(html.parser.HTMLParser):
    """Collects what the policy forbids in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and not given.get("src")):
            self.found.append(tag)
        self.loaded += [str(given[name]) for name in ("src", "href") if given.get(name)]


def test_the_page_has_a_strict_policy_and_nothing_inline(served: Served) -> None:
    answer = served.client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    page = Inline()
    page.feed(answer.text)
    assert page.found == []
    assert [link for link in page.loaded if not link.startswith(("/", "#"))] == []


def test_no_script_makes_html_of_text_or_names_another_server() -> None:
    for name, file in load_page().items():
        text = file.content.decode()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text), name
        assert not re.search(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text.replace("http://www.w3.org/2000/svg", "")), (
            name
        )


def test_the_whole_page_is_small() -> None:
    assert sum(len(file.content) for file in load_page().values()) < FIRST_LOAD_BYTES


def test_an_unchanged_file_is_not_sent_again(served: Served) -> None:
    tag = served.client.get("/page/main.js").headers["etag"]
    again = served.client.get("/page/main.js", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/page/app.py", "/page/..%2fapp.py", "/page/__init__.py", "/page/nothing.js"])
def test_no_other_file_is_served(served: Served, path: str) -> None:
    assert served.client.get(path).status_code == 404
