/*
 * A certificate and key that cannot be read, or that do not match, are replaced: they are our own.
 */
#include "node/kubelet/tls.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/system/file.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

enum { PATH_SIZE = 4096 };
#define DAY      INT64_C(86400)
#define LIFETIME (365 * DAY)
#define RENEW    (30 * DAY)

struct pair {
	struct buf cert, key;
};

static int read_pair(const char *cert_file, const char *key_file, struct pair *p, struct error *err)
{
	int r = file_read(cert_file, &p->cert, err);

	return r < 0 ? r : file_read(key_file, &p->key, err);
}

static int tls_make_tls(const struct pair *p, struct str ca, struct tls **ret_tls,
			struct error *err)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	struct tls_pair pair = { .cert = buf_str(&p->cert), .key = buf_str(&p->key) };
	struct tls_opts o = { .server = true,
			      .pairs = &pair,
			      .npairs = 1,
			      .ca = ca,
			      .ask_client_cert = ca.n > 0,
			      .alpn = alpn };

	return tls_new(&o, ret_tls, err);
}

static bool lasts(const struct pair *p, const struct clock *clock)
{
	int64_t end;

	return pki_not_after(buf_str(&p->cert), &end, NULL) == 0 &&
	       end > clock_wall(clock) / CLOCK_SEC + RENEW;
}

static int issue(const struct kubelet_tls_opts *o, struct pair *p, struct error *err)
{
	struct str hosts[] = { o->node_name, o->node_ip };
	struct pki_leaf leaf = { .common_name = o->node_name,
				 .hosts = hosts,
				 .nhosts = o->node_ip.n > 0 ? 2 : 1,
				 .server = true,
				 .lifetime = LIFETIME };
	char name[300];

	(void)snprintf(name, sizeof(name), "%.*s-ca", STR_ARG(o->node_name));
	buf_clear(&p->cert);
	buf_clear(&p->key);
	return pki_issue_alone(str_from(name), &leaf, o->clock, &p->cert, &p->key, err);
}

/* Checked before anything is created: a mistyped file name must not destroy the pair. */
static int read_ca(const char *file, struct buf *ca, struct error *err)
{
	CLEANUP(tls_unref) struct tls *tls = NULL;
	int r = file_read(file, ca, err);

	if (r < 0)
		return r;
	if (ca->n == 0)
		return error_set(err, ERR_INVALID, "%s is empty: no client could be trusted", file);
	r = tls_new(&(struct tls_opts){ .ca = buf_str(ca) }, &tls, err);
	return r < 0 ? error_wrap(err, r, "%s", file) : 0;
}

static int own_tls(const struct kubelet_tls_opts *o, struct pair *p, struct str ca,
		   struct tls **ret_tls, struct error *err)
{
	char cert[PATH_SIZE], key[PATH_SIZE];
	int r;

	(void)snprintf(cert, sizeof(cert), "%s/kubelet.crt", o->folder);
	(void)snprintf(key, sizeof(key), "%s/kubelet.key", o->folder);
	if (read_pair(cert, key, p, NULL) == 0 && lasts(p, o->clock) &&
	    tls_make_tls(p, ca, ret_tls, NULL) == 0)
		return 0;
	if (mkdir(o->folder, 0755) < 0 && errno != EEXIST)
		return error_set_errno(err, ERR_IO, errno, "cannot make the folder %s", o->folder);
	r = issue(o, p, err);
	if (r == 0)
		r = file_write_atomic(key, buf_str(&p->key), 0600, err);
	if (r == 0)
		r = file_write_atomic(cert, buf_str(&p->cert), 0644, err);
	return r < 0 ? r : tls_make_tls(p, ca, ret_tls, err);
}

int kubelet_tls_new(const struct kubelet_tls_opts *opts, struct tls **ret_tls, struct error *err)
{
	struct pair p = { BUF_INIT(MIB), BUF_INIT(MIB) };
	CLEANUP(buf_release) struct buf ca = BUF_INIT(MIB);
	int r = 0;

	if (opts->client_ca_file)
		r = read_ca(opts->client_ca_file, &ca, err);
	if (r == 0 && opts->cert_file) {
		r = read_pair(opts->cert_file, opts->key_file, &p, err);
		if (r == 0)
			r = tls_make_tls(&p, buf_str(&ca), ret_tls, err);
	} else if (r == 0) {
		r = own_tls(opts, &p, buf_str(&ca), ret_tls, err);
	}
	buf_release(&p.cert);
	buf_release(&p.key);
	return r < 0 ? error_wrap(err, r, "the kubelet API's certificate") : 0;
}
