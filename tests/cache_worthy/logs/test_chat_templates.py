"""A model's own chat template: what it renders, that its order decides reuse, and its limits (rank 4)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.errors import UsageError
from cache_worthy.logs import sandbox
from cache_worthy.logs.chat import Chat, Message
from cache_worthy.logs.chat_templates import load_template
from cache_worthy.logs.prompts import Refused, Unusable
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]

#: Tools behind the system text, as Qwen's template has them.
QWEN = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- if message.role == "user" and message.content is string %}
        {%- set ns.last = messages|length - 1 - loop.index0 %}
        {%- break %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content }}
        {%- for call in message.tool_calls %}
            {{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
            {%- if call.function.arguments is string %}
                {{- call.function.arguments }}
            {%- else %}
                {{- call.function.arguments | tojson }}
            {%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

CHATML = """\
{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

#: The day of the clock, a special token, and roles that must alternate.
LLAMA = """\
{{- bos_token }}
{%- if strftime_now is defined %}
    {%- set day = strftime_now("%d %b %Y") %}
{%- else %}
    {%- set day = "26 Jul 2024" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: " + day + "<|eot_id|>" }}
{%- for message in messages %}
    {%- if loop.previtem is defined and loop.previtem.role == message.role %}
        {{- raise_exception("Conversation roles must alternate") }}
    {%- endif %}
    {{- "<|start_header_id|>" + message.role + "<|end_header_id|>\\n\\n" }}
    {%- generation %}{{- message.content | trim + "<|eot_id|>" }}{%- endgeneration %}
{%- endfor %}
"""

CHAT = Chat(
    (
        Message("system", "S"),
        Message("user", "U"),
        Message("assistant", "", (("f", '{"a":2}'), ("g", "raw"))),
        Message("tool", "R"),
    ),
    '[{"name":"f"}]',
)


@pytest.fixture
def template(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str, name: str = "own.jinja") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_a_template_with_tools_behind_the_system_text(template: Callable[[str], str]) -> None:
    """The text by hand, as Hugging Face renders it."""
    assert load_template(template(QWEN))(CHAT) == (
        "<|im_start|>system\nS\n\n# Tools\n\n<tools>\n"
        '{"type": "function", "function": {"name": "f"}}\n</tools><|im_end|>\n'
        "<|im_start|>user\nU<|im_end|>\n"
        "<|im_start|>assistant\n"
        '\n<tool_call>\n{"name": "f", "arguments": {"a": 2}}\n</tool_call>'
        '\n<tool_call>\n{"name": "g", "arguments": raw}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nR\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_template_without_tools(template: Callable[[str], str]) -> None:
    chat = Chat((Message("user", "U <&>"),))
    assert load_template(template(CHATML))(chat) == (
        "<|im_start|>user\nU <&><|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_clock_does_not_reach_a_result(template: Callable[[str], str]) -> None:
    chat = Chat((Message("user", " U "),))
    assert load_template(template(LLAMA))(chat) == (
        "<|start_header_id|>system<|end_header_id|>\n\nToday Date: 26 Jul 2024<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
    )


@pytest.mark.parametrize("several", [False, True])
def test_a_tokenizer_config(template: Callable[..., str], several: bool) -> None:
    """Its special tokens, as texts or objects; of two templates the one for tools, where there are tools."""
    named = [
        {"name": "default", "template": "{{ bos_token }}{{ eos_token }}"},
        {"name": "tool_use", "template": "tools"},
    ]
    config = {
        "bos_token": {"content": "<s>"},
        "eos_token": "</s>",
        "pad_token": None,
        "chat_template": named if several else named[0]["template"],
    }
    render = load_template(template(json.dumps(config), "tokenizer_config.json"))
    assert render(Chat((Message("user", "U"),))) == "<s></s>"
    assert render(CHAT) == ("tools" if several else "<s></s>")


def billed(count: int, blocks: int = 6) -> list[dict[str, object]]:
    """Requests of one conversation whose system text begins with another header each time."""
    tool = {"name": "read", "description": "Reads a file. " * 40 * blocks, "parameters": {}}
    rules = "You write code. " * 200
    return [
        {
            "model": "m",
            "tools": [{"type": "function", "function": tool}],
            "messages": [
                {"role": "system", "content": f"x-billing: {n:08x}\n{rules}"},
                {"role": "user", "content": "Fix the test. " * 100},
            ],
        }
        for n in range(count)
    ]


def shared(file: Path, name: str) -> int:
    """Blocks that all requests share."""
    paths = [r.hash_ids for r in read_log(file, template=name, block_size=64).requests]
    return sum(len(set(blocks)) == 1 for blocks in zip(*paths, strict=False))


def test_the_order_of_tools_and_system_text_decides_reuse(
    template: Callable[..., str], write: Callable[..., Path]
) -> None:
    """A changing header in the system text: with tools first they are shared, else nothing is."""
    log = write(*billed(4))
    own = template(QWEN)
    assert shared(log, "simple") > 10
    assert shared(log, own) == shared(log, "chatml") == shared(log, "llama3") == 0
    swapped = QWEN.replace("messages[0].content + '\\n\\n'", "''")
    swapped = (
        swapped.replace("</tools>", "</tools>' + messages[0].content + '")
        .replace('"\\n</tools>', "'\\n</tools>")
        .replace('<|im_end|>\\n" }}', "<|im_end|>\\n' }}", 1)
    )
    assert shared(log, template(swapped, "tools_first.jinja")) > 10


def test_the_report_names_the_file(
    run: Run, template: Callable[[str], str], write: Callable[..., Path]
) -> None:
    own, log = template(QWEN), write(*billed(3))
    code, out, _ = run("analyze", log, "--template", own, "--no-bound", "--json", "-q")
    assert (code, json.loads(out)["input"]["template"]) == (0, own)
    assert json.loads(out)["workload"]["reuse_fraction"] == 0
    _, out, _ = run("analyze", log, "--template", own, "--no-bound", "-q")
    assert Path(own).name in "".join(out.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{% for m in messages %}", "line 1: "),
        ("{{ 'x' }}\n{{ nothing.there }}", "line 2: 'nothing' is undefined"),
        ("{{ messages[0].content + 1 }}", "line 1: can only concatenate str"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ lipsum(n=200000000) }}", "'lipsum' is undefined"),
        ("{{ [1, 2] | random }}", "'random'"),
        ("{% for a in b %}" * 25 + "{% endfor %}" * 25, "no chat template"),
        ("{{ " + "9" * 5000 + " }}", "no chat template"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% include 'passwd' %}", "no loader"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", f"{sandbox.STEPS} turns"),
        ("{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}", "recursion"),
        ("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
         f"{sandbox.STEPS} turns"),
        ("{{ 9 ** 9 ** 9999999 }}", "a result of ** is too large"),
        ("{{ 'x' * 10 ** 11 }}", "a result of * is too large"),
        ("{{ 'x' * 10000 * 10000 }}", "a result of * is too large"),
        ("{% set n = namespace(x=7) %}{% for i in range(40) %}{% set n.x = n.x * n.x %}{% endfor %}",
         "a result of * is too large"),
    ],
)  # fmt: skip
def test_what_a_template_may_not(
    text: str, says: str, run: Run, template: Callable[[str], str], write: Callable[..., Path]
) -> None:
    """One line and exit code 2, soon."""
    code, out, err = run("convert", write(*billed(2)), "--template", template(text), "-q")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "own.jinja: " in err
    assert says in err


@pytest.mark.skipif(sys.platform != "linux", reason="no limit elsewhere")
@pytest.mark.parametrize(
    "text",
    [
        "{% set n = namespace(x='x') %}{% for i in range(50) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x='x') %}{% for i in range(50) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{{ '%99999999999d' | format(1) }}",
        "{{ ('%9900000000d' % 1) | length }}",
        "{{ 'x' | center(99999999999) }}",
        "{{ [1] | tojson(indent=99999999999) }}",
        "{{ ('x' * 60000000).replace('x', 'x' * 60000000) }}",
    ],
)
def test_memory_is_limited(text: str, template: Callable[[str], str]) -> None:
    with pytest.raises(
        Refused,
        match=r"own.jinja: .*(GiB for one prompt|too long|too large|big|10 s for one prompt)",
    ):
        load_template(template(text))(CHAT)


def test_time_is_limited(template: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 0.05)
    text = "{% for a in range(90000) %}{{ 'y' in 'x' * 10000000 }}{% endfor %}"
    with pytest.raises(Refused, match="takes more than"):
        load_template(template(text))(CHAT)


def test_a_prompt_that_the_template_refuses_is_unusable(
    run: Run, template: Callable[[str], str], write: Callable[..., Path]
) -> None:
    """No server serves it; more than 5 percent of them end the run."""
    twice = Chat((Message("user", "U"), Message("user", "U")))
    with pytest.raises(Unusable, match="refuses this prompt: Conversation roles must alternate"):
        load_template(template(LLAMA))(twice)
    turn = {"role": "user", "content": "hello"}
    log = write(*[{"messages": [turn]}] * 30, {"messages": [turn, turn]}, {"messages": [turn]})
    code, _, err = run("convert", log, "--template", template(LLAMA))
    assert code == 0
    assert "1 unusable (first: " in err
    code, _, err = run("convert", write({"messages": [turn, turn]}), "--template", template(LLAMA))
    assert code == 2
    assert "roles must alternate" in err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.jinja", None),
        ("tokenizer_config.json", "{}"),
        ("tokenizer_config.json", "[1]"),
        ("tokenizer_config.json", '{"chat_template": [1, {"name": "rag", "template": ""}]}'),
        ("tokenizer_config.json", "{{ messages }}"),
    ],
)
def test_files_that_hold_no_template(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=f"--template .*{name}: cannot read: "):
        load_template(str(tmp_path / name))


def test_jinja_is_imported_only_to_render(write: Callable[..., Path]) -> None:
    program = (
        "import sys; from cache_worthy.logs.session import read_log\n"
        "for name in ('simple', 'chatml'):\n"
        "    read_log(sys.argv[1], template=name); print('jinja2' in sys.modules)"
    )
    for record, want in (({"prompt": "text"}, ["False"] * 2), (billed(1)[0], ["False", "True"])):
        command = [sys.executable, "-c", program, str(write(record))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == want


def test_special_tokens_stand_beside_a_jinja_file(
    run: Run, write: Callable[..., Path], tmp_path: Path
) -> None:
    """As in a checkout of a model: the template in one file, the tokens in another."""
    file = tmp_path / "chat_template.jinja"
    file.write_text("{{ bos_token + messages[0].content }}", encoding="utf-8")
    with pytest.raises(Refused, match="'bos_token' is undefined"):
        load_template(str(file))(CHAT)
    config = {"bos_token": {"content": "<s>"}, "eos_token": None}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert load_template(str(file))(CHAT).startswith("<s>")
