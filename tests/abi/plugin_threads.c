/*
 * A plugin with a thread of its own, which calls what any thread may call until it is closed.
 */
#include <devplane/scheduler.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct state {
	const struct dp_scheduler_host *host;
	struct dp_metric *counter, *gauge;
	pthread_t thread;
	atomic_int stop;
	int told; /* the scheduler's thread only */
};

extern int posts_that_came;
int posts_that_came;

static void on_scheduler(void *arg)
{
	struct state *s = arg;

	s->told++;
	posts_that_came = s->told;
}

static void *work(void *arg)
{
	struct state *s = arg;
	const struct dp_scheduler_host *h = s->host;

	for (int i = 0; i < 1000 || !atomic_load(&s->stop); i++) {
		if (i >= 1000)
			continue;
		h->metric_add(s->counter, 1);
		h->metric_set(s->gauge, i);
		h->post(h->host, on_scheduler, s);
		h->allow(h->host, "uid-1");
		h->reject(h->host, "uid-2", "no");
		h->log(h->host, DP_LOG_DEBUG, "from a thread");
	}
	return NULL;
}

static int init(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		struct dp_reason *why)
{
	struct state *s = calloc(1, sizeof(*s));

	(void)args;
	(void)why;
	s->host = host;
	s->counter = host->metric(host->host, DP_METRIC_COUNTER, "threads_total", "Steps", "kind",
				  "test");
	s->gauge = host->metric(host->host, DP_METRIC_GAUGE, "threads_last", "Last step", NULL,
				NULL);
	*ret_state = s;
	return pthread_create(&s->thread, NULL, work, s);
}

static void close_plugin(void *state)
{
	struct state *s = state;

	atomic_store(&s->stop, 1);
	pthread_join(s->thread, NULL);
	free(s);
}

static const struct dp_scheduler_plugin plugin = {
	.size = sizeof(plugin),
	.abi_major = DP_SCHEDULER_ABI_MAJOR,
	.name = "threads",
	.init = init,
	.close = close_plugin,
};

const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return &plugin;
}
