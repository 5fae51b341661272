/*
 * Steps that a test does not check itself must succeed here; otherwise the test program prints why
 * and aborts.
 */
#include "net/tls/tls_world.h"

#include "base/core/limits.h"

static void must(int r, const struct error *err)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "%s\n", err->msg);
	abort();
}

static void happened(struct tls_side *s, enum tls_event event)
{
	s->count[event]++;
	if (s->hook)
		s->hook(s, event);
}

static void tls_world_on_open(void *arg)
{
	struct tls_side *s = arg;

	happened(s, TLS_EVENT_OPEN);
	tls_side_send(s);
}

static void on_data(void *arg, char *data, size_t n)
{
	struct tls_side *s = arg;

	must(buf_add(&s->got, data, n), &(struct error){ .msg = "too much arrived" });
	memset(data, 0xa5, n); /* allowed to the callee */
	happened(s, TLS_EVENT_DATA);
}

static void on_eof(void *arg)
{
	happened(arg, TLS_EVENT_EOF);
}

static void tls_world_on_writable(void *arg)
{
	struct tls_side *s = arg;

	happened(s, TLS_EVENT_WRITABLE);
	tls_side_send(s);
}

static void on_error(void *arg, const struct error *err)
{
	struct tls_side *s = arg;

	s->err = *err;
	happened(s, TLS_EVENT_ERROR);
}

static const struct conn_events side_events = {
	.on_open = tls_world_on_open,
	.on_data = on_data,
	.on_eof = on_eof,
	.on_writable = tls_world_on_writable,
	.on_error = on_error,
};

void tls_side_send(struct tls_side *s)
{
	/* Small pieces, an empty one, and all the rest. */
	static const size_t sizes[] = { 1, 100, 0, 5000, SIZE_MAX };
	struct str rest = s->to_send;
	struct iovec iov[ARRAY_SIZE(sizes)];
	struct error err;
	ssize_t n;

	if (!s->conn || rest.n == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t piece = MIN(sizes[i], rest.n);

		iov[i] = (struct iovec){ (void *)(uintptr_t)rest.p, piece };
		rest = str_skip(rest, piece);
	}
	n = conn_writev(s->conn, iov, ARRAY_SIZE(sizes), &err);
	must((int)n, &err);
	s->to_send = str_skip(s->to_send, (size_t)n);
}

void tls_side_free(struct tls_side *s)
{
	conn_free(TAKE(s->conn));
}

void tls_world_issue(struct tls_world *w, const struct pki_ca *ca, const char *common_name,
		     const char *host, struct buf *cert, struct buf *key)
{
	struct str hosts[] = { str_from(host), STR("10.0.0.1") };
	struct str groups[] = { STR("system:masters"), STR("team-a") };
	struct pki_leaf leaf = {
		.common_name = str_from(common_name),
		.organizations = groups,
		.norganizations = ARRAY_SIZE(groups),
		.hosts = hosts,
		.nhosts = host ? ARRAY_SIZE(hosts) : 0,
		.server = host != NULL,
		.client = host == NULL,
		.lifetime = TLS_WORLD_DAY,
	};
	struct error err;

	must(pki_issue(ca, &leaf, &w->loop.clock.clock, cert, key, &err), &err);
}

void tls_world_init(struct tls_world *w)
{
	struct error err;

	*w = (struct tls_world){ 0 };
	pipe_loop_init(&w->loop, TLS_WORLD_NOW);
	buf_init(&w->ca_cert, 16 * KIB);
	buf_init(&w->cert, 16 * KIB);
	buf_init(&w->key, 16 * KIB);
	buf_init(&w->client.got, 64 * MIB);
	buf_init(&w->server.got, 64 * MIB);
	must(pki_ca_new(STR("test-ca"), 365 * TLS_WORLD_DAY, &w->loop.clock.clock, &w->ca, &err),
	     &err);
	must(pki_ca_cert(w->ca, &w->ca_cert, &err), &err);
	tls_world_issue(w, w->ca, "server", "localhost", &w->cert, &w->key);
}

void tls_world_release(struct tls_world *w)
{
	tls_side_free(&w->client);
	tls_side_free(&w->server);
	pipe_loop_release(&w->loop);
	pki_ca_free(w->ca);
	buf_release(&w->ca_cert);
	buf_release(&w->cert);
	buf_release(&w->key);
	buf_release(&w->client.got);
	buf_release(&w->server.got);
}

static struct tls *tls_world_make(const struct tls_opts *opts)
{
	struct tls *t = NULL;
	struct error err;

	must(tls_new(opts, &t, &err), &err);
	return t;
}

struct tls *tls_world_server(struct tls_world *w, const char *const *alpn)
{
	struct tls_pair pair = { buf_str(&w->cert), buf_str(&w->key) };

	return tls_world_make(
		&(struct tls_opts){ .server = true, .pairs = &pair, .npairs = 1, .alpn = alpn });
}

struct tls *tls_world_client(struct tls_world *w, const char *const *alpn)
{
	return tls_world_make(&(struct tls_opts){ .ca = buf_str(&w->ca_cert), .alpn = alpn });
}

void tls_world_connect(struct tls_world *w, struct tls *client, struct tls *server,
		       const char *server_name, size_t piece, size_t room)
{
	struct error err;

	pipe_new(&w->loop, piece, room, &w->client_end, &w->server_end);
	must(tls_wrap(server, &w->server_end->conn, NULL, &side_events, &w->server, &w->server.conn,
		      &err),
	     &err);
	must(tls_wrap(client, &w->client_end->conn, server_name, &side_events, &w->client,
		      &w->client.conn, &err),
	     &err);
	tls_unref(client);
	tls_unref(server);
}

void tls_world_open(struct tls_world *w)
{
	tls_world_connect(w, tls_world_client(w, NULL), tls_world_server(w, NULL), "localhost",
			  64 * KIB, MIB);
	pipe_run(&w->loop);
	must(w->client.count[TLS_EVENT_OPEN] ? 0 : -1, &w->client.err);
	must(w->server.count[TLS_EVENT_OPEN] ? 0 : -1, &w->server.err);
}
