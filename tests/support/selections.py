"""Strategies for rows and selection limits."""

from hypothesis import strategies as st

from support.builders import JsonObject, row

WORDS = "valve pump seal bolt gasket motor shaft flange sensor filter relay piston".split()


def long_text(sentences: int, first: int = 0) -> str:
    return " ".join(f"Sentence number {first + i} tells of part {first + i}." for i in range(sentences))


@st.composite
def results(draw: st.DrawFn) -> list[JsonObject]:
    """Rows with gaps between ranks, repeated documents and texts, long and empty texts."""
    count = draw(st.integers(1, 12))
    ranks = [0, *sorted(draw(st.sets(st.integers(1, 40), min_size=count - 1, max_size=count - 1)))]
    text = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.integers(5, 120).map(long_text)
    return [
        row(
            rank,
            knowledge_id=draw(st.sampled_from(["doc-a", "doc-b", "doc-c"])),
            similarity_score=draw(st.sampled_from([0.1, 0.3, 0.5, 0.9])),
            chunk_text=draw(text),
        )
        for rank in ranks
    ]


SELECTION: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {
        "min_similarity": st.sampled_from([0.0, 0.3]),
        "max_chunks": st.integers(1, 6),
        "max_chunks_per_knowledge_id": st.integers(1, 3),
        "max_evidence_tokens": st.integers(50, 2200),
        "max_chunk_token_ratio": st.sampled_from([0.2, 0.35, 1.0]),
        "overlap_ratio_threshold": st.sampled_from([0.5, 0.8, 1.0]),
        "trim_within_chunk": st.booleans(),
    }
)
