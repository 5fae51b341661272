/*
 * The budget is written before the pod, so two evictions never use the same disruption, whichever
 * servers they come to. An eviction that fails after that has used up its disruption. The
 * budget's controller restores it if the pod still exists some minutes later.
 */
#include "server/verbs/evict.h"

#include "api/quota/disruption.h"
#include "api/schema/schema.h"
#include "server/admission/request.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"

/* The progress of this eviction. */
struct asked {
	bool counted; /* its budget includes it */
	bool asking, ended; /* in this call; nothing had to be written */
	bool waits; /* another count of the budget is pending, and its outcome matters */
	struct error err; /* why the budget could not be written */
};

static const char memo_key;

/* The only budget that covers the pod; NULL if none does. */
static int find_budget(struct ensure *e, const struct schema_kind *kind, struct str ns,
		       const struct json *pod, const struct json **ret_budget, struct error *err)
{
	*ret_budget = NULL;
	JSON_FOREACH (name, ensure_names(e, kind, ns)) {
		const struct json *budget = ensure_tree(e, kind, ns, json_str(name));

		if (!budget || !disruption_covers(budget, pod))
			continue;
		if (*ret_budget)
			return error_set(
				err, ERR_IO,
				"This pod has more than one PodDisruptionBudget, which the "
				"eviction subresource does not support.");
		*ret_budget = budget;
	}
	return 0;
}

/* If another writer changed the budget first, it is checked again. */
static void on_told(void *arg, const struct error *err, bool outrun)
{
	struct admission_request *req = arg;
	struct asked *asked = admission_memo(req, &memo_key, sizeof(*asked));

	if (err)
		asked->err = *err;
	if (asked->asking) {
		asked->ended = true;
		return;
	}
	asked->counted = !err && !outrun;
	admission_resume(req);
}

/* An object that is not committed has no version yet. */
static bool is_pending(const struct json *object)
{
	return str_eqz(json_text_at(json_getz(object, "metadata"), "resourceVersion"), "0");
}

static int evict_ask(struct admission_request *req, struct ensure *e, const struct json *pod,
		     struct asked *asked, struct error *err)
{
	const struct schema_kind *kind = schema_find_resource(STR("policy"), STR("v1"),
							      STR("poddisruptionbudgets"));
	const struct json *budget;
	struct json *patch;
	struct disruption_refusal refusal;
	int r;

	r = find_budget(e, kind, req->ns, pod, &budget, err);
	if (r < 0 || !budget)
		return r;
	asked->waits = is_pending(budget);
	if (asked->waits)
		return 0;
	r = disruption_check(ensure_arena(e), budget, pod, req->write->now_ns, &patch, &refusal,
			     err);
	if (r < 0) {
		req->about.cause_reason = "DisruptionBudget";
		req->about.cause_message = arena_strdup(req->work, str_from(refusal.cause));
		req->about.retry_after_s = refusal.retry_after_s;
		return r;
	}
	if (patch && !req->dry_run)
		ensure_patch_status(e, kind, budget, patch, ENSURE_MANAGER);
	return 0;
}

int evict_ask_budget(struct admission_request *req, const struct json *pod, struct error *err)
{
	struct asked *asked = admission_memo(req, &memo_key, sizeof(*asked));
	struct ensure *e;
	int r = 0;

	if (!asked->err.code && (asked->counted || disruption_is_free(pod)))
		return 0;
	if (!asked->err.code) {
		asked->asking = true;
		asked->ended = asked->waits = false;
		e = ensure_new(req->server, on_told, req);
		r = evict_ask(req, e, pod, asked, err);
		ensure_end(e);
		asked->asking = false;
		if (!asked->ended)
			return admission_park(req, err);
		if (asked->waits)
			return admission_park_for_commit(req, err);
	}
	return r != 0 || !asked->err.code ? r : error_copy(err, &asked->err);
}
