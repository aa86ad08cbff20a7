"""Compare the token estimate with a reference tokenizer, which the product itself does not need.

    pip install rs-bpe && python benchmarks/tokens.py --data ../shared/data

It prints the share of chunks whose o200k_base count does not exceed the estimate, and the mean over-count.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.text.tokens import estimate_tokens

WORDS_A_CHUNK = 150


def texts(data: Path) -> Iterator[str]:
    """Yield every long text of the data set."""
    for path in sorted(data.rglob("*.jsonl")):
        for line in path.read_text("utf-8").rstrip("\n").split("\n"):
            row = json.loads(line)
            yield from (value for value in row.values() if isinstance(value, str) and len(value) > 300)
    yield from (path.read_text("utf-8") for path in sorted(data.rglob("*.md")) if path.name != "README.md")


def chunks(text: str) -> Iterator[str]:
    """Split a text into chunks of `WORDS_A_CHUNK` words."""
    words = text.split(" ")
    for start in range(0, len(words), WORDS_A_CHUNK):
        yield " ".join(words[start : start + WORDS_A_CHUNK])


def clean(text: str) -> str:
    """Sanitize a chunk as for a prompt."""
    return sanitize(text).text


def main() -> int:
    """Print the two figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    try:
        from rs_bpe.bpe import openai  # type: ignore[import-not-found]
    except ImportError:
        print("The reference tokenizer is not installed. Run `pip install rs-bpe`.", file=sys.stderr)
        return 2
    reference = openai.o200k_base()
    pairs = [
        (reference.count(chunk), estimate_tokens(chunk))
        for text in texts(data)
        for chunk in map(clean, chunks(text))
        if chunk
    ]
    bounded = sum(estimate >= count for count, estimate in pairs) / len(pairs)
    over_count = statistics.mean(estimate / count for count, estimate in pairs) - 1
    print(
        f"{len(pairs)} chunks: estimate bounds the count in {bounded:.2%}, over-counts by {over_count:.1%} on average"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
