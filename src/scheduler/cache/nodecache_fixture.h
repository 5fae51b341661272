/*
 * nodecache_fixture - pods, nodes and an extended resource for tests of the cache.
 *
 * The extended resource sums the milli-CPUs of the pods that were added to it. This is the same sum
 * as the cache's, computed by a plugin.
 */
#ifndef SCHEDULER_CACHE_NODECACHE_FIXTURE_H
#define SCHEDULER_CACHE_NODECACHE_FIXTURE_H

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "client/informer/cached.h"
#include "scheduler/cache/extended.h"
#include "scheduler/cache/nodecache.h"

struct fixture_value {
	int64_t capacity, sum;
	unsigned pods;
	unsigned *alive; /* number of existing values */
};

static inline struct cached *fixture_object(const char *text)
{
	struct cached *o = NULL;
	struct error err;
	char *copy = xstrdup(text);

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	if (cached_new(str_from(copy), NULL, &o, &err) < 0)
		fail_msg("%s: %s", err.msg, copy);
	free(copy);
	return o;
}

/* `more` is additional text for the spec, with a trailing comma, or NULL. */
static inline struct podinfo *fixture_pod(struct amount_names *names, const char *uid,
					  const char *node, int64_t cpu, const char *more)
{
	struct buf b = BUF_INIT(65536);
	struct podinfo *p = NULL;
	struct cached *o;
	struct error err;

	(void)buf_printf(&b,
			 "{'metadata':{'name':'p%s','namespace':'ns','uid':'%s'},'spec':{%s"
			 "'nodeName':'%s','containers':[{'name':'c','resources':{'requests':"
			 "{'cpu':'%lldm','example.com/gpu':1}}}]}}",
			 uid, uid, more ? more : "", node, (long long)cpu);
	o = fixture_object(b.p);
	if (podinfo_new(o, names, &p, &err) < 0)
		fail_msg("%s", err.msg);
	cached_unref(o);
	buf_release(&b);
	return p;
}

static inline struct nodeobject *fixture_node(struct amount_names *names, const char *name,
					      const char *zone, const char *status)
{
	struct buf b = BUF_INIT(65536);
	struct nodeobject *n = NULL;
	struct cached *o;
	struct error err;

	(void)buf_printf(&b,
			 "{'metadata':{'name':'%s','uid':'%s','labels':{"
			 "'topology.kubernetes.io/zone':'%s'}},'status':{%s}}",
			 name, name, zone, status ? status : "");
	o = fixture_object(b.p);
	if (nodeobject_new(o, names, &n, &err) < 0)
		fail_msg("%s", err.msg);
	cached_unref(o);
	buf_release(&b);
	return n;
}

static inline struct fixture_value *fixture_value_new(unsigned *alive, int64_t capacity)
{
	struct fixture_value *v = XNEW(struct fixture_value);

	v->capacity = capacity;
	v->alive = alive;
	++*alive;
	return v;
}

/* Rejects pods of 13 milli-CPUs. */
static inline int fixture_add_pod(void *resource, const struct dp_object *pod)
{
	struct fixture_value *v = resource;

	if (pod->pod->requests.cpu_milli == 13)
		return -1;
	v->sum += pod->pod->requests.cpu_milli;
	v->pods++;
	return 0;
}

static inline int fixture_remove_pod(void *resource, const struct dp_object *pod)
{
	struct fixture_value *v = resource;

	assert_true(pod->pod->requests.cpu_milli != 13);
	v->sum -= pod->pod->requests.cpu_milli;
	v->pods--;
	return 0;
}

static inline void *fixture_clone(const void *resource)
{
	const struct fixture_value *from = resource;
	struct fixture_value *v = fixture_value_new(from->alive, from->capacity);

	v->sum = from->sum;
	v->pods = from->pods;
	return v;
}

static inline void fixture_free(void *resource)
{
	struct fixture_value *v = resource;

	assert_true(*v->alive > 0);
	--*v->alive;
	free(v);
}

static inline void fixture_describe(const void *resource, struct dp_sink *out)
{
	const struct fixture_value *v = resource;

	(void)buf_printf(&out->out, "{\"sum\":%lld}", (long long)v->sum);
}

static inline struct extended_type *fixture_type(struct extended_types *types, const char *name)
{
	struct dp_resource_type ops = {
		.size = sizeof(ops),
		.name = name,
		.add_pod = fixture_add_pod,
		.remove_pod = fixture_remove_pod,
		.clone = fixture_clone,
		.free = fixture_free,
		.describe = fixture_describe,
	};
	struct extended_type *t = NULL;
	struct error err;

	if (extended_types_register(types, &ops, NULL, NULL, &t, &err) < 0)
		fail_msg("%s", err.msg);
	return t;
}

#endif
