/*
 * value - what an expression of CEL works on.
 *
 * A value is 24 bytes and is passed by value. Text, lists, maps and objects are
 * borrowed: from the variables, from the program's constants or from the scratch
 * memory of the evaluation that made them; a result lives as long as all three.
 * Lists, maps and objects are an address and a table of functions, so that a
 * device, a JSON tree or a built-in list is read where it lies and nothing is converted.
 *
 * An error is a value, too: operators hand it on, && and || may absorb it.
 *
 * Threads: immutable; an evaluation belongs to one thread.
 */
#ifndef CEL_CORE_VALUE_H
#define CEL_CORE_VALUE_H

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/core/str.h"
#include "base/json/quantity.h"
#include "cel/core/type.h"

enum cel_kind {
	CEL_ERROR, /* zero, so that a forgotten value is none */
	CEL_NULL,
	CEL_BOOL,
	CEL_INT,
	CEL_UINT,
	CEL_DOUBLE,
	CEL_STRING, /* UTF-8 */
	CEL_BYTES,
	CEL_TIMESTAMP,
	CEL_DURATION,
	CEL_LIST,
	CEL_MAP,
	CEL_TYPE,
	CEL_OPTIONAL,
	CEL_OBJECT,
	/* Opaque types of Kubernetes. */
	CEL_QUANTITY,
	CEL_SEMVER,
	CEL_IP,
	CEL_CIDR,
	CEL_URL,
	CEL_FORMAT,
	CEL_KINDS
};

struct cel_eval;
struct cel_value;
struct cel_semver; /* see lib_semver.h */
struct cel_url;
struct cel_named_format;

/* An IP address; IPv4 in the first four bytes. With `bits` it is a CIDR. */
struct cel_address {
	unsigned char bytes[16];
	bool v6;
	uint8_t bits; /* of a CIDR's prefix */
	bool masked; /* of a CIDR: nothing is set behind the prefix */
};

/* What a list that is not an ordinary one does in place of equality and `+`, as left operand. */
struct cel_list_rules {
	bool (*equal)(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b);
	struct cel_value (*add)(struct cel_eval *ev, const struct cel_value *a,
				const struct cel_value *b);
};

struct cel_list_class {
	size_t (*size)(const void *self);
	/* index is below size. */
	struct cel_value (*at)(struct cel_eval *ev, const void *self, size_t index);
	/*
	 * Kubernetes' lists of type set and map are equal in any order and `+` merges them. NULL:
	 * an ordinary list.
	 */
	const struct cel_list_rules *rules;
};

struct cel_map_class {
	size_t (*size)(const void *self);
	/* CEL_ERROR with .error NULL when there is no such key. */
	struct cel_value (*find)(struct cel_eval *ev, const void *self,
				 const struct cel_value *key);
	/* The next entry: set *at to 0 and call until false. */
	bool (*next)(struct cel_eval *ev, const void *self, size_t *at, struct cel_value *ret_key,
		     struct cel_value *ret_value);
	/*
	 * Whether the operator `in` finds the key. NULL: when `find` does; a device's attributes
	 * have an empty map for every domain that is not there.
	 */
	bool (*has)(const void *self, const struct cel_value *key);
	/* Of two maps of this class. NULL: entry by entry. */
	bool (*equal)(struct cel_eval *ev, const void *a, const void *b);
};

struct cel_object_class {
	const struct cel_type *(*type)(const void *self);
	/* CEL_ERROR with .error NULL when the field is not set. The field is declared. */
	struct cel_value (*get)(struct cel_eval *ev, const void *self, struct str field);
	bool (*equal)(struct cel_eval *ev, const void *a, const void *b); /* NULL: field by field */
};

struct cel_value {
	uint8_t kind; /* enum cel_kind */
	int16_t offset; /* of a timestamp: minutes east of UTC as it was written; only printed */
	uint32_t nanos; /* of a timestamp, 0..999999999 */
	union {
		bool b;
		int64_t i; /* int; seconds of a timestamp since 1970; nanoseconds of a duration */
		uint64_t u;
		double d;
		struct str s; /* string, bytes */
		const char *error; /* NULL: nothing was found (only within find and get) */
		const struct cel_type *type;
		const struct cel_value *optional; /* NULL: optional.none() */
		struct {
			const struct cel_list_class *class;
			const void *self;
		} list;
		struct {
			const struct cel_map_class *class;
			const void *self;
		} map;
		struct {
			const struct cel_object_class *class;
			const void *self;
		} object;
		const struct quantity *quantity;
		const struct cel_semver *semver;
		const struct cel_address *address; /* ip, cidr */
		const struct cel_url *url;
		const struct cel_named_format *format;
	};
};

_Static_assert(sizeof(struct cel_value) == 24, "values travel by copy");

/*
 * One evaluation, or many in turn: the caller's storage. What is made meanwhile lives in
 * `scratch`, which the caller clears when no result is needed any more. Given a block of its
 * owner's (arena_init_in), evaluating touches the heap only when that is used up.
 */
struct cel_eval {
	struct arena *scratch;
	uint64_t cost; /* so far; the caller sets it to 0, or keeps counting */
	uint64_t cost_limit; /* 0: none */
	/*
	 * The offset from UTC in seconds that a time zone of the IANA database has at a time, or
	 * false. NULL: only UTC and numeric offsets are known. Its context is `zones`.
	 */
	bool (*zone_offset)(void *zones, struct str name, int64_t seconds, int32_t *ret_offset);
	void *zones;
	/*
	 * The evaluation's own; cel_run() begins with all of it zero.
	 *
	 * Steps so far, see cel_work(); and how deep a walk through a value is, see cel_enter().
	 */
	uint64_t work;
	uint32_t depth;
	/* Why the evaluation is over, whatever its result: see cel_exhaust(). NULL: it is not. */
	const char *exhausted;
	uint64_t bound; /* that the cost must stay below: 0 when exhausted */
	/*
	 * What is remembered of large JSON lists and maps, in scratch memory: NULL whenever that
	 * is cleared or a tree changes.
	 */
	struct cel_json_indexes *indexes;
};

/* --- making ------------------------------------------------------------------------- */

#define CEL_NOTHING       ((struct cel_value){ .kind = CEL_ERROR })
#define CEL_NULL_V        ((struct cel_value){ .kind = CEL_NULL })
#define CEL_BOOL_V(v)     ((struct cel_value){ .kind = CEL_BOOL, .b = (v) })
#define CEL_INT_V(v)      ((struct cel_value){ .kind = CEL_INT, .i = (v) })
#define CEL_UINT_V(v)     ((struct cel_value){ .kind = CEL_UINT, .u = (v) })
#define CEL_DOUBLE_V(v)   ((struct cel_value){ .kind = CEL_DOUBLE, .d = (v) })
#define CEL_STRING_V(v)   ((struct cel_value){ .kind = CEL_STRING, .s = (v) })
#define CEL_BYTES_V(v)    ((struct cel_value){ .kind = CEL_BYTES, .s = (v) })
#define CEL_DURATION_V(v) ((struct cel_value){ .kind = CEL_DURATION, .i = (v) })
#define CEL_TYPE_V(v)     ((struct cel_value){ .kind = CEL_TYPE, .type = (v) })
#define CEL_ERROR_V(text) ((struct cel_value){ .kind = CEL_ERROR, .error = (text) })

/* Seconds of the first and the last timestamp: 0001-01-01T00:00:00Z, 9999-12-31T23:59:59Z. */
#define CEL_TIMESTAMP_MIN INT64_C(-62135596800)
#define CEL_TIMESTAMP_MAX INT64_C(253402300799)

/* An error with cel-go's words, in scratch memory. */
struct cel_value cel_errorf(struct cel_eval *ev, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct cel_value cel_no_overload(struct cel_eval *ev); /* "no such overload" */

/*
 * Memory for a result. NULL when the evaluation used up its memory, which ends it: return
 * cel_too_large().
 */
void *cel_alloc(struct cel_eval *ev, size_t n);
struct cel_value cel_too_large(void);

/* --- limits ------------------------------------------------------------------------- */

#define CEL_TOO_LONG  "operation cancelled: the evaluation takes too long"
#define CEL_TOO_LARGE "operation cancelled: the evaluation takes too much memory"
#define CEL_TOO_DEEP  "operation cancelled: a value is nested too deeply"

/*
 * Ends the evaluation with that error (one of the above), which nothing absorbs: the
 * instruction that runs is the last one, and what it gives back does not matter. False, so
 * that it can be handed on.
 */
bool cel_exhaust(struct cel_eval *ev, const char *why);

/*
 * Counts n steps, each of some nanoseconds. Everybody counts who walks over what the
 * cost is not charged for before; values share parts, so that a small one may have
 * astronomically many. False when it was too much: stop, the result does not matter.
 */
static inline bool cel_work(struct cel_eval *ev, uint64_t n)
{
	ev->work += n;
	return LIKELY(ev->work <= CEL_WORK_MAX) || cel_exhaust(ev, CEL_TOO_LONG);
}

/*
 * One level deeper in a value, and a step. False when that is too deep or too much: stop. Call
 * cel_leave() in either case.
 */
static inline bool cel_enter(struct cel_eval *ev)
{
	ev->depth++;
	if (UNLIKELY(ev->depth > CEL_VALUE_DEPTH_MAX))
		return cel_exhaust(ev, CEL_TOO_DEEP);
	return cel_work(ev, 1);
}

static inline void cel_leave(struct cel_eval *ev)
{
	ev->depth--;
}

/* --- making what has parts ---------------------------------------------------------- */

/* A list of `n` values at `items`, which live as long as the value. */
struct cel_value cel_list(struct cel_eval *ev, const struct cel_value *items, size_t n);
/*
 * A map of n keys and values in turn (key, value, key, ..), without repetition, which live as long
 * as the value. Looking up is a binary search where there are many.
 */
struct cel_value cel_map(struct cel_eval *ev, const struct cel_value *pairs, size_t n);
/*
 * The numbers 0 to n - 1 in the order that `in_order` says two of them have already; equal ones
 * keep theirs. `of` is handed on to it. NULL without memory.
 */
const uint32_t *cel_order(struct cel_eval *ev, size_t n,
			  bool (*in_order)(const void *of, uint32_t a, uint32_t b), const void *of);
/*
 * a + b: another list, or an error. What is appended to the result of an earlier call takes
 * the room behind it, so that building a list piece by piece is linear in all.
 */
struct cel_value cel_list_append(struct cel_eval *ev, const struct cel_value *a,
				 const struct cel_value *b);
struct cel_value cel_optional(struct cel_eval *ev, struct cel_value v); /* optional.of(v) */
struct cel_value cel_none(void); /* optional.none() */

/* What cel_list() makes: class and self of the value. */
struct cel_built_list {
	const struct cel_value *items;
	size_t n;
	struct cel_list_room *room; /* of cel_list_append(); or NULL */
};
extern const struct cel_list_class cel_built_list_class;

/* The items of a list as an array when it is one already; else NULL. */
static inline const struct cel_value *cel_list_items(const struct cel_value *list)
{
	const struct cel_built_list *built = (const struct cel_built_list *)list->list.self;

	return list->list.class == &cel_built_list_class ? built->items : NULL;
}

/* --- reading ------------------------------------------------------------------------ */

static inline bool cel_is_error(struct cel_value v)
{
	return v.kind == CEL_ERROR;
}

static inline bool cel_is_true(struct cel_value v)
{
	return v.kind == CEL_BOOL && v.b;
}

/* The type that type(v) is; its parameters are dyn. */
const struct cel_type *cel_value_type(const struct cel_value *v);

/*
 * Characters, bytes, elements, entries; 1 for all else. What costs are made of. (A string's
 * is counted once per call: O(length).)
 */
uint64_t cel_value_size(const struct cel_value *v);

size_t cel_list_size(const struct cel_value *list);
struct cel_value cel_list_at(struct cel_eval *ev, const struct cel_value *list, size_t i);
size_t cel_map_size(const struct cel_value *map);
/* By equality: 1, 1u and 1.0 are one key. CEL_NOTHING when it is not there. */
struct cel_value cel_map_find(struct cel_eval *ev, const struct cel_value *map,
			      const struct cel_value *key);
bool cel_map_next(struct cel_eval *ev, const struct cel_value *map, size_t *at,
		  struct cel_value *ret_key, struct cel_value *ret_value);

/* --- comparing ---------------------------------------------------------------------- */

/*
 * Equality as `==` has it: numbers by value across their types, NaN equals nothing, values of
 * different kinds differ. Lists and maps in depth. Never an error.
 */
bool cel_equal(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b);

/*
 * Whether `a == b` is the error "no such overload" in spite of that: Kubernetes' own types are
 * compared with each other and null only. `!=` is true then, and `b == a` is false.
 */
static inline bool cel_never_equals(const struct cel_value *a, const struct cel_value *b)
{
	return a->kind >= CEL_QUANTITY && b->kind != a->kind && b->kind != CEL_NULL;
}

/*
 * The order of `<`: numbers across types, bool, string (by code points), bytes, timestamp,
 * duration. False when the two have none: other kinds, NaN.
 */
bool cel_compare(const struct cel_value *a, const struct cel_value *b, int *ret_order);

/*
 * Appends the value as one would write it in CEL, for messages and format("%s"):
 * see value_print.c.
 */
void cel_value_print(struct cel_eval *ev, const struct cel_value *v, struct buf *out);

/* The same of text, numbers, times and opaque values without quotes: what string(v) is. */
void cel_value_text(struct cel_eval *ev, const struct cel_value *v, struct buf *out);

/*
 * operand.key or operand[key]. The operand is neither an error nor an optional. Returns
 * CEL_NOTHING if a map, list or object lacks the key, or if the operand has no parts at all; an
 * error if a list cannot have such a key.
 */
struct cel_value cel_qualify(struct cel_eval *ev, const struct cel_value *operand,
			     const struct cel_value *key);
/* The error for a missing part: "no such key: x" or "index out of bounds: 3". */
struct cel_value cel_missing(struct cel_eval *ev, const struct cel_value *operand,
			     const struct cel_value *key);

#endif
