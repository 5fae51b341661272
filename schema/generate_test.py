#!/usr/bin/env python3
"""Tests of the generator: what it refuses, and that it says where."""

import io
import os
import re
import tempfile
import unittest

from generate import Writer
from language import Fault, Reader, World

META = """group meta.k8s.io v1
openapi io.meta.v1
type ObjectMeta
	1  name  string
type ListMeta
	1  continue  string
object DeleteOptions
type DeleteOptions
	1  gracePeriodSeconds  int64  pointer
"""

HEAD = "group example.org v1\nopenapi org.example.v1\n"

KIND = """kind Box  "What things are in."
	resource boxes box short=bx
	scope namespaced
	verbs all
type Box
	1  metadata  meta_v1.ObjectMeta
	2  spec      BoxSpec             always
type BoxSpec
	1    things  []Thing          keys=name patch=name max-items=3
	2.1  label   string           gate=Good served
type Thing
	1  name  string  always required enum="a b|c" default="c"
		"What it is called."
"""


def compile_files(**files):
    """The tables of these descriptions, with gates Good and Fine."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for stem, text in {"meta_v1": META, **files}.items():
            paths.append(os.path.join(folder, stem + ".schema"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(text)
        out = io.StringIO()
        Writer(World([Reader(path).file for path in paths], {"Good", "Fine"}), out).write()
        return out.getvalue()


class Generator(unittest.TestCase):
    """Names are sentences, as in the tests in C."""

    def refuses(self, line, what, text):
        """Line `line` of the description is refused, and `what` is in the message."""
        with self.assertRaises(Fault) as caught:
            compile_files(example_v1=HEAD + text)
        where = "example_v1.schema:%d: " % (HEAD.count("\n") + line)
        self.assertRegex(str(caught.exception), re.escape(where) + ".*" + re.escape(what))

    def test_a_kind_becomes_tables(self):
        tables = compile_files(example_v1=HEAD + KIND)
        self.assertIn('.storage_name = S("example.org/boxes")', tables)
        self.assertIn('.name = S("BoxList")', tables)
        self.assertIn('.inline_number = 2, .gate = GATE_Good', tables.replace(
            ".flags = SCHEMA_GATE_SERVED, ", ""))
        self.assertIn('.doc = "What it is called."', tables)
        self.assertRegex(tables, r'S\("a b"\),\s+S\("c"\),\s+NO_STR')

    def test_same_as_copies_kinds_and_stores_them_as_the_others(self):
        copied = "group example.org v1beta1\nopenapi org.example.v1beta1\nsame-as example_v1\n"
        tables = compile_files(example_v1=HEAD + KIND, example_v1beta1=copied)
        self.assertIn('.openapi = S("org.example.v1beta1.Thing")', tables)
        self.assertEqual(tables.count(".storage = &kinds[KIND_example_v1_Box]"), 2)

    def test_resets_are_paths_that_exist(self):
        said = "\tresets spec.things,metadata\n\tsubresource status get resets=spec\ntype Box"
        tables = compile_files(example_v1=HEAD + KIND.replace("type Box", said, 1))
        self.assertRegex(tables, r'S\("spec.things"\),\s+S\("metadata"\),\s+NO_STR')
        self.assertRegex(tables, r"\.verbs = SCHEMA_GET, .*\.resets = texts_")
        self.refuses(5, 'no field "status"', KIND.replace("type Box", "\tresets status\ntype Box", 1))
        self.refuses(5, 'no field "spec.label.x"',
                     KIND.replace("type Box", "\tsubresource s get resets=spec.label.x\ntype Box", 1))

    def test_conversions_follow_from_the_types_of_both_versions(self):
        old = KIND.replace("type Box", """\tstorage example_v1.Box
	convert spec.things wrap exactly
type Box""", 1).replace("1  name  string", "1  name  string\n\t2  size  string  always\n"
                        "\t3  colour  string\n\t4  any  string\n\t5  kind  string")
        new = KIND + "\t2  exactly  Exactly\n\t3  any  string\ntype Exactly\n" \
            "\t1  size  string  always\n\t2  colour  string\n"
        new = new.replace('enum="a b|c" default="c"', "")

        def tables(new_text, old_text):
            beta = HEAD.replace("v1", "v1beta1")
            return compile_files(example_v1=HEAD + new_text, example_v1beta1=beta + old_text)

        made = tables(new, old)
        self.assertRegex(made, r'\.wrapper = S\("exactly"\).*\.wraps = true')
        self.assertRegex(made, r'S\("name"\),\s+S\("any"\),\s+S\("kind"\),\s+NO_STR')
        self.assertRegex(made, r'S\("any"\),\s+S\("kind"\),\s+NO_STR')
        for what, changed in (('has no "size" there', (new, old.replace("size", "extent"))),
                              ('no field "spec.things.exact"', (new, old.replace("wrap exactly",
                                                                                "wrap exact"))),
                              ("only text", (new.replace("size  string", "size  int32"), old)),
                              ("needs no conversion", (new, old.replace(
                                  "\tstorage example_v1.Box\n", "")))):
            with self.assertRaisesRegex(Fault, what):
                tables(*changed)

    def test_deprecated_kinds_have_a_warning(self):
        tables = compile_files(example_v1=HEAD + 'deprecated Box in=1.2 until=1.5 use="b/v1 Bag"\n'
                               + KIND)
        self.assertIn('S("example.org/v1 Box is deprecated in v1.2+, unavailable in v1.5+; '
                      'use b/v1 Bag")', tables)
        self.refuses(1, '"Bag" is no kind', "deprecated Bag in=1.2\n" + KIND)
        self.refuses(1, 'needs "in=RELEASE"', "deprecated Box until=1.2\n" + KIND)

    def test_unknown_types_are_refused(self):
        self.refuses(2, 'no type "Nowhere"', "type A\n\t1  a  Nowhere\n")
        self.refuses(2, 'no type "other_v1.B"', "type A\n\t1  a  []other_v1.B\n")

    def test_repeated_names_and_numbers_are_refused(self):
        self.refuses(3, '"a" is there twice', "type A\n\t1  a  string\n\t2  a  string\n")
        self.refuses(3, "is taken", "type A\n\t1  a  string\n\t1  b  string\n")
        self.refuses(3, "described twice", "type A\n\t1  a  string\ntype A\n")

    def test_attributes_that_make_no_sense_are_refused(self):
        self.refuses(2, '"shiny" means nothing', "type A\n\t1  a  string  shiny\n")
        self.refuses(2, "said twice", "type A\n\t1  a  string  always always\n")
        self.refuses(2, "only a list", "type A\n\t1  a  string  set\n")
        self.refuses(2, 'no "b"', "type A\n\t1  a  []A  keys=b\n")
        self.refuses(2, "needs a gate", "type A\n\t1  a  string  served\n")
        self.refuses(2, 'no gate "Bad"', "type A\n\t1  a  string  gate=Bad\n")
        self.refuses(2, "no format", "type A\n\t1  a  string  format=postcode\n")
        self.refuses(2, 'no "oneof 1" line', "type A\n\t1  a  string  oneof=1\n")

    def test_lines_that_belong_nowhere_are_refused(self):
        self.refuses(1, "must be part of", "\t1  a  string\n")
        self.refuses(1, '"kin" is no', "kin Box\n")
        self.refuses(2, "a field is", "type A\n\ta  string\n")

    def test_kinds_must_be_complete(self):
        self.refuses(1, "is missing", "kind Box\n\tresource boxes box\n")
        self.refuses(1, "lacks a resource", "kind A\n\tscope cluster\ntype A\n\t1  a  string\n")
        self.refuses(1, '"fly" is no verb', KIND.replace("verbs all", "verbs get,fly"))


if __name__ == "__main__":
    unittest.main()
