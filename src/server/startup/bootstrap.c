/*
 * A later start uses the CA of the first, so that issued kubeconfigs stay valid. Certificates
 * signed by it are cheap and made again.
 */
#include "server/startup/bootstrap.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/schema/address.h"
#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "net/loop/addr.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"
#include "server/core/options.h"

#define DAY                INT64_C(86400) /* seconds */
#define CA_LIFETIME        (3650 * DAY)
#define LEAF_LIFETIME      (365 * DAY)
#define BOOTSTRAP_HOSTS    64 /* limit for names in the serving certificate */
#define KUBECONFIG_MAX     (64 * KIB)
#define BOOTSTRAP_PATH_MAX 4096

static int path_in(char ret_path[BOOTSTRAP_PATH_MAX], const char *dir, const char *name,
		   struct error *err)
{
	int n = snprintf(ret_path, BOOTSTRAP_PATH_MAX, "%s/%s", dir, name);

	if (n < 0 || n >= BOOTSTRAP_PATH_MAX)
		return error_set(err, ERR_INVALID, "path %s/%s is too long", dir, name);
	return 0;
}

static int make_dir(const char *path, struct error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, ERR_IO, errno, "cannot make folder %s", path);
	return 0;
}

/* --- the CA ------------------------------------------------------------------------------ */

static int load_ca(const char *cert_path, const char *key_path, struct pki_ca **ret_ca,
		   struct error *err)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	int r;

	r = file_read(cert_path, &cert, err);
	if (r == 0)
		r = file_read(key_path, &key, err);
	if (r == 0)
		r = pki_ca_load(buf_str(&cert), buf_str(&key), ret_ca, err);
	return r;
}

/* Writes the key first: at the next start, a certificate without its key would look like damage. */
static int make_ca(const char *cert_path, const char *key_path, const struct clock *clock,
		   struct pki_ca **ret_ca, struct error *err)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	int r;

	r = pki_ca_new(STR("devplane-ca"), CA_LIFETIME, clock, &ca, err);
	if (r == 0)
		r = pki_ca_cert(ca, &cert, err);
	if (r == 0)
		r = pki_ca_key(ca, &key, err);
	if (r == 0)
		r = file_write_atomic(key_path, buf_str(&key), 0600, err);
	if (r == 0)
		r = file_write_atomic(cert_path, buf_str(&cert), 0644, err);
	if (r == 0)
		*ret_ca = TAKE(ca);
	return r;
}

int bootstrap_ca(const char *data_dir, const struct clock *clock, struct pki_ca **ret_ca,
		 struct error *err)
{
	char dir[BOOTSTRAP_PATH_MAX], cert[BOOTSTRAP_PATH_MAX], key[BOOTSTRAP_PATH_MAX];
	int r;

	r = make_dir(data_dir, err);
	if (r == 0)
		r = path_in(dir, data_dir, "pki", err);
	if (r == 0)
		r = make_dir(dir, err);
	if (r == 0)
		r = path_in(cert, data_dir, "pki/ca.crt", err);
	if (r == 0)
		r = path_in(key, data_dir, "pki/ca.key", err);
	if (r < 0)
		return r;
	if (access(cert, F_OK) == 0)
		return load_ca(cert, key, ret_ca, err);
	return make_ca(cert, key, clock, ret_ca, err);
}

/* --- serving ------------------------------------------------------------------------------ */

struct hosts {
	struct arena arena;
	VEC(struct str) v;
};

static void add_host(struct hosts *h, struct str name)
{
	for (size_t i = 0; i < h->v.n; i++) {
		if (str_eq(h->v.v[i], name))
			return;
	}
	(void)vec_push(&h->v, arena_str(&h->arena, name));
}

/* If the server is bound to every address, the certificate names all of them. */
static void add_interfaces(struct hosts *h)
{
	struct ifaddrs *all = NULL;
	struct addr a;

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr)
			continue;
		if (i->ifa_addr->sa_family == AF_INET)
			addr_from_sockaddr(&a, i->ifa_addr, sizeof(struct sockaddr_in));
		else if (i->ifa_addr->sa_family == AF_INET6)
			addr_from_sockaddr(&a, i->ifa_addr, sizeof(struct sockaddr_in6));
		else
			continue;
		if (!strchr(a.host, '%')) /* link-local: of no use to others */
			add_host(h, str_from(a.host));
	}
	freeifaddrs(all);
}

static bool is_any_address(struct str host)
{
	return str_eqz(host, "0.0.0.0") || str_eqz(host, "::") || !host.n;
}

/* The service kubernetes has the first address of the range. */
static void add_service(struct hosts *h, const struct server_opts *o)
{
	const char *text = o->nservice_cluster_ip_ranges ? o->service_cluster_ip_ranges[0]
							 : SERVER_SERVICE_CIDR;
	struct address range;
	char first[ADDRESS_TEXT];

	if (!address_read_cidr(str_from(text), &range))
		return;
	range = address_masked(&range);
	range = address_add(&range, 1);
	add_host(h, str_from(address_print(&range, first)));
}

static void find_hosts(struct hosts *h, const struct server_opts *o)
{
	static const char *const names[] = { "localhost",
					     "127.0.0.1",
					     "::1",
					     "kubernetes",
					     "kubernetes.default",
					     "kubernetes.default.svc",
					     "kubernetes.default.svc.cluster.local" };
	char hostname[256];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_host(h, str_from(names[i]));
	if (gethostname(hostname, sizeof(hostname)) == 0)
		add_host(h, str_of(hostname, strnlen(hostname, sizeof(hostname))));
	add_service(h, o);
	if (o->advertise_address)
		add_host(h, str_from(o->advertise_address));
	if (is_any_address(str_from(o->bind_address)))
		add_interfaces(h);
	else
		add_host(h, str_from(o->bind_address));
}

static int issue_serving(const struct server_opts *o, const struct pki_ca *ca,
			 const struct clock *clock, struct buf *cert, struct buf *key,
			 struct error *err)
{
	struct hosts h;
	struct pki_leaf leaf = { .common_name = STR("devplane-server"),
				 .server = true,
				 .lifetime = LEAF_LIFETIME };
	int r;

	arena_init(&h.arena, SIZE_MAX);
	vec_init(&h.v, BOOTSTRAP_HOSTS);
	find_hosts(&h, o);
	leaf.hosts = h.v.v;
	leaf.nhosts = h.v.n;
	r = pki_issue(ca, &leaf, clock, cert, key, err);
	vec_release(&h.v);
	arena_release(&h.arena);
	return r;
}

int bootstrap_trust(const struct server_opts *o, const struct pki_ca *ca, struct buf *out,
		    struct error *err)
{
	int r = pki_ca_cert(ca, out, err);

	if (r == 0 && o->client_ca_file)
		r = file_read(o->client_ca_file, out, err);
	return r;
}

int bootstrap_tls(const struct server_opts *o, const struct pki_ca *ca, const struct clock *clock,
		  struct tls **ret_tls, struct error *err)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf trust = BUF_INIT(2 * PEM_FILE_MAX);
	struct tls_pair pair;
	struct tls_opts to = {
		.server = true, .pairs = &pair, .npairs = 1, .alpn = alpn, .ask_client_cert = true
	};
	int r;

	if (o->cert_file) {
		r = file_read(o->cert_file, &cert, err);
		if (r == 0)
			r = file_read(o->key_file, &key, err);
	} else {
		r = issue_serving(o, ca, clock, &cert, &key, err);
	}
	if (r == 0)
		r = bootstrap_trust(o, ca, &trust, err);
	if (r < 0)
		return r;
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	to.ca = buf_str(&trust);
	return tls_new(&to, ret_tls, err);
}

/* --- the kubeconfig ------------------------------------------------------------------------- */

static int add_data(struct buf *out, const char *name, struct str pem)
{
	int r = buf_printf(out, "    %s: ", name);

	if (r == 0)
		r = base64_encode(out, pem, BASE64_STD);
	return r < 0 ? r : buf_addc(out, '\n');
}

static int print_kubeconfig(struct buf *out, const char *url, struct str trust, struct str cert,
			    struct str key)
{
	int r;

	(void)buf_printf(out,
			 "apiVersion: v1\nkind: Config\ncurrent-context: devplane\n"
			 "clusters:\n- name: devplane\n  cluster:\n    server: %s\n",
			 url);
	(void)add_data(out, "certificate-authority-data", trust);
	(void)buf_addz(out, "contexts:\n- name: devplane\n  context:\n    cluster: devplane\n"
			    "    user: admin\nusers:\n- name: admin\n  user:\n");
	(void)add_data(out, "client-certificate-data", cert);
	r = add_data(out, "client-key-data", key);
	return out->overflow ? -ERR_TOO_LARGE : r;
}

/* The text after `name` on its line. */
static struct str find_value(struct str text, const char *name)
{
	struct str line, key = str_from(name);

	while (str_split(&text, '\n', &line)) {
		line = str_trim(line);
		if (str_starts(line, key))
			return str_skip(line, key.n);
	}
	return STR_NULL;
}

/*
 * Whether the file of an earlier start is as good as `text`, which cannot be written, as on a
 * full disk: it is for the same address and CA, and its certificate is still valid for some time.
 */
static bool is_still_good(const char *path, struct str text, const struct clock *clock)
{
	static const char *const same[] = { "server: ", "certificate-authority-data: " };
	CLEANUP(buf_release) struct buf old = BUF_INIT(4 * PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	int64_t end;

	if (file_read(path, &old, NULL) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (!str_eq(find_value(buf_str(&old), same[i]), find_value(text, same[i])))
			return false;
	return base64_decode(&cert, find_value(buf_str(&old), "client-certificate-data: "),
			     BASE64_STD, NULL) == 0 &&
	       pki_not_after(buf_str(&cert), &end, NULL) == 0 &&
	       end - clock_wall(clock) / CLOCK_SEC > DAY;
}

static const char *own_host(const struct server_opts *o, const struct addr *at)
{
	return is_any_address(str_from(o->bind_address)) ? "127.0.0.1" : at->host;
}

int bootstrap_own_url(const struct server_opts *o, const struct pki_ca *ca, const struct addr *at,
		      char ret_url[static BOOTSTRAP_URL_SIZE], struct buf *trust, struct error *err)
{
	const char *host = own_host(o, at);

	(void)snprintf(ret_url, BOOTSTRAP_URL_SIZE,
		       strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u", host, at->port);
	/* Clients verify a configured certificate by itself if our CA did not sign it. */
	return o->cert_file ? file_read(o->cert_file, trust, err) : pki_ca_cert(ca, trust, err);
}

int bootstrap_own_name(const struct server_opts *o, const struct addr *at, struct str trust,
		       char ret_name[static PKI_NAME_SIZE], struct error *err)
{
	ret_name[0] = '\0';
	return o->cert_file ? pki_server_name(trust, own_host(o, at), ret_name, err) : 0;
}

int bootstrap_kubeconfig(const struct server_opts *o, const struct pki_ca *ca,
			 const struct addr *at, const struct clock *clock, char **ret_path,
			 struct error *err)
{
	static const struct str masters[] = { { "system:masters", 14 } };
	struct pki_leaf leaf = { .common_name = STR("kubernetes-admin"),
				 .organizations = masters,
				 .norganizations = 1,
				 .client = true,
				 .lifetime = LEAF_LIFETIME };
	CLEANUP(buf_release) struct buf trust = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * PEM_FILE_MAX);
	char path[BOOTSTRAP_PATH_MAX], url[BOOTSTRAP_URL_SIZE];
	int r = path_in(path, o->data_dir, "admin.kubeconfig", err);

	if (r == 0)
		r = bootstrap_own_url(o, ca, at, url, &trust, err);
	if (r == 0)
		r = pki_issue(ca, &leaf, clock, &cert, &key, err);
	if (r == 0 &&
	    print_kubeconfig(&text, url, buf_str(&trust), buf_str(&cert), buf_str(&key)) < 0)
		r = error_set(err, ERR_TOO_LARGE, "kubeconfig is too large");
	if (r == 0)
		r = file_write_atomic(path, buf_str(&text), 0600, err);
	if (r < 0 && text.n > 0 && is_still_good(path, buf_str(&text), clock))
		r = 0;
	if (r == 0)
		*ret_path = str_dup(str_from(path));
	return r;
}
