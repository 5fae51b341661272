/*
 * `GET /ui/explain`: why a pod or claim does not get its devices, for the view Waiting.
 *
 * `devplane explain-fit` computes it, in a process of its own, because it reads the whole cluster
 * and is busy for a while. The process gets the credentials of the session and no others, through
 * a file in memory. Its time, output and number of objects are limited, and so are the processes.
 *
 * Before it starts, two small requests find out whether the user may read the subject and the
 * slices. So mistakes and missing rights are answered with the API server's own status.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "cli/ui/explain_query.h"
#include "cli/ui/site_impl.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/program.h"

enum {
	EXPLAINS_MAX = 4,
	PROBE_MS = 20 * 1000,
	EXPLAIN_MS = 40 * 1000,
	ANSWER_MAX = MIB, /* no larger pipe is allowed without privileges */
};

/* In its stream's arena. */
struct site_explain {
	struct list node;
	struct site *site;
	struct ui_session *session; /* referenced while it is in the list */
	struct http_stream *stream;
	const struct site_cluster *cluster;
	struct explain_query query;
	struct client_request probe;
	struct program *program;
	int64_t ends_ns; /* of the session, wall time */
	bool probed; /* the subject can be read */
};

static bool explain_has_token(const struct site_explain *x)
{
	return site_user_of(x->session)->token.n > 0;
}

/* --- life ---------------------------------------------------------------------------------- */

static void explain_stop(struct site_explain *x)
{
	client_cancel(&x->probe);
	program_free(TAKE(x->program));
	if (!x->session)
		return;
	list_remove(&x->node);
	x->site->nexplains--;
	ui_session_unref(TAKE(x->session));
}

static void explain_on_close(struct http_stream *h, const struct error *err UNUSED)
{
	explain_stop(h->data);
}

static void explain_on_body(struct http_stream *h, struct str piece)
{
	http_stream_consume(h, piece.n);
}

static const struct http_stream_ops explain_ops = { .on_body = explain_on_body,
						    .on_close = explain_on_close };

static void explain_fail(struct site_explain *x, const struct error *err)
{
	struct http_stream *h = x->stream;

	explain_stop(x);
	site_fail(h, err);
}

void site_explain_sweep(struct site *s)
{
	int64_t now = site_now(s).wall_ns;

	LIST_FOREACH_SAFE (it, &s->explains) {
		struct site_explain *x = LIST_ENTRY(it, struct site_explain, node);
		struct http_stream *h = x->stream;

		if (!atomic_load(&x->session->over) && now < x->ends_ns)
			continue;
		explain_stop(x);
		site_refuse_login(s, h, "the session is over");
	}
}

/* --- the process --------------------------------------------------------------------------- */

/* The caller closes the descriptor. */
static int explain_config_fd(struct site_explain *x, struct error *err)
{
	struct str text = explain_query_kubeconfig(
		x->cluster->config, site_user_of(x->session)->token, &x->stream->arena);
	int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	bool written = fd >= 0 && text.n && pwrite(fd, text.p, text.n, 0) == (ssize_t)text.n;

	if (text.n)
		explicit_bzero((char *)(uintptr_t)text.p, text.n);
	if (written)
		return fd;
	(void)error_set_errno(err, ERR_IO, errno, "cannot write a file in memory");
	if (fd >= 0)
		(void)close(fd);
	return -ERR_IO;
}

static void explain_on_end(void *arg, const struct program_end *end)
{
	struct site_explain *x = arg;
	struct http_stream *h = x->stream;
	struct error err;

	if (!end->signum && end->status == 0) {
		struct str answer = arena_str(&h->arena, end->out);

		explain_stop(x);
		site_reply(h, 200, STR("application/json"), answer, NULL, 0);
		return;
	}
	if (end->timed_out)
		(void)error_set(&err, ERR_TIMEOUT,
				"the explanation has taken longer than %d seconds, or is too long",
				EXPLAIN_MS / 1000);
	else
		(void)error_set(&err, ERR_UNAVAILABLE, "%.*s",
				STR_ARG(program_last_line(end->err)));
	explain_fail(x, &err);
}

static int explain_start(struct site_explain *x, struct error *err)
{
	struct arena *a = &x->stream->arena;
	struct explain_access to = { .kubeconfig = x->site->opts.kubeconfig,
				     .context = x->cluster->config->context };
	struct program_opts o = { .output_max = ANSWER_MAX,
				  .timeout_ms = EXPLAIN_MS,
				  .on_end = explain_on_end,
				  .arg = x };
	int r;

	if (explain_has_token(x)) {
		to = (struct explain_access){ .kubeconfig = "/proc/self/fd/0" };
		o.in_fd = explain_config_fd(x, err);
		if (o.in_fd < 0)
			return o.in_fd;
	}
	o.argv = explain_query_argv(&x->query, &to, a);
	r = program_new(x->site->opts.loop, &o, &x->program, err);
	if (o.in_fd > 0)
		(void)close(o.in_fd);
	return r;
}

/* --- the requests before ------------------------------------------------------------------- */

static void explain_probe(struct site_explain *x);

static void explain_on_probed(struct client_request *r, const struct client_answer *answer UNUSED,
			      const struct error *err)
{
	struct site_explain *x = r->arg;
	struct error why;

	if (err) {
		if (err->code == ERR_UNAUTHORIZED && explain_has_token(x))
			ui_sessions_end(x->site->sessions, x->session);
		explain_fail(x, err);
	} else if (!x->probed) {
		x->probed = true;
		explain_probe(x);
	} else if (explain_start(x, &why) < 0) {
		explain_fail(x, &why);
	}
}

static void explain_probe(struct site_explain *x)
{
	const struct site_user *u = site_user_of(x->session);

	x->probe = (struct client_request){ .path = explain_query_path(&x->query,
								       &x->stream->arena),
					    .bearer = u->token,
					    .timeout_ms = PROBE_MS,
					    .no_retry = true,
					    .on_done = explain_on_probed,
					    .arg = x };
	if (x->probed) {
		x->probe.path = STR("/apis/resource.k8s.io/v1/resourceslices");
		x->probe.query = STR("limit=1");
	}
	client_send(u->token.n ? x->cluster->plain : x->cluster->own, &x->probe);
}

/* --- which requests ------------------------------------------------------------------------ */

/* One for each session, so that nobody keeps the others from theirs. */
static bool explain_is_crowded(const struct site *s, const struct ui_session *e)
{
	LIST_FOREACH (it, &s->explains)
		if (LIST_ENTRY(it, struct site_explain, node)->session == e)
			return true;
	return s->nexplains >= EXPLAINS_MAX;
}

static int explain_check(const struct site *s, const struct http_stream *h,
			 const struct ui_session *e, struct explain_query *q, struct error *err)
{
	const struct site_user *u = site_user_of(e);
	int r = explain_query_read(h->in.query, q, err);

	if (r < 0)
		return r;
	if (q->cluster >= s->nclusters)
		return error_set(err, ERR_NOT_FOUND,
				 "there is no such cluster; /ui/clusters has a list");
	if (u->token.n && u->cluster != q->cluster)
		return error_set(err, ERR_FORBIDDEN,
				 "your token is for another cluster; log in to this one");
	if (explain_is_crowded(s, e))
		return error_set(err, ERR_TOO_MANY_REQUESTS,
				 "another explanation is under way; try again in a second");
	return 0;
}

void site_explain(struct site *s, struct http_stream *h)
{
	struct site_explain *x = ARENA_NEW(&h->arena, struct site_explain);
	struct ui_session *e = site_find_session(s, h);
	struct error err;

	if (!e)
		return;
	if (explain_check(s, h, e, &x->query, &err) < 0) {
		site_fail(h, &err);
		return;
	}
	x->site = s;
	x->stream = h;
	x->session = ui_session_ref(e);
	x->cluster = &s->clusters[x->query.cluster];
	x->ends_ns = ui_session_ends(e, site_now(s));
	list_push_back(&s->explains, &x->node);
	s->nexplains++;
	site_sweep_soon(s);
	h->ops = &explain_ops;
	h->data = x;
	explain_probe(x);
}
