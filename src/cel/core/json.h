/*
 * json - values of CEL from JSON trees, and back.
 *
 * A tree is not converted: lists and maps read it in place.
 */
#ifndef CEL_CORE_JSON_H
#define CEL_CORE_JSON_H

#include "base/json/json.h"
#include "base/json/writer.h"
#include "cel/core/value.h"

/* Integers are int (uint above INT64_MAX), other numbers double, objects maps of strings. */
struct cel_value cel_of_json(const struct json *v);

/* True when the value is a list or map that a JSON tree is read in place as: the tree. */
bool cel_json_of(const struct cel_value *v, const struct json **ret_tree);

/*
 * Element i of an array, which has so many; the member of an object, or NULL. Going through an
 * array takes a step for each element; of large ones that are asked for more an index is made.
 */
const struct json *cel_json_at(struct cel_eval *ev, const struct json *list, size_t i);
const struct json *cel_json_get(struct cel_eval *ev, const struct json *map, struct str name);

/*
 * Writes the value as protobuf's JSON mapping has it: bytes as base64, times in RFC 3339,
 * durations in seconds ("1.5s"), doubles that JSON lacks as "NaN", "Infinity", "-Infinity", types
 * by name, keys of maps as text, an optional as its value or null. 64-bit integers are numbers.
 */
void cel_write_json(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w);

#endif
