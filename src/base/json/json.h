/*
 * json - JSON documents as trees in an arena.
 *
 * json_parse() reads strict RFC 8259 text into nodes that keep the order of
 * the source; defaulting, pruning and patching then change the tree in place,
 * and json_print() writes it. Nodes are never freed alone: they die with their
 * arena. Keys and strings without escapes point into the source text, which
 * must therefore outlive the tree.
 *
 * Numbers: what fits is held exactly, as JSON_INT or, above INT64_MAX, as
 * JSON_UINT. Everything with a fraction or an exponent, every integer beyond
 * 64 bits and "-0" is a JSON_DOUBLE, correctly rounded. A number too large for
 * a double is an error.
 *
 * No function here recurses, so the depth of a document never threatens a
 * thread's stack, nor depends on the locale. The readers take NULL for a node
 * and then find nothing, so that lookups may be chained:
 *
 *	name = json_str(json_getz(json_getz(pod, "metadata"), "name"));
 *
 * As with strchr(), the readers return children that may be changed even where
 * the parent is const; whoever holds a shared tree does not.
 * Threads: a tree belongs to one thread, or is changed by none.
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

/* A name that came again in its object. */
struct json_duplicate {
	struct json_duplicate *next;
	struct str path; /* dotted, such as spec.containers[0].name */
	struct str key;
};

/* What a parse tells beside its result; filled on success and on failure. */
struct json_report {
	struct json_duplicate *duplicates; /* in the arena; as their objects end in the source */
	size_t duplicate_count; /* all, also those beyond the limit on the list */
	bool merges; /* YAML that has merge keys, see yaml_repeats() */
	/* Of the first offending byte; zero without a syntax error. */
	size_t offset;
	size_t line, column; /* from 1; columns count bytes */
};

/* Zero means the default. */
struct json_options {
	size_t size_max; /* bytes of source; by default UINT32_MAX, which is also the most */
	size_t depth_max; /* of nested arrays and objects; JSON_DEPTH_MAX */
	size_t duplicates_max; /* length of the list in the report; JSON_DUPLICATES_MAX */
	bool keep_repeated; /* members of one name all stay, unreported: to look for faults only */
	struct json_report *report; /* NULL when not wanted */
};

/*
 * Parses all of `text`. Syntax errors, bad UTF-8, lone surrogates, excessive
 * depth and numbers out of range give -ERR_BAD_REQUEST; a source or a tree over
 * its limit -ERR_TOO_LARGE. `options` may be NULL.
 *
 * A repeated name is not an error: the last value wins, at the place of the
 * first, as Go's decoder has it, and each repetition is reported.
 */
int json_parse(struct arena *a, struct str text, const struct json_options *options,
	       struct json **ret_value, struct error *err);

/*
 * Making nodes. They live in the arena; text and keys are borrowed for as long
 * as the tree lives (use arena_str() where they do not) and must be UTF-8.
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
 * Copies the tree with all its text into `a`; the copy has no key and no
 * sibling. -ERR_TOO_LARGE when the arena's limit would be passed.
 */
int json_copy(struct arena *a, const struct json *v, struct json **ret_copy, struct error *err);

/*
 * A node in `a` that shares text and children with `v`, so that a value can be part of a second
 * tree. It has no key and no sibling. Neither tree may be changed below it.
 */
struct json *json_alias(struct arena *a, const struct json *v);

/*
 * Reading. A value of another type, or NULL, yields nothing; nothing is
 * converted.
 */

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

/* The text of a string; STR_NULL when it is none (a string's p is never NULL). */
static inline struct str json_str(const struct json *v)
{
	return json_is(v, JSON_STRING) ? str_of(v->text, v->n) : STR_NULL;
}

bool json_bool(const struct json *v, bool *ret_value);

/*
 * Integers that the type holds. 1.0 and 1e3 are refused although they are
 * whole: upstream refuses them where a field is an integer.
 */
bool json_i64(const struct json *v, int64_t *ret_value);
bool json_u64(const struct json *v, uint64_t *ret_value);

/* Any number, rounded to the nearest double. */
bool json_f64(const struct json *v, double *ret_value);

/* The member of that name. */
struct json *json_get(const struct json *object, struct str key);
struct json *json_getz(const struct json *object, const char *key);

/* What the member of that name says: its text, or STR_NULL; whether it is true; its number. */
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
 * The value that a JSON Pointer (RFC 6901) names below `root`; NULL when there
 * is none or the pointer is malformed. "-" names no element.
 */
struct json *json_pointer(const struct json *root, struct str pointer);

/* Each child; for the SAFE form the current child may be taken out. */
#define JSON_FOREACH(it, parent) for (struct json *it = json_first(parent); it; it = it->next)
#define JSON_FOREACH_SAFE(it, parent)                                                     \
	for (struct json *it = json_first(parent), *it##_next = it ? it->next : NULL; it; \
	     it = it##_next, it##_next = it ? it->next : NULL)

/*
 * Same value. Members are compared by name, whatever their order. Two integers
 * are compared exactly; beside a double any number is compared as a double, so
 * that 1 equals 1.0 and a double equals what it was printed as.
 */
bool json_equal(const struct json *a, const struct json *b);

/*
 * Changing. The parent's type must fit (asserted). A child given must be in no
 * tree; one returned is in none any more and keeps its key.
 */

/* At the end of an array. */
void json_append(struct json *array, struct json *child);

/* Before the element at `index`; at the end when index is the count. Not beyond. */
void json_insert(struct json *array, size_t index, struct json *child);

/* The member `key`: replaced in its place, else added at the end. The key is borrowed. */
void json_set(struct json *object, struct str key, struct json *child);
void json_setz(struct json *object, const char *key, struct json *child);

/* The same with a node made for the value, whose text is borrowed, too. */
void json_put_str(struct arena *a, struct json *object, const char *key, struct str v);
void json_put_i64(struct arena *a, struct json *object, const char *key, int64_t v);
void json_put_bool(struct arena *a, struct json *object, const char *key, bool v);

/* The member as an object or array: an empty one when it is not there or something else. */
struct json *json_need_object(struct arena *a, struct json *parent, const char *key);
struct json *json_need_array(struct arena *a, struct json *parent, const char *key);

/* Adds a member without looking for one of that name: there must be none. */
void json_add(struct json *object, struct str key, struct json *child);

/* Puts `child` in the place, and under the key, of `old`, a child of `parent`. */
void json_replace(struct json *parent, struct json *old, struct json *child);

/* Takes a child of `parent` out. */
struct json *json_unlink(struct json *parent, struct json *child);

/* Take out by name or index; NULL when there is none. */
struct json *json_remove(struct json *object, struct str key);
struct json *json_remove_at(struct json *array, size_t index);

/*
 * Makes *v the value that *from is, keeping v's place and key; `from` may then
 * not be used any more. Cheaper than json_replace(), which looks for the place.
 */
void json_assign(struct json *v, const struct json *from);

/* Puts members into byte order of their names, in all objects. */
void json_sort(struct arena *a, struct json *v);

/* The same of one object alone; those below stay as they are. */
void json_sort_members(struct arena *a, struct json *object);

/*
 * Printing.
 */

struct json_style {
	unsigned indent; /* spaces per level, as in `"key": value`; 0: compact */
	bool html; /* escape <, >, &, U+2028 and U+2029, as Go's default does */
};

/*
 * Appends the value. Doubles have the shortest digits that read back as the
 * same double, laid out as Go's encoding/json does. There is no newline at the
 * end. -ERR_TOO_LARGE at the buffer's limit, which leaves a part behind. `style`
 * may be NULL: compact.
 */
int json_print(struct buf *b, const struct json *v, const struct json_style *style);

/* Appends a string with its quotes. */
int json_print_str(struct buf *b, struct str s, const struct json_style *style);

#endif
