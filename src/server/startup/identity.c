/*
 * The Lease is long and renewed rarely, because nobody waits for it: it only distinguishes live
 * servers from those that will not come back.
 */
#include "server/startup/identity.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/time/timestamp.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/startup/bootstrap.h"

enum { LEASE_S = 3600, RENEW_MS = 600 * 1000, ID_BYTES = 13, ID_CHARS = 2 * ID_BYTES };

#define NAMESPACE STR("kube-system")
#define PREFIX    "apiserver-"
#define LABEL     "apiserver.kubernetes.io/identity"
#define LABELLED  STR("kube-apiserver") /* as upstream's, for tools that look for it */

struct identity {
	struct server *server;
	struct loop_timer timer;
	void (*renewed)(struct server *s);
	bool kept; /* the Lease was written, or tried */
	char name[sizeof(PREFIX) + ID_CHARS];
	char host[256];
};

static const struct schema_kind *leases(void)
{
	return schema_find_resource(STR("coordination.k8s.io"), STR("v1"), STR("leases"));
}

static bool has_lease(const struct identity *i)
{
	return i->server->opts.netcd_servers;
}

/* --- the name ----------------------------------------------------------------------------- */

static bool is_id(struct str s)
{
	for (size_t k = 0; k < s.n; k++)
		if (!memchr("0123456789abcdef", s.p[k], 16))
			return false;
	return s.n == ID_CHARS;
}

static void draw_id(char id[static ID_CHARS + 1])
{
	uint8_t bytes[ID_BYTES];

	random_bytes(bytes, sizeof(bytes));
	for (size_t k = 0; k < ID_BYTES; k++)
		(void)snprintf(id + 2 * k, 3, "%02x", bytes[k]);
}

/*
 * The id in the file; otherwise a new one, which is written there if the file has no readable
 * one.
 */
static int find_id(const char *dir, char id[static ID_CHARS + 1], struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);
	char path[PATH_MAX];
	struct str line;
	int r;

	draw_id(id);
	if (!dir)
		return 0;
	if (snprintf(path, sizeof(path), "%s/server-id", dir) >= (int)sizeof(path))
		return error_set(err, ERR_INVALID, "the data folder's path is too long");
	r = file_read(path, &text, err);
	if (r < 0 && r != -ERR_NOT_FOUND)
		return r;
	line = buf_str(&text);
	if (str_ends(line, STR("\n")))
		line.n--;
	if (is_id(line)) {
		memcpy(id, line.p, ID_CHARS);
		return 0;
	}
	buf_clear(&text);
	(void)buf_printf(&text, "%s\n", id);
	return file_write_atomic(path, buf_str(&text), 0600, err);
}

int bootstrap_identity(const char *dir, struct error *err)
{
	char id[ID_CHARS + 1];

	return find_id(dir, id, err);
}

static void make_name(struct identity *i)
{
	char id[ID_CHARS + 1];
	struct error err;

	if (!has_lease(i)) {
		(void)snprintf(i->name, sizeof(i->name), PREFIX "local");
		return;
	}
	if (gethostname(i->host, sizeof(i->host) - 1) < 0)
		i->host[0] = '\0';
	if (find_id(i->server->opts.data_dir, id, &err) < 0)
		log_warn(i->server->opts.log,
			 "cannot save the name of this server; it will change at a restart",
			 LOG_ERR(&err));
	(void)snprintf(i->name, sizeof(i->name), PREFIX "%s", id);
}

/* --- leases ------------------------------------------------------------------------------- */

static struct json *lease_of(const struct identity *i, struct arena *a)
{
	struct json *lease = json_make_object(a);
	struct json *meta = json_need_object(a, lease, "metadata");
	struct json *labels = json_need_object(a, meta, "labels");
	struct json *spec = json_need_object(a, lease, "spec");
	char now[TIMESTAMP_SIZE];

	json_put_str(a, lease, "apiVersion", STR("coordination.k8s.io/v1"));
	json_put_str(a, lease, "kind", STR("Lease"));
	json_put_str(a, meta, "name", str_from(i->name));
	json_put_str(a, meta, "namespace", NAMESPACE);
	json_put_str(a, labels, LABEL, LABELLED);
	json_put_str(a, labels, "kubernetes.io/hostname", str_from(i->host));
	json_put_str(a, spec, "holderIdentity", str_from(i->name));
	json_put_i64(a, spec, "leaseDurationSeconds", LEASE_S);
	json_put_str(
		a, spec, "renewTime",
		arena_str(a, timestamp_print(clock_wall(i->server->clock), TIMESTAMP_MICRO, now)));
	return lease;
}

/* Whether the Lease expired at least `ago_s` seconds ago; also true if it has no time. */
static bool has_run_out(const struct identity *i, const struct json *lease, int64_t ago_s)
{
	const struct json *spec = json_getz(lease, "spec");
	int64_t renewed, lasts = json_i64_at(spec, "leaseDurationSeconds", 0) + ago_s;

	return timestamp_parse(json_text_at(spec, "renewTime"), &renewed, NULL) < 0 ||
	       renewed + lasts * CLOCK_SEC < clock_wall(i->server->clock);
}

static void put_own(const struct identity *i, struct ensure *e)
{
	struct json *lease = lease_of(i, ensure_arena(e));
	struct json *old = ensure_tree(e, leases(), NAMESPACE, str_from(i->name));

	if (old)
		ensure_patch(e, leases(), old, lease, ENSURE_MANAGER);
	else
		ensure_create(e, leases(), lease, ENSURE_MANAGER);
}

/*
 * Deletes the Leases of servers that do not come back under their name: they could not save it,
 * or lost it.
 */
static void drop_old(const struct identity *i, struct ensure *e)
{
	JSON_FOREACH (it, ensure_names(e, leases(), NAMESPACE)) {
		struct json *lease = ensure_tree(e, leases(), NAMESPACE, json_str(it));
		const struct json *labels = json_getz(json_getz(lease, "metadata"), "labels");

		if (lease && !str_eqz(json_str(it), i->name) &&
		    str_eq(json_text_at(labels, LABEL), LABELLED) && has_run_out(i, lease, LEASE_S))
			ensure_delete(e, leases(), lease);
	}
}

/* --- steps -------------------------------------------------------------------------------- */

/* A failure is retried with the next renewal. */
static void identity_on_written(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct identity *i = arg;

	if (err && !atomic_load(&i->server->stopping))
		log_warn(i->server->opts.log, "cannot write this server's lease", LOG_ERR(err));
}

static void on_renewed(void *arg, const struct error *err, bool outrun)
{
	struct identity *i = arg;

	identity_on_written(i, err, outrun);
	if (!atomic_load(&i->server->stopping))
		i->renewed(i->server);
}

static void put_lease(struct identity *i, void (*done)(void *arg, const struct error *err, bool))
{
	struct ensure *e = ensure_new(i->server, done, i);

	if (has_lease(i)) {
		put_own(i, e);
		drop_old(i, e);
	}
	ensure_end(e);
	loop_timer_start(&i->timer, RENEW_MS);
}

static void identity_on_timer(struct loop_timer *t)
{
	put_lease(CONTAINER_OF(t, struct identity, timer), on_renewed);
}

struct identity *identity_new(struct server *s)
{
	struct identity *i = xcalloc(1, sizeof(*i));

	i->server = s;
	loop_timer_init(&i->timer, s->opts.loops[0], identity_on_timer);
	make_name(i);
	return i;
}

struct str identity_name(const struct identity *i)
{
	return str_from(i->name);
}

void identity_keep(struct identity *i, void (*renewed)(struct server *s))
{
	if (atomic_load(&i->server->stopping))
		return;
	i->kept = true;
	i->renewed = renewed;
	put_lease(i, identity_on_written);
}

bool identity_is_gone(const struct identity *i, struct ensure *e, struct str name)
{
	if (str_eqz(name, i->name))
		return false;
	return !has_lease(i) || has_run_out(i, ensure_tree(e, leases(), NAMESPACE, name), 0);
}

/* The result does not matter: a Lease that stays will expire. */
static void on_dropped(void *arg UNUSED, const struct error *err UNUSED, bool outrun UNUSED)
{
}

void identity_stop(struct identity *i)
{
	struct json *lease;
	struct ensure *e;

	if (!i || !i->kept)
		return;
	loop_timer_stop(&i->timer);
	/* A write to an unreachable store would have to be waited for. */
	if (!has_lease(i) || state_health(i->server->state, NULL) < 0)
		return;
	e = ensure_new(i->server, on_dropped, NULL);
	lease = ensure_tree(e, leases(), NAMESPACE, str_from(i->name));
	if (lease)
		ensure_delete(e, leases(), lease);
	ensure_end(e);
}

void identity_free(struct identity *i)
{
	free(i);
}
