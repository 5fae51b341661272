/*
 * verb_impl - what the verbs share: the course of a write, and answers.
 */
#ifndef SERVER_VERBS_MUTATION_H
#define SERVER_VERBS_MUTATION_H

#include "api/write/write.h"
#include "server/admission/request.h"
#include "server/http/exchange.h"

struct mutation;

/* The subresource's objects are of another kind than the resource's (Scale, Binding). */
bool verb_is_foreign(const struct exchange *x);

/* Finds the object of the path; `answer` gets it, on the stream's loop. Failures are answered. */
void verb_get_object(struct exchange *x,
		     void (*answer)(struct exchange *x, const struct object *o));

/*
 * The patch of the request: its type, its form and its options go into the mutation. False
 * when they were refused and answered.
 */
bool verb_patch_options(struct mutation *m);

/*
 * A read that waited. "Too large resource version" has a cause that clients look
 * for; only clients that named a revision get it.
 */
void verb_reply_sync_error(struct exchange *x, const struct error *err);

/* Sets m->format from the Content-Type. -ERR_UNSUPPORTED_MEDIA_TYPE. */
int verb_body_format(struct mutation *m, struct error *err);

/* The request's fieldValidation, as struct write has it. */
int verb_field_validation(const struct request *r);

/* What differs between writes. */
struct mutation_ops {
	/*
	 * Makes m->req.tree of the body, anew for each try. First on the stream's loop,
	 * later on the state's. May be NULL.
	 */
	int (*decode)(struct mutation *m, struct error *err);
	/*
	 * Decides: what is stored (storage version, with its resourceVersion)
	 * becomes *ret_object; NULL when it goes.
	 */
	int (*decide)(struct mutation *m, const struct json *old, struct json **ret_object,
		      struct error *err);
	/* The same where nothing is stored; NULL: that is a failure (404). */
	int (*decide_new)(struct mutation *m, struct json **ret_object, struct error *err);
	/* Answers a success; NULL: with the object. On the stream's loop. */
	void (*answer)(struct mutation *m);
};

/*
 * One write of one object: decided at the state on the newest there is, pending
 * writes included; again when somebody else was first. Lives in x->work.
 */
struct mutation {
	struct exchange *x;
	const struct mutation_ops *ops;
	struct admission_request req; /* what is written, and what admission makes of it */
	struct write write;
	enum decode_format format;
	enum patch_type patch_type;
	struct delete_options options;
	int status; /* of a success */
	void *data; /* of the verb */
	struct job *job; /* at the state */
	void (*again)(struct mutation *m); /* decides anew, when it waited or somebody was first */

	/* Private to verb_write.c. */
	struct arena retry; /* of all tries but the first: each begins with it empty */
	bool retries;
	struct state_write pending;
	int tries;
	bool on_committed; /* decides on the committed object, not on the tip */
	struct selector_trial *trial; /* of the body's expressions; or NULL */

	/* Set when it is over; read by `answer`. */
	struct error err;
	struct object *object; /* what is stored now, or was last */
	struct json *shown; /* of a dry run: what would be stored; NULL: see object */
	bool gone; /* it was deleted */
};

/* `decode` of a patch. */
int mutation_decode_patch(struct mutation *m, struct error *err);

/* In x->work, with `write` prepared. */
struct mutation *mutation_new(struct exchange *x, const struct mutation_ops *ops);

/*
 * Decodes and goes: ends in an answer. Failures of decode are answered with the
 * causes in m->write.errs.
 */
void mutation_start(struct mutation *m);

/*
 * Whether a new object may be created. -ERR_NOT_FOUND if its namespace does not exist,
 * -ERR_FORBIDDEN if the namespace or the definition of its kind is being deleted. Parks while that
 * depends on a write under way. At the state.
 */
int mutation_check_home(struct mutation *m, struct error *err);

/* What a failure is about, when it is not the request's object. */
int mutation_blame(struct mutation *m, const struct schema_kind *kind, struct str name, int r);

/* --- for writes that keep their own course (create, deletecollection) ------------- */

/* Finds what the rules need of the state: the labels of the namespace. */
void mutation_prepare(struct admission_request *req);

/*
 * Writes, or shows what would be written: then answers. `base` is from
 * resource_tip() in this turn. On a conflict `again` is called on the state's loop, up to ten
 * times.
 */
void mutation_commit(struct mutation *m, struct object *base, struct json *object,
		     void (*again)(struct mutation *m));

/* The usual `again`: decodes, decides and commits anew. */
void mutation_again(struct mutation *m);

/*
 * What an `again` that decides anew begins with: decodes the body once more, into memory of its
 * own; what was made of it until now is gone. False when it was failed instead, which may be
 * because there is no use in deciding.
 */
bool mutation_renew(struct mutation *m);

/*
 * The object that the write is decided on: the tip; or, after mutation_wait() asked for that, the
 * committed one.
 */
struct object *mutation_base(const struct mutation *m);

/*
 * Before a refusal that was decided on mutation_base(). False: refuse, the refusal holds for
 * committed state that has everything acknowledged before the request came. True: `again` was
 * called, or will be, to decide on such a state.
 */
bool mutation_wait(struct mutation *m, void (*again)(struct mutation *m));

/*
 * Compiles the expressions of the body, in parts between which others are served, and then calls
 * `then`. Fails the write instead if that takes longer than a request may. At the state, before
 * anything is decided.
 */
void mutation_try(struct mutation *m, void (*then)(struct mutation *m));

/* Ends it with a failure (m->err) or a success. At the state. */
void mutation_fail(struct mutation *m, const struct error *err);
void mutation_end(struct mutation *m, struct object *object);

/* Submits it with another course than mutation_start()'s. */
void mutation_submit(struct mutation *m, void (*run)(struct state *st, struct job *j));
/* Answers with what a dry run would have stored. */
void mutation_reply_shown(struct mutation *m);

/* Answers a failure before the state was asked. */
void mutation_refuse(struct mutation *m, const struct error *err);

/* The mutation of a job that has come to the state: the first thing that `run` does. */
struct mutation *mutation_arrive(struct state *st, struct job *j);

/*
 * DeleteOptions from the body or, without one, from the query. False when they
 * were refused and answered.
 */
bool mutation_delete_options(struct mutation *m);

#endif
