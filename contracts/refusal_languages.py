"""Refusals in other languages than English: the sentences in which models decline to answer (contract R5-2).

Each language has a few stems that every one of its refusals holds, so that a text in another language costs a handful
of substring searches. The patterns want the question, the sources or the speaker in the sentence: "the operator cannot
open the valve" or "not enough oil" is an ordinary statement of a manual in any language.
"""

import re
from typing import Final

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
"""Language: stems of which each refusal holds one, and the patterns."""
COMPILED: Final = tuple(
    (stems, re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE))
    for stems, patterns in PHRASES.values()
)


def translated_refusal(plain: str, folded: str) -> str | None:
    """The first words of a text that refuse in another language than English.

    Args:
        plain: The text in NFKC.
        folded: The same, case folded.

    Returns:
        The matched words; None where no pattern matches.
    """
    for stems, pattern in COMPILED:
        if any(stem in folded for stem in stems):
            match = pattern.search(plain)
            if match:
                return match[0]
    return None
