/*
 * Three TLS configurations, made and replaced together. The first verifies the agent's
 * certificate, if there is a CA for that. The second does not, because the request says so. The
 * third presents no certificate of ours; it is for ports of pods and nodes that are not an
 * agent's.
 */
#include "server/reach/kubelets.h"

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"
#include "server/core/options.h"
#include "server/core/user.h"

enum { KUBELET_PORT = 10250, PEM_MAX = 1 << 20 };
#define CERTIFICATE_LIFETIME (INT64_C(365) * 86400)

enum { VERIFY, SKIP_VERIFY, PLAIN, CONFIGURATIONS };

struct kubelets {
	const struct server_opts *opts;
	const struct pki_ca *ca;
	const struct clock *clock;
	struct lock lock;
	struct tls *tls[CONFIGURATIONS]; /* guarded by the lock; NULL in a simulated cluster */
};

/* Upstream's order. */
static const char *const usual_types[] = { "Hostname", "InternalDNS", "InternalIP", "ExternalDNS",
					   "ExternalIP" };

/* --- certificates ----------------------------------------------------------------- */

static int issue(const struct kubelets *k, struct buf *cert, struct buf *key, struct error *err)
{
	struct pki_leaf leaf = { .common_name = USER_KUBELET_CLIENT,
				 .client = true,
				 .lifetime = CERTIFICATE_LIFETIME };

	return pki_issue(k->ca, &leaf, k->clock, cert, key, err);
}

static int read_pair(const struct kubelets *k, struct buf *cert, struct buf *key, struct error *err)
{
	int r;

	if (!k->opts->kubelet_cert_file)
		return issue(k, cert, key, err);
	r = file_read(k->opts->kubelet_cert_file, cert, err);
	return r < 0 ? r : file_read(k->opts->kubelet_key_file, key, err);
}

static int kubelets_make(const struct kubelets *k, struct tls *ret_tls[CONFIGURATIONS],
			 struct error *err)
{
	static const char *const alpn[] = { "http/1.1", NULL };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_MAX);
	CLEANUP(buf_release) struct buf ca = BUF_INIT(PEM_MAX);
	struct tls_pair pair;
	struct tls_opts opts = { .alpn = alpn, .insecure_skip_verify = true };
	int r = read_pair(k, &cert, &key, err);

	if (r == 0 && k->opts->kubelet_ca_file)
		r = file_read(k->opts->kubelet_ca_file, &ca, err);
	if (r == 0)
		r = tls_new(&opts, &ret_tls[PLAIN], err);
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	opts.pairs = &pair;
	opts.npairs = 1;
	if (r == 0)
		r = tls_new(&opts, &ret_tls[SKIP_VERIFY], err);
	opts.ca = buf_str(&ca);
	opts.insecure_skip_verify = !ca.n;
	return r < 0 ? r : tls_new(&opts, &ret_tls[VERIFY], err);
}

int kubelets_renew(struct kubelets *k, struct error *err)
{
	struct tls *made[CONFIGURATIONS] = { NULL }, *old;
	int r = kubelets_make(k, made, err);

	if (r == 0)
		lock_acquire(&k->lock);
	for (size_t i = 0; i < CONFIGURATIONS && r == 0; i++) {
		old = k->tls[i];
		k->tls[i] = made[i];
		made[i] = old;
	}
	if (r == 0)
		lock_release(&k->lock);
	for (size_t i = 0; i < CONFIGURATIONS; i++)
		tls_unref(made[i]);
	return r < 0 ? error_wrap(err, r, "the client certificate for kubelets") : 0;
}

int kubelets_new(const struct server_opts *o, const struct pki_ca *ca, const struct clock *clock,
		 struct kubelets **ret_kubelets, struct error *err)
{
	struct kubelets *k = XNEW(struct kubelets);

	k->opts = o;
	k->ca = ca;
	k->clock = clock;
	lock_init(&k->lock);
	*ret_kubelets = k;
	return o->simulated ? 0 : kubelets_renew(k, err);
}

void kubelets_free(struct kubelets *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < CONFIGURATIONS; i++)
		tls_unref(k->tls[i]);
	lock_destroy(&k->lock);
	free(k);
}

static struct tls *configuration(struct kubelets *k, int i)
{
	struct tls *t;

	lock_acquire(&k->lock);
	t = k->tls[i] ? tls_ref(k->tls[i]) : NULL;
	lock_release(&k->lock);
	return t;
}

struct tls *kubelets_tls(struct kubelets *k, bool skip_verify)
{
	return configuration(k, skip_verify ? SKIP_VERIFY : VERIFY);
}

struct tls *kubelets_plain_tls(struct kubelets *k)
{
	return configuration(k, PLAIN);
}

/* --- places ----------------------------------------------------------------------- */

static int no_address(const struct json *addresses, struct error *err)
{
	CLEANUP(buf_release) struct buf known = BUF_INIT(256);

	for (const struct json *a = json_first(addresses); a; a = a->next)
		(void)buf_printf(&known, "%s{%.*s %.*s}", known.n ? " " : "",
				 STR_ARG(json_text_at(a, "type")),
				 STR_ARG(json_text_at(a, "address")));
	return error_set(err, ERR_UNTYPED, "no preferred addresses found; known addresses: [%.*s]",
			 STR_ARG(buf_str(&known)));
}

/*
 * An empty host is rejected: it would be this machine. The scheme keeps "unix" from being a path.
 */
int kubelets_address(struct str host, int port, struct addr *ret_at, struct error *err)
{
	char text[2 * NET_ADDRESS_MAX];
	bool v6 = str_chr(host, ':') >= 0;
	size_t n = MIN(host.n, (size_t)NET_ADDRESS_MAX);

	if (!host.p)
		host = STR("");
	(void)snprintf(text, sizeof(text), "tcp://%s%.*s%s:%d", v6 ? "[" : "", (int)n, host.p,
		       v6 ? "]" : "", port);
	if (!n || n < host.n || addr_parse(ret_at, str_from(text), 0, NULL) < 0)
		return error_set(err, ERR_UNTYPED, "\"%.*s\" is not the address of a node", (int)n,
				 host.p);
	return 0;
}

int kubelets_locate(const struct kubelets *k, const struct json *node, struct addr *ret_at,
		    struct error *err)
{
	const struct json *status = json_getz(node, "status");
	const struct json *addresses = json_getz(status, "addresses"), *found = NULL;
	const struct json *endpoints = json_getz(status, "daemonEndpoints");
	const char *const *types = k->opts->kubelet_address_types;
	size_t n = k->opts->nkubelet_address_types;
	int64_t port = json_i64_at(json_getz(endpoints, "kubeletEndpoint"), "Port", 0);
	struct str host;

	if (!n) {
		types = usual_types;
		n = ARRAY_SIZE(usual_types);
	}
	for (size_t i = 0; i < n && !found; i++)
		found = json_find(addresses, "type", str_from(types[i]));
	if (!found)
		return no_address(addresses, err);
	host = json_text_at(found, "address");
	if (port <= 0 || port > UINT16_MAX)
		port = KUBELET_PORT;
	return kubelets_address(host, (int)port, ret_at, err);
}
