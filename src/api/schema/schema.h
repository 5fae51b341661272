/*
 * schema - the tables that describe API types.
 *
 * Each kind is described once, in schema/ (see schema/README.md for the language). A generator
 * compiles the descriptions into constant tables of the structs below. Decoding, pruning,
 * defaulting, validation, patches, field ownership, protobuf, OpenAPI, `explain` and Table output
 * all work on schema and tree (base/json/json.h) and know no kind by name. For a
 * CustomResourceDefinition, crd.h builds the same structs at run time.
 *
 * A rule that tables cannot express is a C function that a row names: a check, a strategy, a
 * conversion.
 * Threads: all tables are constant; any thread may read them.
 */
#ifndef API_SCHEMA_SCHEMA_H
#define API_SCHEMA_SCHEMA_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct buf;
struct crd;
struct delete_options; /* api/write/write.h */
struct field_path;
struct json;
struct schema_field;
struct schema_kind;
struct schema_type;
struct validation; /* api/validate/validate.h */
struct write; /* api/write/write.h */

/* The type of a single value. */
enum schema_value {
	SCHEMA_STRING,
	SCHEMA_BOOL,
	SCHEMA_INT32,
	SCHEMA_INT64,
	SCHEMA_DOUBLE,
	SCHEMA_BYTES, /* base64 text */
	SCHEMA_TIME, /* RFC 3339, seconds; may be null */
	SCHEMA_MICRO_TIME, /* RFC 3339 with six digits; may be null */
	SCHEMA_DURATION, /* Go's "1h30m" */
	SCHEMA_QUANTITY, /* text; a number is converted to text */
	SCHEMA_INT_OR_STRING,
	SCHEMA_RAW_OBJECT, /* RawExtension, FieldsV1: any JSON object, kept unchanged */
	SCHEMA_ANY, /* any JSON value, kept unchanged (JSON, JSONSchemaProps' defaults) */
	SCHEMA_OBJECT, /* an object of type `type` */
	/* Only in a CRD's schema; `type` is JSONSchemaProps: */
	SCHEMA_PROPS_OR_LIST, /* a JSONSchemaProps, or a list of them */
	SCHEMA_PROPS_OR_BOOL,
	SCHEMA_PROPS_OR_STRINGS, /* a JSONSchemaProps, or a list of strings */
	/*
	 * Only in custom kinds: a list or map inside a list or map. `type` has one field, which
	 * describes the inner list or map (schema_element()).
	 */
	SCHEMA_NESTED,
};

/* How many values a field holds. */
enum schema_shape {
	SCHEMA_ONE,
	SCHEMA_LIST,
	SCHEMA_MAP, /* text to value */
	SCHEMA_MAP_OF_LISTS, /* text to list of values (`extra` of a user) */
};

/* The granularity of field ownership in a list or map: x-kubernetes-list-type, -map-type. */
enum schema_merge {
	SCHEMA_GRANULAR, /* the default for objects and maps */
	SCHEMA_ATOMIC, /* the default for lists */
	SCHEMA_LIST_SET,
	SCHEMA_LIST_MAP, /* keyed by `list_keys` */
};

enum schema_format {
	SCHEMA_FORMAT_NONE,
	SCHEMA_FORMAT_DNS_LABEL, /* RFC 1123 label, up to 63 */
	SCHEMA_FORMAT_DNS_SUBDOMAIN, /* RFC 1123 subdomain, up to 253 */
	SCHEMA_FORMAT_DNS_SUBDOMAIN_CASELESS, /* the same, but upper case is allowed */
	SCHEMA_FORMAT_DNS1035_LABEL,
	SCHEMA_FORMAT_LABEL_KEY, /* a qualified name */
	SCHEMA_FORMAT_LABEL_VALUE,
	SCHEMA_FORMAT_QUALIFIED_NAME, /* [domain/]C identifier of resource.k8s.io */
	SCHEMA_FORMAT_FULLY_QUALIFIED_NAME, /* the same, but the domain is required */
	SCHEMA_FORMAT_POOL_NAME, /* subdomains joined by '/' */
	SCHEMA_FORMAT_UUID, /* 36 characters, lower case */
	SCHEMA_FORMAT_SEMVER, /* strict SemVer 2.0.0 */
	SCHEMA_FORMAT_C_IDENTIFIER,
	SCHEMA_FORMAT_CONDITION_TYPE,
};

enum schema_flag {
	SCHEMA_REQUIRED = 1 << 0, /* must be present and not empty */
	SCHEMA_ALWAYS = 1 << 1, /* upstream has no omitempty: it is printed even when empty */
	SCHEMA_NULLABLE = 1 << 2, /* null is kept (otherwise null means absent) */
	SCHEMA_IMMUTABLE = 1 << 3, /* may not change once the object exists */
	SCHEMA_UNIQUE = 1 << 4, /* elements of a list, or their keys, may not repeat */
	SCHEMA_HAS_MIN = 1 << 5, /* `min` applies */
	SCHEMA_HAS_MAX = 1 << 6,
	SCHEMA_POINTER = 1 << 7, /* optional scalar whose zero value differs from absence */
	SCHEMA_GATE_SERVED = 1 << 8, /* if its gate is off, it is also removed from replies */
	SCHEMA_CHARACTERS = 1 << 9, /* limits of text count characters, not bytes */
	SCHEMA_DECLARED = 1 << 10, /* OpenAPI lists it as required (though it may be empty) */
	SCHEMA_NO_MODIFY = 1 << 11, /* may be set and cleared, but not changed while it is set */
	/* A value outside its enum is rejected by a check, not by the table. */
	SCHEMA_OPEN = 1 << 12,
};

/*
 * Functions that rows name, for rules that tables cannot express. Headers declare such functions
 * with these types. A check of a field gets the field's value; a check of a type gets the object.
 * During either, v->old_value is the stored counterpart, or NULL. A fill sets defaults of an object
 * after the defaults of the tables.
 */
typedef void schema_check(struct validation *v, const struct json *value,
			  const struct field_path *path);
typedef void schema_check_kind(struct validation *v, const struct json *object);
typedef void schema_check_update(struct validation *v, const struct json *object,
				 const struct json *old);
typedef void schema_fill(struct arena *a, struct json *parent, int64_t now_ns);

/* The rules of a field beyond its type. Fields with equal rules share one. */
struct schema_rules {
	int64_t min, max; /* of a number; with HAS_MIN and HAS_MAX */
	/* In bytes, or characters with CHARACTERS; for a list, of each element; 0: no limit. */
	uint32_t max_length;
	uint32_t min_items, max_items; /* of a list or map; max 0: no limit */
	enum schema_format format; /* of text; for a list, of each element */
	enum schema_format key_format; /* of a map's keys */
	uint32_t key_max_length;
	const struct str *values; /* the allowed values (an enum), ended by p NULL; NULL: any */
	/*
	 * With UNIQUE: the members that distinguish elements of a list, ended by p NULL. NULL: the
	 * field's list_keys, or the whole element.
	 */
	const struct str *unique_keys;
	struct str initial; /* default, as JSON text; p NULL: none */
	/* Called with the field's whole value and its path, if the field is present. */
	schema_check *check;
	/*
	 * Called with the object that has the field, whether the field is present or not, after the
	 * object's other defaults were set. Use it for a default that depends on sibling fields.
	 */
	schema_fill *fill;
};

struct schema_field {
	struct str name; /* in JSON */
	const struct schema_type *type; /* of SCHEMA_OBJECT and SCHEMA_PROPS_*, else NULL */
	const struct schema_rules *rules; /* or NULL */
	const char *doc; /* one sentence for `explain`; or NULL */
	const struct str *list_keys; /* of SCHEMA_LIST_MAP; ends with p NULL */
	struct str patch_key; /* strategic merge: key that merges a list; p NULL: replace */
	uint16_t number; /* in protobuf; 0: not in protobuf */
	/*
	 * The number of the protobuf message that holds this field, if JSON has no such level
	 * (Volume); or 0.
	 */
	uint16_t inline_number;
	/* The number of a second such message inside it (RuleWithOperations); or 0. */
	uint16_t inline_inner;
	uint16_t flags; /* enum schema_flag */
	uint8_t value; /* enum schema_value */
	uint8_t shape; /* enum schema_shape */
	uint8_t merge; /* enum schema_merge */
	uint8_t gate; /* enum gate, GATE_NONE when always on */
	uint8_t oneof; /* the number, from 1, of the type's union that it belongs to; 0: none */
	bool patch_merge; /* strategic merge: lists of scalars that merge */
	bool patch_retain_keys; /* strategic merge: strategy retainKeys */
	bool patch_replace; /* strategic merge: an object that is replaced, not merged */
};

/* A group of members of a type. Exactly one of them, or at most one, may be present. */
struct schema_union {
	bool required; /* exactly one; else at most one */
};

struct schema_type {
	struct str name; /* "ResourceSliceSpec" */
	struct str openapi; /* "io.k8s.api.resource.v1.ResourceSliceSpec" */
	const char *doc;
	const struct schema_field *fields; /* in upstream's order, which is ascending by number */
	const uint16_t *by_name; /* indexes of `fields` in byte order of the names */
	const struct schema_union *unions;
	uint16_t nfields;
	uint8_t nunions;
	bool atomic; /* x-kubernetes-map-type: atomic */
	bool preserve; /* unknown fields are kept */
	/* Called for each object of the type, after its fields were validated. */
	schema_check *check;
};

/* --- kinds ---------------------------------------------------------------------- */

enum schema_verb {
	SCHEMA_GET = 1 << 0,
	SCHEMA_LIST_VERB = 1 << 1,
	SCHEMA_WATCH = 1 << 2,
	SCHEMA_CREATE = 1 << 3,
	SCHEMA_UPDATE = 1 << 4,
	SCHEMA_PATCH = 1 << 5,
	SCHEMA_DELETE = 1 << 6,
	SCHEMA_DELETE_COLLECTION = 1 << 7,
	SCHEMA_ALL_VERBS = 0xff,
};

/*
 * The fields of an object that its Scale shows (scale.h), as dotted names ("spec.replicas"), with
 * or without a leading dot.
 */
struct scale_paths {
	struct str replicas; /* the wanted count, which clients can set */
	struct str status_replicas; /* the count that runs now; 0 if the field is missing */
	/*
	 * A string, a LabelSelector or a map of labels. If the path is empty or the field is
	 * missing, the Scale has no selector.
	 */
	struct str selector;
};

struct schema_subresource {
	struct str name; /* "status" */
	/*
	 * The kind of the request and the reply: the kind itself, or another (Binding, Eviction,
	 * Scale).
	 */
	struct str group, version, kind;
	const struct str *resets; /* see schema_resets() */
	uint16_t verbs;
	uint8_t gate; /* GATE_NONE when always on */
	/*
	 * The server proxies the request to another server (log, exec, proxy). `kind` describes its
	 * parameters.
	 */
	bool connect;
	/* Of "scale"; NULL: the paths that all built-in kinds use. */
	const struct scale_paths *scale;
};

/* A column of `kubectl get`. */
struct schema_column {
	const char *name, *type, *format, *doc;
	int priority; /* 0: always; 1: with -o wide */
	/*
	 * The path of the value as dotted names ("spec.driver"). If it is NULL, `cell` appends the
	 * JSON text of the value.
	 */
	const char *path;
	void (*cell)(const struct json *object, int64_t now_ns, struct buf *json_out);
	/* NULL except for a custom kind, which has neither `path` nor `cell`. */
	const struct jsonpath *jsonpath;
};

/* A field that field selectors may use, beside metadata.name and metadata.namespace. */
struct schema_selectable {
	struct str path; /* "spec.nodeName" */
	struct str initial; /* the value of an absent field: "" or "false" */
	/* The same field in the storage version; usually equal to `path`. */
	struct str storage_path;
	struct str otherwise; /* the later field that counts while this one is empty; or empty */
	bool indexed; /* watchers that select one value are found by an index */
};

/*
 * A difference between this version and the storage version: one of the two wraps some members of
 * an object in another object. Applies to each object at the path, which may end at a list of
 * objects.
 */
struct schema_convert {
	const struct str *path; /* names, ended by p NULL */
	struct str wrapper; /* the member whose value is the wrapping object */
	const struct str *outside; /* members that stay beside the wrapper */
	/* Those of `outside` that follow the other members in the flat form; or NULL. */
	const struct str *after;
	/* String members of the wrapper that are present even when empty; or NULL. */
	const struct str *blanks;
	/*
	 * True: the storage version has the wrapper, unless it would be blank; false: this version
	 * has it
	 */
	bool wraps;
};

/* The behaviour of writes of a kind. */
enum schema_kind_flag {
	SCHEMA_NAMESPACED = 1 << 0,
	SCHEMA_UNCONDITIONAL_UPDATE = 1 << 1, /* updates without a resourceVersion are allowed */
	SCHEMA_CREATE_ON_UPDATE = 1 << 2, /* a PUT of an object that does not exist creates it */
	SCHEMA_RETURN_DELETED = 1 << 3, /* DELETE replies with the object instead of a Status */
	SCHEMA_GENERATION = 1 << 4, /* metadata.generation counts changes of spec */
	SCHEMA_STATUS = 1 << 5, /* has a status that only /status writes */
	SCHEMA_GRACEFUL = 1 << 6, /* deletion waits for its grace period (pods) */
	SCHEMA_REVIEW = 1 << 7, /* create replies and stores nothing (SubjectAccessReview) */
	SCHEMA_EVENTS = 1 << 8, /* objects expire after --event-ttl */
	SCHEMA_PATH_NAMES = 1 << 9, /* names are path segments (RBAC), not DNS subdomains */
	SCHEMA_IMMUTABLE_SPEC = 1 << 10,
	SCHEMA_DNS_LABEL_NAMES = 1 << 11, /* names are DNS labels (namespaces) */
	SCHEMA_DNS1035_NAMES = 1 << 12, /* names are DNS-1035 labels (services) */
	SCHEMA_ORPHAN_BY_DEFAULT = 1 << 13,
	SCHEMA_STATUS_ON_CREATE = 1 << 14, /* a new object may have a status (nodes) */
	SCHEMA_STATUS_KEEPS_META = 1 << 15, /* a status write changes no metadata */
	SCHEMA_SPEC_FINALIZERS = 1 << 16, /* spec.finalizers hold it, too (namespaces) */
	SCHEMA_OWN_NAMESPACE = 1 << 17, /* policies see it as an object of itself (namespaces) */
	SCHEMA_NETWORK_NAMES = 1 << 18, /* network data has two names (KEP-4817, write/alias.c) */
};

struct schema_kind {
	struct str group; /* "" for core */
	struct str version;
	struct str kind, list_kind;
	struct str resource, singular; /* "resourceclaims", "resourceclaim" */
	struct str api_version; /* "resource.k8s.io/v1", "v1" */
	/* "resource.k8s.io/resourceclaims", "core/pods": equal for all versions. */
	struct str storage_name;
	const struct str *short_names, *categories; /* end with p NULL; or NULL */
	const struct str *resets; /* see schema_resets() */
	/* Compiled kinds: the warning for users; p NULL: not deprecated. */
	struct str deprecation;
	const struct schema_type *type;
	const struct schema_subresource *subresources;
	/* Name and Age are omitted where table.h adds them by default. */
	const struct schema_column *columns;
	const struct schema_selectable *selectables;
	const struct schema_convert *converts;
	uint8_t nsubresources, ncolumns, nselectables, nconverts;
	uint8_t gate;
	uint16_t verbs;
	/* Compiled kinds: the number of the storage version; 0 for custom kinds. */
	uint16_t place;
	uint32_t flags;
	const struct crd *custom; /* built at run time (crd.h); NULL: compiled in */

	/*
	 * The storage version. Objects of other versions are converted when they are read and
	 * written (convert.h): by the rows of `converts`, and by the two functions for differences
	 * that rows cannot express. If a version has neither, only apiVersion differs.
	 */
	const struct schema_kind *storage; /* the kind itself if it is the storage version */
	void (*to_storage)(struct arena *a, struct json *object);
	void (*from_storage)(struct arena *a, struct json *object);

	/* Rules that tables cannot express; each may be NULL. See write.h and validate.h. */
	void (*prepare_create)(struct write *w, struct json *object);
	void (*prepare_update)(struct write *w, struct json *object, const struct json *old);
	/* Marks an object that is to be deleted. Returns true if it must stay for now. */
	bool (*prepare_delete)(struct write *w, struct json *object,
			       const struct delete_options *options);
	schema_check_kind *check;
	schema_check_update *check_update;
	schema_check_update *check_status_update;
};

/* --- finding -------------------------------------------------------------------- */

/* Returns all compiled kinds, in the order in which discovery lists groups and versions. */
const struct schema_kind *const *schema_kinds(size_t *ret_n);

/* Finds a kind by its path; group "" is core. Returns NULL if not found. */
const struct schema_kind *schema_find_resource(struct str group, struct str version,
					       struct str resource);

/*
 * Finds a kind by the apiVersion and kind of a body. Also finds kinds that are not resources
 * (Status, DeleteOptions). Returns NULL if not found.
 */
const struct schema_kind *schema_find_kind(struct str api_version, struct str kind);

/* Returns the field with that JSON name, or NULL. */
const struct schema_field *schema_field(const struct schema_type *t, struct str name);

/* The description of the elements of a SCHEMA_NESTED field. */
static inline const struct schema_field *schema_element(const struct schema_field *f)
{
	return &f->type->fields[0];
}

/* Finds a type by its OpenAPI name (NULL if unknown); and all types, for OpenAPI documents. */
const struct schema_type *schema_type_find(struct str openapi);
const struct schema_type *const *schema_types(size_t *ret_n);

/* Returns the kind whose objects have this type; NULL if the type only occurs inside others. */
const struct schema_kind *schema_kind_of(const struct schema_type *t);

/* Types that code refers to. */
const struct schema_type *schema_object_meta(void);
const struct schema_type *schema_delete_options(void);

/* Returns the subresource with that name, or NULL. */
const struct schema_subresource *schema_subresource(const struct schema_kind *k, struct str name);

/*
 * Returns the fields that a write through this subresource ("": the kind itself) ignores, and so
 * never owns. They are dotted names ("status", "metadata.deletionTimestamp"), ended by p NULL.
 * NULL: the write ignores no fields.
 */
const struct str *schema_resets(const struct schema_kind *k, struct str subresource);

#endif
