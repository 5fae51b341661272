/*
 * disk_io_fixture - a small host for the plugin: a cache of a few nodes, and objects that are lists
 * of pointers with their text.
 */
#ifndef DISK_IO_FIXTURE_H
#define DISK_IO_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <devplane/scheduler.h>

#include "disk_node.h"

#define MIB      INT64_C(1048576)
#define TYPE     "diskio.devplane.dev"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- a host ---------------------------------------------------------------------------------- */

enum { PAIRS = 64, NODES = 4 };

struct dp_object {
	const char *name, *uid;
	struct pair {
		char key[96], text[96];
	} v[PAIRS];
	size_t n;
};

struct dp_node_info {
	const char *name;
	void *resource;
};

struct dp_cycle {
	void *value;
	char room[256];
};

struct dp_sink {
	char text[4096];
	size_t n;
};

struct dp_cache {
	struct world *world;
};

struct world {
	struct dp_scheduler_host host;
	const struct dp_scheduler_plugin *plugin;
	void *state; /* the plugin's */
	struct dp_resource_type type;
	struct dp_handle handle;
	struct dp_cache cache;
	struct dp_watch watch;
	struct dp_node_info nodes[NODES];
	struct dp_object *pods[NODES][8]; /* on them */
	unsigned changes; /* of the cache */
	bool refuse_watch;
};

static struct dp_text text_of(const char *z)
{
	return (struct dp_text){ z, z ? strlen(z) : 0 };
}

static struct dp_text get(const struct dp_object *o, const char *key)
{
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->v[i].key, key) == 0)
			return text_of(o->v[i].text);
	return text_of(NULL);
}

__attribute__((format(printf, 3, 4))) static void put(struct dp_object *o, const char *text,
						      const char *key, ...)
{
	struct pair *p = &o->v[o->n++];
	va_list ap;

	assert_true(o->n <= PAIRS);
	va_start(ap, key);
	(void)vsnprintf(p->key, sizeof(p->key), key, ap);
	va_end(ap);
	(void)snprintf(p->text, sizeof(p->text), "%s", text);
}

static struct dp_text host_name(void *h, const struct dp_object *o)
{
	(void)h;
	return text_of(o->name);
}

static struct dp_text host_uid(void *h, const struct dp_object *o)
{
	(void)h;
	return text_of(o->uid);
}

static struct dp_text host_get(void *h, const struct dp_object *o, const char *key)
{
	(void)h;
	return get(o, key);
}

static int64_t host_count(void *h, const struct dp_object *o, const char *pointer)
{
	char key[96];
	struct dp_text t;

	(void)h;
	(void)snprintf(key, sizeof(key), "#%.90s", pointer);
	t = get(o, key);
	return t.p ? strtoll(t.p, NULL, 10) : -1;
}

static int host_quantity(void *h, struct dp_text t, int64_t *ret)
{
	char *end;

	(void)h;
	*ret = strtoll(t.p, &end, 10);
	if (end == t.p)
		return -1;
	if (strncmp(end, "Mi", 2) == 0) {
		*ret *= MIB;
		end += 2;
	}
	return end == t.p + t.n ? 0 : -1;
}

static int host_register(void *h, const struct dp_resource_type *type, dp_handle_factory *make,
			 void *arg, const struct dp_handle **ret, struct dp_reason *why)
{
	struct world *w = h;

	w->type = *type;
	*ret = &w->handle;
	return make(arg, &w->handle, why);
}

static struct dp_node_info *node_at(struct world *w, const char *name)
{
	for (size_t i = 0; i < NODES; i++)
		if (strcmp(w->nodes[i].name, name) == 0)
			return &w->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

static const void *host_cache_get(struct dp_cache *c, const char *node)
{
	return node_at(c->world, node)->resource;
}

static void tell_pods(struct world *w, struct dp_node_info *n)
{
	struct dp_object **pods = w->pods[n - w->nodes];

	for (size_t i = 0; i < COUNT(w->pods[0]); i++)
		if (pods[i])
			assert_int_equal(w->type.add_pod(n->resource, pods[i]), 0);
}

static void host_cache_update(struct dp_cache *c, const char *node,
			      void *(*change)(void *arg, void *copy), void *arg)
{
	struct dp_node_info *n = node_at(c->world, node);
	struct world *w = c->world;
	void *copy = n->resource ? w->type.clone(n->resource) : NULL;
	void *now = change(arg, copy);

	if (n->resource)
		w->type.free(n->resource);
	n->resource = now;
	if (now != copy)
		tell_pods(w, n);
	w->changes++;
}

static void host_cache_delete(struct dp_cache *c, const char *node)
{
	struct dp_node_info *n = node_at(c->world, node);

	if (n->resource)
		c->world->type.free(n->resource);
	n->resource = NULL;
	c->world->changes++;
}

static const void *host_node_resource(void *h, const struct dp_node_info *n, const char *type)
{
	(void)h;
	assert_string_equal(type, TYPE);
	return n->resource;
}

static void *host_cycle_alloc(void *h, struct dp_cycle *c, size_t size)
{
	(void)h;
	assert_true(size <= sizeof(c->room));
	return memset(c->room, 0, size);
}

static void host_cycle_set(void *h, struct dp_cycle *c, void *value)
{
	(void)h;
	c->value = value;
}

static void *host_cycle_get(void *h, const struct dp_cycle *c)
{
	(void)h;
	return c->value;
}

static int host_watch(void *h, const struct dp_watch *watch, struct dp_reason *why)
{
	struct world *w = h;

	w->watch = *watch;
	if (w->refuse_watch)
		(void)snprintf(why->text, sizeof(why->text), "no watch");
	return w->refuse_watch ? -1 : 0;
}

static void host_write(struct dp_sink *out, const char *text, size_t n)
{
	assert_true(out->n + n < sizeof(out->text));
	memcpy(out->text + out->n, text, n);
	out->n += n;
}

static int set_up(void **state)
{
	static const char *const names[NODES] = { "n1", "n2", "n3", "n4" };
	struct world *w = calloc(1, sizeof(*w));
	struct dp_reason why = { .size = sizeof(why) };

	w->host = (struct dp_scheduler_host){ .size = sizeof(w->host),
					      .abi_major = DP_SCHEDULER_ABI_MAJOR,
					      .host = w,
					      .name = host_name,
					      .uid = host_uid,
					      .annotation = host_get,
					      .find = host_get,
					      .count = host_count,
					      .quantity = host_quantity,
					      .register_handle = host_register,
					      .cache_get = host_cache_get,
					      .cache_update = host_cache_update,
					      .cache_delete = host_cache_delete,
					      .node_resource = host_node_resource,
					      .cycle_alloc = host_cycle_alloc,
					      .cycle_set = host_cycle_set,
					      .cycle_get = host_cycle_get,
					      .watch = host_watch,
					      .write = host_write };
	w->cache.world = w;
	for (size_t i = 0; i < NODES; i++)
		w->nodes[i].name = names[i];
	w->plugin = dp_scheduler_plugin_entry();
	assert_int_equal(w->plugin->init(&w->host, NULL, &w->state, &why), 0);
	assert_int_equal(w->handle.run(w->handle.state, &w->host, &w->cache, &why), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < NODES; i++)
		if (w->nodes[i].resource)
			w->type.free(w->nodes[i].resource);
	w->handle.close(w->handle.state);
	w->plugin->close(w->state);
	free(w);
	return 0;
}

/* --- objects --------------------------------------------------------------------------------- */

struct use {
	const char *uid;
	int64_t read, write;
};

/* A node's status; devices are added to it. */
static struct dp_object *status(const char *node)
{
	struct dp_object *o = calloc(1, sizeof(*o));

	o->name = node;
	put(o, node, "/spec/nodeName");
	put(o, "0", "#/status/devices");
	return o;
}

static void put_rate(struct dp_object *o, size_t at, const char *what, int64_t mib)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, mib * MIB);
	put(o, text, "/status/devices/%zu/%s", at, what);
}

/* The first is the primary one. Capacity in MiB/s; 0: not known. */
static size_t add_device(struct dp_object *o, const char *name, int64_t read, int64_t write)
{
	size_t at = (size_t)strtoul(o->v[1].text, NULL, 10);

	(void)snprintf(o->v[1].text, sizeof(o->v[1].text), "%zu", at + 1);
	put(o, name, "/status/devices/%zu/name", at);
	put(o, at == 0 ? "true" : "false", "/status/devices/%zu/primary", at);
	if (read)
		put_rate(o, at, "capacity/readBytesPerSecond", read);
	if (write)
		put_rate(o, at, "capacity/writeBytesPerSecond", write);
	return at;
}

/* What it does, and, of pods, who. */
static void add_use(struct dp_object *o, size_t at, int64_t write, const struct use *pods, size_t n)
{
	char text[32], where[48];

	put_rate(o, at, "used/writeBytesPerSecond", write);
	if (!pods)
		return;
	put(o, "true", "/status/devices/%zu/attributed", at);
	(void)snprintf(text, sizeof(text), "%zu", n);
	put(o, text, "#/status/devices/%zu/pods", at);
	for (size_t i = 0; i < n; i++) {
		put(o, pods[i].uid, "/status/devices/%zu/pods/%zu/uid", at, i);
		(void)snprintf(where, sizeof(where), "pods/%zu/writeBytesPerSecond", i);
		put_rate(o, at, where, pods[i].write);
	}
}

static void tell(struct world *w, struct dp_object *o)
{
	w->watch.on_add(w->watch.arg, o);
	free(o);
}

static struct dp_object *pod(const char *uid, const char *read, const char *write,
			     const char *device)
{
	struct dp_object *o = calloc(1, sizeof(*o));

	o->name = o->uid = uid;
	if (read)
		put(o, read, TYPE "/read-bps");
	if (write)
		put(o, write, TYPE "/write-bps");
	if (device)
		put(o, device, TYPE "/device");
	return o;
}

/* The pod comes to the node and stays. */
static void place(struct world *w, const char *node, const struct dp_object *o)
{
	assert_int_equal(w->type.add_pod(node_at(w, node)->resource, o), 0);
}

static int64_t left(struct world *w, const char *node)
{
	struct dp_object *o = pod("asker", NULL, "1", NULL);
	int64_t requested, available;

	w->type.admit_pod(node_at(w, node)->resource, o, &requested, &available);
	assert_int_equal(requested, 1);
	free(o);
	return available;
}

/* What pre_filter and filter say of a pod on a node, and frees it. */
static uint32_t try_on(struct world *w, struct dp_object *o, const char *node, char *text)
{
	struct dp_reason why = { .size = sizeof(why) };
	struct dp_cycle c = { 0 };
	uint32_t code = w->plugin->pre_filter(w->state, &c, o, &why);

	if (code == DP_SUCCESS)
		code = w->plugin->filter(w->state, &c, o, node_at(w, node), &why);
	if (text)
		(void)snprintf(text, sizeof(why.text), "%s", why.text);
	free(o);
	return code;
}

static void assert_tried(struct world *w, struct dp_object *o, const char *node, uint32_t code,
			 const char *text)
{
	char why[256];

	assert_int_equal(try_on(w, o, node, why), code);
	assert_string_equal(why, text);
}

#endif
