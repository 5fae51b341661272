/*
 * batch - creates, deletes and patches several objects of one owner, some at a time.
 *
 * Creations start slowly, as upstream's: one, then two, four and so on, as long as all succeed.
 * After a failure nothing more is created, so that a quota that is used up costs one rejection and
 * not a thousand. Deletions and patches are sent at once, up to a limit. Events on the owner say
 * which pods were created and deleted, and what failed, in upstream's words.
 *
 * A creation is never in doubt. If the object has only a generateName, the batch makes the name, as
 * the server would; if the reply is lost, it sends the same object again until the server answers.
 * So a lost reply never makes two pods.
 */
#ifndef CONTROLLER_PODS_BATCH_H
#define CONTROLLER_PODS_BATCH_H

#include "base/core/arena.h"
#include "base/core/list.h"
#include "client/api/client.h"
#include "client/events/recorder.h"

struct batch;
struct context;
struct json;

enum batch_verb { BATCH_CREATE, BATCH_DELETE, BATCH_PATCH };

enum batch_fate {
	BATCH_SKIPPED, /* not done: another one has failed, or the namespace is being deleted */
	BATCH_DONE, /* for a deletion also: it was gone already */
	BATCH_FAILED, /* certainly not done */
	BATCH_DOUBTFUL, /* perhaps done: the reply was lost; never for a creation */
};

/* One object; lives in the caller's arena until the batch is done. */
struct batch_item {
	/* Set before. */
	struct batch_item *next;
	enum batch_verb verb;
	struct str name, uid; /* delete and patch; a deletion has the uid as its precondition */
	/* create: the object, which gets its name; patch: a strategic merge patch; delete: NULL */
	struct json *body;
	void *arg;

	/* Set when it has ended. */
	enum batch_fate fate;
	struct error error; /* of BATCH_FAILED and BATCH_DOUBTFUL */
};

/* Embed it, zero it, fill it, start it. */
struct batch {
	/* Set before. */
	const struct context *ctx;
	const struct resource *resource; /* of the objects */
	struct str ns;
	struct recorder_object about; /* the owner, for events */
	bool silent; /* no events */
	unsigned at_once; /* requests; 0: 100 */
	struct arena *arena; /* the caller's, until the batch is done: for names */
	struct batch_item *items; /* all of one verb */
	/*
	 * An item has ended; called for skipped ones, too. Without a reply the answer is NULL.
	 * Must not release the batch. May be NULL.
	 */
	void (*ended)(struct batch *b, struct batch_item *it, const struct client_answer *answer);
	/* Called once, last, never from within batch_start(). The first failure, or NULL. */
	void (*done)(struct batch *b, const struct error *err);
	void *arg;

	/* Set when it has ended. */
	bool terminating; /* the namespace is being deleted: creations are skipped, not failed */

	/* Private. */
	struct list running; /* requests */
	struct batch_item *next;
	size_t window, left,
		under_way; /* of the requests sent together: all, not sent, not ended */
	bool started, stopped;
	struct error first;
	struct loop_timer later;
};

void batch_start(struct batch *b);

/* Cancels what is under way; `done` is not called. A no-op if it was not started. */
void batch_release(struct batch *b);

#endif
