/*
 * A self-signed certificate names the machine, and loopback addresses for port forwarding.
 */
#include "cli/roles/serving_cert.h"

#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

enum { RENEW_MS = 3600 * 1000, HOST_SIZE = 256 };
#define DAY      INT64_C(86400)
#define LIFETIME (365 * DAY)
#define RENEW    (30 * DAY)

struct serving_cert {
	struct loop *loop;
	const struct log *log;
	const char *name, *ca_name;
	char *cert_file, *key_file; /* both or none */
	struct tls *tls;
	int64_t not_after; /* of a self-signed certificate; seconds since 1970 */
	struct http_server *server; /* NULL: not listening */
	struct loop_timer renew;
};

static int cert_issue(struct serving_cert *c, struct buf *cert, struct buf *key, struct error *err)
{
	char host[HOST_SIZE] = "";
	struct str names[] = { STR_NULL, STR("localhost"), STR("127.0.0.1"), STR("::1") };
	struct pki_leaf leaf = {
		.hosts = names, .nhosts = ARRAY_SIZE(names), .server = true, .lifetime = LIFETIME
	};
	const struct clock *clock = loop_clock(c->loop);
	int r;

	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		(void)snprintf(host, sizeof(host), "localhost");
	names[0] = leaf.common_name = str_from(host);
	r = pki_issue_alone(str_from(c->ca_name), &leaf, clock, cert, key, err);
	if (r == 0)
		c->not_after = clock_wall(clock) / CLOCK_SEC + LIFETIME;
	return r;
}

static int cert_load(struct serving_cert *c, struct error *err)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	struct tls_pair pair;
	struct tls_opts o = { .server = true, .pairs = &pair, .npairs = 1, .alpn = alpn };
	struct tls *tls;
	int r;

	if (c->cert_file) {
		r = file_read(c->cert_file, &cert, err);
		if (r == 0)
			r = file_read(c->key_file, &key, err);
	} else {
		r = cert_issue(c, &cert, &key, err);
	}
	pair = (struct tls_pair){ .cert = buf_str(&cert), .key = buf_str(&key) };
	if (r == 0)
		r = tls_new(&o, &tls, err);
	if (r < 0)
		return error_wrap(err, r, "%s", c->name);
	tls_unref(c->tls);
	c->tls = tls;
	return 0;
}

static void cert_on_renew(struct loop_timer *t)
{
	struct serving_cert *c = CONTAINER_OF(t, struct serving_cert, renew);
	bool due = c->cert_file ||
		   clock_wall(loop_clock(c->loop)) / CLOCK_SEC > c->not_after - RENEW;
	struct error err;

	if (due && cert_load(c, &err) == 0)
		http_server_set_tls(c->server, c->tls);
	else if (due && c->log)
		log_warn(c->log, "cannot reload certificates; the endpoint keeps the old ones",
			 LOG_ERR(&err));
	loop_timer_start(t, RENEW_MS);
}

int serving_cert_new(const struct serving_cert_opts *opts, struct serving_cert **ret_cert,
		     struct error *err)
{
	struct serving_cert *c = XNEW(struct serving_cert);
	int r;

	c->loop = opts->loop;
	c->log = opts->log;
	c->name = opts->name;
	c->ca_name = opts->ca_name;
	if (opts->cert_file) {
		c->cert_file = str_dup(str_from(opts->cert_file));
		c->key_file = str_dup(str_from(opts->key_file));
	}
	loop_timer_init(&c->renew, opts->loop, cert_on_renew);
	r = cert_load(c, err);
	if (r < 0)
		serving_cert_free(c);
	else
		*ret_cert = c;
	return r;
}

void serving_cert_free(struct serving_cert *c)
{
	if (!c)
		return;
	loop_timer_stop(&c->renew);
	tls_unref(c->tls);
	free(c->cert_file);
	free(c->key_file);
	free(c);
}

int serving_cert_listen(struct serving_cert *c, struct http_server *server, const struct addr *at,
			struct addr *ret_at, struct error *err)
{
	int r = http_server_listen(server, at, c->tls, 0, ret_at, err);

	if (r < 0)
		return r;
	c->server = server;
	loop_timer_start(&c->renew, RENEW_MS);
	return 0;
}
