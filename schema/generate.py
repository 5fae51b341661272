#!/usr/bin/env python3
"""Compiles the kind descriptions (*.schema) into constant C tables.

    generate.py GATES_H OUTPUT.c FILE.schema ..

The order of the files is the order in which discovery lists group versions. The language is
described in README.md, the structs that are filled in in src/api/schema.h. Whatever does not
make sense is refused here, with the place where it is written, so that the tables need no
checks at run time.
"""

import copy
import os
import re
import sys

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
    "DECLARED", "NO_MODIFY")}
KIND_FLAGS = {f.lower().replace("_", "-"): f for f in (
    "UNCONDITIONAL_UPDATE", "CREATE_ON_UPDATE", "RETURN_DELETED", "GENERATION", "STATUS",
    "GRACEFUL", "REVIEW", "EVENTS", "PATH_NAMES", "IMMUTABLE_SPEC", "DNS_LABEL_NAMES",
    "DNS1035_NAMES", "ORPHAN_BY_DEFAULT")}
VERBS = {"get": "GET", "list": "LIST_VERB", "watch": "WATCH", "create": "CREATE",
         "update": "UPDATE", "patch": "PATCH", "delete": "DELETE",
         "deletecollection": "DELETE_COLLECTION", "all": "ALL_VERBS"}
# Rules that are numbers, and what they are called in struct schema_rules.
NUMBERS = {"min": "min", "max": "max", "max-length": "max_length", "min-items": "min_items",
           "max-items": "max_items", "key-max-length": "key_max_length"}
HOOKS = ("prepare-create", "prepare-update", "check", "check-update", "check-status-update")
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
                         same_as=None, kinds=[], types=[])
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
        if word == "kind" and len(rest) == 1:
            self.current = Item(at, what="kind", name=rest[0], doc=doc, resource=None, verbs=[],
                                scope=None, flags=[], gate="NONE", storage=None, subresources=[],
                                columns=[], selects=[], short=[], categories=[], hooks={})
            self.file.kinds.append(self.current)
            return self.current
        if word == "object" and rest:
            said = attributes(rest[1:], at, {"list"})
            self.current = Item(at, what="object", name=rest[0], doc=doc, listed="list" in said)
            self.file.kinds.append(self.current)
            return self.current
        if word == "type" and rest:
            said = attributes(rest[1:], at, {"atomic", "preserve", "check"})
            self.current = Item(at, what="type", name=rest[0], doc=doc, fields=[], unions={},
                                said=said)
            self.file.types.append(self.current)
            return self.current
        raise Fault(at, f'"{word}" is no group, openapi, same-as, kind, object or type line')

    def member(self, at, words):
        doc = take_doc(words, at)
        if words[0] == "oneof" and len(words) == 3 and words[2] in ("required", "optional"):
            self.current.unions[words[1]] = words[2] == "required"
            return None
        if len(words) < 3 or not re.fullmatch(r"\d+(\.\d+){0,2}", words[0]):
            raise Fault(at, 'a field is "NUMBER NAME TYPE ATTRIBUTES.."')
        allowed = {*FIELD_FLAGS, *NUMBERS, "set", "keys", "atomic", "granular", "patch", "retain-keys",
                   "oneof", "optional", "format", "key-format", "enum", "default", "gate", "served", "check",
                   "fill"}
        field = Item(at, numbers=[int(n) for n in words[0].split(".")], name=words[1],
                     type=words[2], doc=doc, said=attributes(words[3:], at, allowed))
        self.current.fields.append(field)
        return field

    def kind_line(self, at, words):
        kind, doc = self.current, take_doc(words, at)
        word, rest = words[0], words[1:]
        if kind.what == "object" or not rest:
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
        elif word == "subresource" and len(rest) >= 2:
            kind.subresources.append(Item(at, name=rest[0], verbs=rest[1].split(","),
                                          said=attributes(rest[2:], at, {"kind", "gate"})))
        elif word == "select":
            said = attributes(rest[1:], at, {"indexed", "initial", "storage"})
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
    return [Item(at, numbers=[0], name=name, type="string", said={}) for name in
            ("apiVersion", "kind")]


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
        for type_ in self.types.values():
            self.settle_type(type_)

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
        if kind.what == "kind" and "review" in kind.flags:
            return
        kind.list_kind = kind.name + "List"
        fields = [Item(kind.at, numbers=[1], name="metadata", type="meta_v1.ListMeta", said={}),
                  Item(kind.at, numbers=[2], name="items", type="[]" + kind.name,
                       said={"always": True})]
        listed = Item(kind.at, what="object", name=kind.list_kind, stem=file.stem, file=file,
                      list_kind="", api_version=kind.api_version, listed=False)
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
        for column in kind.columns:
            if ("path" in column.said) == ("cell" in column.said):
                raise Fault(column.at, "a column has a path or a cell")

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


# --- writing ---------------------------------------------------------------------------------


def c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_str(text):
    return "NO_STR" if text is None else f"S({c_text(text)})"


def c_doc(text):
    return c_text(text) if text else "NULL"


class Writer:
    """The C file. Arrays that many rows share are written once, before the rows."""

    def __init__(self, world, out):
        self.world, self.out = world, out
        self.pool = {}  # text of an initialiser: name of the array
        self.types = list(world.types.values())
        self.kinds = world.kinds

    def shared(self, c_type, name, rows):
        """The name of a constant array with these rows; NULL when there are none."""
        if not rows:
            return "NULL"
        key = (c_type, tuple(rows))
        if key not in self.pool:
            self.pool[key] = f"{name}_{len(self.pool)}"
            body = ",\n".join(f"\t{row}" for row in rows)
            self.out.write(f"static const {c_type} {self.pool[key]}[] = {{\n{body},\n}};\n\n")
        return self.pool[key]

    def texts(self, words):
        rows = [c_str(w) for w in words]
        return self.shared("struct str", "texts", rows + ["NO_STR"] if rows else [])

    def type_ref(self, type_):
        return f"&types[TYPE_{type_.stem}_{type_.name}]"

    def kind_ref(self, kind):
        return f"&kinds[KIND_{kind.stem}_{kind.name}]"

    def rules(self, field):
        said, rows = field.said, []
        for name, member in NUMBERS.items():
            if name in said:
                rows.append(f".{member} = {said[name]}")
        for name in ("format", "key-format"):
            if name in said:
                rows.append(f".{name.replace('-', '_')} = SCHEMA_FORMAT_{FORMATS[said[name]]}")
        if "enum" in said:
            values = said["enum"].strip('"').split("|")
            rows.append(f".values = {self.texts(values)}")
        if isinstance(said.get("unique"), str):
            rows.append(f".unique_keys = {self.texts(said['unique'].split(','))}")
        if "default" in said:
            rows.append(f".initial = {c_str(said['default'])}")
        rows += [f".{name} = {said[name]}" for name in ("check", "fill") if name in said]
        return self.shared("struct schema_rules", "rules", [f"{{ {', '.join(rows)} }}"]
                           if rows else [])

    def field(self, field):
        said = field.said
        flags = [f for word, f in FIELD_FLAGS.items() if word in said]
        if "always" in said and "optional" not in said:
            flags.append("DECLARED")
        flags += [f for word, f in (("min", "HAS_MIN"), ("max", "HAS_MAX"),
                                    ("served", "GATE_SERVED")) if word in said]
        merge = "ATOMIC" if field.shape == "LIST" or "atomic" in said else "GRANULAR"
        if field.of and field.of.said.get("atomic") and field.shape == "ONE":
            merge = "GRANULAR" if "granular" in said else "ATOMIC"
        merge = "LIST_SET" if "set" in said else "LIST_MAP" if "keys" in said else merge
        *outer, number = field.numbers
        inline, inner = (outer + [0, 0])[:2]
        patch = said.get("patch")
        row = [f".name = {c_str(field.name)}", f".number = {number}",
               f".value = SCHEMA_{field.value}", f".shape = SCHEMA_{field.shape}",
               f".merge = SCHEMA_{merge}"]
        row += [f".type = {self.type_ref(field.of)}"] if field.of else []
        row += [f".flags = {' | '.join('SCHEMA_' + f for f in flags)}"] if flags else []
        row += [f".inline_number = {inline}"] if inline else []
        row += [f".inline_inner = {inner}"] if inner else []
        rules = self.rules(field)
        row += [f".rules = {rules}"] if rules != "NULL" else []
        row += [f".list_keys = {self.texts(said['keys'].split(','))}"] if "keys" in said else []
        row += [f".patch_key = {c_str(patch)}"] if isinstance(patch, str) else []
        row += [".patch_merge = true"] if patch else []
        row += [".patch_retain_keys = true"] if "retain-keys" in said else []
        row += [f".gate = GATE_{said['gate']}"] if "gate" in said else []
        row += [f".oneof = {said['oneof']}"] if "oneof" in said else []
        row += [f".doc = {c_doc(field.doc)}"] if field.doc else []
        return "{ " + ", ".join(row) + " }"

    def type_row(self, type_):
        fields, said = type_.fields, type_.said
        name = f"{type_.stem}_{type_.name}"
        rows = [self.field(f) for f in fields]
        if rows:
            body = ",\n".join(f"\t{row}" for row in rows)
            self.out.write(f"static const struct schema_field fields_{name}[] = {{\n{body},\n}};\n")
        order = sorted(range(len(fields)), key=lambda i: fields[i].name.encode())
        by_name = self.shared("uint16_t", "by_name", [str(i) for i in order])
        unions = [f"{{ .required = {str(type_.unions[u]).lower()} }}" for u in
                  sorted(type_.unions)]
        row = [f".name = {c_str(type_.name)}", f".openapi = {c_str(type_.openapi)}",
               f".doc = {c_doc(type_.doc)}"]
        row += [f".fields = fields_{name}", f".nfields = {len(fields)}",
                f".by_name = {by_name}"] if rows else []
        if unions:
            row += [f".unions = {self.shared('struct schema_union', 'unions', unions)}",
                    f".nunions = {len(unions)}"]
        row += [f".{word} = true" for word in ("atomic", "preserve") if word in said]
        row += [f".check = {said['check']}"] if "check" in said else []
        return f"\t[TYPE_{name}] = {{ {', '.join(row)} }},\n"

    def subresource(self, kind, sub):
        group, version, name = kind.file.group, kind.file.version, kind.name
        if "kind" in sub.said:
            parts = sub.said["kind"].split("/")
            group, version = parts[:2] if len(parts) == 3 else (group, version)
            name = parts[-1]
        return (f"{{ .name = {c_str(sub.name)}, .group = {c_str(group)}, "
                f".version = {c_str(version)}, .kind = {c_str(name)}, "
                f".verbs = {self.verbs(sub.verbs)}, .gate = GATE_{sub.said.get('gate', 'NONE')} }}")

    @staticmethod
    def verbs(words):
        return " | ".join(f"SCHEMA_{VERBS[v]}" for v in words)

    @staticmethod
    def column(column):
        said = column.said
        row = [f".name = {c_text(column.name)}", f".type = {c_text(column.type)}",
               f".format = {c_text(said.get('format', ''))}", f".doc = {c_text(column.doc or '')}",
               f".priority = {said.get('priority', 0)}"]
        row += [f".path = {c_text(said['path'])}"] if "path" in said else []
        row += [f".cell = {said['cell']}"] if "cell" in said else []
        return "{ " + ", ".join(row) + " }"

    @staticmethod
    def select(select):
        said = select.said
        return (f"{{ .path = {c_str(select.path)}, .initial = {c_str(said.get('initial', ''))}, "
                f".storage_path = {c_str(said.get('storage', select.path))}, "
                f".indexed = {str('indexed' in said).lower()} }}")

    def kind_row(self, kind):
        row = [f".group = {c_str(kind.file.group)}", f".version = {c_str(kind.file.version)}",
               f".kind = {c_str(kind.name)}", f".list_kind = {c_str(kind.list_kind)}",
               f".api_version = {c_str(kind.api_version)}",
               f".type = {self.type_ref(self.world.types[(kind.stem, kind.name)])}"]
        if kind.what == "kind":
            row += self.resource_row(kind)
        else:
            row += [f".storage = {self.kind_ref(kind)}"]
        body = ",\n".join(f"\t\t{r}" for r in row)
        return f"\t[KIND_{kind.stem}_{kind.name}] = {{\n{body},\n\t}},\n"

    def resource_row(self, kind):
        flags = [KIND_FLAGS[f] for f in kind.flags]
        flags += ["NAMESPACED"] if kind.scope == "namespaced" else []
        row = [f".resource = {c_str(kind.resource)}", f".singular = {c_str(kind.singular)}",
               f".storage_name = {c_str((kind.stored.file.group or 'core') + '/' + kind.stored.resource)}",
               f".short_names = {self.texts(kind.short)}",
               f".categories = {self.texts(kind.categories)}",
               f".verbs = {self.verbs(kind.verbs)}", f".gate = GATE_{kind.gate}",
               f".flags = {' | '.join('SCHEMA_' + f for f in flags) or '0'}",
               f".storage = {self.kind_ref(kind.stored)}"]
        for member, c_type, rows in (
                ("subresources", "struct schema_subresource",
                 [self.subresource(kind, s) for s in kind.subresources]),
                ("columns", "struct schema_column", [self.column(c) for c in kind.columns]),
                ("selectables", "struct schema_selectable",
                 [self.select(s) for s in kind.selects])):
            if rows:
                row += [f".{member} = {self.shared(c_type, member, rows)}",
                        f".n{member} = {len(rows)}"]
        if kind.storage:
            row += [f".{way}_storage = {kind.storage.said[way]}" for way in ("to", "from")
                    if way in kind.storage.said]
        row += [f".{hook.replace('-', '_')} = {kind.hooks[hook]}" for hook in HOOKS
                if hook in kind.hooks]
        return row

    def pointers(self, name, c_type, refs):
        body = ",\n".join(f"\t{ref}" for ref in refs)
        self.out.write(f"const struct {c_type} *const {name}[] = {{\n{body},\n}};\n"
                       f"const size_t {name}_n = {len(refs)};\n\n")

    def write(self):
        out = self.out
        out.write('/* Generated by schema/generate.py. */\n#include "api/schema_tables.h"\n\n'
                  '#include "api/checks.h"\n#include "api/columns.h"\n#include "api/convert.h"\n'
                  '#include "api/strategies.h"\n\n'
                  '#define S(text) { text, sizeof(text) - 1 }\n#define NO_STR  { NULL, 0 }\n\n')
        for what, items in (("TYPE", self.types), ("KIND", self.kinds)):
            names = "".join(f"\t{what}_{i.stem}_{i.name},\n" for i in items)
            out.write(f"enum {{\n{names}}};\n")
        out.write(f"static const struct schema_type types[{len(self.types)}];\n"
                  f"static const struct schema_kind kinds[{len(self.kinds)}];\n\n")
        type_rows = "".join(self.type_row(t) for t in self.types)
        kind_rows = "".join(self.kind_row(k) for k in self.kinds)
        out.write(f"static const struct schema_type types[{len(self.types)}] = {{\n{type_rows}}};\n\n"
                  f"static const struct schema_kind kinds[{len(self.kinds)}] = {{\n{kind_rows}}};\n\n")
        served = [k for k in self.kinds if k.what == "kind"]
        self.pointers("schema_table_types", "schema_type", [
            self.type_ref(t) for t in sorted(self.types, key=lambda t: t.openapi.encode())])
        self.pointers("schema_table_resources", "schema_kind", [self.kind_ref(k) for k in served])
        self.pointers("schema_table_by_path", "schema_kind", [
            self.kind_ref(k) for k in sorted(served, key=lambda k: (
                k.file.group.encode(), k.file.version.encode(), k.resource.encode()))])
        self.pointers("schema_table_by_kind", "schema_kind", [
            self.kind_ref(k) for k in sorted(self.kinds, key=lambda k: (
                k.api_version.encode(), k.name.encode()))])
        for name, type_ in (("object_meta", "ObjectMeta"), ("delete_options", "DeleteOptions")):
            ref = self.type_ref(self.world.types[("meta_v1", type_)])
            out.write(f"const struct schema_type *const schema_table_{name} = {ref};\n")


def main(gates_path, out_path, *paths):
    with open(gates_path, encoding="utf-8") as gates:
        names = set(re.findall(r"\bX\((\w+),", gates.read()))
    try:
        world = World([Reader(path).file for path in paths], names)
    except Fault as fault:
        sys.exit(f"{fault}")
    with open(out_path, "w", encoding="utf-8") as out:
        Writer(world, out).write()


if __name__ == "__main__":
    main(*sys.argv[1:])
