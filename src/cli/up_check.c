/*
 * Looking waits: nothing else is going on yet. Time-outs are short, as what is asked is near.
 */
#include "cli/up_check.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/addr.h"

enum { CONNECT_MS = 2000 };

int up_check_host_name(struct arena *a, const char **ret_name, struct error *err)
{
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		return error_set(err, ERR_INVALID,
				 "the host has no name: give it one, or use --demo or --nodes with "
				 "--runtime hollow");
	*ret_name = arena_strdup(a, arena_lower(a, str_from(host)));
	return 0;
}

/* --- sockets --------------------------------------------------------------------------------- */

static int connect_in_time(int fd, const struct addr *a)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int failed = 0;
	socklen_t n = sizeof(failed);

	if (connect(fd, (const struct sockaddr *)&a->sa, a->len) == 0)
		return 0;
	if (errno != EINPROGRESS && errno != EAGAIN)
		return errno;
	if (poll(&p, 1, CONNECT_MS) <= 0)
		return ETIMEDOUT;
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &n);
	return failed;
}

/* 0, or errno. */
static int try_connect(const struct addr *a)
{
	int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int failed;

	if (fd < 0)
		return errno;
	failed = connect_in_time(fd, a);
	(void)close(fd);
	return failed;
}

/* --- container runtimes ---------------------------------------------------------------------- */

static int try_runtime(const char *endpoint, struct error *err)
{
	struct addr a;
	int failed;

	if (addr_parse(&a, str_from(endpoint), 0, err) < 0)
		return error_wrap(err, -ERR_INVALID, "--container-runtime-endpoint");
	failed = try_connect(&a);
	return failed ? error_set_errno(err, ERR_NOT_FOUND, failed,
					"no container runtime answers at %s", endpoint)
		      : 0;
}

int up_check_runtime(struct cli *cli UNUSED, const char *endpoint, const char **ret_endpoint,
		     const char **ret_what UNUSED, struct error *err)
{
	static const char *const usual[] = { "unix:///run/containerd/containerd.sock",
					     "unix:///run/crio/crio.sock",
					     "unix:///run/cri-dockerd.sock" };

	if (geteuid() != 0)
		return error_set(err, ERR_NOT_FOUND,
				 "this is not root, so that containers cannot be run: the node is "
				 "hollow, its pods are bookkeeping");
	if (endpoint) {
		*ret_endpoint = endpoint;
		return try_runtime(endpoint, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		if (try_runtime(usual[i], NULL) == 0) {
			*ret_endpoint = usual[i];
			return 0;
		}
	}
	return error_set(err, ERR_NOT_FOUND,
			 "no container runtime answers: the node is hollow, its pods are "
			 "bookkeeping; name one by --container-runtime-endpoint");
}

/* --- the rest -------------------------------------------------------------------------------- */

const char *up_check_plugin(struct arena *a, const char *name)
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	const char *places[2];
	char *slash;

	if (n < 0)
		return NULL;
	program[n] = 0;
	slash = strrchr(program, '/');
	if (slash)
		*slash = 0;
	places[0] = arena_printf(a, "%s/plugins/%s/%s.so", program, name, name);
	slash = strrchr(program, '/');
	if (slash)
		*slash = 0;
	places[1] = arena_printf(a, "%s/lib/devplane/scheduler/%s.so", program, name);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

int up_check_etcd(const struct flag_list *urls, struct error *err)
{
	struct addr a;
	int failed = 0, r;

	for (size_t i = 0; i < urls->n; i++) {
		r = addr_parse(&a, str_from(urls->v[i]), 2379, err);
		if (r < 0)
			return error_wrap(err, r, "--etcd-servers");
		if (a.kind == ADDR_NAME)
			return 0; /* the server resolves it, and tells */
		failed = try_connect(&a);
		if (failed == 0)
			return 0;
	}
	return error_set_errno(err, ERR_UNAVAILABLE, failed,
			       "no etcd answers at %s: start it, or leave --etcd-servers out to "
			       "keep objects in the folder",
			       urls->v[0]);
}
