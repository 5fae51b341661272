/*
 * plan_fixture - for tests: a Deployment and its ReplicaSets from few words, and the writes of a
 * plan as a line of text.
 */
#ifndef CONTROLLER_DEPLOYMENT_PLAN_FIXTURE_H
#define CONTROLLER_DEPLOYMENT_PLAN_FIXTURE_H

#include "controller/deployment/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/time/timestamp.h"
#include "controller/pods/owned.h"

enum { SETS_MAX = 8 };

#define NOW INT64_C(1000000000000) /* 1970-01-01T00:16:40Z */

struct planner {
	struct arena arena;
	struct json *tree;
	struct deployment_set sets[SETS_MAX], *pointers[SETS_MAX];
	size_t n;
	struct owner owner;
	struct deployment_plan plan;
	char summary[512];
};

static struct json *parsed(struct planner *p, const char *text)
{
	struct json *v;

	assert_int_equal(
		json_parse(&p->arena, arena_str(&p->arena, str_from(text)), NULL, &v, NULL), 0);
	return v;
}

#define SELECTOR "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}"
#define TEMPLATE(v) \
	"\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"v\":" v "}}"
#define UNTIL "\"progressDeadlineSeconds\":600"

/* `spec` beside selector and template of version 3, `status`, `meta`: members. */
UNUSED static struct planner *planner_new(const char *spec, const char *status, const char *meta)
{
	struct planner *p = XNEW(struct planner);

	arena_init(&p->arena, 16 * MIB);
	p->tree = parsed(p, arena_printf(&p->arena,
					 "{\"metadata\":{\"name\":\"web\",\"namespace\":\"n\","
					 "\"uid\":\"d\",\"generation\":1%s},\"spec\":{" SELECTOR
					 "," TEMPLATE("3") "%s},\"status\":{%s}}",
					 meta, spec, status));
	p->owner = (struct owner){ .api_version = STR("apps/v1"),
				   .kind = STR("Deployment"),
				   .ns = STR("n"),
				   .name = STR("web"),
				   .uid = STR("d") };
	return p;
}

static void planner_free(struct planner *p)
{
	arena_release(&p->arena);
	free(p);
}

struct given_set {
	int version; /* of the template, and its age; 0: the end */
	int replicas, available;
	const char *annotations;
	int pods; /* of the status; -1: as replicas */
};

static void add_set(struct planner *p, const struct given_set *g)
{
	struct deployment_set *s = &p->sets[p->n];
	const char *annotations = g->annotations ? g->annotations : "";

	*s = (struct deployment_set){ 0 };
	s->tree = parsed(
		p, arena_printf(&p->arena,
				"{\"metadata\":{\"name\":\"v%d\",\"creationTimestamp\":\"2024-01-"
				"0%dT00:00:00Z\",\"generation\":1,\"annotations\":{\"deployment."
				"kubernetes.io/revision\":\"%d\"%s}},\"spec\":{\"replicas\":%d,"
				"\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\",\"pod-"
				"template-hash\":\"x\"}},\"spec\":{\"v\":%d}}},\"status\":{"
				"\"replicas\":%d,\"readyReplicas\":%d,\"availableReplicas\":%d,"
				"\"observedGeneration\":1,\"terminatingReplicas\":0}}",
				g->version, g->version, g->version, annotations, g->replicas,
				g->version, g->pods < 0 ? g->replicas : g->pods, g->available,
				g->available));
	deployment_set_read(s);
	p->pointers[p->n++] = s;
}

static void summarize(struct planner *p, const struct deployment_write *w)
{
	static const char *const marks[] = { "+", "", "-", "update", "status" };
	bool of_set = w->verb <= DEPLOYMENT_DELETE_SET;
	struct str name = json_text_at(json_getz(w->tree, "metadata"), "name");
	size_t n = strlen(p->summary), room = sizeof(p->summary) - n;

	if (w->verb == DEPLOYMENT_CREATE_SET)
		name = STR("new");
	if (!of_set)
		(void)snprintf(p->summary + n, room, "%s ", marks[w->verb]);
	else if (w->verb == DEPLOYMENT_DELETE_SET)
		(void)snprintf(p->summary + n, room, "-%.*s ", STR_ARG(name));
	else
		(void)snprintf(p->summary + n, room, "%s%.*s=%lld ", marks[w->verb], STR_ARG(name),
			       (long long)json_i64_at(json_getz(w->tree, "spec"), "replicas", -1));
}

static const char *planned(struct planner *p)
{
	p->plan = (struct deployment_plan){ .arena = &p->arena,
					    .tree = p->tree,
					    .owner = &p->owner,
					    .sets = p->pointers,
					    .n = p->n,
					    .now_ns = NOW };
	p->summary[0] = '\0';
	deployment_plan(&p->plan);
	for (const struct deployment_write *w = p->plan.writes; w; w = w->next)
		summarize(p, w);
	return p->summary;
}

#define DESIRED(n, max)                                            \
	",\"deployment.kubernetes.io/desired-replicas\":\"" n "\"" \
	",\"deployment.kubernetes.io/max-replicas\":\"" max "\""
#define ROLLING(surge, unavailable)                                                        \
	",\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":" surge \
	",\"maxUnavailable\":" unavailable "}}"
#define RECREATE ",\"strategy\":{\"type\":\"Recreate\"}"
#define D10      DESIRED("10", "12")

#endif
