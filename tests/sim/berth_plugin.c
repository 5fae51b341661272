/*
 * Berth - a scheduler plugin for the simulated cluster, loaded as a shared object like any other.
 *
 * A Berth is a custom object that names a node. A pod whose hostname is that of a Berth runs on
 * that node only, and waits while there is no such Berth. The scheduler's cache has for each node
 * the names of its Berths.
 *
 *	apiVersion: sim.devplane.dev/v1
 *	kind: Berth
 *	metadata: {name: berth-7, namespace: default}
 *	spec: {node: n1}
 *
 *	kind: Pod
 *	spec: {hostname: berth-7}
 */
#include <devplane/scheduler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE "berths.sim.devplane.dev"

enum { NAME_MAX_BYTES = 64 };

/* Of one node: the names of its Berths. */
struct berths {
	const struct dp_scheduler_host *host; /* to write by */
	size_t n;
	char (*names)[NAME_MAX_BYTES];
};

/* One for all profiles: it follows the Berths. */
struct follower {
	const struct dp_scheduler_host *host;
	struct dp_cache *cache;
	const struct dp_path *name, *node;
};

struct plugin {
	const struct dp_scheduler_host *host;
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void copy_text(struct dp_text t, char *out, size_t size)
{
	size_t n = t.p && t.n < size ? t.n : 0;

	if (n)
		memcpy(out, t.p, n);
	out[n] = '\0';
}

/* The name of the Berth that a pod wants; empty: none. */
static void berth_of(const struct dp_scheduler_host *host, const struct dp_object *pod,
		     char out[NAME_MAX_BYTES])
{
	copy_text(host->find(host->host, pod, "/spec/hostname"), out, NAME_MAX_BYTES);
	/* Pods of Indexed Jobs have hostnames, too. */
	if (strncmp(out, "berth-", strlen("berth-")) != 0)
		out[0] = '\0';
}

/* --- the value in the cache --------------------------------------------------------------- */

static size_t find(const struct berths *b, const char *name)
{
	size_t i = 0;

	while (i < b->n && strcmp(b->names[i], name) != 0)
		i++;
	return i;
}

static int ignore_pod(void *resource, const struct dp_object *pod)
{
	(void)resource;
	(void)pod;
	return 0;
}

static void *clone_berths(const void *resource)
{
	const struct berths *b = resource;
	struct berths *copy = must(malloc(sizeof(*copy)));

	*copy = *b;
	copy->names = must(malloc((b->n + 1) * sizeof(b->names[0])));
	if (b->n)
		memcpy(copy->names, b->names, b->n * sizeof(b->names[0]));
	return copy;
}

static void free_berths(void *resource)
{
	struct berths *b = resource;

	free(b->names);
	free(b);
}

static void describe(const void *resource, struct dp_sink *out)
{
	const struct berths *b = resource;
	char text[32];
	int n = snprintf(text, sizeof(text), "{\"berths\":%zu}", b->n);

	b->host->write(out, text, (size_t)n);
}

static const struct dp_resource_type type = {
	.size = sizeof(type),
	.name = TYPE,
	.add_pod = ignore_pod,
	.remove_pod = ignore_pod,
	.clone = clone_berths,
	.free = free_berths,
	.describe = describe,
};

/* --- following Berths --------------------------------------------------------------------- */

struct change {
	const struct dp_scheduler_host *host;
	char name[NAME_MAX_BYTES];
	int gone;
};

static void *apply(void *arg, void *copy)
{
	const struct change *c = arg;
	struct berths *b = copy ? copy : must(calloc(1, sizeof(*b)));
	size_t at = find(b, c->name);

	b->host = c->host;
	if (c->gone && at < b->n) {
		memmove(b->names + at, b->names + at + 1, (--b->n - at) * sizeof(b->names[0]));
	} else if (!c->gone && at == b->n) {
		b->names = must(realloc(b->names, (b->n + 1) * sizeof(b->names[0])));
		memcpy(b->names[b->n++], c->name, sizeof(c->name));
	}
	return b;
}

static void tell(struct follower *f, const struct dp_object *berth, int gone)
{
	struct change c = { .host = f->host, .gone = gone };
	char node[NAME_MAX_BYTES];

	copy_text(f->host->get(f->host->host, berth, f->name), c.name, sizeof(c.name));
	copy_text(f->host->get(f->host->host, berth, f->node), node, sizeof(node));
	if (node[0])
		f->host->cache_update(f->cache, node, apply, &c);
}

static void on_add(void *arg, const struct dp_object *berth)
{
	tell(arg, berth, 0);
}

static void on_update(void *arg, const struct dp_object *old, const struct dp_object *berth)
{
	tell(arg, old, 1);
	tell(arg, berth, 0);
}

static void on_delete(void *arg, const struct dp_object *berth)
{
	tell(arg, berth, 1);
}

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	struct follower *f = state;
	struct dp_watch watch = {
		.size = sizeof(watch),
		.group = "sim.devplane.dev",
		.version = "v1",
		.resource = "berths",
		.on_add = on_add,
		.on_update = on_update,
		.on_delete = on_delete,
		.arg = f,
	};

	f->host = host;
	f->cache = cache;
	f->name = host->path(host->host, "/metadata/name");
	f->node = host->path(host->host, "/spec/node");
	return host->watch(host->host, &watch, why);
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	(void)arg;
	(void)why;
	*ret_handle = (struct dp_handle){
		.size = sizeof(*ret_handle),
		.state = must(calloc(1, sizeof(struct follower))),
		.run = run,
		.close = free,
	};
	return 0;
}

/* --- the plugin --------------------------------------------------------------------------- */

static int plugin_init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		       struct dp_reason *why)
{
	struct plugin *p;

	(void)args;
	if (host->register_handle(host->host, &type, make_handle, NULL, NULL, why) != 0)
		return -1;
	p = must(calloc(1, sizeof(*p)));
	p->host = host;
	*ret_state = p;
	return 0;
}

static uint32_t pre_filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   struct dp_reason *why)
{
	const struct plugin *p = state;
	char name[NAME_MAX_BYTES];

	(void)c;
	(void)why;
	berth_of(p->host, pod, name);
	return name[0] ? DP_SUCCESS : DP_SKIP;
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	const struct plugin *p = state;
	const struct berths *b = p->host->node_resource(p->host->host, node, TYPE);
	char name[NAME_MAX_BYTES];

	(void)c;
	berth_of(p->host, pod, name);
	if (b && find(b, name) < b->n)
		return DP_SUCCESS;
	(void)snprintf(why->text, sizeof(why->text), "the berth is elsewhere");
	return DP_UNRESOLVABLE;
}

static const struct dp_event_interest interests[] = {
	{ sizeof(interests[0]), DP_EVENT_ADD | DP_EVENT_UPDATE, TYPE, NULL },
	{ sizeof(interests[0]), DP_EVENT_ADD, "Node", NULL },
};

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "Berth",
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
