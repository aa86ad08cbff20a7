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


def _read(
    *,
    denials: str,
    bans: str,
    limits: str,
    exceptions: str,
    signs: str,
    beginnings: str,
    reasons: str,
    relatives: str,
    ands: str,
    prepositions: str,
) -> PolarityWords:
    return PolarityWords(
        denials=frozenset(denials.split()),
        bans=tuple(bans.split()),
        limits=frozenset(limits.split()),
        exceptions=frozenset(exceptions.split()),
        signs=frozenset(signs.split()),
        beginnings=tuple(beginnings.split()),
        reasons=frozenset(reasons.split()),
        relatives=frozenset(relatives.split()),
        ands=frozenset(ands.split()),
        prepositions=frozenset(prepositions.split()),
    )


POLARITY: Final = {
    "en": _read(
        denials="not no never neither nor without cannot",
        bans="forbid prohibit",
        limits="just before than more exceed exceeds yet necessarily always all every entirely completely longer",
        exceptions="less fewer except excepted exception excluding unless until only solely merely other otherwise "
        "unlike instead rather",
        signs="non none nobody nothing nowhere hardly barely rarely seldom scarcely unable outside beyond free absent "
        "absence optional zero few little however though although stay stays staying remain remains remaining keep "
        "keeps kept keeping still even whether if both false off disabled null",
        beginnings="fail lack den refus reject avoid prevent ban stop ceas exclu declin exempt miss omit void disallow "
        "neglect oppos question doubt disput contra",
        reasons="because but while although though whereas since so",
        relatives="if when where which who that whether",
        ands="and or",
        prepositions="in at on by for with to from of into during as",
    ),
    "de": _read(
        denials="nicht kein keine keinen keinem keiner keines keinerlei nie niemals ohne weder",
        bans="verboten untersagt",
        limits="bevor mehr als",
        exceptions="weniger außer ausgenommen ausnahme sofern nur erst statt allein",
        signs="niemand nichts kaum selten unzulässig außerhalb frei fehlt fehlen freiwillig null wenig bleibt bleiben "
        "weiterhin ob wenn falls obwohl",
        beginnings="verweiger ablehn vermeid verhinder verbiet ausschl ausgeschl fehl",
        reasons="weil aber während obwohl sondern denn",
        relatives="wenn falls dass ob",
        ands="und oder",
        prepositions="in im auf mit von für aus bei an am zu zum zur nach",
    ),
    "fr": _read(
        denials="ne n pas jamais aucun aucune sans",
        bans="interdit",
        limits="plus que avant",
        exceptions="moins sauf excepté exception sinon seulement hors",
        signs="personne rien rarement libre absence absent facultatif facultative zéro peu reste restent demeure si",
        beginnings="refus rejet évit empêch exclu manqu",
        reasons="parce mais car",
        relatives="si quand que qui dont où",
        ands="et ou",
        prepositions="dans à au aux avec pour de du des sur par en",
    ),
    "es": _read(
        denials="no ni nunca sin jamás ningún ninguna ninguno",
        bans="prohibid",
        limits="más antes",
        exceptions="menos excepto excepción salvo solo sólo sino hasta únicamente",
        signs="nadie nada rara fuera libre ausencia opcional cero poco permanece permanecen sigue si tampoco",
        beginnings="rechaz evit impid exclu falt",
        reasons="porque pero aunque",
        relatives="si cuando que quien donde",
        ands="y e o u",
        prepositions="en con para de del por a al",
    ),
    "it": _read(
        denials="non né mai senza nessun nessuna nessuno",
        bans="vietat",
        limits="più prima",
        exceptions="meno eccetto eccezione tranne solo soltanto finché anziché",
        signs="nulla niente raramente fuori libero assenza facoltativo zero poco resta restano rimane "
        "rimangono se neanche",
        beginnings="rifiut respin evit imped esclu manc",
        reasons="perché ma bensì mentre",
        relatives="se quando che cui dove",
        ands="e ed o",
        prepositions="in nel nella con per di del della da dal a al alla",
    ),
}
CONTINUED: Final = frozenset("nor ni né".split())
"""Denials that go on with the denial before them: `She named neither the guard nor the officer`."""
DETERMINERS: Final = frozenset(
    "no neither kein keine keinen keinem keiner keines keinerlei weder aucun aucune ningún ninguna ninguno nessun "
    "nessuna nessuno".split()
)
"""Denials of a thing. They deny each word of the clause: `no drop may form at the gland`."""
CONCORD: Final = frozenset(["fr", "es", "it"])
"""The languages in which several words of a clause make one denial: `ne … pas`, `no … nunca`, `non … mai`."""
AFFIRMING: Final = frozenset(
    "do does did is are was were can may must will would should has have had ja schon oui sí sì".split()
)
"""The last words of a clause that affirms of a thing what is said before: `Members can.`"""
BOUNDS: Final = frozenset(
    "than over above under below after before beyond older younger mehr über unter oberhalb unterhalb nach vor als "
    "plus après avant supérieur supérieure supérieurs supérieures inférieur inférieure inférieurs inférieures más "
    "después antes superior superiores inferior inferiores oltre sotto sopra dopo prima superiore superiori inferiore "
    "inferiori".split()
)
"""Words that bound a number. What is denied beyond it may be said up to it: `Bags over 23 kg are not accepted`."""
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
