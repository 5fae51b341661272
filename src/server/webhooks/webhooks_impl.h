/*
 * webhooks_impl - shared by the files of webhooks.
 */
#ifndef SERVER_WEBHOOKS_WEBHOOKS_IMPL_H
#define SERVER_WEBHOOKS_WEBHOOKS_IMPL_H

#include "base/core/list.h"
#include "base/ordered/omap.h"
#include "server/engine/state.h"
#include "server/webhooks/config.h"
#include "server/webhooks/webhooks.h"

struct metrics_family;
struct admission_request;

enum webhook_type { WEBHOOK_MUTATING, WEBHOOK_VALIDATING, WEBHOOK_TYPES };

/* The configurations of one kind. */
struct webhook_set {
	struct webhooks *webhooks;
	enum webhook_type type;
	struct omap configs; /* name -> struct webhook_config */
	size_t nhooks;
	/* Unreadable configurations; if there are any, all writes are rejected. */
	size_t nunreadable;
};

struct webhooks {
	struct server *server;
	struct webhook_set sets[WEBHOOK_TYPES];
	struct state_observer observers[WEBHOOK_TYPES];
	uint64_t last_id;
	struct list calls; /* under way */
	bool stopping;
	void (*on_stopped)(void *arg); /* called when all calls have ended; or NULL */
	void *stop_arg;
	struct metrics_family *duration, *total, *rejections, *fail_open;
};

/* --- calls (webhooks/call.c) ------------------------------------------------------- */

/* The result of one question to one webhook, for the lifetime of the write. */
struct webhook_answer {
	struct webhook_answer *next;
	uint64_t hook, hash[2]; /* the webhook, and a hash of the question */
	bool done; /* it was answered, or failed */
	bool stopped; /* it failed because the server stops */
	bool late; /* it was not answered before the request's own deadline */
	/*
	 * Why there is no verdict: the text that follows "failed calling webhook .."; NULL:
	 * success.
	 */
	const struct error *err;
	struct webhook_verdict verdict;
};

/*
 * Returns the answer to a question if there is one. Otherwise begins a call, which resumes the
 * write when all calls of the write have ended. -ERR_CONFLICT if the write has asked too many
 * questions.
 */
int webhook_ask(struct admission_request *req, const struct webhook *h, enum webhook_type type,
		const struct webhook_question *q, struct webhook_answer **ret_answer,
		struct error *err);

/* State of a write in the mutating webhooks; zeroed first. */
struct webhook_rounds {
	bool *invoked; /* by index: it was called, and wants to see later changes */
	bool *again; /* by index: call it in the second round */
	uint64_t left; /* hash of the object after the first round */
};
struct webhook_rounds *webhook_rounds(struct admission_request *req);

/* --- counting (webhooks/metrics.c) ------------------------------------------------- */

int webhook_metrics_new(struct webhooks *w, struct error *err);

enum webhook_end { WEBHOOK_ALLOWED, WEBHOOK_REFUSED, WEBHOOK_FAILED, WEBHOOK_FAILED_OPEN };
void webhook_metrics_count(struct webhooks *w, enum webhook_type type, struct str name,
			   enum admission_op op, enum webhook_end end, int code, double seconds);

#endif
