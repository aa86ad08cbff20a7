"""Pictures of text are read in a confined process, without network (extra `ocr`)."""

from pathlib import Path

import pytest

from sourcebound.errors import ConfigurationError
from sourcebound.ingest.sandbox.parser_pool import ParserPool
from support.pictures import scanned_pdf

PATH = Path("scan.pdf")
LIMIT = 10_000_000


@pytest.mark.contract("IX-2")
def test_a_scan_is_read_in_a_confined_process() -> None:
    pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")
    data = scanned_pdf(["The pump runs at 27 bar.", "Check the seal daily."], "This page has a text layer.")
    with ParserPool(300, 2048, processes=1, ocr=True) as pool:
        enforced = pool.describe_confinement().enforced
        document = pool.parse(PATH, data, LIMIT)
    with ParserPool(300, 2048, processes=1) as pool:
        assert pool.describe_confinement().enforced == enforced
        assert pool.parse(PATH, data, LIMIT).pages[0].text == ""
    assert document.recognized_pages == (1,)
    assert "".join(document.pages[0].text.split()) == "Thepumprunsat27bar.Checkthesealdaily."
    assert document.pages[1].text == "This page has a text layer."


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcebound.ingest.sandbox.parser_pool.find_spec", lambda _: None)
    with ParserPool(30, 2048, processes=1, ocr=True) as pool, pytest.raises(ConfigurationError) as raised:
        pool.parse(PATH, scanned_pdf(["x"]), LIMIT)
    assert raised.value.failure_code == "OCR_UNAVAILABLE"
    assert "sourcebound[ocr]" in raised.value.next_step
