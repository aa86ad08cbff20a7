"""The patterns by which questions and sentences are read (R4-9). English, as the verifier's word lists."""

import re
from typing import Final

from sourcebound.contracts.text.questions import UNIT


def one_of(words: str) -> str:
    """Return a pattern for one of the alternatives, which blanks separate; `_` is a blank within one."""
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


def pattern(*parts: str) -> re.Pattern[str]:
    """Compile alternatives, whatever the case."""
    return re.compile("|".join(parts), re.IGNORECASE)


WHICH: Final = r"\b(?:what|which) (?:(?!takes?\b|took\b)\w+ )?"
"""The beginning of `what year`, `which European country`. Not of `what takes place`."""
AUXILIARY: Final = one_of(
    "is are was were am do does did has have had can could may might must should shall will would"
)
ENDS: Final = (
    rf"(?=\s*[?.,;:(]|\s*$|\s(?:{AUXILIARY}|at|before|between|by|during|for|from|in|on|to|under|when|with|without|"
    r"the|an?|i|we|you|it|they)\b)"
)
"""The end of what is asked for. `Which day shift`, `which date format` ask for a shift, and for a format."""
PERSON: Final = pattern(
    r"\bwho(?:se|m)?\b",
    WHICH
    + one_of(
        "person persons people man men woman women king queen emperor president author actor actress singer artist "
        "player leader general ruler scientist"
    )
    + r"\b",
)
TIME: Final = pattern(
    rf"^\W*(?:\w+ )?when\b|\bwhen {AUXILIARY}\b|\b(?:and|or) when\b",
    WHICH + one_of("year date day month century decade time season era age") + rf"s?\b(?: of\b|{ENDS})",
)
STANDING: Final = pattern(r"\bwhen (?:is|are|does|do|must|should|shall|can|may|will|has|have)\b")
"""A question about each time, which a condition answers. `When did` asks for one time."""
PLACE: Final = pattern(
    rf"^\W*(?:\w+ )?where\b|\bwhere {AUXILIARY}\b|\b(?:and|or) where\b",
    WHICH
    + one_of(
        "place city cities country countries state town location region continent island province area county river"
    )
    + r"s?\b",
)
COUNT: Final = pattern(
    r"\bhow many\b", WHICH + one_of(r"number percent\w* proportion share fraction rate population") + r"\b"
)
OF_NO_PRICE: Final = one_of(
    "left allowed needed required used known lost produced doses? dosage load weight capacity memory storage space "
    "water oil fuel gas power time pressure torque clearance play overlap limit allowance leave notice paid spent "
    "earned invested raised received owed charged"
)
"""What `how much is …` may ask for that is no price."""
MONEY: Final = pattern(
    r"\bhow much (?:money|does it cost|do (?:\w+ ){1,4}cost|does (?:\w+ ){1,5}cost|is (?:\w+ ){0,4}worth)",
    rf"\bhow much (?:is|are|was|were|will|would) (?!.*\b{OF_NO_PRICE}\b)",
    r"\bhow much (?:do|does|did|must|should|will|would) (?:[\w-]+ ){1,4}(?:pay|charge|earn|owe)\b",
    r"\bwhat (?:do|does|did|will|would) (?:[\w-]+ ){1,8}(?:cost|pay|charge)\b",
    r"\b(?:what|which)\b.{0,40}\b" + one_of("prices? costs? fees? salary revenues? income budget net_worth") + r"\b",
)
DURATION: Final = pattern(
    r"\bhow long\b",
    r"\bhow (?:old|soon|quickly|early)\b|\bhow far (?:ahead|in advance|before)\b",
    r"\b(?:what|which) (?:duration|period)\b",
    r"\bhow (?:many|much) (?:\w+ )?" + one_of("time seconds? minutes? hours? days? weeks? months? years?") + r"\b",
)
CONTACT: Final = pattern(
    r"\b(?:what (?:is|are|was|were)|give|have|tell|need|know) (?:[\w-]+ ){0,4}"
    + one_of("telephone phone mobile fax")
    + r" numbers?\b",
    r"\bwhat (?:is|are|was|were) (?:[\w-]+ ){0,4}e-?mail address(?:es)?\b",
    r"\b(?:what|which) number (?:do|can|should|must) \w+ (?:call|ring|dial)\b",
)
FREQUENCY: Final = pattern(
    r"\bhow (?:often|frequently|regularly)\b", r"\bhow many times\b", WHICH + r"(?:intervals?|frequency)\b(?! ranges?)"
)
MEASURE: Final = pattern(
    r"\bhow " + one_of("much tall far deep big large high wide heavy hot cold fast thick close great strong") + r"\b",
    r"\b(?:what|which)\b.{0,30}\b"
    + one_of(
        "temperature pressure torque speed weight height depth distance size length width voltage current "
        "power volume capacity limit charge level dose thickness altitude area diameter"
    )
    + r"\b",
)
REASON: Final = pattern(
    r"\bwhy\b",
    r"\bhow come\b",
    r"\bfor what reason\b",
    r"\bwhat (?:\w+ )?" + one_of("caused? causes reasons? led leads"),
    r"\bwhat (?:is|are|was|were) the (?:\w+ )?reasons?\b",
)
NAME: Final = pattern(
    WHICH
    + one_of(
        "name company team organi[sz]ation language book song film movie group dynasty title nationality "
        "religion tribe party"
    )
    + r"s?\b",
    r"\bwhat (?:is|are|was|were) .{1,60}\b(?:called|named)\b",
)
CODE: Final = pattern(
    r"\b(?:what|which) (?:\w+ ){0,2}"
    + one_of("variable option flag switch(?:e)? command parameter argument method function class(?:e)? exception error")
    + r"s?\b",
)
DEFINITION: Final = pattern(
    r"^\W*(?:what|who) (?:is|are|was|were) (?:an? |the )?(?:[\w-]+ ?){1,3}\W*$",
    r"\bwhat does (?!(?:it|this|that) mean).{1,60} (?:mean|stand for)\b",
    r"\bdefine\b",
    r"\b(?:definition|meaning) of\b",
)
YES_NO: Final = pattern(
    r"^\W*(?:"
    + one_of("please tell_me and so but also in on at by to from for with of since do_you_know can_you could_you")
    + r"\W+){0,4}"
    + AUXILIARY
    + r"\b"
)
STEPS: Final = pattern(
    r"\bhow "
    + AUXILIARY
    + " "
    + one_of("i we you one someone users? a_user an?_operator the_user the_operator")
    + r"\b",
    r"\bhow to\b",
    r"\bhow (?:is|are|must|should|can|do|does) .{1,80}\b"
    + one_of(
        "replaced? changed? cleaned? installed? removed? filled set_up configured? reset repaired? "
        "assembled? calibrated? "
        r"started stopped enabled? disabled? turned_(?:on|off) saniti[sz]ed?"
    )
    + r"\b",
    r"\b(?:what|which) (?:are the )?steps\b",
    r"\b(?:steps|procedure) (?:to|for)\b",
    r"\bwhat (?:should|must|do|can) (?:i|we|you) do\b",
)
THINGS: Final = one_of("options features types kinds steps parts components settings items requirements files")
LISTED: Final = pattern(
    r"\blist (?:all|the|of|every|any)\b",
    r"^\W*(?:list|name|enumerate)\b",
    r"\b(?:what|which) are (?:the|all|some)\b",
    r"\bwhich (?:\w+ )?" + THINGS + r"\b",
    rf"\b(?:what|which) (?:(?!{AUXILIARY}\b|of\b)[\w-]+ ){{0,3}}(?!{AUXILIARY}\b|this\b|its\b)[\w-]*[a-rtv-z]s "
    rf"(?:{AUXILIARY}\b|(?!(?:the|an?|of|in|on|off|for|at|to|up|with|by|when|if|after)\b)[\w-]+(?<!s)\b)",
    r"\b(?:in|by) (?:what|which) order\b",
    r"\bwhat (?:must|should|shall|does|do|did|has to) (?:[\w'-]+ ){1,12}?(?:contain|include|consist of|comprise)\b",
)
EXPLAINED: Final = re.compile(rf"^\W*(?:\w+ ){{0,4}}how {AUXILIARY}\b", re.IGNORECASE)
EACH: Final = pattern(
    r"\b(?P<at>in|for|with|by|under|during|after|before|at|of) (?P<first>[^,?;]{1,60}?) and (?P=at) "
    r"(?P<second>[^,?;]{1,60}?)(?:[?,]|$)"
)
"""Two things behind the same preposition: `in septic shock and in sepsis`."""
COMPARED: Final = pattern(
    r"\bcompares?\b|\bcompared (?:with|to|against)\b|\b(?:versus|vs)\b",
    r"\bdiffer(?:s|ence|ences|ent)?\b.{0,40}\b(?:between|from|to)\b",
    r"\b(?:do|did) .{1,80} and .{1,80} differ\b",
    r"\bdistinguish(?:es)? .{1,80} from\b|\bsets? .{1,80} apart from\b",
    r"\b(?:both|either)\b.{1,60}\band\b",
    r"\bon the .{1,60}\band on the\b",
)
MONTH: Final = one_of(
    "jan(?:uary)? feb(?:ruary)? march april may june july aug(?:ust)? sept?(?:ember)? oct(?:ober)? nov(?:ember)? "
    "dec(?:ember)?"
)
NUMBER_WORD: Final = one_of(
    "one two three four five six seven eight nine ten eleven twelve dozens? hundreds? "
    "thousands? millions? billions? half third quarter twenty thirty forty fifty sixty seventy eighty ninety"
)
NUMBER: Final = rf"(?:\d[\d,.]{{0,30}}|{NUMBER_WORD})"
TIME_UNIT: Final = one_of(
    "seconds? secs? minutes? mins? hours? hrs? days? weeks? months? years? decades? centur(?:y|ies) [sh]"
)
A_TIME: Final = pattern(
    r"\b(?:1\d|20)\d\d(?:s\b|\b)",
    rf"\b{MONTH}\.? \d{{1,4}}",
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}\b",
    rf"\b{MONTH}\b",
    r"\b\w+ centur(?:y|ies)\b",
    rf"\bin \d{{3}}\b|\b{NUMBER}\s(?:\w+\s)?{TIME_UNIT}\b|\b\w+ season\b",
    r"\b" + one_of("spring summer autumn winter (?:mon|tues|wednes|thurs|fri|satur|sun)day bce? ad ce") + r"\b",
    r"\b\d{1,2}:\d\d\b",
    r"\b" + one_of("when if after before until during once as_soon_as whenever every later earlier ago") + r"\b",
)
A_COUNT: Final = pattern(rf"\b{NUMBER}\b(?!-(?:year|month|week|day|hour|minute)s?\b)|\b(?:percent|none|no)\b")
CURRENCY: Final = one_of(
    "dollars? euros? pounds? cents? pence yen yuan rupees? francs? crowns? kron(?:a|or|e|er) "
    "usd eur gbp chf sek nok dkk jpy"
)
A_PRICE: Final = pattern(
    r"[$€£¥₹]\s?\d",
    rf"\d\s?(?:[mb]illion |trillion )?(?:{CURRENCY}\b|[$€£¥₹])",
    rf"\b{CURRENCY}\s?\d",
    rf"\b{NUMBER} (?:{NUMBER} )?{CURRENCY}\b",
    r"\bfree\b|\bno charge\b|\bcharged? nothing\b",
    r"\b"
    + one_of(
        "prices? pricing costs? fees? charge[sd]? paid pays? sal(?:ary|aries|es) revenues? income budgets? profits? "
        "loss(?:es)? earnings worth value"
    )
    + r"\b[^.]{0,80}(?<![\w-])\d",
)
A_CONTACT: Final = pattern(
    r"(?<![\w-])[+(]?\d(?:[ ()/.-]{0,2}\d){6,}(?![\w-])", r"\S@\S+\.\w", r"\bhttps?://", r"\bwww\."
)
A_DURATION: Final = pattern(
    rf"\b{NUMBER}(?:\s|-)(?:\w+\s)?{TIME_UNIT}\b",
    r"\bfrom\b.{1,20}\bto\b",
    r"\buntil\b",
    r"\bsince\b",
    rf"\b{NUMBER}\b",
)
A_FREQUENCY: Final = pattern(
    r"\b"
    + one_of(
        "every each per(?!_cent) once twice times regularly (?:bi)?(?:week|month|quarter|year|hour)ly daily "
        "annual(?:ly)? continuous(?:ly)? constantly always never rarely seldom whenever intervals? frequency "
        "frequently often occasionally periodical(?:ly)? (?:mon|tues|wednes|thurs|fri|satur|sun)days"
    )
    + r"\b",
    r"\d\s?[kmg]?hz\b|(?:\s/\s|\b(?:times|once)/)(?:second|minute|hour|day|week|month|quarter|year)\b(?!\s?/)",
)
A_PERIOD: Final = pattern(rf"\b{NUMBER}\s(?:\w+\s)?{TIME_UNIT}\b")
"""How often, in a row: `6 months`."""
A_MEASURE: Final = pattern(
    r"\d\s?(?:to \d+ |million |billion |thousand |square |cubic )?(?:" + UNIT + r")(?!\w)", rf"\b{NUMBER}\b"
)
A_REASON: Final = pattern(
    r"\b"
    + one_of(
        "because due_to owing_to caus(?:ed?|es|ing) since so_that in_order therefore thus hence as_a_result "
        "results?_in "
        "results?_from led_to leads?_to reasons? why for_fear to_(?:avoid|prevent|ensure|reduce|protect|allow|keep) "
        "prevents? avoids? otherwise makes? made"
    )
    + r"\b"
)
A_CODE: Final = re.compile(
    r"`[^`\n]+`|(?<![\w-])--?[A-Za-z][\w-]*|\b[A-Za-z]\w*_\w+|\b[A-Za-z]+[a-z][A-Z]\w*|\b\w+\(\)|\b\w+=\w+"
)
"""A name in a program or on a command line: `--flag`, `NAME_OF_IT`, `nameOfIt`, `name()`."""
A_DEFINITION: Final = pattern(
    r"\b(?:is|are|was|were) (?:an?|the|one|any|used)\b",
    r"\b" + one_of("refers?_to means? meaning known_as defined_as stands?_for called consists?_of describes?") + r"\b",
    r"\(",
    r",\s(?:an?|the)\s",
)
IMPERATIVE: Final = one_of(
    "tap press click open select choose turn set remove replace install check close push pull hold wait "
    "tighten loosen drain fill clean insert connect disconnect enter type run create add drag touch release swipe go "
    "use make put place start stop switch save follow ensure verify unscrew screw lift lower attach detach mount "
    "unmount rinse wash dry apply repeat "
    "confirm scroll slide delete edit move copy paste download upload restart reset enable disable "
    "configure read write "
    "record measure adjust align cut bring take keep leave let call contact log sign plug unplug rotate "
    "shut heat cool flush "
    "isolate inspect test define pass import export specify execute build launch navigate visit "
    "double-click right-click "
    "unlock lock mix stir pour shake do_not don't"
)
PARTS: Final = pattern(
    r"(?:[,;?]\s*(?:and\s+)?|\s+and\s+)(?=(?:(?:at|in|to|by|for|with|on|from|of)\s+)?"
    r"(?:who|whom|whose|when|where|what|which|why|how)\b)"
)
"""The place between two questions in one."""
ASKS: Final = pattern(rf"\b(?:who|whom|whose|when|where|what|which|why|how)\b|^\W*(?:{AUXILIARY}|list|name|compare)\b")
"""What a question has."""
PROCEDURAL: Final = pattern(
    r"^\W*(?:"
    + one_of("then next now finally first also and afterwards carefully gently slowly please again")
    + r"\W+){0,3}"
    + IMPERATIVE
    + r"\b",
    r"^\W*"
    + one_of("from to in on at after before when while once if with for under until as_soon_as")
    + r"\b[^.]{1,120}?,? (?:then )?"
    + IMPERATIVE
    + r"\b",
)
"""A sentence that tells the reader to do something."""
OPTION: Final = re.compile(r"^\W*[A-Z][^.:]{0,50}: \S")
"""One of several options: `Sound: Choose a sound.`"""
GOES_ON: Final = pattern(
    r"^\W*"
    + one_of(
        "so this these that such it they therefore thus hence because otherwise as_a_result consequently "
        "for_this_reason"
    )
    + r"\b"
)
"""A sentence that goes on from the one before it."""
