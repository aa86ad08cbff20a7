"""The loader of reStructuredText: `docutils` reads it, and the loader of web pages reads the result.

Directives and roles of other tools (Sphinx, for one) are shown by their text. No directive reads a file. What
`docutils` cannot read, such as a table with a wrong border, stays in the text as it is written.
"""

import re
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.markup.html import load_html
from sourcebound.ingest.loaders.text import decode, load_text

MEDIA_TYPE: Final = "text/x-rst"
SETTINGS: Final = {
    "report_level": 5, "halt_level": 6, "warning_stream": "", "file_insertion_enabled": False, "raw_enabled": False,
    "syntax_highlight": "none", "math_output": "LaTeX", "smart_quotes": False, "traceback": True,
    "embed_stylesheet": False, "stylesheet_path": "", "_disable_config": True, "doctitle_xform": False,
    "sectsubtitle_xform": False, "sectnum_xform": False, "initial_header_level": 1,
}  # fmt: skip
MOST_CHARACTERS, LONGEST_LINE = 1_000_000, 10_000
"""The longest text and line that `docutils` reads: it takes seconds for them, and more than twice for twice as much."""
ERROR: Final = 3
"""The least level of a message that comes in place of text."""
DIRECTIVE: Final = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w:+.-]{0,80}\w)::", re.MULTILINE)
ROLE: Final = re.compile(r":([\w:+.-]{0,80}\w):`|`:([\w:+.-]{0,80}\w):")
LABELLED: Final = re.compile(r"(.*?)\s*<[^<>]*>", re.DOTALL)
"""The text of a role with its target: `the guide <guide.html>`."""
UNPARTED_TABLE: Final = re.compile(r"^([ \t]*[^\s|+][^\n]*\n)(?=[ \t]*\+(?:-+\+)+[ \t]*$)", re.MULTILINE)
"""The line directly above a table, which needs a blank line between them."""
WITHOUT_TEXT: Final = frozenset(
    "toctree index graphviz digraph graph plot mermaid uml highlight tabularcolumns meta raw include literalinclude "
    "currentmodule py:currentmodule default-domain".split()
)
"""Directives whose content is no text of the document."""
CODE: Final = ("code", "code-block", "sourcecode")
WITHOUT_NAME: Final = frozenset("only ifconfig rst-class cssclass tab tabs group-tab container".split())
"""Directives whose argument is no text of the document."""
SHOWN_OPTIONS: Final = frozenset(["type", "default", "value"])
CHANGES: Final = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}


def load_restructured(path: Path, data: bytes) -> ParsedDocument:
    """Read a file of reStructuredText.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number, with table rows linearised.

    Raises:
        DocumentError: With the code EMPTY, or UNREADABLE if the file is not text.
    """
    text = decode(path, data)
    if len(text) > MOST_CHARACTERS or max(map(len, text.split("\n"))) > LONGEST_LINE:
        return load_text(path, data)
    try:
        page = load_html(path, to_html(text).encode("utf-8"))
    except Exception:  # noqa: BLE001 - `docutils` raises errors of many kinds for text that it did not foresee
        return load_text(path, data)
    return page.model_copy(update={"media_type": MEDIA_TYPE})


def to_html(text: str) -> str:
    """Return a text of reStructuredText as a web page.

    Args:
        text: The text, with newlines as line ends.

    Raises:
        Exception: One of many kinds, for text that `docutils` did not foresee.
    """
    from docutils import nodes
    from docutils.core import publish_doctree
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document
    from docutils.writers import html5_polyglot

    settings: Any = get_default_settings(Parser, html5_polyglot.Writer)
    vars(settings).update(SETTINGS)
    _accept_other_tools(text, new_document("", settings))
    document = publish_doctree(UNPARTED_TABLE.sub(r"\1\n", text), settings=settings)
    for message in list(document.findall(nodes.system_message)):
        written = message.next_node(nodes.literal_block) if message["level"] >= ERROR else None
        message.replace_self([written] if written is not None else [])
    for note in [each for each in document.findall(nodes.Admonition) if not isinstance(each, nodes.admonition)]:
        if isinstance(note[0], nodes.paragraph):
            note[0].insert(0, nodes.Text(f"{note.tagname.capitalize()}: "))
        note.replace_self(note.children)
    for table in document.findall(nodes.tgroup):
        if not any(isinstance(part, nodes.thead) for part in table):
            table[0]["stub"] = 1  # its first cells are names, so its first row is no head
    translator = html5_polyglot.HTMLTranslator(document)
    document.walkabout(translator)
    body = "".join([*translator.body_pre_docinfo, *translator.docinfo, *translator.body])
    return f"<html><body>{body}</body></html>"


def _accept_other_tools(text: str, document: Any) -> None:
    """Make `docutils` read the directives and roles of a text that it does not know."""
    from docutils.parsers.rst import directives, languages, roles

    english = languages.get_language("en")
    foreign, code = _make_directives()
    for name in CODE:
        directives.register_directive(name, code)
    for name in {match[1].lower() for match in DIRECTIVE.finditer(text)}:
        if directives.directive(name, english, document)[0] is None:
            directives.register_directive(name, foreign)
    for name in {(match[1] or match[2]).lower() for match in ROLE.finditer(text)}:
        if roles.role(name, english, 0, document.reporter)[0] is None:
            roles.register_canonical_role(name, _show_role)


@cache
def _make_directives() -> tuple[type, type]:
    """Return the directive that shows what one of another tool says, and the one for code with any options."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Foreign(Directive):  # type: ignore[misc]
        """A directive of another tool, which shows its arguments and its content."""

        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _AnyOption(any=str)

        def run(self) -> list[Any]:
            if self.name in WITHOUT_TEXT:
                return []
            said = [] if self.name in WITHOUT_NAME else [line for part in self.arguments for line in part.split("\n")]
            if self.name in CHANGES:
                said[:1] = [" ".join([CHANGES[self.name], *said[:1]])]
            said += [f"{name}: {value}" for name, value in self.options.items() if name in SHOWN_OPTIONS]
            shown = nodes.container("", *(nodes.paragraph("", line) for line in said))
            self.state.nested_parse(self.content, self.content_offset, shown)
            return list(shown.children)

    class Code(Foreign):
        """Code, with any option."""

        def run(self) -> list[Any]:
            code = dedent("\n".join(self.content))
            return [nodes.literal_block(code, code)] if code else []

    return Foreign, Code


def _show_role(_: str, raw: str, said: str, *__: Any, **___: Any) -> tuple[list[Any], list[Any]]:
    """Return the text of a role of another tool, without its target."""
    from docutils import nodes

    label = LABELLED.fullmatch(said)
    return [nodes.inline(raw, label[1] if label and label[1] else said.lstrip("~!"))], []


class _AnyOption(dict[str, Any]):
    """The options of a directive of another tool: any, as text."""

    def __missing__(self, name: str) -> Any:
        return str
