/*
 * Checks are table rows. The state is checked on its loop, by a job. A server that has not loaded
 * its state yet is not ready and submits no job. The text is upstream's, which probes and people
 * read.
 */
#include "server/gate/health.h"

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "server/core/parts.h"
#include "server/gate/slis.h"
#include "server/http/exchange.h"

enum {
	IN_HEALTHZ = 1 << 0,
	IN_LIVEZ = 1 << 1,
	IN_READYZ = 1 << 2,
	IN_ALL = IN_HEALTHZ | IN_LIVEZ | IN_READYZ,
};

/* The result from the state's loop. */
struct health {
	struct exchange *x;
	struct error state; /* code ERR_OK: healthy */
	unsigned set; /* which endpoint: IN_* */
	const char *endpoint; /* its name */
	struct str only; /* run only the check of this name; empty: all */
	bool verbose;
	struct str exclude[16];
	size_t nexclude;
	bool used[16];
};

struct check {
	const char *name;
	unsigned in;
	int (*run)(const struct health *h, struct error *err);
};

static int check_ping(const struct health *h UNUSED, struct error *err UNUSED)
{
	return 0;
}

static int check_store(const struct health *h, struct error *err)
{
	return h->state.code == ERR_OK ? 0 : error_copy(err, &h->state);
}

static int check_loaded(const struct health *h, struct error *err)
{
	if (!atomic_load(&h->x->server->ready))
		return error_set(err, ERR_UNAVAILABLE, "the server has not loaded all objects yet");
	return 0;
}

static int check_shutdown(const struct health *h, struct error *err)
{
	if (atomic_load(&h->x->server->stopping))
		return error_set(err, ERR_UNAVAILABLE, "process is shutting down");
	return 0;
}

/* "etcd" is the name in upstream's probes, whatever the store is. */
static const struct check checks[] = {
	{ "ping", IN_ALL, check_ping },
	{ "log", IN_ALL, check_ping },
	{ "etcd", IN_HEALTHZ | IN_READYZ, check_store },
	{ "informer-sync", IN_READYZ, check_loaded },
	{ "shutdown", IN_READYZ, check_shutdown },
};

static const struct {
	struct str root;
	const char *name; /* in the last line */
	unsigned in;
} endpoints[] = {
	{ { "/healthz", 8 }, "healthz", IN_HEALTHZ },
	{ { "/livez", 6 }, "livez", IN_LIVEZ },
	{ { "/readyz", 7 }, "readyz", IN_READYZ },
};

/* Index of the endpoint, or -1; *ret_rest is the text after "/readyz/". */
static int find_endpoint(struct str path, struct str *ret_rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
		struct str root = endpoints[i].root;

		if (!str_starts(path, root) || (path.n > root.n && path.p[root.n] != '/'))
			continue;
		*ret_rest = str_skip(path, root.n + 1);
		return (int)i;
	}
	return -1;
}

bool health_is_path(struct str path)
{
	struct str rest;

	return find_endpoint(path, &rest) >= 0;
}

static bool is_excluded(struct health *h, const char *name)
{
	for (size_t i = 0; i < h->nexclude; i++) {
		if (str_eqz(h->exclude[i], name))
			return h->used[i] = true;
	}
	return false;
}

/* Appends the check's line; returns false if it failed. */
static bool run_check(struct health *h, const struct check *c, struct buf *out)
{
	struct error err = { 0 };

	if (!h->only.n && is_excluded(h, c->name)) {
		(void)buf_printf(out, "[+]%s excluded: ok\n", c->name);
		return true;
	}
	if (c->run(h, &err) < 0) {
		slis_count(h->x->server->slis, c->name, h->endpoint, false);
		/* Reasons go only to the log and to verbose replies for users who may see them. */
		(void)buf_printf(out, "[-]%s failed: %s\n", c->name, err.msg);
		return false;
	}
	slis_count(h->x->server->slis, c->name, h->endpoint, true);
	(void)buf_printf(out, "[+]%s ok\n", c->name);
	return true;
}

static void health_answer(struct health *h)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);
	struct exchange *x = h->x;
	bool found = !h->only.n, well = true;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (!(checks[i].in & h->set) || (h->only.n && !str_eqz(h->only, checks[i].name)))
			continue;
		found = true;
		well = run_check(h, &checks[i], &out) && well;
	}
	if (!found) {
		reply_text(x, 404, STR("text/plain; charset=utf-8"), STR("404 page not found\n"));
		return;
	}
	for (size_t i = 0; i < h->nexclude; i++) {
		if (!h->used[i])
			(void)buf_printf(&out,
					 "warn: some health checks cannot be excluded: no matches "
					 "for \"%.*s\"\n",
					 STR_ARG(h->exclude[i]));
	}
	if (!well) {
		(void)buf_printf(&out, "%s check failed\n", h->endpoint);
		reply_text(x, 500, STR("text/plain; charset=utf-8"), buf_str(&out));
		return;
	}
	(void)buf_printf(&out, "%s check passed\n", h->endpoint);
	reply_text(x, 200, STR("text/plain; charset=utf-8"),
		   h->verbose ? buf_str(&out) : STR("ok"));
}

static void ask_state(struct state *st, struct job *j)
{
	struct health *h = exchange_of(j)->data;

	(void)state_health(st, &h->state);
	job_finish(j);
}

static void health_finish(struct exchange *x)
{
	health_answer(x->data);
}

static void read_query(struct health *h)
{
	struct str rest = h->x->stream->in.query, name, value;

	while (request_param(&rest, h->x->arena, &name, &value)) {
		if (str_eqz(name, "verbose"))
			h->verbose = true;
		else if (str_eqz(name, "exclude") && h->nexclude < ARRAY_SIZE(h->exclude))
			h->exclude[h->nexclude++] = value;
	}
}

void health_handle(struct exchange *x)
{
	struct health *h = ARENA_NEW(x->arena, struct health);
	int at = find_endpoint(x->stream->in.path, &h->only);

	h->x = x;
	h->set = endpoints[at].in;
	h->endpoint = endpoints[at].name;
	x->data = h;
	read_query(h);
	if (atomic_load(&x->server->ready)) {
		exchange_submit(x, ask_state, health_finish);
		return;
	}
	(void)error_set(&h->state, ERR_UNAVAILABLE, "the store is not open yet");
	health_finish(x);
}
