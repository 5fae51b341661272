/*
 * field_errors - the list of faults that validators fill.
 *
 * An invalid object is rejected with all faults found, each with its field, worded as in upstream's
 * k8s.io/apimachinery field package, because clients and their tests compare the text. All text is
 * in the arena. At most FIELD_ERRORS_MAX faults and 512 KiB of text are kept, as far as the arena
 * has room. The rest are counted in `dropped`, so an object is never considered valid by mistake. A
 * text of more than 8 KiB is cut.
 *
 *	struct field_path spec = field_path_name(NULL, "spec");
 *	struct field_path item = field_path_index(&requests, i);
 *
 *	if (name.n == 0)
 *		field_errors_required(errs, &item, NULL);
 * Threads: one at a time, like its arena.
 */
#ifndef BASE_REPORT_FIELD_ERRORS_H
#define BASE_REPORT_FIELD_ERRORS_H

#include "base/core/arena.h"
#include "base/core/buf.h"

/*
 * A path is a chain on the stack of the functions that descend into an object. Nothing is printed
 * or allocated until a fault is recorded. A parent must outlive its children; names and keys are
 * borrowed.
 */
enum field_path_kind {
	FIELD_PATH_NAME, /* .name */
	FIELD_PATH_INDEX, /* [index] */
	FIELD_PATH_KEY, /* [key] */
};

struct field_path {
	const struct field_path *parent; /* NULL: the root */
	struct str text; /* name or key */
	size_t index;
	enum field_path_kind kind;
};

static inline struct field_path field_path_name(const struct field_path *parent, const char *name)
{
	return (struct field_path){ parent, str_from(name), 0, FIELD_PATH_NAME };
}

static inline struct field_path field_path_index(const struct field_path *parent, size_t index)
{
	return (struct field_path){ parent, STR_NULL, index, FIELD_PATH_INDEX };
}

static inline struct field_path field_path_key(const struct field_path *parent, struct str key)
{
	return (struct field_path){ parent, key, 0, FIELD_PATH_KEY };
}

/*
 * Appends spec.devices.requests[0].exactly or metadata.labels[foo]; "<nil>"
 * for NULL, as upstream.
 */
int field_path_print(const struct field_path *path, struct buf *out);

/* The invalid value, as shown in a fault. Borrowed only during the call. */
enum field_value_kind {
	FIELD_VALUE_OMITTED,
	FIELD_VALUE_STR, /* quoted as Go's %q does */
	FIELD_VALUE_I64,
	FIELD_VALUE_F64,
	FIELD_VALUE_BOOL,
	FIELD_VALUE_JSON, /* text of an object, array or null: shown unchanged */
};

struct field_value {
	enum field_value_kind kind;
	union {
		struct str text;
		int64_t i64;
		double f64;
		bool boolean;
	};
};

#define FIELD_OMITTED ((struct field_value){ .kind = FIELD_VALUE_OMITTED })
#define FIELD_STR(v)  ((struct field_value){ .kind = FIELD_VALUE_STR, .text = (v) })
#define FIELD_I64(v)  ((struct field_value){ .kind = FIELD_VALUE_I64, .i64 = (v) })
#define FIELD_F64(v)  ((struct field_value){ .kind = FIELD_VALUE_F64, .f64 = (v) })
#define FIELD_BOOL(v) ((struct field_value){ .kind = FIELD_VALUE_BOOL, .boolean = (v) })
#define FIELD_JSON(v) ((struct field_value){ .kind = FIELD_VALUE_JSON, .text = (v) })

/*           type           reason in a Status cause   words              shows the value */
#define FIELD_ERROR_MAP(X)                                                    \
	X(NOT_FOUND, "FieldValueNotFound", "Not found", true)                 \
	X(REQUIRED, "FieldValueRequired", "Required value", false)            \
	X(DUPLICATE, "FieldValueDuplicate", "Duplicate value", true)          \
	X(INVALID, "FieldValueInvalid", "Invalid value", true)                \
	X(NOT_SUPPORTED, "FieldValueNotSupported", "Unsupported value", true) \
	X(FORBIDDEN, "FieldValueForbidden", "Forbidden", false)               \
	X(TOO_LONG, "FieldValueTooLong", "Too long", false)                   \
	X(TOO_SHORT, "FieldValueTooShort", "Too short", false)                \
	X(TOO_MANY, "FieldValueTooMany", "Too many", true)                    \
	X(TOO_FEW, "FieldValueTooFew", "Too few", true)                       \
	X(INTERNAL, "InternalError", "Internal error", false)                 \
	X(TYPE_INVALID, "FieldValueTypeInvalid", "Invalid value", true)

#define FIELD_ERROR_ENUM(name, reason, words, shows) FIELD_##name,
enum field_error_type { FIELD_ERROR_MAP(FIELD_ERROR_ENUM) FIELD_ERROR_TYPES };
#undef FIELD_ERROR_ENUM

struct field_error {
	struct field_error *next;
	enum field_error_type type;
	struct str path;
	struct str value; /* as shown; p is NULL when omitted */
	struct str detail; /* may be empty */
};

struct field_errors {
	struct arena *arena;
	struct field_error *first, *last; /* in the order they were found */
	size_t n; /* in the list */
	size_t bytes; /* of their texts */
	size_t dropped; /* found, but not kept */
};

void field_errors_init(struct field_errors *fe, struct arena *arena);

/* Whether further faults are only counted, so their text need not be made. */
bool field_errors_full(const struct field_errors *fe);

static inline bool field_errors_any(const struct field_errors *fe)
{
	return fe->n + fe->dropped > 0;
}

/* The general form. `detail` is copied; it may be STR_NULL. */
void field_errors_add(struct field_errors *fe, enum field_error_type type,
		      const struct field_path *path, struct field_value value, struct str detail);
void field_errors_addf(struct field_errors *fe, enum field_error_type type,
		       const struct field_path *path, struct field_value value, const char *fmt,
		       ...) PRINTF_LIKE(5, 6);

/* One per constructor of upstream, with its wording. A detail may be NULL. */
void field_errors_required(struct field_errors *fe, const struct field_path *path,
			   const char *detail);
void field_errors_forbidden(struct field_errors *fe, const struct field_path *path,
			    const char *detail);
void field_errors_invalid(struct field_errors *fe, const struct field_path *path,
			  struct field_value value, const char *detail);
void field_errors_not_found(struct field_errors *fe, const struct field_path *path,
			    struct field_value value);
void field_errors_duplicate(struct field_errors *fe, const struct field_path *path,
			    struct field_value value);
void field_errors_internal(struct field_errors *fe, const struct field_path *path,
			   const struct error *cause);

/* The supported values are listed in the given order. */
void field_errors_not_supported(struct field_errors *fe, const struct field_path *path,
				struct field_value value, const struct str *supported, size_t n);

/* A negative limit or count is not shown. */
void field_errors_too_long(struct field_errors *fe, const struct field_path *path,
			   int64_t max_bytes);
void field_errors_too_long_characters(struct field_errors *fe, const struct field_path *path,
				      int64_t max);
void field_errors_too_many(struct field_errors *fe, const struct field_path *path, int64_t n,
			   int64_t max);
void field_errors_too_few(struct field_errors *fe, const struct field_path *path, int64_t n,
			  int64_t min);

/* The reason of a Status cause, such as "FieldValueInvalid". */
const char *field_error_reason(enum field_error_type type);

/* Appends the message of a Status cause: `Invalid value: "x": must be ..`, without the path. */
int field_error_print_body(const struct field_error *e, struct buf *out);

/*
 * Appends the text after `is invalid: ` in a Status: `path: body`, or `[path: body, path: body]`
 * for several. Equal ones are listed once. For dropped faults it adds their number.
 */
int field_errors_aggregate(const struct field_errors *fe, struct buf *out);

#endif
