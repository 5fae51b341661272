/*
 * A patch needs neither the object nor its version, so there is nothing to read first and no
 * conflict to resolve: one request per renewal, even if others write the Lease.
 */
#include "node/registration/lease.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/time/backoff.h"
#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "net/loop/loop.h"

#define NAMESPACE "kube-node-lease"

enum {
	RENEWALS = 4, /* per duration */
	RETRY_FIRST_MS = 200,
	RETRY_MAX_MS = 7000,
};

struct node_lease {
	struct node_lease_opts opts;
	struct resource leases;
	char *owner; /* uid; or NULL */
	struct client_request request;
	struct loop_timer timer;
	struct backoff backoff;
	bool failing;
};

static void renew(struct node_lease *l, bool create);

static int64_t interval_ms(const struct node_lease *l)
{
	return l->opts.duration_s * 1000 / RENEWALS;
}

/* Up to 4 % longer, so that nodes that started together do not keep renewing together. */
static int64_t jittered_ms(struct node_lease *l)
{
	int64_t ms = interval_ms(l);

	return ms + (int64_t)prng_below(loop_prng(l->opts.loop), (uint64_t)(ms / 25) + 1);
}

static void try_later(struct node_lease *l, const struct error *err)
{
	int64_t ms = backoff_next(&l->backoff, loop_prng(l->opts.loop));

	if (!l->failing && l->opts.log)
		log_warn(l->opts.log, "cannot renew the node's lease, will try again",
			 LOG_Z("node", l->opts.name), LOG_ERR(err));
	l->failing = true;
	loop_timer_start(&l->timer, MIN(ms, interval_ms(l)));
}

static void lease_on_done(struct client_request *r, const struct client_answer *answer UNUSED,
			  const struct error *err)
{
	struct node_lease *l = r->arg;
	bool created = str_eqz(r->method, "POST");

	if (!err) {
		if (l->failing && l->opts.log)
			log_info(l->opts.log, "renewed the node's lease again",
				 LOG_Z("node", l->opts.name));
		l->failing = false;
		backoff_reset(&l->backoff);
		loop_timer_start(&l->timer, jittered_ms(l));
	} else if (err->code == ERR_NOT_FOUND && !created) {
		renew(l, true);
	} else {
		try_later(l, err);
	}
}

static struct json *lease_owner_of(const struct node_lease *l, struct arena *a)
{
	struct json *owner = json_make_object(a), *list = json_make_array(a);

	json_put_str(a, owner, "apiVersion", STR("v1"));
	json_put_str(a, owner, "kind", STR("Node"));
	json_put_str(a, owner, "name", str_from(l->opts.name));
	json_put_str(a, owner, "uid", str_from(l->owner));
	json_append(list, owner);
	return list;
}

static struct json *lease_make(const struct node_lease *l, struct arena *a)
{
	struct json *lease = json_make_object(a);
	struct json *meta = json_need_object(a, lease, "metadata");
	struct json *spec = json_need_object(a, lease, "spec");
	char text[TIMESTAMP_SIZE];
	struct str now = timestamp_print(clock_wall(loop_clock(l->opts.loop)), TIMESTAMP_MICRO,
					 text);

	json_put_str(a, lease, "apiVersion", STR("coordination.k8s.io/v1"));
	json_put_str(a, lease, "kind", STR("Lease"));
	json_put_str(a, meta, "name", str_from(l->opts.name));
	json_put_str(a, meta, "namespace", STR(NAMESPACE));
	json_setz(meta, "ownerReferences", lease_owner_of(l, a));
	json_put_str(a, spec, "holderIdentity", str_from(l->opts.name));
	json_put_i64(a, spec, "leaseDurationSeconds", l->opts.duration_s);
	json_put_str(a, spec, "renewTime", arena_str(a, now));
	return lease;
}

static void renew(struct node_lease *l, bool create)
{
	struct resource_name name = { STR(NAMESPACE), str_from(l->opts.name), STR_NULL };
	struct arena a;
	struct json *lease;

	arena_init(&a, MIB);
	lease = lease_make(l, &a);
	l->request = (struct client_request){ .on_done = lease_on_done,
					      .arg = l,
					      .timeout_ms = interval_ms(l) };
	if (create)
		client_create(l->opts.client, &l->request, &l->leases, name.ns, lease);
	else
		client_patch(l->opts.client, &l->request, &l->leases, name, CLIENT_PATCH_MERGE,
			     lease);
	arena_release(&a);
}

static void lease_on_timer(struct loop_timer *t)
{
	renew(CONTAINER_OF(t, struct node_lease, timer), false);
}

struct node_lease *node_lease_new(const struct node_lease_opts *opts)
{
	struct node_lease *l = XNEW(struct node_lease);

	l->opts = *opts;
	l->leases = resource_builtin("coordination.k8s.io", "v1", "leases");
	l->backoff = (struct backoff){
		.initial_ms = RETRY_FIRST_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	loop_timer_init(&l->timer, opts->loop, lease_on_timer);
	return l;
}

void node_lease_free(struct node_lease *l)
{
	if (!l)
		return;
	client_cancel(&l->request);
	loop_timer_stop(&l->timer);
	free(l->owner);
	free(l);
}

void node_lease_set_owner(struct node_lease *l, struct str uid)
{
	if (l->owner && str_eqz(uid, l->owner))
		return;
	free(l->owner);
	l->owner = str_dup(uid);
	client_cancel(&l->request);
	renew(l, false);
}
