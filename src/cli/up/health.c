/*
 * Each role has its own client, because they are at different addresses. A role's problem is the
 * first line of its reply that begins with "[-]".
 */
#include "cli/up/health.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/loop.h"

struct question {
	struct up_health *health;
	struct client *client;
	struct client_request request;
	size_t *waiting;
};

/* The line "[-]node-ready failed: reason" of the ?verbose output; or all of it. */
static struct str find_fault(struct str body)
{
	struct str rest = body, line = STR_NULL;

	while (str_split(&rest, '\n', &line))
		if (str_starts(line, STR("[-]")))
			return str_skip(line, 3);
	rest = body;
	(void)str_split(&rest, '\n', &line);
	return line;
}

static void health_on_done(struct client_request *r, const struct client_answer *a,
			   const struct error *err)
{
	struct question *q = r->arg;
	struct up_health *h = q->health;
	struct str fault = find_fault(a->body);

	h->ok = err == NULL;
	if (h->ok)
		(void)snprintf(h->text, sizeof(h->text), "ok");
	else if (a->status != 0 && fault.n > 0)
		(void)snprintf(h->text, sizeof(h->text), "%.*s", (int)MIN(fault.n, (size_t)200),
			       fault.p);
	else
		(void)snprintf(h->text, sizeof(h->text), "%.200s", err->msg);
	--*q->waiting;
	loop_stop(client_loop(q->client));
}

static int health_ask(struct question *q, struct loop *l, int64_t timeout_ms, struct error *err)
{
	static const struct kubeconfig_env nothing = { 0 };
	struct up_health *h = q->health;
	struct kubeconfig_opts k = { .path = h->kubeconfig,
				     .server = h->url,
				     .env = h->url ? &nothing : NULL };
	struct kubeconfig config = { 0 };
	struct client_opts o = { .config = &config, .role = "status" };
	int r = kubeconfig_load(&config, &k, err);

	config.insecure = h->foreign;
	if (r == 0)
		r = client_new(l, &o, &q->client, err);
	kubeconfig_release(&config);
	if (r < 0)
		return r;
	q->request = (struct client_request){ .path = h->foreign ? STR("/healthz") : STR("/readyz"),
					      .accept = STR("text/plain"),
					      .timeout_ms = timeout_ms,
					      .no_retry = true,
					      .on_done = health_on_done,
					      .arg = q };
	++*q->waiting;
	client_send(q->client, &q->request);
	return 0;
}

static void health_on_last(struct loop_timer *t)
{
	loop_stop(t->loop);
}

/* Connections free their memory in the next turn. */
static void close_all(struct loop *l, struct question *v, size_t n)
{
	struct loop_timer last;

	for (size_t i = 0; i < n; i++)
		client_free(v[i].client);
	loop_timer_init(&last, l, health_on_last);
	loop_timer_start(&last, 0);
	loop_run(l);
}

struct up_health up_health_of(struct arena *a, const struct up_layout *l,
			      const struct up_state_role *role)
{
	if (role->health.n > 0)
		return (struct up_health){ .url = arena_strdup(a, role->health), .foreign = true };
	if (role->metrics.n > 0)
		return (struct up_health){ .url = arena_printf(a, "http://%.*s",
							       STR_ARG(role->metrics)) };
	return (struct up_health){ .kubeconfig = l->admin };
}

int up_health_ask(struct up_health *v, size_t n, int64_t timeout_ms, struct error *err)
{
	struct question *questions = xcalloc(n + 1, sizeof(*questions));
	struct loop *l = NULL;
	size_t waiting = 0;
	struct error why;
	int r = loop_new(&l, err);

	if (r < 0) {
		free(questions);
		return r;
	}
	for (size_t i = 0; i < n; i++) {
		questions[i] = (struct question){ .health = &v[i], .waiting = &waiting };
		v[i].ok = false;
		if (health_ask(&questions[i], l, timeout_ms, &why) < 0)
			(void)snprintf(v[i].text, sizeof(v[i].text), "%.200s", why.msg);
	}
	while (waiting > 0)
		loop_run(l);
	close_all(l, questions, n);
	loop_free(l);
	free(questions);
	return 0;
}

int64_t up_health_memory(int64_t pid)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	char path[64];
	struct str rest, line;
	int64_t kib;

	(void)snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	if (pid <= 0 || file_read(path, &text, NULL) < 0)
		return 0;
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line)) {
		if (!str_starts(line, STR("VmRSS:")))
			continue;
		line = str_trim(str_skip(line, 6));
		line.n -= MIN(line.n, (size_t)3); /* " kB" */
		return str_to_i64(line, &kib) ? kib * 1024 : 0;
	}
	return 0;
}
