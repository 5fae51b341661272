/*
 * One row per path. Parameters are read as upstream converts queries: the first of several values
 * counts, and a flag is set unless its value is false or 0.
 */
#include "node/kubelet/route.h"

#include "base/core/clock.h"
#include "base/core/vec.h"
#include "net/loop/url.h"
#include "net/net_limits.h"

/* --- paths ------------------------------------------------------------------------ */

enum { GET = 1, POST = 2, REST = 99 };

static const struct page {
	const char *path;
	enum kubelet_page page;
	unsigned methods;
	/* parts after the path: 3: namespace, pod, container; 2: without the last; 0: none; REST */
	unsigned parts;
} pages[] = {
	{ "/healthz", KUBELET_HEALTHZ, GET, 0 },
	{ "/pods", KUBELET_PODS, GET, 0 },
	{ "/runningpods", KUBELET_RUNNING_PODS, GET, 0 },
	{ "/containerLogs", KUBELET_LOGS, GET, 3 },
	{ "/exec", KUBELET_EXEC, GET | POST, 3 },
	{ "/attach", KUBELET_ATTACH, GET | POST, 3 },
	{ "/portForward", KUBELET_PORT_FORWARD, GET | POST, 2 },
	{ "/run", KUBELET_RUN, POST, 3 },
	{ "/metrics", KUBELET_METRICS, GET, 0 },
	{ "/logs", KUBELET_SYSTEM_LOGS, GET, REST },
};

/* Returns the rest after `path`, which must end there or at a '/'. */
static bool is_below(struct str at, const char *path, struct str *ret_rest)
{
	struct str head = str_from(path);

	if (!str_starts(at, head))
		return false;
	at = str_skip(at, head.n);
	if (at.n > 0 && at.p[0] != '/')
		return false;
	*ret_rest = str_skip(at, 1);
	return true;
}

/* Splits and decodes; a uid may precede the last of three parts, or follow two. */
static bool read_parts(struct str rest, unsigned parts, struct arena *a, struct kubelet_route *r)
{
	struct str v[5], piece;
	size_t n = 0;

	if (parts == REST)
		return url_unescape(a, rest, false, &r->rest) &&
		       !memchr(r->rest.n > 0 ? r->rest.p : "x", '\0', r->rest.n);
	if (rest.n > 0 && rest.p[rest.n - 1] == '/')
		rest.n--;
	while (rest.n > 0 && n < ARRAY_SIZE(v) && str_split(&rest, '/', &piece)) {
		if (!url_unescape(a, piece, false, &v[n]) || v[n].n == 0 ||
		    memchr(v[n].p, '\0', v[n].n))
			return false;
		n++;
	}
	if (n != parts && (parts == 0 || n != parts + 1))
		return false;
	if (n < 2)
		return true;
	r->ns = v[0];
	r->pod = v[1];
	r->uid = n > parts ? v[2] : STR_NULL;
	r->container = parts == 3 ? v[n - 1] : STR_NULL;
	return true;
}

static unsigned method_of(struct str method)
{
	if (str_eqz(method, "GET") || str_eqz(method, "HEAD"))
		return GET;
	return str_eqz(method, "POST") ? POST : 0;
}

int kubelet_route_find(struct str method, struct str path, struct arena *a,
		       struct kubelet_route *ret_route, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		const struct page *p = &pages[i];
		struct kubelet_route r = { .page = p->page };
		struct str rest;

		if (!is_below(path, p->path, &rest) || !read_parts(rest, p->parts, a, &r))
			continue;
		if (!(method_of(method) & p->methods))
			return error_set(err, ERR_METHOD_NOT_ALLOWED, "Method Not Allowed");
		*ret_route = r;
		return 0;
	}
	return error_set(err, ERR_NOT_FOUND, "404 page not found");
}

/* --- permissions ------------------------------------------------------------------ */

size_t kubelet_route_subresources(struct str path,
				  const char *ret_names[static KUBELET_SUBRESOURCES_MAX])
{
	static const struct {
		const char *path, *subresource;
		bool alone; /* nodes/proxy is not enough */
	} rows[] = {
		{ "/allocatedPods", "pods", false },   { "/pods", "pods", false },
		{ "/runningpods", "pods", false },     { "/healthz", "healthz", false },
		{ "/configz", "configz", false },      { "/stats", "stats", true },
		{ "/metrics", "metrics", true },       { "/logs", "log", true },
		{ "/checkpoint", "checkpoint", true }, { "/statusz", "statusz", true },
		{ "/flagz", "configz", true },
	};
	struct str rest;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && n == 0; i++) {
		if (!is_below(path, rows[i].path, &rest))
			continue;
		ret_names[n++] = rows[i].subresource;
		if (rows[i].alone)
			return n;
	}
	ret_names[n++] = "proxy";
	return n;
}

/* Whether the request runs something in a pod, or connects to it. */
static bool enters_a_pod(struct str path)
{
	static const char *const paths[] = { "/exec", "/attach", "/portForward", "/run", "/cri" };
	struct str rest;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (is_below(path, paths[i], &rest))
			return true;
	}
	return false;
}

const char *kubelet_route_verb(struct str method, struct str path)
{
	static const char *const rows[][2] = { { "GET", "get" },
					       { "POST", "create" },
					       { "PUT", "update" },
					       { "PATCH", "patch" },
					       { "DELETE", "delete" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (str_eqz(method, rows[i][0]))
			return enters_a_pod(path) ? "create" : rows[i][1];
	}
	return "";
}

/* --- parameters ------------------------------------------------------------------- */

/* The first value of that name; p is NULL if it is missing. */
static struct str param(struct str query, const char *name, struct arena *a)
{
	struct str key, value;

	while (url_param(&query, a, &key, &value)) {
		if (str_eqz(key, name))
			return value;
	}
	return STR_NULL;
}

static bool flag(struct str query, const char *name, struct arena *a)
{
	struct str v = param(query, name, a);

	return v.p && !str_ieq(v, STR("false")) && !str_eqz(v, "0");
}

/* Returns 1 if the parameter is set, 0 if not. */
static int route_number(struct str query, const char *name, struct arena *a, int64_t *ret_value,
			struct error *err)
{
	struct str v = param(query, name, a);

	if (!v.p)
		return 0;
	if (!str_to_i64(v, ret_value))
		return error_set(err, ERR_BAD_REQUEST, "%s: \"%.*s\" is not a number", name,
				 STR_ARG(v));
	return 1;
}

static int read_since(struct str query, int64_t wall_ns, struct arena *a, struct log_reader_opts *o,
		      struct error *err)
{
	struct str time = param(query, "sinceTime", a);
	int64_t seconds;
	int r;

	r = route_number(query, "sinceSeconds", a, &seconds, err);
	if (r < 0)
		return r;
	if (time.p && r > 0)
		return error_set(err, ERR_INVALID,
				 "at most one of `sinceTime` or `sinceSeconds` may be specified");
	if (r > 0 && seconds < 1)
		return error_set(err, ERR_INVALID, "sinceSeconds: must be greater than 0");
	o->has_since = time.p || r > 0;
	if (r > 0) {
		o->since.seconds = wall_ns / CLOCK_SEC - MIN(seconds, INT32_MAX);
		o->since.ns = (uint32_t)(wall_ns % CLOCK_SEC);
	} else if (time.p && timestamp_parse_wide(time, &o->since, NULL) < 0) {
		return error_set(err, ERR_BAD_REQUEST, "sinceTime: \"%.*s\" is not a time",
				 STR_ARG(time));
	}
	return 0;
}

static int read_streams(struct str query, struct arena *a, struct kubelet_log_query *q,
			struct error *err)
{
	struct str stream = param(query, "stream", a);

	q->reader.no_stdout = str_eqz(stream, "Stderr");
	q->reader.no_stderr = str_eqz(stream, "Stdout");
	if (stream.p && !str_eqz(stream, "All") && !q->reader.no_stdout && !q->reader.no_stderr)
		return error_set(err, ERR_INVALID,
				 "stream: \"%.*s\" is not one of All, Stdout, Stderr",
				 STR_ARG(stream));
	if ((q->reader.no_stdout || q->reader.no_stderr) && q->tail >= 0)
		return error_set(err, ERR_INVALID,
				 "`tailLines` and specific `stream` are mutually exclusive");
	return 0;
}

int kubelet_route_log_query(struct str query, int64_t wall_ns, struct arena *a,
			    struct kubelet_log_query *ret_query, struct error *err)
{
	struct kubelet_log_query q = { .tail = -1 };
	int r;

	q.follow = flag(query, "follow", a);
	q.previous = flag(query, "previous", a);
	q.reader.timestamps = flag(query, "timestamps", a);
	r = route_number(query, "tailLines", a, &q.tail, err);
	if (r < 0)
		return r;
	if (r > 0 && q.tail < 0)
		return error_set(err, ERR_INVALID, "tailLines: must be greater than or equal to 0");
	r = route_number(query, "limitBytes", a, &q.reader.limit_bytes, err);
	if (r < 0)
		return r;
	if (r > 0 && q.reader.limit_bytes < 1)
		return error_set(err, ERR_INVALID, "limitBytes: must be greater than 0");
	r = read_since(query, wall_ns, a, &q.reader, err);
	if (r == 0)
		r = read_streams(query, a, &q, err);
	if (r == 0)
		*ret_query = q;
	return r;
}

static bool is_one(struct str query, const char *name, struct arena *a)
{
	return str_eqz(param(query, name, a), "1");
}

/* All values of that name. */
static struct runtime_strs params(struct str query, const char *name, struct arena *a)
{
	struct str key, value, rest = query;
	struct runtime_strs all = { 0 };
	size_t n = 0;

	while (url_param(&rest, a, &key, &value))
		n += str_eqz(key, name);
	all.v = ARENA_ARRAY(a, struct str, n + 1);
	rest = query;
	while (url_param(&rest, a, &key, &value)) {
		if (str_eqz(key, name))
			all.v[all.n++] = value;
	}
	return all;
}

/*
 * With WebSocket, ports are parameters, each a number or several with commas; with SPDY they come
 * later.
 */
static int read_ports(struct str query, struct arena *a, struct runtime_stream *s,
		      struct error *err)
{
	struct runtime_strs texts = params(query, "port", a);
	VEC(int32_t) ports;
	int r = 0;

	vec_init(&ports, HTTP_TARGET_MAX);
	for (size_t i = 0; i < texts.n && r == 0; i++) {
		struct str rest = texts.v[i], text;
		int64_t port;

		while (r == 0 && str_split(&rest, ',', &text)) {
			if (!str_to_i64(text, &port) || port < 1 || port > 65535)
				r = error_set(err, ERR_BAD_REQUEST, "invalid port \"%.*s\"",
					      STR_ARG(text));
			else
				(void)vec_push(&ports, (int32_t)port);
		}
	}
	if (r == 0 && ports.n > 0) {
		int32_t *copy = ARENA_ARRAY(a, int32_t, ports.n);

		memcpy(copy, ports.v, ports.n * sizeof(*copy));
		s->ports = copy;
		s->nports = ports.n;
	}
	vec_release(&ports);
	return r;
}

int kubelet_route_stream_query(struct str query, enum runtime_stream_kind kind, struct arena *a,
			       struct runtime_stream *ret_stream, struct error *err)
{
	struct runtime_stream s = { .kind = kind };
	int r;

	if (kind == RUNTIME_STREAM_PORTS) {
		r = read_ports(query, a, &s, err);
		if (r == 0)
			*ret_stream = s;
		return r;
	}
	s.tty = is_one(query, "tty", a);
	s.with_in = is_one(query, "input", a);
	s.with_out = is_one(query, "output", a);
	/* A terminal has one output stream. */
	s.with_err = is_one(query, "error", a) && !s.tty;
	if (!s.with_in && !s.with_out && !s.with_err)
		return error_set(err, ERR_BAD_REQUEST,
				 "you must specify at least 1 of stdin, stdout, stderr");
	s.command = params(query, "command", a);
	*ret_stream = s;
	return 0;
}
