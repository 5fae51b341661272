/*
 * NodeFakeResource - the example of KEP-4187 as a plugin: nodes have an amount of something that an
 * object of our own kind tells (examples/scheduler/node-fake-resource-status.yaml), pods ask for a
 * part of it by an annotation, and a pod goes where enough is left.
 *
 *	apiVersion: ioi.example.com/v1
 *	kind: NodeFakeResourceStatus
 *	metadata: {name: node-1}
 *	spec: {nodeName: node-1, fakeResource: 10}
 *
 *	metadata: {annotations: {ioi.example.com/fake-resource: "3"}}
 *
 * It is meant to be read: docs/scheduler-plugins.md walks through it. All that it uses of devplane
 * is the one header.
 */
#include <devplane/scheduler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE       "fake.ioi.example.com"
#define ANNOTATION "ioi.example.com/fake-resource"

/* What a node has, in the scheduler's cache: one such struct per node. */
struct amount {
	const struct dp_scheduler_host *host; /* to read pods by */
	int64_t total; /* what the status object says */
	int64_t requested; /* by the pods that are on the node */
};

/* One per type, whatever number of profiles has the plugin: it follows the status objects. */
struct follower {
	const struct dp_scheduler_host *host; /* from init; reading is the same through any */
	struct dp_cache *cache; /* since run */
	const struct dp_path *node_name, *fake_resource;
};

/* One per profile. */
struct plugin {
	const struct dp_scheduler_host *host;
};

static void say(struct dp_reason *why, const char *text)
{
	snprintf(why->text, sizeof(why->text), "%s", text);
}

static int64_t number(struct dp_text t)
{
	char digits[24] = "";

	if (t.p)
		memcpy(digits, t.p, t.n < sizeof(digits) ? t.n : sizeof(digits) - 1);
	return strtoll(digits, NULL, 10);
}

/* What a pod asks for; 0: nothing. */
static int64_t asked(const struct dp_scheduler_host *host, const struct dp_object *pod)
{
	int64_t n = number(host->annotation(host->host, pod, ANNOTATION));

	return n > 0 ? n : 0;
}

/* --- the resource in the cache ------------------------------------------------------------ */

static int add_pod(void *resource, const struct dp_object *pod)
{
	struct amount *a = resource;

	a->requested += asked(a->host, pod);
	return 0;
}

static int remove_pod(void *resource, const struct dp_object *pod)
{
	struct amount *a = resource;

	a->requested -= asked(a->host, pod);
	return 0;
}

static void admit_pod(const void *resource, const struct dp_object *pod, int64_t *requested,
		      int64_t *available)
{
	const struct amount *a = resource;

	*requested = asked(a->host, pod);
	*available = a->total - a->requested;
}

static void *clone_amount(const void *resource)
{
	struct amount *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *(const struct amount *)resource;
	return copy;
}

static void describe(const void *resource, struct dp_sink *out)
{
	const struct amount *a = resource;
	char text[96];
	int n = snprintf(text, sizeof(text), "{\"total\":%lld,\"requested\":%lld}",
			 (long long)a->total, (long long)a->requested);

	a->host->write(out, text, (size_t)n);
}

static const struct dp_resource_type type = {
	.size = sizeof(type),
	.name = TYPE,
	.add_pod = add_pod,
	.remove_pod = remove_pod,
	.admit_pod = admit_pod,
	.clone = clone_amount,
	.free = free,
	.describe = describe,
	.layout = "ioi.example.com/amount",
	.layout_version = 1, /* of struct amount */
};

/* --- the handle: keeps the resource up to date ---------------------------------------------- */

/* Which node a status is about; false when it does not say. */
static int node_of(struct follower *f, const struct dp_object *status, char *name, size_t size)
{
	struct dp_text t = f->host->get(f->host->host, status, f->node_name);

	if (!t.p || t.n == 0 || t.n >= size)
		return 0;
	memcpy(name, t.p, t.n);
	name[t.n] = '\0';
	return 1;
}

struct change {
	const struct dp_scheduler_host *host;
	int64_t total;
};

/* The cache gives us a copy of its own, which takes the place of the one before in one step. */
static void *set_total(void *arg, void *copy)
{
	const struct change *c = arg;
	struct amount *a = copy ? copy : calloc(1, sizeof(*a));

	if (!a)
		abort();
	a->host = c->host;
	a->total = c->total;
	return a;
}

static void on_status(void *arg, const struct dp_object *status)
{
	struct follower *f = arg;
	struct change c = { f->host,
			    number(f->host->get(f->host->host, status, f->fake_resource)) };
	char node[256];

	if (node_of(f, status, node, sizeof(node)))
		f->host->cache_update(f->cache, node, set_total, &c);
}

static void on_status_gone(void *arg, const struct dp_object *status)
{
	struct follower *f = arg;
	char node[256];

	if (node_of(f, status, node, sizeof(node)))
		f->host->cache_delete(f->cache, node);
}

static void on_status_update(void *arg, const struct dp_object *old, const struct dp_object *status)
{
	struct follower *f = arg;
	char before[256] = "", now[256] = "";

	(void)node_of(f, old, before, sizeof(before));
	(void)node_of(f, status, now, sizeof(now));
	if (strcmp(before, now) != 0)
		on_status_gone(arg, old);
	on_status(arg, status);
}

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	struct follower *f = state;
	struct dp_watch watch = {
		.size = sizeof(watch),
		.group = "ioi.example.com",
		.version = "v1",
		.resource = "nodefakeresourcestatuses",
		.on_add = on_status,
		.on_update = on_status_update,
		.on_delete = on_status_gone,
		.arg = f,
	};

	/* This host is the handle's own and lives as long; the one before goes with its profile. */
	f->host = host;
	f->cache = cache;
	f->node_name = host->path(host->host, "/spec/nodeName");
	f->fake_resource = host->path(host->host, "/spec/fakeResource");
	return host->watch(host->host, &watch, why);
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	struct follower *f = calloc(1, sizeof(*f));

	(void)arg;
	if (!f) {
		say(why, "no memory");
		return -1;
	}
	*ret_handle = (struct dp_handle){
		.size = sizeof(*ret_handle),
		.state = f,
		.run = run,
		.close = free,
	};
	return 0;
}

/* --- the plugin ------------------------------------------------------------------------------ */

static int plugin_init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		       struct dp_reason *why)
{
	struct plugin *p;

	if (args) {
		say(why, "NodeFakeResource takes no arguments");
		return -1;
	}
	if (!DP_HAS(host, admit)) {
		say(why, "NodeFakeResource needs a scheduler with plugin ABI 1.1");
		return -1;
	}
	/* The first profile's makes the handle; the others find it. */
	if (host->register_handle(host->host, &type, make_handle, NULL, NULL, why) != 0)
		return -1;
	p = calloc(1, sizeof(*p));
	if (!p)
		abort();
	p->host = host;
	*ret_state = p;
	return 0;
}

/* A pod that asks for nothing fits everywhere: its nodes need not be looked at. */
static uint32_t pre_filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   struct dp_reason *why)
{
	struct plugin *p = state;

	(void)c;
	(void)why;
	return asked(p->host, pod) > 0 ? DP_SUCCESS : DP_SKIP;
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	struct plugin *p = state;
	const struct amount *a = p->host->node_resource(p->host->host, node, TYPE);
	int64_t requested;
	uint32_t code = p->host->admit(p->host->host, node, TYPE, pod, &requested, NULL);

	(void)c;
	if (code == DP_SUCCESS)
		return code;
	say(why, "Insufficient fake resource");
	/* If the node never has so much, no pod's removal makes it enough. */
	return a && requested > a->total ? DP_UNRESOLVABLE : code;
}

/* What may make room: another amount, or a pod that goes. */
static uint32_t pod_may_help(void *state, const struct dp_object *pod,
			     const struct dp_object *old_object, const struct dp_object *object)
{
	struct plugin *p = state;

	(void)pod;
	(void)object;
	return !old_object || asked(p->host, old_object) > 0;
}

static const struct dp_event_interest interests[] = {
	{ sizeof(interests[0]), DP_EVENT_ADD | DP_EVENT_UPDATE, TYPE, NULL },
	{ sizeof(interests[0]), DP_EVENT_DELETE, "Pod", pod_may_help },
	{ sizeof(interests[0]), DP_EVENT_ADD, "Node", NULL },
};

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "NodeFakeResource",
	.init = plugin_init,
	.close = free,
	.interests = interests,
	.ninterests = sizeof(interests) / sizeof(interests[0]),
	.interest_size = sizeof(interests[0]),
	.pre_filter = pre_filter,
	.filter = filter,
};

__attribute__((visibility("default"))) const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(
	void)
{
	return &plugin;
}
