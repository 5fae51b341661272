/*
 * crd - the kinds of a CustomResourceDefinition, built at run time.
 *
 * crd_compile() turns the definition into the structs of schema.h, one kind per version. So
 * routing, selectors, tables, managedFields and writes work on custom kinds as on compiled ones;
 * schema_kind.custom distinguishes them. The difference is how a body becomes a tree: a custom
 * resource keeps zero values, loses the fields that its structural schema does not know, and gets
 * the schema's defaults. Wrong types are errors of validation (422), not of decoding. write.h calls
 * the functions of "objects" below for custom kinds, so its callers need no special case.
 *
 * The scale subresource is a row of the kind's subresources, with its paths: see scale.h.
 *
 * All versions of a definition share one storage name ("group/plural") and one storage version, to
 * which `storage` of each kind points. The only conversion strategy is None: only apiVersion
 * differs, and each version prunes by its own schema.
 *
 * Threads: immutable after crd_compile(), and reference-counted: any thread may read and hold
 * references. A kind lives as long as its crd, so keep a reference while you keep a kind. The
 * functions on trees are pure.
 */
#ifndef API_CRD_CRD_H
#define API_CRD_CRD_H

#include "api/codec/decode.h"
#include "api/schema/schema.h"
#include "api/validate/validate.h"

struct crd;

/* --- life cycle ------------------------------------------------------------------- */

/*
 * Compiles the tree of an apiextensions.k8s.io/v1 CustomResourceDefinition that was validated
 * (crd/definition.c) when it was stored. Keeps nothing of the tree. Uses the names of
 * status.acceptedNames, if present, else those of spec.names. -ERR_INVALID if validation would
 * reject the definition: the store was tampered with, or a rule became stricter.
 */
int crd_compile(const struct json *definition, const struct gates *gates, struct crd **ret_crd,
		struct error *err);

struct crd *crd_ref(struct crd *crd);
void crd_unref(struct crd *crd); /* NULL allowed */
DEFINE_CLEANUP(crd_unref, struct crd *);

/* Returns the crd of a kind; NULL for compiled kinds. */
struct crd *crd_of(const struct schema_kind *kind);

/* --- kinds ------------------------------------------------------------------------ */

/* Returns one kind per version, served or not, in the order in which discovery lists versions. */
const struct schema_kind *const *crd_kinds(const struct crd *crd, size_t *ret_n);

/* Whether the i-th version is served to clients. */
bool crd_served(const struct crd *crd, size_t i);

/* The text of the Warning header for requests of a deprecated version; p NULL: not deprecated. */
struct str crd_deprecation(const struct crd *crd, size_t i);

/* The version's openAPIV3Schema as the definition has it, for OpenAPI documents; NULL: none. */
const struct json *crd_openapi(const struct crd *crd, size_t i);

struct str crd_name(const struct crd *crd); /* "plural.group" */
struct str crd_group(const struct crd *crd);
/* Metadata.uid: a definition with another uid is another resource. */
struct str crd_uid(const struct crd *crd);

/*
 * Whether a definition would compile to the same kinds: spec and accepted names are equal. So
 * writes of conditions or labels need no recompilation.
 */
bool crd_is_made_of(const struct crd *crd, const struct json *definition);

/*
 * Compares versions in discovery's order: v10, v2, v1, v11beta2, v10beta3, v3alpha1, foo1, foo10.
 * Returns <0 if `a` comes first.
 */
int crd_version_cmp(struct str a, struct str b);

/* --- objects ---------------------------------------------------------------------- */

/*
 * Fits a body or patched object of a custom kind, as decode_fit() does for compiled types. Fits
 * metadata to ObjectMeta, prunes the rest by the schema, drops nulls that are not allowed, and
 * fills in defaults. Does not touch apiVersion and kind. Reports unknown fields (report may be
 * NULL) in upstream's order. -ERR_BAD_REQUEST for malformed metadata, also of embedded objects.
 */
int crd_fit(struct arena *a, struct json *object, const struct schema_kind *kind,
	    struct decode_report *report, struct error *err);

/*
 * Converts a stored tree to what the kind's current storage version would store: it may have been
 * stored under an older schema or as another version. `kind` may be any version. Returns true if
 * the tree was changed.
 */
bool crd_served_form(struct arena *a, struct json *object, const struct schema_kind *kind);

/*
 * Converts a tree of one version into one of `to`, a version of the same definition: sets
 * apiVersion and prunes fields that the schema of `to` does not know.
 */
void crd_convert(struct arena *a, struct json *object, const struct schema_kind *to);

/*
 * Validates v->object, with v->old as the stored object; v->kind is custom, and both are of its
 * version. Checks metadata, the schema with its defaults in place, embedded objects, sets and keyed
 * lists, and the paths of the scale subresource. On an update, a value is not checked again if its
 * stored counterpart can be identified and is equal.
 */
void crd_validate(struct validation *v);

/* The same for a write of the status subresource: checks only the status. */
void crd_validate_status(struct validation *v);

/* --- definitions ------------------------------------------------------------------ */

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* A condition of a definition: Established, NamesAccepted, Terminating, .. */
struct crd_condition {
	struct str type, status; /* status: "True", "False" */
	struct str reason, message;
};

/* Upstream's conditions, in the order in which a definition gets them. */
extern const struct crd_condition crd_installing; /* names accepted, not served yet */
extern const struct crd_condition crd_established; /* its resources are served */
extern const struct crd_condition crd_deletion_pending; /* set with the finalizer by a DELETE */
extern const struct crd_condition crd_deletion_begun; /* its objects are being deleted */
/* No object is left; the finalizer may be removed. */
extern const struct crd_condition crd_deletion_done;
/* The same for a definition that was never established. */
extern const struct crd_condition crd_never_established;

/*
 * Sets the condition in definition.status, in place. lastTransitionTime changes only if the status
 * does. Returns true if anything changed.
 */
bool crd_set_condition(struct arena *a, struct json *definition,
		       const struct crd_condition *condition, int64_t now_ns);

/*
 * Functions that say whether a name is in use by a definition of the group, including the one being
 * checked. Resources are plural, singular and short names; kinds are kind and list kind. Called a
 * few times per definition.
 */
struct crd_taken {
	bool (*resource)(const void *catalogue, struct str group, struct str name);
	bool (*kind)(const void *catalogue, struct str group, struct str name);
	const void *catalogue;
};

/* Whether the accepted names of this definition include the name; for the functions above. */
bool crd_takes_resource(const struct crd *crd, struct str name);
bool crd_takes_kind(const struct crd *crd, struct str name);

/*
 * Accepts the names of spec that are free, or that the definition holds already. Sets
 * status.acceptedNames, NamesAccepted and Established ("Installing", unless it is established
 * already) in place. Returns true if anything changed. Call it when a definition is new or has
 * changed its names. When names become free, call it again for definitions of the group with
 * NamesAccepted "False".
 */
bool crd_accept_names(struct arena *a, struct json *definition, const struct crd_taken *taken,
		      int64_t now_ns);

/*
 * Groups of the Kubernetes community (*.k8s.io) need an annotation that says where their API was
 * approved. *ret_reason lives in the arena, or is a constant.
 */
enum crd_approval {
	CRD_APPROVAL_INVALID,
	CRD_APPROVAL_MISSING,
	CRD_APPROVAL_BYPASSED,
	CRD_APPROVED,
};
bool crd_is_protected(struct str group);
enum crd_approval crd_approval(struct arena *a, const struct json *definition,
			       struct str *ret_reason);

/*
 * Sets the condition KubernetesAPIApprovalPolicyConformant, in place, if the group belongs to the
 * Kubernetes community (*.k8s.io). Returns true if anything changed.
 */
bool crd_set_approval(struct arena *a, struct json *definition, int64_t now_ns);

/* The first step of a DELETE of a definition: sets the finalizer and crd_deletion_pending. */
void crd_begin_deletion(struct arena *a, struct json *definition, int64_t now_ns);

/* Removes the finalizer. Returns true if it was present. */
bool crd_remove_finalizer(struct json *definition);

#endif
