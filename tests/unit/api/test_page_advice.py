"""The page has words of its own for each advice that names a command, because its reader has no command line."""

import re

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.response.advice import ADVICE
from support.places import ROOT


def test_the_page_has_words_for_each_advice_with_a_command() -> None:
    script = (ROOT / "api" / "page" / "advice.js").read_text("utf-8")
    own = set(re.findall(r"^  (\w+): ", script, re.MULTILINE))
    rejected = ADVICE[FailureCode.UNSUPPORTED_LITERAL]  # the page has one sentence for all of these
    assert own == {code.value for code, advice in ADVICE.items() if "`" in advice and advice != rejected}
    assert "`sourcebound" not in script
