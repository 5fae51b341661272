/*
 * The server's OpenAPI document is large, so it is read once for all agents.
 */
#include "node/agent/agents.h"

#include <sys/stat.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "node/host/saver.h"
#include "node/status/pod_level.h"

struct agents {
	struct agent_opts opts;
	struct arena arena; /* names and folders */
	struct saver *saver;
	struct pod_level *pod_level;
	struct agent **v;
	size_t n, wanted, stopped;
	void (*done)(void *arg);
	void *arg;
};

int agents_new(const struct agent_opts *opts, size_t n, struct agents **ret_agents,
	       struct error *err)
{
	struct agents *g = XNEW(struct agents);
	int r = saver_new(opts->loop, &g->saver, err);

	if (r < 0) {
		free(g);
		return r;
	}
	arena_init(&g->arena, REQUEST_WORK_MAX);
	g->opts = *opts;
	g->opts.saver = g->saver;
	g->wanted = n;
	g->v = ARENA_ARRAY(&g->arena, struct agent *, n);
	*ret_agents = g;
	return 0;
}

static void on_pod_level(void *arg, bool known)
{
	struct agents *g = arg;

	for (size_t i = 0; i < g->n; i++)
		agent_set_pod_level(g->v[i], known);
}

int agents_start(struct agents *g, struct error *err)
{
	int r = 0;

	if (g->wanted > 1)
		(void)mkdir(g->opts.root_dir, 0750);
	for (size_t i = 0; i < g->wanted && r == 0; i++) {
		struct agent_opts one = g->opts;

		if (g->wanted > 1) {
			one.node_name = arena_printf(&g->arena, "%s-%zu", one.node_name, i);
			one.root_dir = arena_printf(&g->arena, "%s/%zu", one.root_dir, i);
			one.hollow_net = (unsigned)i;
		}
		r = agent_new(&one, &g->v[g->n], err);
		g->n += r == 0;
	}
	if (r == 0)
		g->pod_level = pod_level_ask(g->opts.client, on_pod_level, g);
	return r;
}

static void agents_on_stopped(void *arg)
{
	struct agents *g = arg;

	if (++g->stopped >= g->n)
		g->done(g->arg);
}

void agents_stop(struct agents *g, void (*done)(void *arg), void *arg)
{
	g->done = done;
	g->arg = arg;
	pod_level_free(TAKE(g->pod_level));
	for (size_t i = 0; i < g->n; i++)
		agent_stop(g->v[i], agents_on_stopped, g);
	if (g->n == 0)
		agents_on_stopped(g);
}

void agents_free(struct agents *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		agent_free(g->v[i]);
	pod_level_free(g->pod_level);
	saver_free(g->saver);
	arena_release(&g->arena);
	free(g);
}

const struct addr *agents_api_addr(const struct agents *g)
{
	return g->n > 0 ? agent_api_addr(g->v[0]) : NULL;
}

int agents_check(const struct agents *g, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < g->n && r == 0; i++)
		r = agent_check(g->v[i], err);
	return r;
}

int agents_check_ready(const struct agents *g, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < g->n && r == 0; i++)
		r = agent_check_ready(g->v[i], err);
	return r;
}
