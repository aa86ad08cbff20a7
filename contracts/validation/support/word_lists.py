"""Small word lists of the verifier: negations, quantifiers, comparisons, opposites, and frames (R5-17)."""

import re
from collections.abc import Set
from typing import Final

from sourcebound.contracts.text.content_words import STOP_WORDS, stem
from sourcebound.contracts.validation.literals.amounts.number_words import NUMBER_WORDS

NEGATIONS: Final = frozenset(
    """
    no not never none neither nor without cannot nobody nothing nowhere hardly barely scarcely fail fails failed failing
    lack lacks lacked lacking deny denies denied refuse refuses refused unable except excluding rather instead rarely
    seldom
    """.split()
)
QUANTIFIERS: Final = frozenset(
    """
    all every each always entire entirely whole wholly only solely exclusively any some several few most many much
    majority minority half both either usually often sometimes occasionally partly partially mostly mainly completely
    fully exactly nearly almost least
    """.split()
)
COMPARISONS: Final = frozenset(
    """
    more less fewer greater smaller higher lower larger bigger longer shorter older younger better worse faster slower
    earlier later before after above below over under most least highest lowest largest smallest best worst first last
    up down increase increased increases increasing decrease decreased decreases decreasing
    """.split()
)
NUMBERS: Final = frozenset(NUMBER_WORDS) - {"one"}
OPENERS: Final = frozenset(
    """
    the a an in on at of for from to and or but by with as is are was were be been which who that than then when while
    where because if into about between through during via per its his her their this these such
    """.split()
)
"""Words that no complete statement ends with."""
PAIRS: Final = """
increase decrease; increase reduce; increase decline; increase fall; increase drop; rise fall; rise drop; rise
decline; grow shrink; gain lose; gain loss; win lose; won lost; high low; higher lower; highest lowest; large small;
larger smaller; largest smallest; big small; bigger smaller; biggest smallest; long short; longer shorter; more
less; more fewer; most least; most fewest; many few; much little; majority minority; all none; always never; every
no; everyone nobody; everything nothing; often rarely; usually rarely; frequently rarely; common rare; common
uncommon; before after; earlier later; early late; first last; begin end; began ended; start end; start stop;
started ended; started stopped; start finish; open close; opened closed; opening closing; enter leave; entered left;
arrive depart; arrival departure; above below; over under; up down; upper lower; top bottom; inside outside;
internal external; interior exterior; inner outer; in out; front back; forward backward; left right; north south;
northern southern; east west; eastern western; northeast southwest; northwest southeast; true false; right wrong;
correct incorrect; good bad; better worse; best worst; positive negative; success failure; succeed fail; successful
unsuccessful; pass fail; accept reject; accepted rejected; agree disagree; allow forbid; allow prevent; allow
prohibit; allow ban; permit prohibit; permit forbid; legal illegal; lawful unlawful; able unable; possible
impossible; likely unlikely; certain uncertain; known unknown; familiar unfamiliar; similar different; same
different; equal unequal; strong weak; stronger weaker; strengthen weaken; hard soft; hard easy; difficult easy;
simple complex; fast slow; faster slower; quick slow; quickly slowly; rapidly slowly; hot cold; warm cool; hotter
colder; warmer cooler; wet dry; light dark; bright dark; light heavy; heavy lightweight; thick thin; wide narrow;
broad narrow; deep shallow; tall short; old new; old young; older younger; oldest youngest; older newer; ancient
modern; rich poor; cheap expensive; full empty; male female; man woman; men women; boy girl; father mother; son
daughter; brother sister; husband wife; king queen; public private; active inactive; active passive; dead alive; die
live; died survived; birth death; born died; love hate; like dislike; support oppose; supported opposed; supporter
opponent; for against; include exclude; included excluded; including excluding; with without; add remove; added
removed; insert remove; attach detach; connect disconnect; enable disable; enabled disabled; on off; activate
deactivate; lock unlock; import export; buy sell; bought sold; borrow lend; give take; gave took; send receive; sent
received; push pull; attack defend; offensive defensive; cause prevent; cause cure; create destroy; build destroy;
built destroyed; expand contract; improve worsen; improve deteriorate; better deteriorate; help hinder; benefit
harm; beneficial harmful; safe dangerous; safe unsafe; healthy unhealthy; mild severe; minor major; acute chronic;
benign malignant; superior inferior; maximum minimum; maximize minimize; upstream downstream; ascending descending;
vertical horizontal; permanent temporary; natural artificial; natural synthetic; voluntary mandatory; optional
mandatory; optional required; local global; local foreign; domestic foreign; urban rural; democratic republican;
liberal conservative; guilty innocent; present absent; presence absence; visible invisible; appear disappear;
appeared disappeared; remember forget; confirm deny; confirmed denied; prove disprove; proved refuted; admit deny;
sufficient insufficient; adequate inadequate; significant insignificant; effective ineffective; dependent
independent; direct indirect; regular irregular; formal informal; official unofficial; related unrelated; married
divorced; married unmarried; married single; day night; morning evening; summer winter; spring autumn; peace war;
friend enemy; ally enemy; hero villain; victory defeat; defeat victory; victor loser; winner loser; ahead behind;
near far; close distant; together apart; join leave; joined left; hire fire; hired fired; employ dismiss; promote
demote; approve reject; approved rejected; approve disapprove; popular unpopular; famous unknown; praise criticize;
praised criticized; acclaim criticism; single multiple; single double; odd even; solid liquid; acid alkaline;
dominant recessive; synthesis degradation; upregulate downregulate; activation inhibition; activate inhibit;
stimulate inhibit; promote inhibit; induce suppress; enhance suppress; enhance inhibit; enhance reduce; elevated
reduced; raise lower; raised lowered; gradually suddenly; slight sharp; partial complete; partially completely;
initially finally; former latter; former current; previous next; past future; continue stop; continued stopped; keep
discard; save waste; hide reveal; hidden revealed; tighten loosen; fill drain
""".strip()
"""Opposites; a statement that has one where the evidence has the other says another thing."""


def root_of(form: str) -> str:
    """Return the stem of a word in lower case; a function word is its own stem."""
    return form if form in STOP_WORDS or len(form) == 1 else stem(form)


def _read_opposites() -> dict[str, frozenset[str]]:
    opposites: dict[str, frozenset[str]] = {}
    for line in PAIRS.replace("\n", " ").split(";"):
        first, second = map(root_of, line.split())
        if first != second:
            opposites[first] = opposites.get(first, frozenset()) | {second}
            opposites[second] = opposites.get(second, frozenset()) | {first}
    return opposites


OPPOSITES: Final = _read_opposites()
"""The opposites of each stem of a listed pair."""
PREFIXES: Final = ("un", "in", "im", "ir", "il", "dis", "non", "mis", "de", "anti")
"""Prefixes that turn a word into its opposite."""
SHORTEST: Final = 2
"""The most letters of a word that no prefix turns into its opposite."""
SOURCE: Final = (
    r"(?:passages?|context|texts?|sources?|documents?|articles?|information|evidence|manual|excerpts?|study|authors?)"
)
FRAME: Final = re.compile(
    rf"(?:(?:according to|based (?:up)?on|as (?:stated|described|mentioned|noted|reported|shown) (?:in|by)|per|from)"
    rf" (?:the |this |these )?(?:\w+ )?{SOURCE}(?: \d+)?(?: (?:provided|given|above))?,?"
    rf"|\b(?:the|this) (?:\w+ )?{SOURCE}(?: \d+)?(?: also)? (?:states?|says?|mentions?|notes?|explains?|reports?) that"
    r"|\bit is (?:also )?(?:stated|said|reported|noted|mentioned) that|^as described,|\bin fact\b)",
    re.IGNORECASE,
)
"""Words that name the source of a statement and add nothing to it."""


def has_opposite(stem: str, others: Set[str]) -> bool:
    """Return whether stems hold the opposite of one: of a listed pair, or the same word with or without a prefix."""
    if not others.isdisjoint(OPPOSITES.get(stem, ())):
        return True
    return any(
        (len(stem) > SHORTEST and prefix + stem in others)
        or (stem.startswith(prefix) and len(stem) > len(prefix) + SHORTEST and stem[len(prefix) :] in others)
        for prefix in PREFIXES
    )
