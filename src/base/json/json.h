/*
 * json - JSON documents as trees in an arena.
 *
 * json_parse() reads strict RFC 8259 text into nodes in the order of the source. Defaulting,
 * pruning and patching then change the tree in place, and json_print() writes it. Nodes are never
 * freed alone: they are freed with their arena. Keys and strings without escapes point into the
 * source text, which must outlive the tree.
 *
 * Numbers: integers that fit are exact, as JSON_INT or, above INT64_MAX, as JSON_UINT. Numbers with
 * a fraction or an exponent, integers beyond 64 bits and "-0" are JSON_DOUBLE, correctly rounded. A
 * number too large for a double is an error.
 *
 * No function here recurses, so a deep document cannot overflow the stack. Nothing depends on the
 * locale. The readers accept NULL as a node and then find nothing, so lookups may be chained:
 *
 *	name = json_str(json_getz(json_getz(pod, "metadata"), "name"));
 *
 * Like strchr(), the readers return children without const even if the parent is const; do not
 * change children of a shared tree.
 * Threads: a tree belongs to one thread, or is not changed by any.
 */
#ifndef BASE_JSON_JSON_H
#define BASE_JSON_JSON_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_INT,
	JSON_UINT, /* only values above INT64_MAX */
	JSON_DOUBLE, /* finite */
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/*
 * One value. Read the fields freely; change links, counts and types only
 * through the functions below. A node is child of at most one parent.
 */
struct json {
	struct json *next; /* sibling, or NULL */
	const char *key; /* UTF-8, not terminated; NULL outside objects */
	union {
		bool boolean;
		int64_t i64;
		uint64_t u64;
		double f64;
		const char *text; /* UTF-8, not terminated, never NULL */
		struct {
			struct json *first, *last;
		};
	};
	uint32_t key_n;
	uint32_t n; /* bytes of a string; children of an array or object */
	enum json_type type;
};

/*
 * Parsing.
 */

/* A name that was repeated in its object. */
struct json_duplicate {
	struct json_duplicate *next;
	struct str path; /* dotted, such as spec.containers[0].name */
	struct str key;
};

/* Additional results of a parse; filled in on success and on failure. */
struct json_report {
	struct json_duplicate *duplicates; /* in the arena; ordered by the end of their objects */
	size_t duplicate_count; /* all of them, also beyond the limit of the list */
	bool merges; /* YAML that has merge keys, see yaml_repeats() */
	/* The position of a syntax error; zero without one. */
	size_t offset;
	size_t line, column; /* from 1; columns count bytes */
};

/* Zero means the default. */
struct json_options {
	size_t size_max; /* bytes of source; UINT32_MAX, which is also the maximum */
	size_t depth_max; /* of nested arrays and objects; JSON_DEPTH_MAX */
	size_t duplicates_max; /* length of the list in the report; JSON_DUPLICATES_MAX */
	bool keep_repeated; /* keep all members of one name, unreported: only for finding faults */
	struct json_report *report; /* NULL when not wanted */
};

/*
 * Parses all of `text`. Syntax errors, invalid UTF-8, lone surrogates, excessive depth and numbers
 * out of range return -ERR_BAD_REQUEST; a source or a tree above its limit returns -ERR_TOO_LARGE.
 * `options` may be NULL.
 *
 * A repeated name is not an error: the last value wins, in the place of the first, as in Go's
 * decoder, and each repetition is reported.
 */
int json_parse(struct arena *a, struct str text, const struct json_options *options,
	       struct json **ret_value, struct error *err);

/*
 * Making nodes. They are allocated in the arena. Text and keys are borrowed and must outlive the
 * tree (use arena_str() if they don't), and must be UTF-8.
 */

struct json *json_make_null(struct arena *a);
struct json *json_make_bool(struct arena *a, bool v);
struct json *json_make_i64(struct arena *a, int64_t v);
struct json *json_make_u64(struct arena *a, uint64_t v);
struct json *json_make_f64(struct arena *a, double v); /* v is finite */
struct json *json_make_str(struct arena *a, struct str v);
struct json *json_make_array(struct arena *a);
struct json *json_make_object(struct arena *a);

/*
 * Copies the tree with all its text into `a`. The copy has no key and no sibling. Returns
 * -ERR_TOO_LARGE if the arena's limit would be exceeded.
 */
int json_copy(struct arena *a, const struct json *v, struct json **ret_copy, struct error *err);

/*
 * A node in `a` that shares text and children with `v`, so that a value can be part of a second
 * tree. It has no key and no sibling. Neither tree may be changed below it.
 */
struct json *json_alias(struct arena *a, const struct json *v);

/* Reading. A value of a different type, or NULL, yields nothing; there is no conversion. */

static inline bool json_is(const struct json *v, enum json_type type)
{
	return v && v->type == type;
}

static inline bool json_is_container(const struct json *v)
{
	return v && v->type >= JSON_ARRAY;
}

/* Children of an array or object, else 0. */
static inline size_t json_count(const struct json *v)
{
	return json_is_container(v) ? v->n : 0;
}

static inline struct json *json_first(const struct json *v)
{
	return json_is_container(v) ? v->first : NULL;
}

/* The name of a member; empty outside objects. */
static inline struct str json_key(const struct json *v)
{
	return v ? str_of(v->key, v->key_n) : STR_NULL;
}

/* The text of a string, whose p is never NULL; STR_NULL if it is not a string. */
static inline struct str json_str(const struct json *v)
{
	return json_is(v, JSON_STRING) ? str_of(v->text, v->n) : STR_NULL;
}

bool json_bool(const struct json *v, bool *ret_value);

/*
 * Integers that fit in the type. 1.0 and 1e3 are rejected although they are whole, because upstream
 * rejects them for integer fields.
 */
bool json_i64(const struct json *v, int64_t *ret_value);
bool json_u64(const struct json *v, uint64_t *ret_value);

/* Any number, rounded to the nearest double. */
bool json_f64(const struct json *v, double *ret_value);

/* The member of that name. */
struct json *json_get(const struct json *object, struct str key);
struct json *json_getz(const struct json *object, const char *key);

/* The text of the member of that name, or STR_NULL; whether it is true; its number. */
static inline struct str json_text_at(const struct json *object, const char *key)
{
	return json_str(json_getz(object, key));
}

bool json_true_at(const struct json *object, const char *key);
int64_t json_i64_at(const struct json *object, const char *key, int64_t absent);

/* Whether an array has that text. */
bool json_has_text(const struct json *array, struct str text);

/* The first element of an array that has this text as the member `key`; or NULL. */
struct json *json_find(const struct json *array, const char *key, struct str text);

/* The element at that index. */
struct json *json_at(const struct json *array, size_t index);

/*
 * The value at a JSON Pointer (RFC 6901) below `root`. Returns NULL if not found, or if the pointer
 * is malformed. "-" does not refer to an element.
 */
struct json *json_pointer(const struct json *root, struct str pointer);

/* Iterates over the children. In the SAFE form the current child may be removed. */
#define JSON_FOREACH(it, parent) for (struct json *it = json_first(parent); it; it = it->next)
#define JSON_FOREACH_SAFE(it, parent)                                                     \
	for (struct json *it = json_first(parent), *it##_next = it ? it->next : NULL; it; \
	     it = it##_next, it##_next = it ? it->next : NULL)

/*
 * Whether the values are equal. Members are compared by name, in any order. Two integers are
 * compared exactly. If one number is a double, both are compared as doubles, so that 1 equals 1.0
 * and a double equals its printed form. NULL, an absent value, equals only NULL.
 */
bool json_equal(const struct json *a, const struct json *b);

/* The members of an object in the order of their names: json_count(object) of them. */
struct json **json_sorted(struct arena *a, const struct json *object);

/* Compares the names of two members in such an array, as qsort() calls it. */
int json_key_order(const void *a, const void *b);

/*
 * Changing. The parent must have the right type (asserted). A child passed in must not be in a
 * tree; a child returned is no longer in a tree, and keeps its key.
 */

/* Appends to an array. */
void json_append(struct json *array, struct json *child);

/* Inserts before the element at `index`; at the end if index is the count. Not beyond. */
void json_insert(struct json *array, size_t index, struct json *child);

/* Sets the member `key`: replaces it in its place, or adds it at the end. The key is borrowed. */
void json_set(struct json *object, struct str key, struct json *child);
void json_setz(struct json *object, const char *key, struct json *child);

/* The same with a new node for the value, whose text is borrowed, too. */
void json_put_str(struct arena *a, struct json *object, const char *key, struct str v);
void json_put_i64(struct arena *a, struct json *object, const char *key, int64_t v);
void json_put_bool(struct arena *a, struct json *object, const char *key, bool v);

/* The member as an object or array; made an empty one if it is missing or of a different type. */
struct json *json_need_object(struct arena *a, struct json *parent, const char *key);
struct json *json_need_array(struct arena *a, struct json *parent, const char *key);

/* Adds a member without checking for one of that name, which must not exist. */
void json_add(struct json *object, struct str key, struct json *child);

/* Puts `child` in the place, and under the key, of `old`, a child of `parent`. */
void json_replace(struct json *parent, struct json *old, struct json *child);

/* Removes a child of `parent`. */
struct json *json_unlink(struct json *parent, struct json *child);

/* Removes by name or index; returns NULL if not found. */
struct json *json_remove(struct json *object, struct str key);
struct json *json_remove_at(struct json *array, size_t index);

/*
 * Gives *v the value of *from, keeping v's place and key. `from` must not be used after that.
 * Cheaper than json_replace(), which searches for the place.
 */
void json_assign(struct json *v, const struct json *from);

/* Sorts the members of all objects by the bytes of their names. */
void json_sort(struct arena *a, struct json *v);

/* The same for one object only, not for those inside it. */
void json_sort_members(struct arena *a, struct json *object);

/*
 * Printing.
 */

struct json_style {
	unsigned indent; /* spaces per level, as in `"key": value`; 0: compact */
	bool html; /* escape <, >, &, U+2028 and U+2029, as Go's default does */
};

/*
 * Appends the value. Doubles have the shortest digits that read back as the same double, formatted
 * as in Go's encoding/json. There is no newline at the end. Returns -ERR_TOO_LARGE at the buffer's
 * limit, which leaves a partial text. `style` may be NULL: compact.
 */
int json_print(struct buf *b, const struct json *v, const struct json_style *style);

/* True if json_print() writes at most `max` bytes for the value, in compact form. */
bool json_fits(const struct json *v, size_t max);

/* Appends a string with its quotes. */
int json_print_str(struct buf *b, struct str s, const struct json_style *style);

#endif
