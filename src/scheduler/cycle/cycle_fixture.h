/*
 * cycle_fixture - a cluster of nodes n0, n1 .. and a profile of plugins A, B and C that return the
 * verdicts that the test sets. The fixture logs their calls in order.
 */
#ifndef SCHEDULER_CYCLE_CYCLE_FIXTURE_H
#define SCHEDULER_CYCLE_CYCLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/report/metrics.h"
#include "client/informer/cached.h"
#include "scheduler/config/config.h"
#include "scheduler/cycle/cycle_impl.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/queue/podqueue.h"

enum { NODES_MAX = 16 };

/* The verdict of a plugin at an extension point. */
struct says {
	enum verdict_code code;
	const char *reason;
};

struct fake {
	struct says pre_enqueue, pre_filter, post_filter, pre_score, score, reserve, permit;
	const char *only[NODES_MAX]; /* pre_filter restricts the cycle to these nodes */
	bool restricts;
	struct says filter[NODES_MAX]; /* by the node's number */
	int64_t scores[NODES_MAX];
	bool halves; /* normalize */
	bool needs_company; /* filter rejects a node without pods; `crowds`: a node with pods */
	bool crowds;
	const char *nominates;
	int64_t timeout_ms;
};

enum { A, B, C, FAKES };

struct world {
	struct amount_names names;
	struct config config;
	struct services services;
	struct metrics *metrics;
	struct clock_manual clock;
	struct nodecache *nodes;
	struct profile *profile;
	struct fake fakes[FAKES];
	struct buf trace;
	struct prng prng;
	size_t start;
	struct podinfo *pod;
	struct cycle *cycle;
	struct cycle_result result;
	bool quiet; /* filter calls are not logged */
};

/* --- plugins ------------------------------------------------------------------------------- */

static struct fake *fake_of(const struct plugin *p)
{
	return &((struct world *)p->state)->fakes[p->name[0] - 'A'];
}

static void note(const struct plugin *p, const char *what, struct str node)
{
	struct world *w = p->state;

	(void)buf_printf(&w->trace, "%s.%s%s%.*s ", p->name, what, node.n ? ":" : "",
			 STR_ARG(node));
}

static struct verdict say(struct arena *a, struct says s)
{
	if (s.code == VERDICT_SUCCESS)
		return VERDICT_OK;
	return s.reason ? verdict_of(a, s.code, str_from(s.reason))
			: (struct verdict){ .code = s.code };
}

static size_t number(struct str node)
{
	return strtoul(node.p + 1, NULL, 10);
}

static struct verdict fake_pre_enqueue(struct plugin *p, const struct podinfo *pod, struct arena *a)
{
	note(p, "pre_enqueue", STR_NULL);
	return say(a, fake_of(p)->pre_enqueue);
}

static struct verdict fake_pre_filter(struct plugin *p, struct cycle *c)
{
	const struct fake *f = fake_of(p);
	struct str only[NODES_MAX];
	size_t n = 0;

	note(p, "pre_filter", STR_NULL);
	*cycle_state(c, p) = ARENA_NEW(&c->arena, int);
	while (n < NODES_MAX && f->only[n]) {
		only[n] = str_from(f->only[n]);
		n++;
	}
	if (f->restricts)
		cycle_only(c, only, n);
	return say(&c->arena, f->pre_filter);
}

static void *fake_clone(const struct plugin *p, struct cycle *c, void *state)
{
	int *copy = arena_alloc(&c->arena, sizeof(*copy));

	*copy = *(int *)state;
	return copy;
}

static void fake_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			 const struct nodeinfo *n)
{
	note(p, "add", n->name);
	++*(int *)*cycle_state(c, p);
}

static void fake_remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			    const struct nodeinfo *n)
{
	note(p, "remove", n->name);
	--*(int *)*cycle_state(c, p);
}

static struct verdict fake_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	const struct fake *f = fake_of(p);
	const struct world *w = p->state;

	if (!w->quiet)
		note(p, "filter", n->name);
	if (f->needs_company && n->pods.n == 0)
		return verdict_of(&c->arena, VERDICT_UNSCHEDULABLE, STR("alone"));
	if (f->crowds && n->pods.n)
		return verdict_of(&c->arena, VERDICT_UNSCHEDULABLE, STR("crowded"));
	return say(&c->arena, f->filter[number(n->name) % NODES_MAX]);
}

static struct verdict fake_post_filter(struct plugin *p, struct cycle *c, struct str *ret_nominated)
{
	const struct fake *f = fake_of(p);

	note(p, "post_filter", STR_NULL);
	if (f->nominates)
		*ret_nominated = str_from(f->nominates);
	return say(&c->arena, f->post_filter);
}

static struct verdict fake_pre_score(struct plugin *p, struct cycle *c)
{
	note(p, "pre_score", STR_NULL);
	return say(&c->arena, fake_of(p)->pre_score);
}

static struct verdict fake_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score)
{
	const struct fake *f = fake_of(p);

	note(p, "score", c->feasible[at]->name);
	*ret_score = f->scores[number(c->feasible[at]->name) % NODES_MAX];
	return say(&c->arena, f->score);
}

static void fake_normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	note(p, "normalize", STR_NULL);
	for (size_t i = 0; fake_of(p)->halves && i < n; i++)
		scores[i] /= 2;
}

static struct verdict fake_reserve(struct plugin *p, struct cycle *c, struct str node)
{
	note(p, "reserve", node);
	return say(&c->arena, fake_of(p)->reserve);
}

static void fake_unreserve(struct plugin *p, struct cycle *c, struct str node)
{
	note(p, "unreserve", node);
}

static struct verdict fake_permit(struct plugin *p, struct cycle *c, struct str node,
				  int64_t *ret_timeout_ms)
{
	note(p, "permit", node);
	*ret_timeout_ms = fake_of(p)->timeout_ms;
	return say(&c->arena, fake_of(p)->permit);
}

static void fake_post_bind(struct plugin *p, struct cycle *c, struct str node)
{
	note(p, "post_bind", node);
}

static bool fake_less(const struct plugin *p, const struct queued_pod *a,
		      const struct queued_pod *b)
{
	return false;
}

static void fake_bind(struct plugin *p, struct binding *b)
{
}

static int fake_init(struct plugin *p, const struct json *args, struct error *err)
{
	return json_true_at(args, "fail") ? error_set(err, ERR_INVALID, "told to") : 0;
}

#define FAKE(letter)                                                                               \
	{                                                                                          \
		.name = letter, .init = fake_init, .pre_enqueue = fake_pre_enqueue,                \
		.pre_filter = fake_pre_filter, .clone_state = fake_clone, .add_pod = fake_add_pod, \
		.remove_pod = fake_remove_pod, .filter = fake_filter,                              \
		.post_filter = fake_post_filter, .pre_score = fake_pre_score, .score = fake_score, \
		.normalize = fake_normalize, .reserve = fake_reserve, .unreserve = fake_unreserve, \
		.permit = fake_permit, .post_bind = fake_post_bind                                 \
	}

static const struct plugin_kind fakes[] = { FAKE("A"), FAKE("B"), FAKE("C") };
static const struct plugin_kind sorter = { .name = "Sort", .less = fake_less };
static const struct plugin_kind sorter2 = { .name = "Sort2", .less = fake_less };
static const struct plugin_kind binder = { .name = "Bind", .bind = fake_bind };
static const struct plugin_kind *const kinds[] = { &fakes[0], &fakes[1], &fakes[2],
						   &sorter,   &sorter2,  &binder };

/* --- the world ----------------------------------------------------------------------------- */

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#define BARE "    multiPoint: {disabled: [{name: '*'}], enabled: ["
#define ALL  BARE "{name: Sort}, {name: A}, {name: B}, {name: C}, {name: Bind}]}\n"

static int make_profile(struct world *w, const char *plugins, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(65536);

	(void)buf_printf(&text, "%sprofiles:\n- schedulerName: test\n  plugins:\n%s", HEAD,
			 plugins);
	config_init(&w->config);
	if (config_read(&w->config, buf_str(&text), err) < 0)
		fail_msg("%s", err->msg);
	return profile_new(&w->config.profiles[0],
			   &(struct plugin_kinds){ plugins_built_in, kinds, ARRAY_SIZE(kinds) },
			   &w->services, &w->profile, err);
}

static void add_node(struct world *w, size_t i)
{
	CLEANUP(nodeobject_unref) struct nodeobject *n = NULL;
	CLEANUP(cached_unref) struct cached *o = NULL;
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n%zu\"},\"spec\":{},"
		       "\"status\":{}}",
		       i);
	assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
	assert_int_equal(nodeobject_new(o, &w->names, &n, NULL), 0);
	nodecache_put_node(w->nodes, n);
}

static struct podinfo *make_pod(struct world *w, const char *name, int priority,
				const char *nominated)
{
	CLEANUP(cached_unref) struct cached *o = NULL;
	struct podinfo *p = NULL;
	char text[512];
	struct error err;

	(void)snprintf(text, sizeof(text),
		       "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
		       "\"uid\":\"%s\"},\"spec\":{\"schedulerName\":\"test\",\"priority\":%d,"
		       "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},"
		       "\"status\":{\"nominatedNodeName\":\"%s\"}}",
		       name, name, priority, nominated);
	assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
	if (podinfo_new(o, &w->names, &p, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static struct profile *any_profile(void *arg, struct str scheduler)
{
	return ((struct world *)arg)->profile;
}

static struct world *world_new(const char *plugins, size_t nodes)
{
	struct world *w = XNEW(struct world);
	struct podqueue_opts opts = { .profile = any_profile, .arg = w };
	struct error err;

	buf_init(&w->trace, 1 << 20);
	prng_init(&w->prng, 1);
	amount_names_init(&w->names);
	clock_manual_init(&w->clock, CLOCK_SEC, 0);
	w->metrics = metrics_new();
	w->nodes = nodecache_new();
	w->services = (struct services){ .nodes = w->nodes,
					 .names = &w->names,
					 .metrics = w->metrics,
					 .clock = &w->clock.clock };
	if (make_profile(w, plugins, &err) < 0)
		fail_msg("%s", err.msg);
	w->services.queue = podqueue_new(&opts);
	for (size_t i = 0; i < w->profile->n; i++)
		w->profile->plugins[i].state = w;
	for (size_t i = 0; i < nodes; i++)
		add_node(w, i);
	return w;
}

static void world_free(struct world *w)
{
	cycle_free(w->cycle);
	podinfo_unref(w->pod);
	podqueue_free(w->services.queue);
	profile_free(w->profile);
	nodecache_free(w->nodes);
	metrics_free(w->metrics);
	amount_names_release(&w->names);
	config_release(&w->config);
	buf_release(&w->trace);
	free(w);
}
DEFINE_CLEANUP(world_free, struct world *);

static void begin(struct world *w, const char *nominated)
{
	cycle_free(w->cycle);
	podinfo_unref(w->pod);
	w->pod = make_pod(w, "p", 10, nominated);
	w->cycle = cycle_new(w->profile, w->pod, 0);
	buf_clear(&w->trace);
}

static void run(struct world *w)
{
	begin(w, "");
	cycle_run(w->cycle, nodecache_snapshot(w->nodes), &w->start, &w->prng, &w->result);
}

static void assert_str(struct str s, const char *z)
{
	char *copy = str_dup(s);

	assert_string_equal(copy, z);
	free(copy);
}

static void assert_message(struct world *w, const char *z)
{
	assert_str(verdict_message(&w->result.verdict, &w->cycle->arena), z);
}

static void assert_trace(struct world *w, const char *z)
{
	assert_string_equal(w->trace.p ? w->trace.p : "", z);
}

#endif
