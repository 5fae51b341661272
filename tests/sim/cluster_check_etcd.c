/*
 * Servers that share an etcd: which of them is asked, and whether each has what etcd has.
 */
#include "cluster_world.h"

#include "base/ordered/omap.h"
#include "cluster_crds.h"
#include "store/etcd/log.h"

bool cluster_choose_server(struct cluster *w)
{
	int64_t best = -1;

	for (size_t i = 0; i < w->nservers; i++) {
		struct cluster_role *server = &w->servers[i];

		if (!cluster_server_ready(server) || cluster_server_revision(server) <= best)
			continue;
		best = cluster_server_revision(server);
		w->server = server;
	}
	return best >= w->acked_revision;
}

void cluster_acknowledged(struct cluster *w)
{
	w->acked++;
	if (w->etcd)
		w->acked_revision = cluster_etcd_log(w->etcd)->revision;
}

/* --- copies ------------------------------------------------------------------------------- */

struct copy_check {
	struct cluster *w;
	const struct cluster_role *server;
	const char *resource; /* as in etcd's keys */
	size_t n;
};

static void check_version(void *arg, struct str name, int64_t revision)
{
	struct copy_check *c = arg;
	const char *key = arena_printf(&c->w->arena, "/registry/%s/%.*s", c->resource,
				       STR_ARG(name));
	int64_t at = cluster_server_revision(c->server);
	const struct etcd_log_change *is = etcd_log_find(cluster_etcd_log(c->w->etcd),
							 str_from(key), at);

	c->n++;
	if (!is || is->deleted)
		cluster_fail(c->w, "%s has %s at %lld, which etcd has not", c->server->host, key,
			     (long long)at);
	else if (is->revision != revision)
		cluster_fail(c->w, "%s has %s of %lld at %lld, in etcd it is of %lld",
			     c->server->host, key, (long long)revision, (long long)at,
			     (long long)is->revision);
}

static size_t count_keys(struct cluster *w, const char *resource, int64_t at)
{
	const struct etcd_log *log = cluster_etcd_log(w->etcd);
	struct str prefix = str_from(arena_printf(&w->arena, "/registry/%s/", resource));
	struct omap_cursor c;
	size_t n = 0;

	for (bool ok = omap_seek_prefix(&log->keys, &c, prefix); ok;
	     ok = omap_next_prefix(&c, prefix)) {
		const struct etcd_log_change *is = etcd_log_find(log, omap_key(&c), at);

		n += is && !is->deleted;
	}
	return n;
}

void cluster_check_copy(struct cluster *w, const struct cluster_role *server)
{
	static const struct {
		const char *group, *name, *key;
	} resources[] = {
		{ "", "pods", "core/pods" },
		{ "", "configmaps", "core/configmaps" },
		{ "resource.k8s.io", "resourceclaims", "resource.k8s.io/resourceclaims" },
		/* Without its definition there is no object, in etcd neither. */
		{ CRDS_GROUP, CRDS_RESOURCE, CRDS_GROUP "/" CRDS_RESOURCE },
	};
	int64_t at;

	if (!w->etcd)
		return;
	at = cluster_server_revision(server);
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		struct copy_check c = { w, server, resources[i].key, 0 };
		size_t n = count_keys(w, resources[i].key, at);

		if (str_eqz(str_from(resources[i].group), CRDS_GROUP) &&
		    cluster_server_holds_customs_back(server))
			continue;
		cluster_server_each_version(server, resources[i].group, resources[i].name,
					    check_version, &c);
		if (c.n != n)
			cluster_fail(w, "%s has %zu %s at %lld, in etcd there are %zu",
				     server->host, c.n, resources[i].name, (long long)at, n);
	}
}
