"""Chat templates: messages and tools to one text, as a server does before it cuts blocks.

The template of the log's server is not in the log. Three are shipped; they differ in their markers and
in where tools are placed:

* ``simple``: tools, then ``<|role|>``, newline, content, newline per message.
* ``chatml`` (Qwen) and ``llama3``: tools behind the system text, inside the system message, and the
  opening of the answer at the end; ``templates/*.jinja``.

With a model's own template (``--template FILE.jinja``, or its ``tokenizer_config.json``) the order of
system text and tools, which decides what prompts share, is that of the model. It is rendered in Jinja2's
sandbox with the names that Hugging Face gives it: ``messages``, ``tools``, ``add_generation_prompt``
(true), ``raise_exception``, and the special tokens of a ``tokenizer_config.json``. ``strftime_now``
gives a fixed day, as a result must not depend on the clock. Messages have their texts; arguments of
tool calls and tools have sorted keys, and ids of calls are all ``000000000``.

What such a template may take is limited: :mod:`cache_worthy.logs.sandbox`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cache_worthy.errors import UsageError
from cache_worthy.logs.chat import Chat, Message
from cache_worthy.logs.options import TEMPLATES

if TYPE_CHECKING:
    from cache_worthy.logs.sandbox import Sandbox

Render = Callable[[Chat], str]

CALL_ID = "0" * 9
"""Ids of tool calls are not read from logs; some templates require nine characters."""


def load_template(name: str) -> Render:
    """The function that renders a chat: a shipped template by name, or the one in a file.

    Raises
    ------
    UsageError
        If the file cannot be read or holds no template; when the first chat is rendered, if it is no
        valid template.
    Refused
        When a chat is rendered, if the template fails or exceeds a limit.
    Unusable
        When a chat is rendered that the template itself refuses (``raise_exception``).
    """
    if name == "simple":
        return simple
    return _shipped(name) if name in TEMPLATES else _of_file(name)


def simple(chat: Chat) -> str:
    """The default template.

    In Python, so that the default imports no Jinja2 (39 ms of CPU) and takes half as long (8 against 18
    microseconds for a chat of 12 messages).

    Examples
    --------
    >>> simple(Chat((Message("system", "Be brief."), Message("user", "Hi"))))
    '<|system|>\\nBe brief.\\n<|user|>\\nHi\\n'
    """
    out = [f"<|tools|>\n{chat.tools}\n"] if chat.tools else []
    for m in chat.messages:
        out.append(f"<|{m.role}|>\n{m.content}\n")
        for name, arguments in m.calls:
            name = json.dumps(name, ensure_ascii=False)
            out.append(f'<|tool_call|>\n{{"name":{name},"arguments":{arguments or "{}"}}}\n')
    return "".join(out)


def _shipped(name: str) -> Render:
    @cache
    def template() -> Callable[..., str]:
        import jinja2

        # Not in the sandbox, which takes six times as long and is for templates of others.
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        path = files(__package__) / "templates" / f"{name}.jinja"
        return environment.from_string(path.read_text(encoding="utf-8")).render

    return lambda chat: template()(chat=chat)


def _of_file(name: str) -> Render:
    try:
        text = Path(name).read_text(encoding="utf-8")
        sources, tokens = _configured(text) if name.endswith(".json") else ({"default": text}, {})
        beside = Path(name).with_name("tokenizer_config.json")
        if not tokens and beside.is_file():  # as in a checkout of a model
            tokens = _tokens(json.loads(beside.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--template {name}: cannot read: {reason}") from error

    @cache
    def sandbox() -> Sandbox:
        from cache_worthy.logs.sandbox import Sandbox

        return Sandbox(f"--template {name}", sources)

    def render(chat: Chat) -> str:
        # As Hugging Face and vLLM choose between two templates of a model.
        which = "tool_use" if chat.tools and "tool_use" in sources else "default"
        return sandbox().render(
            which,
            messages=[_message(m) for m in chat.messages],
            tools=_tools(chat.tools),
            documents=None,
            add_generation_prompt=True,
            **tokens,
        )

    return render


def _configured(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The templates of a ``tokenizer_config.json`` by name, and its special tokens."""
    config = json.loads(text)
    found = config.get("chat_template") if isinstance(config, dict) else None
    if isinstance(found, list):
        found = {str(t.get("name")): t.get("template") for t in found if isinstance(t, dict)}
    sources = found if isinstance(found, dict) else {"default": found}
    if not isinstance(sources.get("default"), str):
        reason = "no chat_template; expected one here, or give the chat_template.jinja beside it"
        raise ValueError(reason)  # noqa: TRY004
    return {k: v for k, v in sources.items() if isinstance(v, str)}, _tokens(config)


def _tokens(config: object) -> dict[str, str]:
    """The special tokens of a ``tokenizer_config.json``."""
    fields = config if isinstance(config, dict) else {}
    contents = {k: v.get("content") if isinstance(v, dict) else v for k, v in fields.items()}
    return {k: v for k, v in contents.items() if k.endswith("_token") and isinstance(v, str)}


def _message(message: Message) -> dict[str, object]:
    out: dict[str, object] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        out["tool_call_id"] = CALL_ID
    if message.calls:
        out["tool_calls"] = [
            {
                "id": CALL_ID,
                "type": "function",
                "function": {"name": name, "arguments": _arguments(arguments)},
            }
            for name, arguments in message.calls
        ]
    return out


def _arguments(text: str) -> object:
    """An object, as vLLM hands it to templates; any other text as it is."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


@lru_cache(maxsize=8)  # requests of one application send the same tools
def _tools(text: str) -> list[dict[str, object]] | None:
    return [{"type": "function", "function": t} for t in json.loads(text)] if text else None
