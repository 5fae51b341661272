/*
 * dra_world - for tests of DynamicResources: a cluster with devices and claims, a binding that only
 * records the result, and optionally a fake API server in a simulated world. The test drives the
 * watch: events arrive when it calls watch().
 */
#ifndef SCHEDULER_DRA_DRA_WORLD_H
#define SCHEDULER_DRA_DRA_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/informer/cached.h"
#include "client/testing/fakeapi_world.h"
#include "dra/inventory/content.h"
#include "net/loop/loop.h"
#include "scheduler/dra/plugin.h"
#include "scheduler/framework/binding_fixture.h"
#include "scheduler/run/scheduler_fixture.h"

#define NAME "DynamicResources"

/* --- the world -------------------------------------------------------------------------------- */

struct world {
	struct scheduler_fixture f;
	struct dra_state *dra;
	struct plugin *p;
	/* With an API server: */
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct client *client;
	size_t told; /* entries of the server's log that were delivered */
	uint64_t revision; /* of objects that the test puts */
	struct metrics *metrics;
};

typedef void (*put_fn)(struct dra_state *s, struct cached *o);

static void put(struct world *w, put_fn fn, const char *text)
{
	CLEANUP(cached_unref) struct cached *o = scheduler_fixture_object(&w->f, text);

	fn(w->dra, o);
}

/* Adds a node with two devices, "a" and "b"; the second may be tainted. */
static void add_node(struct world *w, const char *name, const char *more)
{
	scheduler_fixture_node(
		&w->f,
		arena_printf(&w->f.arena, "{'name':'%s','cpu':'4','memory':'8Gi'%s}", name, more));
	put(w, dra_state_put_slice,
	    arena_printf(
		    &w->f.arena,
		    "{'metadata':{'name':'%s-slice'},'spec':{'driver':'x.example.com',"
		    "'nodeName':'%s','pool':{'name':'%s','generation':1,'resourceSliceCount':1},"
		    "'devices':[{'name':'a','attributes':{'size':{'string':'small'}}},"
		    "{'name':'b','attributes':{'size':{'string':'large'}}}]}}",
		    name, name, name));
}

static struct world *world_new(bool server)
{
	struct world *w = XNEW(struct world);

	scheduler_fixture_init(&w->f);
	w->dra = dra_state_new(&w->f.gates, NULL);
	w->f.services.dra = w->dra;
	w->f.services.metrics = w->metrics = metrics_new();
	if (server) {
		w->sim = sim_new(&(struct sim_opts){ .seed = 7 });
		w->api = fakeapi_new(w->sim, 7);
		w->loop = sim_loop_new(w->sim, "scheduler");
		w->client = fakeapi_client(w->api, w->loop);
		w->f.services.loop = w->loop;
		w->f.services.client = w->client;
	}
	put(w, dra_state_put_class,
	    "{'metadata':{'name':'any'},'spec':{'extendedResourceName':'x.example.com/gpu'}}");
	put(w, dra_state_put_class,
	    "{'metadata':{'name':'large'},'spec':{'selectors':[{'cel':{'expression':"
	    "'device.attributes[\\\"x.example.com\\\"].size == \\\"large\\\"'}}]}}");
	scheduler_fixture_profile(&w->f, NAME, NULL);
	w->p = scheduler_fixture_plugin(&w->f, NAME);
	w->revision = 100;
	return w;
}

static void world_free(struct world *w)
{
	if (w->sim) {
		client_free(w->client);
		sim_run_for(w->sim, 100);
		fakeapi_free(w->api);
		loop_free(w->loop);
		sim_free(w->sim);
	}
	scheduler_fixture_release(&w->f);
	dra_state_free(w->dra);
	metrics_free(w->metrics);
	free(w);
}

#define ONE(class)                                                                                 \
	"'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'" class "',"             \
										  "'allocationMod" \
										  "e':'"           \
										  "ExactCount','"  \
										  "count':1}}]}"
#define ON(node, device)                                                                      \
	"'allocation':{'devices':{'results':[{'request':'r','driver':'x.example.com','pool':" \
	"'" node "','device':'" device                                                        \
	"'}]},'nodeSelector':{'nodeSelectorTerms':[{'matchFields':[{"                         \
	"'key':'metadata.name','operator':'In','values':['" node "']}]}]}}"

/* Puts a claim as the watch would deliver it, with more metadata, spec and status. */
static struct cached *claim(struct world *w, const char *name, const char *meta, const char *spec,
			    const char *status)
{
	return scheduler_fixture_object(
		&w->f,
		arena_printf(&w->f.arena,
			     "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim',"
			     "'metadata':{'namespace':'default','name':'%s','uid':'uid-%s',"
			     "'resourceVersion':'%llu'%s},'spec':{%s},'status':{%s}}",
			     name, name, (unsigned long long)++w->revision, meta, spec, status));
}

static UNUSED void put_claim(struct world *w, const char *name, const char *meta, const char *spec,
			     const char *status)
{
	CLEANUP(cached_unref) struct cached *o = claim(w, name, meta, spec, status);

	dra_state_put_claim(w->dra, o);
}

#define POD(name, claims) "{'name':'" name "','uid':'pod-" name "'," claims "}"
#define USES(claim)       "'resourceClaims':[{'name':'x','resourceClaimName':'" claim "'}]"

static UNUSED const char *filter(struct world *w, const char *pod)
{
	return scheduler_fixture_filter(&w->f, NAME, pod);
}

/* Runs an attempt up to reserve on that node. */
static UNUSED struct cycle *reserved(struct world *w, const char *pod, const char *node)
{
	struct cycle *c = scheduler_fixture_cycle(&w->f, pod);
	struct verdict v = w->p->kind->pre_filter(w->p, c);

	assert_int_equal(v.code, VERDICT_SUCCESS);
	(void)scheduler_fixture_filters(&w->f, w->p, c);
	v = w->p->kind->reserve(w->p, c, str_from(node));
	if (v.code != VERDICT_SUCCESS)
		fail_msg("%.*s", STR_ARG(verdict_message(&v, &c->arena)));
	return c;
}

static bool in_use(struct world *w, const char *node, const char *device)
{
	struct inventory_device *d = inventory_device(dra_state_inventory(w->dra),
						      STR("x.example.com"), str_from(node),
						      str_from(device));

	assert_non_null(d);
	return inventory_device_in_use(d);
}

/* --- the API server ------------------------------------------------------------ */

/* Delivers all outstanding events of the watch. */
static void watch(struct world *w)
{
	for (; w->told < w->api->log.n; w->told++) {
		const struct fakeapi_event *e = &w->api->log.v[w->told];
		struct cached *o;

		if (strcmp(e->kind->resource, "resourceclaims") != 0)
			continue;
		assert_int_equal(cached_new(str_from(e->text), NULL, &o, NULL), 0);
		if (strcmp(e->type, "DELETED") == 0)
			dra_state_remove_claim(w->dra, o);
		else
			dra_state_put_claim(w->dra, o);
		cached_unref(o);
	}
}

static const char *quoted(struct world *w, const char *text)
{
	char *copy = arena_strdup(&w->f.arena, str_from(text));

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return copy;
}

static UNUSED void serve_claim(struct world *w, const char *name, const char *spec,
			       const char *status)
{
	fakeapi_add(
		w->api, "resourceclaims", "default", name, "",
		quoted(w, arena_printf(&w->f.arena, ",'spec':{%s},'status':{%s}", spec, status)));
	watch(w);
}

static UNUSED bool stored(struct world *w, const char *name, const char *text)
{
	return fakeapi_has(w->api, "resourceclaims", "default", name, quoted(w, text));
}

/* Changes a claim on the server with a merge patch. */
static UNUSED void change(struct world *w, const char *name, const char *patch)
{
	char path[128];

	(void)snprintf(path, sizeof(path),
		       "/apis/resource.k8s.io/v1/namespaces/default/"
		       "resourceclaims/%s",
		       name);
	assert_int_equal(fakeapi_call(w->api, "PATCH", path, str_from(quoted(w, patch)), NULL),
			 200);
}

static void begin_bind(struct world *w, struct kept_binding *b, struct cycle *c)
{
	*b = kept_binding_of(c);
	c->snapshot = NULL;
	w->p->kind->pre_bind(w->p, &b->binding);
}

/* Returns the message of the binding, or "" on success. */
static UNUSED const char *bind_pod(struct world *w, struct kept_binding *b, struct cycle *c)
{
	begin_bind(w, b, c);
	assert_true(sim_run_until(w->sim, kept_binding_has_ended, b, 1000));
	return arena_strdup(&w->f.arena, verdict_message(&b->answer, &c->arena));
}

/* Returns how often the server rejected an allocation because another claim holds the device. */
static inline size_t conflicts(struct world *w)
{
	static const char name[] = "\ndevplane_scheduler_device_conflicts_total ";
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	const char *at;

	assert_int_equal(metrics_print(w->metrics, &b), 0);
	at = strstr(b.p, name);
	assert_non_null(at);
	return strtoul(at + strlen(name), NULL, 10);
}

#endif
