"""The sections of an external evaluation, by name."""

from collections.abc import Mapping
from typing import Final

from sourcebound.evals.external.answering import measure_answers, measure_injection
from sourcebound.evals.external.checking import (
    measure_grounding,
    measure_honest,
    measure_ingestion,
    measure_segmentation,
    measure_statements,
)
from sourcebound.evals.external.measuring import Measure
from sourcebound.evals.external.report import Section
from sourcebound.evals.external.retrieving import measure_evidence, measure_gates, measure_ranking

SECTIONS: Final[Mapping[Section, Measure]] = {
    Section.RANKING: measure_ranking,
    Section.EVIDENCE: measure_evidence,
    Section.GATES: measure_gates,
    Section.ANSWERS: measure_answers,
    Section.GROUNDING: measure_grounding,
    Section.STATEMENTS: measure_statements,
    Section.HONEST: measure_honest,
    Section.INJECTION: measure_injection,
    Section.SEGMENTATION: measure_segmentation,
    Section.INGESTION: measure_ingestion,
}
"""Natural questions are not among them, because they are about files of this repository too (`make eval-natural`)."""
