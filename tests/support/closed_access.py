"""A document, a question about it, and an access rule that admits one caller."""

TEXT = "The gland bolts of the HP-200 are tightened to 27 N·m in revision C."
QUESTION = "To what torque are the gland bolts of the HP-200 tightened?"


class Closed:
    """An access rule that admits one caller to one document."""

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        return (caller, collection, knowledge_id) == ("anna", "mine", "manual.txt")
