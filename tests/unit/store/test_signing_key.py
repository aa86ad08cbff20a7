"""The key that signs receipts: made once, readable by its owner alone, and never replaced."""

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from sourcebound.errors import ConfigurationError
from sourcebound.settings import Settings
from sourcebound.store.audit.signing_key import SigningKey, fingerprint, verify_signature

pytestmark = pytest.mark.contract("CP-8")
MESSAGE = b"what is signed"


def _fault(path: Path) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        SigningKey.load(path)
    assert caught.value.next_step
    return caught.value


def test_a_key_is_kept_and_signs_the_same_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "receipts.pem"
    made, loaded = SigningKey.create(path), SigningKey.load(path)
    assert made.public_key == loaded.public_key
    assert verify_signature(made.public_key, MESSAGE, loaded.sign(MESSAGE))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_two_keys_are_not_the_same(tmp_path: Path) -> None:
    first, second = SigningKey.create(tmp_path / "1"), SigningKey.create(tmp_path / "2")
    assert first.public_key != second.public_key
    assert fingerprint(first.public_key) != fingerprint(second.public_key)
    assert not verify_signature(second.public_key, MESSAGE, first.sign(MESSAGE))
    assert not verify_signature(first.public_key, MESSAGE + b".", first.sign(MESSAGE))
    assert not verify_signature(first.public_key, MESSAGE, first.sign(MESSAGE)[:-1])
    assert not verify_signature("ed25519:" + "ff" * 31, MESSAGE, first.sign(MESSAGE))


def test_what_is_there_is_never_replaced(tmp_path: Path) -> None:
    path, link = tmp_path / "receipts.pem", tmp_path / "link.pem"
    path.write_text("something of somebody's")
    link.symlink_to(tmp_path / "nowhere.pem")
    for each in (path, link):
        with pytest.raises(ConfigurationError) as caught:
            SigningKey.create(each)
        assert caught.value.failure_code == "KEY_EXISTS"
    assert path.read_text() == "something of somebody's"
    assert not (tmp_path / "nowhere.pem").exists()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        SigningKey.create(path / "below" / "receipts.pem")


def test_a_key_that_was_not_written_whole_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConfigurationError, match="No space left"):
        SigningKey.create(tmp_path / "receipts.pem")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_can_reach_is_not_used(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "receipts.pem"
    SigningKey.create(path)
    path.chmod(mode)
    fault = _fault(path)
    assert (fault.failure_code, f"mode {mode:04o}" in fault.message) == ("KEY_EXPOSED", True)


def test_what_is_no_key_is_refused_with_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "receipts.pem"
    assert _fault(path).failure_code == "NO_SIGNING_KEY"
    assert _fault(tmp_path).failure_code == "BAD_SIGNING_KEY"
    curve = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    locked = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"a password")
    )
    for text in (b"", b"no key", curve, locked):
        path.write_bytes(text)
        path.chmod(0o600)
        assert _fault(path).failure_code == "BAD_SIGNING_KEY"


def test_the_file_is_under_home_or_where_the_setting_says(tmp_path: Path) -> None:
    assert Settings(home=tmp_path).signing_key_file == tmp_path / "keys" / "receipts.pem"
    assert Settings(home=tmp_path, signing_key=Path("~/my.pem")).signing_key_file == Path.home() / "my.pem"
