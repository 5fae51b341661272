"""The language of the kind descriptions: reading files, and making sense of them together.

Whatever does not make sense is a Fault with the place where it is written, so that neither
the writer of the tables nor their readers need to check anything again. README.md describes
the language for those who write it.
"""

import copy
import os
import re

VALUES = {
    "string": "STRING", "bool": "BOOL", "int32": "INT32", "int64": "INT64", "double": "DOUBLE",
    "bytes": "BYTES", "time": "TIME", "microtime": "MICRO_TIME", "duration": "DURATION",
    "quantity": "QUANTITY", "int-or-string": "INT_OR_STRING", "raw": "RAW_OBJECT", "any": "ANY",
    "props-or-list": "PROPS_OR_LIST", "props-or-bool": "PROPS_OR_BOOL",
    "props-or-strings": "PROPS_OR_STRINGS",
}
SHAPES = [("map[][]", "MAP_OF_LISTS"), ("map[]", "MAP"), ("[]", "LIST"), ("", "ONE")]
FORMATS = {f.lower().replace("_", "-"): f for f in (
    "DNS_LABEL", "DNS_SUBDOMAIN", "DNS_SUBDOMAIN_CASELESS", "DNS1035_LABEL", "LABEL_KEY",
    "LABEL_VALUE", "QUALIFIED_NAME", "FULLY_QUALIFIED_NAME", "POOL_NAME", "UUID", "SEMVER",
    "C_IDENTIFIER", "CONDITION_TYPE")}
FIELD_FLAGS = {f.lower().replace("_", "-"): f for f in (
    "REQUIRED", "ALWAYS", "NULLABLE", "IMMUTABLE", "UNIQUE", "POINTER", "CHARACTERS",
    "DECLARED", "NO_MODIFY", "OPEN")}
KIND_FLAGS = {f.lower().replace("_", "-"): f for f in (
    "UNCONDITIONAL_UPDATE", "CREATE_ON_UPDATE", "RETURN_DELETED", "GENERATION", "STATUS",
    "GRACEFUL", "REVIEW", "EVENTS", "PATH_NAMES", "IMMUTABLE_SPEC", "DNS_LABEL_NAMES",
    "DNS1035_NAMES", "ORPHAN_BY_DEFAULT", "STATUS_ON_CREATE", "STATUS_KEEPS_META",
    "SPEC_FINALIZERS", "OWN_NAMESPACE", "NETWORK_NAMES")}
VERBS = {"get": "GET", "list": "LIST_VERB", "watch": "WATCH", "create": "CREATE",
         "update": "UPDATE", "patch": "PATCH", "delete": "DELETE",
         "deletecollection": "DELETE_COLLECTION", "all": "ALL_VERBS"}
# Rules that are numbers, and what they are called in struct schema_rules.
NUMBERS = {"min": "min", "max": "max", "max-length": "max_length", "min-items": "min_items",
           "max-items": "max_items", "key-max-length": "key_max_length"}
HOOKS = ("prepare-create", "prepare-update", "prepare-delete", "check", "check-update",
         "check-status-update")
PROPS = ("apiextensions_v1", "JSONSchemaProps")


class Fault(Exception):
    """Something in a description that does not make sense; `at` is "file:line"."""

    def __init__(self, at, what):
        super().__init__(f"{at}: {what}")


class Item:
    """A file, kind, type, field, column, ..: just what was said about it, and where."""

    def __init__(self, at, **what):
        self.at = at
        self.doc = None
        self.__dict__.update(what)


# --- reading ---------------------------------------------------------------------------------


def tokens(text):
    """Words; text in double quotes is one (and keeps its quotes), alone or after a "="."""
    return re.findall(r'(?:[\w-]+=)?"[^"]*"(?=\s|$)|\S+', text)


def attributes(words, at, allowed):
    """["a", "b=c"] as {"a": True, "b": "c"}; `allowed` says what may be there."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in allowed:
            raise Fault(at, f'"{name}" means nothing here')
        if name in found:
            raise Fault(at, f'"{name}" is said twice')
        found[name] = value if equals else True
    return found


def take_doc(words, at):
    """Takes the sentence off the end of a line."""
    if words and words[-1].startswith('"') and len(words) > 1:
        return words.pop()[1:-1]
    return None


class Reader:
    """One description file."""

    def __init__(self, path):
        self.path = path
        self.stem = os.path.basename(path).rsplit(".", 1)[0]
        self.file = Item(path, stem=self.stem, group=None, version=None, openapi=None,
                         same_as=None, kinds=[], types=[], deprecated=[])
        self.current = self.last = None
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                self.line(f"{path}:{number}", line.rstrip("\n"))
        if self.file.openapi is None:
            raise Fault(path, '"group" and "openapi" are missing')

    def line(self, at, text):
        words = tokens(text)
        if not words or words[0].startswith("#"):
            return
        if words[0].startswith('"'):
            # A sentence on a line of its own belongs to what was said before.
            if self.last is None or len(words) != 1:
                raise Fault(at, "a sentence must follow what it describes")
            self.last.doc = f"{self.last.doc} {words[0][1:-1]}" if self.last.doc else words[0][1:-1]
        elif not text[0].isspace():
            self.last = self.top(at, words)
        elif self.current is None:
            raise Fault(at, "an indented line must be part of a kind or type")
        elif self.current.what == "type":
            self.last = self.member(at, words)
        else:
            self.last = self.kind_line(at, words)

    def top(self, at, words):
        doc = take_doc(words, at)
        word, rest = words[0], words[1:]
        if word == "group" and len(rest) == 2:
            self.file.group, self.file.version = rest[0].strip('"'), rest[1]
            return None
        if word == "openapi" and len(rest) == 1:
            self.file.openapi = rest[0]
            return None
        if word == "same-as" and len(rest) == 1:
            self.file.same_as = rest[0]
            return None
        if word == "deprecated" and rest:
            said = attributes(rest[1:], at, {"in", "until", "use"})
            self.file.deprecated.append(Item(at, kinds=rest[0].split(","), said=said))
            return None
        if word == "kind" and len(rest) == 1:
            self.current = Item(at, what="kind", name=rest[0], doc=doc, resource=None, verbs=[],
                                scope=None, flags=[], gate="NONE", storage=None, subresources=[],
                                columns=[], selects=[], short=[], categories=[], resets=[],
                                converts=[], deprecation=None, hooks={})
            self.file.kinds.append(self.current)
            return self.current
        if word == "object" and rest:
            said = attributes(rest[1:], at, {"list"})
            self.current = Item(at, what="object", name=rest[0], doc=doc, listed="list" in said,
                                columns=[])
            self.file.kinds.append(self.current)
            return self.current
        if word == "type" and rest:
            said = attributes(rest[1:], at, {"atomic", "preserve", "check"})
            self.current = Item(at, what="type", name=rest[0], doc=doc, fields=[], unions={},
                                said=said)
            self.file.types.append(self.current)
            return self.current
        raise Fault(at, f'"{word}" is no group, openapi, same-as, deprecated, kind, object or type '
                    "line")

    def member(self, at, words):
        doc = take_doc(words, at)
        if words[0] == "oneof" and len(words) == 3 and words[2] in ("required", "optional"):
            self.current.unions[words[1]] = words[2] == "required"
            return None
        if len(words) < 3 or not re.fullmatch(r"\d+(\.\d+){0,2}", words[0]):
            raise Fault(at, 'a field is "NUMBER NAME TYPE ATTRIBUTES.."')
        allowed = {*FIELD_FLAGS, *NUMBERS, "set", "keys", "atomic", "granular", "patch",
                   "patch-replace", "retain-keys", "oneof", "optional", "format", "key-format",
                   "enum", "default", "gate", "served", "check", "fill"}
        field = Item(at, numbers=[int(n) for n in words[0].split(".")], name=words[1],
                     type=words[2], doc=doc, said=attributes(words[3:], at, allowed))
        self.current.fields.append(field)
        return field

    def kind_line(self, at, words):
        kind, doc = self.current, take_doc(words, at)
        word, rest = words[0], words[1:]
        if (kind.what == "object" and word != "column") or not rest:
            raise Fault(at, f'"{word}" means nothing here')
        if word == "resource" and len(rest) >= 2:
            said = attributes(rest[2:], at, {"short", "categories"})
            kind.resource, kind.singular = rest[:2]
            kind.short = said.get("short", "").split(",") if "short" in said else []
            kind.categories = said.get("categories", "").split(",") if "categories" in said else []
        elif word == "scope" and rest in (["namespaced"], ["cluster"]):
            kind.scope = rest[0]
        elif word == "verbs":
            kind.verbs = rest[0].split(",")
        elif word == "flags":
            kind.flags = list(attributes(rest, at, KIND_FLAGS))
        elif word == "gate":
            kind.gate = rest[0]
        elif word == "storage":
            kind.storage = Item(at, of=rest[0], said=attributes(rest[1:], at, {"to", "from"}))
        elif word == "convert" and len(rest) == 3 and rest[1] in ("wrap", "unwrap"):
            kind.converts.append(Item(at, path=rest[0], way=rest[1], wrapper=rest[2]))
        elif word == "resets" and len(rest) == 1:
            kind.resets = [Item(at, path=path) for path in rest[0].split(",")]
        elif word == "subresource" and len(rest) >= 2:
            said = attributes(rest[2:], at, {"kind", "gate", "resets", "connect"})
            resets = [Item(at, path=path) for path in said.get("resets", "").split(",") if path]
            kind.subresources.append(Item(at, name=rest[0], verbs=rest[1].split(","), said=said,
                                          resets=resets))
        elif word == "select":
            said = attributes(rest[1:], at, {"indexed", "initial", "storage", "else"})
            kind.selects.append(Item(at, path=rest[0], said=said))
        elif word == "column" and len(rest) >= 2:
            said = attributes(rest[2:], at, {"format", "priority", "path", "cell"})
            column = Item(at, name=rest[0].strip('"'), type=rest[1], doc=doc, said=said)
            kind.columns.append(column)
            return column
        elif word in HOOKS and len(rest) == 1:
            kind.hooks[word] = rest[0]
        else:
            raise Fault(at, f'"{word}" means nothing in a kind, or lacks something')
        return None


# --- making sense ----------------------------------------------------------------------------


def meta_fields(at):
    """apiVersion and kind, which are in JSON only."""
    return [Item(at, numbers=[0], name=name, type="string", said={}, doc=doc) for name, doc in (
        ("apiVersion", "APIVersion defines group and version of the kind, such as apps/v1, or v1 for the core group."),
        ("kind", "Name of the kind, in CamelCase; it cannot change."))]


class World:
    """All files together: names resolved, types and kinds in the order of the output."""

    def __init__(self, files, gates):
        self.files = {f.stem: f for f in files}
        self.gates = gates
        self.types = {}  # (stem, name): type
        self.kinds = []
        for file in files:
            self.expand(file)
        for file in files:
            for kind in file.kinds:
                self.add_kind(file, kind)
            for type_ in file.types:
                self.add_type(file, type_)
        for kind in self.kinds:
            self.settle_kind(kind)
        for file in files:
            for deprecated in file.deprecated:
                self.settle_deprecated(file, deprecated)
        for type_ in self.types.values():
            self.settle_type(type_)
        for kind in self.kinds:
            self.settle_paths(kind)

    def expand(self, file):
        """"same-as": all kinds and types of another version, stored as those."""
        if not file.same_as:
            return
        if file.same_as not in self.files:
            raise Fault(file.at, f'there is no "{file.same_as}"')
        other = self.files[file.same_as]
        file.types += copy.deepcopy(other.types)
        for kind in copy.deepcopy(other.kinds):
            kind.storage = Item(kind.at, of=f"{other.stem}.{kind.name}", said={})
            file.kinds.append(kind)

    def add_type(self, file, type_):
        key = (file.stem, type_.name)
        if key in self.types:
            raise Fault(type_.at, f'"{type_.name}" is described twice')
        type_.stem, type_.openapi = file.stem, f"{file.openapi}.{type_.name}"
        if any(k.name == type_.name for k in file.kinds):
            type_.fields[:0] = meta_fields(type_.at)
            type_.doc = type_.doc or next(k.doc for k in file.kinds if k.name == type_.name)
        self.types[key] = type_

    def add_kind(self, file, kind):
        """A kind, and the list of it."""
        kind.stem, kind.file = file.stem, file
        kind.api_version = f"{file.group}/{file.version}" if file.group else file.version
        if file.stem == "meta_v1":
            kind.api_version = "v1" if kind.name != "PartialObjectMetadata" else kind.api_version
        kind.list_kind = ""
        self.kinds.append(kind)
        if kind.what == "object" and not kind.listed:
            return
        if kind.what == "kind" and kind.verbs != ["all"] and "list" not in kind.verbs:
            return
        kind.list_kind = kind.name + "List"
        fields = [Item(kind.at, numbers=[1], name="metadata", type="meta_v1.ListMeta", said={},
                       doc="Metadata of the list."),
                  Item(kind.at, numbers=[2], name="items", type="[]" + kind.name,
                       said={"always": True}, doc="The objects of the list.")]
        listed = Item(kind.at, what="object", name=kind.list_kind, stem=file.stem, file=file,
                      list_kind="", api_version=kind.api_version, listed=False, columns=[])
        type_ = Item(kind.at, what="type", name=kind.list_kind, stem=file.stem, unions={}, said={},
                     openapi=f"{file.openapi}.{kind.list_kind}",
                     fields=meta_fields(kind.at) + fields, doc=f"A list of {kind.name}.")
        self.kinds.append(listed)
        self.types[(file.stem, kind.list_kind)] = type_

    def find(self, stem, name, at):
        """A type as a description names it: "Name", or "file.Name"."""
        other, dot, local = name.partition(".")
        key = (other, local) if dot else (stem, name)
        if key not in self.types:
            raise Fault(at, f'there is no type "{name}"')
        return self.types[key]

    def check_gate(self, gate, at):
        if gate != "NONE" and gate not in self.gates:
            raise Fault(at, f'there is no gate "{gate}"')

    def settle_kind(self, kind):
        if (kind.stem, kind.name) not in self.types:
            raise Fault(kind.at, f'the type "{kind.name}" is missing')
        for column in kind.columns:
            if ("path" in column.said) == ("cell" in column.said):
                raise Fault(column.at, "a column has a path or a cell")
        if kind.what == "object":
            return
        if kind.resource is None or kind.scope is None or not kind.verbs:
            raise Fault(kind.at, f'"{kind.name}" lacks a resource, scope or verbs line')
        for verb in kind.verbs + [v for s in kind.subresources for v in s.verbs]:
            if verb not in VERBS:
                raise Fault(kind.at, f'"{verb}" is no verb')
        self.check_gate(kind.gate, kind.at)
        kind.stored = kind
        if kind.storage:
            stem, _, name = kind.storage.of.partition(".")
            stored = [k for k in self.kinds if (k.stem, k.name, k.what) == (stem, name, "kind")]
            if not stored:
                raise Fault(kind.storage.at, f'there is no kind "{kind.storage.of}"')
            kind.stored = stored[0]

    @staticmethod
    def settle_deprecated(file, deprecated):
        said = deprecated.said
        if "in" not in said:
            raise Fault(deprecated.at, 'a "deprecated" line needs "in=RELEASE"')
        for name in deprecated.kinds:
            kind = next((k for k in file.kinds if k.name == name and k.what == "kind"), None)
            if not kind:
                raise Fault(deprecated.at, f'"{name}" is no kind of this file')
            kind.deprecation = f"{kind.api_version} {name} is deprecated in v{said['in']}+"
            if "until" in said:
                kind.deprecation += f", unavailable in v{said['until']}+"
            if "use" in said:
                kind.deprecation += "; use " + said["use"].strip('"')

    def settle_paths(self, kind):
        """Fields that a kind names by path must be there."""
        if kind.what == "object":
            return
        for reset in kind.resets + [r for s in kind.subresources for r in s.resets]:
            self.field_at(kind, reset.path, reset.at)
        for convert in kind.converts:
            self.settle_convert(kind, convert)

    def field_at(self, kind, path, at):
        """The field of that path of dotted names."""
        type_, field = self.types[(kind.stem, kind.name)], None
        for name in path.split("."):
            field = next((f for f in (type_.fields if type_ else []) if f.name == name), None)
            if not field:
                raise Fault(at, f'{kind.api_version} has no field "{path}"')
            type_ = field.of
        return field

    def settle_convert(self, kind, convert):
        """Which members move, and which stay: what both versions' types say, or it is refused."""
        if kind.stored is kind:
            raise Fault(convert.at, "what is stored as it is needs no conversion")
        flat, deep = ((kind, kind.stored) if convert.way == "wrap" else (kind.stored, kind))
        outer = self.field_at(flat, convert.path, convert.at).of
        inner = self.field_at(deep, f"{convert.path}.{convert.wrapper}", convert.at).of
        if not outer or not inner:
            raise Fault(convert.at, "both must be objects")
        names, moved = [f.name for f in outer.fields], [f.name for f in inner.fields]
        missing = set(moved) - set(names)
        if missing:
            raise Fault(convert.at, f'{flat.api_version} has no "{sorted(missing)[0]}" there')
        first = min(names.index(name) for name in moved)
        convert.outside = [name for name in names if name not in moved]
        convert.after = [name for name in convert.outside if names.index(name) > first]
        if not convert.outside:
            raise Fault(convert.at, f'nothing would be left beside "{convert.wrapper}"')
        empty = [f for f in inner.fields if "always" in f.said and "pointer" not in f.said]
        if any((f.value, f.shape) != ("STRING", "ONE") for f in empty):
            raise Fault(convert.at, "only text may be there when it is empty")
        convert.blanks = [f.name for f in empty]

    def settle_type(self, type_):
        names, numbers = set(), set()
        for field in type_.fields:
            self.settle_field(type_, field)
            if field.name in names:
                raise Fault(field.at, f'"{field.name}" is there twice')
            names.add(field.name)
            if field.numbers != [0] and tuple(field.numbers) in numbers:
                raise Fault(field.at, f"number {field.numbers} is taken")
            numbers.add(tuple(field.numbers))

    def settle_field(self, type_, field):
        said, name = field.said, field.type
        field.shape = next(shape for prefix, shape in SHAPES if name.startswith(prefix))
        name = name.replace("map", "", 1) if name.startswith("map[]") else name
        name = name.replace("[]", "")
        field.value = VALUES.get(name, "OBJECT")
        field.of = None
        if field.value == "OBJECT":
            field.of = self.find(type_.stem, name, field.at)
        elif field.value.startswith("PROPS"):
            field.of = self.find(type_.stem, ".".join(PROPS), field.at)
        self.check_gate(said.get("gate", "NONE"), field.at)
        if "served" in said and "gate" not in said:
            raise Fault(field.at, '"served" needs a gate')
        for name in ("format", "key-format"):
            if name in said and said[name] not in FORMATS:
                raise Fault(field.at, f'"{said[name]}" is no format')
        if ("keys" in said or "set" in said) and field.shape != "LIST":
            raise Fault(field.at, "only a list can be a set or have keys")
        if "oneof" in said and said["oneof"] not in type_.unions:
            raise Fault(field.at, f'there is no "oneof {said["oneof"]}" line')
        keys = said["keys"].split(",") if "keys" in said else []
        if isinstance(said.get("patch"), str):
            keys = keys + [said["patch"]]
        for key in keys:
            if not field.of or key not in [f.name for f in field.of.fields]:
                raise Fault(field.at, f'the elements have no "{key}"')
