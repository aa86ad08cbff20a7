"""Docstrings, comments, messages and documentation keep the rules of docs/style.md."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from support.places import ROOT

PHRASES: Final = re.compile(
    r"\b(?:(?<!there )(?:is|are) (?-i:none)|whoever|nobody|somebody|at work"
    r"|what(?:ever)? (?:became|becomes|came|comes) of|(?:is|are|was|were|be|been) told|lets? go"
    r"|stands? (?:in|there|for)|anew|as ever|for all that|beside|but for"
    r"|as (?:it|they) came|(?:its|their) like|of one's own|that which|thereof|whereof|in the meantime"
    r"|(?:is|are) to be|cut off)\b|^\W*Has (?:a|an|the|it) ",
    re.IGNORECASE,
)
HEADLESS: Final = re.compile(r"(?:What|Who|Whose|How|Why|Which|When|Where)\b")
ROOMS: Final = (
    "contracts",
    "nodes",
    "graph",
    "store",
    "models",
    "ingest",
    "api",
    "evals",
    "sourcebound",
    "benchmarks",
    "examples",
)
RECORDED: Final = ("contracts", "nodes")
"""Their messages are part of recorded runs, which must stay the same to the byte; only prose is checked."""
QUOTED: Final = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
"""Code, output and names that a text quotes."""
VALUE: Final = re.compile(r"[\"'][\w./-]+[\"']")
"""A string of one word is a value and no message."""
UNREAD_PAGES: Final = ("docs/style.md", "docs/traceability.md")
"""The first lists the phrases; the second is made of the names of tests."""
ASSETS: Final = ("evals/natural/languages/",)
"""The folders of documents that an evaluation asks about. Others wrote them."""


def _without_quotes(text: str) -> str:
    return QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), text)


def _tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name.endswith(suffixes)]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _documented(tree: ast.AST) -> Iterator[ast.Expr]:
    """The expression statements that are docstrings, those of attributes included."""
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    yield statement


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a module, with its lines: comments, docstrings and, outside the recorded rooms, every string."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    prose = {statement.value.lineno for statement in _documented(tree)}
    every = path.relative_to(ROOT).parts[0] not in RECORDED
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_value = VALUE.fullmatch(token.string) is not None
        is_string = token.type == tokenize.STRING and (token.start[0] in prose or (every and not is_value))
        if is_string or token.type == tokenize.COMMENT:
            yield from enumerate(_without_quotes(token.string).split("\n"), token.start[0])


def _summaries(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), (ast.get_docstring(node) or "").split("\n")[0]


MODULES: Final = [path for path in _tracked(".py") if path.relative_to(ROOT).parts[0] in ROOMS]
PAGES: Final = [
    path
    for path in _tracked(".md")
    if _name(path) not in UNREAD_PAGES and "examples" not in path.parts and not _name(path).startswith(ASSETS)
]


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_the_prose_of_a_module_is_plain(path: Path) -> None:
    found = [f"{_name(path)}:{line}: {text.strip()}" for line, text in _texts(path) if PHRASES.search(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_the_first_line_of_a_docstring_names_its_subject(path: Path) -> None:
    found = [f"{_name(path)}:{line}: {text}" for line, text in _summaries(path) if HEADLESS.match(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_a_page_is_plain(path: Path) -> None:
    lines = enumerate(_without_quotes(path.read_text("utf-8")).split("\n"), 1)
    found = [f"{_name(path)}:{line}: {text.strip()}" for line, text in lines if PHRASES.search(text)]
    assert not found, "\n".join(found)
