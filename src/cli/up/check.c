/*
 * The checks block: nothing else runs yet. Timeouts are short, because everything is local or
 * near.
 */
#include "cli/up/check.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/loop/addr.h"
#include "net/loop/loop.h"
#include "node/runtime/cri.h"

enum { CONNECT_MS = 2000, RUNTIME_MS = 3000 };

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

const char *up_check_wall(struct arena *a, const char *path)
{
	char *folder = arena_strdup(a, str_from(path));
	struct stat st;

	for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		if (stat(folder, &st) == 0 && !(st.st_mode & S_IXOTH))
			return folder;
		*at = '/';
	}
	return NULL;
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

/* Returns 0, or errno. */
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

struct asked {
	struct loop *loop;
	struct arena *arena;
	struct loop_timer timer;
	const char *what; /* "containerd 1.6.20 (..)"; NULL: no reply yet */
	struct error err;
};

static void on_condition(void *arg, const struct runtime_condition *c, const struct error *err)
{
	struct asked *k = arg;

	if (err)
		k->err = *err;
	else if (!c->runtime_ready || !c->network_ready)
		(void)error_set(&k->err, ERR_UNAVAILABLE, "it is not ready: %.*s",
				STR_ARG(c->message));
	else
		k->what = arena_printf(k->arena, "%.*s %.*s (%s%s%s)", STR_ARG(c->name),
				       STR_ARG(c->version),
				       c->cgroup_driver ? "cgroup driver " : "",
				       c->cgroup_driver ? c->cgroup_driver : "",
				       c->cgroup_driver ? (c->does_cdi ? ", CDI" : ", no CDI")
							: (c->does_cdi ? "CDI" : "no CDI"));
	loop_stop(k->loop);
}

static void on_late(struct loop_timer *t)
{
	struct asked *k = CONTAINER_OF(t, struct asked, timer);

	if (!k->what && k->err.code == ERR_OK)
		(void)error_set(&k->err, ERR_TIMEOUT, "no answer within %d s", RUNTIME_MS / 1000);
	loop_stop(t->loop);
}

/* A socket that accepts connections need not speak CRI: docker's containerd does not. */
static int ask_runtime(struct asked *k, const char *endpoint, struct error *err)
{
	struct runtime_cri_opts o = { .loop = k->loop, .endpoint = endpoint };
	struct runtime *r = NULL;
	int ret = runtime_cri_new(&o, &r, err);

	if (ret < 0)
		return ret;
	loop_timer_init(&k->timer, k->loop, on_late);
	loop_timer_start(&k->timer, RUNTIME_MS);
	r->ops->condition(r, on_condition, k);
	while (!k->what && k->err.code == ERR_OK)
		loop_run(k->loop);
	runtime_free(r);
	/* Connections free their memory in the next turn. */
	loop_timer_start(&k->timer, 0);
	loop_run(k->loop);
	return 0;
}

static int try_runtime(struct arena *a, const char *endpoint, const char **ret_what,
		       struct error *err)
{
	struct asked k = { .arena = a };
	int r = loop_new(&k.loop, err);

	if (r < 0)
		return r;
	r = ask_runtime(&k, endpoint, err);
	loop_free(k.loop);
	if (r < 0)
		return error_wrap(err, r, "--container-runtime-endpoint");
	if (!k.what)
		return error_set(err, ERR_NOT_FOUND, "no container runtime is of use at %s: %s",
				 endpoint, k.err.msg);
	*ret_what = k.what;
	return 0;
}

int up_check_runtime(struct cli *cli, const char *endpoint, const char **ret_endpoint,
		     const char **ret_what, struct error *err)
{
	static const char *const usual[] = { "unix:///run/containerd/containerd.sock",
					     "unix:///run/crio/crio.sock",
					     "unix:///run/cri-dockerd.sock" };
	int r = -ERR_NOT_FOUND;

	if (geteuid() != 0)
		return error_set(err, ERR_NOT_FOUND,
				 "you are not root, so containers cannot run: the node is hollow "
				 "and only simulates its pods");
	if (endpoint) {
		*ret_endpoint = endpoint;
		if (endpoint[0] == '/') /* users also write "/run/x.sock" */
			*ret_endpoint = arena_printf(&cli->arena, "unix://%s", endpoint);
		return try_runtime(&cli->arena, *ret_endpoint, ret_what, err);
	}
	(void)error_set(err, ERR_NOT_FOUND,
			"no container runtime found: the node is hollow and only simulates its "
			"pods; name one with --container-runtime-endpoint");
	for (size_t i = 0; i < ARRAY_SIZE(usual) && r < 0; i++) {
		if (access(usual[i] + strlen("unix://"), F_OK) < 0)
			continue;
		*ret_endpoint = usual[i];
		r = try_runtime(&cli->arena, usual[i], ret_what, err);
	}
	if (r < 0)
		*ret_endpoint = NULL;
	return r;
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
			return 0; /* the server resolves it, and reports errors */
		failed = try_connect(&a);
		if (failed == 0)
			return 0;
	}
	return error_set_errno(err, ERR_UNAVAILABLE, failed,
			       "no etcd answers at %s: start it, or leave --etcd-servers out to "
			       "keep objects in the folder",
			       urls->v[0]);
}
