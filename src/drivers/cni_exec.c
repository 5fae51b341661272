/*
 * The configuration is a file in memory, so the plugin can read as slowly as it likes. What it
 * prints goes into pipes that hold all it may print and are read when it has ended: nothing to
 * follow meanwhile, and memory has its bound in the kernel. A plugin that is past that blocks, and
 * is killed by the time-out. Grandchildren that keep a pipe open are not waited for; who is killed
 * is killed with them, as one process group.
 */
#include "drivers/cni_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/pipe.h"
#include "net/loop.h"

enum { TIMEOUT_MS = 30000 };

#define VERSION "0.4.0"
#define NETWORK "devplane"

struct cni_exec {
	struct loop *loop;
	enum cni_command command;
	char *type;
	int64_t timeout_ms;
	void (*on_done)(void *arg, const struct json *result, const struct error *err);
	void *arg;

	struct loop_child *child;
	struct loop_timer timer;
	bool timed_out, exited;
	int in; /* the configuration */
	int out[2], err[2]; /* pipes, ours first; -1: closed */
};

/* --- what the plugin is told -------------------------------------------------------------- */

static int read_type(const struct json *config, struct str *ret_type, struct error *err)
{
	struct str type = json_text_at(config, "type");

	if (type.n == 0 || type.n > NAME_MAX || str_chr(type, '/') >= 0 ||
	    memchr(type.p, 0, type.n) || str_eqz(type, ".") || str_eqz(type, ".."))
		return error_set(err, ERR_INVALID, "type: must be the name of a CNI plugin");
	*ret_type = type;
	return 0;
}

static int find_plugin(struct str type, struct str path, struct arena *a, const char **ret_file,
		       struct error *err)
{
	struct str rest = path, folder;
	struct stat st;
	const char *file;

	while (rest.n > 0 && str_split(&rest, ':', &folder)) {
		if (folder.n == 0)
			continue;
		file = arena_printf(a, "%.*s/%.*s", STR_ARG(folder), STR_ARG(type));
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0) {
			*ret_file = file;
			return 0;
		}
	}
	return error_set(err, ERR_NOT_FOUND, "no CNI plugin \"%.*s\" in %s", STR_ARG(type),
			 path.n > 0 ? path.p : "an empty path");
}

static const char *text_or(const char *text, const char *absent)
{
	return text && *text ? text : absent;
}

/* "IgnoreUnknown=1" lets plugins pass over what they do not know. */
static const char *make_args(const struct cni_exec_opts *o, struct arena *a)
{
	const struct {
		const char *key, *value;
	} v[] = {
		{ "K8S_POD_NAMESPACE", o->pod_namespace },
		{ "K8S_POD_NAME", o->pod_name },
		{ "K8S_POD_INFRA_CONTAINER_ID", o->container_id },
		{ "K8S_POD_UID", o->pod_uid },
	};
	const char *args = "CNI_ARGS=IgnoreUnknown=1";

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (v[i].value && *v[i].value)
			args = arena_printf(a, "%s;%s=%s", args, v[i].key, v[i].value);
	return args;
}

static const char *const *make_env(const struct cni_exec_opts *o, struct arena *a)
{
	size_t count = 0, n = 0;
	const char **env;

	while (environ[count])
		count++;
	env = ARENA_ARRAY(a, const char *, count + 7);
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "CNI_", 4) != 0)
			env[n++] = environ[i];
	env[n++] = arena_printf(a, "CNI_COMMAND=%s", cni_command_name(o->command));
	env[n++] = arena_printf(a, "CNI_CONTAINERID=%s", o->container_id);
	env[n++] = arena_printf(a, "CNI_NETNS=%s", text_or(o->netns, ""));
	env[n++] = arena_printf(a, "CNI_IFNAME=%s", o->ifname);
	env[n++] = arena_printf(a, "CNI_PATH=%s", o->path);
	env[n++] = make_args(o, a);
	env[n] = NULL;
	return env;
}

/* `capabilities` are between a configuration's author and the runtime. */
static int make_config(const struct cni_exec_opts *o, struct arena *a, struct buf *text,
		       struct error *err)
{
	struct json *config, *prev;
	int r = json_copy(a, o->config, &config, err);

	if (r == 0 && o->prev_result)
		r = json_copy(a, o->prev_result, &prev, err);
	if (r < 0)
		return r;
	if (json_text_at(config, "cniVersion").n == 0)
		json_put_str(a, config, "cniVersion", STR(VERSION));
	if (json_text_at(config, "name").n == 0)
		json_put_str(a, config, "name", str_from(text_or(o->network, NETWORK)));
	(void)json_remove(config, STR("capabilities"));
	(void)json_remove(config, STR("prevResult"));
	if (o->prev_result)
		json_setz(config, "prevResult", prev);
	if (json_print(text, config, NULL) < 0)
		return error_set(err, ERR_TOO_LARGE, "the configuration is larger than %lu bytes",
				 CNI_INPUT_MAX);
	return 0;
}

/* --- its streams -------------------------------------------------------------------------- */

static int make_input(struct cni_exec *x, struct str text, struct error *err)
{
	ssize_t n;

	x->in = memfd_create("cni-config", MFD_CLOEXEC);
	if (x->in < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a file in memory");
	n = pwrite(x->in, text.p, text.n, 0);
	if (n != (ssize_t)text.n)
		return error_set_errno(err, ERR_IO, n < 0 ? errno : ENOSPC,
				       "cannot write a file in memory");
	return 0;
}

static void close_all(struct cni_exec *x)
{
	int *fds[] = { &x->in, &x->out[0], &x->out[1], &x->err[0], &x->err[1] };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		pipe_close(fds[i]);
}

/* --- its end ------------------------------------------------------------------------------ */

static int judge(struct cni_exec *x, int status, int signum, struct arena *a, struct buf *out,
		 struct json **ret_result, struct error *err)
{
	CLEANUP(buf_release) struct buf said = BUF_INIT(CNI_OUTPUT_MAX + 1);
	char how[64];

	pipe_read(x->out[0], out);
	pipe_read(x->err[0], &said);
	if (x->timed_out)
		return error_set(err, ERR_TIMEOUT, "no answer within %lld ms; it was killed",
				 (long long)x->timeout_ms);
	if (signum == 0 && status == 0)
		return x->command == CNI_ADD ? cni_result_read(a, buf_str(out), ret_result, err)
					     : 0;
	if (signum)
		(void)snprintf(how, sizeof(how), "it was ended by signal %d", signum);
	else
		(void)snprintf(how, sizeof(how), "it failed with status %d and said nothing",
			       status);
	return cni_error_read(a, out->n > 0 ? buf_str(out) : pipe_last_line(buf_str(&said)), how,
			      err);
}

static void on_exit_(void *arg, int status, int signum)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CNI_OUTPUT_MAX + 1);
	CLEANUP(arena_release) struct arena a;
	struct cni_exec *x = arg;
	struct json *result = NULL;
	struct error err;
	int r;

	arena_init(&a, CNI_WORK_MAX);
	x->exited = true;
	loop_timer_stop(&x->timer);
	r = judge(x, status, signum, &a, &out, &result, &err);
	if (r < 0)
		(void)error_wrap(&err, r, "%s", x->type);
	close_all(x);
	x->on_done(x->arg, result, r < 0 ? &err : NULL);
}

static void on_timeout(struct loop_timer *t)
{
	struct cni_exec *x = CONTAINER_OF(t, struct cni_exec, timer);

	x->timed_out = true;
	(void)loop_child_kill(x->child, SIGKILL, NULL);
}

/* --- life --------------------------------------------------------------------------------- */

static int start(struct cni_exec *x, const char *file, const char *const *env, struct error *err)
{
	struct loop_child_opts o = { .argv = (const char *const[]){ file, NULL },
				     .env = env,
				     .group = true,
				     .on_exit = on_exit_,
				     .arg = x };
	int r = pipe_make(x->out, CNI_OUTPUT_MAX, err);

	if (r == 0)
		r = pipe_make(x->err, CNI_OUTPUT_MAX, err);
	if (r < 0)
		return r;
	o.in_fd = x->in;
	o.out_fd = x->out[1];
	o.err_fd = x->err[1];
	r = loop_child_new(x->loop, &o, &x->child, err);
	if (r < 0)
		return r;
	pipe_close(&x->in);
	pipe_close(&x->out[1]);
	pipe_close(&x->err[1]);
	loop_timer_start(&x->timer, x->timeout_ms);
	return 0;
}

static struct cni_exec *exec_new(struct loop *l, const struct cni_exec_opts *o, struct str type)
{
	struct cni_exec *x = XNEW(struct cni_exec);

	*x = (struct cni_exec){ .loop = l,
				.command = o->command,
				.type = str_dup(type),
				.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS,
				.on_done = o->on_done,
				.arg = o->arg,
				.in = -1,
				.out = { -1, -1 },
				.err = { -1, -1 } };
	loop_timer_init(&x->timer, l, on_timeout);
	return x;
}

int cni_exec_new(struct loop *l, const struct cni_exec_opts *opts, struct cni_exec **ret_exec,
		 struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CNI_INPUT_MAX);
	CLEANUP(arena_release) struct arena a;
	const char *file = NULL;
	struct cni_exec *x;
	struct str type;
	int r;

	arena_init(&a, CNI_WORK_MAX);
	r = read_type(opts->config, &type, err);
	if (r == 0)
		r = find_plugin(type, str_from(opts->path), &a, &file, err);
	if (r < 0)
		return r;
	x = exec_new(l, opts, type);
	r = make_config(opts, &a, &text, err);
	if (r == 0)
		r = make_input(x, buf_str(&text), err);
	if (r == 0)
		r = start(x, file, make_env(opts, &a), err);
	if (r < 0) {
		(void)error_wrap(err, r, "%s", x->type);
		cni_exec_free(x);
		return r;
	}
	*ret_exec = x;
	return 0;
}

void cni_exec_free(struct cni_exec *x)
{
	if (!x)
		return;
	/* Who cannot die yet, as it waits for a disk, is not waited for: the loop collects it. */
	if (x->child && !x->exited)
		(void)loop_child_kill(x->child, SIGKILL, NULL);
	if (x->child)
		loop_child_free(x->child);
	loop_timer_stop(&x->timer);
	close_all(x);
	free(x->type);
	free(x);
}
