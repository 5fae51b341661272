/*
 * containerEdits: each member has a row with functions to check and apply it. Members that the
 * table does not know, or that CRI has no field for, cannot be applied: they are rejected by name
 * when a container would get them.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "node/container/cdi_spec.h"
#include "node/node_limits.h"

/* --- checks --------------------------------------------------------------------------------- */

static int check_env(const struct json *v, struct error *err)
{
	if (str_chr(json_str(v), '=') <= 0)
		return error_set(err, ERR_INVALID, "env \"%.*s\" is not NAME=VALUE",
				 STR_ARG(json_str(v)));
	return 0;
}

static bool is_absolute(struct str s)
{
	return s.n > 0 && s.p[0] == '/' && !memchr(s.p, '\0', s.n);
}

static bool is_permissions(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != 'r' && s.p[i] != 'w' && s.p[i] != 'm')
			return false;
	}
	return true;
}

/* A missing member is fine, one of another type is not. */
static bool text_or_none(const struct json *object, const char *key)
{
	const struct json *v = json_getz(object, key);

	return !v || json_is(v, JSON_STRING);
}

static bool number_or_none(const struct json *object, const char *key)
{
	const struct json *v = json_getz(object, key);
	int64_t n;

	return !v || (json_i64(v, &n) && n >= 0);
}

static int cdi_edits_check_node(const struct json *v, struct error *err)
{
	static const char *const numbers[] = { "major", "minor", "fileMode", "uid", "gid" };
	static const char *const texts[] = { "hostPath", "type", "permissions" };
	struct str path = json_text_at(v, "path"), host = json_text_at(v, "hostPath");

	if (!is_absolute(path) || (host.n > 0 && !is_absolute(host)))
		return error_set(err, ERR_INVALID,
				 "a device node without an absolute path: \"%.*s\"", STR_ARG(path));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!number_or_none(v, numbers[i]))
			return error_set(err, ERR_INVALID, "%s of device node %.*s is not a number",
					 numbers[i], STR_ARG(path));
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!text_or_none(v, texts[i]))
			return error_set(err, ERR_INVALID, "%s of device node %.*s is not a string",
					 texts[i], STR_ARG(path));
	}
	if (!is_permissions(json_text_at(v, "permissions")))
		return error_set(err, ERR_INVALID, "permissions \"%.*s\" of device node %.*s",
				 STR_ARG(json_text_at(v, "permissions")), STR_ARG(path));
	return 0;
}

static int check_mount(const struct json *v, struct error *err)
{
	struct str host = json_text_at(v, "hostPath"), path = json_text_at(v, "containerPath");
	const struct json *options = json_getz(v, "options");

	if (host.n == 0 || !is_absolute(path))
		return error_set(
			err, ERR_INVALID,
			"a mount without hostPath and absolute containerPath: \"%.*s\" to \"%.*s\"",
			STR_ARG(host), STR_ARG(path));
	if (!text_or_none(v, "type") || (options && !json_is(options, JSON_ARRAY)))
		return error_set(err, ERR_INVALID, "mount %.*s: type or options", STR_ARG(path));
	JSON_FOREACH (it, options) {
		if (!json_is(it, JSON_STRING))
			return error_set(err, ERR_INVALID, "mount %.*s: an option is not a string",
					 STR_ARG(path));
	}
	return 0;
}

static int check_hook(const struct json *v, struct error *err)
{
	if (json_text_at(v, "hookName").n == 0 || json_text_at(v, "path").n == 0)
		return error_set(err, ERR_INVALID, "a hook without hookName and path");
	return 0;
}

static int check_gid(const struct json *v, struct error *err)
{
	int64_t n;

	if (!json_i64(v, &n) || n < 0 || n > UINT32_MAX)
		return error_set(err, ERR_INVALID,
				 "additionalGids has an entry that is not a group ID");
	return 0;
}

/* --- env, groups ---------------------------------------------------------------------------- */

static int apply_env(const struct json *list, struct arena *a, struct container_spec *io,
		     struct error *err)
{
	struct runtime_pair *v = ARENA_ARRAY(a, struct runtime_pair, io->env.n + json_count(list));
	size_t n = io->env.n;

	(void)err;
	if (n > 0)
		memcpy(v, io->env.v, n * sizeof(*v));
	JSON_FOREACH (it, list) {
		struct str name, value = json_str(it);
		size_t at = 0;

		(void)str_split(&value, '=', &name);
		while (at < n && !str_eq(v[at].key, name))
			at++;
		v[at] = (struct runtime_pair){ name, value };
		n = MAX(n, at + 1);
	}
	io->env = (struct runtime_pairs){ v, n };
	return 0;
}

static int apply_gids(const struct json *list, struct arena *a, struct container_spec *io,
		      struct error *err)
{
	struct runtime_security *s = &io->security;
	int64_t *v = ARENA_ARRAY(a, int64_t, s->ngroups + json_count(list));
	size_t n = s->ngroups;

	(void)err;
	if (n > 0)
		memcpy(v, s->groups, n * sizeof(*v));
	JSON_FOREACH (it, list) {
		size_t at = 0;

		/* As in the CDI library, group 0 is left out. */
		while (at < n && v[at] != it->i64)
			at++;
		if (at == n && it->i64 != 0)
			v[n++] = it->i64;
	}
	s->groups = v;
	s->ngroups = n;
	return 0;
}

/* --- device nodes --------------------------------------------------------------------------- */

/* A member that differs from the node on the host: only the runtime could create that. */
static bool cdi_edits_differs(const struct json *node, const char *key, int64_t host)
{
	int64_t want = json_i64_at(node, key, -1);

	return want >= 0 && want != host;
}

static int refuse_node(struct str path, const char *what, struct error *err)
{
	return error_set(
		err, ERR_UNIMPLEMENTED,
		"device node %.*s: %s, which needs a container runtime that does CDI itself",
		STR_ARG(path), what);
}

/* CRI takes a node of the host and permissions; everything else is as on the host. */
static int check_host(const struct json *node, const char *host, struct error *err)
{
	struct str path = json_text_at(node, "path"), type = json_text_at(node, "type");
	struct stat st;
	int64_t mode;

	if (type.n > 0 && !str_eqz(type, "c") && !str_eqz(type, "b") && !str_eqz(type, "u"))
		return refuse_node(path, "it is no device", err);
	if (stat(host, &st) < 0) {
		if (json_getz(node, "major") || json_getz(node, "minor"))
			return refuse_node(path, "the host does not have it", err);
		return 0;
	}
	if (cdi_edits_differs(node, "major", major(st.st_rdev)) ||
	    cdi_edits_differs(node, "minor", minor(st.st_rdev)))
		return refuse_node(path, "the host's has other numbers", err);
	if (cdi_edits_differs(node, "uid", st.st_uid) || cdi_edits_differs(node, "gid", st.st_gid))
		return refuse_node(path, "the host's has another owner", err);
	mode = json_i64_at(node, "fileMode", -1);
	if (mode > 0 && (mode & 0777) != (int64_t)(st.st_mode & 0777))
		return refuse_node(path, "the host's has another mode", err);
	return 0;
}

static int apply_nodes(const struct json *list, struct arena *a, struct container_spec *io,
		       struct error *err)
{
	struct runtime_device *v = ARENA_ARRAY(a, struct runtime_device,
					       io->ndevices + json_count(list));
	size_t n = io->ndevices;

	if (n > 0)
		memcpy(v, io->devices, n * sizeof(*v));
	JSON_FOREACH (it, list) {
		struct runtime_device d = { .container_path = json_text_at(it, "path"),
					    .host_path = json_text_at(it, "hostPath"),
					    .permissions = json_text_at(it, "permissions") };
		size_t at = 0;
		int r;

		if (d.host_path.n == 0)
			d.host_path = d.container_path;
		if (d.permissions.n == 0)
			d.permissions = STR("rwm");
		r = check_host(it, arena_strdup(a, d.host_path), err);
		if (r < 0)
			return r;
		while (at < n && !str_eq(v[at].container_path, d.container_path))
			at++;
		v[at] = d;
		n = MAX(n, at + 1);
	}
	io->devices = v;
	io->ndevices = n;
	return 0;
}

/* --- mounts --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int readonly; /* -1: not set */
	int propagation; /* -1: not set */
} options[] = {
	{ "bind", -1, -1 },
	{ "rbind", -1, -1 },
	{ "nodev", -1, -1 },
	{ "nosuid", -1, -1 },
	{ "relatime", -1, -1 },
	{ "ro", 1, -1 },
	{ "rw", 0, -1 },
	{ "private", -1, RUNTIME_PRIVATE },
	{ "rprivate", -1, RUNTIME_PRIVATE },
	{ "slave", -1, RUNTIME_HOST_TO_CONTAINER },
	{ "rslave", -1, RUNTIME_HOST_TO_CONTAINER },
	{ "shared", -1, RUNTIME_BIDIRECTIONAL },
	{ "rshared", -1, RUNTIME_BIDIRECTIONAL },
};

static int refuse_mount(const struct runtime_mount *m, const char *what, struct str name,
			struct error *err)
{
	return error_set(
		err, ERR_UNIMPLEMENTED,
		"mount %.*s: the %s \"%.*s\" needs a container runtime that does CDI itself",
		STR_ARG(m->container_path), what, STR_ARG(name));
}

static int set_option(struct runtime_mount *m, struct str name, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!str_eqz(name, options[i].name))
			continue;
		if (options[i].readonly >= 0)
			m->readonly = options[i].readonly == 1;
		if (options[i].propagation >= 0)
			m->propagation = (enum runtime_propagation)options[i].propagation;
		return 0;
	}
	return refuse_mount(m, "option", name, err);
}

static int read_mount(const struct json *v, struct runtime_mount *ret, struct error *err)
{
	struct str type = json_text_at(v, "type");
	int r = 0;

	*ret = (struct runtime_mount){ .container_path = json_text_at(v, "containerPath"),
				       .host_path = json_text_at(v, "hostPath") };
	if (type.n > 0 && !str_eqz(type, "bind") && !str_eqz(type, "none"))
		return refuse_mount(ret, "type", type, err);
	JSON_FOREACH (it, json_getz(v, "options")) {
		r = set_option(ret, json_str(it), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int apply_mounts(const struct json *list, struct arena *a, struct container_spec *io,
			struct error *err)
{
	struct runtime_mount *v = ARENA_ARRAY(a, struct runtime_mount,
					      io->nmounts + json_count(list));
	size_t n = io->nmounts;

	if (n > 0)
		memcpy(v, io->mounts, n * sizeof(*v));
	JSON_FOREACH (it, list) {
		struct runtime_mount m;
		size_t at = 0;
		int r = read_mount(it, &m, err);

		if (r < 0)
			return r;
		while (at < n && !str_eq(v[at].container_path, m.container_path))
			at++;
		v[at] = m;
		n = MAX(n, at + 1);
	}
	io->mounts = v;
	io->nmounts = n;
	return 0;
}

/* --- the table ------------------------------------------------------------------------------ */

struct kind {
	const char *name;
	int (*check)(const struct json *element, struct error *err);
	int (*apply)(const struct json *list, struct arena *a, struct container_spec *io,
		     struct error *err); /* NULL: CRI has no field for it */
};

static const struct kind kinds[] = {
	{ "env", check_env, apply_env },
	{ "deviceNodes", cdi_edits_check_node, apply_nodes },
	{ "mounts", check_mount, apply_mounts },
	{ "additionalGids", check_gid, apply_gids },
	{ "hooks", check_hook, NULL },
};

static const struct kind *cdi_edits_kind_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_eqz(name, kinds[i].name))
			return &kinds[i];
	}
	return NULL;
}

static int check_kind(const struct kind *k, const struct json *list, struct error *err)
{
	if (json_is(list, JSON_NULL))
		return 0;
	if (!json_is(list, JSON_ARRAY))
		return error_set(err, ERR_INVALID, "%s is not a list", k->name);
	if (json_count(list) > CDI_EDITS_MAX)
		return error_set(err, ERR_TOO_LARGE, "more than %d of %s", CDI_EDITS_MAX, k->name);
	JSON_FOREACH (it, list) {
		int r = k->check(it, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int cdi_edits_check(const struct json *edits, struct error *err)
{
	if (!edits || json_is(edits, JSON_NULL))
		return 0;
	if (!json_is(edits, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "containerEdits is not an object");
	JSON_FOREACH (it, edits) {
		const struct kind *k = cdi_edits_kind_of(json_key(it));
		int r = k ? check_kind(k, it, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int cdi_edits_refuse(const struct json *member, struct error *err)
{
	const struct json *first = json_first(member);

	if (str_eqz(json_key(member), "hooks"))
		return error_set(
			err, ERR_UNIMPLEMENTED,
			"the %.*s hook %.*s needs a container runtime that does CDI itself",
			STR_ARG(json_text_at(first, "hookName")),
			STR_ARG(json_text_at(first, "path")));
	return error_set(err, ERR_UNIMPLEMENTED,
			 "%.*s needs a container runtime that does CDI itself",
			 STR_ARG(json_key(member)));
}

int cdi_edits_apply(const struct json *edits, struct arena *a, struct container_spec *io,
		    struct error *err)
{
	JSON_FOREACH (it, edits) {
		const struct kind *k = cdi_edits_kind_of(json_key(it));
		int r;

		if (json_is(it, JSON_NULL) || (json_is_container(it) && json_count(it) == 0))
			continue;
		r = k && k->apply ? k->apply(it, a, io, err) : cdi_edits_refuse(it, err);
		if (r < 0)
			return r;
	}
	return 0;
}
