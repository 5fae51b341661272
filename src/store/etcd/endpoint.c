/*
 * Makes channels from URLs and files. Keeps connections to all members at once: etcd has few
 * members, and failing over then needs no handshake.
 */
#include "store/etcd/endpoint.h"

#include "base/core/mem.h"
#include "base/system/file.h"
#include "net/net_limits.h"
#include "net/tls/tls.h"
#include "store/etcd/store.h"

enum {
	DEFAULT_PORT = 2379,
	CONNECT_MS = 2000,
	PING_MS = 10 * 1000, /* etcd allows one every 5 s */
	BACKOFF_INITIAL_MS = 50,
	BACKOFF_MAX_MS = 1000,
	WINDOW = 1024 * 1024,
};

static bool is_https(const char *url)
{
	return str_starts(str_from(url), STR("https://"));
}

static int read_if(const char *path, struct buf *content, struct error *err)
{
	return path ? file_read(path, content, err) : 0;
}

/* Reads all TLS files; a buffer stays empty if its file is not set. */
static int read_files(const struct store_etcd_opts *opts, struct buf *ca, struct buf *cert,
		      struct buf *key, struct error *err)
{
	int r = read_if(opts->ca_file, ca, err);

	if (r == 0)
		r = read_if(opts->cert_file, cert, err);
	if (r == 0)
		r = read_if(opts->key_file, key, err);
	return r;
}

int etcd_tls_new(const struct store_etcd_opts *opts, struct tls **ret_tls, struct error *err)
{
	static const char *const alpn[] = { "h2", NULL };
	CLEANUP(buf_release) struct buf ca = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	struct tls_opts o = { .alpn = alpn };
	struct tls_pair pair;
	bool wanted = false;
	int r;

	for (size_t i = 0; i < opts->nendpoints; i++)
		wanted |= is_https(opts->endpoints[i]);
	if (!opts->cert_file != !opts->key_file)
		return error_set(err, ERR_INVALID, "etcd: a certificate and its key go together");
	if (!wanted) {
		*ret_tls = NULL;
		return 0;
	}
	r = read_files(opts, &ca, &cert, &key, err);
	if (r < 0)
		return error_wrap(err, r, "etcd");
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	o.ca = buf_str(&ca);
	o.pairs = &pair;
	o.npairs = opts->cert_file ? 1 : 0;
	r = tls_new(&o, ret_tls, err);
	return r < 0 ? error_wrap(err, r, "etcd") : 0;
}

/* addr_parse() accepts any scheme; etcd has only these. */
static bool has_scheme(const char *url)
{
	struct str s = str_from(url);

	return str_starts(s, STR("http://")) || is_https(url) || str_starts(s, STR("unix:"));
}

int etcd_endpoint_init(struct etcd_endpoint *e, struct loop *l, const char *url, struct tls *tls,
		       void (*on_state)(void *arg, enum grpc_channel_state state,
					const struct error *err),
		       struct error *err)
{
	struct grpc_channel_opts opts = {
		.tls = is_https(url) ? tls : NULL,
		.eager = true,
		.connect_timeout_ms = CONNECT_MS,
		.ping_interval_ms = PING_MS,
		.backoff_initial_ms = BACKOFF_INITIAL_MS,
		.backoff_max_ms = BACKOFF_MAX_MS,
		.window = WINDOW,
		.on_state = on_state,
		.arg = e,
	};
	struct str rest = str_from(url);
	int r;

	if (!has_scheme(url))
		return error_set(
			err, ERR_INVALID,
			"etcd: \"%s\" is not an endpoint: it must begin with http://, https:// or "
			"unix:",
			url);
	/* "http://host:2379/", as some tools print it. */
	if (rest.p[rest.n - 1] == '/')
		rest.n--;
	r = addr_parse(&opts.to, rest, DEFAULT_PORT, err);
	if (r < 0)
		return error_wrap(err, r, "etcd endpoint %s", url);
	e->url = xstrdup(url);
	e->channel = grpc_channel_new(l, &opts);
	e->pulse = (struct etcd_pulse){ .loop = l, .channel = e->channel };
	(void)error_set(&e->failure, ERR_UNAVAILABLE, "not connected yet");
	return 0;
}

void etcd_endpoint_release(struct etcd_endpoint *e)
{
	etcd_pulse_reset(&e->pulse);
	grpc_channel_free(TAKE(e->channel));
	free(TAKE(e->url));
}
