/*
 * disk_io - places pods by the disk bandwidth that they ask for; a plugin of devplane's scheduler.
 *
 * `devplane driver disk` publishes each node's disks as NodeDiskIOStatus. A resource of type
 * diskio.devplane.dev in the scheduler's cache holds them beside the pods of the node
 * (disk_node.h, which says what is left and why); it changes when the object does, and that wakes
 * pods that wait. Pods ask by annotations:
 *
 *	diskio.devplane.dev/read-bps: "100Mi"
 *	diskio.devplane.dev/write-bps: "50Mi"
 *	diskio.devplane.dev/device: "sda"            without it: the node's primary device
 *
 * A pod that asks for nothing is none of our business, but for what it then does.
 * This file is what stands between the scheduler's ABI and disk_node.c, which decides.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <devplane/scheduler.h>

#include "disk_node.h"

#define TYPE              "diskio.devplane.dev"
#define READ_ANNOTATION   TYPE "/read-bps"
#define WRITE_ANNOTATION  TYPE "/write-bps"
#define DEVICE_ANNOTATION TYPE "/device"

/* Of the type's handle, one in a scheduler. */
struct handle {
	const struct dp_scheduler_host *host;
	struct dp_cache *cache;
};

/* What the cache holds per node. */
struct resource {
	const struct dp_scheduler_host *host;
	struct disk_node *node;
};

/* Of a profile. */
struct plugin {
	const struct dp_scheduler_host *host;
	const struct dp_handle *handle;
};

static void *make(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static void copy_text(char *out, size_t size, struct dp_text t)
{
	size_t n = t.n < size ? t.n : size - 1;

	if (n > 0)
		memcpy(out, t.p, n);
	out[n] = 0;
}

/* --- pods ------------------------------------------------------------------------------------ */

/* 0, or -1 and why: an annotation that is no quantity. */
static int read_rate(const struct dp_scheduler_host *h, const struct dp_object *pod,
		     const char *key, int64_t *ret_rate, struct dp_reason *why)
{
	struct dp_text t = h->annotation(h->host, pod, key);

	*ret_rate = 0;
	if (!t.p)
		return 0;
	if (h->quantity(h->host, t, ret_rate) == 0 && *ret_rate >= 0)
		return 0;
	*ret_rate = 0;
	if (why)
		(void)snprintf(why->text, sizeof(why->text),
			       "annotation %s: \"%.*s\" is not a quantity of bytes per second", key,
			       (int)(t.n < 64 ? t.n : 64), t.p);
	return -1;
}

/* What cannot be understood is asked for by nobody: such a pod was not placed by us. */
static int read_request(const struct dp_scheduler_host *h, const struct dp_object *pod,
			struct disk_request *ret_request, struct dp_reason *why)
{
	struct disk_request r = { 0 };
	int failed = read_rate(h, pod, READ_ANNOTATION, &r.rate[DISK_READ], why);

	if (!failed)
		failed = read_rate(h, pod, WRITE_ANNOTATION, &r.rate[DISK_WRITE], why);
	if (disk_request_is_any(&r))
		copy_text(r.device, sizeof(r.device),
			  h->annotation(h->host, pod, DEVICE_ANNOTATION));
	*ret_request = r;
	return failed;
}

/* The API server chooses the uid. Everything else in a pod is text of its author. */
static uint64_t pod_id(const struct dp_scheduler_host *h, const struct dp_object *pod)
{
	struct dp_text t = h->uid(h->host, pod);

	return disk_hash(t.p, t.n);
}

/* --- the resource ---------------------------------------------------------------------------- */

static int add_pod(void *resource, const struct dp_object *pod)
{
	struct resource *r = resource;
	struct disk_request request;

	(void)read_request(r->host, pod, &request, NULL);
	disk_node_add(r->node, pod_id(r->host, pod), &request);
	return 0;
}

static int remove_pod(void *resource, const struct dp_object *pod)
{
	struct resource *r = resource;

	return disk_node_remove(r->node, pod_id(r->host, pod)) ? 0 : -1;
}

static void admit_pod(const void *resource, const struct dp_object *pod, int64_t *requested,
		      int64_t *available)
{
	const struct resource *r = resource;
	struct disk_request request;

	(void)read_request(r->host, pod, &request, NULL);
	disk_node_admit(r->node, &request, requested, available);
}

/* Takes the node over. */
static struct resource *resource_new(const struct dp_scheduler_host *h, struct disk_node *n)
{
	struct resource *r = make(sizeof(*r));

	r->host = h;
	r->node = n;
	return r;
}

static void *clone(const void *resource)
{
	const struct resource *r = resource;

	return resource_new(r->host, disk_node_clone(r->node));
}

static void free_resource(void *resource)
{
	struct resource *r = resource;

	disk_node_free(r->node);
	free(r);
}

/* Names of devices are the kernel's; what JSON would have to escape is left out. */
static void write_name(const struct dp_scheduler_host *h, struct dp_sink *out, const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\')
			h->write(out, c, 1);
}

static void write_direction(const struct resource *r, const struct disk_device *d,
			    enum disk_direction x, struct dp_sink *out)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 ",\"%s\":{\"capacity\":%" PRId64 ",\"used\":%" PRId64
			 ",\"committed\":%" PRId64 ",\"available\":%" PRId64 "}",
			 x == DISK_READ ? "read" : "write", d->capacity[x], d->used[x],
			 disk_node_committed(r->node, d, x), disk_node_available(r->node, d, x));

	r->host->write(out, text, (size_t)n);
}

static void write_device(const struct resource *r, const struct disk_device *d, bool first,
			 struct dp_sink *out)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "\",\"primary\":%s,\"attributed\":%s",
			 d->primary ? "true" : "false", d->attributed ? "true" : "false");

	r->host->write(out, first ? "{\"name\":\"" : ",{\"name\":\"", first ? 9 : 10);
	write_name(r->host, out, d->name);
	r->host->write(out, text, (size_t)n);
	write_direction(r, d, DISK_READ, out);
	write_direction(r, d, DISK_WRITE, out);
	r->host->write(out, "}", 1);
}

static void describe(const void *resource, struct dp_sink *out)
{
	const struct resource *r = resource;
	const struct disk_devices *d = disk_node_devices(r->node);
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"pods\":%zu,\"devices\":[",
			 disk_node_pods(r->node));

	r->host->write(out, text, (size_t)n);
	for (size_t i = 0; i < d->n; i++)
		write_device(r, &d->v[i], i == 0, out);
	r->host->write(out, "]}", 2);
}

/* --- what drivers publish -------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static struct dp_text find(const struct dp_scheduler_host *h,
								 const struct dp_object *o,
								 const char *fmt, ...)
{
	char pointer[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(pointer, sizeof(pointer), fmt, ap);
	va_end(ap);
	return h->find(h->host, o, pointer);
}

static bool is_true(struct dp_text t)
{
	return t.n == 4 && memcmp(t.p, "true", 4) == 0;
}

/* What is absent or odd is 0. */
static int64_t to_rate(const struct dp_scheduler_host *h, struct dp_text t)
{
	int64_t v;

	return t.p && h->quantity(h->host, t, &v) == 0 && v > 0 ? v : 0;
}

static void read_rates(const struct dp_scheduler_host *h, const struct dp_object *o,
		       const char *where, int64_t *rates)
{
	rates[DISK_READ] = to_rate(h, find(h, o, "%s/readBytesPerSecond", where));
	rates[DISK_WRITE] = to_rate(h, find(h, o, "%s/writeBytesPerSecond", where));
}

/*
 * A static pod runs under the hash of its configuration, which has no dash; the API server's uids
 * have. Only an annotation, which anybody can write, says which pod of the API it is. So the
 * driver does not list its use, which counts as other use (disk_node.h).
 */
static bool is_listed(struct dp_text uid)
{
	return uid.p && memchr(uid.p, '-', uid.n);
}

static void read_pods(const struct dp_scheduler_host *h, const struct dp_object *o,
		      const char *device, struct disk_device *d)
{
	char where[96];
	int64_t n;

	(void)snprintf(where, sizeof(where), "%s/pods", device);
	n = h->count(h->host, o, where);
	for (int64_t i = 0; i < n && i < DISK_PODS_MAX; i++) {
		struct disk_use u = { 0 };
		struct dp_text uid;

		(void)snprintf(where, sizeof(where), "%s/pods/%" PRId64, device, i);
		uid = find(h, o, "%s/uid", where);
		if (!is_listed(uid))
			continue;
		u.pod = disk_hash(uid.p, uid.n);
		read_rates(h, o, where, u.rate);
		disk_device_add_use(d, &u);
	}
}

static void read_device(const struct dp_scheduler_host *h, const struct dp_object *o, int64_t at,
			struct disk_device *d)
{
	char device[48], where[64];

	(void)snprintf(device, sizeof(device), "/status/devices/%" PRId64, at);
	copy_text(d->name, sizeof(d->name), find(h, o, "%s/name", device));
	d->primary = is_true(find(h, o, "%s/primary", device));
	d->attributed = is_true(find(h, o, "%s/attributed", device));
	(void)snprintf(where, sizeof(where), "%s/capacity", device);
	read_rates(h, o, where, d->capacity);
	(void)snprintf(where, sizeof(where), "%s/used", device);
	read_rates(h, o, where, d->used);
	read_pods(h, o, device, d);
}

static struct disk_devices *read_devices(const struct dp_scheduler_host *h,
					 const struct dp_object *o)
{
	int64_t n = h->count(h->host, o, "/status/devices");
	struct disk_devices *d;

	if (n < 0)
		n = 0;
	d = disk_devices_new((size_t)(n < DISK_DEVICES_MAX ? n : DISK_DEVICES_MAX));
	for (size_t i = 0; i < d->n; i++)
		read_device(h, o, (int64_t)i, &d->v[i]);
	return d;
}

static void node_of(const struct dp_scheduler_host *h, const struct dp_object *o, char *out,
		    size_t size)
{
	struct dp_text t = h->find(h->host, o, "/spec/nodeName");

	copy_text(out, size, t.p ? t : h->name(h->host, o));
}

struct change {
	struct handle *handle;
	struct disk_devices *devices;
};

/* The pods that the copy knows of stay. */
static void *change(void *arg, void *copy)
{
	struct change *c = arg;
	struct resource *r = copy;

	if (!r)
		return resource_new(c->handle->host, disk_node_new(c->devices));
	disk_node_set_devices(r->node, c->devices);
	return r;
}

/* What only renews the time changes nothing, and wakes nobody. */
static void on_add(void *arg, const struct dp_object *o)
{
	struct handle *s = arg;
	struct change c = { .handle = s, .devices = read_devices(s->host, o) };
	const struct resource *now;
	char node[256];

	node_of(s->host, o, node, sizeof(node));
	now = s->host->cache_get(s->cache, node);
	if (!now || !disk_devices_equal(disk_node_devices(now->node), c.devices))
		s->host->cache_update(s->cache, node, change, &c);
	disk_devices_unref(c.devices);
}

static void on_delete(void *arg, const struct dp_object *o)
{
	struct handle *s = arg;
	char node[256];

	node_of(s->host, o, node, sizeof(node));
	s->host->cache_delete(s->cache, node);
}

static void on_update(void *arg, const struct dp_object *old, const struct dp_object *o)
{
	struct handle *s = arg;
	char before[256], now[256];

	node_of(s->host, old, before, sizeof(before));
	node_of(s->host, o, now, sizeof(now));
	if (strcmp(before, now) != 0)
		s->host->cache_delete(s->cache, before);
	on_add(s, o);
}

/* --- the handle ------------------------------------------------------------------------------ */

static int run(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
	       struct dp_reason *why)
{
	struct handle *s = state;
	struct dp_watch w = { .size = sizeof(w),
			      .group = TYPE,
			      .version = "v1alpha1",
			      .resource = "nodediskiostatuses",
			      .on_add = on_add,
			      .on_update = on_update,
			      .on_delete = on_delete,
			      .arg = s };

	s->host = host;
	s->cache = cache;
	return host->watch(host->host, &w, why);
}

static void close_handle(void *state)
{
	free(state);
}

static int make_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	struct handle *s = make(sizeof(*s));

	(void)why;
	s->host = arg;
	ret_handle->size = sizeof(*ret_handle);
	ret_handle->state = s;
	ret_handle->run = run;
	ret_handle->close = close_handle;
	return 0;
}

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	static const struct dp_resource_type type = { .size = sizeof(type),
						      .name = TYPE,
						      .add_pod = add_pod,
						      .remove_pod = remove_pod,
						      .admit_pod = admit_pod,
						      .clone = clone,
						      .free = free_resource,
						      .describe = describe,
						      .layout = TYPE "/resource",
						      .layout_version = 1 };
	struct plugin *p;

	if (args && strcmp(args, "{}") != 0 && strcmp(args, "null") != 0) {
		(void)snprintf(why->text, sizeof(why->text), "DiskIO takes no arguments");
		return -1;
	}
	p = make(sizeof(*p));
	p->host = host;
	if (host->register_handle(host->host, &type, make_handle, (void *)host, &p->handle, why)) {
		free(p);
		return -1;
	}
	*ret_state = p;
	return 0;
}

static void close_plugin(void *state)
{
	free(state);
}

/* --- extension points ------------------------------------------------------------------------ */

static uint32_t pre_filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   struct dp_reason *why)
{
	const struct dp_scheduler_host *h = ((struct plugin *)state)->host;
	struct disk_request r, *kept;

	if (read_request(h, pod, &r, why))
		return DP_UNRESOLVABLE;
	if (!disk_request_is_any(&r))
		return DP_SKIP;
	kept = h->cycle_alloc(h->host, c, sizeof(*kept));
	*kept = r;
	h->cycle_set(h->host, c, kept);
	return DP_SUCCESS;
}

static const struct {
	uint32_t code;
	const char *text;
} verdicts[] = {
	[DISK_FITS] = { DP_SUCCESS, "" },
	[DISK_NO_DEVICE] = { DP_UNRESOLVABLE, "Disk device not found" },
	[DISK_READ_FULL] = { DP_UNSCHEDULABLE, "Insufficient disk read bandwidth" },
	[DISK_WRITE_FULL] = { DP_UNSCHEDULABLE, "Insufficient disk write bandwidth" },
	[DISK_READ_SMALL] = { DP_UNRESOLVABLE, "Insufficient disk read bandwidth" },
	[DISK_WRITE_SMALL] = { DP_UNRESOLVABLE, "Insufficient disk write bandwidth" },
};

static uint32_t filter(void *state, struct dp_cycle *c, const struct dp_object *pod,
		       const struct dp_node_info *node, struct dp_reason *why)
{
	const struct dp_scheduler_host *h = ((struct plugin *)state)->host;
	const struct disk_request *request = h->cycle_get(h->host, c);
	const struct resource *r = h->node_resource(h->host, node, TYPE);
	enum disk_verdict v;

	(void)pod;
	if (!request)
		return DP_SUCCESS;
	if (!r) {
		(void)snprintf(why->text, sizeof(why->text), "Disk bandwidth not published");
		return DP_UNRESOLVABLE;
	}
	v = disk_node_fits(r->node, request);
	(void)snprintf(why->text, sizeof(why->text), "%s", verdicts[v].text);
	return verdicts[v].code;
}

static uint32_t pre_score(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  struct dp_reason *why)
{
	const struct dp_scheduler_host *h = ((struct plugin *)state)->host;

	(void)pod;
	(void)why;
	return h->cycle_get(h->host, c) ? DP_SUCCESS : DP_SKIP;
}

static uint32_t score(void *state, struct dp_cycle *c, const struct dp_object *pod,
		      const struct dp_node_info *node, int64_t *ret_score, struct dp_reason *why)
{
	const struct dp_scheduler_host *h = ((struct plugin *)state)->host;
	const struct disk_request *request = h->cycle_get(h->host, c);
	const struct resource *r = h->node_resource(h->host, node, TYPE);

	(void)pod;
	(void)why;
	*ret_score = request && r ? disk_node_score(r->node, request) : 0;
	return DP_SUCCESS;
}

/* One that had asked for nothing leaves only what it did; the driver's next word tells of that. */
static uint32_t pod_gone(void *state, const struct dp_object *pod, const struct dp_object *old,
			 const struct dp_object *object)
{
	const struct dp_scheduler_host *h = ((struct plugin *)state)->host;
	struct disk_request r;

	(void)pod;
	(void)object;
	if (!old)
		return 1;
	(void)read_request(h, old, &r, NULL);
	return disk_request_is_any(&r);
}

static const struct dp_event_interest interests[] = {
	{ .size = sizeof(struct dp_event_interest),
	  .actions = DP_EVENT_DELETE,
	  .resource = "Pod",
	  .hint = pod_gone },
	{ .size = sizeof(struct dp_event_interest),
	  .actions = DP_EVENT_ADD | DP_EVENT_UPDATE | DP_EVENT_DELETE,
	  .resource = TYPE },
	{ .size = sizeof(struct dp_event_interest), .actions = DP_EVENT_ADD, .resource = "Node" },
};

__attribute__((visibility("default"))) const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(
	void)
{
	static const struct dp_scheduler_plugin plugin = {
		.size = sizeof(plugin),
		.abi_major = DP_SCHEDULER_ABI_MAJOR,
		.name = "DiskIO",
		.init = init,
		.close = close_plugin,
		.interests = interests,
		.ninterests = sizeof(interests) / sizeof(interests[0]),
		.interest_size = sizeof(interests[0]),
		.pre_filter = pre_filter,
		.filter = filter,
		.pre_score = pre_score,
		.score = score,
	};

	return &plugin;
}
