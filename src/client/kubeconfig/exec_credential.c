/*
 * Error messages are client-go's where it has one.
 */
#include "client/kubeconfig/exec_credential.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/text/base64.h"
#include "base/time/timestamp.h"
#include "client/client_limits.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/program.h"
#include "net/net_limits.h"

enum { TIMEOUT_MS = 60 * 1000 };

#define WORK_MAX (16 * EXEC_OUTPUT_MAX)

struct exec_credential {
	/* Text of the fields below, and the environment until the program runs. */
	struct arena arena;
	const char *command, *api_version;
	int64_t timeout_ms;
	void (*on_done)(void *arg, const struct exec_answer *answer, const struct error *err);
	void *arg;

	struct program *program;
	bool asks;
};

/* --- input of the program ----------------------------------------------------------------- */

static bool may_run(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

static const char *find_program(const char *command, struct arena *a)
{
	const char *path = getenv("PATH"), *file;
	struct str rest = str_from(path ? path : ""), folder;

	if (strchr(command, '/'))
		return may_run(command) ? command : NULL;
	while (rest.n > 0 && str_split(&rest, ':', &folder)) {
		if (folder.n == 0)
			/* The current folder is not safe for programs that provide credentials. */
			continue;
		file = arena_printf(a, "%.*s/%s", STR_ARG(folder), command);
		if (may_run(file))
			return file;
	}
	return NULL;
}

static void write_text(struct json_writer *w, const char *key, struct str value)
{
	if (!value.n)
		return;
	json_writer_keyz(w, key);
	json_writer_str(w, value);
}

static void write_cluster(struct json_writer *w, const struct kubeconfig *k)
{
	CLEANUP(buf_release) struct buf ca = BUF_INIT(2 * PEM_FILE_MAX);

	json_writer_keyz(w, "cluster");
	json_writer_begin_object(w);
	json_writer_keyz(w, "server");
	json_writer_str(w, k->server);
	write_text(w, "tls-server-name", k->tls_server_name);
	if (k->insecure) {
		json_writer_keyz(w, "insecure-skip-tls-verify");
		json_writer_bool(w, true);
	}
	(void)base64_encode(&ca, k->ca, BASE64_STD);
	write_text(w, "certificate-authority-data", buf_str(&ca));
	json_writer_keyz(w, "config");
	if (k->exec->cluster_config[0])
		json_writer_raw(w, str_from(k->exec->cluster_config));
	else
		json_writer_null(w);
	json_writer_end_object(w);
}

static int write_info(const struct kubeconfig *k, bool asks, struct buf *out, struct error *err)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "kind");
	json_writer_strz(&w, "ExecCredential");
	json_writer_keyz(&w, "apiVersion");
	json_writer_strz(&w, k->exec->api_version);
	json_writer_keyz(&w, "spec");
	json_writer_begin_object(&w);
	if (k->exec->cluster_info)
		write_cluster(&w, k);
	json_writer_keyz(&w, "interactive");
	json_writer_bool(&w, asks);
	json_writer_end_object(&w);
	json_writer_end_object(&w);
	if (json_writer_finish(&w) < 0)
		return error_set(err, ERR_TOO_LARGE, "KUBERNETES_EXEC_INFO is too large");
	return 0;
}

static bool exec_credential_is_set(const char *variable, const char *const *set, size_t n)
{
	const char *equals = strchr(variable, '=');
	size_t length = equals ? (size_t)(equals - variable) + 1 : strlen(variable);

	for (size_t i = 0; i < n; i++)
		if (strncmp(variable, set[i], length) == 0)
			return true;
	return false;
}

/*
 * Our own environment with the kubeconfig's variables. If a variable is set twice, the last wins.
 */
static const char *const *make_env(const struct kubeconfig_exec *e, struct str info,
				   struct arena *a)
{
	size_t count = 0, n = 0, added = e->nenv + 1;
	const char **env, **set;

	while (environ[count])
		count++;
	set = ARENA_ARRAY(a, const char *, added);
	for (size_t i = 0; i < e->nenv; i++)
		set[i] = e->env[i];
	set[e->nenv] = arena_printf(a, "KUBERNETES_EXEC_INFO=%.*s", STR_ARG(info));
	env = ARENA_ARRAY(a, const char *, count + added + 1);
	for (size_t i = 0; i < count; i++)
		if (!exec_credential_is_set(environ[i], set, added))
			env[n++] = environ[i];
	for (size_t i = 0; i < added; i++)
		if (!exec_credential_is_set(set[i], set + i + 1, added - i - 1))
			env[n++] = set[i];
	return env;
}

static const char *const *make_argv(const struct kubeconfig_exec *e, const char *file,
				    struct arena *a)
{
	const char **argv = ARENA_ARRAY(a, const char *, e->nargs + 2);

	argv[0] = file;
	for (size_t i = 0; i < e->nargs; i++)
		argv[i + 1] = e->args[i];
	return argv;
}

/* --- output of the program ---------------------------------------------------------------- */

static int read_expiry(const struct json *status, int64_t *ret_ns, struct error *err)
{
	struct str text = json_text_at(status, "expirationTimestamp");
	struct timestamp t;
	int r;

	*ret_ns = INT64_MAX;
	if (!text.n)
		return 0;
	r = timestamp_parse_wide(text, &t, err);
	if (r < 0)
		return error_wrap(err, r, "decoding stdout: expirationTimestamp");
	if (t.seconds < INT64_MAX / CLOCK_SEC)
		*ret_ns = MAX(t.seconds, 0) * CLOCK_SEC;
	return 0;
}

int exec_answer_read(struct arena *a, struct str text, const char *api_version,
		     struct exec_answer *ret_answer, struct error *err)
{
	struct exec_answer answer;
	struct json_options options = { .size_max = EXEC_OUTPUT_MAX };
	struct json *tree, *status;
	int r = json_parse(a, text, &options, &tree, err);

	if (r < 0)
		return error_wrap(err, r, "decoding stdout");
	if (!str_eqz(json_text_at(tree, "kind"), "ExecCredential"))
		return error_set(err, ERR_INVALID, "decoding stdout: not an ExecCredential");
	if (!str_eqz(json_text_at(tree, "apiVersion"), api_version))
		return error_set(err, ERR_INVALID,
				 "exec plugin is configured to use API version %s, plugin returned "
				 "version %.*s",
				 api_version, STR_ARG(json_text_at(tree, "apiVersion")));
	status = json_getz(tree, "status");
	if (!json_is(status, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "exec plugin didn't return a status field");
	answer.token = json_text_at(status, "token");
	answer.cert = json_text_at(status, "clientCertificateData");
	answer.key = json_text_at(status, "clientKeyData");
	if (!answer.token.n && !answer.cert.n && !answer.key.n)
		return error_set(err, ERR_INVALID,
				 "exec plugin didn't return a token or cert/key pair");
	if (!answer.cert.n != !answer.key.n)
		return error_set(err, ERR_INVALID,
				 "exec plugin returned only certificate or key, not both");
	r = read_expiry(status, &answer.expires, err);
	if (r == 0)
		*ret_answer = answer;
	return r;
}

/* --- its end ------------------------------------------------------------------------------ */

/* The last line, safe to show. */
static struct str last_words(struct arena *a, struct str text)
{
	struct str line = program_last_line(text);
	char *clean = arena_strdup(a, line);

	for (size_t i = 0; i < line.n; i++)
		if ((unsigned char)clean[i] < ' ' || clean[i] == 0x7f)
			clean[i] = ' ';
	return str_of(clean, line.n);
}

static int read_answer(struct exec_credential *x, struct str out, struct exec_answer *ret_answer,
		       struct error *err)
{
	int r = exec_answer_read(&x->arena, arena_str(&x->arena, out), x->api_version, ret_answer,
				 err);

	return r < 0 ? error_wrap(err, r, "exec: executable %s", x->command) : 0;
}

static void tell_end(struct exec_credential *x, const struct program_end *end, struct error *err)
{
	struct str words = last_words(&x->arena, end->err);
	const char *how;

	if (end->timed_out)
		how = arena_printf(&x->arena, "gave no answer within %lld ms and was killed",
				   (long long)x->timeout_ms);
	else if (end->signum)
		how = arena_printf(&x->arena, "was ended by signal %d", end->signum);
	else
		how = arena_printf(&x->arena, "failed with exit code %d", end->status);
	(void)error_set(err, end->timed_out ? ERR_TIMEOUT : ERR_IO, "exec: executable %s %s%s%.*s",
			x->command, how, words.n ? ": " : "", STR_ARG(words));
}

static void exec_credential_on_end(void *arg, const struct program_end *end)
{
	struct exec_credential *x = arg;
	struct exec_answer answer;
	struct error err;
	bool good = false;

	if (end->signum == 0 && end->status == 0)
		good = read_answer(x, end->out, &answer, &err) == 0;
	else
		tell_end(x, end, &err);
	x->on_done(x->arg, good ? &answer : NULL, good ? NULL : &err);
}

/* --- life --------------------------------------------------------------------------------- */

/* Decides whether it may prompt the user; fails if it has to and cannot. */
static int choose_asking(struct exec_credential *x, const struct exec_credential_opts *o,
			 struct error *err)
{
	bool possible = o->may_ask && isatty(STDIN_FILENO) == 1;

	x->asks = possible && o->config->exec->interactive != KUBECONFIG_INTERACTIVE_NEVER;
	if (x->asks || o->config->exec->interactive != KUBECONFIG_INTERACTIVE_ALWAYS)
		return 0;
	return error_set(err, ERR_IO,
			 "exec plugin cannot support interactive mode: standard input is %s",
			 o->may_ask ? "not a terminal" : "unavailable");
}

/* Duplicates our standard input for an interactive program. The caller closes it. */
static int share_input(int *ret_fd, struct error *err)
{
	*ret_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*ret_fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot share the standard input");
	return 0;
}

static int exec_credential_start(struct exec_credential *x, struct loop *l,
				 const struct kubeconfig *k, const char *file, struct error *err)
{
	CLEANUP(buf_release) struct buf info = BUF_INIT(4 * PEM_FILE_MAX);
	struct program_opts o = { .with_us = x->asks,
				  .output_max = EXEC_OUTPUT_MAX,
				  .timeout_ms = x->asks ? 0 : x->timeout_ms,
				  .on_end = exec_credential_on_end,
				  .arg = x };
	int r = write_info(k, x->asks, &info, err);

	if (r == 0 && x->asks)
		r = share_input(&o.in_fd, err);
	if (r < 0)
		return r;
	o.argv = make_argv(k->exec, file, &x->arena);
	o.env = make_env(k->exec, buf_str(&info), &x->arena);
	r = program_new(l, &o, &x->program, err);
	if (x->asks)
		(void)close(o.in_fd);
	return r;
}

static struct exec_credential *credential_new(const struct exec_credential_opts *o)
{
	struct exec_credential *x = XNEW(struct exec_credential);

	*x = (struct exec_credential){ .timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_MS,
				       .on_done = o->on_done,
				       .arg = o->arg };
	arena_init(&x->arena, WORK_MAX);
	x->command = arena_strdup(&x->arena, str_from(o->config->exec->command));
	x->api_version = arena_strdup(&x->arena, str_from(o->config->exec->api_version));
	return x;
}

int exec_credential_new(struct loop *l, const struct exec_credential_opts *opts,
			struct exec_credential **ret_exec, struct error *err)
{
	const struct kubeconfig_exec *e = opts->config->exec;
	struct exec_credential *x = credential_new(opts);
	const char *file = find_program(x->command, &x->arena);
	int r;

	if (!file)
		r = error_set(err, ERR_NOT_FOUND, "exec: executable %s not found%s%s", x->command,
			      e->install_hint[0] ? ": " : "", e->install_hint);
	else
		r = choose_asking(x, opts, err);
	if (r == 0) {
		r = exec_credential_start(x, l, opts->config, file, err);
		if (r < 0)
			(void)error_wrap(err, r, "exec: executable %s", x->command);
	}
	if (r < 0) {
		exec_credential_free(x);
		return r;
	}
	*ret_exec = x;
	return 0;
}

void exec_credential_free(struct exec_credential *x)
{
	if (!x)
		return;
	program_free(x->program);
	arena_release(&x->arena);
	free(x);
}
