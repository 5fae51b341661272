/*
 * The file is looked at by a timer: it may be replaced, or a link to it may be. What is read is
 * used only if it is valid, and as soon as its plugins answer. Until then the configuration stays
 * as it is, and the report says why.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "store/sealed/sealed_impl.h"

enum {
	LOOK_MS = 1000,
	PLUGINS_MS = 10 * 1000, /* how long to wait for new plugins before it is reported ... */
	REMIND_MS = 60 * 1000, /* ... and again */
};

static void sealed_report(struct sealed_store *s, const char *what, const struct error *err)
{
	if (s->opts.report)
		s->opts.report(s->opts.arg, what, err);
}

/* --- plugins ------------------------------------------------------------------------ */

static void plugin_on_change(void *arg)
{
	sealed_kick(arg);
}

static void plugin_on_health(void *arg, struct str name UNUSED, const struct error *err)
{
	sealed_report(arg, err ? "a KMS plugin fails" : "the KMS plugin works again", err);
}

static struct sealed_kms *find_plugin_for(const struct sealed_store *s,
					  const struct sealed_provider *p)
{
	LIST_FOREACH (node, &s->plugins) {
		struct sealed_plugin *plugin = LIST_ENTRY(node, struct sealed_plugin, link);

		if (sealed_kms_is_for(plugin->kms, p))
			return plugin->kms;
	}
	return NULL;
}

static int plugin_add(struct sealed_store *s, struct sealed_provider *p, struct error *err)
{
	const struct sealed_kms_opts opts = { .loop = s->base.loop,
					      .on_change = plugin_on_change,
					      .on_health = plugin_on_health,
					      .arg = s,
					      .poll_ms = s->opts.kms_poll_ms,
					      .grace_ms = s->opts.kms_grace_ms };
	struct sealed_plugin *plugin;
	int r = sealed_kms_new(p, &opts, &p->kms, err);

	if (r < 0)
		return r;
	plugin = XNEW(struct sealed_plugin);
	plugin->kms = p->kms;
	list_push_back(&s->plugins, &plugin->link);
	return 0;
}

int sealed_plugins_attach(struct sealed_store *s, struct sealed_config *c, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < c->nproviders && r == 0; i++) {
		struct sealed_provider *p = c->providers[i];

		if (p->kind != SEALED_KMS)
			continue;
		p->kms = find_plugin_for(s, p);
		if (!p->kms)
			r = plugin_add(s, p, err);
	}
	return r;
}

static bool config_uses(const struct sealed_config *c, const struct sealed_kms *kms)
{
	for (size_t i = 0; i < c->nproviders; i++)
		if (c->providers[i]->kms == kms)
			return true;
	return false;
}

void sealed_plugins_drop(struct sealed_store *s, bool all)
{
	LIST_FOREACH_SAFE (node, &s->plugins) {
		struct sealed_plugin *plugin = LIST_ENTRY(node, struct sealed_plugin, link);

		if (!all &&
		    (config_uses(&s->config, plugin->kms) || config_uses(&s->next, plugin->kms)))
			continue;
		list_remove(&plugin->link);
		if (s->healthy)
			metrics_remove(s->healthy, sealed_kms_name(plugin->kms));
		sealed_kms_free(plugin->kms);
		free(plugin);
	}
}

void sealed_plugins_measure(struct sealed_store *s)
{
	if (!s->healthy)
		return;
	LIST_FOREACH (node, &s->plugins) {
		const struct sealed_kms *k = LIST_ENTRY(node, struct sealed_plugin, link)->kms;

		metrics_gauge_set(metrics_gauge(s->healthy, sealed_kms_name(k)),
				  sealed_kms_healthy(k) ? 1 : 0);
	}
}

bool sealed_plugins_settled(const struct sealed_store *s)
{
	for (size_t i = 0; i < s->config.nproviders; i++)
		if (s->config.providers[i]->kms && !sealed_kms_settled(s->config.providers[i]->kms))
			return false;
	return true;
}

/* --- reading ------------------------------------------------------------------------ */

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

static void check_mode(struct sealed_store *s, const struct stat *st)
{
	if (st->st_mode & S_IRWXO)
		sealed_report(
			s,
			"other users can read the file of --encryption-provider-config, which "
			"has keys: set its mode to 0600",
			NULL);
}

static void reload_count(struct sealed_store *s, const char *status)
{
	if (s->reloads)
		metrics_counter_add(metrics_counter(s->reloads, str_from(status)), 1);
}

static void reload_fail(struct sealed_store *s, const struct error *err)
{
	reload_count(s, "failure");
	sealed_report(s, "cannot reload the encryption configuration; the old one stays", err);
}

static void reload_take(struct sealed_store *s)
{
	sealed_config_release(&s->config);
	s->config = s->next;
	s->next = (struct sealed_config){ 0 };
	sealed_plugins_drop(s, false);
	reload_count(s, "success");
	sealed_report(s, "the encryption configuration was reloaded", NULL);
	sealed_kick(s);
}

/* Whether each plugin of the next configuration has a key to seal with. */
static bool next_is_ready(const struct sealed_store *s, struct error *err)
{
	struct sealed_dek dek;

	for (size_t i = 0; i < s->next.nproviders; i++)
		if (s->next.providers[i]->kms &&
		    sealed_kms_current(s->next.providers[i]->kms, &dek, err) < 0)
			return false;
	return true;
}

void sealed_reload_step(struct sealed_store *s)
{
	struct error err;

	if (!s->next.n)
		return;
	if (next_is_ready(s, &err)) {
		reload_take(s);
	} else if (loop_now(s->base.loop) >= s->next_due) {
		reload_fail(s, &err);
		s->next_due = loop_now(s->base.loop) + REMIND_MS;
	}
}

static void reload_read(struct sealed_store *s, const struct stat *st)
{
	struct error err;

	s->seen = *st;
	check_mode(s, st);
	sealed_config_release(&s->next);
	if (sealed_config_read(s->file, &s->next, &err) < 0 ||
	    sealed_plugins_attach(s, &s->next, &err) < 0) {
		sealed_config_release(&s->next);
		sealed_plugins_drop(s, false);
		reload_fail(s, &err);
		return;
	}
	sealed_plugins_drop(s, false);
	s->next_due = loop_now(s->base.loop) + PLUGINS_MS;
	sealed_reload_step(s);
}

static void on_look(struct loop_timer *t)
{
	struct sealed_store *s = CONTAINER_OF(t, struct sealed_store, look);
	struct stat st;

	if (stat(s->file, &st) == 0 && !is_same_stat(&st, &s->seen))
		reload_read(s, &st);
	sealed_reload_step(s);
	loop_timer_start(t, s->opts.look_ms ? s->opts.look_ms : LOOK_MS);
}

/* --- life --------------------------------------------------------------------------- */

static int reload_metrics(struct sealed_store *s, struct error *err)
{
	static const char *const status[] = { "status" }, *const provider[] = { "provider" };
	const struct metrics_spec reloads = {
		.name = "apiserver_encryption_config_controller_automatic_reloads_total",
		.help = "Reloads of the encryption configuration, by their result.",
		.type = METRICS_COUNTER,
		.labels = status,
		.labels_n = ARRAY_SIZE(status),
	};
	const struct metrics_spec healthy = {
		.name = "devplane_store_kms_healthy",
		.help = "Whether the KMS plugin's last answer was good.",
		.type = METRICS_GAUGE,
		.labels = provider,
		.labels_n = ARRAY_SIZE(provider),
	};
	int r;

	if (!s->opts.metrics)
		return 0;
	r = metrics_register(s->opts.metrics, &reloads, &s->reloads, err);
	return r < 0 ? r : metrics_register(s->opts.metrics, &healthy, &s->healthy, err);
}

void sealed_reload_init(struct sealed_store *s)
{
	list_init(&s->plugins);
	loop_timer_init(&s->look, s->base.loop, on_look);
}

int sealed_reload_start(struct sealed_store *s, struct error *err)
{
	int r = reload_metrics(s, err);

	/* First the state of the file, then its content: a change in between is found later. */
	if (r == 0 && stat(s->file, &s->seen) == 0)
		check_mode(s, &s->seen);
	if (r == 0)
		r = sealed_config_read(s->file, &s->config, err);
	if (r == 0)
		r = sealed_plugins_attach(s, &s->config, err);
	if (r == 0 && s->opts.reload)
		loop_timer_start(&s->look, s->opts.look_ms ? s->opts.look_ms : LOOK_MS);
	return r;
}

void sealed_reload_stop(struct sealed_store *s)
{
	loop_timer_stop(&s->look);
	sealed_config_release(&s->next);
	sealed_config_release(&s->config);
	sealed_plugins_drop(s, true);
}
