/*
 * webhooks_impl - what the files of webhooks share.
 */
#ifndef SERVER_WEBHOOKS_WEBHOOKS_IMPL_H
#define SERVER_WEBHOOKS_WEBHOOKS_IMPL_H

#include "base/core/list.h"
#include "base/core/omap.h"
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
	size_t nunreadable; /* configurations; while there are any, all is refused */
};

struct webhooks {
	struct server *server;
	struct webhook_set sets[WEBHOOK_TYPES];
	struct state_observer observers[WEBHOOK_TYPES];
	uint64_t last_id;
	struct list calls; /* under way */
	bool stopping;
	void (*on_stopped)(void *arg); /* all calls are over; or NULL */
	void *stop_arg;
	struct metrics_family *duration, *total, *rejections, *fail_open;
};

/* --- calls (webhooks/call.c) ------------------------------------------------------- */

/* What is known of one question to one webhook, for as long as the write lives. */
struct webhook_answer {
	struct webhook_answer *next;
	uint64_t hook, hash[2]; /* whom, and what was asked */
	bool done; /* it was answered, or cannot be */
	bool stopped; /* cannot be because the server stops */
	bool late; /* was not before the request's own time was up */
	/* Why there is no verdict: what follows "failed calling webhook .."; NULL: there is one. */
	const struct error *err;
	struct webhook_verdict verdict;
};

/*
 * The answer to a question: the one that is there, or begins a call that resumes the write when
 * it and all others of the write are over. -ERR_CONFLICT when it was asked too often already.
 */
int webhook_ask(struct admission_request *req, const struct webhook *h, enum webhook_type type,
		const struct webhook_question *q, struct webhook_answer **ret_answer,
		struct error *err);

/* Memory of a write for the mutating webhooks; zeroed at first. */
struct webhook_rounds {
	bool *invoked; /* by index: was called, and wants to see later changes */
	bool *again; /* by index: is to be called in the second round */
	uint64_t left; /* hash of the object as the first round left it */
};
struct webhook_rounds *webhook_rounds(struct admission_request *req);

/* --- objects (webhooks/form.c) ------------------------------------------------------ */

/*
 * The object of a write as a mutating webhook sees it: a copy in the version that matched. A new
 * one is without what the server alone sets; a name that is made up is not there yet.
 */
int webhook_form_show(struct admission_request *req, const struct admission_attr *attr,
		      const struct schema_kind *kind, struct json **ret_shown, struct error *err);

/* Applies a patch to what was shown, and makes `object` what came of it. */
int webhook_form_patch(struct admission_request *req, const struct admission_attr *attr,
		       const struct schema_kind *kind, struct json *shown, const struct json *patch,
		       struct json *object, bool *ret_changed, struct error *err);

/* --- counting (webhooks/metrics.c) ------------------------------------------------- */

int webhook_metrics_new(struct webhooks *w, struct error *err);

enum webhook_end { WEBHOOK_ALLOWED, WEBHOOK_REFUSED, WEBHOOK_FAILED, WEBHOOK_FAILED_OPEN };
void webhook_metrics_count(struct webhooks *w, enum webhook_type type, struct str name,
			   enum admission_op op, enum webhook_end end, int code, double seconds);

#endif
