"""Reads the sets that have documents and questions as collections, one reader for each shape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from sourcebound.evals.evidence import score_answer
from sourcebound.evals.external.sets import records
from sourcebound.evals.external.sets.collections import Chunk, Collection, Document, Facts, Kind, Question
from sourcebound.evals.external.sets.discovery import FoundSet
from sourcebound.evals.external.sets.records import DataFault, Reader, find
from sourcebound.evals.metrics import Span, align
from sourcebound.evals.pages import locate
from sourcebound.evals.ranking import score_chunks, score_documents
from sourcebound.ingest.loaders.select import load_document

MAX_BYTES: Final = 200_000_000
RECALL: Final = "recall@10"
EACH_FIELD: Final = "What is the {field} of {name}?"


def read_collections(found: FoundSet, reader: Reader) -> list[Collection]:
    """Read a set as one or more collections.

    Raises:
        DataFault: A record is malformed, or names another one that does not exist.
        OSError: A file cannot be read.
    """
    return COLLECTION_READERS[found.shape](found, reader)


def read_off_topic(found: FoundSet, reader: Reader) -> list[Question]:
    """Read questions that no collection answers."""
    return [
        Question(each.id, Kind.OFF_TOPIC, each.question, answers=each.answers, origin=found.name)
        for each in reader.read(found.files["items"], records.OtherQuestion)
    ]


def _documents(passages: Iterable[tuple[str, str, str]]) -> dict[str, Document]:
    """Return documents with numbered names, by the id of each.

    Args:
        passages: Id, title and text of each.
    """
    return {key: Document(f"{n:04d}.md", text, title) for n, (key, title, text) in enumerate(passages)}


def _read_documents(found: FoundSet, reader: Reader) -> dict[str, Document]:
    passages = reader.read(found.files["documents"], records.Passage)
    return _documents((each.id, each.title, each.text) for each in passages)


def is_in(name: str, chunk: Chunk) -> bool:
    """Whether a chunk is from a document."""
    return chunk.knowledge_id == name


def _about(key: str, text: str, document: Document, answers: Sequence[str]) -> Question:
    """Return a question whose answer is part of one document."""
    evidence = partial(score_answer, document=document.name, answers=answers)
    return Question(
        key, Kind.ANSWERABLE, text, _one_fact(answers), cites=partial(is_in, document.name), evidence=evidence
    )


def _one_fact(answers: Sequence[str]) -> Facts:
    spellings = tuple(each for each in answers if each.strip())
    return (spellings,) if spellings else ()


def _read_paragraphs(found: FoundSet, reader: Reader) -> list[Collection]:
    documents, questions, answering = _read_documents(found, reader), [], {}
    for each in sorted(reader.read(found.files["questions"], records.ParagraphQuestion), key=lambda each: each.order):
        document = find(documents, each.paragraph_id, partial(_place, reader, found, each.id))
        if each.answerable:
            questions.append(_about(each.id, each.question, document, each.answers))
            answering[each.id] = document.name
        else:
            questions.append(Question(each.id, Kind.UNANSWERABLE, each.question))
    return [Collection(found.name, tuple(documents.values()), tuple(questions), answering)]


def _read_abstracts(found: FoundSet, reader: Reader) -> list[Collection]:
    documents, questions, answering = _read_documents(found, reader), [], {}
    for each in reader.read(found.files["questions"], records.AbstractQuestion):
        document = find(documents, each.id, partial(_place, reader, found, each.id))
        # the answer is a conclusion that its abstract does not say, so only the place can be judged
        questions.append(Question(each.id, Kind.ANSWERABLE, each.question, cites=partial(is_in, document.name)))
        answering[each.id] = document.name
    return [Collection(found.name, tuple(documents.values()), tuple(questions), answering)]


def _read_excerpts(found: FoundSet, reader: Reader) -> list[Collection]:
    items = reader.read(found.files["items"], records.Excerpt)
    documents = _documents(dict.fromkeys((each.paragraph, each.title, each.paragraph) for each in items))
    questions, answering = [], {}
    for each in items:
        answers = [" ".join(part.string for part in parts) for parts in each.nq_answers]
        questions.append(_about(each.id, each.question, documents[each.paragraph], answers))
        answering[each.id] = documents[each.paragraph].name
    return [Collection(found.name, tuple(documents.values()), tuple(questions), answering)]


def _read_papers(found: FoundSet, reader: Reader) -> list[Collection]:
    papers = reader.read(found.files["documents"], records.Paper)
    documents = _documents((each.id, "", each.text) for each in papers)
    questions = []
    for each in reader.read(found.files["questions"], records.PaperQuestion):
        document = find(documents, each.document_id, partial(_place, reader, found, each.id))
        question = _about(each.id, each.question, document, [each.answer])
        questions.append(question._replace(cites=partial(_holds, document.name, each.answer)))
    return [Collection(found.name, tuple(documents.values()), tuple(questions))]


def _holds(name: str, answer: str, chunk: Chunk) -> bool:
    return bool(score_answer([chunk], name, [answer])["answer text"])


def _read_judged(found: FoundSet, reader: Reader) -> list[Collection]:
    documents, relevance = _read_documents(found, reader), _read_judgements(found, reader)
    names = {document.name: key for key, document in documents.items()}
    questions, answering = [], {}
    for each in reader.read(found.files["questions"], records.Query):
        grades = relevance.get(each.id, {})
        for key in grades:
            find(documents, key, partial(_place, reader, found, each.id))
        question = Question(each.id, Kind.CLAIM, each.text)
        if each.answer is not None:
            question = question._replace(kind=Kind.ANSWERABLE, facts=_one_fact([each.answer]))
        elif not grades:
            continue  # nothing can be measured
        if grades:
            score = partial(score_documents, names=names, relevance=grades)
            cites = partial(_is_among, frozenset(documents[key].name for key in grades))
            question = question._replace(cites=cites, ranking=score, evidence=partial(_recall, score))
            if question.is_asked:
                answering[each.id] = documents[next(iter(grades))].name
        questions.append(question)
    return [Collection(found.name, tuple(documents.values()), tuple(questions), answering)]


def _read_judgements(found: FoundSet, reader: Reader) -> dict[str, dict[str, float]]:
    """Read the relevant documents of each query, with their grades: query, document and grade, and a first line."""
    path = min(found.folder.glob("*.tsv"))
    relevance: dict[str, dict[str, float]] = {}
    for number, line in enumerate(reader.text(path).split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        if number == 1 or not line.strip():
            continue
        try:
            query, document, grade = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError) as error:
            raise DataFault(f"{reader.name(path)}, line {number}: is not query, document and grade") from error
        if grade > 0:
            relevance.setdefault(query, {})[document] = grade
    return relevance


def _recall(score: Callable[..., Mapping[str, float]], chunks: Sequence[Chunk]) -> Mapping[str, float]:
    return {"relevant documents": score(chunks)[RECALL]}


def _is_among(names: frozenset[str], chunk: Chunk) -> bool:
    return chunk.knowledge_id in names


def _read_pages(found: FoundSet, reader: Reader) -> list[Collection]:
    files = {
        each.doc_name: Document(Path(each.file).name, path=found.folder / each.file)
        for each in reader.read(found.files["documents"], records.PagedFile)
    }
    questions = []
    for each in reader.read(found.files["questions"], records.PageQuestion):
        wanted = []
        for page in each.evidence:
            document = find(files, page.doc_name, partial(_place, reader, found, each.id))
            wanted.append((Path(document.name).stem, page.page_index + 1))
        pages = tuple(dict.fromkeys(wanted))
        questions.append(
            Question(
                each.id,
                Kind.ANSWERABLE,
                each.question,
                _one_fact([each.answer]),
                cites=partial(_is_on, frozenset(pages)),
                ranking=partial(_score_pages, pages),
                evidence=partial(_score_pages, pages),
            )
        )
    return [Collection(found.name, _existing(files.values(), reader), tuple(questions))]


def _existing(documents: Iterable[Document], reader: Reader) -> tuple[Document, ...]:
    """Return documents whose files exist.

    Raises:
        DataFault: A file does not exist.
    """
    for each in documents:
        if each.path and not each.path.is_file():
            raise DataFault(f"{reader.name(each.path)} does not exist")
    return tuple(documents)


def _is_on(pages: frozenset[tuple[str, int]], chunk: Chunk) -> bool:
    return (Path(chunk.knowledge_id).stem, chunk.page_number) in pages


def _score_pages(pages: Sequence[tuple[str, int]], chunks: Sequence[Any]) -> Mapping[str, float]:
    found = [rank is not None for rank in locate(chunks, pages)]
    return {"an evidence page": float(any(found)), "evidence pages": sum(found) / len(found)}


def _read_characters(found: FoundSet, reader: Reader) -> list[Collection]:
    files = {path.stem: path for path in sorted(found.folder.glob("*.md"))}
    offsets: dict[str, Sequence[int]] = {}
    questions = []
    items = reader.read(found.files["items"], records.CharacterQuestion)
    for number, each in enumerate(items):
        path = find(files, each.corpus_id, partial(_place, reader, found, str(number)))
        if path.name not in offsets:
            (page,) = load_document(path, MAX_BYTES).pages
            offsets[path.name] = align(page.text, reader.text(path))
        wanted = [Span(path.name, part.start_index, part.end_index) for part in each.references]
        score = partial(score_chunks, offsets=offsets, wanted=wanted)
        cites = partial(_overlaps, offsets, wanted)
        questions.append(
            Question(str(number), Kind.ANSWERABLE, each.question, cites=cites, ranking=score, evidence=score)
        )
    documents = tuple(Document(path.name, path=path) for path in files.values() if path.name in offsets)
    return [Collection(found.name, documents, tuple(questions))]


def _overlaps(offsets: Mapping[str, Sequence[int]], wanted: Sequence[Span], chunk: Chunk) -> bool:
    places = offsets.get(chunk.knowledge_id)
    if places is None or chunk.char_start is None or chunk.char_end is None:
        return False
    start, end = places[chunk.char_start], places[chunk.char_end - 1] + 1
    return any(span.document == chunk.knowledge_id and start < span.end and span.start < end for span in wanted)


def _read_contexts(found: FoundSet, reader: Reader) -> list[Collection]:
    """Read four collections: texts that do not answer alone, and with true texts, changed ones, or both."""
    items = reader.read(found.files["items"], records.Contexts)
    useless = [text for each in items for text in each.negative]
    collections = []
    for label, kind, with_true, with_changed in (
        ("negative only", Kind.UNANSWERABLE, False, False),
        ("with noise", Kind.ANSWERABLE, True, False),
        ("changed", Kind.CHANGED, False, True),
        ("true and changed", Kind.CONFLICTING, True, True),
    ):
        shown = [
            text
            for each in items
            for text in (*(each.positive if with_true else ()), *(each.positive_wrong if with_changed else ()))
        ]
        documents = _documents((text, "", text) for text in dict.fromkeys([*useless, *shown]))
        questions = [_ask_contexts(each, kind, documents) for each in items]
        collections.append(Collection(f"{found.name}, {label}", tuple(documents.values()), tuple(questions)))
    return collections


def _ask_contexts(item: records.Contexts, kind: Kind, documents: Mapping[str, Document]) -> Question:
    true, changed = _facts_of(item.answer), _facts_of(item.fake_answer)
    if kind is Kind.UNANSWERABLE:
        return Question(item.id, kind, item.query, answers=tuple(each for fact in true for each in fact))
    name_of = {text: document.name for text, document in documents.items()}
    true_texts = frozenset(name_of[text] for text in item.positive if text in name_of)
    changed_texts = frozenset(name_of[text] for text in item.positive_wrong if text in name_of)
    if kind is Kind.ANSWERABLE:
        return Question(item.id, kind, item.query, true, cites=partial(_is_among, true_texts))
    return Question(
        item.id,
        kind,
        item.query,
        says={"says the true answer": true, "says the changed answer": changed},
        sources={"cites a true text": true_texts, "cites a changed text": changed_texts},
    )


def _facts_of(value: Any) -> Facts:
    """Return the facts of an answer: a text, or a list of facts that are texts or lists of spellings."""
    if isinstance(value, str):
        return ((value,),)
    if not isinstance(value, list):
        return ()
    return tuple((each,) if isinstance(each, str) else tuple(map(str, each)) for each in value)


def _read_forms(found: FoundSet, reader: Reader) -> list[Collection]:
    """Ask for each field of each form. The first field whose values all differ names a form in its questions.

    A field that is blank on every form has no answer. A field that is blank on some is not asked there, because the
    text of the form may say it elsewhere.
    """
    items = reader.read(found.files["items"], records.Form)
    fields = list(dict.fromkeys(name for each in items for name in each.page1_fields))
    naming = [name for name in fields if _is_unique([each.page1_fields.get(name) for each in items])]
    # of several such fields, one that is an identifier: its values are single words
    key = next((name for name in naming if all(" " not in str(each.page1_fields[name]) for each in items)), None)
    if key is None:
        raise DataFault(f"{reader.name(found.files['items'])}: page1_fields: no field tells the forms apart")
    blank = {name for name in fields if all(each.page1_fields.get(name) is None for each in items)}
    questions = []
    for each in items:
        for name in fields:
            value = each.page1_fields.get(name)
            text = EACH_FIELD.format(field=_words(name), name=f"{_words(key)} {each.page1_fields[key]}")
            number = f"{Path(each.file).stem}-{name}"
            if name in blank:
                questions.append(Question(number, Kind.UNANSWERABLE, text))
            elif value is not None and name != key:
                cites = partial(is_in, Path(each.file).name)
                questions.append(Question(number, Kind.ANSWERABLE, text, ((value,),), cites=cites))
    documents = [Document(Path(each.file).name, path=found.folder / each.file) for each in items]
    return [Collection(found.name, _existing(documents, reader), tuple(questions))]


def _is_unique(values: Sequence[str | None]) -> bool:
    return None not in values and len(set(values)) == len(values)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _place(reader: Reader, found: FoundSet, key: str) -> str:
    path = found.files.get("questions", found.files.get("items", found.folder))
    return f"{reader.name(path)}: question {key}"


COLLECTION_READERS: Final[Mapping[str, Callable[[FoundSet, Reader], list[Collection]]]] = {
    "paragraphs": _read_paragraphs,
    "abstracts": _read_abstracts,
    "excerpts": _read_excerpts,
    "papers": _read_papers,
    "judged": _read_judged,
    "pages": _read_pages,
    "characters": _read_characters,
    "contexts": _read_contexts,
    "forms": _read_forms,
}
