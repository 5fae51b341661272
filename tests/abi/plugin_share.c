/*
 * A plugin that registers a type which another plugin has registered; built once for each layout
 * that it may name. `handle_of_share` is the handle that it got.
 */
#include <devplane/scheduler.h>

#include <stdlib.h>

extern const struct dp_handle *handle_of_share;

const struct dp_handle *handle_of_share;

static int count_pod(void *resource, const struct dp_object *pod)
{
	(void)resource;
	(void)pod;
	return 0;
}

static void *no_clone(const void *resource)
{
	(void)resource;
	abort();
}

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	static const struct dp_resource_type type = {
		.size = sizeof(type),
		.name = SHARE_TYPE,
		.add_pod = count_pod,
		.remove_pod = count_pod,
		.clone = no_clone,
		.free = free,
		.layout = SHARE_LAYOUT,
		.layout_version = SHARE_VERSION,
	};

	(void)args;
	(void)ret_state;
	return host->register_handle(host->host, &type, NULL, NULL, &handle_of_share, why);
}

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = SHARE_NAME,
	.init = init,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
