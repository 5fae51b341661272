/*
 * A plugin of a version to come: each struct that it hands in has a member more than today's, and
 * says so in its size. The host uses the part that it knows. The new members are filled with a
 * value that would crash it, were they used.
 *
 * Its type counts pods. A pod fits where fewer are than its annotation "fewer" says.
 */
#include <devplane/scheduler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WILD ((void (*)(void))(uintptr_t)16)

struct next_type {
	struct dp_resource_type now;
	void (*more)(void);
};

struct next_handle {
	struct dp_handle now;
	void (*more)(void);
};

struct next_watch {
	struct dp_watch now;
	void (*more)(void);
};

struct next_interest {
	struct dp_event_interest now;
	void (*more)(void);
};

struct next_plugin {
	struct dp_scheduler_plugin now;
	void (*more)(void);
};

static const struct dp_scheduler_host *the_host;

static int add_pod(void *resource, const struct dp_object *pod)
{
	(void)pod;
	++*(int64_t *)resource;
	return 0;
}

static int remove_pod(void *resource, const struct dp_object *pod)
{
	(void)pod;
	--*(int64_t *)resource;
	return 0;
}

static void admit_pod(const void *resource, const struct dp_object *pod, int64_t *requested,
		      int64_t *available)
{
	struct dp_text t = the_host->annotation(the_host->host, pod, "fewer");

	*requested = *(const int64_t *)resource + 1;
	*available = t.p ? t.p[0] - '0' : 0;
}

static void *clone_count(const void *resource)
{
	int64_t *copy = malloc(sizeof(*copy));

	*copy = *(const int64_t *)resource;
	return copy;
}

/* A widget is named after its node, which then has a counter. */
static void on_widget(void *arg, const struct dp_object *widget)
{
	struct dp_text name = the_host->name(the_host->host, widget);
	char node[64];

	snprintf(node, sizeof(node), "%.*s", (int)name.n, name.p);
	the_host->cache_set(*(struct dp_cache **)arg, node, calloc(1, sizeof(int64_t)));
}

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	struct next_watch watch = { .now = { .size = sizeof(watch),
					     .group = "example.com",
					     .version = "v1",
					     .resource = "widgets",
					     .on_add = on_widget,
					     .arg = state },
				    .more = WILD };

	*(struct dp_cache **)state = cache;
	return host->watch(host->host, &watch.now, why);
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	struct next_handle handle = { .now = { .size = sizeof(handle),
					       .state = calloc(1, sizeof(struct dp_cache *)),
					       .run = run,
					       .close = free },
				      .more = WILD };

	(void)arg;
	(void)why;
	memcpy(ret_handle, &handle, sizeof(handle));
	return 0;
}

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	static const struct next_type type = {
		.now = { .size = sizeof(type),
			 .name = "larger.example.com",
			 .add_pod = add_pod,
			 .remove_pod = remove_pod,
			 .admit_pod = admit_pod,
			 .clone = clone_count,
			 .free = free },
		.more = WILD,
	};

	(void)args;
	(void)ret_state;
	the_host = host;
	return host->register_handle(host->host, &type.now, make_handle, NULL, NULL, why);
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	(void)state;
	(void)c;
	snprintf(why->text, sizeof(why->text), "too many");
	return the_host->admit(the_host->host, node, "larger.example.com", pod, NULL, NULL);
}

static const struct next_interest interests[] = {
	{ .now = { .size = sizeof(interests[0]), .actions = DP_EVENT_ADD, .resource = "Node" },
	  .more = WILD },
	{ .now = { .size = sizeof(interests[0]), .actions = DP_EVENT_DELETE, .resource = "Pod" },
	  .more = WILD },
};

static const struct next_plugin plugin = {
	.now = { .size = sizeof(plugin),
		 .abi_major = DP_SCHEDULER_ABI_MAJOR,
		 .name = "Larger",
		 .init = init,
		 .interests = &interests[0].now,
		 .ninterests = 2,
		 .interest_size = sizeof(interests[0]),
		 .filter = filter },
	.more = WILD,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin.now;
}
