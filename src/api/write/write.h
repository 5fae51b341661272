/*
 * write - the rules that turn a request and the stored object into the object to store, without
 * I/O.
 *
 * Each function takes the stored object (or none) and a request. It returns the tree to store, or
 * an error. It does everything that upstream's registry, strategies and metadata rules do. It
 * generates names, sets uid and creationTimestamp, keeps status apart from spec, counts generation,
 * drops gated fields and sets defaults. It updates managedFields and finalizers, handles deletion
 * with grace and propagation, and validates. The functions read no clock and use no randomness
 * except what the request provides.
 *
 * While the client's part is handled, trees are of the version of the request. Returned trees are
 * of the storage version.
 */
#ifndef API_WRITE_WRITE_H
#define API_WRITE_WRITE_H

#include "api/codec/decode.h"
#include "api/patch/patch.h"
#include "api/schema/object_target.h"
#include "api/schema/schema.h"
#include "base/core/random.h"
#include "base/report/field_errors.h"
#include "base/system/uuid.h"

struct known_selectors;
struct selector_trial;
struct managed_applied; /* api/managed/managed.h */
struct write_alias;

/* The options of a write that clients send in the query. */
struct write_options {
	struct str field_manager;
	enum { WRITE_IGNORE, WRITE_WARN, WRITE_STRICT } field_validation;
	bool force; /* apply: take over fields of other managers */
};

struct write {
	/* Set by the caller. */
	struct arena *arena; /* the request's arena; results live in it */
	const struct schema_kind *kind; /* of the request's path */
	OBJECT_TARGET; /* of the path; name empty for create */
	const struct gates *gates;
	int64_t now_ns; /* wall clock */
	struct prng *prng; /* for uids and generated names */
	struct known_selectors *selectors; /* or NULL */
	/* Verdicts on the body's expressions (selector_trial.h); or NULL. */
	const struct selector_trial *trial;
	struct write_options options;
	struct str user_agent;
	const struct json *namespace_labels; /* of the object's namespace, or NULL */
	const struct decode_report *patch_report; /* of a patch's text; or NULL */
	/*
	 * Rules of an update that depend on the caller. Adds errors to `errs`, next to those that
	 * validation finds. Sees both trees in the storage version, as they would be stored. NULL:
	 * no such rules.
	 */
	void (*authorize)(struct write *w, const struct json *old, const struct json *object);
	void *authorize_arg;
	/*
	 * Admission that may change an object. Called when the object has its defaults and
	 * managedFields, before the kind's own rules and validation. Trees are of the storage
	 * version; for a custom kind, of the request's version. `old` is NULL for a creation. Sets
	 * `mutated` if it added something that still lacks its defaults. If it fails, the write
	 * fails. NULL: no admission.
	 */
	int (*mutate)(struct write *w, const struct json *old, struct json *object,
		      struct error *err);
	void *mutate_arg;

	/* Set by the functions. */
	struct field_errors errs; /* the errors of -ERR_INVALID */
	struct text_list *warnings; /* for Warning headers */
	struct str message; /* the error message, if it is too long for struct error; or empty */
	const struct managed_applied *conflicts; /* the conflicts of -ERR_APPLY_CONFLICT; or NULL */
	bool unchanged; /* the result equals the stored object: write nothing */
	/* Cost of compiling the object's expressions; see struct cel_budget. */
	uint64_t compile_steps;
	/* Update: the updated object, also if the update makes the object disappear */
	struct json *last;
	bool has_revision; /* Create: the body had a resourceVersion; see write_check_revision() */
	/* Create: the generateName that the name was generated from; else empty. */
	struct str generated_from;

	/*
	 * Private: network data that was sent under both names with different values
	 * (write/alias.c).
	 */
	struct write_alias *aliases;
	bool aliases_shown; /* the object that they come from had both names */
	bool applied; /* managedFields are up to date already */
	bool mutated; /* admission added something that still lacks its defaults */
	/* Create: generated values. They stay the same if the same write is decided again. */
	char uid[UUID_TEXT_SIZE];
	char generated_name[64];
};

/* Initializes errs and warnings; the caller has set its part. */
void write_init(struct write *w);

/* Adds a text for a Warning header. */
void write_warn(struct write *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Turns the body's bytes into a tree that fits w->kind: decodes it, applies fieldValidation, and
 * checks that apiVersion and kind match the path (absent ones are filled in). Gated fields are
 * still present. Needs no stored state, so it may run on another thread than the rest.
 * -ERR_BAD_REQUEST.
 */
int write_decode(struct write *w, struct str body, enum decode_format format,
		 struct json **ret_body, struct error *err);

/*
 * Takes an object back from admission, which saw it in the version `kind`. Fits it to its type, and
 * converts it, in place, into the form that `mutate` gets, with defaults. -ERR_BAD_REQUEST.
 */
int write_readmit(struct write *w, struct json *object, const struct schema_kind *kind,
		  struct error *err);

/*
 * Renames the names that KEP-4817 gives to network data into upstream's, in a body or a patched
 * object, before it is fitted to its type. write_decode() calls it. Needs kind and arena. If both
 * names were sent with different values, the update decides which one counts.
 */
void write_fold_aliases(struct write *w, struct json *object);

/*
 * Creates an object. If w->name is set (a PUT of an object that does not exist), the body must have
 * that name. -ERR_BAD_REQUEST, -ERR_INVALID.
 */
int write_create(struct write *w, struct json *body, struct json **ret_object, struct error *err);

/*
 * -ERR_BAD_REQUEST if the new object was sent with a resourceVersion. Upstream says so when
 * admission has passed the write, and clients expect what admission says instead.
 */
int write_check_revision(const struct write *w, struct error *err);

/* Gives an object of write_create() another random suffix, because its generated name is taken. */
void write_rename(struct write *w, struct json *object);

/* Makes a name of a generateName: truncates it and adds five characters. In the write's arena. */
struct str write_generate_name(struct write *w, struct str base);

/*
 * Replaces (PUT) `old`, a tree of the storage version with its resourceVersion set, which is not
 * changed. Checks uid and resourceVersion: -ERR_CONFLICT. *ret_object is NULL if the write removed
 * the last finalizer of an object that is being deleted: the object is then to be removed.
 */
int write_update(struct write *w, const struct json *old, struct json *body,
		 struct json **ret_object, struct error *err);

/* Whether the kind supports this type of patch: 0 or -ERR_UNSUPPORTED_MEDIA_TYPE. */
int write_check_patch(const struct write *w, enum patch_type type, struct error *err);

/*
 * Patches `old`: applies the patch to `old` in the request's version, then continues as an update.
 */
int write_patch(struct write *w, const struct json *old, enum patch_type type,
		const struct json *patch, struct json **ret_object, struct error *err);

/*
 * Server-side apply of a parsed configuration to `old`. If `old` is NULL, creates the object. The
 * configuration is not changed. Fails as managed_apply() does, with w->conflicts, and as an update
 * or a create.
 */
int write_apply(struct write *w, const struct json *old, const struct json *config,
		struct json **ret_object, struct error *err);

/* The options of a delete, from the body or the query. */
struct delete_options {
	struct str uid, resource_version; /* preconditions; empty: none */
	int64_t grace_s; /* -1: not given */
	enum { DELETE_DEFAULT, DELETE_ORPHAN, DELETE_BACKGROUND, DELETE_FOREGROUND } propagation;
	bool dry_run; /* the body has dryRun: ["All"] */
};

/*
 * Reads and validates a DeleteOptions tree (NULL: no options). -ERR_INVALID is about kind
 * DeleteOptions of meta.k8s.io, not about w->kind.
 */
int write_delete_options(struct write *w, const struct json *tree,
			 struct delete_options *ret_options, struct error *err);

/*
 * Deletes `old`. *ret_object is the object to store if it must stay for now (finalizers, grace), or
 * NULL if it is removed at once. Sets w->unchanged if the object was being deleted already and
 * nothing is left to do.
 */
int write_delete(struct write *w, const struct json *old, const struct delete_options *options,
		 struct json **ret_object, struct error *err);

/*
 * pods/binding: sets spec.nodeName and the PodScheduled condition of the pod. -ERR_CONFLICT, about
 * resource "pods/binding", if it cannot be bound.
 * pods/eviction: returns the options for deleting the pod.
 * namespaces/finalize: replaces spec.finalizers; *ret_object is NULL if the namespace is to be
 * removed.
 */
int write_bind(struct write *w, const struct json *pod, const struct json *binding,
	       struct json **ret_object, struct error *err);
int write_evict(struct write *w, const struct json *pod, const struct json *eviction,
		struct delete_options *ret_options, struct error *err);
int write_finalize(struct write *w, const struct json *ns, struct json *body,
		   struct json **ret_object, struct error *err);

/* --- versions and served form ------------------------------------------------------ */

/* Convert a tree of the storage version into one of `kind`, in place; and back. */
void write_from_storage(struct arena *a, struct json *object, const struct schema_kind *kind);
void write_to_storage(struct arena *a, struct json *object, const struct schema_kind *kind);

/*
 * Turns a stored tree into the form that clients get: in the current storage version, without gated
 * fields, and with KEP-4817's names of network data next to upstream's. Returns true if the tree
 * was changed.
 */
bool write_served_form(struct arena *a, struct json *object, const struct schema_kind *kind,
		       const struct gates *gates);
/*
 * Whether write_served_form() could change an object with this text. A quick check that avoids a
 * parse.
 */
bool write_has_served_form(struct str stored, const struct schema_kind *kind,
			   const struct gates *gates);

/*
 * Whether the text is of another version than the kind's current storage version: an older release
 * wrote it.
 */
bool write_is_stale(struct str stored, const struct schema_kind *kind);
/*
 * Converts such a tree, of a compiled kind, into the current storage version. Returns false, and
 * changes nothing, if it has that version already, or one that this release does not know.
 */
bool write_upgrade(struct arena *a, struct json *object);

#endif
