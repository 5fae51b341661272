/*
 * The plugin of KEP-4187's text, word for word where C allows it: its Filter reads the resource
 * through the handle, by the node's name. A pod requests the number in its annotation "fake". The
 * test sets the amounts of nodes through `cache_of_kep`.
 */
#include <devplane/scheduler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake {
	const struct dp_scheduler_host *host;
	int64_t available;
};

extern struct dp_cache *cache_of_kep;
extern const struct dp_scheduler_host *host_of_kep;
void *new_fake(int64_t available);

struct dp_cache *cache_of_kep;
const struct dp_scheduler_host *host_of_kep;

static const struct dp_handle *handle;

static int64_t request(const struct dp_scheduler_host *host, const struct dp_object *pod)
{
	struct dp_text t = host->annotation(host->host, pod, "fake");
	char digits[24] = "";

	if (t.p && t.n < sizeof(digits))
		memcpy(digits, t.p, t.n);
	return strtoll(digits, NULL, 10);
}

void *new_fake(int64_t available)
{
	struct fake *f = malloc(sizeof(*f));

	*f = (struct fake){ host_of_kep, available };
	return f;
}

static int add_pod(void *resource, const struct dp_object *pod)
{
	struct fake *f = resource;

	f->available -= request(f->host, pod);
	return 0;
}

static int remove_pod(void *resource, const struct dp_object *pod)
{
	struct fake *f = resource;

	f->available += request(f->host, pod);
	return 0;
}

static void admit_pod(const void *resource, const struct dp_object *pod, int64_t *requested,
		      int64_t *available)
{
	const struct fake *f = resource;

	*requested = request(f->host, pod);
	*available = f->available;
}

static void *clone_fake(const void *resource)
{
	struct fake *copy = malloc(sizeof(*copy));

	*copy = *(const struct fake *)resource;
	return copy;
}

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	(void)state;
	(void)why;
	host_of_kep = host;
	cache_of_kep = cache;
	return 0;
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	(void)arg;
	(void)why;
	*ret_handle = (struct dp_handle){ .size = sizeof(*ret_handle), .run = run };
	return 0;
}

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	static const struct dp_resource_type type = {
		.size = sizeof(type),
		.name = "kep.example.com",
		.add_pod = add_pod,
		.remove_pod = remove_pod,
		.admit_pod = admit_pod,
		.clone = clone_fake,
		.free = free,
		.layout = "example.com/fake",
		.layout_version = 1,
	};

	(void)args;
	*ret_state = (void *)host;
	return host->register_handle(host->host, &type, make_handle, NULL, &handle, why);
}

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	const struct dp_scheduler_host *host = state;
	struct dp_text name = host->node_name(host->host, node);
	const void *resource;
	int64_t requested, available;
	char text[256];

	(void)c;
	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	resource = host->handle_get(host->host, handle, text);
	if (!resource)
		return DP_UNRESOLVABLE;
	admit_pod(resource, pod, &requested, &available);
	if (requested <= available)
		return DP_SUCCESS;
	snprintf(why->text, sizeof(why->text), "Insufficient fake resource");
	return DP_UNSCHEDULABLE;
}

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "Kep",
	.init = init,
	.filter = filter,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
