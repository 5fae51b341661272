/*
 * Clients that want the same thing at the same time, each through a server of its choice and with
 * the same bytes: one of them gets it.
 *
 *  - registers: all write n + 1 on one version of n. One write is acknowledged; and since nobody
 *    else writes them, not all are refused.
 *  - names: all create one name, which is never used again, then all delete it. One creation and
 *    one deletion are acknowledged, and not all are refused.
 *  - a budget that lets one of several pods be evicted: one eviction is acknowledged.
 *  - a quota of one Secret, and one node port: at most one object has it, whatever is acknowledged.
 *
 * Requests are sent once, so that an answer says what became of one write.
 */
#include "cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/json/json.h"

enum { REGISTERS = 3, RACERS_MAX = 4, ASK_MS = 20 * 1000, TRIES = 20, PORT = 31234 };

#define QUOTA_NS "quota"

enum race_kind {
	RACE_READ,
	RACE_WRITE,
	RACE_CREATE,
	RACE_DELETE,
	RACE_QUOTA,
	RACE_PORT,
	RACE_ALLOW,
	RACE_EVICT,
	RACE_TIDY,
	RACE_MAKE,
};

struct reg {
	char name[16];
	int64_t rv, value; /* the last that was read or acknowledged; rv 0: to be read */
	int64_t least; /* acknowledged: no read is below */
	int64_t doubt; /* a write on this version may come yet; 0: none */
	bool busy;
};

struct races {
	struct cluster *w;
	struct reg regs[REGISTERS];
	struct list asks;
	char once[24]; /* a name that exists, to be deleted; or empty */
	bool busy; /* with a name */
	unsigned enforcers; /* servers that have seen what the quota limits: bits */
	bool evicting; /* a budget is being raced for */
	unsigned victims, spent; /* pods for that: created, and those that had their race */
	bool made;
	unsigned names;
};

/* One race: all that were sent together. */
struct round {
	enum race_kind kind;
	struct reg *reg;
	char name[24];
	int64_t rv; /* RACE_WRITE: on it */
	unsigned left, acked, conflicts, unknown;
};

struct ask {
	struct list link;
	struct races *x;
	struct round *round;
	struct client_request request;
};

static struct resource of(const char *resource)
{
	return resource_builtin(strcmp(resource, "poddisruptionbudgets") == 0 ? "policy" : "", "v1",
				resource);
}

static int64_t number_at(const struct json *tree, const char *pointer)
{
	int64_t n = -1;

	(void)str_to_i64(json_str(json_pointer(tree, str_from(pointer))), &n);
	return n;
}

/* --- what is answered --------------------------------------------------------------------- */

static const char *verb_of(enum race_kind kind)
{
	static const char *const verbs[] = {
		"read",      "write",     "creation", "deletion", "Secret",
		"node port", "allowance", "eviction", "deletion", "creation",
	};

	return verbs[kind];
}

static void learn(struct races *x, struct round *r, const struct json *tree)
{
	struct reg *reg = r->reg;
	int64_t value = number_at(tree, "/data/value"),
		rv = number_at(tree, "/metadata/resourceVersion");

	if (value < reg->least)
		cluster_fail(x->w, "%s is %lld, though %lld was acknowledged", reg->name,
			     (long long)value, (long long)reg->least);
	reg->rv = rv;
	reg->value = value;
	if (rv > reg->doubt)
		reg->doubt = 0;
	if (r->kind == RACE_WRITE)
		reg->least = value;
}

/* One of several that can only be one. */
static void win(struct races *x, struct round *r, const struct json *tree)
{
	bool one = r->kind == RACE_WRITE || r->kind == RACE_CREATE || r->kind == RACE_DELETE ||
		   r->kind == RACE_EVICT;

	r->acked++;
	if (one && r->acked > 1)
		cluster_fail(x->w, "one %s of %s was acknowledged to %u clients", verb_of(r->kind),
			     r->name, r->acked);
	if (r->reg)
		learn(x, r, tree);
}

/* Nobody else wanted it, and all is known of those who did: one of them has won. */
static void check_refusals(struct races *x, const struct round *r)
{
	if (r->acked == 0 && r->unknown == 0 && r->conflicts > 0 &&
	    (r->kind == RACE_WRITE || r->kind == RACE_CREATE || r->kind == RACE_DELETE))
		cluster_fail(x->w, "every %s of %s was refused, though nobody else wanted it",
			     verb_of(r->kind), r->name);
}

static void evict(struct races *x);

static void end_round(struct races *x, struct round *r)
{
	bool doubtful = r->reg && r->reg->doubt == r->rv;

	if (!doubtful)
		check_refusals(x, r);
	if (r->reg) {
		r->reg->busy = false;
		if (r->kind == RACE_WRITE && r->unknown > 0 && r->acked == 0)
			r->reg->doubt = r->rv;
		if (r->acked == 0)
			r->reg->rv = 0;
	}
	if (r->kind == RACE_CREATE || r->kind == RACE_DELETE)
		x->busy = false;
	if (r->kind == RACE_ALLOW && r->acked == 1)
		evict(x);
	else if (r->kind == RACE_ALLOW || r->kind == RACE_EVICT)
		x->evicting = false;
	/* A creation that may come yet would be there after the deletion. */
	if (r->kind == RACE_CREATE && r->acked == 1 && r->unknown == 0)
		(void)snprintf(x->once, sizeof(x->once), "%s", r->name);
	free(r);
}

/* Flow control refuses before anything is looked at: that says nothing. */
static bool is_refusal(int status, enum race_kind kind)
{
	return status >= 400 && status < 500 && (status != 429 || kind == RACE_EVICT);
}

static void on_done(struct client_request *request, const struct client_answer *answer,
		    const struct error *err)
{
	struct ask *k = CONTAINER_OF(request, struct ask, request);
	struct races *x = k->x;
	struct round *r = k->round;
	struct json *tree = NULL;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	list_remove(&k->link);
	free(k);
	if (!err) {
		cluster_acknowledged(x->w);
		(void)client_answer_tree(answer, &a, &tree, NULL);
		win(x, r, tree);
	} else if (is_refusal(answer->status, r->kind)) {
		x->w->refused++;
		r->conflicts++;
	} else {
		x->w->unknown++;
		r->unknown++;
	}
	/* That it is there already is as good: an answer was lost. */
	x->made = x->made || (r->kind == RACE_MAKE && (!err || answer->status == 409));
	if (--r->left == 0)
		end_round(x, r);
	arena_release(&a);
}

/* --- what is asked ------------------------------------------------------------------------ */

static struct ask *ask_new(struct races *x, struct round *r)
{
	struct ask *k = XNEW(struct ask);

	k->x = x;
	k->round = r;
	k->request = (struct client_request){ .no_retry = true,
					      .timeout_ms = ASK_MS,
					      .on_done = on_done };
	r->left++;
	list_push_back(&x->asks, &k->link);
	return k;
}

static struct round *round_new(struct races *x, enum race_kind kind, struct reg *reg)
{
	struct round *r = XNEW(struct round);

	r->kind = kind;
	r->reg = reg;
	if (reg)
		(void)snprintf(r->name, sizeof(r->name), "%s", reg->name);
	else
		(void)snprintf(r->name, sizeof(r->name), "once-%u", x->names++);
	return r;
}

static unsigned racers(struct races *x)
{
	return 2 + cluster_pick(x->w, RACERS_MAX - 1);
}

static void read_reg(struct races *x, struct reg *reg)
{
	struct round *r = round_new(x, RACE_READ, reg);
	struct resource what = of("configmaps");

	client_get(cluster_client(x->w), &ask_new(x, r)->request, &what, STR("default"),
		   str_from(reg->name));
}

static void write_reg(struct races *x, struct reg *reg)
{
	struct round *r = round_new(x, RACE_WRITE, reg);
	struct resource what = of("configmaps");
	char text[256];

	r->rv = reg->rv;
	(void)snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		"\"resourceVersion\":\"%lld\"},\"data\":{\"value\":\"%lld\"}}",
		reg->name, (long long)reg->rv, (long long)reg->value + 1);
	cluster_tell(x->w, "race for %s on %lld", reg->name, (long long)reg->rv);
	for (unsigned n = racers(x); n > 0; n--) {
		struct ask *k = ask_new(x, r);

		k->request.body = str_from(text);
		client_update(cluster_client(x->w), &k->request, &what, STR("default"),
			      str_from(reg->name), NULL);
	}
}

static void race_register(struct races *x)
{
	struct reg *reg = &x->regs[cluster_pick(x->w, REGISTERS)];

	if (reg->busy)
		return;
	reg->busy = true;
	if (reg->rv)
		write_reg(x, reg);
	else
		read_reg(x, reg);
}

static void create(struct races *x, struct round *r, const char *resource, const char *ns,
		   const char *text)
{
	struct resource what = of(resource);
	struct ask *k = ask_new(x, r);

	k->request.body = str_from(text);
	client_create(cluster_client(x->w), &k->request, &what, str_from(ns), NULL);
}

static void delete_name(struct races *x, struct round *r, const char *resource, const char *ns)
{
	struct resource what = of(resource);
	struct client_delete_opts o = { .propagation = "Background" };

	client_delete(cluster_client(x->w), &ask_new(x, r)->request, &what, str_from(ns),
		      str_from(r->name), &o);
}

static void race_name(struct races *x)
{
	bool deletes = x->once[0];
	struct round *r;
	char text[128];

	if (x->busy)
		return;
	x->busy = true;
	r = round_new(x, deletes ? RACE_DELETE : RACE_CREATE, NULL);
	if (deletes)
		(void)snprintf(r->name, sizeof(r->name), "%s", x->once);
	x->once[0] = '\0';
	cluster_tell(x->w, "race for the %s of %s", verb_of(r->kind), r->name);
	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}}", r->name);
	for (unsigned n = racers(x); n > 0; n--) {
		if (deletes)
			delete_name(x, r, "configmaps", "default");
		else
			create(x, r, "configmaps", "default", text);
	}
}

/* Names of their own, of which one may have it. */
static void race_limit(struct races *x, enum race_kind kind)
{
	bool port = kind == RACE_PORT;
	struct round *r = round_new(x, kind, NULL);
	char text[256];

	cluster_tell(x->w, "race for one %s", verb_of(kind));
	for (unsigned n = racers(x); n > 0; n--) {
		(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"once-%u\"}%s}",
			       x->names++,
			       port ? ",\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":80,"
				      "\"nodePort\":31234}]}"
				    : "");
		create(x, r, port ? "services" : "secrets", port ? "default" : QUOTA_NS, text);
	}
}

/* --- budgets ------------------------------------------------------------------------------ */

static const struct json *pod_of(struct races *x, unsigned number)
{
	char name[24];

	(void)snprintf(name, sizeof(name), "victim-%u", number);
	return cluster_server_get(x->w->server, "", "pods", "default", name, &x->w->arena);
}

/* A budget counts only for pods that run. */
static bool is_victim(struct races *x, unsigned number)
{
	const struct json *pod = pod_of(x, number);

	return pod && !json_pointer(pod, STR("/metadata/deletionTimestamp")) &&
	       str_eqz(json_str(json_pointer(pod, STR("/status/phase"))), "Running");
}

static void add_victim(struct races *x)
{
	struct round *r = round_new(x, RACE_TIDY, NULL);
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"victim-%u\",\"labels\":{\"race\":\"budget\"}},"
		       "\"spec\":{\"automountServiceAccountToken\":false,"
		       "\"terminationGracePeriodSeconds\":1,\"containers\":[{\"name\":\"c\","
		       "\"image\":\"i\"}]}}",
		       x->victims++);
	create(x, r, "pods", "default", text);
}

/* The status that a budget controller would write: one pod may go. */
static void allow(struct races *x)
{
	const struct json *budget = cluster_server_get(
		x->w->server, "policy", "poddisruptionbudgets", "default", "budget", &x->w->arena);
	struct round *r = round_new(x, RACE_ALLOW, NULL);
	struct resource what = of("poddisruptionbudgets");
	struct ask *k = ask_new(x, r);
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
		       "\"metadata\":{\"name\":\"budget\",\"resourceVersion\":\"%lld\"},"
		       "\"status\":{\"disruptionsAllowed\":1,\"currentHealthy\":0,"
		       "\"desiredHealthy\":0,\"expectedPods\":0,\"observedGeneration\":1}}",
		       (long long)number_at(budget, "/metadata/resourceVersion"));
	k->request.body = str_from(text);
	client_update_status(cluster_client(x->w), &k->request, &what, STR("default"),
			     STR("budget"), NULL);
}

/* Each pod has one race: of a second one nobody would know whether it goes already. */
static void evict(struct races *x)
{
	struct round *r = round_new(x, RACE_EVICT, NULL);
	unsigned end = x->victims;
	char path[96], text[96];

	(void)snprintf(r->name, sizeof(r->name), "a pod of one");
	r->left = 1;
	for (unsigned i = x->spent; i < end && cluster_server_ready(x->w->server); i++) {
		struct ask *k;

		if (!is_victim(x, i))
			continue;
		k = ask_new(x, r);
		(void)snprintf(path, sizeof(path),
			       "/api/v1/namespaces/default/pods/victim-%u/eviction", i);
		(void)snprintf(text, sizeof(text),
			       "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\","
			       "\"metadata\":{\"name\":\"victim-%u\"}}",
			       i);
		k->request.method = STR("POST");
		k->request.path = str_from(path);
		k->request.body = str_from(text);
		client_send(cluster_client(x->w), &k->request);
	}
	x->spent = end;
	if (--r->left == 0)
		end_round(x, r);
}

static void race_budget(struct races *x)
{
	unsigned n = 0;

	if (x->evicting || !cluster_choose_server(x->w))
		return;
	for (unsigned i = x->spent; i < x->victims; i++)
		n += is_victim(x, i);
	if (n >= 2) {
		cluster_tell(x->w, "race for the eviction of one of %u pods", n);
		x->evicting = true;
		allow(x);
	} else if (x->victims - x->spent < RACERS_MAX) {
		add_victim(x);
	}
	arena_clear(&x->w->arena);
}

/* --- who has it --------------------------------------------------------------------------- */

struct holders {
	const struct cluster *w;
	unsigned secrets, ports, nfound;
	char found[RACERS_MAX][24], ns[RACERS_MAX][16];
	const char *resource[RACERS_MAX];
};

static void found(struct holders *h, const struct json *tree, const char *resource)
{
	if (h->nfound == RACERS_MAX)
		return;
	(void)snprintf(h->found[h->nfound], sizeof(h->found[0]), "%.*s",
		       STR_ARG(json_str(json_pointer(tree, STR("/metadata/name")))));
	(void)snprintf(h->ns[h->nfound], sizeof(h->ns[0]), "%.*s",
		       STR_ARG(json_str(json_pointer(tree, STR("/metadata/namespace")))));
	h->resource[h->nfound++] = resource;
}

static void count_secret(void *arg, const struct json *tree)
{
	struct holders *h = arg;

	if (!str_eqz(json_str(json_pointer(tree, STR("/metadata/namespace"))), QUOTA_NS))
		return;
	h->secrets++;
	found(h, tree, "secrets");
}

static void count_port(void *arg, const struct json *tree)
{
	struct holders *h = arg;

	if (json_i64_at(json_pointer(tree, STR("/spec/ports/0")), "nodePort", 0) != PORT)
		return;
	h->ports++;
	found(h, tree, "services");
}

static void find_holders(struct cluster *w, const struct cluster_role *server, struct holders *h)
{
	*h = (struct holders){ .w = w };
	cluster_server_each(server, "", "secrets", &w->arena, count_secret, h);
	cluster_server_each(server, "", "services", &w->arena, count_port, h);
}

/* A server limits nothing before it has seen the controller's first count. */
static bool enforces(struct cluster *w, const struct cluster_role *server)
{
	const struct json *quota = cluster_server_get(server, "", "resourcequotas", QUOTA_NS, "one",
						      &w->arena);

	return json_pointer(quota, STR("/status/hard/secrets")) != NULL;
}

void races_check(struct cluster *w)
{
	struct races *x = w->races;
	struct holders h;

	for (size_t i = 0; i < w->nservers; i++) {
		if (!cluster_server_ready(&w->servers[i]))
			continue;
		find_holders(w, &w->servers[i], &h);
		if (h.secrets > 1)
			cluster_fail(w, "a quota of one Secret holds %u", h.secrets);
		if (h.ports > 1)
			cluster_fail(w, "%u services have one node port", h.ports);
		if (enforces(w, &w->servers[i]))
			x->enforcers |= 1U << i;
	}
}

/* Deletes who has it, so that there is something to race for. */
static void tidy(struct races *x)
{
	struct holders h;

	if (!cluster_server_ready(x->w->server))
		return;
	find_holders(x->w, x->w->server, &h);
	arena_clear(&x->w->arena);
	for (unsigned i = 0; i < h.nfound; i++) {
		struct round *r = round_new(x, RACE_TIDY, NULL);

		(void)snprintf(r->name, sizeof(r->name), "%s", h.found[i]);
		delete_name(x, r, h.resource[i], h.ns[i]);
	}
}

void races_step(struct cluster *w)
{
	struct races *x = w->races;

	switch (cluster_pick(w, 10)) {
	case 0:
	case 1:
	case 2:
		race_register(x);
		break;
	case 3:
	case 4:
		race_name(x);
		break;
	case 5:
		race_limit(x, RACE_PORT);
		break;
	case 6:
	case 7:
		race_budget(x);
		break;
	case 8:
		if ((x->w->parts & CLUSTER_QUOTA) && x->enforcers + 1 == 1U << x->w->nservers)
			race_limit(x, RACE_QUOTA);
		break;
	default:
		tidy(x);
		break;
	}
}

/* --- life --------------------------------------------------------------------------------- */

/* Until it is there. */
static void make(struct races *x, const char *resource, const char *ns, const char *text)
{
	x->made = false;
	for (unsigned i = 0; i < TRIES && !x->made; i++) {
		create(x, round_new(x, RACE_MAKE, NULL), resource, ns, text);
		for (unsigned t = 0; t < 2 * ASK_MS / 100 && !list_empty(&x->asks); t++)
			cluster_run(x->w, 100);
		assert_true(list_empty(&x->asks));
	}
	assert_true(x->made);
}

void races_begin(struct cluster *w)
{
	struct races *x = XNEW(struct races);
	char text[256];

	x->w = w;
	list_init(&x->asks);
	w->races = x;
	make(x, "namespaces", "", "{\"metadata\":{\"name\":\"" QUOTA_NS "\"}}");
	make(x, "resourcequotas", QUOTA_NS,
	     "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"hard\":{\"secrets\":\"1\"}}}");
	make(x, "poddisruptionbudgets", "default",
	     "{\"metadata\":{\"name\":\"budget\"},\"spec\":{\"minAvailable\":0,"
	     "\"selector\":{\"matchLabels\":{\"race\":\"budget\"}}}}");
	for (unsigned i = 0; i < REGISTERS; i++) {
		struct reg *reg = &x->regs[i];

		(void)snprintf(reg->name, sizeof(reg->name), "register-%u", i);
		(void)snprintf(text, sizeof(text),
			       "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"value\":\"0\"}}",
			       reg->name);
		make(x, "configmaps", "default", text);
	}
}

bool races_idle(const struct cluster *w)
{
	return !w->races || list_empty(&w->races->asks);
}

void races_release(struct cluster *w)
{
	struct races *x = w->races;

	if (!x)
		return;
	LIST_FOREACH_SAFE (it, &x->asks) {
		struct ask *k = LIST_ENTRY(it, struct ask, link);

		client_cancel(&k->request);
		if (--k->round->left == 0)
			free(k->round);
		free(k);
	}
	free(x);
	w->races = NULL;
}
