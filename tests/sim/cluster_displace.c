/*
 * Pods that have to go for others.
 *
 * Preemption: pods that need CPUs, of high and of low priority, so many that they do not all fit.
 * In the end none waits for which there is room, or which may take the place of one of lower
 * priority, and no node has more than fits on it. One of high priority is never sent away.
 *
 * Taints: rules with the effect NoExecute on devices, which come and go. In the end no pod uses
 * such a device, unless its claim tolerates that, or clocks disagree about when the taint was
 * added; and one that tolerates is never sent away.
 */
#include "cluster_world.h"

#include "base/json/json.h"

enum { HIGH = 1000, LOW = 10, RULES_MAX = 2 };

#define RESOURCE "resource.k8s.io"

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

/* --- load --------------------------------------------------------------------------------- */

static void make_class(struct cluster *w, const char *name, int value)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"},\"value\":%d}", name,
		       value);
	cluster_load_make(w, "priorityclasses", text);
}

void displace_begin(struct cluster *w)
{
	if (w->parts & CLUSTER_PRIORITY) {
		make_class(w, "high", HIGH);
		make_class(w, "low", LOW);
	}
	if (w->parts & CLUSTER_TAINTS)
		cluster_load_make(
			w, "resourceclaimtemplates",
			"{\"metadata\":{\"name\":\"gpus-3\"},\"spec\":{\"spec\":{\"devices\":{"
			"\"requests\":[{\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\","
			"\"tolerations\":[{\"operator\":\"Exists\"}]}}]}}}}");
	for (int64_t ms = 0; ms < 120000 && !cluster_load_idle(w); ms += 100)
		cluster_run(w, 100);
}

unsigned displace_template(struct cluster *w, unsigned count)
{
	return count == 2 && (w->parts & CLUSTER_TAINTS) ? 3 : count;
}

static void create_pod(struct cluster *w)
{
	bool high = cluster_chance(w, 0.4);
	unsigned cpus = 4U << cluster_pick(w, 3);
	char spec[64], container[96];

	(void)snprintf(spec, sizeof(spec), ",\"priorityClassName\":\"%s\"", high ? "high" : "low");
	(void)snprintf(container, sizeof(container),
		       ",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}", cpus);
	cluster_load_pod(w, spec, container, !high);
}

struct rules {
	struct cluster *w;
	unsigned n;
};

static void count_rule(void *arg, const struct json *tree)
{
	((struct rules *)arg)->n += tree != NULL;
}

static void create_rule(struct cluster *w)
{
	unsigned node = cluster_pick(w, CLUSTER_NODES), device = cluster_pick(w, CLUSTER_DEVICES);
	bool executes = cluster_chance(w, 0.7);
	char spec[256];

	(void)snprintf(spec, sizeof(spec),
		       ",\"spec\":{\"deviceSelector\":{\"driver\":\"" CLUSTER_DRIVER
		       "\",\"pool\":\"n%u\",\"device\":\"gpu-%u\"},\"taint\":{\"key\":\"sim/rule\","
		       "\"effect\":\"%s\"}}",
		       node, device, executes ? "NoExecute" : "NoSchedule");
	cluster_load_thing(w, "devicetaintrules", "rule", spec);
}

static void change_rules(struct cluster *w)
{
	struct thing *t = cluster_load_some(w, "devicetaintrules");
	struct rules rules = { .w = w };

	if (!cluster_server_ready(w->server))
		return;
	cluster_server_each(w->server, RESOURCE, "devicetaintrules", &w->arena, count_rule, &rules);
	arena_clear(&w->arena);
	if (t && (rules.n >= RULES_MAX || cluster_chance(w, 0.5)))
		cluster_load_delete(w, t);
	else if (rules.n < RULES_MAX)
		create_rule(w);
}

void displace_step(struct cluster *w)
{
	bool both = (w->parts & CLUSTER_PRIORITY) && (w->parts & CLUSTER_TAINTS);

	if ((w->parts & CLUSTER_PRIORITY) && (!both || cluster_chance(w, 0.5)))
		create_pod(w);
	else
		change_rules(w);
}

/* --- CPUs --------------------------------------------------------------------------------- */

struct room {
	int64_t used[CLUSTER_NODES], lower[CLUSTER_NODES]; /* by pods; of a lower priority */
	int64_t priority;
};

static int64_t cpus_of(const struct json *pod)
{
	int64_t n = 0;

	(void)str_to_i64(text_at(pod, "/spec/containers/0/resources/requests/cpu"), &n);
	return n;
}

static int64_t priority_of(const struct json *pod)
{
	return json_i64_at(json_getz(pod, "spec"), "priority", 0);
}

static void use_room(void *arg, const struct json *pod)
{
	struct room *r = arg;
	struct str node = text_at(pod, "/spec/nodeName"), phase = text_at(pod, "/status/phase");
	unsigned i = node.n == 2 ? (unsigned)(node.p[1] - '0') : CLUSTER_NODES;

	if (i >= CLUSTER_NODES || str_eqz(phase, "Failed") || str_eqz(phase, "Succeeded"))
		return;
	r->used[i] += cpus_of(pod);
	if (priority_of(pod) < r->priority)
		r->lower[i] += cpus_of(pod);
}

static int64_t capacity_of(struct cluster *w, unsigned node)
{
	int64_t n = 0;

	(void)str_to_i64(text_at(cluster_server_get(w->server, "", "nodes", "", w->nodes[node].host,
						    &w->arena),
				 "/status/allocatable/cpu"),
			 &n);
	return n;
}

const char *displace_waits(struct cluster *w, const struct json *pod)
{
	struct room r = { .priority = priority_of(pod) };

	if (cards_of_pod(pod) > 0)
		return cards_are_free(w, cards_of_pod(pod)) ? ", and cards are free" : NULL;
	if (cpus_of(pod) == 0)
		return "";
	cluster_server_each(w->server, "", "pods", &w->arena, use_room, &r);
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		int64_t room = capacity_of(w, i) - r.used[i];

		if (cpus_of(pod) <= room)
			return ", and there is room for it";
		if (cpus_of(pod) <= room + r.lower[i])
			return ", and others of lower priority are where it fits";
	}
	return NULL;
}

/* --- devices ------------------------------------------------------------------------------ */

struct search {
	struct cluster *w;
	struct str node, device;
	bool found; /* a rule taints it */
	bool executes;
	const char *bad; /* a pod stays on it */
};

static void match_rule(void *arg, const struct json *rule)
{
	struct search *s = arg;

	if (!str_eq(text_at(rule, "/spec/deviceSelector/pool"), s->node) ||
	    !str_eq(text_at(rule, "/spec/deviceSelector/device"), s->device))
		return;
	s->found = true;
	s->executes |= str_eqz(text_at(rule, "/spec/taint/effect"), "NoExecute");
}

static void find_rules(struct search *s)
{
	s->found = s->executes = false;
	cluster_server_each(s->w->server, RESOURCE, "devicetaintrules", &s->w->arena, match_rule,
			    s);
}

bool displace_is_tainted(struct cluster *w, const char *node, unsigned device)
{
	char name[16];
	struct search s = { .w = w, .node = str_from(node) };

	if (!(w->parts & CLUSTER_TAINTS))
		return false;
	(void)snprintf(name, sizeof(name), "gpu-%u", device);
	s.device = str_from(name);
	find_rules(&s);
	return s.found;
}

/*
 * Whether the claim is being deleted, and only pods without a node hold it. No such pod is evicted,
 * and none is scheduled: the claim stays until the user deletes the pod, as upstream.
 */
static bool waits_for_its_pods(const struct search *s, const struct json *claim)
{
	if (!json_pointer(claim, STR("/metadata/deletionTimestamp")))
		return false;
	JSON_FOREACH (user, json_pointer(claim, STR("/status/reservedFor"))) {
		const char *name = arena_strdup(&s->w->arena, json_text_at(user, "name"));
		const struct json *pod = cluster_server_get(s->w->server, "", "pods", "default",
							    name, &s->w->arena);

		if (!pod || text_at(pod, "/spec/nodeName").n > 0)
			return false;
	}
	return true;
}

/* Pods of claims that are reserved for them, on a device that all have to leave. */
static void check_claim(void *arg, const struct json *claim)
{
	struct search *s = arg;
	bool tolerates = json_pointer(claim, STR("/spec/devices/requests/0/exactly/tolerations/0"));

	if (tolerates || json_count(json_pointer(claim, STR("/status/reservedFor"))) == 0 ||
	    waits_for_its_pods(s, claim))
		return;
	JSON_FOREACH (r, json_pointer(claim, STR("/status/allocation/devices/results"))) {
		s->node = json_text_at(r, "pool");
		s->device = json_text_at(r, "device");
		find_rules(s);
		if (s->executes)
			s->bad = arena_printf(&s->w->arena,
					      "%.*s/%.*s is tainted, and claim %.*s stays on it",
					      STR_ARG(s->node), STR_ARG(s->device),
					      STR_ARG(text_at(claim, "/metadata/name")));
	}
}

/* A taint counts from when it was added, by the clock of who added it: as upstream. */
static bool clocks_agree(const struct cluster *w)
{
	for (size_t i = 0; i < w->nroles; i++)
		if (w->roles[i].skew_ns != 0)
			return false;
	return true;
}

const char *displace_settled(struct cluster *w)
{
	struct search s = { .w = w };
	struct room r = { 0 };

	if ((w->parts & CLUSTER_TAINTS) && clocks_agree(w))
		cluster_server_each(w->server, RESOURCE, "resourceclaims", &w->arena, check_claim,
				    &s);
	if (w->parts & CLUSTER_PRIORITY)
		cluster_server_each(w->server, "", "pods", &w->arena, use_room, &r);
	for (unsigned i = 0; i < CLUSTER_NODES && !s.bad; i++)
		if (r.used[i] > 0 && r.used[i] > capacity_of(w, i))
			s.bad = "a node has more pods than fit on it";
	return s.bad;
}
