"""Refusals: the exact string passes, and a text with any other refusal fails (contract R5-2).

The patterns for English come with those for other languages. Each other language has a few stems, one of which occurs
in every refusal of that language, so a text in another language costs only a few substring searches. The patterns
require the question, the sources or the speaker in the sentence, because "the operator cannot open the valve" and "not
enough oil" are ordinary statements of a manual in any language.
"""

import re
import unicodedata
from typing import Final

from sourcebound.contracts.prompt.build import REFUSAL

PHRASES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "de": (
        ("nicht", "kein", "leid", "leider", "unzureichend", "ungenügend"),
        (
            r"\bkann\b[^.!?\n]{0,40}\bnicht\s+(?:\w+\s+)?beantwort",
            r"\bnicht\s+(?:genug|genügend|ausreichend(?:e[nr]?)?)\s+(?:informationen|angaben|belege|hinweise)\b",
            r"\bkeine?\s+(?:\w+\s+)?(?:informationen|angaben|antwort)\s+(?:dazu|hierzu|darüber|vor\b|vorhanden|verfügbar|gefunden)",
            r"\b(?:dokumente?|quellen?|belege?|textes?|texte|kontext|unterlagen|nachweise)\b[^.!?\n]{0,20}\benthalten?\b"
            r"[^.!?\n]{0,30}\b(?:keine?|nicht)\b",
            r"\b(?:unzureichende|ungenügende)\s+(?:informationen|belege|angaben)\b",
            r"\b(?:weiß\s+ich|ich\s+weiß)\s+(?:\w+\s+)?nicht\b|\btut\s+mir\s+leid\b|\bleider\s+(?:kann|habe|weiß)\s+ich\b",
        ),
    ),
    "fr": (
        (" pas", "désolé", "aucun", "insuffisant", "impossible"),
        (
            r"\bje\s+ne\s+(?:peux|puis|suis|sais|dispose|trouve)\b[^.!?\n]{0,30}\bpas\b|\bje\s+ne\s+sais\b",
            r"\bpas\s+(?:suffisamment|assez)\s+d['’]\s?informations?\b|\binformations?\s+insuffisantes?\b",
            r"\bl['’]information\s+n['’]est\s+pas\s+(?:disponible|fournie|mentionnée|présente)",
            r"\baucune\s+information\b[^.!?\n]{0,20}\b(?:fournie|disponible|trouvée)",
            r"\b(?:suis\s+)?désolée?\b|\bimpossible\s+de\s+répondre\b",
        ),
    ),
    "es": (
        ("no ", "lo siento", "insuficiente"),
        (
            r"\bno\s+(?:puedo|podemos|es\s+posible|se\s+puede)\s+(?:responder|contestar)",
            r"\bno\s+(?:hay|contienen?|tengo|se\s+encontró|proporcionan?)\s+(?:(?:suficiente|ninguna|la)\s+)?(?:información|evidencia)\b",
            r"\binformación\s+insuficiente\b|\blo\s+siento\b|\bno\s+lo\s+sé\b",
        ),
    ),
    "it": (
        ("non ", "dispiace", "insufficient"),
        (
            r"\bnon\s+(?:posso|possiamo|è\s+possibile|sono\s+in\s+grado\s+di)\s+rispondere\b",
            r"\bnon\s+(?:ci\s+sono|c['’]è|contengono|contiene|ho)\s+(?:\w+\s+)?informazion[ei]\b",
            r"\binformazioni\s+insufficienti\b|\bmi\s+dispiace\b|\bnon\s+lo\s+so\b",
        ),
    ),
    "nl": (
        ("niet", "onvoldoende", "geen", "spijt"),
        (
            r"\bkan\b[^.!?\n]{0,40}\bniet\s+(?:\w+\s+)?beantwoord",
            r"\b(?:onvoldoende|niet\s+genoeg)\s+(?:informatie|bewijs|gegevens)\b",
            r"\b(?:bevat|bevatten|is|heb)\s+geen\s+informatie\b|\bdat\s+weet\s+ik\s+niet\b|\bik\s+weet\s+het\s+niet\b|\bhet\s+spijt\s+me\b",
        ),
    ),
    "pt": (
        ("não", "desculpe", "lamento"),
        (
            r"\bnão\s+(?:posso|podemos|é\s+possível|consigo)\s+responder\b",
            r"\bnão\s+(?:há|contêm|contém|tenho|existem)\s+(?:\w+\s+)?informaç(?:ão|ões)\b",
            r"\bdesculpe\b|\blamento\b|\bnão\s+sei\b|\binformações\s+insuficientes\b",
        ),
    ),
    "pl": (
        ("nie ", "przepraszam", "brak", "przykro"),
        (
            r"\bnie\s+(?:mogę|możemy|można|jestem\s+w\s+stanie)\s+odpowiedzieć\b",
            r"\bnie\s+(?:zawiera(?:ją)?|ma|mam)\s+(?:\w+\s+)?informacji\b|\bbrak\s+(?:\w+\s+)?informacji\s*(?:$|[.!,])",
            r"\bprzepraszam\b|\bprzykro\s+mi\b|\bnie\s+wiem\b",
        ),
    ),
    "ru": (
        ("не ", "недостаточно", "нет "),
        (
            r"\b(?:не\s+могу|не\s+можем|невозможно)\s+ответить\b",
            r"\b(?:не\s+содерж[аи]т(?:ся)?|нет)\s+(?:\w+\s+)?информации\b|\bнедостаточно\s+(?:информации|данных)\b",
            r"\b(?:извините|простите)\b[^.!?\n]{0,20}\bне\b|\bя\s+не\s+знаю\b|\bк\s+сожалению\b[^.!?\n]{0,40}\bне\b",
        ),
    ),
    "zh": (
        ("不", "没有", "沒有", "无法", "無法", "抱歉"),
        (
            r"(?:无法|無法|不能|没法)(?:回答|确定|確定|解答)",
            r"(?:不包含|没有|沒有|缺乏|未提供|不含)(?:足够|足夠|充分)?的?(?:信息|資訊|资讯|依据)|(?:信息|資訊|资讯|证据|證據)不足",
            r"抱歉|对不起|對不起|我不知道|不清楚",
        ),
    ),
    "ja": (
        ("ません", "不足", "ない"),
        (
            r"(?:質問|お問い合わせ)[^。\n]{0,12}(?:答え|回答)[^。\n]{0,8}(?:ません|ない)|お答えできません|回答できません",
            r"(?:十分な)?情報(?:が|は)(?:[^。\n]{0,6})(?:含まれていません|ありません|不足して|見つかりません)",
            r"申し訳(?:あり|ござい)ません|わかりません|分かりません",
        ),
    ),
    "ko": (
        ("없습니다", "않습니다", "부족", "모르", "죄송"),
        (
            r"질문[^.\n]{0,10}(?:답|대답|답변)[^.\n]{0,8}(?:없습니다|않습니다)|답변할\s*수\s*없",
            r"정보[가는은]\s*(?:[^.\n]{0,12})(?:부족|없습니다|않습니다)",
            r"죄송|모르겠습니다",
        ),
    ),
    "ar": (
        ("لا ", "عذر", "آسف", "ليس", "كافية"),
        (
            r"لا\s+(?:أستطيع|يمكنني|يمكن|نستطيع)\s+(?:الإجابة|الرد)",
            r"لا\s+(?:توجد|تحتوي|يوجد|تتضمن)\s+(?:على\s+)?(?:أي\s+)?معلومات|معلومات\s+غير\s+كافية",
            r"عذر[ًا]+|آسف|لا\s+أعرف",
        ),
    ),
}  # fmt: skip
"""For each language: the stems, one of which is in every refusal, and the patterns."""
COMPILED: Final = tuple(
    (stems, re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE))
    for stems, patterns in PHRASES.values()
)


def find_translated_refusal(plain: str, folded: str) -> str | None:
    """Find a refusal in a language other than English.

    Args:
        plain: The text in NFKC.
        folded: The same text, case folded.

    Returns:
        The first words that match a pattern, or None.
    """
    for stems, pattern in COMPILED:
        if any(stem in folded for stem in stems):
            match = pattern.search(plain)
            if match:
                return match[0]
    return None


SUBJECT: Final = (
    r"(?:evidence|context|documents?|documentation|sources?|passages?|texts?|excerpts?|information|materials?|manuals?|data"
    r"|references?|files?)"
)
TEXTUAL: Final = (
    r"(?:evidence|context|documents?|documentation|sources|passages?|texts?|excerpts?|information|manuals?)"
)
"""Subjects that can only be texts. A source can be a current source, and a material can be silicone."""
ASIDE: Final = (
    r"(?:(?:provided|given|supplied|retrieved|available|above|below|here|alone|itself|themselves|simply|clearly|explicitly|"
    r"also|currently|at\s+hand|I\s+have|I\s+was\s+given|you\s+(?:have\s+)?(?:provided|gave))\s+){0,2}"
)
OWN: Final = r"\b(?:the|this|these|any|provided|available|given|supplied|indexed|retrieved)\s+(?:\w+\s+){0,2}"
SAY: Final = r"(?:mention|state|specify|specifies|say|address|answer|indicate|describe|discuss|explain)"
HOLD: Final = r"(?:contain|include|provide|give|have|hold|cover)"
KNOWLEDGE: Final = r"(?:information|details?|answers?|evidence|mention|context)"
NEGATION: Final = (
    r"(?:does\s+not|doesn't|doesn’t|do\s+not|don't|don’t|did\s+not|didn't|cannot|can\s+not|can't|can’t|is\s+not|isn't"
    r"|are\s+not|aren't|no|not|never|insufficient|lacks?|fails?\s+to)"
)
PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"\bno_+evidence\b|\bno[\s_-]*evidence\b(?!\s+(?:was|is)\s+found\s+(?:of|for|that|to\s+(?:indicate|suggest|support))\b)\W*(?:$|:|the\b|to\b|was\b|is\b|found\b|provided\b)",
        rf"{OWN}{TEXTUAL}\s+{ASIDE}{NEGATION}\s+(?:\w+\s+){{0,2}}(?:{SAY}|{HOLD}|sufficient|enough|information)",
        rf"{OWN}{SUBJECT}\s+{ASIDE}{NEGATION}\s+(?:\w+\s+){{0,2}}(?:{SAY}\b|{HOLD}\s+(?:\w+\s+){{0,4}}{KNOWLEDGE}\b|{KNOWLEDGE}\b)",
        rf"{OWN}{TEXTUAL}\s+{ASIDE}(?:lacks?|omits?|says?\s+nothing|(?:is|are)\s+silent|makes?\s+no)\b",
        rf"\b(?:nothing|none|neither|no\s+part|no)\s+(?:(?:in|of|from|the|these|this|provided|given|supplied)\s+){{0,3}}"
        rf"(?:{TEXTUAL}|source)\s+{ASIDE}(?:{SAY}|{HOLD})",
        rf"\bnot\s+(?:\w+\s+){{0,2}}(?:contained|found|mentioned|stated|provided|specified|available|covered|given|present)\s+"
        rf"(?:\w+\s+){{0,1}}(?:in|by|within|from)\s+(?:the|this|these|any|your|provided)\s+(?:\w+\s+){{0,2}}{SUBJECT}",
        r"\b(?:insufficient|not\s+enough|no\s+(?:sufficient|relevant|supporting))\s+(?:evidence|information|context|"
        r"documentation|data|details?)\b(?!\s+(?:on|in|at)\s+(?:\w+\s+){1,2}(?:must|shall|should|causes?|leads?|trips?)\b)",
        r"\bno\s+(?:mention|information|details?)\s+(?:of|about|regarding|concerning|for)\b",
        rf"\bthere\s+(?:is|was|are|were)\s+no\s+[^.!?\n]{{0,60}}\b(?:in|within|from)\s+(?:the|these|any)\s+(?:provided\s+|given\s+)?{TEXTUAL}",
        r"\b(?:I|we)\s*(?:am|are|'m|’m|was|were)?\s*(?:cannot|can\s?not|can't|can’t|unable\s+to|not\s+able\s+to|could\s+not|"
        r"couldn't|won't|will\s+not)\s+(?:\w+\s+){0,2}(?:answer|determine|find|say|provide|help|respond|confirm|tell|locate|"
        r"comment)",
        r"\b(?:I|we)\s+(?:do\s+not|don't|don’t|did\s+not|didn't)\s+(?:have|know|see|find)\b",
        r"\b(?:I|we)\s+have\s+(?:no|insufficient|not\s+enough)\s+(?:\w+\s+)?(?:information|data|knowledge|answer|details?|evidence)\b",
        r"\bunfortunately\b[^.!?\n]{0,80}(?:\b(?:not|no|cannot|unable|lacks?)\b|n['’]t\b)",
        r"^\W*(?:cannot|can['’]t|unable\s+to|not\s+able\s+to)\s+(?:be\s+)?(?:answer|determine|respond|say|provide|comply|help)",
        rf"\b(?:not|im)\s*possible\s+to\s+(?:answer|determine|say|tell|establish|conclude)\b"
        rf"(?:\W*$|[^.!?\n]*\b(?:from|by|in|with|based\s+on)\s+(?:the|this|these)\s+(?:\w+\s+){{0,2}}{TEXTUAL}\b|[^.!?\n]*\bquestion\b)",
        r"\bthe\s+answer\s+(?:is\s+not|isn['’]t|was\s+not|cannot\s+be|can['’]t\s+be|could\s+not\s+be)\b",
        r"\b(?:this|that|the\s+requested|such)\s+information\s+(?:is|was)(?:\s+not|n['’]t)\s+"
        r"(?:available|provided|given|included|mentioned|stated|specified|covered|found|present)\s*(?:$|[.!,;])",
        r"\bquestion\s+(?:is|lies|falls|goes)\s+(?:outside|beyond)\b",
        r"\b(?:I'm|I\s+am|we\s+are|we're)\s+(?:sorry|afraid)\b|\bmy\s+apologies\b|\bI\s+apologi[sz]e\b",
        r"\b(?:question|this|it|that)\s+(?:cannot|can\s?not|can't|could\s+not)\s+be\s+(?:answered|determined|established|"
        r"inferred)\b",
        r"\bunanswerable\b|\bno\s+answer\s+(?:is|was|can|could|found|available)\b|^\W*(?:unknown|not\s+found|n/?a|none)\W*$",
    )
)
TRIGGERS: Final = frozenset(
    "no not never cannot can unable insufficient lack lacks fail fails sorry afraid apologies apologise apologize "
    "unanswerable unknown none na nothing neither silent impossible unfortunately omit omits outside beyond".split()
)
MARKS: Final = ("n't", "n’t", "no_", "n/a")
"""Each pattern above needs one of these words or marks in its sentence; other sentences are skipped."""
FINDING: Final = re.compile(
    r"\b(?:insufficient|not\s+enough|no\s+sufficient)\s+(?:evidence|data|information)\s+to\s+(?:make\s+(?:a|any)\s+"
    r"recommendations?|advise|assess|conclude|demonstrate|determine|draw|endorse|establish|favou?r|guide|inform|justify|"
    r"prefer|prove|recommend|show|suggest|support|warrant)\b(?![^.!?\n]{0,80}\b(?:answers?|questions?)\b)",
    re.IGNORECASE,
)
"""A finding of a guideline or a study: `insufficient evidence to recommend the test`. Only a source can say it."""
SENTENCE_END: Final = re.compile(r"(?<=[.!?\n])")
WORD: Final = re.compile(r"\w+")
CORE_OF_REFUSAL: Final = "".join(filter(str.isalnum, REFUSAL.casefold()))


def is_exact_refusal(text: str) -> bool:
    """Return whether a text is the refusal string, apart from outer white space."""
    return text.strip() == REFUSAL


def find_refusal(text: str) -> str | None:
    """Find a refusal in a text.

    Args:
        text: An answer without its citations.

    Returns:
        The first words that match a refusal, or None.
    """
    plain = unicodedata.normalize("NFKC", text)
    folded = plain.casefold()
    if len(folded) >= len(CORE_OF_REFUSAL) and CORE_OF_REFUSAL in "".join(filter(str.isalnum, folded)):
        return REFUSAL
    candidates = "\n".join(filter(_has_trigger, SENTENCE_END.split(plain)))
    for pattern in PATTERNS if candidates else ():
        match = pattern.search(candidates)
        if match:
            return match[0]
    return find_translated_refusal(plain, folded)


def _has_trigger(sentence: str) -> bool:
    """Return whether a sentence has one of the words that every pattern needs."""
    folded = sentence.casefold()
    return not TRIGGERS.isdisjoint(WORD.findall(folded)) or any(mark in folded for mark in MARKS)
