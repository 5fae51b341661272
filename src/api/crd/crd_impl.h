/*
 * crd_impl - what the files of crd share: a structural schema, compiled.
 *
 * A node of the schema is one struct crd_schema, made of JSON by
 * crd_schema_compile(); all walkers (pruning, defaults, validation, tables for
 * managedFields) go down node and tree together. What lies within allOf, anyOf, oneOf
 * and not are nodes of the same struct, which only validation looks at.
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
	bool open; /* has additionalProperties, of any schema or none */
	bool closed; /* additionalProperties: false */
	/* Whether any node from here down has such a thing; what spares walks. */
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
	 * Of a resource, the root or an embedded one, as rules in CEL see it: with apiVersion, kind
	 * and the names of metadata. NULL: as it is. Only where there are rules.
	 */
	const struct crd_schema *resource;
	const struct crd_cel *cel; /* type and rules in CEL (crd/rule.h); NULL: no rules anywhere */
};

struct crd_schemas {
	const struct crd_schema **v;
	size_t n;
};

/* What a value must obey. A limit that is not there is below zero. */
struct crd_rules {
	double minimum, maximum, multiple_of;
	bool has_minimum, has_maximum, has_multiple_of;
	bool exclusive_minimum, exclusive_maximum;
	bool unique;
	int64_t min_length, max_length;
	int64_t min_items, max_items;
	int64_t min_properties, max_properties;
	struct str format_name; /* as written, when it is one that is known; n 0: none */
	const struct crd_format *format; /* of text; or NULL */
	const struct regex *format_pattern; /* of the format, when it has one */
	struct str pattern_text;
	const struct regex *pattern; /* or NULL */
	const struct json *values; /* enum: an array; or NULL */
	const struct str *required; /* ends with p NULL; or NULL */
	struct crd_schemas all_of, any_of, one_of;
	const struct crd_schema * not ;
};

struct crd_version {
	struct schema_kind kind; /* first, so that a kind leads to its version */
	const struct crd_schema *schema; /* never NULL */
	const struct crd_schema *status; /* of the property; or NULL */
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
 * The node of a JSONSchemaProps tree, and all below it; all memory is the arena's, and the
 * tree must live as long (defaults and enums point into it). -ERR_INVALID for a
 * pattern that does not compile, or what is nested too deeply. `budget` is what patterns and rules
 * may take together: a pattern beyond it is an error, a rule beyond it is one with a fault. NULL:
 * there is no such bound, as for what is stored.
 */
int crd_schema_compile(struct arena *a, const struct json *props, struct cel_budget *budget,
		       const struct crd_schema **ret_schema, struct error *err);

/* The property of that name, or NULL. */
const struct crd_schema *crd_property(const struct crd_schema *s, struct str name);

/* What a member of an object is: its property, else what additionalProperties say; or NULL. */
const struct crd_schema *crd_member(const struct crd_schema *s, struct str name);

/* "integer,string": how messages name the types. */
struct str crd_type_names(const struct crd_schema *s);

/* The text of a list's elements, ended by p NULL; NULL when it has none. The text is borrowed. */
const struct str *crd_texts(struct arena *a, const struct json *list);

/*
 * The JSONSchemaProps that a path such as `.spec.x` or `['a']` leads to from another one; NULL
 * with the reason, in upstream's words. `brackets`: the second form is allowed. `normal` is
 * NULL, or gets the path as faults show it: `spec.x`, `labels[a]`.
 */
const struct json *crd_field_path(struct arena *a, const struct json *schema, struct str path,
				  bool brackets, struct buf *normal, const char **ret_why);

/* Whether the name is apiVersion, kind or metadata. */
bool crd_is_meta(struct str name);

/* --- tables (crd/type.c) ---------------------------------------------------------- */

/* The type of a kind's objects: metadata and what the schema has. -ERR_INVALID: too large. */
int crd_type_build(struct arena *a, const struct crd_schema *root, struct str name,
		   struct str openapi, const struct schema_type **ret_type, struct error *err);

/* --- trees (crd/fit.c) ------------------------------------------------------------ */

/*
 * Takes out what the schema does not know, and tells of it (report may be NULL). `root`: the
 * value is a resource, whose apiVersion, kind and metadata stay, known or not. True: something
 * went.
 */
bool crd_prune(struct arena *a, struct json *v, const struct crd_schema *s, bool root,
	       struct decode_report *report);

/* Nulls where none may be, unless a default will take their place. True: something went. */
bool crd_drop_nulls(struct json *v, const struct crd_schema *s);

/* Defaults, wherever the object that would have them is there. True: something came. */
bool crd_fill(struct arena *a, struct json *v, const struct crd_schema *s);

/*
 * apiVersion, kind and metadata of embedded objects are what they must be, else
 * -ERR_BAD_REQUEST; metadata is fitted. `root`: of the value itself, too.
 */
int crd_coerce(struct arena *a, struct json *v, const struct crd_schema *s, bool root,
	       const struct field_path *path, struct decode_report *report, struct error *err);

/* --- validation (crd/validate.c and others) --------------------------------------- */

/*
 * The value against the schema, in kube-openapi's words. `base` is the path of the value, or
 * NULL; messages name fields from there on. `old` is its stored counterpart, or NULL.
 */
void crd_validate_value(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct json *old, const struct field_path *base);

/* Elements of sets and keyed lists may not repeat. */
void crd_validate_lists(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct field_path *path);

/* apiVersion, kind and metadata of embedded objects; `root`: of the value itself, too. */
void crd_validate_embedded(struct validation *v, const struct crd_schema *s,
			   const struct json *value, bool root, const struct field_path *path);

/*
 * x-kubernetes-validations of the schema and all below it, called last: faults of structure
 * keep rules from being evaluated, which is told. See crd_rule.h.
 */
void crd_validate_rules(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct json *old);

/* --- formats (crd/format.c) ------------------------------------------------------- */

/* The format of text of that name; NULL: none that is checked. */
const struct crd_format *crd_format_find(struct str name);

/* A pattern that belongs to it, for whoever compiles it once; p NULL: none. */
struct str crd_format_pattern(const struct crd_format *format);

/* `pattern` is the compiled crd_format_pattern(), or NULL when there is none. */
bool crd_format_holds(const struct crd_format *format, const struct regex *pattern,
		      struct str text);

/* What the format "duration" means, in nanoseconds: "1h30m", "2 minutes". False: it is none. */
bool crd_format_duration(struct str text, int64_t *ret_ns);

#endif
