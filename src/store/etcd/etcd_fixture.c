/*
 * Finds ports by binding to port 0 and closing again. If another process takes one in between, etcd
 * exits at once and is started on other ports. Election time-outs are short, because a single
 * member waits for one before it is its own leader.
 */
#include "store/etcd/etcd_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "net/tls/pki.h"

enum { TRIES = 5, READY_MS = 20 * 1000, POLL_MS = 10, ARGS_MAX = 32 };

static bool is_installed(void)
{
	bool found = access("/usr/bin/etcd", X_OK) == 0 || access("/usr/local/bin/etcd", X_OK) == 0;

	if (!found)
		print_message("# skipped: etcd is not installed\n");
	return found;
}

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	(void)close(fd);
	return ntohs(at.sin_port);
}

static bool answers(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0;

	(void)close(fd);
	return ok;
}

/* --- the process --------------------------------------------------------------------------- */

struct args {
	char text[ARGS_MAX][160];
	char *v[ARGS_MAX + 1];
	size_t n;
};

static void PRINTF_LIKE(2, 3) add(struct args *a, const char *fmt, ...)
{
	va_list ap;

	assert_true(a->n < ARGS_MAX);
	va_start(ap, fmt);
	(void)vsnprintf(a->text[a->n], sizeof(a->text[0]), fmt, ap);
	va_end(ap);
	a->v[a->n] = a->text[a->n];
	a->v[++a->n] = NULL;
}

static void make_args(const struct etcd_fixture *f, struct args *a)
{
	a->n = 0;
	add(a, "etcd");
	add(a, "--name=test");
	add(a, "--data-dir=%s/data", f->dir);
	add(a, "--heartbeat-interval=50");
	add(a, "--election-timeout=250");
	add(a, "--listen-client-urls=%s", f->url);
	add(a, "--advertise-client-urls=%s", f->url);
	add(a, "--listen-peer-urls=http://127.0.0.1:%d", f->peer_port);
	add(a, "--initial-advertise-peer-urls=http://127.0.0.1:%d", f->peer_port);
	add(a, "--initial-cluster=test=http://127.0.0.1:%d", f->peer_port);
	if (!f->tls)
		return;
	add(a, "--client-cert-auth");
	add(a, "--trusted-ca-file=%s", f->ca_file);
	add(a, "--cert-file=%s/server.crt", f->dir);
	add(a, "--key-file=%s/server.key", f->dir);
}

static void run_child(const struct etcd_fixture *f, char *const *argv)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	/* etcd of Debian 12 needs this on arm64; other versions ignore it. */
	static char arch[] = "ETCD_UNSUPPORTED_ARCH=arm64";
	char *env[] = { path, arch, NULL };
	char log[96];
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(log, sizeof(log), "%s/log", f->dir);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)dup2(fd, 1);
	(void)dup2(fd, 2);
	(void)execvpe(argv[0], argv, env);
	abort();
}

static void show_log(const struct etcd_fixture *f)
{
	struct buf text = BUF_INIT(MIB);
	char log[96];

	(void)snprintf(log, sizeof(log), "%s/log", f->dir);
	if (file_read(log, &text, NULL) == 0)
		print_message("%s\n", text.p ? text.p : "");
	buf_release(&text);
}

/* Returns false if etcd has exited instead. */
static bool wait_ready(struct etcd_fixture *f)
{
	for (int waited = 0; waited < READY_MS; waited += POLL_MS) {
		if (waitpid(f->pid, NULL, WNOHANG) == f->pid) {
			f->pid = 0;
			return false;
		}
		if (answers(f->client_port))
			return true;
		(void)poll(NULL, 0, POLL_MS);
	}
	show_log(f);
	fail_msg("etcd did not come up");
	return false;
}

static bool launch(struct etcd_fixture *f)
{
	struct args args;

	make_args(f, &args);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0)
		run_child(f, args.v);
	return wait_ready(f);
}

void etcd_fixture_start(struct etcd_fixture *f)
{
	if (launch(f))
		return;
	show_log(f);
	fail_msg("etcd did not start again");
}

void etcd_fixture_kill(struct etcd_fixture *f)
{
	if (f->pid == 0)
		return;
	(void)kill(f->pid, SIGKILL);
	(void)waitpid(f->pid, NULL, 0);
	f->pid = 0;
}

/* --- its folder ---------------------------------------------------------------------------- */

static void write_pem(const struct etcd_fixture *f, const char *name, const struct buf *pem)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	assert_int_equal(file_write_atomic(path, buf_str(pem), 0600, NULL), 0);
}

static void issue(const struct etcd_fixture *f, const struct pki_ca *ca, const char *name)
{
	const struct str host = STR("127.0.0.1");
	/* etcd's gateway is a client of its own server, with the server's certificate. */
	struct pki_leaf leaf = { .common_name = str_from(name),
				 .hosts = &host,
				 .nhosts = 1,
				 .server = true,
				 .client = true,
				 .lifetime = 3600 };
	struct buf cert = BUF_INIT(MIB), key = BUF_INIT(MIB);
	char file[64];

	assert_int_equal(pki_issue(ca, &leaf, clock_system(), &cert, &key, NULL), 0);
	(void)snprintf(file, sizeof(file), "%s.crt", name);
	write_pem(f, file, &cert);
	(void)snprintf(file, sizeof(file), "%s.key", name);
	write_pem(f, file, &key);
	buf_release(&cert);
	buf_release(&key);
}

static void make_certificates(struct etcd_fixture *f)
{
	struct buf pem = BUF_INIT(MIB);
	struct pki_ca *ca;

	assert_int_equal(pki_ca_new(STR("etcd's CA"), 3600, clock_system(), &ca, NULL), 0);
	assert_int_equal(pki_ca_cert(ca, &pem, NULL), 0);
	write_pem(f, "ca.crt", &pem);
	issue(f, ca, "server");
	issue(f, ca, "client");
	(void)snprintf(f->ca_file, sizeof(f->ca_file), "%s/ca.crt", f->dir);
	(void)snprintf(f->cert_file, sizeof(f->cert_file), "%s/client.crt", f->dir);
	(void)snprintf(f->key_file, sizeof(f->key_file), "%s/client.key", f->dir);
	buf_release(&pem);
	pki_ca_free(ca);
}

static bool store_etcd_fixture_init(struct etcd_fixture *f, bool tls)
{
	*f = (struct etcd_fixture){ .tls = tls, .dir = "/tmp/devplane-etcd-XXXXXX" };
	if (!is_installed())
		return false;
	assert_non_null(mkdtemp(f->dir));
	if (tls)
		make_certificates(f);
	for (int i = 0; i < TRIES; i++) {
		f->client_port = free_port();
		f->peer_port = free_port();
		(void)snprintf(f->url, sizeof(f->url), "%s://127.0.0.1:%d", tls ? "https" : "http",
			       f->client_port);
		if (launch(f))
			return true;
	}
	show_log(f);
	fail_msg("etcd does not start");
	return false;
}

bool etcd_fixture_init(struct etcd_fixture *f)
{
	return store_etcd_fixture_init(f, false);
}

bool etcd_fixture_init_tls(struct etcd_fixture *f)
{
	return store_etcd_fixture_init(f, true);
}

void etcd_fixture_release(struct etcd_fixture *f)
{
	etcd_fixture_kill(f);
	(void)folder_fixture_try_remove(f->dir);
}
