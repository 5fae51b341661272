/*
 * crd_impl - shared by the files of crd: a compiled structural schema.
 *
 * A node of the schema is one struct crd_schema, made from JSON by crd_schema_compile(). All
 * walkers (pruning, defaults, validation, tables for managedFields) descend node and tree together.
 * The schemas within allOf, anyOf, oneOf and not are nodes of the same struct, which only
 * validation uses.
 */
#ifndef API_CRD_CRD_IMPL_H
#define API_CRD_CRD_IMPL_H

#include <stdatomic.h>

#include "api/crd/crd.h"
#include "base/json/json.h"
#include "base/regex/regex.h"
#include "base/report/field_errors.h"

enum crd_type {
	CRD_OBJECT = 1 << 0,
	CRD_ARRAY = 1 << 1,
	CRD_STRING = 1 << 2,
	CRD_INTEGER = 1 << 3,
	CRD_NUMBER = 1 << 4,
	CRD_BOOLEAN = 1 << 5,
};

enum crd_list { CRD_LIST_ATOMIC, CRD_LIST_SET, CRD_LIST_MAP };

struct cel_budget;
struct crd_cel;
struct crd_format;
struct crd_rules;

struct crd_property {
	struct str name;
	const struct crd_schema *schema;
};

struct crd_schema {
	uint8_t types; /* enum crd_type; 0: any */
	uint8_t list; /* enum crd_list */
	bool atomic_map; /* x-kubernetes-map-type: atomic */
	bool nullable, preserve, embedded, int_or_string;
	bool open; /* has additionalProperties, with or without a schema */
	bool closed; /* additionalProperties: false */
	/* Whether this node or any below has such a thing; lets walkers skip subtrees. */
	bool has_defaults, has_embedded, has_keyed, has_validations;
	uint32_t nproperties;
	const struct crd_property *properties; /* in byte order of their names */
	const struct crd_schema *additional; /* of additionalProperties; or NULL */
	const struct crd_schema *items; /* or NULL */
	const struct json *initial; /* default; or NULL */
	const struct str *keys; /* of CRD_LIST_MAP; ends with p NULL */
	const struct crd_rules *rules; /* or NULL */
	const struct json *validations; /* x-kubernetes-validations; or NULL */
	/*
	 * The node of a resource (the root or an embedded one) as CEL rules see it: with
	 * apiVersion, kind and the names of metadata. NULL: the same as this node. Set only where
	 * there are rules.
	 */
	const struct crd_schema *resource;
	/* Type and rules in CEL (crd/rule.h); NULL: no rules in the schema. */
	const struct crd_cel *cel;
};

struct crd_schemas {
	const struct crd_schema **v;
	size_t n;
};

/* The rules of a value. A limit below zero is not set. */
struct crd_rules {
	double minimum, maximum, multiple_of;
	bool has_minimum, has_maximum, has_multiple_of;
	bool exclusive_minimum, exclusive_maximum;
	bool unique;
	int64_t min_length, max_length;
	int64_t min_items, max_items;
	int64_t min_properties, max_properties;
	struct str format_name; /* as written, if the format is known; n 0: none */
	const struct crd_format *format; /* of text; or NULL */
	const struct regex *format_pattern; /* of the format, if it has one */
	struct str pattern_text;
	const struct regex *pattern; /* or NULL */
	const struct json *values; /* enum: an array; or NULL */
	const struct str *required; /* ends with p NULL; or NULL */
	struct crd_schemas all_of, any_of, one_of;
	const struct crd_schema * not ;
};

struct crd_version {
	struct schema_kind kind; /* first, so that a kind can be cast to its version */
	const struct crd_schema *schema; /* never NULL */
	const struct crd_schema *status; /* of the property "status"; or NULL */
	const struct json *openapi; /* or NULL */
	struct str deprecation;
	struct scale_paths scale;
	bool has_scale, served;
};

struct crd {
	atomic_uint refs;
	struct arena arena;
	const struct json *spec; /* copies: for crd_is_made_of() */
	const struct json *accepted; /* status.acceptedNames, or NULL */
	struct str name, group, uid;
	struct crd_version *versions;
	const struct schema_kind **kinds; /* in the same order */
	size_t n;
};

static inline const struct crd_version *crd_version_of(const struct schema_kind *kind)
{
	return (const struct crd_version *)(const void *)kind;
}

/* --- schemas (crd/schema.c) ------------------------------------------------------- */

/*
 * Compiles a JSONSchemaProps tree and everything below it. All memory is the arena's, and the tree
 * must live as long (defaults and enums point into it). -ERR_INVALID for a pattern that does not
 * compile, or a schema that is nested too deeply. `budget` limits the cost of all patterns and
 * rules together: a pattern beyond it is an error, a rule beyond it gets a fault. NULL: no limit,
 * as for stored definitions.
 */
int crd_schema_compile(struct arena *a, const struct json *props, struct cel_budget *budget,
		       const struct crd_schema **ret_schema, struct error *err);

/* Returns the property of that name, or NULL. */
const struct crd_schema *crd_property(const struct crd_schema *s, struct str name);

/* Returns the schema of a member: its property, else that of additionalProperties; or NULL. */
const struct crd_schema *crd_member(const struct crd_schema *s, struct str name);

/* The types as messages name them: "integer,string". */
struct str crd_type_names(const struct crd_schema *s);

/* Returns the strings of a list, ended by p NULL; NULL if it has none. The strings are borrowed. */
const struct str *crd_texts(struct arena *a, const struct json *list);

/*
 * Finds the JSONSchemaProps at a path such as `.spec.x` or `['a']` from another one. Returns NULL,
 * with upstream's reason, if not found. `brackets`: the second form is allowed. `normal` may be
 * NULL; it gets the path as errors show it: `spec.x`, `labels[a]`.
 */
const struct json *crd_field_path(struct arena *a, const struct json *schema, struct str path,
				  bool brackets, struct buf *normal, const char **ret_why);

/* Whether the name is apiVersion, kind or metadata. */
bool crd_is_meta(struct str name);

/* --- tables (crd/type.c) ---------------------------------------------------------- */

/* Makes the type of a kind's objects: metadata and the schema's fields. -ERR_INVALID: too large. */
int crd_type_build(struct arena *a, const struct crd_schema *root, struct str name,
		   struct str openapi, const struct schema_type **ret_type, struct error *err);

/* --- trees (crd/fit.c) ------------------------------------------------------------ */

/*
 * Removes and reports fields that the schema does not know (report may be NULL). `root`: the value
 * is a resource, whose apiVersion, kind and metadata are kept, known or not. Returns true if it
 * removed anything.
 */
bool crd_prune(struct arena *a, struct json *v, const struct crd_schema *s, bool root,
	       struct decode_report *report);

/*
 * Checks apiVersion, kind and metadata of embedded objects, and fits the metadata; -ERR_BAD_REQUEST
 * if they are malformed. `root`: also those of the value itself.
 */
int crd_coerce(struct arena *a, struct json *v, const struct crd_schema *s, bool root,
	       const struct field_path *path, struct decode_report *report, struct error *err);

/* --- validation (crd/validate.c and others) --------------------------------------- */

/*
 * Validates the value against the schema, with kube-openapi's messages. `base` is the path of the
 * value, or NULL; messages name fields relative to it. `old` is its stored counterpart, or NULL.
 */
void crd_validate_value(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct json *old, const struct field_path *base);

/*
 * Validates apiVersion, kind and metadata of embedded objects; `root`: also those of the value
 * itself.
 */
void crd_validate_embedded(struct validation *v, const struct crd_schema *s,
			   const struct json *value, bool root, const struct field_path *path);

/*
 * Runs the x-kubernetes-validations of the schema and everything below it. Call it last: if v->errs
 * has structural errors, it runs no rules and reports that instead. See crd/rule.h.
 */
void crd_validate_rules(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct json *old);

/* --- formats (crd/format.c) ------------------------------------------------------- */

/* Finds a format by name. Returns NULL if this format is not checked. */
const struct crd_format *crd_format_find(struct str name);

/* A pattern that the format needs, for the caller to compile once; p NULL: none. */
struct str crd_format_pattern(const struct crd_format *format);

/* `pattern` is the compiled crd_format_pattern(), or NULL if that has p NULL. */
bool crd_format_holds(const struct crd_format *format, const struct regex *pattern,
		      struct str text);

/*
 * Parses the format "duration" ("1h30m", "2 minutes") to nanoseconds. Returns false if it is
 * malformed.
 */
bool crd_format_duration(struct str text, int64_t *ret_ns);

#endif
