"""The heads of columns that hold each kind of answer, as stems: `Done by` holds who, `Due` holds when (R4-9)."""

from typing import Final

from sourcebound.contracts.validation.support.word_lists import root_of

HEADS: Final = {
    "person": "who by name person people operator mechanic technician responsible owner author contact role position "
    "department performer executor approver reviewer auditor inspector investigator lead holder assignee assigned",
    "time": "when date day weekday month year time due deadline until expiry valid since start end begin next last",
    "place": "where place location site room area building position store warehouse city country address point",
    "count": "number quantity count pieces amount units total stock qty",
    "money": "price cost fee amount total charge rate",
    "duration": "duration time period hours minutes days weeks months years lead",
    "frequency": "interval frequency schedule period every cycle",
    "reason": "reason cause why",
}
"""By the name of the kind (`Asked`)."""
COLUMNS: Final = {kind: frozenset(map(root_of, words.split())) for kind, words in HEADS.items()}
