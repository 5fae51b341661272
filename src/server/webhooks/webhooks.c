/*
 * The configurations, by name, which is the order in which webhooks are called. They are compiled
 * when they are committed, so they apply to every write after their acknowledgement.
 */
#include "server/webhooks/webhooks.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/webhooks/webhooks_impl.h"

/* --- configurations --------------------------------------------------------------- */

/* `next` (NULL: none) replaces the current one. */
static void webhooks_replace(struct webhook_set *set, struct str name, struct webhook_config *next)
{
	struct webhook_config *before = omap_remove(&set->configs, name);

	if (before) {
		set->nhooks -= before->n;
		set->nunreadable -= before->unreadable;
	}
	if (next) {
		(void)omap_put(&set->configs, next->name, next);
		set->nhooks += next->n;
		set->nunreadable += next->unreadable;
	}
	webhook_config_free(before);
}

static void webhooks_on_changed(void *arg, struct object *now, struct object *before)
{
	struct webhook_set *set = arg;
	struct webhooks *w = set->webhooks;
	CLEANUP(arena_release) struct arena a;
	struct webhook_config *next = NULL;
	struct str name = object_name(now ? now : before);
	struct error err;
	struct json *tree;

	arena_init(&a, REQUEST_WORK_MAX);
	if (now && object_tree(now, &a, &tree, &err) < 0) {
		/*
		 * Without it, writes that it forbids might be allowed: the previous version
		 * stays, if there is one.
		 */
		log_error(w->server->opts.log, "cannot read a webhook configuration",
			  LOG_STR("name", name), LOG_ERR(&err));
		if (!omap_get(&set->configs, name))
			webhooks_replace(set, name, webhook_config_unreadable(name));
		return;
	}
	if (now)
		next = webhook_config_new(w->server->opts.loops[0], tree,
					  omap_get(&set->configs, name), &w->last_id);
	webhooks_replace(set, name, next);
}

static void on_reset(void *arg)
{
	struct webhook_set *set = arg;
	struct omap_cursor c;

	for (bool ok = omap_first(&set->configs, &c); ok; ok = omap_next(&c))
		webhook_config_free(omap_value(&c));
	omap_clear(&set->configs);
	set->nhooks = set->nunreadable = 0;
}

/* --- lifecycle -------------------------------------------------------------------- */

static void set_init(struct webhooks *w, enum webhook_type type, struct str resource)
{
	struct webhook_set *set = &w->sets[type];

	set->webhooks = w;
	set->type = type;
	omap_init(&set->configs);
	w->observers[type] = (struct state_observer){ .group = STR("admissionregistration.k8s.io"),
						      .resource = resource,
						      .changed = webhooks_on_changed,
						      .reset = on_reset,
						      .arg = set };
}

int webhooks_new(struct server *s, struct webhooks **ret_webhooks, struct error *err)
{
	struct webhooks *w = XNEW(struct webhooks);

	w->server = s;
	list_init(&w->calls);
	set_init(w, WEBHOOK_MUTATING, STR("mutatingwebhookconfigurations"));
	set_init(w, WEBHOOK_VALIDATING, STR("validatingwebhookconfigurations"));
	*ret_webhooks = w;
	return webhook_metrics_new(w, err);
}

const struct state_observer *webhooks_observers(struct webhooks *w, size_t *ret_n)
{
	*ret_n = WEBHOOK_TYPES;
	return w->observers;
}

void webhooks_free(struct webhooks *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < WEBHOOK_TYPES; i++) {
		on_reset(&w->sets[i]);
		omap_release(&w->sets[i].configs);
	}
	free(w);
}

/* --- the plugins ------------------------------------------------------------------ */

static bool concerns(const struct admission_request *req, enum webhook_type type)
{
	const struct webhooks *w = req->server->webhooks;

	return w && (w->sets[type].nhooks || w->sets[type].nunreadable) &&
	       !admission_is_exempt(req->path_kind);
}

bool webhooks_mutate_concerns(const struct admission_request *req)
{
	return concerns(req, WEBHOOK_MUTATING);
}

bool webhooks_validate_concerns(const struct admission_request *req)
{
	return concerns(req, WEBHOOK_VALIDATING);
}
