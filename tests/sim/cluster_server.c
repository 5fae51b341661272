/*
 * Apart from the other files, as the server has a `struct resource` of its own.
 */
#include "cluster_server.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "cluster_role.h"
#include "server/core/parts.h"
#include "server/custom/custom_impl.h"
#include "server/engine/resource_walk.h"
#include "server/server.h"

static struct server *server_of(const struct cluster_role *role)
{
	return role->impl;
}

static void on_ready(void *arg, const struct error *err)
{
	struct cluster_role *role = arg;

	if (err) {
		role->failed = true;
		role->failure = *err;
	}
}

static int start(struct cluster_role *role, struct error *err)
{
	const struct cluster_server_config *config = role->arg;
	struct server_opts opts = { .data_dir = role->dir,
				    .bind_address = "0.0.0.0",
				    .secure_port = config->port,
				    .token_auth_file = role->tokens,
				    .event_ttl_ms = 3600 * 1000,
				    .request_timeout_ms = 60 * 1000,
				    .min_request_timeout_ms = 1800 * 1000,
				    .watch_cache_bytes = config->ring_bytes,
				    .history_ms = config->history_ms,
				    .etcd_servers = config->urls,
				    .netcd_servers = config->nurls,
				    .simulated = true,
				    .loops = role->loops,
				    .nloops = role->nloops,
				    .log = cluster_role_log(role),
				    .on_ready = on_ready,
				    .arg = role };
	struct server *s = NULL;
	int r;

	if (config->cert_file[0]) {
		opts.cert_file = config->cert_file;
		opts.key_file = config->key_file;
		opts.client_ca_file = config->client_ca_file;
	}
	gates_init(&opts.gates);
	if (config->unfenced)
		(void)gates_set(&opts.gates, STR("DeviceAllocationFence=false"), NULL);
	r = server_new(&opts, &s, err);
	role->impl = s;
	return r;
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	server_stop(server_of(role), 5000, done, arg);
}

static void drop(struct cluster_role *role)
{
	server_free(role->impl);
}

static void die(struct cluster_role *role, bool stopping, void (*done)(void *arg), void *arg)
{
	if (!stopping)
		server_stop(server_of(role), 0, done, arg);
}

const struct cluster_role_ops cluster_server_ops = {
	.start = start, .stop = stop, .drop = drop, .die = die
};

bool cluster_server_ready(const struct cluster_role *role)
{
	const struct server *s = role->impl;

	return role->state == CLUSTER_UP && s && s->state && atomic_load(&s->ready);
}

int cluster_server_health(const struct cluster_role *role, struct error *err)
{
	return state_health(server_of(role)->state, err);
}

/* NULL: it is a custom one that is not served. */
static struct resource *find(const struct cluster_role *role, const char *group, const char *name)
{
	const struct schema_kind *k = schema_find_resource(str_from(group), STR("v1"),
							   str_from(name));
	const struct definition *d;
	char custom[256];

	if (k)
		return state_resource(server_of(role)->state, k);
	(void)snprintf(custom, sizeof(custom), "%s.%s", name, group);
	d = omap_get(&server_of(role)->custom->definitions, str_from(custom));
	return d ? definition_resource(d) : NULL;
}

static struct json *tree_of(const struct object *o, struct arena *a)
{
	struct json *tree = NULL;

	(void)object_tree(o, a, &tree, NULL);
	return tree;
}

void cluster_server_each(const struct cluster_role *role, const char *group, const char *resource,
			 struct arena *a, void (*fn)(void *arg, const struct json *tree), void *arg)
{
	struct resource *r = find(role, group, resource);
	struct resource_place at = { 0 };
	const struct object *o;

	while (r && (o = resource_blocks_next(&r->objects, &at)))
		fn(arg, tree_of(o, a));
}

void cluster_server_each_version(const struct cluster_role *role, const char *group,
				 const char *resource,
				 void (*fn)(void *arg, struct str key, int64_t revision), void *arg)
{
	struct resource *r = find(role, group, resource);
	struct resource_place at = { 0 };
	const struct object *o;
	char key[512];

	while (r && (o = resource_blocks_next(&r->objects, &at))) {
		struct str name = o->ns_n ? str_skip(o->key, o->ns_n + 1UL) : o->key;

		(void)snprintf(key, sizeof(key), "%.*s %.*s", (int)o->ns_n, o->key.p,
			       STR_ARG(name));
		fn(arg, str_from(key), o->revision);
	}
}

struct json *cluster_server_get(const struct cluster_role *role, const char *group,
				const char *resource, const char *ns, const char *name,
				struct arena *a)
{
	const struct resource *r = find(role, group, resource);
	const struct object *o = r ? resource_get(r, str_from(ns), str_from(name)) : NULL;

	return o ? tree_of(o, a) : NULL;
}

bool cluster_server_has_answered(const struct cluster_role *role)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * MIB);

	(void)metrics_print(server_of(role)->metrics, &text);
	return str_find(buf_str(&text), STR("\napiserver_request_total{")) >= 0;
}

bool cluster_server_holds_customs_back(const struct cluster_role *role)
{
	const struct state *st = server_of(role)->state;

	return st->early > st->revision;
}

int64_t cluster_server_revision(const struct cluster_role *role)
{
	return state_revision(server_of(role)->state);
}
