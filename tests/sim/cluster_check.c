/*
 * Invariants that hold after every step, and those that must hold some time after faults and load
 * have ended.
 */
#include "cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "cluster_node.h"
#include "cluster_server.h"
#include "dra/availability/availability.h"
#include "dra/availability/device_health.h"

#define RESOURCE "resource.k8s.io"

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

static bool is_deleting(const struct json *tree)
{
	return json_pointer(tree, STR("/metadata/deletionTimestamp")) != NULL;
}

/* --- acknowledged writes ------------------------------------------------------------------ */

static void check_thing(struct cluster *w, const struct thing *t)
{
	bool claim = strcmp(t->resource, "resourceclaims") == 0 ||
		     strcmp(t->resource, "devicetaintrules") == 0;
	const struct json *tree = cluster_server_get(w->server, claim ? RESOURCE : "", t->resource,
						     t->ns, t->name, &w->arena);
	bool may_go = t->may_go || (w->nodes_deleted && strcmp(t->resource, "pods") == 0);

	if (!t->uid[0] || t->reused)
		return;
	if (!tree && !t->asked_delete && !may_go)
		cluster_fail(w, "%s %s was created and is lost", t->resource, t->name);
	if (tree && !str_eqz(text_at(tree, "/metadata/uid"), t->uid))
		cluster_fail(w, "%s %s is another than the one that was created", t->resource,
			     t->name);
	if (tree && t->deleted && !is_deleting(tree))
		cluster_fail(w, "%s %s was deleted and is back", t->resource, t->name);
}

static void check_counter(struct cluster *w, const struct counter *c)
{
	const struct json *tree = cluster_server_get(w->server, "", "configmaps", "default",
						     c->name, &w->arena);
	int64_t value = -1;

	(void)str_to_i64(text_at(tree, "/data/value"), &value);
	if (value < c->value || value > c->tried)
		cluster_fail(w, "%s is %lld at the server; %lld was acknowledged, %lld tried last",
			     c->name, (long long)value, (long long)c->value, (long long)c->tried);
}

/* --- devices ------------------------------------------------------------------------------ */

/* Holders of devices: "node/device" -> uid of a claim. */
struct holders {
	struct cluster *w;
	const char *where, *node;
	struct omap by_device;
};

static void hold(struct holders *h, const char *device, struct str uid)
{
	struct arena *a = &h->w->arena;
	struct str key = str_from(arena_strdup(a, str_from(device)));
	const char *mine = arena_strdup(a, uid),
		   *other = omap_put(&h->by_device, key, (void *)(uintptr_t)mine);

	if (!other || strcmp(other, mine) == 0)
		return;
	h->w->doubles++;
	if (!h->w->unfenced)
		cluster_fail(h->w, "%s: %s is held by claims %s and %s", h->where, device, other,
			     mine);
}

static void hold_allocated(void *arg, const struct json *claim)
{
	struct holders *h = arg;
	char device[256];

	JSON_FOREACH (r, json_pointer(claim, STR("/status/allocation/devices/results"))) {
		if (json_true_at(r, "adminAccess"))
			continue;
		(void)snprintf(device, sizeof(device), "%.*s/%.*s",
			       STR_ARG(json_text_at(r, "pool")),
			       STR_ARG(json_text_at(r, "device")));
		hold(h, device, text_at(claim, "/metadata/uid"));
	}
}

static void hold_assigned(void *arg, const struct cluster_node_claim *c)
{
	char device[256];

	(void)snprintf(device, sizeof(device), "%.*s/%.*s", STR_ARG(c->pool), STR_ARG(c->device));
	hold(arg, device, c->uid);
}

static void hold_prepared(void *arg, const char *uid, const char *device)
{
	hold(arg, device, str_from(uid));
}

static void check_devices(struct cluster *w, const struct cluster_role *server)
{
	struct holders h = { .w = w, .where = server->host };

	omap_init(&h.by_device);
	cluster_server_each(server, RESOURCE, "resourceclaims", &w->arena, hold_allocated, &h);
	omap_release(&h.by_device);
}

static void check_nodes(struct cluster *w)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		struct holders h = { .w = w, .where = w->nodes[i].host };

		omap_init(&h.by_device);
		cluster_node_each(&w->nodes[i], &w->arena, hold_assigned, &h);
		omap_clear(&h.by_device);
		h.where = w->drivers[i].host;
		cluster_driver_each(&w->drivers[i], hold_prepared, &h);
		omap_release(&h.by_device);
	}
}

void cluster_check(struct cluster *w)
{
	if (cluster_choose_server(w)) {
		for (size_t i = 0; i < w->things.n; i++)
			check_thing(w, w->things.v[i]);
		for (size_t i = 0; i < CLUSTER_MAPS; i++)
			check_counter(w, &w->counters[i]);
	}
	for (size_t i = 0; i < w->nservers; i++) {
		if (!cluster_server_ready(&w->servers[i]))
			continue;
		check_devices(w, &w->servers[i]);
		cluster_check_copy(w, &w->servers[i]);
	}
	if (w->races)
		races_check(w);
	check_nodes(w);
	if (w->tls)
		tls_check(w);
	if (w->crds)
		crds_check(w);
	if (w->parts & CLUSTER_PLUGINS)
		cards_check(w);
	observer_check(w);
	arena_clear(&w->arena);
}

/* --- in the end --------------------------------------------------------------------------- */

struct settling {
	struct cluster *w;
	char *why;
	size_t size;
	bool bad;
	struct omap held; /* "pool/device" that claims have */
};

static void object_to(struct settling *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first reason stays. */
static void object_to(struct settling *s, const char *fmt, ...)
{
	va_list ap;

	if (s->bad)
		return;
	s->bad = true;
	va_start(ap, fmt);
	(void)vsnprintf(s->why, s->size, fmt, ap);
	va_end(ap);
}

static void note_held(void *arg, const struct json *claim)
{
	struct settling *s = arg;
	struct arena *a = &s->w->arena;

	JSON_FOREACH (r, json_pointer(claim, STR("/status/allocation/devices/results")))
		(void)omap_put(
			&s->held,
			str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(json_text_at(r, "pool")),
					      STR_ARG(json_text_at(r, "device")))),
			s);
}

/* Its driver says that it is broken: it has a taint. */
static bool is_tainted(const struct cluster_hardware *h, unsigned device)
{
	return h->broken[device] && !h->silent[device];
}

static const char *health_of(const struct cluster_hardware *h, unsigned device)
{
	if (h->silent[device])
		return "Unknown";
	return h->broken[device] ? "Unhealthy" : "Healthy";
}

/* So many devices are free and well on one node. */
static bool some_node_has(struct settling *s, int64_t count)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		const struct cluster_hardware *h = &s->w->hardware[i];
		int64_t n = 0;
		char key[64];

		for (unsigned d = 0; d < CLUSTER_DEVICES; d++) {
			(void)snprintf(key, sizeof(key), "%s/gpu-%u", h->node, d);
			n += !is_tainted(h, d) && !displace_is_tainted(s->w, h->node, d) &&
			     !omap_get(&s->held, str_from(key));
		}
		if (n >= count)
			return true;
	}
	return false;
}

/* The name of the pod's claim; empty: it has none, or it is still to be made. */
static struct str claim_name(const struct json *pod, bool *ret_any)
{
	const struct json *c = json_pointer(pod, STR("/spec/resourceClaims/0"));

	*ret_any = c != NULL;
	if (json_text_at(c, "resourceClaimName").n > 0)
		return json_text_at(c, "resourceClaimName");
	return text_at(pod, "/status/resourceClaimStatuses/0/resourceClaimName");
}

static const struct json *claim_of(struct settling *s, struct str name)
{
	return cluster_server_get(s->w->server, RESOURCE, "resourceclaims", "default",
				  arena_strdup(&s->w->arena, name), &s->w->arena);
}

/* A pod without a node: may it be so? */
static void check_waiting(struct settling *s, const struct json *pod)
{
	struct str name = text_at(pod, "/metadata/name");
	bool any, own = json_pointer(pod, STR("/spec/resourceClaims/0/resourceClaimTemplateName"));
	struct str claim = claim_name(pod, &any);
	const struct json *c = claim.n > 0 ? claim_of(s, claim) : NULL;
	const char *why;
	int64_t count;

	if (crds_waits(s->w, pod))
		return;
	if (!any && (why = displace_waits(s->w, pod)))
		object_to(s, "pod %.*s has no node and needs no device%s", STR_ARG(name), why);
	else if (!c && own)
		object_to(s, "pod %.*s has not got its claim", STR_ARG(name));
	if (!c || is_deleting(c))
		return;
	count = json_i64_at(json_pointer(c, STR("/spec/devices/requests/0/exactly")), "count", 1);
	if (json_pointer(c, STR("/status/allocation")))
		object_to(s, "pod %.*s has no node, though claim %.*s is allocated", STR_ARG(name),
			  STR_ARG(claim));
	else if (some_node_has(s, count))
		object_to(s, "pod %.*s has no node, though %lld devices are free", STR_ARG(name),
			  (long long)count);
}

static bool is_ended(const struct json *pod)
{
	struct str phase = text_at(pod, "/status/phase");

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

static const struct cluster_hardware *hardware_of(struct settling *s, struct str node)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++)
		if (str_eqz(node, s->w->hardware[i].node))
			return &s->w->hardware[i];
	return NULL;
}

/* Checks what the pod's status says about the devices of its claim. */
static void check_health(struct settling *s, const struct json *pod)
{
	const struct cluster_hardware *h = hardware_of(s, text_at(pod, "/spec/nodeName"));
	const struct json *told = json_pointer(
		pod, STR("/status/containerStatuses/0/allocatedResourcesStatus/0/resources"));
	bool any;
	struct str name = claim_name(pod, &any);
	const struct json *claim = any ? claim_of(s, name) : NULL;

	JSON_FOREACH (r, json_pointer(claim, STR("/status/allocation/devices/results"))) {
		struct str device = json_text_at(r, "device"), health = STR_NULL;
		unsigned index = (unsigned)(device.p[device.n - 1] - '0');
		const char *truth = h ? health_of(h, index) : "of no node";

		JSON_FOREACH (t, told)
			if (str_find(json_text_at(t, "resourceID"), device) >= 0)
				health = json_text_at(t, "health");
		if (!str_eqz(health, truth))
			object_to(s, "pod %.*s: %.*s is %s, its status says \"%.*s\"",
				  STR_ARG(text_at(pod, "/metadata/name")), STR_ARG(device), truth,
				  STR_ARG(health));
	}
}

static void check_pod(void *arg, const struct json *pod)
{
	struct settling *s = arg;
	struct str name = text_at(pod, "/metadata/name");

	if (is_deleting(pod))
		object_to(s, "pod %.*s is still being deleted", STR_ARG(name));
	else if (is_ended(pod))
		return;
	else if (text_at(pod, "/spec/nodeName").n == 0)
		check_waiting(s, pod);
	else if (!str_eqz(text_at(pod, "/status/phase"), "Running"))
		object_to(s, "pod %.*s is on %.*s and does not run: %.*s", STR_ARG(name),
			  STR_ARG(text_at(pod, "/spec/nodeName")),
			  STR_ARG(text_at(pod, "/status/phase")));
	else
		check_health(s, pod);
}

static void check_claim(void *arg, const struct json *claim)
{
	struct settling *s = arg;
	struct str name = text_at(claim, "/metadata/name");
	const struct json *users = json_pointer(claim, STR("/status/reservedFor"));

	if (is_deleting(claim) && json_count(users) == 0)
		object_to(s, "claim %.*s is still being deleted", STR_ARG(name));
	if (json_pointer(claim, STR("/status/allocation")) && json_count(users) == 0)
		object_to(s, "claim %.*s is allocated and nobody uses it", STR_ARG(name));
	JSON_FOREACH (u, users) {
		const struct json *pod = cluster_server_get(
			s->w->server, "", "pods", "default",
			arena_strdup(&s->w->arena, json_text_at(u, "name")), &s->w->arena);

		if (!pod || is_ended(pod) ||
		    !str_eq(text_at(pod, "/metadata/uid"), json_text_at(u, "uid")))
			object_to(s, "claim %.*s is reserved for %.*s, which is gone or has ended",
				  STR_ARG(name), STR_ARG(json_text_at(u, "name")));
	}
}

/* --- slices ------------------------------------------------------------------------------- */

struct slices {
	struct settling *s;
	struct inventory *inv;
	struct device_health_book *health;
	unsigned n;
};

static void put_pod(void *arg, const struct json *tree)
{
	device_health_book_put_pod(((struct slices *)arg)->health, tree, 0);
}

static void put_node(void *arg, const struct json *tree)
{
	struct str text = json_text_at(json_pointer(tree, STR("/metadata/annotations")),
				       DEVICE_HEALTH_ANNOTATION);

	inventory_put_node_object(((struct slices *)arg)->inv, tree);
	(void)device_health_book_put_node(((struct slices *)arg)->health,
					  text_at(tree, "/metadata/name"), text, 0, NULL);
}

static void put_slice(void *arg, const struct json *tree)
{
	(void)inventory_put_slice(((struct slices *)arg)->inv, tree, NULL);
}

static void put_rule(void *arg, const struct json *tree)
{
	(void)inventory_put_taint_rule(((struct slices *)arg)->inv, tree, NULL);
}

static void put_claim(void *arg, const struct json *tree)
{
	struct slices *x = arg;

	(void)inventory_put_claim(x->inv, tree, NULL);
	device_health_book_put_claim(x->health, text_at(tree, "/metadata/namespace"),
				     text_at(tree, "/metadata/name"),
				     json_pointer(tree, STR("/status/devices")), 0);
}

static void drop_times(struct json *status)
{
	JSON_FOREACH (c, json_pointer(status, STR("/poolStatus/conditions")))
		(void)json_remove(c, STR("lastTransitionTime"));
	JSON_FOREACH (d, json_getz(status, "devices")) {
		(void)json_remove(d, STR("healthSince"));
		/* If a pod and a node report the same health, the newest report counts. */
		(void)json_remove(d, STR("healthSource"));
	}
}

static const char *print(struct cluster *w, const struct json *tree)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	if (!tree)
		return "none";
	(void)json_print(&text, tree, NULL);
	return arena_strdup(&w->arena, buf_str(&text));
}

static void check_slice(void *arg, const struct json *slice)
{
	struct slices *x = arg;
	struct cluster *w = x->s->w;
	struct json *got = json_getz(slice, "status");
	struct json *want = availability_slice_status(
		x->inv, x->health, text_at(slice, "/metadata/name"), NULL, 0, &w->arena);

	x->n++;
	drop_times(got);
	drop_times(want);
	if (got && want ? !json_equal(got, want) : got || want)
		object_to(x->s, "the status of slice %.*s is not what its claims say: %s, not %s",
			  STR_ARG(text_at(slice, "/metadata/name")), print(w, got), print(w, want));
}

/* Its taints are those of what is broken. */
static void check_taints(void *arg, const struct json *slice)
{
	struct slices *x = arg;
	const struct cluster_hardware *h = hardware_of(x->s, text_at(slice, "/spec/nodeName"));

	JSON_FOREACH (d, json_pointer(slice, STR("/spec/devices"))) {
		struct str name = json_text_at(d, "name");
		bool tainted = json_count(json_getz(d, "taints")) > 0;

		if (h && is_tainted(h, (unsigned)(name.p[name.n - 1] - '0')) != tainted)
			object_to(x->s, "%s/%.*s is %stainted", h->node, STR_ARG(name),
				  tainted ? "" : "not ");
	}
}

static void check_slices(struct settling *s)
{
	struct slices x = { s, inventory_new(inventory_everything),
			    device_health_book_new(NULL, NULL), 0 };
	struct cluster *w = s->w;

	cluster_server_each(w->server, RESOURCE, "resourceslices", &w->arena, put_slice, &x);
	cluster_server_each(w->server, RESOURCE, "devicetaintrules", &w->arena, put_rule, &x);
	cluster_server_each(w->server, RESOURCE, "resourceclaims", &w->arena, put_claim, &x);
	cluster_server_each(w->server, "", "pods", &w->arena, put_pod, &x);
	cluster_server_each(w->server, "", "nodes", &w->arena, put_node, &x);
	inventory_know_nodes(x.inv);
	cluster_server_each(w->server, RESOURCE, "resourceslices", &w->arena, check_slice, &x);
	cluster_server_each(w->server, RESOURCE, "resourceslices", &w->arena, check_taints, &x);
	if (x.n != CLUSTER_NODES)
		object_to(s, "%u slices of %d nodes", x.n, CLUSTER_NODES);
	device_health_book_free(x.health);
	inventory_free(x.inv);
}

static bool all_up(struct settling *s)
{
	for (size_t i = 0; i < s->w->nroles; i++)
		if (s->w->roles[i].state != CLUSTER_UP)
			object_to(s, "%s does not run", s->w->roles[i].host);
	for (size_t i = 0; i < s->w->nservers; i++)
		if (!s->bad && !cluster_server_ready(&s->w->servers[i]))
			object_to(s, "%s is not ready", s->w->servers[i].host);
	if (!s->bad && !cluster_choose_server(s->w))
		object_to(s, "%s lacks what was acknowledged", s->w->server->host);
	return !s->bad;
}

static void check_namespace(void *arg, const struct json *tree)
{
	if (is_deleting(tree))
		object_to(arg, "namespace %.*s is still being deleted",
			  STR_ARG(text_at(tree, "/metadata/name")));
}

bool cluster_settled(struct cluster *w, char *why, size_t size)
{
	struct settling s = { .w = w, .why = why, .size = size };

	if (!all_up(&s))
		return false;
	omap_init(&s.held);
	cluster_server_each(w->server, RESOURCE, "resourceclaims", &w->arena, note_held, &s);
	check_slices(&s);
	cluster_server_each(w->server, "", "pods", &w->arena, check_pod, &s);
	cluster_server_each(w->server, RESOURCE, "resourceclaims", &w->arena, check_claim, &s);
	cluster_server_each(w->server, "", "namespaces", &w->arena, check_namespace, &s);
	omap_release(&s.held);
	if ((w->parts & CLUSTER_PLUGINS) && !cards_settled(w))
		object_to(&s, "a node does not offer the cards that are well");
	if (w->crds && !crds_settled(w))
		object_to(&s, "the custom kind is not as it should be");
	if (!s.bad && displace_settled(w))
		object_to(&s, "%s", displace_settled(w));
	if (!s.bad && monitors_settled(w))
		object_to(&s, "%s", monitors_settled(w));
	arena_clear(&w->arena);
	return !s.bad;
}

/* --- nothing is left ---------------------------------------------------------------------- */

static void check_gone(void *arg, const struct json *tree)
{
	object_to(arg, "%.*s is still there", STR_ARG(text_at(tree, "/metadata/name")));
}

static void check_no_namespace(void *arg, const struct json *tree)
{
	if (str_starts(text_at(tree, "/metadata/name"), STR("ns-")))
		check_gone(arg, tree);
}

static void check_unassigned(void *arg, const struct cluster_node_claim *c)
{
	object_to(arg, "the agent of %.*s still has claim %.*s", STR_ARG(c->pool), STR_ARG(c->uid));
}

static void check_unprepared(void *arg, const char *uid, const char *device)
{
	object_to(arg, "%s is still prepared for claim %s", device, uid);
}

bool cluster_empty(struct cluster *w, char *why, size_t size)
{
	struct settling s = { .w = w, .why = why, .size = size };

	if (!all_up(&s))
		return false;
	cluster_server_each(w->server, "", "pods", &w->arena, check_gone, &s);
	cluster_server_each(w->server, RESOURCE, "resourceclaims", &w->arena, check_gone, &s);
	cluster_server_each(w->server, "", "namespaces", &w->arena, check_no_namespace, &s);
	check_slices(&s);
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		cluster_node_each(&w->nodes[i], &w->arena, check_unassigned, &s);
		cluster_driver_each(&w->drivers[i], check_unprepared, &s);
		if (cluster_node_pods(&w->nodes[i]) > 0)
			object_to(&s, "the agent of n%u still has pods", i);
	}
	if (!s.bad && monitors_settled(w))
		object_to(&s, "%s", monitors_settled(w));
	arena_clear(&w->arena);
	return !s.bad;
}
