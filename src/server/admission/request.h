/*
 * admission_request - a write at the point where admission is asked about it.
 *
 * The verb that writes (verbs/mutation.h) owns it and fills it in. Plugins read what is asked for,
 * change the object and the write, leave behind why they refuse, and may have the write wait.
 * Nothing here knows the verb: it is called back by `resume`.
 *
 * A write may be decided several times. Memory of `write->arena` lives for one try, memory of
 * `work` as long as the request.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_ADMISSION_REQUEST_H
#define SERVER_ADMISSION_REQUEST_H

#include "api/write/write.h"
#include "server/core/about.h"
#include "server/core/user.h"
#include "server/engine/state.h"
#include "server/request/request.h"

struct audit_annotation;
struct flow_ticket;
struct server;

/* What is asked for, as upstream has it: a binding or an eviction is the creation of one. */
enum admission_op {
	ADMIT_CREATE = 1,
	ADMIT_UPDATE = 2,
	ADMIT_DELETE = 4,
	ADMIT_CONNECT = 8, /* exec, attach, port-forward, proxies */
	ADMIT_WRITES = 7,
	ADMIT_ALL = 15,
};

struct admission_request {
	/* --- what is asked for: the verb's ------------------------------------------ */
	struct server *server;
	struct state *state;
	const struct user *user;
	const struct request *request; /* that the client sent */
	const struct schema_kind *path_kind; /* of the path */
	const struct schema_kind *kind; /* of the stored object; of the request's version */
	bool foreign; /* `tree` is of another kind than the object: Binding, Eviction, Scale */
	struct str ns, name;
	struct json *tree; /* the body; of CONNECT and deletions, the options */
	struct write *write; /* what the rules of writing know, and their errors and warnings */
	struct arena *work;
	int64_t deadline_ns; /* monotonic: of the request */
	bool dry_run;
	bool base_pending; /* what it is decided on is under way itself */

	/* --- where admission is: plugins/table.c's --------------------------------------- */
	enum admission_op op;
	bool reinvoke; /* a webhook changed the object: all that mutate are asked once more ... */
	bool reinvoking; /* ... and this is that time */

	/* --- what admission wants: the plugins' -------------------------------------- */
	bool allocates; /* a claim whose devices differ from the stored ones (plugins/devices.h) */
	const struct str *guards; /* that the write shall take: see state.h */
	size_t nguards;
	int64_t send_by; /* that the store shall send it by: see store.h; 0: none */
	struct about about; /* of a refusal: what its Status says */
	struct audit_annotation *annotations; /* for the audit log */

	/* --- waiting ------------------------------------------------------------------- */
	void (*resume)(struct admission_request *req); /* has all decided anew: the verb's */
	struct flow_ticket *flow; /* gives its turn to others while it waits */
	bool parked;
	bool synced; /* it is decided on everything that was acknowledged before it came */
	bool in_doubt; /* of a failure: the object may have been written */
	struct error *cancelled; /* why it shall not be decided again; NULL: it shall */
	/* Private. */
	int waits;
	struct state_wait settling; /* waits for a write of some key to end */
	struct job sync; /* waits for any commit */
	struct admission_memo *memos;
	struct admission_hook *hooks;
};

/* --- waiting ---------------------------------------------------------------------------- */

/*
 * A plugin that cannot answer yet returns what this returns; nothing is refused. Later, in another
 * turn of the state's loop, admission_resume() has all decided anew, and the plugin is asked again:
 * with the same trees unless what is stored was changed meanwhile (a creation keeps its uid and
 * name). What it learnt it keeps in a memo. The client may be gone by then.
 */
int admission_park(struct admission_request *req, struct error *err);
void admission_resume(struct admission_request *req);

/* Parks until the write under way of that key has ended; if there is none, until a commit. */
int admission_park_for_write(struct admission_request *req, struct resource *r, struct str ns,
			     struct str name, struct error *err);

/* The same for the object that is written (req->base_pending). */
int admission_park_for_base(struct admission_request *req, struct error *err);

/* Parks until something is committed. */
int admission_park_for_commit(struct admission_request *req, struct error *err);

/* Resumes when that write has ended. Returns at once, and does not park. */
void admission_resume_after(struct admission_request *req, struct state_write *pending);

/* Cancels the request if its time is over: its client was told that it took too long. */
void admission_check_deadline(struct admission_request *req);

/* Whether all that other servers had done when it came is here; if not, a refusal waits for it. */
bool admission_is_current(const struct admission_request *req);

/* --- memory --------------------------------------------------------------------------------- */

/*
 * Memory of a write that outlives its tries: `size` bytes, zeroed when they are first asked for
 * under this key (an address that is the caller's own).
 */
void *admission_memo(struct admission_request *req, const void *key, size_t size);

/* A result that was made without all the memory it needs is none: -ERR_TOO_LARGE. */
int admission_check_memory(const struct arena *a, struct error *err);

/* --- its end ---------------------------------------------------------------------------- */

/*
 * Calls `fn` when the write is over; `err` says why it failed, NULL that it is done. Once for each
 * call; after what was written was observed, and before the client is answered.
 */
void admission_on_over(struct admission_request *req,
		       void (*fn)(struct admission_request *req, void *arg,
				  const struct error *err),
		       void *arg);

/* The write is over: calls these. */
void admission_over(struct admission_request *req, const struct error *err);

#endif
