/*
 * Background writes. Each is a small struct that is freed with the reply. Failures are only logged:
 * the next attempt decides by the state of the cluster.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/informer/cached.h"
#include "scheduler/dra/plugin.h"

struct dra_write {
	struct client_request request;
	struct client *client;
	struct dra_state *state;
	const struct log *log;
	struct plugin *plugin;
	const char *what;
	struct arena arena;
	struct str ns, name, uid;
	unsigned tries;
	void (*next)(struct dra_write *w, const struct error *err, struct cached *answer);
};

enum { TRIES_MAX = 5 };

static void write_free(struct dra_write *w)
{
	arena_release(&w->arena);
	free(w);
}

static void write_finish(struct dra_write *w, const struct error *err, struct cached *answer)
{
	(void)answer;
	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_CANCELED)
		log_warn(w->log, "cannot write a claim", LOG_Z("what", w->what),
			 LOG_STR("namespace", w->ns), LOG_STR("name", w->name), LOG_ERR(err));
	write_free(w);
}

static void write_on_done(struct client_request *r, const struct client_answer *a,
			  const struct error *err)
{
	struct dra_write *w = r->arg;
	CLEANUP(cached_unref) struct cached *answer = NULL;

	/* A reply without the object (to a delete) has no new state. */
	if (!err && cached_new(a->body, NULL, &answer, NULL) == 0 && str_eq(answer->uid, w->uid))
		(void)dra_state_stored(w->state, answer, STR_NULL, false);
	w->next(w, err, answer);
}

static struct dra_write *write_new(struct plugin *p, const struct dra_pod_claim *claim,
				   const char *what)
{
	struct dra_write *w;

	if (!p->services->client || !claim->object)
		return NULL;
	w = XNEW(struct dra_write);
	w->client = p->services->client;
	w->state = p->services->dra;
	w->log = p->services->log ? p->services->log : log_null();
	w->plugin = p;
	w->what = what;
	arena_init(&w->arena, REQUEST_WORK_MAX);
	w->ns = arena_str(&w->arena, cached_ns(claim->object));
	w->name = arena_str(&w->arena, cached_name(claim->object));
	w->uid = arena_str(&w->arena, claim->object->uid);
	w->next = write_finish;
	w->request = (struct client_request){ .on_done = write_on_done, .arg = w };
	return w;
}

/* --- one write ------------------------------------------------------------------------------- */

void dra_write_unreserve(struct plugin *p, const struct dra_pod_claim *claim, struct str pod_uid)
{
	struct dra_write *w = write_new(p, claim, "take the pod off");
	struct json *patch, *entry;

	if (!w)
		return;
	/* By uid, so that the newest version of the claim need not be known. */
	patch = json_make_object(&w->arena);
	json_put_str(&w->arena, json_need_object(&w->arena, patch, "metadata"), "uid", w->uid);
	entry = json_make_object(&w->arena);
	json_put_str(&w->arena, entry, "$patch", STR("delete"));
	json_put_str(&w->arena, entry, "uid", arena_str(&w->arena, pod_uid));
	json_append(json_need_array(&w->arena, json_need_object(&w->arena, patch, "status"),
				    "reservedFor"),
		    entry);
	client_patch(w->client, &w->request, &dra_claims_resource,
		     (struct resource_name){ w->ns, w->name, STR("status") },
		     CLIENT_PATCH_STRATEGIC, patch);
}

void dra_write_deallocate(struct plugin *p, const struct dra_pod_claim *claim)
{
	struct dra_write *w = write_new(p, claim, "deallocate");
	struct json *tree, *status;

	if (!w)
		return;
	if (json_copy(&w->arena, claim->tree, &tree, NULL) < 0) {
		write_free(w);
		return;
	}
	status = json_need_object(&w->arena, tree, "status");
	(void)json_remove(status, STR("reservedFor"));
	(void)json_remove(status, STR("allocation"));
	(void)json_remove(status, STR("devices"));
	client_update_status(w->client, &w->request, &dra_claims_resource, w->ns, w->name, tree);
}

/* --- deleting --------------------------------------------------------------------------------- */

static void delete_fresh(struct dra_write *w, const struct error *err, struct cached *answer);

static void deleted(struct dra_write *w, const struct error *err, struct cached *answer)
{
	char text[DRA_KEY_MAX];
	struct str key = dra_claim_key(w->ns, w->name, text);
	CLEANUP(cached_unref) struct cached *last = NULL;

	/* It does not matter if someone else deleted it first. */
	if (err && err->code != ERR_NOT_FOUND) {
		write_finish(w, err, answer);
		return;
	}
	if (dra_state_claim(w->state, key))
		last = cached_ref(dra_state_claim(w->state, key));
	/* The watch may never report it. */
	if (dra_state_gone(w->state, key, w->uid))
		dra_tell_deleted(w->plugin, last);
	write_finish(w, NULL, answer);
}

static void delete_now(struct dra_write *w)
{
	w->next = deleted;
	client_delete(w->client, &w->request, &dra_claims_resource, w->ns, w->name,
		      &(struct client_delete_opts){ .uid = w->uid });
}

static void delete_unprotected(struct dra_write *w, const struct error *err, struct cached *answer)
{
	(void)answer;
	if (err && err->code == ERR_CONFLICT && ++w->tries < TRIES_MAX) {
		w->next = delete_fresh;
		client_get(w->client, &w->request, &dra_claims_resource, w->ns, w->name);
		return;
	}
	if (err && err->code == ERR_NOT_FOUND)
		deleted(w, err, NULL);
	else if (err)
		write_finish(w, err, NULL);
	else
		delete_now(w);
}

static void take_finalizer_off(struct dra_write *w, struct json *tree)
{
	struct json *list = json_getz(json_getz(tree, "metadata"), "finalizers");

	JSON_FOREACH_SAFE (it, list)
		if (str_eqz(json_str(it), POD_CLAIMS_FINALIZER))
			(void)json_unlink(list, it);
	w->next = delete_unprotected;
	client_update(w->client, &w->request, &dra_claims_resource, w->ns, w->name, tree);
}

static void delete_fresh(struct dra_write *w, const struct error *err, struct cached *answer)
{
	struct json *tree;

	if ((err && err->code == ERR_NOT_FOUND) || (answer && !str_eq(answer->uid, w->uid))) {
		deleted(w, NULL, NULL);
		return;
	}
	if (err || !answer || cached_tree_held(answer, &w->arena, &tree, NULL) < 0) {
		write_finish(w, err, NULL);
		return;
	}
	take_finalizer_off(w, tree);
}

void dra_write_delete(struct plugin *p, const struct dra_pod_claim *claim)
{
	struct dra_write *w = write_new(p, claim, "delete");
	struct json *tree;

	if (!w)
		return;
	if (json_copy(&w->arena, claim->tree, &tree, NULL) < 0) {
		write_free(w);
		return;
	}
	if (json_has_text(json_getz(json_getz(tree, "metadata"), "finalizers"),
			  STR(POD_CLAIMS_FINALIZER)))
		take_finalizer_off(w, tree);
	else
		delete_now(w);
}
