/* The configuration is passed as an in-memory file, so the plugin may read it at any speed. */
#include "drivers/cni/cni_exec.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "net/loop/program.h"

enum { TIMEOUT_MS = 30000 };

#define VERSION "0.4.0"
#define NETWORK "devplane"

struct cni_exec {
	enum cni_command command;
	char *type;
	int64_t timeout_ms;
	void (*on_done)(void *arg, const struct json *result, const struct error *err);
	void *arg;

	struct program *program;
};

/* --- environment and input ---------------------------------------------------------------- */

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

/* "IgnoreUnknown=1" makes plugins ignore arguments that they don't know. */
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

/* Adds what is missing, and removes `capabilities`, which are for the runtime only. */
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

/* The caller closes the descriptor. */
static int make_input(struct str text, int *ret_fd, struct error *err)
{
	int fd = memfd_create("cni-config", MFD_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a file in memory");
	n = pwrite(fd, text.p, text.n, 0);
	if (n == (ssize_t)text.n) {
		*ret_fd = fd;
		return 0;
	}
	(void)error_set_errno(err, ERR_IO, n < 0 ? errno : ENOSPC, "cannot write a file in memory");
	(void)close(fd);
	return -ERR_IO;
}

/* --- its end ------------------------------------------------------------------------------ */

static int cni_exec_judge(struct cni_exec *x, const struct program_end *end, struct arena *a,
			  struct json **ret_result, struct error *err)
{
	char how[64];

	if (end->timed_out)
		return error_set(err, ERR_TIMEOUT, "no answer within %lld ms; it was killed",
				 (long long)x->timeout_ms);
	if (end->signum == 0 && end->status == 0)
		return x->command == CNI_ADD ? cni_result_read(a, end->out, ret_result, err) : 0;
	if (end->signum)
		(void)snprintf(how, sizeof(how), "it was ended by signal %d", end->signum);
	else
		(void)snprintf(how, sizeof(how), "it failed with status %d and said nothing",
			       end->status);
	return cni_error_read(a, end->out.n > 0 ? end->out : program_last_line(end->err), how, err);
}

static void cni_exec_on_end(void *arg, const struct program_end *end)
{
	CLEANUP(arena_release) struct arena a;
	struct cni_exec *x = arg;
	struct json *result = NULL;
	struct error err;
	int r;

	arena_init(&a, CNI_WORK_MAX);
	r = cni_exec_judge(x, end, &a, &result, &err);
	if (r < 0)
		(void)error_wrap(&err, r, "%s", x->type);
	x->on_done(x->arg, result, r < 0 ? &err : NULL);
}

/* --- life --------------------------------------------------------------------------------- */

static int cni_exec_start(struct cni_exec *x, struct loop *l, const char *file,
			  const char *const *env, struct str config, struct error *err)
{
	struct program_opts o = { .argv = (const char *const[]){ file, NULL },
				  .env = env,
				  .output_max = CNI_OUTPUT_MAX,
				  .timeout_ms = x->timeout_ms,
				  .on_end = cni_exec_on_end,
				  .arg = x };
	int r = make_input(config, &o.in_fd, err);

	if (r < 0)
		return r;
	r = program_new(l, &o, &x->program, err);
	(void)close(o.in_fd);
	return r;
}

static struct cni_exec *exec_new(const struct cni_exec_opts *o, struct str type)
{
	struct cni_exec *x = XNEW(struct cni_exec);

	*x = (struct cni_exec){ .command = o->command,
				.type = str_dup(type),
				.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS,
				.on_done = o->on_done,
				.arg = o->arg };
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
	x = exec_new(opts, type);
	r = make_config(opts, &a, &text, err);
	if (r == 0)
		r = cni_exec_start(x, l, file, make_env(opts, &a), buf_str(&text), err);
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
	program_free(x->program);
	free(x->type);
	free(x);
}
