"""The verifier in the firewall: scores, minima, levels and the refusal (contract R5-15, R5-17, R5-18)."""

from typing import Any

import pytest
from pydantic import ValidationError

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import RefusalCode, RefusalSource, Status
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.validation import support_check
from sourcebound.contracts.validation.answer_reading import read_statements
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import SupportLevel, ValidationResult, ValidationStatus
from sourcebound.contracts.validation.support.weights import verifier_digest
from sourcebound.contracts.validation.support_check import MAX_CHARACTERS, MOST_TRANSLATED, measure_support
from support.builders import answer_bundle

PUMP = "The shaft seal of the pump must be replaced after 4000 hours. The intake filter is washed with warm water."
MOTOR = "The motor is cooled by a fan. Its bearings are greased once a year."
QUESTION = "When must the shaft seal be replaced?"
SAID = "The shaft seal must be replaced after 4000 hours. [C0]"
QUOTED = "The shaft seal of the pump must be replaced after 4000 hours. [C0]"
UNSAID = "Operators in coastal regions should appoint an independent safety auditor. [C0]"
V2 = load_shipped_policy("SOURCEBOUND_V2")
SECOND_MINIMA = ("min_answers_question", "warn_answers_question", "high_answers_question")


def _check(text: str, policy: Policy = V2) -> ValidationResult:
    return validate(text, answer_bundle(PUMP, MOTOR, question=QUESTION), policy)


def _with(**minima: int) -> Policy:
    assert V2.validation.support is not None
    support = V2.validation.support.model_copy(update=minima)
    return V2.model_copy(update={"validation": V2.validation.model_copy(update={"support": support})})


@pytest.mark.contract("R5-17")
def test_a_statement_that_its_source_does_not_say_rejects_the_answer() -> None:
    verdict = _check(f"{SAID} {UNSAID}")
    assert [(each.code, each.clause, each.row) for each in verdict.outcome.violations] == [
        ("UNSUPPORTED_STATEMENT", "R5-17", 1)
    ]
    assert (verdict.validated_answer_text, verdict.support_level) == ("", None)
    assert _check(SAID).validated_answer_text == SAID
    assert _check(UNSAID, load_shipped_policy("SOURCEBOUND_V1")).validation_status is ValidationStatus.PASSED


@pytest.mark.contract("R5-17")
def test_only_the_chunks_that_a_statement_cites_support_it() -> None:
    fan = "The motor is cooled by a fan."
    right, wrong = (_check(f"{SAID} {fan} [{anchor}]").support for anchor in ("C1", "C0"))
    assert right is not None
    assert wrong is not None
    assert right.statements[1].score > wrong.statements[1].score
    assert right.statements[0] == wrong.statements[0]


@pytest.mark.contract("R5-17")
def test_the_scores_name_the_verifier_and_the_sentences_that_were_compared() -> None:
    report = _check(SAID).support
    assert report is not None
    assert (report.verifier, report.verifier_sha256) == ("support_v1", verifier_digest())
    (only,) = report.statements
    anchor, _, place = only.compared[0].partition(":")
    start, end = map(int, place.split("-"))
    assert (anchor, PUMP[start:end]) == ("C0", "The shaft seal of the pump must be replaced after 4000 hours.")


@pytest.mark.contract("R5-17")
def test_a_policy_without_a_verifier_records_no_scores() -> None:
    assert "support" not in _check(SAID, load_shipped_policy("SOURCEBOUND_V1")).model_dump(mode="json")


@pytest.mark.contract("R5-17")
def test_what_is_too_long_to_compare_is_not_supported() -> None:
    step = "The shaft seal is replaced. [C0]"
    many = "\n".join(f"- {step}" for _ in range(2 * MAX_CHARACTERS // len(step)))
    bundle = answer_bundle(PUMP, question=QUESTION)
    one, most = (measure_support(read_statements(text), bundle) for text in (f"The seal {'rests ' * 4000} [C0]", many))
    assert one is not None
    assert most is not None
    assert (one.lowest, one.statements[0].compared) == (0, ())
    assert (most.statements[0].score > 0, most.statements[-1].score) == (True, 0)


@pytest.mark.contract("R5-15")
@pytest.mark.parametrize(("moved", "level"), [((0, 1000), "MEDIUM"), ((0, 0), "HIGH"), ((1000, 1000), "LOW")])
def test_the_level_comes_from_the_lowest_score(moved: tuple[int, int], level: str) -> None:
    minima = {"min_support": 0, "warn_support": moved[0], "high_support": moved[1]}
    verdict = _check(SAID, _with(**minima, warn_answers_question=0, high_answers_question=0))
    assert verdict.support is not None
    assert 0 < verdict.support.lowest < 1000
    assert verdict.support_level is SupportLevel(level)


@pytest.mark.contract("R5-15", "R5-18")
@pytest.mark.parametrize(("warn", "high", "level"), [(0, 0, "HIGH"), (0, 1000, "MEDIUM"), (1000, 1000, "LOW")])
def test_the_second_score_lowers_the_level_of_a_quotation(warn: int, high: int, level: str) -> None:
    verdict = _check(QUOTED, _with(min_answers_question=0, warn_answers_question=warn, high_answers_question=high))
    assert verdict.support is not None
    assert verdict.support.lowest == 1000
    assert verdict.support_level is SupportLevel(level)


@pytest.mark.contract("R5-15", "R5-18")
def test_the_second_score_never_raises_the_level() -> None:
    moved = {"min_support": 0, "warn_support": 1000, "high_support": 1000}
    verdict = _check(SAID, _with(**moved, min_answers_question=0, warn_answers_question=0, high_answers_question=0))
    assert verdict.support_level is SupportLevel.LOW


@pytest.mark.contract("R5-15", "R5-18")
def test_a_quotation_has_a_high_level_only_if_no_other_sentence_answers() -> None:
    right, wrong = _check(QUOTED), _check("The intake filter is washed with warm water. [C0]")
    assert right.support is not None
    assert wrong.support is not None
    assert right.support.lowest == wrong.support.lowest == 1000
    assert (right.support_level, wrong.support_level) == (SupportLevel.HIGH, SupportLevel.MEDIUM)


@pytest.mark.contract("R5-18")
def test_a_sentence_elsewhere_in_the_prompt_that_answers_too_lowers_the_score() -> None:
    rival = "The shaft seal of the compressor must be replaced each year, in May 2021 at the latest."
    alone, among = (
        validate(QUOTED, answer_bundle(PUMP, other, question=QUESTION), V2).support for other in (MOTOR, rival)
    )
    assert alone is not None
    assert among is not None
    assert among.answers_question < alone.answers_question
    assert among.statements == alone.statements


@pytest.mark.contract("R5-18")
def test_a_follow_up_is_scored_by_its_whole_question() -> None:
    bundle = answer_bundle(PUMP, MOTOR, question="And when must that be done?")
    bare, whole = (validate(QUOTED, each, V2).support for each in (bundle, _resolved(bundle)))
    assert bare is not None
    assert whole is not None
    assert whole.answers_question > bare.answers_question


def _resolved(bundle: AnswerBundle) -> AnswerBundle:
    return bundle.model_copy(update={"search_query": QUESTION})


@pytest.mark.contract("R5-15")
def test_more_sources_do_not_raise_the_level() -> None:
    alone, among = _check(SAID), _check(f"{SAID} The motor is cooled by a fan. [C1]")
    assert alone.support is not None
    assert among.support is not None
    assert among.support.lowest <= alone.support.lowest


@pytest.mark.contract("R5-18")
def test_an_answer_to_another_question_is_no_answer() -> None:
    verdict = _check(SAID, _with(**dict.fromkeys(SECOND_MINIMA, 1000)))
    assert verdict.outcome.status is Status.NO_EVIDENCE
    assert (verdict.outcome.refusal_code, verdict.outcome.refusal_source) == (
        RefusalCode.NOT_ANSWERED,
        RefusalSource.VALIDATION,
    )
    assert (verdict.validation_status, verdict.validated_answer_text) == (ValidationStatus.FAILED, "")
    assert verdict.support is not None


@pytest.mark.contract("R5-18")
def test_a_broken_rule_is_named_before_the_question_is() -> None:
    assert _check(f"{SAID} {UNSAID}", _with(**dict.fromkeys(SECOND_MINIMA, 1000))).outcome.status is Status.FAILED


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    "changed",
    [
        {"support": None},
        {"high_support_margin": 0.3, "high_support_sources": 2},
        {"support": {**V2.model_dump()["validation"]["support"], "min_support": 900, "warn_support": 100}},
        {"support": {**V2.model_dump()["validation"]["support"], "warn_answers_question": 900}},
        {"support": {**V2.model_dump()["validation"]["support"], "min_answers_question": 900}},
    ],
)
def test_a_policy_has_a_verifier_with_ordered_minima_or_the_older_levels(changed: dict[str, Any]) -> None:
    form = V2.model_dump(exclude_none=True)
    form["validation"] |= changed
    with pytest.raises(ValidationError):
        Policy.model_validate({**form, "validation": {k: v for k, v in form["validation"].items() if v is not None}})


@pytest.mark.contract("R5-17")
def test_every_released_policy_of_version_2_pins_the_verifier() -> None:
    pinned = {name: load_shipped_policy(name).validation.support for name in SHIPPED if name.endswith("_V2")}
    assert len(pinned) == 3
    for name, support in pinned.items():
        assert support is not None, name
        assert support.verifier_sha256 == verifier_digest(), name


@pytest.mark.contract("R5-17")
def test_a_cited_lead_in_is_not_compared_unless_it_is_all() -> None:
    lead = "Here is what experienced colleagues recommend: [C0]"
    assert _check(f"{lead}\n\n- {SAID}").validation_status is ValidationStatus.PASSED
    assert _check(lead).failure_reason == "UNSUPPORTED_STATEMENT"
    assert _check(f"{lead}\n\nNOT IN EVIDENCE: who says so").failure_reason == "UNSUPPORTED_STATEMENT"
    assert _check(f"Here is what 17 colleagues recommend: [C0]\n\n- {SAID}").failure_reason == "UNSUPPORTED_LITERAL"


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize("yes", ["Yes. [C0]", "Yes [C0].", "**Yes.** [C0]", "Oui. [C0]"])
def test_a_cited_yes_is_not_compared_unless_it_is_all(yes: str) -> None:
    assert _check(f"{yes} {SAID}").validation_status is ValidationStatus.PASSED
    assert _check(yes).validation_status is not ValidationStatus.PASSED


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize("answer", ["No.", "No,", "**No:**"])
def test_the_answer_to_a_question_for_yes_or_no_denies_no_sentence(answer: str) -> None:
    said, plain = (_check(text).support for text in (f"{answer} {SAID}", SAID))
    assert said is not None
    assert plain is not None
    assert said.statements[-1].score == plain.statements[0].score


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "Wann muss die Wellendichtung ersetzt werden?",
            "Die Wellendichtung muss nach 4000 Stunden ersetzt werden. [C0]",
        ),
        ("Quand faut-il remplacer le joint ?", "Le joint de l'arbre doit être remplacé après 4000 heures. [C0]"),
        ("¿Cuándo hay que cambiar la junta?", "La junta del eje se debe cambiar después de 4000 horas. [C0]"),
        ("Wann muss der Filter gereinigt werden?", "Der Ansaugfilter wird mit warmem Wasser gewaschen. [C0]"),
    ],
)
def test_a_statement_in_another_language_is_compared_word_by_word_and_its_level_is_low(
    question: str, text: str
) -> None:
    verdict = validate(text, answer_bundle(PUMP, MOTOR, question=question), V2)
    assert verdict.validated_answer_text == text
    assert verdict.support is not None
    assert V2.validation.support is not None
    assert V2.validation.support.min_support <= verdict.support.lowest <= MOST_TRANSLATED
    assert V2.validation.support.warn_support > MOST_TRANSLATED
    assert verdict.support_level is SupportLevel.LOW
    assert verdict.support.statements[0].compared[0].startswith("C0:")


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    "text",
    [
        "Die Wellendichtung muss nach 5000 Stunden ersetzt werden. [C0]",
        "Die Wellendichtung muss nicht nach 4000 Stunden ersetzt werden. [C0]",
        "Die Betreiber an der Küste sollten einen unabhängigen Gutachter bestellen. [C0]",
        "Die Wellendichtung muss nach 4000 Stunden ersetzt werden. [C1]",
    ],
)
def test_a_false_statement_in_another_language_is_rejected(text: str) -> None:
    question = "Wann muss die Wellendichtung ersetzt werden?"
    verdict = validate(text, answer_bundle(PUMP, MOTOR, question=question), V2)
    assert verdict.validation_status is ValidationStatus.FAILED


PELLETS = (
    "Pellets der Klasse A2 dürfen verwendet werden, sofern die Aschelade dann doppelt so oft entleert wird. Vor allen "
    "Arbeiten den Kessel am Hauptschalter ausschalten und mindestens 60 Minuten abkühlen lassen."
)


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("Schalten Sie den Kessel vor jeder Arbeit ab und warten Sie mit ihm mindestens eine Stunde. [C0]", True),
        ("Sie müssen die Aschelade dann doppelt so häufig leeren, als es sonst nötig wäre. [C0]", True),
        ("Betreiber an der Küste sollten dann einen unabhängigen Gutachter bestellen. [C0]", False),
    ],
)
def test_a_statement_in_the_language_of_its_chunk_is_compared_in_english_too(text: str, released: bool) -> None:
    bundle = answer_bundle(PELLETS, question="Was muss ich beim Kessel und bei Pellets beachten?")
    verdict = validate(text, bundle, V2)
    assert (verdict.validation_status is ValidationStatus.PASSED) is released
    assert verdict.support is not None
    assert verdict.support.lowest <= MOST_TRANSLATED


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("Before all work, the boiler must be switched off and left to cool for at least 60 minutes. [C0]", True),
        ("Pellets of class A2 may be used, provided the ash drawer is then emptied twice as often. [C0]", True),
        ("Pellets of class A2 must not be used, even if the ash drawer is then emptied twice as often. [C0]", False),
        ("Before all work, the boiler must be switched off and left to cool for at least 50 minutes. [C0]", False),
        ("Operators at the coast should then appoint an independent safety auditor. [C0]", False),
    ],
)
def test_an_english_statement_is_compared_with_a_chunk_in_another_language(text: str, released: bool) -> None:
    verdict = validate(text, answer_bundle(PELLETS, question="What must I know of the boiler and its pellets?"), V2)
    assert (verdict.validation_status is ValidationStatus.PASSED) is released
    assert not released or verdict.support_level is SupportLevel.LOW


@pytest.mark.contract("R5-17")
def test_the_lines_of_a_translated_chunk_are_those_of_the_chunk() -> None:
    lines = ["# Kessel", "Der Deckel ist aus Stahl.", "Die Aschelade wird jeden Monat entleert.", "Nicht waschen."]
    bundle = answer_bundle("\n".join(lines), question="When is the ash drawer emptied?")
    verdict = validate("The ash drawer is emptied every month. [C0]", bundle, V2)
    assert verdict.support is not None
    start = len("\n".join(lines[:2])) + 1
    assert verdict.support.statements[0].compared == (f"C0:{start}-{start + len(lines[2])}",)


@pytest.mark.contract("R5-17")
def test_a_quotation_below_a_question_in_another_language_keeps_its_score() -> None:
    question = "Wann muss die Wellendichtung ersetzt werden?"
    verdict = validate(QUOTED, answer_bundle(PUMP, MOTOR, question=question), V2)
    assert verdict.support is not None
    assert verdict.support.lowest > MOST_TRANSLATED
    english = _check(QUOTED).support
    assert english is not None
    assert verdict.support.answers_question > english.answers_question // 2


@pytest.mark.contract("R5-17")
def test_a_row_without_function_words_is_in_the_language_of_its_answer() -> None:
    row = "- Ansaugfilter: warmes Wasser. [C0]"
    text = f"Die Dichtung wird so behandelt:\n{row}\n- Sie wird nach 4000 Stunden ersetzt. [C0]"
    verdict = validate(text, answer_bundle(PUMP, MOTOR, question="Wie wird die Dichtung behandelt?"), V2)
    assert verdict.support is not None
    assert [each.score > 0 for each in verdict.support.statements] == [True, True]
    said, fan = "Sie wird nach 4000 Stunden ersetzt. [C0]", "- Zorblax: Ventilator. [C1]"
    bundle = answer_bundle(PUMP, "Zorblax is cooled by a fan.", question="Was ist zu tun?")
    scores = [validate(text, bundle, V2).support for text in (f"- {said}\n{fan}", fan)]
    within, alone = (each.statements[-1].score for each in scores if each is not None)
    assert within > alone


WASHED = "The pump may be washed with water."
UNWASHED = "The pump must not be washed with water."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    "denial",
    [
        "Die Pumpe darf nicht mit Wasser gewaschen werden.",
        "La pompe ne peut pas être lavée à l'eau.",
        "La pompe ne doit jamais être lavée à l'eau.",
        "La bomba no debe lavarse con agua.",
        "La pompa non può mai essere lavata con acqua.",
        "De pomp mag niet met water worden gewassen.",
    ],
)
def test_a_denial_in_another_language_denies_once(denial: str) -> None:
    for source, status in ((WASHED, ValidationStatus.FAILED), (UNWASHED, ValidationStatus.PASSED)):
        verdict = validate(f"{denial} [C0]", answer_bundle(source, question="What does it say?"), V2)
        assert verdict.validation_status is status


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("source", "text", "status"),
    [
        ("The meeting is on Monday.", "De vergadering is op dinsdag.", ValidationStatus.FAILED),
        ("The meeting is on Monday.", "De vergadering is op maandag.", ValidationStatus.PASSED),
        ("The contract ends in March.", "O contrato termina em fevereiro.", ValidationStatus.FAILED),
        ("The fee is 20 euros per month.", "De prijs is dertig euro per maand.", ValidationStatus.FAILED),
        (
            "The filter is cleaned every two weeks.",
            "Het filter wordt elke drie weken gereinigd.",
            ValidationStatus.FAILED,
        ),
        (
            "The filter is cleaned every two weeks.",
            "Het filter wordt elke twee weken gereinigd.",
            ValidationStatus.PASSED,
        ),
        ("The filter is cleaned every day.", "Le filtre est nettoyé chaque semaine.", ValidationStatus.FAILED),
        ("The filter is cleaned every day.", "Le filtre est nettoyé chaque jour.", ValidationStatus.PASSED),
    ],
)
def test_words_for_values_are_checked_in_every_language(source: str, text: str, status: ValidationStatus) -> None:
    verdict = validate(f"{text} [C0]", answer_bundle(source, question="What does it say?"), V2)
    assert verdict.validation_status is status


@pytest.mark.contract("R5-17")
def test_no_translation_releases_what_says_the_contrary_as_it_stands() -> None:
    source = "The Plaza de la Cruz is not open at night."
    verdict = validate("Plaza de la Cruz opens nights. [C0]", answer_bundle(source, question="When?"), V2)
    assert verdict.validation_status is ValidationStatus.FAILED


@pytest.mark.contract("R5-17")
def test_what_says_the_contrary_as_it_stands_is_not_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support_check, "translate", lambda *_: UNWASHED)
    verdict = validate("The pump must be washed with water. [C0]", answer_bundle(UNWASHED, question="What?"), V2)
    assert verdict.support is not None
    assert verdict.support.lowest == 0
