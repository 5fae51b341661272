/*
 * mutation - the steps of a write, and helpers that the verbs share.
 */
#ifndef SERVER_VERBS_MUTATION_H
#define SERVER_VERBS_MUTATION_H

#include "api/write/write.h"
#include "server/admission/request.h"
#include "server/http/exchange.h"

struct draft;
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

/* Sets m->decoded.format from the Content-Type. -ERR_UNSUPPORTED_MEDIA_TYPE. */
int verb_body_format(struct mutation *m, struct error *err);

/* The steps that differ between writes. */
struct mutation_ops {
	/*
	 * Makes m->req.tree from the body, again for each try. On the stream's loop first, and for
	 * drafts; otherwise on the state's. May be NULL.
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
	/* One try on the state's loop: decides and commits. NULL: by the steps above. */
	void (*attempt)(struct mutation *m);
	/* Replies to a success, on the stream's loop; NULL: replies with the object. */
	void (*answer)(struct mutation *m);
	/*
	 * A write that may be drafted (verbs/draft.h): its steps `decode`, `decide` and `draft_new`
	 * read nothing of the state, and run on any loop.
	 */
	bool drafts;
	/* As decide_new, for a draft. NULL: a draft needs a stored object. */
	int (*draft_new)(struct mutation *m, struct json **ret_object, struct error *err);
};

/*
 * A write has four phases. Each has a structure that it writes and that later phases read.
 *
 * 1. Decoded: the body and the options, without any stored state. Written on the stream's loop by
 *    the verb, from header and query, and by `decode`, from the body. The body's tree itself is
 *    req.tree, because admission sees it too.
 */
struct mutation_decoded {
	enum decode_format format; /* of the body */
	enum patch_type patch_type;
	struct decode_report patch_report; /* faults in the text of a patch */
	struct delete_options options; /* of a deletion */
};

/*
 * 2. Decided: the change to make, on one state of the object. Written on the state's loop, or for
 *    a draft on the stream's, by mutation.c and by the steps `decide`, `decide_new` and
 *    `draft_new`, anew for each try. Admission's part of the decision is in `req`.
 */
struct mutation_decided {
	struct object *base; /* the stored object, borrowed for this turn; NULL: create one */
	struct json *object; /* the object to store; NULL: the write deletes `base` */
	int status; /* HTTP status if it succeeds; 200 unless set */
	/* Of a draft only: the tree of `base`, and the text of `object`. */
	bool drafted;
	struct json *old;
	struct state_text text;
};

/*
 * 3. Committed: the outcome. Written on the state's loop by mutation_commit(), mutation_end() and
 *    mutation_fail().
 */
struct mutation_committed {
	struct state_write pending; /* the write at the state */
	struct error err; /* why the write failed, in whichever phase; code 0: it succeeded */
	struct object *object; /* the object as stored now, or before its deletion */
	struct json *shown; /* for a dry run: the object that would be stored; NULL: see object */
};

/*
 * 4. Answered: status, `about` and `write` of the exchange (http/exchange.h). Written on the
 *    stream's loop by mutation_refuse(), or for a success before the step `answer`. Read by the
 *    replies and by the audit log.
 */

/*
 * One write of one object. It is decided on the stream's loop on the committed object (draft.h), or
 * on the state's loop on the newest one, pending writes included; and again if another writer was
 * first. Lives in x->work.
 */
struct mutation {
	struct exchange *x;
	const struct mutation_ops *ops;
	void *data; /* the verb's own */
	struct write write; /* the rules of writing: input of mutation_new(), and their results */
	struct admission_request req; /* the write as admission sees it, and what it decided */

	struct mutation_decoded decoded;
	struct mutation_decided decided;
	struct mutation_committed committed;

	/* Decides again, after it waited or another writer was first. */
	void (*again)(struct mutation *m);
	struct draft *draft; /* or NULL: it was never drafted */

	/* Private to mutation.c: the tries. */
	struct arena retry; /* memory of the second and later tries; emptied before each */
	bool retries;
	int tries; /* that failed by a conflict */
	bool on_committed; /* decide on the committed object, not on the tip */
	struct selector_trial *trial; /* compiles the body's expressions; or NULL */
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

/* Takes the labels of the namespace (NULL: none), which the rules of writing need; on any loop. */
void mutation_prepare(struct admission_request *req, const struct object *ns);
/* The same with the tip of the namespace, on the state's loop. */
void mutation_prepare_tip(struct admission_request *req);

/* Decides on m->decided.base, on any loop: writes m->decided.object. */
int mutation_decide(struct mutation *m, struct error *err);

/* Whether the decision, which succeeded, leaves the object as it is. */
bool mutation_is_same(const struct mutation *m);

/* The last step of a try: commits the decision, or ends a write that changes nothing. */
void mutation_settle(struct mutation *m, bool same);

/*
 * Runs admission and writes m->decided, or for a dry run only shows it; then replies. Its base is
 * from mutation_base() in this turn. On a conflict `again` is called on the state's loop, until
 * ten tries have failed.
 */
void mutation_commit(struct mutation *m, void (*again)(struct mutation *m));

/* The usual `again`: decodes, decides and commits once more. On the state's loop. */
void mutation_again(struct mutation *m);

/*
 * The first step of an `again`: decodes the body again, into fresh memory; results of the
 * previous try are freed. Returns false if the mutation was failed instead, because it was
 * cancelled or decoding failed.
 */
bool mutation_renew(struct mutation *m);
/* The same without failing the mutation, on any loop. */
int mutation_renew_body(struct mutation *m, struct error *err);

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

/* Ends the mutation with a failure or a success: writes m->committed. On the state's loop. */
void mutation_fail(struct mutation *m, const struct error *err);
void mutation_end(struct mutation *m, struct object *object);

/* Submits the mutation with `run` instead of the steps of mutation_start(). */
void mutation_submit(struct mutation *m, void (*run)(struct state *st, struct job *j));
/* Replies with the object that a dry run would have stored, in the form of a reply. */
void mutation_reply_shown(struct mutation *m, int status);

/* Replies with a failure, on the stream's loop. */
void mutation_refuse(struct mutation *m, const struct error *err);

/* Gives the write what belongs to the loop of that lane, on which it is decided from now on. */
void mutation_attach(struct mutation *m, struct state *st, size_t lane);

/* The mutation of a job on the state's loop. `run` must call this first. */
struct mutation *mutation_arrive(struct state *st, struct job *j);

/*
 * Reads DeleteOptions from the body or, if that is empty, from the query. Returns false if they
 * are invalid; the error reply has been sent.
 */
bool mutation_delete_options(struct mutation *m);

#endif
