/*
 * schema - what an API type is, as tables.
 *
 * Each kind is described once, in schema/ (see schema/README.md for the
 * language); a generator compiles the descriptions into constant tables of the
 * structs below. Decoding, pruning, defaulting, validation, patches, field
 * ownership, protobuf, OpenAPI, `explain` and Table output all work on schema
 * and tree (base/json/json.h) and know no kind by name. A CustomResourceDefinition
 * is the same structs built at run time.
 *
 * What tables cannot say is a named C function in a row: a check, a
 * strategy, a conversion.
 * Threads: constant; anybody may read.
 */
#ifndef API_SCHEMA_SCHEMA_H
#define API_SCHEMA_SCHEMA_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct buf;
struct crd;
struct field_path;
struct json;
struct schema_field;
struct schema_kind;
struct schema_type;
struct validation; /* api/validate/validate.h */
struct write; /* api/write/write.h */

/* What a single value is. */
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
	SCHEMA_QUANTITY, /* text, or a number that is made text */
	SCHEMA_INT_OR_STRING,
	SCHEMA_RAW_OBJECT, /* RawExtension, FieldsV1: any JSON object, kept as it is */
	SCHEMA_ANY, /* any JSON value, kept as it is (JSON, JSONSchemaProps' defaults) */
	SCHEMA_OBJECT, /* of `type` */
	/* In a CRD's schema; `type` is JSONSchemaProps: */
	SCHEMA_PROPS_OR_LIST, /* an object of it, or a list of such */
	SCHEMA_PROPS_OR_BOOL,
	SCHEMA_PROPS_OR_STRINGS, /* or a list of text */
	/* In custom kinds: a list or map itself. `type` has one field, which says of what. */
	SCHEMA_NESTED,
};

/* How many of them a field holds. */
enum schema_shape {
	SCHEMA_ONE,
	SCHEMA_LIST,
	SCHEMA_MAP, /* text to value */
	SCHEMA_MAP_OF_LISTS, /* text to list of values (`extra` of a user) */
};

/* Who owns what in a list or map: x-kubernetes-list-type, -map-type. */
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
	SCHEMA_FORMAT_DNS_SUBDOMAIN_CASELESS, /* the same, upper case tolerated */
	SCHEMA_FORMAT_DNS1035_LABEL,
	SCHEMA_FORMAT_LABEL_KEY, /* a qualified name */
	SCHEMA_FORMAT_LABEL_VALUE,
	SCHEMA_FORMAT_QUALIFIED_NAME, /* [domain/]C identifier of resource.k8s.io */
	SCHEMA_FORMAT_FULLY_QUALIFIED_NAME, /* the same, the domain required */
	SCHEMA_FORMAT_POOL_NAME, /* subdomains joined by '/' */
	SCHEMA_FORMAT_UUID, /* 36 characters, lower case */
	SCHEMA_FORMAT_SEMVER, /* strict SemVer 2.0.0 */
	SCHEMA_FORMAT_C_IDENTIFIER,
	SCHEMA_FORMAT_CONDITION_TYPE,
};

enum schema_flag {
	SCHEMA_REQUIRED = 1 << 0, /* must be there and not empty */
	SCHEMA_ALWAYS = 1 << 1, /* upstream has no omitempty: it is printed even when empty */
	SCHEMA_NULLABLE = 1 << 2, /* null is kept (otherwise null means absent) */
	SCHEMA_IMMUTABLE = 1 << 3, /* may not change once the object exists */
	SCHEMA_UNIQUE = 1 << 4, /* elements of a list, or their keys, may not repeat */
	SCHEMA_HAS_MIN = 1 << 5, /* `min` counts */
	SCHEMA_HAS_MAX = 1 << 6,
	SCHEMA_POINTER = 1 << 7, /* optional scalar whose zero value differs from absence */
	SCHEMA_GATE_SERVED = 1 << 8, /* with its gate off it is dropped from what is served, too */
	SCHEMA_CHARACTERS = 1 << 9, /* limits of text count characters, not bytes */
	SCHEMA_DECLARED = 1 << 10, /* OpenAPI calls it required (it may be empty all the same) */
	SCHEMA_NO_MODIFY = 1 << 11, /* may be set and cleared, but not changed while it is set */
	SCHEMA_OPEN = 1 << 12, /* what its enum does not have is for a check to refuse */
};

/*
 * Functions that rows name, for rules that tables cannot express. The headers that declare them do
 * so by these types. A check of a field gets the field's value, a check of a type gets the object;
 * during either, v->old_value is the stored counterpart, or NULL. A fill changes an object after
 * its other defaults.
 */
typedef void schema_check(struct validation *v, const struct json *value,
			  const struct field_path *path);
typedef void schema_check_kind(struct validation *v, const struct json *object);
typedef void schema_check_update(struct validation *v, const struct json *object,
				 const struct json *old);
typedef void schema_fill(struct arena *a, struct json *parent, int64_t now_ns);

/* What a field must obey beyond its type. Shared by fields that obey the same. */
struct schema_rules {
	int64_t min, max; /* of a number; with HAS_MIN and HAS_MAX */
	uint32_t max_length; /* of text (each element's, in a list); 0: none */
	uint32_t min_items, max_items; /* of a list or map; max 0: none */
	enum schema_format format; /* of text (each element's) */
	enum schema_format key_format; /* of a map's keys */
	uint32_t key_max_length;
	const struct str *values; /* the only ones allowed (an enum); ends with p NULL; or NULL */
	/*
	 * With UNIQUE: the members that tell elements of a list apart; ends with
	 * p NULL. NULL: the field's list_keys, or the whole element.
	 */
	const struct str *unique_keys;
	struct str initial; /* default, as JSON text; p NULL: none */
	/* Called for the field's whole value when it is there. Path is the field's. */
	schema_check *check;
	/*
	 * Called for each object that has the field, present or not, after its
	 * other defaults: what depends on siblings. `parent` is the object.
	 */
	schema_fill *fill;
};

struct schema_field {
	struct str name; /* in JSON */
	const struct schema_type *type; /* of SCHEMA_OBJECT and SCHEMA_PROPS_*, else NULL */
	const struct schema_rules *rules; /* or NULL */
	const char *doc; /* or NULL: a sentence for `explain` */
	const struct str *list_keys; /* of SCHEMA_LIST_MAP; ends with p NULL */
	struct str patch_key; /* strategic merge: key that merges a list; p NULL: replace */
	uint16_t number; /* in protobuf; 0: not in protobuf */
	/* Protobuf keeps it in a message of this number that JSON has not (Volume); or 0. */
	uint16_t inline_number;
	uint16_t inline_inner; /* in there, in another such message (RuleWithOperations); or 0 */
	uint16_t flags; /* enum schema_flag */
	uint8_t value; /* enum schema_value */
	uint8_t shape; /* enum schema_shape */
	uint8_t merge; /* enum schema_merge */
	uint8_t gate; /* enum gate, GATE_NONE when always on */
	uint8_t oneof; /* which of the type's unions it belongs to, from 1; 0: none */
	bool patch_merge; /* strategic merge: lists of scalars that merge */
	bool patch_retain_keys; /* strategic merge: strategy retainKeys */
	bool patch_replace; /* strategic merge: an object that is replaced, not merged */
};

/* Members of a type of which exactly, or at most, one may be there. */
struct schema_union {
	bool required; /* exactly one; else at most one */
};

struct schema_type {
	struct str name; /* "ResourceSliceSpec" */
	struct str openapi; /* "io.k8s.api.resource.v1.ResourceSliceSpec" */
	const char *doc;
	const struct schema_field *fields; /* in upstream's order, which is that of the numbers */
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
 * The places of an object that its Scale shows (scale.h): dotted names ("spec.replicas"), with a
 * leading dot or without.
 */
struct scale_paths {
	struct str replicas; /* the wanted count, which a client can set */
	struct str status_replicas; /* the count that runs now; 0 if the field is missing */
	/* Text, a LabelSelector or a map of labels; empty, or nothing there: no selector. */
	struct str selector;
};

struct schema_subresource {
	struct str name; /* "status" */
	/* What is sent and answered: the kind itself, or another (Binding, Eviction, Scale). */
	struct str group, version, kind;
	const struct str *resets; /* as schema_resets() has it */
	uint16_t verbs;
	uint8_t gate; /* GATE_NONE when always on */
	/* Leads on to somebody else (log, exec, proxy); `kind` is that of its parameters. */
	bool connect;
	const struct scale_paths *scale; /* of "scale"; NULL: where built-in kinds have it */
};

/* A column of `kubectl get`. */
struct schema_column {
	const char *name, *type, *format, *doc;
	int priority; /* 0: always; 1: with -o wide */
	/*
	 * Where the value lies, as dotted names ("spec.driver"); or NULL and
	 * `cell`, which appends its JSON text.
	 */
	const char *path;
	void (*cell)(const struct json *object, int64_t now_ns, struct buf *json_out);
	const struct jsonpath *jsonpath; /* of a custom kind, which has neither; else NULL */
};

/* A field that selectors may use beside metadata.name and metadata.namespace. */
struct schema_selectable {
	struct str path; /* "spec.nodeName" */
	struct str initial; /* what absence means: "" or "false" */
	struct str storage_path; /* the same field in the storage version; most often `path` */
	bool indexed; /* watchers of one value are found by index */
};

/*
 * Where a version differs from the stored one by an object around some members, each object at
 * the path, which may end at a list of them.
 */
struct schema_convert {
	const struct str *path; /* names, the last p NULL */
	struct str wrapper; /* the member that is an object of the others */
	const struct str *outside; /* members that stay beside the wrapper */
	const struct str *after; /* those of them that come behind the others when flat; or NULL */
	const struct str *blanks; /* text in it that is there even when empty; or NULL */
	bool wraps; /* storage has the wrapper, unless it would be blank; else this version has */
};

/* How writes of a kind behave. */
enum schema_kind_flag {
	SCHEMA_NAMESPACED = 1 << 0,
	SCHEMA_UNCONDITIONAL_UPDATE = 1 << 1, /* updates without a resourceVersion are allowed */
	SCHEMA_CREATE_ON_UPDATE = 1 << 2, /* PUT of what is not there makes it */
	SCHEMA_RETURN_DELETED = 1 << 3, /* DELETE answers with the object, else with a Status */
	SCHEMA_GENERATION = 1 << 4, /* metadata.generation counts changes of spec */
	SCHEMA_STATUS = 1 << 5, /* has a status that only /status writes */
	SCHEMA_GRACEFUL = 1 << 6, /* deletion waits for its grace period (pods) */
	SCHEMA_REVIEW = 1 << 7, /* create answers and stores nothing (SubjectAccessReview) */
	SCHEMA_EVENTS = 1 << 8, /* expires after --event-ttl */
	SCHEMA_PATH_NAMES = 1 << 9, /* names are path segments (RBAC), not DNS subdomains */
	SCHEMA_IMMUTABLE_SPEC = 1 << 10,
	SCHEMA_DNS_LABEL_NAMES = 1 << 11, /* names are DNS labels (namespaces) */
	SCHEMA_DNS1035_NAMES = 1 << 12, /* (services) */
	SCHEMA_ORPHAN_BY_DEFAULT = 1 << 13,
};

struct schema_kind {
	struct str group; /* "" for core */
	struct str version;
	struct str kind, list_kind;
	struct str resource, singular; /* "resourceclaims", "resourceclaim" */
	struct str api_version; /* "resource.k8s.io/v1", "v1" */
	/* "resource.k8s.io/resourceclaims", "core/pods": same for all versions. */
	struct str storage_name;
	const struct str *short_names, *categories; /* end with p NULL; or NULL */
	const struct str *resets; /* as schema_resets() has it */
	struct str deprecation; /* of a compiled kind: the warning for its users; p NULL: none */
	const struct schema_type *type;
	const struct schema_subresource *subresources;
	/* Without Name and Age where those are the defaults; see table.h. */
	const struct schema_column *columns;
	const struct schema_selectable *selectables;
	const struct schema_convert *converts;
	uint8_t nsubresources, ncolumns, nselectables, nconverts;
	uint8_t gate;
	uint16_t verbs;
	uint16_t place; /* of a compiled kind: the number of its storage version; others have 0 */
	uint32_t flags;
	const struct crd *custom; /* built at run time (crd.h); NULL: compiled in */

	/*
	 * The version that is stored. Objects of other versions are converted
	 * on their way in and out (convert.h): by the rows of `converts`, and by functions
	 * for what rows cannot say. Neither: only apiVersion differs.
	 */
	const struct schema_kind *storage; /* itself when it is the one */
	void (*to_storage)(struct arena *a, struct json *object);
	void (*from_storage)(struct arena *a, struct json *object);

	/* What tables cannot say; each may be NULL. See write.h and validate.h. */
	void (*prepare_create)(struct write *w, struct json *object);
	void (*prepare_update)(struct write *w, struct json *object, const struct json *old);
	schema_check_kind *check;
	schema_check_update *check_update;
	schema_check_update *check_status_update;
};

/* --- finding -------------------------------------------------------------------- */

/* All compiled kinds, groups and versions in the order in which discovery lists them. */
const struct schema_kind *const *schema_kinds(size_t *ret_n);

/* By path: group "" for core. NULL when there is none. */
const struct schema_kind *schema_find_resource(struct str group, struct str version,
					       struct str resource);

/* By apiVersion and kind, as in a body; also kinds that are no resource (Status, DeleteOptions). */
const struct schema_kind *schema_find_kind(struct str api_version, struct str kind);

/* The field of that JSON name, or NULL. */
const struct schema_field *schema_field(const struct schema_type *t, struct str name);

/* What the elements of a field of SCHEMA_NESTED are. */
static inline const struct schema_field *schema_element(const struct schema_field *f)
{
	return &f->type->fields[0];
}

/* By OpenAPI name; NULL when unknown. And all, for OpenAPI. */
const struct schema_type *schema_type_find(struct str openapi);
const struct schema_type *const *schema_types(size_t *ret_n);

/* The kind whose objects are of this type; NULL when it is only part of others. */
const struct schema_kind *schema_kind_of(const struct schema_type *t);

/* Types that code refers to. */
const struct schema_type *schema_object_meta(void);
const struct schema_type *schema_delete_options(void);

/* The subresource of that name, or NULL. */
const struct schema_subresource *schema_subresource(const struct schema_kind *k, struct str name);

/*
 * What a write through this subresource ("": the kind itself) ignores, and so never owns: paths of
 * dotted names ("status", "metadata.deletionTimestamp"), the last p NULL; NULL when there are none.
 */
const struct str *schema_resets(const struct schema_kind *k, struct str subresource);

#endif
