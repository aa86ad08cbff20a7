"""The contracts: frozen models and pure functions, one folder for each layer of the pipeline.

The folders in the order in which a run passes them: `policy` (P), `retrieval` (R1), `evidence` (R2), `facts` (R3-9),
`prompt` (R3), `execution` (R4), `validation` (R5), `audit` (R5P), `response` (R6) and `presentation` (R6-8).
`conversation` (CP-6), `replay` (CP-3 to CP-5) and `receipt` (CP-8) work on recorded runs. Nothing here opens a file of
the user's, a socket or a database.
"""
