/*
 * The Lease is long and renewed seldom, as nobody waits for it: it only tells the servers that
 * are there from those that will not come back.
 */
#include "server/identity.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "net/pki_sign.h"
#include "server/ensure.h"
#include "server/server_impl.h"

enum { LEASE_S = 3600, RENEW_MS = 600 * 1000, NAME_BYTES = 13 };

#define NAMESPACE "kube-system"

struct identity {
	struct server *server;
	struct loop_timer timer;
	char name[sizeof("apiserver-") + (size_t)2 * NAME_BYTES];
	char host[256];
};

static const struct schema_kind *leases(void)
{
	return schema_find_resource(STR("coordination.k8s.io"), STR("v1"), STR("leases"));
}

static void make_name(struct identity *i)
{
	static const char digits[] = "0123456789abcdef";
	char text[sizeof(i->host) + PATH_MAX + 2], folder[PATH_MAX];
	const char *dir = i->server->opts.data_dir;
	uint8_t hash[PKI_SHA256_SIZE];
	size_t at;

	if (gethostname(i->host, sizeof(i->host) - 1) < 0)
		i->host[0] = '\0';
	(void)snprintf(text, sizeof(text), "%s\n%s", i->host,
		       dir && realpath(dir, folder) ? folder : "");
	pki_sha256(str_from(text), hash);
	at = (size_t)snprintf(i->name, sizeof(i->name), "apiserver-");
	for (size_t k = 0; k < NAME_BYTES; k++) {
		i->name[at++] = digits[hash[k] >> 4];
		i->name[at++] = digits[hash[k] & 15];
	}
}

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
	json_put_str(a, meta, "namespace", STR(NAMESPACE));
	json_put_str(a, labels, "apiserver.kubernetes.io/identity", STR("kube-apiserver"));
	json_put_str(a, labels, "kubernetes.io/hostname", str_from(i->host));
	json_put_str(a, spec, "holderIdentity", str_from(i->name));
	json_put_i64(a, spec, "leaseDurationSeconds", LEASE_S);
	json_put_str(
		a, spec, "renewTime",
		arena_str(a, timestamp_print(clock_wall(i->server->clock), TIMESTAMP_MICRO, now)));
	return lease;
}

/* What fails now is tried again with the next renewal. */
static void on_written(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct identity *i = arg;

	if (err)
		log_warn(i->server->opts.log, "this server's lease cannot be written",
			 LOG_ERR(err));
}

static void renew(struct loop_timer *t)
{
	struct identity *i = CONTAINER_OF(t, struct identity, timer);
	struct ensure *e = ensure_new(i->server, on_written, i);
	struct json *lease = lease_of(i, ensure_arena(e));
	struct json *old = ensure_tree(e, leases(), STR(NAMESPACE), str_from(i->name));

	if (old)
		ensure_patch(e, leases(), old, lease, STR("devplane-server"));
	else
		ensure_create(e, leases(), lease, STR("devplane-server"));
	ensure_end(e);
	loop_timer_start(t, RENEW_MS);
}

struct identity *identity_new(struct server *s)
{
	struct identity *i = xcalloc(1, sizeof(*i));

	i->server = s;
	loop_timer_init(&i->timer, s->opts.loops[0], renew);
	make_name(i);
	return i;
}

struct str identity_name(const struct identity *i)
{
	return str_from(i->name);
}

void identity_keep(struct identity *i)
{
	if (i->server->opts.netcd_servers)
		renew(&i->timer);
}

bool identity_is_gone(const struct identity *i, struct ensure *e, struct str name)
{
	const struct json *spec;
	int64_t renewed;

	if (str_eqz(name, i->name))
		return false;
	if (!i->server->opts.netcd_servers)
		return true;
	spec = json_getz(ensure_tree(e, leases(), STR(NAMESPACE), name), "spec");
	return timestamp_parse(json_text_at(spec, "renewTime"), &renewed, NULL) < 0 ||
	       renewed + json_i64_at(spec, "leaseDurationSeconds", 0) * CLOCK_SEC <
		       clock_wall(i->server->clock);
}

void identity_stop(struct identity *i)
{
	if (i)
		loop_timer_stop(&i->timer);
}

void identity_free(struct identity *i)
{
	free(i);
}
