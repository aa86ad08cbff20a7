"""The page in a real browser: ask, open a citation at its words, refuse; hostile documents stay text."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy
import pypdfium2
import pytest
from PIL import Image
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from sourcebound.wiring import open_services
from support.processes.commands import DEADLINE_SECONDS
from support.processes.databases import MANUALS, ingest, rows, settings_for, single
from support.processes.http_server import ANSWER, OFF_TOPIC, QUESTION, Served, served_over
from support.processes.model_servers import ModelServer

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HOSTILE_TEXT = f"The purge valve of the ZQ-7 is opened at 4.7 bar. {HOSTILE} See the drawing."


class Page:
    """The page, as a reader uses it."""

    def __init__(self, browser: Chrome, url: str) -> None:
        self.browser = browser
        for kind in ("browser", "performance"):
            browser.get_log(kind)  # type: ignore[no-untyped-call] # reading a log empties it
        browser.get(url)
        browser.execute_script("localStorage.clear(); sessionStorage.clear()")
        browser.get(url)

    def find(self, selector: str) -> WebElement:
        """Wait for an element that is displayed."""
        self.until(lambda: any(each.is_displayed() for each in self.all(selector)))
        return next(each for each in self.all(selector) if each.is_displayed())

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def until(self, holds: Callable[[], bool]) -> None:
        WebDriverWait(self.browser, DEADLINE_SECONDS).until(lambda _: holds())

    def run(self, script: str, *values: object) -> Any:
        return self.browser.execute_script(script, *values)

    def ask(self, question: str) -> WebElement:
        """Ask with the keyboard, and return the turn when its outcome is there."""
        turns = len(self.all(".turn"))
        self.until(lambda: self.all("#collection option") != [])
        self.find("#question").send_keys(question, Keys.ENTER)
        self.until(lambda: len(self.all(".turn details.made")) > turns)
        return self.all(".turn")[-1]

    def complaints(self) -> list[str]:
        """Return what the browser reported, such as an error of a script or a breach of the policy."""
        return [entry["message"] for entry in self.browser.get_log("browser")]  # type: ignore[no-untyped-call]

    def hosts(self) -> set[str]:
        """Return the hosts that the page sent requests to."""
        messages = [json.loads(each["message"])["message"] for each in self.browser.get_log("performance")]  # type: ignore[no-untyped-call]
        sent = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        return {urlsplit(url).netloc for url in sent if url.startswith(("http", "ws"))}


@pytest.fixture
def page(chromium: Chrome, served: Served) -> Iterator[Page]:
    opened = Page(chromium, served.url)
    yield opened
    assert opened.complaints() == []
    assert opened.hosts() == {urlsplit(served.url).netloc}


@pytest.mark.contract("R6-7")
def test_a_citation_opens_its_source_at_the_marked_words(page: Page) -> None:
    turn = page.ask(QUESTION)
    assert turn.find_element(By.CSS_SELECTOR, ".answer").text.startswith(ANSWER)
    assert turn.find_element(By.CSS_SELECTOR, ".support").text == "In the sources: check that it answers your question"
    cite = turn.find_element(By.CSS_SELECTOR, ".cite")
    cite.click()
    page.find("#view-text").click()
    mark = page.find("#source mark")
    assert mark.text.split() == ANSWER.split()
    assert "Page 13" in page.find("#source-place").text
    assert "Revision C" in page.find("#source-meta").text
    place, panel = mark.rect, page.find("#source-text").rect
    assert panel["y"] <= place["y"] <= panel["y"] + panel["height"] - place["height"]
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.until(lambda: not page.all("#source")[0].is_displayed())
    assert page.browser.switch_to.active_element == cite


@pytest.mark.contract("R6-2")
@pytest.mark.contract("R6-7")
def test_a_citation_names_the_section_of_its_words_and_not_the_one_in_which_its_passage_begins(page: Page) -> None:
    turn = page.ask("What oil charge does the bearing frame of the HP-300 take?")
    section = "4 Bearings, impeller and casing › 4.1 Oil change"
    assert f"Page 3 · {section} · " in turn.find_element(By.CSS_SELECTOR, ".card .place").text
    cite = turn.find_element(By.CSS_SELECTOR, ".cite")
    assert str(cite.get_attribute("aria-label")).endswith(f"Page 3 · {section}")
    cite.click()
    page.until(lambda: page.all("#source-place")[0].text == f"Page 3 · {section}")


def printed_words() -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom edge of the words of the answer on their page, as shares of its size."""
    with pypdfium2.PdfDocument(MANUALS / "hp-200-manual-rev-c.pdf") as document:
        page = document[12]
        text_page = page.get_textpage()
        search = text_page.search(ANSWER, match_case=True)
        left, bottom, right, top = text_page.get_rect(text_page.count_rects(*search.get_next()) - 1)
        width, height = page.get_size()
        for each in (search, text_page, page):
            each.close()
    return left / width, 1 - top / height, right / width, 1 - bottom / height


@pytest.mark.contract("R6-7")
def test_a_citation_of_a_pdf_opens_the_printed_page_with_the_mark_on_the_right_words(page: Page) -> None:
    """The yellow pixels of the screen are compared with the place where PDFium's own search finds the words."""
    page.ask(QUESTION).find_element(By.CSS_SELECTOR, ".cite").click()
    paper = page.find(".printed canvas")
    page.find(".printed rect")
    image = Image.open(io.BytesIO(paper.screenshot_as_png)).convert("RGB")
    data = numpy.asarray(image).astype(int)
    yellow = (data[..., 0] > 200) & (data[..., 1] > 150) & (data[..., 1] < 240) & (data[..., 2] < 150)
    rows, columns = numpy.nonzero(yellow)
    assert len(rows) > 500
    left, top, right, bottom = printed_words()
    place = page.run("const a=arguments[0].getBoundingClientRect();return [a.width,a.height]", paper)
    found = (columns.min(), rows.min(), columns.max(), rows.max())
    expected = (left * place[0], top * place[1], right * place[0], bottom * place[1])
    assert all(abs(one - other) < 6 for one, other in zip(found, expected, strict=True)), (found, expected)
    marked = data[rows.min() : rows.max(), columns.min() : columns.max()]
    assert (marked.max(axis=2) < 110).mean() > 0.03  # the words under the mark can be read
    page.find("#view-text").click()
    assert page.find("#source mark").text.split() == ANSWER.split()


def test_a_refusal_is_in_plain_words_with_the_nearest_passages(page: Page) -> None:
    turn = page.ask(OFF_TOPIC)
    assert "The documents do not answer this." in turn.text
    advice = turn.find_element(By.CSS_SELECTOR, ".advice").text
    assert advice.endswith("The nearest passages are above.")  # and no command
    cards = turn.find_elements(By.CSS_SELECTOR, "button.card")
    assert len(cards) == 3
    cards[0].click()
    assert page.find("#source-text, .printed canvas")


def test_an_answer_shows_how_it_was_made_takes_feedback_and_stays_in_the_history(page: Page) -> None:
    turn = page.ask(QUESTION)
    turn.find_element(By.CSS_SELECTOR, "details.made summary").click()
    page.until(lambda: "SOURCEBOUND_V2" in turn.text)
    assert "its hash matches" in turn.text
    assert "evidence in the prompt" in turn.text
    turn.find_element(By.CSS_SELECTOR, ".after button").click()
    page.until(lambda: "The feedback is stored" in turn.text)
    page.find("#new").click()
    assert page.all(".turn") == []
    page.find("#show-history").click()
    page.find("#history-list button").click()
    page.until(lambda: page.all(".turn .answer") != [])
    assert page.find(".answer").text.startswith(ANSWER)


def test_a_follow_up_continues_the_conversation(page: Page) -> None:
    page.ask("How often is the filter of the HP-200 changed?")
    page.ask("And of the HP-300?")
    assert len(page.all(".turn")) == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_one_thing_at_a_time(page: Page, theme: str) -> None:
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    theme_feature = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", theme_feature)
    try:
        page.ask(QUESTION).find_element(By.CSS_SELECTOR, ".cite").click()
        page.find(".printed rect")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        assert page.all("#source")[0].rect["width"] == 390
        page.find("#close-source").click()
        colour = page.run("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, colour[4:-1].split(","))) > 380) == (theme == "light")
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_reader_uploads_with_the_keyboard_and_asks_the_document(
    chromium: Chrome, library: str, tmp_path: Path
) -> None:
    good, bad = tmp_path / "valve.txt", tmp_path / "drawing.pdf"
    good.write_text(HOSTILE_TEXT + "\n", "utf-8")
    bad.write_bytes(b"no PDF")
    with served_over(library) as served:
        page = Page(chromium, served.url)
        page.find("#show-upload").send_keys(Keys.ENTER)
        page.find("#upload-collection").clear()
        page.find("#upload-collection").send_keys("valves")
        page.find("#upload-labels").send_keys("qa, plant:7")
        page.find("#upload-files").send_keys(f"{good}\n{bad}")
        page.until(lambda: len(page.all(".upload.done, .upload.failed")) == 2)
        assert "Added (1 passage)" in page.find(".upload.done").text
        assert "drawing.pdf is not a PDF" in page.find(".upload.failed").text
        assert single(library, "SELECT labels FROM documents WHERE knowledge_id = 'valve.txt'") == ["plant:7", "qa"]
        page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        assert page.run("return document.getElementById('collection').value") == "default"
        Select(page.find("#collection")).select_by_value("valves")
        turn = page.ask("At what pressure is the purge valve of the ZQ-7 opened?")
        assert "4.7 bar" in turn.find_element(By.CSS_SELECTOR, ".answer").text
        assert [each for each in page.complaints() if "422" not in each] == []


def test_a_reader_lists_opens_and_removes_documents_with_the_keyboard(chromium: Chrome, library: str) -> None:
    stored = "SELECT knowledge_id FROM documents d JOIN collections c USING (collection_id) WHERE c.name = 'default'"
    names = sorted(name for (name,) in rows(library, stored))
    rows(library, "UPDATE documents SET labels = '{qa}' WHERE knowledge_id = 'hp-200-manual-rev-c.pdf'")
    with served_over(library) as served:
        page = Page(chromium, served.url)
        page.until(lambda: page.all("#show-upload:not([hidden])") != [])
        page.find("#show-documents").send_keys(Keys.ENTER)
        page.until(lambda: len(page.all(".document")) == len(names))
        page.find("#documents-filter").send_keys("rev-c")
        page.until(lambda: len(page.all(".document")) == 1)
        document = page.find(".document").text
        with pypdfium2.PdfDocument(MANUALS / "hp-200-manual-rev-c.pdf") as printed:
            pages = f"{len(printed)} pages"
        for part in ("hp-200-manual-rev-c.pdf", "Revision C", pages, "passages", "Ingested", "Labels: qa"):
            assert part in document
        page.find(".document button[aria-label^=Open]").send_keys(Keys.ENTER)
        page.find("#source .printed canvas")
        assert page.all("#source .printed rect") == []
        page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        assert page.browser.switch_to.active_element == page.find("#show-documents")
        page.find("#show-documents").send_keys(Keys.ENTER)
        page.find(".document button[aria-label^=Remove]").send_keys(Keys.ENTER)
        page.find("#removal")
        assert page.browser.switch_to.active_element == page.find("#keep-document")
        page.browser.switch_to.active_element.send_keys(Keys.ENTER)
        page.until(lambda: not page.all("#removal")[0].is_displayed())
        assert sorted(name for (name,) in rows(library, stored)) == names
        page.find(".document button[aria-label^=Remove]").send_keys(Keys.ENTER)
        page.find("#remove-document").send_keys(Keys.ENTER)
        page.until(lambda: len(page.all(".document")) == len(names) - 1)
        assert sorted(name for (name,) in rows(library, stored)) == names[1:]
        page.until(lambda: str(page.all("#documents-status")[0].get_attribute("textContent")).startswith("Removed "))
        assert page.complaints() == []


@pytest.mark.contract("R5-8", "R6-5")
def test_a_rejected_answer_names_its_rule_and_shows_no_word_of_it(
    chromium: Chrome, library: str, model_server: ModelServer
) -> None:
    model_server.answer = ANSWER.replace("0.65", "0.85") + " [C0]"
    model = {"model": "openai:gpt-4.1", "openai_base_url": model_server.openai_url, "openai_api_key": "sk-1"}
    with served_over(library, **model) as served:
        page = Page(chromium, served.url)
        turn = page.ask(QUESTION)
        assert "No answer was released." in turn.text
        assert "UNSUPPORTED_LITERAL" in turn.text
        assert turn.find_elements(By.CSS_SELECTOR, ".answer, .cite") == []
        turn.find_element(By.CSS_SELECTOR, "details.made summary").click()
        page.until(lambda: "SOURCEBOUND_V2" in turn.text)
        assert "R5-8" in turn.text
        assert "0.85" not in str(page.run("return document.documentElement.outerHTML"))
        assert len(model_server.calls) == 2  # the second attempt was rejected too
        model_server.answer = ANSWER + " [C0]"
        assert ANSWER in page.ask(QUESTION).find_element(By.CSS_SELECTOR, ".answer").text
        assert page.complaints() == []


MANY = """
INSERT INTO documents (collection_id, knowledge_id, source_path, source_reference, source_digest, media_type, title,
                       knowledge_type, chunk_digests, contents_digest)
SELECT collection_id, format('log-%%s.txt', to_char(n, 'FM0000')), format('upload:%%s', n), 'log', '', 'text/plain',
       format('Log %%s', n), knowledge_type, '', ''
FROM (SELECT * FROM documents LIMIT 1) d, generate_series(1, %s) n
"""


def test_a_reader_pages_through_a_long_list_and_searches_all_of_it(chromium: Chrome, library: str) -> None:
    rows(library, MANY, 450)
    total = single(library, "SELECT count(*) FROM documents")
    with served_over(library) as served:
        page = Page(chromium, served.url)
        page.until(lambda: page.all("#show-upload:not([hidden])") != [])
        page.find("#show-documents").send_keys(Keys.ENTER)
        page.until(lambda: page.all("#documents-count")[0].text == f"{total} documents, the first 200 are shown.")
        assert len(page.all(".document")) == 200
        page.find("#documents-more").send_keys(Keys.ENTER)
        page.until(lambda: len(page.all(".document")) == 400)
        first_new = page.all(".document")[200].find_element(By.CSS_SELECTOR, "button[aria-label^=Open]")
        page.until(lambda: page.browser.switch_to.active_element == first_new)
        page.find("#documents-more").send_keys(Keys.ENTER)
        page.until(lambda: len(page.all(".document")) == total)
        assert not page.all("#documents-more")[0].is_displayed()
        names = [each.text for each in page.all(".document .name + .place")]
        assert (len(set(names)), "log-0450.txt" in names) == (total, True)
        page.find("#documents-filter").send_keys("LOG 44")
        page.until(lambda: page.all("#documents-count")[0].text == "11 documents found.")  # of the last part too
        assert len(page.all(".document")) == 11
        page.find(".document button[aria-label='Remove Log 44']").send_keys(Keys.ENTER)
        page.find("#remove-document").send_keys(Keys.ENTER)
        page.until(lambda: page.all("#documents-count")[0].text == "10 documents found.")
        assert single(library, "SELECT count(*) FROM documents") == total - 1
        assert page.complaints() == []


DROP = """
const carried = new DataTransfer();
carried.items.add(new File([arguments[0]], "dropped.txt"));
for (const kind of ["dragover", "drop"]) {
  const event = new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: carried });
  document.querySelector("main").dispatchEvent(event);
}
"""


def test_a_dropped_file_is_uploaded_into_the_collection_of_the_page(chromium: Chrome, library: str) -> None:
    with served_over(library) as served:
        page = Page(chromium, served.url)
        page.until(lambda: page.all("#show-upload:not([hidden])") != [])
        page.run(DROP, HOSTILE_TEXT)
        assert "dropped.txt" in page.find(".upload.done").text
        documents = served.client.get("/v1/documents", params={"collection": "default"}).json()["documents"]
        assert "dropped.txt" in [each["knowledge_id"] for each in documents]
        assert page.complaints() == []


async def prepare(database: str, folder: Path) -> str:
    (folder / "hostile.txt").write_text(HOSTILE_TEXT + "\n", "utf-8")
    async with open_services(settings_for(database)) as services:
        await ingest(services, folder, collection="hostile", title=HOSTILE, revision=HOSTILE)
        return (await services.api_keys.make("reader", ("ask", "read"), ["hostile"], None)).text


@pytest.fixture
async def key(library: str, tmp_path: Path) -> str:
    return await prepare(library, tmp_path)


def test_a_hostile_document_stays_text_and_a_key_opens_the_page(chromium: Chrome, library: str, key: str) -> None:
    with served_over(library) as served:
        page = Page(chromium, served.url)
        page.find("#key-text").send_keys(key, Keys.ENTER)
        page.until(lambda: [each.text for each in page.all("#collection option")] == ["hostile"])
        assert not page.all("#show-upload")[0].is_displayed()  # the key may not ingest
        page.find("#show-documents").click()
        assert HOSTILE in page.find(".document").text
        assert page.all(".document button[aria-label^=Remove]") == []
        page.find("#documents [data-closes]").click()
        turn = page.ask("At what pressure is the purge valve of the ZQ-7 opened?")
        turn.find_element(By.CSS_SELECTOR, ".card").click()
        assert HOSTILE in page.find("#source-text").text
        assert HOSTILE in page.find("#source-title").text
        assert page.browser.title == "Sourcebound"
        assert page.all("img, main script, aside script") == []
        assert [each for each in page.complaints() if "401" not in each] == []
