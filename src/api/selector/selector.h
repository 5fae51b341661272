/*
 * selector - label and field selectors: parsed once, matched against any source.
 *
 * Label selectors: =, ==, !=, in, notin, exists, !exists, as upstream's labels.Parse accepts them.
 * Field selectors: =, ==, !=, with \\ escapes. A function provides the values, so that a selector
 * can match an object's header without a tree.
 */
#ifndef API_SELECTOR_SELECTOR_H
#define API_SELECTOR_SELECTOR_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct json;

enum selector_op {
	SELECTOR_EQUALS,
	SELECTOR_NOT_EQUALS, /* also true when the key is absent */
	SELECTOR_IN,
	SELECTOR_NOT_IN, /* also true when the key is absent */
	SELECTOR_EXISTS,
	SELECTOR_NOT_EXISTS,
	SELECTOR_GREATER, /* "key>5": upstream's Gt, integers only */
	SELECTOR_LESS,
};

struct selector_term {
	struct str key;
	enum selector_op op;
	const struct str *values;
	size_t nvalues;
};

/* All terms must hold. Empty: everything matches. Lives in its arena. */
struct selector {
	const struct selector_term *terms;
	size_t n;
};

/*
 * -ERR_BAD_REQUEST with upstream's message; also for more than SELECTOR_TERMS_MAX requirements, or
 * more than SELECTOR_VALUES_MAX values in all of them.
 */
int selector_parse_labels(struct arena *a, struct str text, struct selector *ret_selector,
			  struct error *err);
int selector_parse_fields(struct arena *a, struct str text, struct selector *ret_selector,
			  struct error *err);

/* Makes a selector of a validated LabelSelector (NULL: everything matches); text is copied. */
struct selector selector_of_tree(struct arena *a, const struct json *tree);

/* Copies into another arena: a watcher outlives its request's. */
struct selector selector_copy(struct arena *a, const struct selector *s);

/* `get` returns the key's value, with p NULL if absent. */
bool selector_matches(const struct selector *s,
		      struct str (*get)(const void *source, struct str key), const void *source);

/* The number of terms and values: the comparisons that a match can take. */
size_t selector_weight(const struct selector *s);

/* Returns the value that `key` must equal, if the selector demands one; else p NULL. */
struct str selector_required_value(const struct selector *s, struct str key);

#endif
