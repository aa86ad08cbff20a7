"""Refusals: the exact string passes; anything that refuses in other words does not (R5-2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.outcome import FailureCode, RefusalCode, RefusalSource, Status
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.refusals import find_refusal, is_exact_refusal
from sourcebound.contracts.validation.result import ValidationResult, ValidationStatus
from support.builders import SEAL, answer_bundle, enforcing_policy

EXACT = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
INEXACT = [
    EXACT.lower(),
    EXACT[:-1],
    EXACT + " Sorry.",
    EXACT + " [C0]",
    f'"{EXACT}"',
    f"**{EXACT}**",
    EXACT + "\n" + EXACT,
    EXACT.replace("NO_EVIDENCE: ", ""),
    EXACT.replace(" ", "\u00a0"),
    "So: " + EXACT.replace(": ", "").replace(" ", "-"),
    EXACT.replace("The provided", "The  provided"),
    f"{SEAL} [C0] {EXACT}",
    "NO_EVIDENCE",
    "No evidence found.",
    "The provided documents do not contain this information.",
    "The context does not mention the torque.",
    "I cannot answer this question.",
    "I'm sorry, but that is not in the sources.",
    "I don't know.",
    "We are unable to answer that from the manual.",
    "The torque is not specified in the provided documents.",
    "There is insufficient information to say.",
    "There is not enough information in the text.",
    "This question cannot be answered from the manual.",
]

NEAR_MISSES = [
    "NO_EVIDENCE: THE PROVIDED EVIDENCE DOES NOT CONTAIN SUFFICIENT INFORMATION TO ANSWER THIS QUESTION.",
    "no_evidence: the provided evidence does not contain sufficient information to answer this question.",
    "No_Evidence: The Provided Evidence Does Not Contain Sufficient Information To Answer This Question.",
    "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question",
    "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question!",
    f"{EXACT}.",
    "NO EVIDENCE: The provided evidence does not contain sufficient information to answer this question.",
    "NO_EVIDENCE - The provided evidence does not contain sufficient information to answer this question.",
    f"'{EXACT}'",
    f"“{EXACT}”",
    f"*{EXACT}*",
    f"_{EXACT}_",
    f"`{EXACT}`",
    f"```\n{EXACT}\n```",
    f"> {EXACT}",
    f"- {EXACT}",
    f"1. {EXACT}",
    f"# {EXACT}",
    f"<p>{EXACT}</p>",
    "<b>NO_EVIDENCE</b>: The provided evidence does not contain sufficient information to answer this question.",
    f'{{"answer": "{EXACT}"}}',
    '{"status": "NO_EVIDENCE"}',
    f"Answer: {EXACT}",
    f"assistant: {EXACT}",
    f"Sorry. {EXACT}",
    f"{EXACT} {EXACT}",
    f"{EXACT}\n\n{SEAL} [C0]",
    f"{SEAL} [C0]\n\n{EXACT}",
    "NO_EVIDENCE [C0]",
    "NO_EVIDENCE:",
    "No_Evidence.",
    "NO-EVIDENCE",
    "N/A",
    "None.",
    "Unknown.",
    "Not found.",
    "NO_EVIDENCE: The provided context does not contain sufficient information to answer this question.",
    "NO_EVIDENCE: The provided evidence doesn't contain sufficient information to answer this question.",
    "NO_EVIDENCE: The provided evidence does not contain enough information to answer this question.",
    "NО_EVIDENCE: The provided evidence does not contain sufficient information to answer this question.",
    EXACT.replace(" ", "\u200b "),
    "NO_EVIDENCE: Thе providеd еvidеncе doеs not contain sufficiеnt information to answеr this quеstion.",
    "The provided evidence does not contain sufficient information.",
    "The evidence doesn't say.",
    "The sources are silent on this.",
    "The manual does not specify the torque.",
    "The manual says nothing about torque.",
    "The documents make no mention of the torque.",
    "There is no mention of the torque in the sources.",
    "There is no information about the torque in the manual.",
    "Insufficient evidence.",
    "Insufficient information to answer.",
    "I am unable to answer.",
    "I'm not able to find that.",
    "I could not find the torque in the manual.",
    "I have no information about that.",
    "I have insufficient data.",
    "As an AI, I can't help with that.",
    "Unfortunately, the torque is not given in the documents.",
    "Unfortunately, this is not mentioned.",
    "The answer is not in the provided text.",
    "The answer cannot be found in the documents.",
    "It is not possible to answer from the evidence.",
    "It is impossible to determine the torque from the documents.",
    "No answer found.",
    "This information is not available.",
    "This is not covered by the provided sources.",
    "Based on the provided context, no answer can be given.",
    "The question is outside the scope of the documents.",
    "My apologies, I cannot say.",
    "Apologies, the manual lacks this information.",
    "The provided text lacks the torque value.",
    "That information isn't provided.",
    "Cannot answer.",
    "Cannot be determined.",
    "Unable to answer from the sources.",
    "Not enough information.",
    "No relevant information was found.",
    "Nothing in the documents answers this.",
    "None of the sources mention the torque.",
    "Neither source states the torque.",
    "We don't know the torque.",
    "The context provided does not include the torque.",
]
"""Refusals in other words, cases, marks and wrappings."""
TRANSLATED = [
    "Die vorliegenden Belege enthalten nicht genügend Informationen, um diese Frage zu beantworten.",
    "Die bereitgestellten Dokumente enthalten keine Informationen dazu.",
    "Ich kann diese Frage nicht beantworten.",
    "Leider kann ich das nicht beantworten.",
    "Keine ausreichenden Informationen vorhanden.",
    "Das weiß ich nicht.",
    "Es liegen keine Informationen vor.",
    "Les éléments fournis ne contiennent pas suffisamment d'informations pour répondre à cette question.",
    "Je ne peux pas répondre à cette question.",
    "Je suis désolé, je ne sais pas.",
    "Désolé, l’information n'est pas disponible.",
    "Aucune information n'est fournie.",
    "La evidencia proporcionada no contiene información suficiente para responder a esta pregunta.",
    "No puedo responder a esta pregunta.",
    "Lo siento, no lo sé.",
    "No hay información suficiente.",
    "No se encontró información.",
    "Le prove fornite non contengono informazioni sufficienti per rispondere a questa domanda.",
    "Non posso rispondere a questa domanda.",
    "Mi dispiace, non lo so.",
    "Non ci sono informazioni sufficienti.",
    "Het verstrekte bewijs bevat onvoldoende informatie om deze vraag te beantwoorden.",
    "Ik kan deze vraag niet beantwoorden.",
    "Sorry, dat weet ik niet.",
    "Er is onvoldoende informatie.",
    "As evidências fornecidas não contêm informações suficientes para responder a esta pergunta.",
    "Não posso responder a esta pergunta.",
    "Desculpe, não sei.",
    "Não há informações suficientes.",
    "Dostarczone dowody nie zawierają wystarczających informacji, aby odpowiedzieć na to pytanie.",
    "Nie mogę odpowiedzieć na to pytanie.",
    "Przepraszam, nie wiem.",
    "Brak wystarczających informacji.",
    "Предоставленные данные не содержат достаточной информации для ответа на этот вопрос.",
    "Я не могу ответить на этот вопрос.",
    "Извините, я не знаю.",
    "Недостаточно информации.",
    "所提供的证据不包含足够的信息来回答此问题。",
    "我无法回答这个问题。",
    "抱歉，我不知道。",
    "信息不足。",
    "提供的證據沒有足夠的資訊來回答這個問題。",
    "提供された証拠には、この質問に答えるための十分な情報が含まれていません。",
    "この質問には答えられません。",
    "申し訳ありませんが、わかりません。",
    "情報が不足しています。",
    "お答えできません。",
    "제공된 증거에는 이 질문에 답하기에 충분한 정보가 포함되어 있지 않습니다.",
    "이 질문에 답할 수 없습니다.",
    "죄송하지만 모르겠습니다.",
    "정보가 부족합니다.",
    "الأدلة المقدمة لا تحتوي على معلومات كافية للإجابة على هذا السؤال.",
    "لا أستطيع الإجابة على هذا السؤال.",
    "عذرًا، لا أعرف.",
    "لا توجد معلومات كافية.",
]
"""The refusal, and what models say instead of it, in German, French, Spanish, Italian, Dutch, Portuguese, Polish,
Russian, Chinese, Japanese, Korean and Arabic."""
STATEMENTS = [
    "The pump does not contain oil.",
    "Do not open the cover.",
    "No seal is needed at the flange.",
    "The operator cannot open the valve while the pump runs.",
    "The tank does not hold more than 5 litres.",
    "Insufficient lubrication damages the bearing.",
    "Insufficient information on the label must be reported to the supervisor.",
    "There is no evidence of wear on the shaft.",
    "If no evidence of wear is found, the seal stays in.",
    "No evidence of leakage was found at the flange.",
    "Not enough oil in the housing leads to overheating.",
    "Insufficient flow trips the pump.",
    "The alarm is not available in manual mode.",
    "The data logger does not store more than 100 values.",
    "The document number is not printed on the label.",
    "The reference valve does not have a drain.",
    "The file is not deleted when the pump stops.",
    "The pump cannot be started when the door is open.",
    "The pressure cannot be determined without the gauge.",
    "The level can not be read from the outside.",
    "The value is not shown on the display.",
    "The temperature is not specified for the outlet.",
    "Unknown substances must not enter the drain.",
    "The cause of the noise is unknown until the bearing is opened.",
    "Lack of oil causes wear.",
    "The pump fails to start when the fuse is blown.",
    "The sensor is not able to detect foam.",
    "None of the bolts may be reused.",
    "No more than 5 bar may be applied.",
    "No answer from the controller within 5 s raises an alarm.",
    "We recommend that the seal is not reused.",
    "The spare part is not included in the kit.",
    "The spare parts are not provided with the pump.",
    "The cover is not part of the supplied materials.",
    "The material does not contain silicone.",
    "The data is not sent to the cloud.",
    "The source does not provide enough current for the motor.",
    "The manual override does not stop the pump.",
    "The manual valve does not have a lock.",
    "The sources of vibration are not always visible.",
    "The text on the display does not change.",
    "The information on the plate must not be removed.",
    "If the information on the plate is not legible, the plate is replaced.",
    "This valve cannot be answered for by the operator.",
    "The warranty does not cover wear parts.",
    "The manual does not replace training.",
    "Not all models have a heater.",
    "It is not possible to run the pump dry.",
    "Do not rely on data that is not calibrated.",
    "The given data sheet does not include the accessories.",
    "The HP-200 is not suitable for solvents.",
    "The record must not be changed after release.",
    "The gauge does not indicate vacuum.",
    "Never touch the shaft.",
    "The evidence log is kept for five years.",
    "Sorry cases of misuse are recorded.",
    "The supervisor cannot confirm the release alone.",
    "I/O errors are not recorded.",
    "The alarm cannot be confirmed from the panel.",
    "The controller does not know the position of the valve.",
    "Die Pumpe darf nicht ohne Wasser laufen.",
    "Das Ventil enthält kein Öl.",
    "La pompe ne contient pas d'huile.",
    "La bomba no contiene aceite.",
    "Насос не содержит масла.",
    "泵不含油。",
    "ポンプに油は含まれていません。",
    "펌프에는 오일이 없습니다.",
    "لا تحتوي المضخة على زيت.",
    "De pomp bevat geen olie.",
    "La pompa non contiene olio.",
    "A bomba não contém óleo.",
    "Pompa nie zawiera oleju.",
    "Unzureichende Schmierung führt zu Schäden.",
    "Keine Informationen auf dem Display bedeuten, dass das Netzteil aus ist.",
    "L'opérateur ne peut pas ouvrir la vanne.",
    "El operario no puede abrir la válvula.",
    "Оператор не может открыть клапан.",
    "操作员无法打开阀门。",
    "Недостаточно масла в корпусе.",
    "油量不足会损坏轴承。",
    "潤滑が不足しています。",
    "오일이 부족합니다.",
]
"""Sentences of manuals with a negation, a lack or a limit: answers, not refusals."""
UNDECIDED = ["The torque is unknown.", "Nobody knows.", "Ask the manufacturer."]
"""What may be a refusal and may be what the document says; without a citation it fails as any statement does."""


def _validate(text: str) -> ValidationResult:
    return validate(text, answer_bundle(), enforcing_policy())


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", [EXACT, f" {EXACT}", f"{EXACT}\n", f"\n\t {EXACT} \r\n"])
def test_the_exact_refusal_passes_outer_white_space_aside(text: str) -> None:
    verdict = _validate(text)
    assert verdict.validation_status is ValidationStatus.PASSED
    assert verdict.outcome.status is Status.NO_EVIDENCE
    assert verdict.outcome.refusal_code is RefusalCode.MODEL_REFUSED
    assert verdict.outcome.refusal_source is RefusalSource.MODEL
    assert verdict.outcome.failure_code is None
    assert verdict.validated_citations == ()
    assert verdict.grounding_metrics.refusal_detected


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", INEXACT)
def test_an_inexact_refusal_is_rejected(text: str) -> None:
    verdict = _validate(text)
    assert verdict.validation_status is ValidationStatus.FAILED
    assert verdict.outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT
    assert verdict.validated_answer_text == ""
    assert verdict.grounding_metrics.refusal_detected


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", INEXACT)
def test_a_citation_does_not_turn_an_inexact_refusal_into_an_answer(text: str) -> None:
    assert _validate(f"{text} [C0]").outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    "text",
    [
        SEAL,
        "The pump does not contain oil.",
        "Do not open the cover.",
        "No seal is needed at the flange.",
        "The alarm is not active below 5 bar.",
        "The operator cannot open the valve while the pump runs.",
        "The tank does not hold more than 5 litres.",
    ],
)
def test_an_ordinary_statement_is_no_refusal(text: str) -> None:
    assert find_refusal(text) is None
    assert not is_exact_refusal(text)


@pytest.mark.contract("R5-2")
@given(st.integers(0, len(EXACT) - 1), st.characters(categories=("Lu", "Ll", "Nd")))
def test_one_changed_character_is_not_the_exact_refusal(position: int, other: str) -> None:
    changed = EXACT[:position] + other + EXACT[position + 1 :]
    assert is_exact_refusal(changed) == (changed == EXACT)
    if changed != EXACT:
        assert _validate(changed).validation_status is ValidationStatus.FAILED


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", NEAR_MISSES + TRANSLATED)
def test_a_near_miss_is_rejected_with_and_without_a_citation(text: str) -> None:
    for answer in (text, f"{text} [C0]", f"{SEAL} [C0]\n{text}"):
        verdict = _validate(answer)
        assert verdict.outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT, answer
        assert verdict.validated_answer_text == ""


def test_the_near_misses_and_the_statements_are_many_and_different() -> None:
    assert len(set(NEAR_MISSES)) == len(NEAR_MISSES) >= 40
    assert len(set(TRANSLATED)) == len(TRANSLATED) >= 40
    assert len(set(STATEMENTS)) == len(STATEMENTS) >= 40


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_with_a_negation_is_an_answer(text: str) -> None:
    assert find_refusal(text) is None
    verdict = validate(f"{text} [C0]", answer_bundle(text), enforcing_policy())
    assert verdict.outcome.violations == ()
    assert not verdict.grounding_metrics.refusal_detected


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize("text", UNDECIDED)
def test_what_may_be_a_refusal_needs_a_citation(text: str) -> None:
    assert _validate(text).outcome.failure_code is FailureCode.UNCITED_FACTUAL_STATEMENT


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(("cited", "code"), [("[C0]", None), ("", FailureCode.UNCITED_FACTUAL_STATEMENT)])
def test_the_word_refusal_alone_decides_nothing(cited: str, code: FailureCode | None) -> None:
    text = f"The valve refuses to open when the pressure is too low. {cited}"
    assert _validate(text).outcome.failure_code is code


NAMED_IN_CODE = "A refused question has the status `NO_EVIDENCE` and the code 200."


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    ("text", "source", "is_refusal"),
    [
        (NAMED_IN_CODE, "The status is NO_EVIDENCE, with the code 200.", False),
        (NAMED_IN_CODE, "The status has the code 200.", True),
        (NAMED_IN_CODE.replace("`", ""), "The status is NO_EVIDENCE, with the code 200.", True),
        ("`NO_EVIDENCE`: the provided context does not contain the answer.", "The status is NO_EVIDENCE.", True),
    ],
)
def test_a_name_in_code_that_a_cited_chunk_holds_is_no_refusal(text: str, source: str, is_refusal: bool) -> None:
    verdict = validate(f"{text} [C0]", answer_bundle(source), enforcing_policy())
    assert verdict.grounding_metrics.refusal_detected is is_refusal
    assert (verdict.outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT) is is_refusal


@pytest.mark.contract("R5-2", "CP-10")
def test_in_the_first_version_a_name_in_code_is_a_refusal() -> None:
    bundle = answer_bundle("The status is NO_EVIDENCE, with the code 200.")
    assert validate(f"{NAMED_IN_CODE} [C0]", bundle, enforcing_policy(), version=1).outcome.failure_code


FINDING = "There is insufficient evidence to recommend the test for children."


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    "text",
    [
        FINDING,
        "The test helps adults. Insufficient evidence to support use in children; approved for adults only.",
        "There is not enough data to show that the test helps.",
    ],
)
def test_a_finding_that_a_cited_source_reports_is_no_refusal(text: str) -> None:
    verdict = validate(f"{text} [C0]", answer_bundle(text), enforcing_policy())
    assert FailureCode.INVALID_REFUSAL_FORMAT not in {each.code for each in verdict.outcome.violations}


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", [FINDING, "There is not enough data to show that the test helps."])
def test_a_finding_that_no_cited_source_reports_is_a_refusal(text: str) -> None:
    verdict = validate(f"{text} [C0]", answer_bundle("The test helps children."), enforcing_policy())
    assert verdict.outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT


@pytest.mark.contract("R5-2")
def test_a_lack_of_evidence_for_an_answer_is_a_refusal_in_any_source() -> None:
    text = "There is insufficient evidence to support an answer to the question."
    verdict = validate(f"{text} [C0]", answer_bundle(f"{text} {FINDING}"), enforcing_policy())
    assert verdict.outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT
