/*
 * From a request's head to a call. The checks have the order of grpc-go's, and each rejection is a
 * head with the status. Methods are found in a hash map by their whole path; services are searched
 * only for the message of a rejection.
 */
#include "grpc/server.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "grpc/server_call.h"

struct route {
	const struct grpc_handler *handler;
	void *service;
};

struct grpc_server {
	struct grpc_server_opts opts;
	struct map routes; /* path -> struct route */
};

struct grpc_server *grpc_server_new(const struct grpc_server_opts *opts)
{
	struct grpc_server *s = XNEW(struct grpc_server);

	if (opts)
		s->opts = *opts;
	map_init(&s->routes);
	return s;
}

void grpc_server_free(struct grpc_server *s)
{
	struct str path;
	size_t at = 0;
	void *route;

	if (!s)
		return;
	while (map_next(&s->routes, &at, &path, &route))
		free(route);
	map_release(&s->routes);
	free(s);
}

void grpc_server_add(struct grpc_server *s, const struct grpc_handler *rows, size_t n,
		     void *service)
{
	for (size_t i = 0; i < n; i++) {
		struct route *route = XNEW(struct route);

		route->handler = &rows[i];
		route->service = service;
		free(map_put(&s->routes, str_from(rows[i].method->path), route));
	}
}

/* --- refusals ---------------------------------------------------------------------- */

static void refuse_error(struct http_stream *s, int http_status, const struct error *err)
{
	struct grpc_status st = grpc_status_of_error(err);

	grpc_server_refuse(s, http_status, st.code, st.message);
}

/* Splits "/package.Service/Method" into its two names; returns false if it has a different form. */
static bool split_path(struct str path, struct str *ret_service, struct str *ret_method)
{
	size_t slash = path.n;

	if (path.n == 0 || path.p[0] != '/')
		return false;
	path = str_skip(path, 1);
	for (slash = path.n; slash > 0 && path.p[slash - 1] != '/'; slash--)
		;
	if (slash == 0)
		return false;
	*ret_service = str_of(path.p, slash - 1);
	*ret_method = str_skip(path, slash);
	return true;
}

static bool has_service(const struct grpc_server *server, struct str service)
{
	struct str path, name, method;
	size_t at = 0;
	void *route;

	while (map_next(&server->routes, &at, &path, &route))
		if (split_path(path, &name, &method) && str_eq(name, service))
			return true;
	return false;
}

static void refuse_method(struct grpc_server *server, struct http_stream *s)
{
	struct str service, method;
	struct error err;

	if (!split_path(s->in.path, &service, &method))
		(void)error_set(&err, ERR_UNIMPLEMENTED, "malformed method name: \"%.*s\"",
				STR_ARG(s->in.path));
	else if (has_service(server, service))
		(void)error_set(&err, ERR_UNIMPLEMENTED, "unknown method %.*s for service %.*s",
				STR_ARG(method), STR_ARG(service));
	else
		(void)error_set(&err, ERR_UNIMPLEMENTED, "unknown service %.*s", STR_ARG(service));
	refuse_error(s, 200, &err);
}

/* --- requests ---------------------------------------------------------------------- */

/* "application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8". */
static bool is_grpc_type(struct str type)
{
	struct str base = STR("application/grpc");

	if (type.n < base.n || !str_ieq(str_of(type.p, base.n), base))
		return false;
	return type.n == base.n || type.p[base.n] == '+' || type.p[base.n] == ';';
}

bool grpc_server_wants(const struct http_stream *s)
{
	struct str type = http_fields_get(&s->in.fields, STR("content-type"));

	return str_starts(type, STR("application/grpc"));
}

/* Returns false if the request was rejected, because it is not gRPC. */
static bool check_request(struct http_stream *s)
{
	struct str type = http_fields_get(&s->in.fields, STR("content-type"));
	struct error err;
	int status;

	if (s->in.version < HTTP_2) {
		status = 505;
		(void)error_set(&err, ERR_PROTOCOL, "gRPC requires HTTP/2");
	} else if (!str_eq(s->in.method, STR("POST"))) {
		status = 405;
		(void)error_set(
			&err, ERR_PROTOCOL,
			"Received a HEADERS frame with :method \"%.*s\" which should be POST",
			STR_ARG(s->in.method));
	} else if (!is_grpc_type(type)) {
		status = 415;
		(void)error_set(&err, ERR_BAD_REQUEST, "invalid gRPC request content-type \"%.*s\"",
				STR_ARG(type));
	} else {
		return true;
	}
	refuse_error(s, status, &err);
	return false;
}

/* Reads the call's metadata from the head. On failure *ret_http is the HTTP status. */
static int read_head(struct grpc_call *c, const struct http_fields *f, int *ret_http,
		     struct error *err)
{
	struct str timeout = http_fields_get(f, STR("grpc-timeout"));
	int64_t ms;
	int r;

	*ret_http = 400;
	if (timeout.p) {
		r = grpc_timeout_parse(timeout, &ms, err);
		if (r < 0)
			return error_wrap(err, r, "malformed grpc-timeout");
		grpc_call_set_timeout(c, ms);
	}
	r = grpc_metadata_read(f, &c->arena, &c->headers, err);
	if (r < 0)
		return r;
	*ret_http = 200;
	return grpc_frame_set_encoding(&c->frame, http_fields_get(f, STR("grpc-encoding")), err);
}

static void begin_call(struct grpc_server *server, const struct route *route, struct http_stream *s)
{
	struct grpc_server_call *sc;
	struct error err;
	int http, r;

	sc = grpc_server_call_new(route->handler, route->service, &server->opts, s);
	r = read_head(&sc->call, &s->in.fields, &http, &err);
	if (r == 0 && server->opts.admit)
		r = server->opts.admit(server->opts.arg, &sc->call, &err);
	if (r == 0) {
		grpc_server_call_begin(sc);
		return;
	}
	s->ops = &grpc_stream_no_ops;
	refuse_error(s, http, &err);
	sc->finished = true;
	sc->code = grpc_status_of_error(&err).code;
	grpc_call_end(&sc->call, grpc_status_of_error(&err));
}

void grpc_server_handle(struct grpc_server *server, struct http_stream *s)
{
	const struct route *route;

	s->ops = &grpc_stream_no_ops;
	/* Single messages are limited; a stream of them is not. */
	http_stream_limit_body(s, -1);
	http_stream_stop_early(s);
	if (!check_request(s))
		return;
	route = map_get(&server->routes, s->in.path);
	if (!route) {
		refuse_method(server, s);
		return;
	}
	begin_call(server, route, s);
}
