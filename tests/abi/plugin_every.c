/*
 * A plugin that takes part everywhere and writes down what it was asked. The test reads `trace` and
 * uses the host as if it were the plugin.
 */
#include <devplane/scheduler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char trace[4096];
extern const struct dp_scheduler_host *host_of_plugin, *host_of_handle;
extern struct dp_cache *cache_of_handle;
extern const struct dp_handle *handle_of_plugin;
extern struct dp_binding *binding_under_way;
extern int handles_made, alive;

char trace[4096];
const struct dp_scheduler_host *host_of_plugin, *host_of_handle;
struct dp_cache *cache_of_handle;
const struct dp_handle *handle_of_plugin;
struct dp_binding *binding_under_way;
int handles_made, alive;

static void note(const char *what)
{
	size_t n = strlen(trace);

	snprintf(trace + n, sizeof(trace) - n, "%s%s", n > 0 ? " " : "", what);
}

/* --- a resource: counts pods ------------------------------------------------------------- */

static int add_pod(void *resource, const struct dp_object *pod)
{
	(void)pod;
	++*(int *)resource;
	return 0;
}

static int remove_pod(void *resource, const struct dp_object *pod)
{
	(void)pod;
	--*(int *)resource;
	return 0;
}

static void *clone_int(const void *resource)
{
	int *copy = malloc(sizeof(*copy));

	*copy = *(const int *)resource;
	alive++;
	return copy;
}

static void free_int(void *resource)
{
	alive--;
	free(resource);
}

static const struct dp_resource_type type = {
	.size = sizeof(type),
	.name = "count.example.com",
	.add_pod = add_pod,
	.remove_pod = remove_pod,
	.clone = clone_int,
	.free = free_int,
};

static void on_add(void *arg, const struct dp_object *object)
{
	struct dp_text name = host_of_handle->name(host_of_handle->host, object);
	char text[64];

	(void)arg;
	snprintf(text, sizeof(text), "add:%.*s", (int)name.n, name.p);
	note(text);
}

static void on_synced(void *arg)
{
	(void)arg;
	note("synced");
}

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	static const struct dp_watch watch = {
		.size = sizeof(watch),
		.group = "example.com",
		.version = "v1",
		.resource = "widgets",
		.on_add = on_add,
		.on_synced = on_synced,
	};

	(void)state;
	note("run");
	host_of_handle = host;
	cache_of_handle = cache;
	return host->watch(host->host, &watch, why);
}

static void close_handle(void *state)
{
	(void)state;
	note("close_handle");
	host_of_handle = NULL;
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	(void)arg;
	(void)why;
	handles_made++;
	*ret_handle = (struct dp_handle){ .size = sizeof(*ret_handle),
					  .run = run,
					  .close = close_handle };
	return 0;
}

/* --- the plugin -------------------------------------------------------------------------- */

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	if (args && strstr(args, "\"fail\":true")) {
		snprintf(why->text, sizeof(why->text), "told to fail");
		return -1;
	}
	host_of_plugin = host;
	*ret_state = NULL;
	note("init");
	return host->register_handle(host->host, &type, make_handle, NULL, &handle_of_plugin, why);
}

static void close_plugin(void *state)
{
	(void)state;
	note("close");
}

static uint32_t pre_enqueue(void *state, const struct dp_object *pod, struct dp_reason *why)
{
	(void)state;
	if (!host_of_plugin->label(host_of_plugin->host, pod, "gate").p)
		return DP_SUCCESS;
	snprintf(why->text, sizeof(why->text), "gated");
	note("pre_enqueue");
	return DP_UNRESOLVABLE;
}

static uint32_t pre_filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   struct dp_reason *why)
{
	int *sum = host_of_plugin->cycle_alloc(host_of_plugin->host, c, sizeof(*sum));

	(void)state;
	(void)pod;
	(void)why;
	note("pre_filter");
	*sum = 1;
	host_of_plugin->cycle_set(host_of_plugin->host, c, sum);
	host_of_plugin->cycle_only_node(host_of_plugin->host, c, "n1");
	host_of_plugin->cycle_only_node(host_of_plugin->host, c, "n2");
	return DP_SUCCESS;
}

static void pre_filter_add_pod(void *state, struct dp_cycle *c, const struct dp_object *other,
			       const struct dp_node_info *node)
{
	(void)state;
	(void)other;
	(void)node;
	++*(int *)host_of_plugin->cycle_get(host_of_plugin->host, c);
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	int *sum = host_of_plugin->cycle_get(host_of_plugin->host, c);

	(void)state;
	(void)pod;
	(void)node;
	snprintf(why->text, sizeof(why->text), "sum %d", *sum);
	return *sum == 1 ? DP_UNSCHEDULABLE : DP_SUCCESS;
}

static uint32_t post_filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
			    char *ret_nominated, struct dp_reason *why)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)why;
	snprintf(ret_nominated, 256, "n2");
	return DP_SUCCESS;
}

static uint32_t pre_score(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  struct dp_reason *why)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)why;
	return DP_SUCCESS;
}

static uint32_t score(void *state, struct dp_cycle *c, const struct dp_object *pod,
		      const struct dp_node_info *node, int64_t *ret_score, struct dp_reason *why)
{
	int64_t allocatable, requested;

	(void)state;
	(void)c;
	(void)pod;
	(void)why;
	host_of_plugin->node_amount(host_of_plugin->host, node, "cpu", &allocatable, &requested);
	*ret_score = allocatable;
	return DP_SUCCESS;
}

static void normalize(void *state, struct dp_cycle *c, int64_t *scores, size_t n)
{
	(void)state;
	(void)c;
	for (size_t i = 0; i < n; i++)
		scores[i] /= 100;
}

static uint32_t reserve(void *state, struct dp_cycle *c, const struct dp_object *pod,
			const char *node, struct dp_reason *why)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)why;
	note("reserve");
	note(node);
	return 42; /* no code */
}

static void unreserve(void *state, struct dp_cycle *c, const struct dp_object *pod,
		      const char *node)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)node;
	note("unreserve");
}

static uint32_t permit(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const char *node, int64_t *ret_timeout_ms, struct dp_reason *why)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)node;
	(void)why;
	*ret_timeout_ms = 3600 * 1000;
	return DP_WAIT;
}

static uint32_t pre_bind(void *state, struct dp_binding *b, struct dp_cycle *c,
			 const struct dp_object *pod, const char *node, struct dp_reason *why)
{
	(void)state;
	(void)c;
	(void)pod;
	(void)why;
	note("pre_bind");
	note(node);
	binding_under_way = b;
	return DP_SCHED_LATER;
}

static uint32_t bind_pod(void *state, struct dp_binding *b, struct dp_cycle *c,
			 const struct dp_object *pod, const char *node, struct dp_reason *why)
{
	(void)state;
	(void)b;
	(void)c;
	(void)pod;
	(void)node;
	(void)why;
	return DP_SKIP;
}

static void post_bind(void *state, struct dp_cycle *c, const struct dp_object *pod,
		      const char *node)
{
	(void)state;
	(void)c;
	(void)pod;
	note("post_bind");
	note(node);
}

static uint32_t only_with_objects(void *state, const struct dp_object *pod,
				  const struct dp_object *old_object,
				  const struct dp_object *object)
{
	(void)state;
	(void)pod;
	note(old_object ? (object ? "hint:both" : "hint:old") : "hint:none");
	return old_object && object;
}

static const struct dp_event_interest interests[] = {
	{ sizeof(interests[0]), DP_EVENT_UPDATE, "count.example.com", NULL },
	{ sizeof(interests[0]), DP_EVENT_UPDATE | DP_EVENT_DELETE, "Node", only_with_objects },
};

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "Every",
	.init = init,
	.close = close_plugin,
	.interests = interests,
	.ninterests = 2,
	.interest_size = sizeof(interests[0]),
	.pre_enqueue = pre_enqueue,
	.pre_filter = pre_filter,
	.pre_filter_add_pod = pre_filter_add_pod,
	.filter = filter,
	.post_filter = post_filter,
	.pre_score = pre_score,
	.score = score,
	.normalize = normalize,
	.reserve = reserve,
	.unreserve = unreserve,
	.permit = permit,
	.pre_bind = pre_bind,
	.bind = bind_pod,
	.post_bind = post_bind,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
