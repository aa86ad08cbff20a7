"""Words that deny, limit or join clauses, in five languages (R5-17).

A text is read with the words of its own language, because `mai` denies in Italian and is a month in French.
"""

from typing import Final, NamedTuple


class PolarityWords(NamedTuple):
    """The words of one language."""

    denials: frozenset[str]
    """Words that deny the words after them."""
    bans: tuple[str, ...]
    """The beginnings of words that deny the words before them: `is forbidden`."""
    limits: frozenset[str]
    """Words with which a denial is only a limit: `not more than`, `not yet`."""
    exceptions: frozenset[str]
    """Words of an exception, which turn a clause, and with which a denial is only a limit: `not until`."""
    signs: frozenset[str]
    """Other words that can turn or weaken a clause."""
    beginnings: tuple[str, ...]
    """The beginnings of words that can turn a clause."""
    reasons: frozenset[str]
    """Words that begin a clause which is stated as well."""
    relatives: frozenset[str]
    """Words that begin a clause which is not stated: a condition, or the description of a thing."""
    ands: frozenset[str]
    prepositions: frozenset[str]
    """With `ands`, where the words that a denial is about end: `not mixed with the new one`."""


def _read(*lists: str) -> PolarityWords:
    denials, bans, limits, exceptions, signs, beginnings, *joints = (each.split() for each in lists)
    return PolarityWords(
        frozenset(denials),
        tuple(bans),
        frozenset(limits),
        frozenset(exceptions),
        frozenset(signs),
        tuple(beginnings),
        *map(frozenset, joints),
    )


POLARITY: Final = {
    "en": _read(
        "not no never neither nor without cannot",
        "forbid prohibit",
        "just before than more exceed exceeds yet necessarily always all every entirely completely longer",
        "less fewer except excepted excluding unless until only solely merely other otherwise unlike instead rather",
        "non none nobody nothing nowhere hardly barely rarely seldom scarcely unable outside beyond free absent "
        "absence optional zero few little however though although stay stays staying remain remains remaining keep "
        "keeps kept keeping still even whether if both false off disabled null",
        "fail lack den refus reject avoid prevent ban stop ceas exclu declin exempt miss omit void disallow neglect "
        "oppos question doubt disput contra",
        "because but while although though whereas since so",
        "if when where which who that whether",
        "and or",
        "in at on by for with to from of into during as",
    ),
    "de": _read(
        "nicht kein keine keinen keinem keiner keines keinerlei nie niemals ohne weder",
        "verboten untersagt",
        "bevor mehr als",
        "weniger außer ausgenommen sofern nur erst statt allein",
        "niemand nichts kaum selten unzulässig außerhalb frei fehlt fehlen freiwillig null wenig bleibt bleiben "
        "weiterhin ob wenn falls obwohl",
        "verweiger ablehn vermeid verhinder verbiet ausschl ausgeschl fehl",
        "weil aber während obwohl sondern denn",
        "wenn falls dass ob",
        "und oder",
        "in im auf mit von für aus bei an am zu zum zur nach",
    ),
    "fr": _read(
        "ne n pas jamais aucun aucune sans",
        "interdit",
        "plus que avant",
        "moins sauf excepté sinon seulement hors",
        "personne rien rarement libre absence absent facultatif facultative zéro peu reste restent demeure si",
        "refus rejet évit empêch exclu manqu",
        "parce mais car",
        "si quand que qui dont où",
        "et ou",
        "dans à au aux avec pour de du des sur par en",
    ),
    "es": _read(
        "no ni nunca sin jamás ningún ninguna ninguno",
        "prohibid",
        "más antes",
        "menos excepto salvo solo sólo sino hasta únicamente",
        "nadie nada rara fuera libre ausencia opcional cero poco permanece permanecen sigue si tampoco",
        "rechaz evit impid exclu falt",
        "porque pero aunque",
        "si cuando que quien donde",
        "y e o u",
        "en con para de del por a al",
    ),
    "it": _read(
        "non né mai senza nessun nessuna nessuno",
        "vietat",
        "più prima",
        "meno eccetto tranne solo soltanto finché anziché",
        "nulla niente raramente fuori libero assenza facoltativo zero poco resta restano rimane rimangono se neanche",
        "rifiut respin evit imped esclu manc",
        "perché ma mentre",
        "se quando che cui dove",
        "e ed o",
        "in nel nella con per di del della da dal a al alla",
    ),
}
CONTINUED: Final = frozenset("nor ni né".split())
"""Denials that go on with the denial before them: `She named neither the guard nor the officer`."""
DETERMINERS: Final = frozenset(
    "no neither kein keine keinen keinem keiner keines keinerlei weder aucun aucune ningún ninguna ninguno nessun "
    "nessuna nessuno".split()
)
"""Denials of a thing. They deny each word of the clause: `no drop may form at the gland`."""
WITHOUT: Final = frozenset("without ohne sans sin senza".split())
"""Denials that open a condition at the beginning of a clause: `Without a key, …`."""
SYNONYMS: Final = (
    "permit allow authoris authoriz",
    "start begin commenc",
    "requir need necess",
    "suitabl appropriat",
    "injur hurt",
    "use used",
)
"""Stems of the same meaning that rules are often reworded with."""
