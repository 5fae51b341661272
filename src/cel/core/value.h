/*
 * value - values of CEL expressions.
 *
 * A value has 24 bytes and is passed by value. Text, lists, maps and objects are borrowed: from the
 * variables, from the program's constants, or from the scratch memory of the evaluation. A result
 * is valid as long as all three. Lists, maps and objects are a pointer and a function table, so a
 * device, a JSON tree or a built-in list is read in place without conversion.
 *
 * An error is a value, too: operators propagate it, and && and || may absorb it.
 *
 * Threads: immutable; an evaluation belongs to one thread.
 */
#ifndef CEL_CORE_VALUE_H
#define CEL_CORE_VALUE_H

#include "base/core/arena.h"
#include "base/core/str.h"
#include "base/json/quantity.h"
#include "cel/cel_limits.h"
#include "cel/core/type.h"

enum cel_kind {
	CEL_ERROR, /* zero, so that an uninitialised value is an error */
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
struct cel_semver; /* see core/semver.h */
struct cel_url;
struct cel_named_format;

/* An IP address, with IPv4 in the first four bytes; or a CIDR, with `bits`. */
struct cel_address {
	unsigned char bytes[16];
	bool v6;
	uint8_t bits; /* of a CIDR's prefix */
	bool masked; /* of a CIDR: no bits are set beyond the prefix */
};

/* Special list types: how they implement equality and `+` as the left operand. */
struct cel_list_rules {
	bool (*equal)(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b);
	struct cel_value (*add)(struct cel_eval *ev, const struct cel_value *a,
				const struct cel_value *b);
};

struct cel_list_class {
	size_t (*size)(const void *self);
	/* `index` must be below size. */
	struct cel_value (*at)(struct cel_eval *ev, const void *self, size_t index);
	/*
	 * For Kubernetes' lists of type set and map, which are equal in any order and merged by
	 * `+`. NULL: an ordinary list.
	 */
	const struct cel_list_rules *rules;
};

struct cel_map_class {
	size_t (*size)(const void *self);
	/* Returns CEL_NOTHING (CEL_ERROR with .error NULL) if there is no such key. */
	struct cel_value (*find)(struct cel_eval *ev, const void *self,
				 const struct cel_value *key);
	/* Iterates over the entries: start with *at = 0 and call until false. */
	bool (*next)(struct cel_eval *ev, const void *self, size_t *at, struct cel_value *ret_key,
		     struct cel_value *ret_value);
	/*
	 * Whether the operator `in` finds the key. If NULL, `find` decides. It is for a device's
	 * attributes, where `find` returns an empty map for an unknown domain.
	 */
	bool (*has)(const void *self, const struct cel_value *key);
	/* Compares two maps of this class. NULL: compare entry by entry. */
	bool (*equal)(struct cel_eval *ev, const void *a, const void *b);
};

struct cel_object_class {
	const struct cel_type *(*type)(const void *self);
	/*
	 * Returns CEL_NOTHING (CEL_ERROR with .error NULL) if the field is not set. The field must
	 * be declared.
	 */
	struct cel_value (*get)(struct cel_eval *ev, const void *self, struct str field);
	/* NULL: compare field by field. */
	bool (*equal)(struct cel_eval *ev, const void *a, const void *b);
};

struct cel_value {
	uint8_t kind; /* enum cel_kind */
	int16_t offset; /* of a timestamp: minutes east of UTC as written; only for printing */
	uint32_t nanos; /* of a timestamp, 0..999999999 */
	union {
		bool b;
		int64_t i; /* int; seconds of a timestamp since 1970; nanoseconds of a duration */
		uint64_t u;
		double d;
		struct str s; /* string, bytes */
		const char *error; /* NULL: CEL_NOTHING, for missing keys, fields and variables */
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
 * State of one evaluation, or of many in turn. The caller provides it. New values live in
 * `scratch`, which the caller clears when no result is needed any longer. If `scratch` has a block
 * of its owner (arena_init_in), evaluations use the heap only when the block is full.
 */
struct cel_eval {
	struct arena *scratch;
	uint64_t cost; /* so far; the caller may reset it to 0 */
	uint64_t cost_limit; /* 0: no limit */
	/*
	 * Returns the UTC offset in seconds of an IANA time zone at a time, or false. NULL: only
	 * UTC and numeric offsets are supported. Its context is `zones`.
	 */
	bool (*zone_offset)(void *zones, struct str name, int64_t seconds, int32_t *ret_offset);
	void *zones;
	/*
	 * Private to the evaluation; cel_run() resets all of it to zero.
	 *
	 * Steps so far, see cel_work(); and the current depth in a value, see cel_enter().
	 */
	uint64_t work;
	uint32_t depth;
	/*
	 * Error that ends the evaluation, whatever its result: see cel_exhaust(). NULL: not
	 * exhausted.
	 */
	const char *exhausted;
	uint64_t bound; /* limit of the cost; 0 when exhausted */
	/*
	 * Indexes of large JSON lists and maps, in scratch memory. Set it to NULL when you clear
	 * that or change a tree.
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

/* Returns an error with cel-go's message, in scratch memory. */
struct cel_value cel_errorf(struct cel_eval *ev, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct cel_value cel_no_overload(struct cel_eval *ev); /* "no such overload" */

/*
 * Allocates memory for a result. Returns NULL if the evaluation has used up its memory, which ends
 * it: then return cel_too_large().
 */
void *cel_alloc(struct cel_eval *ev, size_t n);
struct cel_value cel_too_large(void);

/* --- limits ------------------------------------------------------------------------- */

#define CEL_TOO_LONG  "operation cancelled: the evaluation takes too long"
#define CEL_TOO_LARGE "operation cancelled: the evaluation takes too much memory"
#define CEL_TOO_DEEP  "operation cancelled: a value is nested too deeply"

/*
 * Ends the evaluation with that error (one of the above), which nothing absorbs. The current
 * instruction is the last one, and its result is ignored. Returns false, for use in return
 * statements.
 */
bool cel_exhaust(struct cel_eval *ev, const char *why);

/*
 * Counts n steps of some nanoseconds each. Call it wherever you visit parts of a value that were
 * not charged to the cost before: values share parts, so a small value may have astronomically
 * many. Returns false if the limit is exceeded: then stop; the result is ignored.
 */
static inline bool cel_work(struct cel_eval *ev, uint64_t n)
{
	ev->work += n;
	return LIKELY(ev->work <= CEL_WORK_MAX) || cel_exhaust(ev, CEL_TOO_LONG);
}

/*
 * Enters one level of a value, and counts a step. Returns false if that is too deep or too much:
 * then stop. Call cel_leave() in either case.
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

/* Returns a list of `n` values. `items` must live as long as the list. */
struct cel_value cel_list(struct cel_eval *ev, const struct cel_value *items, size_t n);
/*
 * Returns a map of n alternating keys and values (key, value, key, ..) without duplicate keys.
 * `pairs` must live as long as the map. A large map is looked up by binary search.
 */
struct cel_value cel_map(struct cel_eval *ev, const struct cel_value *pairs, size_t n);
/*
 * Returns the numbers 0 to n - 1 sorted with `in_order`, which says whether a may come before b.
 * The sort is stable. `of` is passed to `in_order`. Returns NULL if memory is used up.
 */
const uint32_t *cel_order(struct cel_eval *ev, size_t n,
			  bool (*in_order)(const void *of, uint32_t a, uint32_t b), const void *of);
/*
 * Returns a + b: a new list, or an error. Appending to the result of an earlier call uses the room
 * behind it, so building a list element by element takes linear time in total.
 */
struct cel_value cel_list_append(struct cel_eval *ev, const struct cel_value *a,
				 const struct cel_value *b);
struct cel_value cel_optional(struct cel_eval *ev, struct cel_value v); /* optional.of(v) */
struct cel_value cel_none(void); /* optional.none() */

/* The representation of a list made by cel_list(). */
struct cel_built_list {
	const struct cel_value *items;
	size_t n;
	struct cel_list_room *room; /* for cel_list_append(), or NULL */
};
extern const struct cel_list_class cel_built_list_class;

/* Returns the items if the list is stored as an array, else NULL. */
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

/* Whether fields or elements can be taken from it. */
static inline bool cel_has_parts(const struct cel_value *v)
{
	return v->kind == CEL_MAP || v->kind == CEL_OBJECT || v->kind == CEL_LIST;
}

static inline bool cel_is_true(struct cel_value v)
{
	return v.kind == CEL_BOOL && v.b;
}

/* Returns the type type(v); its parameters are dyn. */
const struct cel_type *cel_value_type(const struct cel_value *v);

/*
 * Returns the number of characters, bytes, elements or entries; 1 for other values. Costs are based
 * on it. For a string this is O(length) for each call.
 */
uint64_t cel_value_size(const struct cel_value *v);

size_t cel_list_size(const struct cel_value *list);
struct cel_value cel_list_at(struct cel_eval *ev, const struct cel_value *list, size_t i);
size_t cel_map_size(const struct cel_value *map);
/* Finds a key by equality: 1, 1u and 1.0 are the same key. Returns CEL_NOTHING if not found. */
struct cel_value cel_map_find(struct cel_eval *ev, const struct cel_value *map,
			      const struct cel_value *key);
bool cel_map_next(struct cel_eval *ev, const struct cel_value *map, size_t *at,
		  struct cel_value *ret_key, struct cel_value *ret_value);

/* --- comparing ---------------------------------------------------------------------- */

/*
 * Implements `==`: numbers are compared by value across types, NaN equals nothing, and values of
 * other different kinds differ. Lists and maps are compared in depth. Never returns an error.
 */
bool cel_equal(struct cel_eval *ev, const struct cel_value *a, const struct cel_value *b);

/*
 * Whether `a == b` is nevertheless the error "no such overload": Kubernetes' own types can only be
 * compared with their own kind and null. In that case `!=` is true, and `b == a` is false.
 */
static inline bool cel_never_equals(const struct cel_value *a, const struct cel_value *b)
{
	return a->kind >= CEL_QUANTITY && b->kind != a->kind && b->kind != CEL_NULL;
}

/*
 * Compares for `<`: numbers across types, bool, string (by code points), bytes, timestamp,
 * duration. Returns false if the values have no order: other kinds, or NaN.
 */
bool cel_compare(const struct cel_value *a, const struct cel_value *b, int *ret_order);

/* Appends the value in CEL syntax, for messages and format("%s"): see value_print.c. */
void cel_value_print(struct cel_eval *ev, const struct cel_value *v, struct buf *out);

/* Appends text, numbers, times and opaque values without quotes, like string(v). */
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
