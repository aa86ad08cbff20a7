"""Words that technical English uses for one thing: `how loud` asks for the noise or the sound level (R4-9).

Each group is of words for one quantity, one act or one state, with its adjective, verb and noun where their roots
differ. They are the quantity words of measurement and the verbs of operation and maintenance. Words of one root are
left out, because their first letters relate them already (`FAMILY`).
"""

from typing import Final

from sourcebound.contracts.validation.support.word_lists import root_of

GROUPS: Final = """
loud noise noisy sound decibel; heavy weight weigh mass; hot warm cold temperature; fast quick speed velocity; tight
tighten torque; old age; tall high height; deep depth; wide width broad; big large size dimension; far distance; strong
strength; bright brightness luminance; steep slope inclination angle; full fill level; colour color coloured; expensive
cost price; buy purchase order procure; cheap price; replace exchange change renew swap substitute; remove dismount
detach withdraw; begin start commence; end finish complete conclude; stop halt shutdown; repair fix mend; check inspect
examine verify; clean wash rinse; keep store retain; deliver ship supply; allow permit authorise authorize; forbid
prohibit ban; need require must; wear clothing clothes shoes boots gloves goggles glasses helmet apron mask protection
protective; show indicate display; turn rotate rotation; fasten attach secure; damage defect fault; error fault
malfunction; fail failure breakdown; leak drip leakage; make manufacture produce; maker manufacturer; employee staff
personnel; doctor physician; throw dispose discard; press push; switch turn; enlarge increase raise; lower reduce
decrease; choose select pick; show demonstrate; answer reply respond response; get obtain receive; send transmit; write
enter record; build construct erect; job work task; maximum most highest; minimum least lowest; weekly week; daily day;
monthly month; yearly annual year; quarterly quarter; hourly hour; broken defective faulty; empty drain; danger hazard
risk; injure hurt; lubricate grease; ask request; try attempt; happen occur; mend repair; car vehicle; inform notify;
permission permit approval; sick ill; picture image photo; phone telephone
"""
FAMILIES: Final[dict[str, frozenset[str]]] = {}
"""For each stem those that the same thing is called by, itself left out."""
for _line in GROUPS.replace("\n", " ").split(";"):
    _stems = frozenset(map(root_of, _line.split()))
    for _stem in _stems:
        FAMILIES[_stem] = FAMILIES.get(_stem, frozenset()) | _stems - {_stem}
