/*
 * mutation - the steps of a write, and helpers that the verbs share.
 */
#ifndef SERVER_VERBS_MUTATION_H
#define SERVER_VERBS_MUTATION_H

#include "api/write/write.h"
#include "server/admission/request.h"
#include "server/http/exchange.h"

struct mutation;

/* Whether the subresource has another kind than the resource (Scale, Binding). */
bool verb_is_foreign(const struct exchange *x);

/*
 * Finds the object of the path and calls `answer` with it on the stream's loop. Replies to
 * failures itself.
 */
void verb_get_object(struct exchange *x,
		     void (*answer)(struct exchange *x, const struct object *o));

/*
 * Reads the patch's type, format and options into the mutation. Returns false if they are
 * invalid; the error reply has been sent.
 */
bool verb_patch_options(struct mutation *m);

/*
 * Replies to a read that could not wait long enough. "Too large resource version" has a cause
 * that clients look for; only clients that named a revision get it.
 */
void verb_reply_sync_error(struct exchange *x, const struct error *err);

/* Sets m->format from the Content-Type. -ERR_UNSUPPORTED_MEDIA_TYPE. */
int verb_body_format(struct mutation *m, struct error *err);

/* The steps that differ between writes. */
struct mutation_ops {
	/*
	 * Makes m->req.tree from the body, again for each try. The first time on the stream's
	 * loop, later on the state's. May be NULL.
	 */
	int (*decode)(struct mutation *m, struct error *err);
	/*
	 * Decides: makes the new object from the stored one (in the storage version, with its
	 * resourceVersion). *ret_object NULL: delete it.
	 */
	int (*decide)(struct mutation *m, const struct json *old, struct json **ret_object,
		      struct error *err);
	/* The same if no object is stored. NULL: the request fails with 404. */
	int (*decide_new)(struct mutation *m, struct json **ret_object, struct error *err);
	/* Replies to a success, on the stream's loop; NULL: replies with the object. */
	void (*answer)(struct mutation *m);
};

/*
 * One write of one object. It is decided on the state's loop on the newest object, pending writes
 * included, and again if another writer was first. Lives in x->work.
 */
struct mutation {
	struct exchange *x;
	const struct mutation_ops *ops;
	struct admission_request req; /* the write as admission sees it */
	struct write write;
	enum decode_format format;
	enum patch_type patch_type;
	struct delete_options options;
	int status; /* HTTP status of a success */
	void *data; /* the verb's own */
	struct job *job; /* at the state */
	/* Decides again, after it waited or another writer was first. */
	void (*again)(struct mutation *m);

	/* Private to mutation.c. */
	struct arena retry; /* memory of the second and later tries; emptied before each */
	bool retries;
	struct state_write pending;
	int tries;
	bool on_committed; /* decide on the committed object, not on the tip */
	struct selector_trial *trial; /* compiles the body's expressions; or NULL */

	/* Set at the end; read by `answer`. */
	struct error err;
	struct object *object; /* the object as stored now, or before its deletion */
	struct json *shown; /* for a dry run: the object that would be stored; NULL: see object */
	bool gone; /* it was deleted */
};

/* `decode` for a patch. */
int mutation_decode_patch(struct mutation *m, struct error *err);

/* A new mutation in x->work, with `write` prepared. */
struct mutation *mutation_new(struct exchange *x, const struct mutation_ops *ops);

/*
 * Decodes the body and runs the write; ends in a reply. If decoding fails, the reply has the
 * causes in m->write.errs.
 */
void mutation_start(struct mutation *m);

/*
 * Checks that a new object may be created. -ERR_NOT_FOUND if its namespace does not exist,
 * -ERR_FORBIDDEN if the namespace or the definition of its kind is being deleted. Parks while
 * that depends on a pending write. On the state's loop.
 */
int mutation_check_home(struct mutation *m, struct error *err);

/* Sets the object that a failure names if it is not the request's. Returns r. */
int mutation_blame(struct mutation *m, const struct schema_kind *kind, struct str name, int r);

/* --- for writes with steps of their own (create, deletecollection) ---------------- */

/* Looks up the labels of the namespace, which the rules of writing need. */
void mutation_prepare(struct admission_request *req);

/*
 * Runs admission and writes the object, or for a dry run only shows it; then replies. `base` is
 * from resource_tip() in this turn. On a conflict `again` is called on the state's loop, until
 * ten tries have failed.
 */
void mutation_commit(struct mutation *m, struct object *base, struct json *object,
		     void (*again)(struct mutation *m));

/* The usual `again`: decodes, decides and commits once more. */
void mutation_again(struct mutation *m);

/*
 * The first step of an `again`: decodes the body again, into fresh memory; results of the
 * previous try are freed. Returns false if the mutation was failed instead, because it was
 * cancelled or decoding failed.
 */
bool mutation_renew(struct mutation *m);

/*
 * The object that the write is decided on: the tip, or the committed object after mutation_wait()
 * has chosen that.
 */
struct object *mutation_base(const struct mutation *m);

/*
 * To be called before a rejection that was decided on mutation_base(). Returns false if the
 * rejection is final: it was decided on committed state that has every write acknowledged before
 * the request came. Returns true if `again` was called, or will be, to decide on such a state.
 */
bool mutation_wait(struct mutation *m, void (*again)(struct mutation *m));

/*
 * Compiles the expressions of the body, in steps between which other jobs run, and then calls
 * `then`. Fails the write if that exceeds the request's deadline. On the state's loop, before
 * anything is decided.
 */
void mutation_try(struct mutation *m, void (*then)(struct mutation *m));

/* Ends the mutation with a failure (m->err) or a success. On the state's loop. */
void mutation_fail(struct mutation *m, const struct error *err);
void mutation_end(struct mutation *m, struct object *object);

/* Submits the mutation with `run` instead of the steps of mutation_start(). */
void mutation_submit(struct mutation *m, void (*run)(struct state *st, struct job *j));
/* Replies with the object that a dry run would have stored. */
void mutation_reply_shown(struct mutation *m);

/* Replies with a failure, on the stream's loop. */
void mutation_refuse(struct mutation *m, const struct error *err);

/* The mutation of a job on the state's loop. `run` must call this first. */
struct mutation *mutation_arrive(struct state *st, struct job *j);

/*
 * Reads DeleteOptions from the body or, if that is empty, from the query. Returns false if they
 * are invalid; the error reply has been sent.
 */
bool mutation_delete_options(struct mutation *m);

#endif
