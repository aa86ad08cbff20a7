"""Words for people by their work or their part: what may answer `who` without a name (R4-9).

The list is written by hand: agent nouns of plants, offices, hospitals and schools, in both numbers. Words that often
name things too (`filter`, `cleaner`, `counter`) are left out.
"""

from typing import Final

SINGULAR: Final = """
accountant administrator adviser advisor agent analyst applicant approver architect assistant attendant auditor author
auxiliary biologist builder buyer carer caretaker carpenter chair chairman chairperson chairwoman chemist chief
citizen clerk client clinician coach colleague commander commissioner consultant contractor controller
coordinator counsellor curator custodian customer dentist designer developer director distributor doctor driver
editor electrician employee employer engineer examiner expert farmer fitter foreman forewoman governor guard
headteacher helper historian holder host hygienist importer inspector installer instructor insurer interpreter
inventor investigator janitor journalist judge keeper labourer laborer landlord lawyer leader lecturer librarian
machinist maintainer manager manufacturer mayor mechanic merchant microbiologist midwife minister moderator
nurse observer officer official operator organiser organizer owner painter paramedic parent passenger patient
pharmacist physician physicist pilot planner plumber priest principal producer professor programmer publisher
purchaser pupil researcher resident reviewer rigger sailor scientist secretary seller servant
shareholder soldier specialist sponsor statistician student subcontractor successor supervisor supplier
surgeon surveyor taxpayer teacher technician technologist tenant tester therapist trainee trainer translator treasurer
tutor user vendor veterinarian visitor volunteer warden welder witness worker writer
""".split()
GROUPS: Final = frozenset(
    """
    agency anybody anyone assurance authorities authority board clergy committee company council crew department
    everybody everyone firm government institute laboratory management nobody office organisation organization people
    person personnel persons police somebody someone staff team workforce workshop
    """.split()
)
ROLES: Final = (
    frozenset(SINGULAR)
    | {f"{word}s" for word in SINGULAR}
    | {f"{word[:-1]}ies" for word in SINGULAR if word.endswith("y")}
    | GROUPS
)
