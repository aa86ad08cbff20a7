r"""Chat-control tokens in untrusted text, broken so that every tokenizer reads them as plain text (contract R2-S2).

A server that parses special tokens would take `<|im_end|>` in a document for the end of the message. A backslash after
the first bracket, `<\|im_end|>`, leaves the text readable and is part of no vocabulary. Shapes cover the tokens of
future models, names cover those that have no shape of their own.
"""

import re
from typing import Final, NamedTuple

ANGLE_NAMES: Final = (
    # ends and gaps of sequences
    "s", "bos", "eos", "pad", "unk", "cls", "sep", "mask", "sop", "eop", "eot", "eod", "eoh", "eoa", "eom", "sot",
    "bot", "gmask", "smask", "pre", "suf", "mid", "sys", "inst", "2mass",
    # reasoning, tools and media
    "think", "tool_calls?", "tool_results?", "tool_responses?", "tools", "function_calls?", "image", "video", "audio",
    # code and repositories
    r"fim[-_]\w+", "file_sep", "repo_?name", "filename", "gh_stars", r"issue_\w+", r"jupyter_\w+", r"commit_\w+",
    "empty_output",
    # by their form: <start_of_turn>, <extra_id_0>, <unused7>, <SPECIAL_20>, <BOS_TOKEN>, <seed:bos>
    r"(?:start|end|begin|beginning)_\w+", r"\w+_(?:start|end|begin|token)",
    r"(?:extra_id|unused|reserved|special|added|placeholder|dummy|token)_?\w*\d", r"\w+_of_\w+", r"seed:\w+",
    r"mask:\d+",
)  # fmt: skip
SQUARE_NAMES: Final = (
    "INST", "IMG", "THINK", "ARGS", "AUDIO", "PREFIX", "MIDDLE", "SUFFIX", "TOOLS",
    "CLS", "SEP", "PAD", "UNK", "BOS", "EOS", "EOT", "MASK", "gMASK", "sMASK",
    r"[A-Z]+(?:_[A-Z]+)+",
)  # fmt: skip
CLOSE, PIPE = "[>＞﹥]", "[|｜]"
INSIDE: Final = r"[^\s<>＜＞﹤﹥|｜\\]{1,64}"
"""What stands between the pipes of a token; a backslash is in none, so that nothing is broken twice."""
ANGLE, SQUARE = "[<＜﹤]", r"[\[［]"
CONTROL_TOKEN: Final = re.compile(
    r"[<＜﹤\[［>\]](?:"
    + "|".join(
        (
            rf"(?<={ANGLE})(?={PIPE}{INSIDE}{PIPE}?{CLOSE}|{INSIDE}{PIPE}{CLOSE})",  # <|im_end|>, <|turn>, <turn|>
            rf"(?<={ANGLE})(?=(?i:/?(?:{'|'.join(ANGLE_NAMES)})){CLOSE})",
            rf"(?<={ANGLE})(?={ANGLE}/?SYS{CLOSE}{{2}})",
            rf"(?<={SQUARE})(?=/?(?:{'|'.join(SQUARE_NAMES)})[\]］])",
            rf"(?<={SQUARE})(?={PIPE}[^\s\[\]|｜\\]{{1,64}}{PIPE}[\]］]|@[A-Z]{{2,8}}@[\]］])",  # [|user|], [@BOS@]
            r"(?<=>)(?=>[A-Z]{2,16}<<)",  # >>QUESTION<<
            r"(?<=[\]\[])(?=~!?b[\]\[])|(?<=\[)(?=e~\[)",
        )
    )
    + ")"
)
"""The mark with which a token begins. Each alternative looks back at it, so that only marks are tried."""
FIRST_MARKS: Final = "<[]＜﹤［"
"""The characters with which tokens begin, and without which most texts are; `>>NAME<<` holds `<`."""


class BrokenTokens(NamedTuple):
    """A text without control tokens, and how many it had."""

    text: str
    broken: int


def break_control_tokens(text: str) -> BrokenTokens:
    """Put a backslash into every chat-control token of a text (R2-S2).

    Args:
        text: Untrusted text without hidden characters.

    Returns:
        The text, and the number of tokens that were broken. A text that was treated before stays as it is.
    """
    if not any(mark in text for mark in FIRST_MARKS):
        return BrokenTokens(text, 0)
    return BrokenTokens(*CONTROL_TOKEN.subn(r"\g<0>\\", text))
