/*
 * Files are parsed into trees and searched in order. As in kubectl, the first file with an entry
 * of a name provides the whole entry. Only the entries that the chosen context names are read
 * further, so an invalid entry elsewhere does no harm.
 */
#include "client/kubeconfig/kubeconfig.h"

#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/system/file.h"
#include "base/yaml/yaml.h"
#include "client/client_limits.h"
#include "client/kubeconfig/kubeconfig_impl.h"
#include "net/net_limits.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* State while loading; freed when the config is complete. */
struct loading {
	struct kubeconfig *config;
	struct arena arena; /* trees */
	VEC(struct kubeconfig_file) files;
};

/* Borrowed from the process. */
static struct kubeconfig_env env_of_process(void)
{
	return (struct kubeconfig_env){ .kubeconfig = getenv("KUBECONFIG"),
					.home = getenv("HOME"),
					.service_host = getenv("KUBERNETES_SERVICE_HOST"),
					.service_port = getenv("KUBERNETES_SERVICE_PORT") };
}

/* --- files ------------------------------------------------------------------------------- */

static int parse_file(struct loading *l, struct str text, const char *name, const char *dir,
		      struct error *err)
{
	struct yaml_options opts = { .size_max = KUBECONFIG_FILE_MAX };
	struct json_options json_opts = { .size_max = KUBECONFIG_FILE_MAX };
	struct json *tree;
	int r;

	if (yaml_is_json(text))
		r = json_parse(&l->arena, text, &json_opts, &tree, err);
	else
		r = yaml_parse(&l->arena, text, &opts, &tree, err);
	if (r < 0) {
		if (err && err->code == ERR_BAD_REQUEST)
			err->code = ERR_INVALID;
		return error_wrap(err, r == -ERR_BAD_REQUEST ? -ERR_INVALID : r, "%s", name);
	}
	if (tree->type == JSON_NULL) /* an empty file sets nothing */
		return 0;
	if (tree->type != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "%s is not a kubeconfig", name);
	if (!vec_push(&l->files, (struct kubeconfig_file){ name, dir, tree }))
		return error_set(err, ERR_TOO_LARGE, "KUBECONFIG names more than %d files",
				 KUBECONFIG_PATHS_MAX);
	return 0;
}

/* The absolute folder that paths in the file are relative to. */
static const char *dir_of(struct loading *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	char cwd[4096];
	struct str dir;

	dir = slash ? str_of(path, (size_t)(slash - path)) : STR_NULL;
	if (path[0] == '/')
		return arena_strdup(&l->config->arena, dir);
	if (!getcwd(cwd, sizeof(cwd)))
		return ".";
	return arena_printf(&l->config->arena, dir.n ? "%s/%.*s" : "%s%.*s", cwd, STR_ARG(dir));
}

static int read_file(struct loading *l, const char *path, struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KUBECONFIG_FILE_MAX);
	const char *name = arena_strdup(&l->config->arena, str_from(path));
	int r = file_read(path, &b, err);

	if (r < 0)
		return r;
	return parse_file(l, arena_str(&l->arena, buf_str(&b)), name, dir_of(l, path), err);
}

/* Skips missing files, as kubectl does. */
static int kubeconfig_read_list(struct loading *l, const char *paths, struct error *err)
{
	struct str rest = str_from(paths), path;
	int r = 0;

	while (r == 0 && str_split(&rest, ':', &path)) {
		if (!path.n)
			continue;
		r = read_file(l, arena_strdup(&l->arena, path), err);
		if (r == -ERR_NOT_FOUND)
			r = 0;
	}
	return r;
}

static int read_files(struct loading *l, const struct kubeconfig_opts *o,
		      const struct kubeconfig_env *env, struct error *err)
{
	int r;

	if (o->path)
		return read_file(l, o->path, err);
	if (env->kubeconfig && env->kubeconfig[0])
		return kubeconfig_read_list(l, env->kubeconfig, err);
	if (!env->home || !env->home[0])
		return 0;
	r = read_file(l, arena_printf(&l->arena, "%s/.kube/config", env->home), err);
	return r == -ERR_NOT_FOUND ? 0 : r;
}

/* --- entries ------------------------------------------------------------------------------- */

static struct kubeconfig_entry entry_in(const struct kubeconfig_file *f, const char *list,
					const char *what, struct str name)
{
	struct kubeconfig_entry e = { .file = f, .what = what, .name = name };

	JSON_FOREACH (it, json_getz(f->tree, list))
		if (str_eq(json_text_at(it, "name"), name)) {
			e.fields = json_getz(it, what);
			break;
		}
	return e;
}

/* Searches the files in order. */
static int find_entry(const struct loading *l, const char *list, const char *what, struct str name,
		      struct kubeconfig_entry *ret_entry, struct error *err)
{
	for (size_t i = 0; i < l->files.n; i++) {
		*ret_entry = entry_in(&l->files.v[i], list, what, name);
		if (json_is(ret_entry->fields, JSON_OBJECT))
			return 0;
	}
	return error_set(err, ERR_NOT_FOUND, "%.*s: there is no %s \"%.*s\"",
			 STR_ARG(l->config->source), what, STR_ARG(name));
}

static struct str current_context(const struct loading *l)
{
	for (size_t i = 0; i < l->files.n; i++) {
		struct str name = json_text_at(l->files.v[i].tree, "current-context");

		if (name.n)
			return name;
	}
	return STR_NULL;
}

static int read_context(struct loading *l, struct str name, struct error *err)
{
	struct kubeconfig *k = l->config;
	struct kubeconfig_entry e;
	int r;

	r = find_entry(l, "contexts", "context", name, &e, err);
	if (r < 0)
		return r;
	k->context = arena_str(&k->arena, name);
	r = kubeconfig_text(k, &e, "cluster", &k->cluster, err);
	if (r == 0)
		r = kubeconfig_text(k, &e, "user", &k->user, err);
	if (r == 0)
		r = kubeconfig_text(k, &e, "namespace", &k->ns, err);
	return r;
}

/* Chooses the context, and the entries that flags name instead of the context's. */
static int choose_context(struct loading *l, const struct kubeconfig_opts *o, struct error *err)
{
	struct kubeconfig *k = l->config;
	struct str name = o->context && o->context[0] ? str_from(o->context) : current_context(l);
	int r = 0;

	if (!name.n && !o->cluster && !o->server)
		return error_set(err, ERR_INVALID,
				 "%.*s: there is no current-context: add one or use --context",
				 STR_ARG(k->source));
	if (name.n)
		r = read_context(l, name, err);
	if (o->cluster)
		k->cluster = arena_str(&k->arena, str_from(o->cluster));
	if (o->user)
		k->user = arena_str(&k->arena, str_from(o->user));
	if (r == 0 && !k->cluster.n && !o->server)
		r = error_set(err, ERR_INVALID, "%.*s: context \"%.*s\" names no cluster",
			      STR_ARG(k->source), STR_ARG(name));
	return r;
}

/* A context may have no user: then we are anonymous. */
static int read_user(struct loading *l, struct error *err)
{
	struct kubeconfig *k = l->config;
	struct kubeconfig_entry e;
	int r;

	if (!k->user.n)
		return 0;
	r = find_entry(l, "users", "user", k->user, &e, err);
	if (r < 0)
		return r;
	return kubeconfig_read_user(k, &e, err);
}

static void name_source(struct loading *l)
{
	struct kubeconfig *k = l->config;
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	for (size_t i = 0; i < l->files.n; i++)
		(void)buf_printf(&b, "%s%s", i ? ":" : "", l->files.v[i].name);
	k->source = arena_str(&k->arena, buf_str(&b));
}

static int kubeconfig_resolve(struct loading *l, const struct kubeconfig_opts *o, struct error *err)
{
	struct kubeconfig *k = l->config;
	struct kubeconfig_entry e;
	int r;

	name_source(l);
	r = choose_context(l, o, err);
	if (r < 0)
		return r;
	if (!k->cluster.n)
		return read_user(l, err); /* only the server's URL is known of the cluster */
	r = find_entry(l, "clusters", "cluster", k->cluster, &e, err);
	if (r == 0)
		r = kubeconfig_read_cluster(k, &e, err);
	if (r == 0)
		r = read_user(l, err);
	if (r == 0 && k->exec)
		r = kubeconfig_read_exec_cluster(k, &e, err);
	return r;
}

/* --- in a pod --------------------------------------------------------------------------- */

static int read_account(struct kubeconfig *k, const char *dir, const char *name,
			struct str *ret_text, const char **ret_path, struct error *err)
{
	const char *path = arena_printf(&k->arena, "%s/%s", dir, name);
	int r = kubeconfig_read_file(k, path, ret_text, err);

	if (r < 0)
		return error_wrap(err, r, "the pod's service account");
	*ret_text = str_trim(*ret_text);
	if (ret_path)
		*ret_path = path;
	return 0;
}

static bool is_in_pod(const struct kubeconfig_env *env)
{
	return env->service_host && env->service_host[0] && env->service_port &&
	       env->service_port[0];
}

static int load_in_pod(struct kubeconfig *k, const struct kubeconfig_env *env, struct error *err)
{
	const char *dir = env->account_dir ? env->account_dir : ACCOUNT_DIR;
	const char *host = env->service_host;
	int r;

	k->source = STR("the pod's service account");
	k->server = str_from(arena_printf(&k->arena,
					  strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s",
					  host, env->service_port));
	r = read_account(k, dir, "token", &k->token, &k->token_file, err);
	while (k->token.n && strchr("\r\n", k->token.p[k->token.n - 1]))
		k->token.n--;
	if (r == 0)
		r = read_account(k, dir, "ca.crt", &k->ca, &k->ca_file, err);
	if (r == 0 && read_account(k, dir, "namespace", &k->ns, NULL, NULL) < 0)
		k->ns = STR_NULL;
	while (k->ns.n && strchr("\r\n", k->ns.p[k->ns.n - 1]))
		k->ns.n--;
	return r;
}

/* Rejects flags that name entries if there is no kubeconfig. */
static int check_unnamed(const struct kubeconfig_opts *o, struct error *err)
{
	const struct {
		const char *what, *name;
	} v[] = { { "context", o->context }, { "cluster", o->cluster }, { "user", o->user } };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (v[i].name && v[i].name[0])
			return error_set(err, ERR_NOT_FOUND,
					 "there is no %s \"%s\", as there is no kubeconfig: use "
					 "--kubeconfig FILE or set KUBECONFIG",
					 v[i].what, v[i].name);
	return 0;
}

/* --- loading ---------------------------------------------------------------------------- */

static void loading_init(struct loading *l, struct kubeconfig *k)
{
	*k = (struct kubeconfig){ 0 };
	arena_init(&k->arena, 16 * PEM_FILE_MAX);
	l->config = k;
	arena_init(&l->arena, 8 * KUBECONFIG_FILE_MAX);
	vec_init(&l->files, KUBECONFIG_PATHS_MAX);
}

static int load_without_files(struct kubeconfig *k, const struct kubeconfig_opts *o,
			      const struct kubeconfig_env *env, struct error *err)
{
	int r = check_unnamed(o, err);

	if (r < 0)
		return r;
	if (is_in_pod(env))
		return load_in_pod(k, env, err);
	if (!o->server && env->kubeconfig && env->kubeconfig[0])
		return error_set(err, ERR_NOT_FOUND,
				 "KUBECONFIG names \"%s\", where no file exists: correct it, or "
				 "unset it to use ~/.kube/config",
				 env->kubeconfig);
	if (!o->server)
		return error_set(
			err, ERR_NOT_FOUND,
			"there is no kubeconfig: use --kubeconfig FILE, set KUBECONFIG, or "
			"put one at ~/.kube/config");
	k->source = STR("the command line");
	return 0;
}

static int loading_end(struct loading *l, int r)
{
	struct kubeconfig *k = l->config;

	arena_release(&l->arena);
	vec_release(&l->files);
	if (r < 0)
		kubeconfig_release(k);
	else if (!k->ns.n)
		k->ns = STR("default");
	return r;
}

int kubeconfig_load(struct kubeconfig *k, const struct kubeconfig_opts *opts, struct error *err)
{
	struct kubeconfig_env own = env_of_process();
	const struct kubeconfig_env *env = opts->env ? opts->env : &own;
	struct loading l;
	int r;

	loading_init(&l, k);
	r = read_files(&l, opts, env, err);
	if (r == 0 && l.files.n)
		r = kubeconfig_resolve(&l, opts, err);
	else if (r == 0 && opts->path)
		r = error_set(err, ERR_INVALID, "%s: it is empty", opts->path);
	else if (r == 0)
		r = load_without_files(k, opts, env, err);
	if (r == 0 && opts->server)
		k->server = str_from(opts->server);
	return loading_end(&l, r);
}

int kubeconfig_parse(struct kubeconfig *k, struct str text, const char *name, const char *dir,
		     const char *context, struct error *err)
{
	struct kubeconfig_opts opts = { .context = context };
	struct loading l;
	int r;

	loading_init(&l, k);
	r = parse_file(&l, arena_str(&l.arena, text), arena_strdup(&k->arena, str_from(name)),
		       arena_strdup(&k->arena, str_from(dir)), err);
	if (r == 0 && !l.files.n)
		r = error_set(err, ERR_INVALID, "%s: it is empty", name);
	if (r == 0)
		r = kubeconfig_resolve(&l, &opts, err);
	return loading_end(&l, r);
}

void kubeconfig_release(struct kubeconfig *k)
{
	arena_release(&k->arena);
	*k = (struct kubeconfig){ 0 };
}
