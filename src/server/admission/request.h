/*
 * admission_request - a write as the admission plugins see it.
 *
 * The verb that writes (verbs/mutation.h) owns the request and fills it in. Plugins read the
 * request, change the object and the write, record why they reject it, and may make the write
 * wait. This interface does not depend on the verb, which is called back through `resume`.
 *
 * A write may be decided several times. Memory of `write->arena` lives for one try, memory of
 * `work` as long as the request.
 *
 * Threads: the state's loop; while the write is drafted (verbs/draft.h), its connection's.
 */
#ifndef SERVER_ADMISSION_REQUEST_H
#define SERVER_ADMISSION_REQUEST_H

#include "api/write/write.h"
#include "server/core/about.h"
#include "server/core/user.h"
#include "server/engine/state.h"
#include "server/request/request.h"

struct admission_verdict;
struct flow_ticket;
struct looks;
struct server;

/* The requested operation as upstream defines it: a Binding or an Eviction is a CREATE. */
enum admission_op {
	ADMIT_CREATE = 1,
	ADMIT_UPDATE = 2,
	ADMIT_DELETE = 4,
	ADMIT_CONNECT = 8, /* exec, attach, port-forward, proxies */
	ADMIT_WRITES = 7,
	ADMIT_ALL = 15,
};

struct admission_request {
	/* --- the request: set by the verb --------------------------------------------- */
	struct server *server;
	struct state *state;
	const struct user *user;
	const struct request *request; /* as the client sent it */
	const struct schema_kind *path_kind; /* of the path */
	bool foreign; /* `tree` has another kind than the object: Binding, Eviction, Scale */
	/* As in the path; the name also if it is generated or comes from the body. */
	OBJECT_TARGET;
	struct json *tree; /* the body; for CONNECT and deletions, the options */
	/*
	 * Input of the rules of writing, and their errors and warnings. Its kind is that of the
	 * stored object, in the request's version.
	 */
	struct write *write;
	struct arena *work;
	int64_t deadline_ns; /* of the request, monotonic clock */
	bool dry_run;
	bool base_pending; /* the object that the decision is based on is not committed yet */
	/* While the write is drafted: what the plugins have read. NULL: on the state's loop. */
	struct looks *looks;

	/* --- progress: set by plugins/table.c ----------------------------------------- */
	enum admission_op op;
	/* A webhook or a policy changed the object: all mutating plugins run once more ... */
	bool reinvoke;
	bool reinvoking; /* ... and this is that second run */

	/* --- results: set by the plugins ---------------------------------------------- */
	struct admission_verdict
		*verdict; /* of policies on this draft (policies/admit.h); or NULL */
	bool is_secure; /* a draft's pod meets all standards (security/admit.h) */
	/* A claim whose allocated devices differ from the stored ones (fence/devices.h). */
	bool allocates;
	struct state_terms terms; /* guards and deadline of the write; the verb adds its bases */
	/* Annotations for the audit log and, for a rejection, details of its Status. */
	struct about about;

	/* --- waiting ------------------------------------------------------------------- */
	void (*resume)(struct admission_request *req); /* decides the write again: the verb's */
	struct flow_ticket *flow; /* gives its seat to other requests while it waits */
	bool parked;
	bool synced; /* the decision is based on every write acknowledged before the request came */
	bool in_doubt; /* after a failure: the object may have been written nevertheless */
	struct error *cancelled; /* why the write must not be decided again; NULL: it may */
	/* Private. */
	int waits;
	struct state_wait settling; /* waits for a pending write of some key to end */
	struct job sync; /* waits for the next commit */
	struct admission_memo *memos;
	struct admission_hook *hooks;
};

/* --- waiting ---------------------------------------------------------------------------- */

/*
 * Parks the write. A plugin that cannot decide yet returns the value of this function; the write
 * is not rejected. Later, in another turn of the state's loop, admission_resume() has the whole
 * write decided again and the plugin is called again. It gets the same trees unless the stored
 * object has changed meanwhile (a creation keeps its uid and name). Keep results between the
 * calls in a memo. The client may be gone by then.
 */
int admission_park(struct admission_request *req, struct error *err);
void admission_resume(struct admission_request *req);

/*
 * Parks until the pending write of that key has ended; if there is no pending write, until the
 * next commit.
 */
int admission_park_for_write(struct admission_request *req, struct resource *r, struct str ns,
			     struct str name, struct error *err);

/* The same for the object that is being written (req->base_pending). */
int admission_park_for_base(struct admission_request *req, struct error *err);

/* Parks until the next commit. Rejects with -ERR_UNAVAILABLE if the state cannot write. */
int admission_park_for_commit(struct admission_request *req, struct error *err);

/* Resumes the request when that write has ended. Returns immediately and does not park. */
void admission_resume_after(struct admission_request *req, struct state_write *pending);

/* Cancels the request if its deadline has passed. Its client already got a timeout. */
void admission_check_deadline(struct admission_request *req);

/*
 * Whether the state has every write that other servers acknowledged before the request came. If
 * not, a rejection must wait for them.
 */
bool admission_is_current(const struct admission_request *req);

/* --- other objects ---------------------------------------------------------------------- */

/*
 * Plugins that run for drafts, too, read other objects by these two functions. On the state's loop
 * the functions return the tip, because this write is committed after pending ones. If an object
 * has a pending deletion, admission_object() returns the committed one, because nobody can know yet
 * that it is gone; admission_objects() leaves it out. For a draft they return committed objects,
 * and the state uses the draft only if these are unchanged and have no pending write
 * (engine/looks.h).
 *
 * Everything is borrowed until control returns to the loop. ns and name must live as long as the
 * try.
 */
struct object *admission_object(struct admission_request *req, const struct schema_kind *kind,
				struct str ns, struct str name);

/* Those of one namespace (empty: all), in key order. */
size_t admission_objects(struct admission_request *req, const struct schema_kind *kind,
			 struct str ns, struct object *const **ret_v);

/* --- memory --------------------------------------------------------------------------------- */

/*
 * Memory for this write that outlives its tries: `size` bytes, zeroed on the first call with this
 * key. Use an address of your own as the key.
 */
void *admission_memo(struct admission_request *req, const void *key, size_t size);

/*
 * Returns -ERR_TOO_LARGE if the arena has refused memory, because results made in it are
 * incomplete.
 */
int admission_check_memory(const struct arena *a, struct error *err);

/* --- the end ---------------------------------------------------------------------------- */

/*
 * Calls `fn` when the write is over: err is NULL if it succeeded, else the reason. Called once
 * per registration, after observers have seen the write and before the client gets its reply.
 */
void admission_on_over(struct admission_request *req,
		       void (*fn)(struct admission_request *req, void *arg,
				  const struct error *err),
		       void *arg);

/* The write is over: calls the functions above. */
void admission_over(struct admission_request *req, const struct error *err);

#endif
