/*
 * write - what a write makes of an object: the rules, without I/O.
 *
 * Given the stored object (or none) and a request, each function yields the
 * tree to store, or why not. Everything that upstream's registry, strategies
 * and metadata rules do on the way is here: names generated, uid and
 * creationTimestamp set, status kept apart from spec, generation counted,
 * gated fields dropped, defaults, managedFields, finalizers, deletion with grace
 * and propagation, validation. Reads no clock and draws no randomness but what
 * the request gives.
 *
 * Trees are of the kind of the request's version while the client's part is
 * handled, and of the storage version in what is returned.
 */
#ifndef API_WRITE_WRITE_H
#define API_WRITE_WRITE_H

#include "api/codec/decode.h"
#include "api/patch/patch.h"
#include "api/schema/schema.h"
#include "base/core/random.h"
#include "base/report/field_errors.h"
#include "base/system/uuid.h"

struct known_selectors;
struct selector_trial;
struct managed_conflict; /* api/managed/managed.h */
struct write_alias;

struct write {
	/* Set by the caller. */
	struct arena *arena; /* the request's; results live in it */
	const struct schema_kind *kind; /* of the request's path */
	struct str ns, name; /* of the path; name empty for create */
	struct str subresource; /* "", "status", "binding", "eviction", "finalize", .. */
	const struct gates *gates;
	int64_t now_ns; /* wall clock */
	struct prng *prng; /* for uids and generated names */
	struct known_selectors *selectors; /* or NULL */
	const struct selector_trial *trial; /* of the body (selector_trial.h); or NULL */
	struct str field_manager, user_agent;
	enum { WRITE_IGNORE, WRITE_WARN, WRITE_STRICT } field_validation;
	bool force; /* apply */
	const struct json *namespace_labels; /* of the object's namespace, or NULL */
	/* Of a patch's text, or NULL: lines and faults of its decode_report. */
	const struct text_list *patch_lines, *patch_faults;
	/*
	 * Rules of an update that depend on who asks: adds to errs, beside what validation
	 * finds. Sees both trees in the storage version, as they would be stored. NULL: none.
	 */
	void (*authorize)(struct write *w, const struct json *old, const struct json *object);
	void *authorize_arg;
	/*
	 * Admission that may change an object: asked when it has its defaults and its
	 * managedFields, before the kind's own rules and validation. Trees are of the storage
	 * version; a custom kind's of the request's. `old` is NULL for a creation. Sets `mutated`
	 * when it put in something that has no defaults yet. A failure fails the write. NULL: none.
	 */
	int (*mutate)(struct write *w, const struct json *old, struct json *object,
		      struct error *err);
	void *mutate_arg;

	/* Set by the functions. */
	struct field_errors errs; /* behind -ERR_INVALID */
	struct text_list *warnings; /* for Warning headers */
	struct str message; /* of a failure whose text an error has no room for; or empty */
	const struct managed_conflict *conflicts; /* behind -ERR_APPLY_CONFLICT */
	size_t nconflicts;
	size_t untold_conflicts; /* that are too many to be listed */
	bool unchanged; /* the result equals what is stored: write nothing */
	uint64_t compile_steps; /* that the object's expressions took; see struct cel_budget */
	struct json *last; /* Update: what it came to, also when it goes because of that */
	/* Create: the generateName that the name was made of; else empty. */
	struct str generated_from;

	/* Private: names of network data that came twice with different values (write/alias.c). */
	struct write_alias *aliases;
	bool aliases_shown; /* the object that they are taken from had both names */
	bool applied; /* managedFields are right already */
	bool mutated; /* admission put in something without its defaults */
	/* Create: what was made up; the same each time that one write is decided. */
	char uid[UUID_TEXT_SIZE];
	char generated_name[64];
};

/* Prepares errs and warnings; the caller's part is set. */
void write_init(struct write *w);

/* A sentence for a Warning header. */
void write_warn(struct write *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * From the body's bytes to a tree that fits w->kind: decode, fieldValidation,
 * apiVersion and kind as the path wants them (absent ones are filled in), gated
 * fields still there. Needs no stored state, so it may run on another thread than the
 * rest. -ERR_BAD_REQUEST.
 */
int write_decode(struct write *w, struct str body, enum decode_format format,
		 struct json **ret_body, struct error *err);

/*
 * What admission made of an object that it was shown in the version `kind`: fits it to its type,
 * and brings it, in place, into the form that `mutate` sees, with defaults. -ERR_BAD_REQUEST.
 */
int write_readmit(struct write *w, struct json *object, const struct schema_kind *kind,
		  struct error *err);

/*
 * Renames the KEP's names of network data in a body, or in a patched object,
 * before it is fitted to its type; write_decode() does. Needs kind and arena. Where both
 * names came and differ, an update settles which counts.
 */
void write_fold_aliases(struct write *w, struct json *object);

/*
 * A new object. With w->name set (PUT of what is not there) the body must have
 * that name. -ERR_BAD_REQUEST, -ERR_INVALID.
 */
int write_create(struct write *w, struct json *body, struct json **ret_object, struct error *err);

/* Another random suffix for an object of write_create() whose generated name is taken. */
void write_rename(struct write *w, struct json *object);

/* The name of a generateName: cut, and five letters; in the write's arena. */
struct str write_generate_name(struct write *w, struct str base);

/*
 * A replacement (PUT) of `old`, which is a tree of the storage version with its
 * resourceVersion set; not changed. Checks uid and resourceVersion: -ERR_CONFLICT.
 * *ret_object is NULL when the write removed the last finalizer of an object
 * that is being deleted: it goes.
 */
int write_update(struct write *w, const struct json *old, struct json *body,
		 struct json **ret_object, struct error *err);

/* Whether there are such patches of the kind: -ERR_UNSUPPORTED_MEDIA_TYPE. */
int write_check_patch(const struct write *w, enum patch_type type, struct error *err);

/* A patch of `old`: applied to its form in the request's version, then as an update. */
int write_patch(struct write *w, const struct json *old, enum patch_type type,
		const struct json *patch, struct json **ret_object, struct error *err);

/*
 * Server-side apply of a configuration, as it was parsed, to `old`, or to nothing (NULL): then
 * the object is made. The configuration is not changed. Fails as managed_apply() does, with
 * w->conflicts, and as an update or a create.
 */
int write_apply(struct write *w, const struct json *old, const struct json *config,
		struct json **ret_object, struct error *err);

/* Options of a delete, from the body or the query. */
struct delete_options {
	struct str uid, resource_version; /* preconditions; empty: none */
	int64_t grace_s; /* -1: not given */
	enum { DELETE_DEFAULT, DELETE_ORPHAN, DELETE_BACKGROUND, DELETE_FOREGROUND } propagation;
	bool dry_run; /* the body has dryRun: ["All"] */
};

/*
 * Reads and validates a DeleteOptions tree (may be NULL: nothing asked for).
 * -ERR_INVALID is about kind DeleteOptions of meta.k8s.io, not about w->kind.
 */
int write_delete_options(struct write *w, const struct json *tree,
			 struct delete_options *ret_options, struct error *err);

/*
 * A deletion of `old`. *ret_object is what to store when it may not go yet
 * (finalizers, grace), or NULL when it goes now. w->unchanged when it was
 * being deleted already and nothing is to be done.
 */
int write_delete(struct write *w, const struct json *old, const struct delete_options *options,
		 struct json **ret_object, struct error *err);

/*
 * pods/binding: sets spec.nodeName and the PodScheduled condition of the pod;
 * -ERR_CONFLICT, about resource "pods/binding", when it cannot be bound.
 * pods/eviction: yields the options with which the pod is then deleted.
 * namespaces/finalize: replaces spec.finalizers; the object is NULL when it goes.
 */
int write_bind(struct write *w, const struct json *pod, const struct json *binding,
	       struct json **ret_object, struct error *err);
int write_evict(struct write *w, const struct json *pod, const struct json *eviction,
		struct delete_options *ret_options, struct error *err);
int write_finalize(struct write *w, const struct json *ns, struct json *body,
		   struct json **ret_object, struct error *err);

/* --- versions and served form ------------------------------------------------------ */

/* Changes a tree of the storage version into one of `kind`, in place; and back. */
void write_from_storage(struct arena *a, struct json *object, const struct schema_kind *kind);
void write_to_storage(struct arena *a, struct json *object, const struct schema_kind *kind);

/*
 * What clients are shown of a stored tree: in the present storage version, gated
 * fields dropped, the KEP's names of network data beside upstream's. True when
 * the tree was changed.
 */
bool write_served_form(struct arena *a, struct json *object, const struct schema_kind *kind,
		       const struct gates *gates);
/* Whether it could change an object with this text: a quick look that spares a parse. */
bool write_has_served_form(struct str stored, const struct schema_kind *kind,
			   const struct gates *gates);

/* Whether text is of another version than the kind is stored in now: an older release wrote it. */
bool write_is_stale(struct str stored, const struct schema_kind *kind);
/*
 * Brings such a tree, of a compiled kind, into the present version. False, and nothing is changed,
 * when it is in it, or in a version that this release does not know.
 */
bool write_upgrade(struct arena *a, struct json *object);

#endif
