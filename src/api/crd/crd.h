/*
 * crd - what a CustomResourceDefinition makes: kinds that are built at run time.
 *
 * crd_compile() turns the definition into the structs of schema.h, one kind
 * per version, so that routing, selectors, tables, managedFields and writes work
 * on custom kinds as on compiled ones; schema_kind.custom tells them apart. What
 * differs is how a body becomes a tree: a custom resource keeps zero values,
 * loses what its structural schema does not know, gets the schema's defaults,
 * and wrong types are faults of validation (422), not of decoding. write.h calls the
 * functions of "objects" below for custom kinds, so its callers need not know.
 *
 * The scale subresource is a row of the kind's subresources, with its paths: see scale.h.
 *
 * All versions of a definition share one storage name ("group/plural") and one
 * storage version, to which `storage` of each kind points. Conversion is the
 * strategy None: only apiVersion differs, and each version prunes by its own schema.
 *
 * Threads: immutable after crd_compile(), and counted: any thread may read and
 * hold references. A kind lives as long as its crd: who keeps a kind keeps a
 * reference. The functions on trees are pure.
 */
#ifndef API_CRD_CRD_H
#define API_CRD_CRD_H

#include "api/codec/decode.h"
#include "api/schema/schema.h"
#include "api/validate/validate.h"

struct crd;

/* --- life cycle ------------------------------------------------------------------- */

/*
 * Compiles the tree of an apiextensions.k8s.io/v1 CustomResourceDefinition that
 * was validated (crd/definition.c) when it was stored. Nothing of the tree is kept.
 * Names are those of status.acceptedNames where there are such, else of spec.names.
 * -ERR_INVALID when it is none that validation would have let through: a
 * store that was tampered with, or a rule that became stricter.
 */
int crd_compile(const struct json *definition, const struct gates *gates, struct crd **ret_crd,
		struct error *err);

struct crd *crd_ref(struct crd *crd);
void crd_unref(struct crd *crd); /* NULL allowed */
DEFINE_CLEANUP(crd_unref, struct crd *);

/* The one that a kind belongs to; NULL for compiled kinds. */
struct crd *crd_of(const struct schema_kind *kind);

/* --- kinds ------------------------------------------------------------------------ */

/* One per version, served or not, in the order in which discovery lists versions. */
const struct schema_kind *const *crd_kinds(const struct crd *crd, size_t *ret_n);

/* Whether the i-th version is to be found by clients. */
bool crd_served(const struct crd *crd, size_t i);

/* Text of the Warning header that each request of a deprecated version gets; p NULL: none. */
struct str crd_deprecation(const struct crd *crd, size_t i);

/* The version's openAPIV3Schema as it was given, for OpenAPI documents; NULL: none. */
const struct json *crd_openapi(const struct crd *crd, size_t i);

struct str crd_name(const struct crd *crd); /* "plural.group" */
struct str crd_group(const struct crd *crd);
struct str crd_uid(const struct crd *crd); /* metadata.uid: another one is another resource */

/*
 * Whether a definition would compile to the same kinds: spec and accepted names are equal, so
 * that writes of conditions or labels need nothing done.
 */
bool crd_is_made_of(const struct crd *crd, const struct json *definition);

/*
 * The order of versions in discovery: v10, v2, v1, v11beta2, v10beta3, v3alpha1,
 * foo1, foo10. Below zero when `a` comes first.
 */
int crd_version_cmp(struct str a, struct str b);

/* --- objects ---------------------------------------------------------------------- */

/*
 * What decode_fit() is for compiled types, for a body or patched object of a custom
 * kind: metadata is fitted to ObjectMeta, the rest pruned by the schema, nulls that
 * may not be are dropped, defaults filled in. apiVersion and kind are left alone.
 * Unknown fields go to the report (may be NULL) in upstream's order.
 * -ERR_BAD_REQUEST for malformed metadata, of embedded objects too.
 */
int crd_fit(struct arena *a, struct json *object, const struct schema_kind *kind,
	    struct decode_report *report, struct error *err);

/*
 * Brings a stored tree into what the kind's storage version makes of it today: it may have
 * been stored under an older schema or as another version. `kind` may be any version.
 * True when the tree was changed.
 */
bool crd_served_form(struct arena *a, struct json *object, const struct schema_kind *kind);

/*
 * Changes a tree of one version into one of `to`, of the same definition: apiVersion,
 * and what that version's schema does not know is pruned.
 */
void crd_convert(struct arena *a, struct json *object, const struct schema_kind *to);

/*
 * The schema's part of validation: v->kind is custom, v->object and v->old of its version.
 * Metadata, the schema with its defaults in place, embedded objects, sets and keyed lists,
 * paths of the scale subresource. On an update, what equals its stored counterpart and can
 * be told apart is not looked at again.
 */
void crd_validate(struct validation *v);

/* The same for a write of the status subresource: only the status is looked at. */
void crd_validate_status(struct validation *v);

/* --- definitions ------------------------------------------------------------------ */

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* One of the conditions of a definition. Established, NamesAccepted, Terminating, .. */
struct crd_condition {
	struct str type, status; /* status: "True", "False" */
	struct str reason, message;
};

/* Upstream's, in the order in which a definition goes through them. */
extern const struct crd_condition crd_installing; /* names accepted, not served yet */
extern const struct crd_condition crd_established; /* its resources are served */
extern const struct crd_condition crd_deletion_pending; /* set with the finalizer by a DELETE */
extern const struct crd_condition crd_deletion_begun; /* its objects are being deleted */
extern const struct crd_condition crd_deletion_done; /* none is left; the finalizer may go */
extern const struct crd_condition crd_never_established; /* the same where none ever was */

/*
 * Sets the condition in definition.status, in place; lastTransitionTime moves when the status
 * does. True when anything changed.
 */
bool crd_set_condition(struct arena *a, struct json *definition,
		       const struct crd_condition *condition, int64_t now_ns);
bool crd_condition_is_true(const struct json *definition, struct str type);

/*
 * Whether names are in use by definitions of a group, the one that asks
 * included: resources are plural, singular and short names, kinds are kind and
 * list kind. Asked a few times per definition.
 */
struct crd_taken {
	bool (*resource)(const void *catalogue, struct str group, struct str name);
	bool (*kind)(const void *catalogue, struct str group, struct str name);
	const void *catalogue;
};

/* Whether the accepted names of this one have the name; for the functions above. */
bool crd_takes_resource(const struct crd *crd, struct str name);
bool crd_takes_kind(const struct crd *crd, struct str name);

/*
 * Accepts the names of spec that are free, or already its own: status.acceptedNames,
 * NamesAccepted and Established ("Installing", unless it is established already) are set in
 * place. True when anything changed. To be called when a definition came or changed its names,
 * and again for those of the group with NamesAccepted "False" when names became free.
 */
bool crd_accept_names(struct arena *a, struct json *definition, const struct crd_taken *taken,
		      int64_t now_ns);

/*
 * Groups that belong to the Kubernetes community (*.k8s.io) need an annotation that says where
 * an API of theirs was approved. *ret_reason lives in the arena, or for good.
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
 * The condition KubernetesAPIApprovalPolicyConformant, of groups that belong to the
 * Kubernetes community (*.k8s.io); set in place. True when anything changed.
 */
bool crd_set_approval(struct arena *a, struct json *definition, int64_t now_ns);

/* What a DELETE does to a definition first: the finalizer, and crd_deletion_pending. */
void crd_begin_deletion(struct arena *a, struct json *definition, int64_t now_ns);

/* Takes the finalizer out; true when it was there. */
bool crd_remove_finalizer(struct json *definition);

#endif
