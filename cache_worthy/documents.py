"""Every document that ``--json`` writes, and its JSON Schema (draft 2020-12).

The schema is generated from the annotations of the frozen dataclasses that are written, by the rules
of :func:`jsonable`, so that a new field is in it without work. The descriptions come from the
strings below the fields.

Evidence: rank 5, documents of every command are validated by an independent implementation
(``jsonschema``), and one removed, renamed or mistyped field anywhere in them is refused.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import itertools
import json
import math
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from cache_worthy import __version__
from cache_worthy.errors import UsageError

SCHEMA_VERSION = 1
"""Raised when a field of any document goes, changes its name or its meaning; not for a new one."""

DOCUMENTS: Mapping[str, str] = {
    "analyze": "cache_worthy.advise.analysis:Analysis",
    "compare": "cache_worthy.advise.comparison:Comparison",
    "replay": "cache_worthy.measure.any_policy:Replay",
    "bound": "cache_worthy.measure.bound:BoundDocument",
    "policies": "cache_worthy.commands.policies:PolicyList",
    "models": "cache_worthy.commands.models:ModelList",
    "study": "cache_worthy.study.results:StudyDocument",
    "adversary-find": "cache_worthy.commands.adversary.find:Find",
    "adversary-play": "cache_worthy.commands.adversary.play:PlayReport",
    "adversary-check": "cache_worthy.commands.adversary.check:Check",
    "formats": "cache_worthy.commands.formats:FormatList",
}
"""Documents by name, and the dataclass of each; imported when asked for, as some are heavy."""


def schema_id(name: str) -> str:
    """The identifier that a document of this name carries.

    Examples
    --------
    >>> schema_id("analyze")
    'urn:cache-worthy:analyze:1'
    """
    return f"urn:cache-worthy:{name}:{SCHEMA_VERSION}"


def jsonable(value: object) -> object:
    """Dataclasses, tuples and Fractions as plain JSON values; NaN and infinities as None.

    A field with ``metadata={"json": False}`` is left out, one with ``{"optional": True}`` where it
    is None. The schemas know the same rules.

    Examples
    --------
    >>> jsonable({"a": (1, float("nan")), "b": Fraction(1, 3)})
    {'a': [1, None], 'b': '1/3'}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: jsonable(part)
            for f in dataclasses.fields(value)
            if f.metadata.get("json", True)
            and ((part := getattr(value, f.name)) is not None or not f.metadata.get("optional"))
        }
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    return value


def to_json(value: object) -> str:
    """Strict JSON: null where a quantity is undefined, never NaN."""
    text = json.dumps(jsonable(value), indent=2, allow_nan=False, ensure_ascii=True) + "\n"
    # A lone surrogate (a log's id or model name) has no UTF-8; its escape is valid JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_json(file: str, hint: str = "") -> object:
    """The value in a JSON file, ``-`` for standard input.

    Raises
    ------
    UsageError
        If the file cannot be read or is not strict JSON; ``hint`` says what to do then.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{file}: cannot read: {reason}") from error
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, RecursionError, _NoNumberError) as error:
        raise UsageError(f"{file}: not JSON: {error}{hint}") from error
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise UsageError(f"{file}: an integer in it has too many digits{hint}") from error


class _NoNumberError(ValueError):
    """NaN or an infinity, which strict JSON does not have."""


def _refuse_constant(constant: str) -> object:
    raise _NoNumberError(f"holds {constant}, which strict JSON does not have")


def document(name: str, body: object) -> dict[str, object]:
    """A result as the JSON document of this name: what wrote it, its schema, its fields."""
    fields = jsonable(body)
    if not isinstance(fields, dict):
        raise TypeError(f"{name}: a document is an object, not {type(body).__name__}")
    return {
        "tool": "cache-worthy",
        "version": __version__,
        "command": name.replace("-", " "),
        "schema": schema_id(name),
        **fields,
    }


def schema(name: str) -> dict[str, object]:
    """The schema of one document."""
    module, _, cls = DOCUMENTS[name].partition(":")
    body = getattr(importlib.import_module(module), cls)
    defs = _Definitions()
    properties, required = defs.fields(body)
    head: dict[str, object] = {
        "tool": {"const": "cache-worthy"},
        "version": {"type": "string", "description": "Of the program that wrote the document."},
        "command": {"const": name.replace("-", " ")},
        "schema": {"const": schema_id(name)},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id(name),
        "title": f"cache-worthy {name.replace('-', ' ')} --json",
        **_closed_object(body, {**head, **properties}, [*head, *required]),
        "$defs": dict(sorted(defs.found.items())),
    }


class _Definitions:
    """The dataclasses met so far, by name."""

    def __init__(self) -> None:
        self.found: dict[str, object] = {}
        self._classes: dict[str, type] = {}

    def fields(self, cls: type) -> tuple[dict[str, object], list[str]]:
        """Schemas of the fields that are written, and the names of those always there."""
        described = descriptions(cls)
        properties: dict[str, object] = {}
        required: list[str] = []
        for name, kind, always in _fields(cls):
            if always:
                required.append(name)
            found = self.of_type(kind, f"{cls.__name__}.{name}")
            if name in described:
                found = {**found, "description": described[name]}
            properties[name] = found
        return properties, required

    def of_type(self, kind: object, where: str) -> dict[str, object]:
        """The schema of one annotation.

        Raises
        ------
        TypeError
            For an annotation that has no JSON form.
        """
        if kind in _PLAIN:
            return dict(_PLAIN[typing.cast(type, kind)])
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return self._reference(kind)
        origin, parts = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Literal:
            return {"enum": list(parts)}
        if origin in (typing.Union, types.UnionType):
            return _any_of([self.of_type(part, where) for part in parts])
        if origin is tuple and parts[1:] != (...,):
            return {
                "type": "array",
                "prefixItems": [self.of_type(part, where) for part in parts],
                "items": False,
                "minItems": len(parts),
            }
        if origin in (tuple, list, Sequence):
            return {"type": "array", "items": self.of_type(parts[0], where)}
        if origin in (dict, Mapping):
            found: dict[str, object] = {
                "type": "object",
                "additionalProperties": self.of_type(parts[1], where),
            }
            if parts[0] is int:
                found["propertyNames"] = {"pattern": r"^-?\d+$"}
            return found
        raise TypeError(f"{where}: {kind!r} has no JSON form")

    def _reference(self, cls: type) -> dict[str, object]:
        name = cls.__name__
        if self._classes.setdefault(name, cls) is not cls:
            raise TypeError(f"two dataclasses of one document are named {name}")
        if name not in self.found:
            self.found[name] = {}  # holds the place while its own fields are read
            self.found[name] = _closed_object(cls, *self.fields(cls))
        return {"$ref": f"#/$defs/{name}"}


def _fields(cls: type) -> Iterator[tuple[str, object, bool]]:
    """Name, annotation and whether it is always there, of every field that is written.

    A class that is no dataclass says of itself what it writes, in ``fields()``.
    """
    if not dataclasses.is_dataclass(cls):
        for name, kind in typing.cast("typing.Any", cls).fields().items():
            yield name, kind, True
        return
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if not field.metadata.get("json", True):
            continue
        optional = field.metadata.get("optional", False)
        kind = hints[field.name]
        yield field.name, _without_none(kind) if optional else kind, not optional


def _closed_object(
    cls: type, properties: Mapping[str, object], required: Sequence[str]
) -> dict[str, object]:
    return {
        "description": (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " "),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_FRACTION = {"type": "string", "pattern": r"^-?\d+/\d+$"}
_PLAIN: dict[object, dict[str, object]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    Fraction: {"anyOf": [{"type": "integer"}, _FRACTION]},
}


def _any_of(parts: list[dict[str, object]]) -> dict[str, object]:
    """Alternatives, plain types as one list of names."""
    flat: list[dict[str, object]] = []
    for part in parts:
        inner = part["anyOf"] if set(part) == {"anyOf"} else [part]
        for one in typing.cast(list[dict[str, object]], inner):
            if one not in flat:
                flat.append(one)
    names = [part["type"] for part in flat if set(part) == {"type"}]
    rest = [part for part in flat if set(part) != {"type"}]
    if not rest:
        return {"type": names}
    plain: list[dict[str, object]] = []
    if names:
        plain = [{"type": names[0] if len(names) == 1 else names}]
    return {"anyOf": [*plain, *rest]}


def _without_none(kind: object) -> object:
    parts = tuple(p for p in typing.get_args(kind) if p is not type(None))
    return typing.Union[parts]  # noqa: UP007 (of a tuple made at run time)


def descriptions(cls: type) -> dict[str, str]:
    """What the string below a field, or an ``Attributes`` section, says of each field.

    Examples
    --------
    >>> class Size:
    ...     '''A size.
    ...
    ...     Attributes
    ...     ----------
    ...     width, height : int
    ...         In blocks.
    ...     name : str
    ...     '''
    >>> descriptions(Size)
    {'width': 'In blocks.', 'height': 'In blocks.'}
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        text = inspect.cleandoc(base.__doc__ or "")
        _, _, section = text.partition("Attributes\n----------\n")
        names: list[str] = []
        for line in section.splitlines():
            if re.match(r"-+$", line):
                break  # the underline of the next section
            if line and not line.startswith(" "):
                names = [n.strip() for n in line.partition(" : ")[0].split(",")]
            elif line.strip():
                for name in names:
                    found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        if dataclasses.is_dataclass(base):
            found |= _below_fields(base)
    return found


def _below_fields(cls: type) -> dict[str, str]:
    """The strings below the fields of a class; they leave no trace at run time."""
    source = _classes(cls.__module__).get(cls.__qualname__)
    found = {}
    for pair in itertools.pairwise([] if source is None else source.body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


@functools.cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
