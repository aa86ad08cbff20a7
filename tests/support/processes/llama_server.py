"""A real model server: llama.cpp in its own process, with a tiny model of random weights that the tests write.

Its answers are random letters, restricted by a JSON schema if the request has one. Each byte is one token.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest

from sourcebound.models.local.server import CONTEXT_TOKENS as SMALL_CONTEXT_TOKENS
from sourcebound.models.local.server import SMALL_MODEL, ServedModel, find_small_model, serve_model

MODEL = "tiny-random"
CONTEXT_TOKENS = 32_768
WIDTH = 32
SPECIAL = ("<|bos|>", "<|im_start|>", "<|im_end|>")
FIRST_CONTROL_ID = 257
"""The bytes and the pair come before the control tokens."""
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_names() -> list[str]:
    """Return the printable letter by which the vocabulary names each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    names = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [names[byte] for byte in range(256)]


def write_vocabulary(writer: gguf.GGUFWriter, control_tokens: Sequence[str] = ()) -> int:
    """Write a token for each byte, one for a space before a t, and the control tokens. Return the count."""
    bytes_ = byte_names()
    pair = bytes_[ord(" ")], bytes_[ord("t")]
    special = list(dict.fromkeys([*control_tokens, *SPECIAL]))
    tokens = [*bytes_, "".join(pair), *special]
    kinds = [gguf.TokenType.NORMAL] * FIRST_CONTROL_ID + [gguf.TokenType.CONTROL] * len(special)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair)])
    writer.add_bos_token_id(tokens.index("<|bos|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    return len(tokens)


def write_weights(writer: gguf.GGUFWriter, tokens: int) -> None:
    """Write one layer of random weights, the same each time, that prefers lowercase letters and the space."""
    random = np.random.default_rng(0)

    def weights(rows: int, spread: float = 0.05) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        return (random.standard_normal((rows, WIDTH)) * spread).astype(np.float32)

    embedding, output = weights(tokens, 0.5), weights(tokens, 0.2)
    embedding[:, 0] = (
        6  # the same for every token, so that this column of the output determines which tokens are likely
    )
    output[:, 0] = -6
    output[32:127, 0] = 0
    output[[32, *range(97, 123)], 0] = 0.3
    output[tokens - 1, 0] = -0.2
    ones = np.ones(WIDTH, np.float32)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("blk.0.attn_norm.weight", ones)
    writer.add_tensor("blk.0.ffn_norm.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", weights(WIDTH))


def write_model(path: Path, control_tokens: Sequence[str] = ()) -> None:
    """Write a model of one small layer that chats in random letters, with further control tokens if any are given."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(MODEL)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    write_weights(writer, write_vocabulary(writer, control_tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedModel]:
    path = tmp_path_factory.mktemp("llama") / "model.gguf"
    write_model(path)
    with serve_model(path, MODEL, CONTEXT_TOKENS) as server:
        yield server


@pytest.fixture(scope="session")
def small_model() -> Iterator[ServedModel]:
    """A trained model, the smallest that answers in sentences. Its wheel is a requirement of the tests."""
    with serve_model(find_small_model(), SMALL_MODEL, SMALL_CONTEXT_TOKENS, drafts=True) as server:
        yield server
