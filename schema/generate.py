#!/usr/bin/env python3
"""Compiles the kind descriptions (*.schema) into constant C tables.

    generate.py GATES_H OUTPUT.c FILE.schema ..

The order of the files is the order in which discovery lists group versions. The language is
described in README.md and read by language.py; the structs that are filled in are those of
src/api/schema.h.
"""

import re
import sys

from language import FIELD_FLAGS, FORMATS, HOOKS, KIND_FLAGS, NUMBERS, VERBS, Fault, Reader, World


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
        row += [".patch_replace = true"] if "patch-replace" in said else []
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
                f".verbs = {self.verbs(sub.verbs)}, .gate = GATE_{sub.said.get('gate', 'NONE')}, "
                f".resets = {self.texts([r.path for r in sub.resets])}, "
                f".connect = {str('connect' in sub.said).lower()} }}")

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
                f".otherwise = {c_str(said.get('else', ''))}, "
                f".indexed = {str('indexed' in said).lower()} }}")

    def convert(self, convert):
        return (f"{{ .path = {self.texts(convert.path.split('.'))}, "
                f".wrapper = {c_str(convert.wrapper)}, .outside = {self.texts(convert.outside)}, "
                f".after = {self.texts(convert.after)}, .blanks = {self.texts(convert.blanks)}, "
                f".wraps = {str(convert.way == 'wrap').lower()} }}")

    def kind_row(self, kind):
        row = [f".group = {c_str(kind.file.group)}", f".version = {c_str(kind.file.version)}",
               f".kind = {c_str(kind.name)}", f".list_kind = {c_str(kind.list_kind)}",
               f".api_version = {c_str(kind.api_version)}",
               f".type = {self.type_ref(self.world.types[(kind.stem, kind.name)])}"]
        if kind.what == "kind":
            row += self.resource_row(kind)
        else:
            row += [f".storage = {self.kind_ref(kind)}"]
            row += self.arrays(("columns", "struct schema_column",
                                [self.column(c) for c in kind.columns]))
        body = ",\n".join(f"\t\t{r}" for r in row)
        return f"\t[KIND_{kind.stem}_{kind.name}] = {{\n{body},\n\t}},\n"

    def arrays(self, *members):
        """Rows of arrays with their counts; none for those that are empty."""
        row = []
        for member, c_type, rows in members:
            if rows:
                row += [f".{member} = {self.shared(c_type, member, rows)}",
                        f".n{member} = {len(rows)}"]
        return row

    def resource_row(self, kind):
        flags = [KIND_FLAGS[f] for f in kind.flags]
        flags += ["NAMESPACED"] if kind.scope == "namespaced" else []
        row = [f".resource = {c_str(kind.resource)}", f".singular = {c_str(kind.singular)}",
               f".storage_name = {c_str((kind.stored.file.group or 'core') + '/' + kind.stored.resource)}",
               f".short_names = {self.texts(kind.short)}",
               f".categories = {self.texts(kind.categories)}",
               f".resets = {self.texts([r.path for r in kind.resets])}",
               f".deprecation = {c_str(kind.deprecation)}",
               f".verbs = {self.verbs(kind.verbs)}", f".gate = GATE_{kind.gate}",
               f".flags = {' | '.join('SCHEMA_' + f for f in flags) or '0'}",
               f".storage = {self.kind_ref(kind.stored)}",
               f".place = KIND_{kind.stored.stem}_{kind.stored.name}"]
        row += self.arrays(("subresources", "struct schema_subresource",
                            [self.subresource(kind, s) for s in kind.subresources]),
                           ("columns", "struct schema_column",
                            [self.column(c) for c in kind.columns]),
                           ("selectables", "struct schema_selectable",
                            [self.select(s) for s in kind.selects]),
                           ("converts", "struct schema_convert",
                            [self.convert(c) for c in kind.converts]))
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
        out.write('/* Generated by schema/generate.py. */\n#include "api/schema/schema_tables.h"\n\n'
                  '#include "api/check/checks.h"\n#include "api/table/columns.h"\n#include "api/convert/convert.h"\n'
                  '#include "api/crd/checks.h"\n#include "api/defaults/defaults.h"\n'
                  '#include "api/devices/checks.h"\n#include "api/services/checks.h"\n'
                  '#include "api/write/strategies.h"\n\n'
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
            self.kind_ref(k) for k in sorted(served, key=lambda k: tuple(
                (len(text), text.encode()) for text in (k.resource, k.file.group, k.file.version)))])
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
