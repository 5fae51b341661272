/*
 * Uses CDI version 0.5.0: the first with hostPath for device nodes, and with names that may begin
 * with a digit, as UIDs do.
 */
#include "drivers/prepare/cdi_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/abi.h"

static bool is_path(const char *p)
{
	return p && p[0] == '/' && str_is_utf8(str_from(p));
}

static void cdi_file_put(struct arena *a, struct json *to, const char *key, const char *value)
{
	json_put_str(a, to, key, arena_str(a, str_from(value)));
}

/* Adds "env" to the edits or to a hook. */
static int add_env(struct arena *a, struct json *edits, const char *const *env, struct error *err)
{
	struct json *list;

	if (!env || !*env)
		return 0;
	list = json_need_array(a, edits, "env");
	for (; *env; env++) {
		struct str s = str_from(*env);

		if (str_chr(s, '=') < 1 || !str_is_utf8(s))
			return error_set(err, ERR_INVALID, "\"%s\" is not NAME=VALUE", *env);
		json_append(list, json_make_str(a, arena_str(a, s)));
	}
	return 0;
}

/* The type decides whether the node has numbers; a pipe has none. */
static int add_numbers(struct arena *a, struct json *node, const struct dp_node *n,
		       struct error *err)
{
	const char *type = n->type ? n->type : "";

	if (n->type && strcmp(type, "c") != 0 && strcmp(type, "b") != 0 && strcmp(type, "p") != 0)
		return error_set(err, ERR_INVALID, "\"%s\": a device node has type c, b or p",
				 type);
	if (n->type)
		cdi_file_put(a, node, "type", type);
	if (!n->has_numbers)
		return 0;
	if (strcmp(type, "c") != 0 && strcmp(type, "b") != 0)
		return error_set(err, ERR_INVALID,
				 "a device node with numbers needs the type c or b");
	if (n->major < 0 || n->major > UINT32_MAX || n->minor < 0 || n->minor > UINT32_MAX)
		return error_set(err, ERR_INVALID, "device numbers have 32 bits");
	json_put_i64(a, node, "major", n->major);
	json_put_i64(a, node, "minor", n->minor);
	return 0;
}

static int add_access(struct arena *a, struct json *node, const struct dp_node *n,
		      const char *permissions, struct error *err)
{
	if (n->has_mode && n->mode > 07777)
		return error_set(err, ERR_INVALID, "%o is not a file mode such as 0666", n->mode);
	if (n->has_mode)
		json_put_i64(a, node, "fileMode", n->mode);
	cdi_file_put(a, node, "permissions", permissions);
	if (n->has_owner) {
		json_put_i64(a, node, "uid", n->uid);
		json_put_i64(a, node, "gid", n->gid);
	}
	return 0;
}

static int add_node(struct arena *a, struct json *list, const struct dp_node *n, struct error *err)
{
	struct json *node = json_make_object(a);
	const char *permissions = n->permissions ? n->permissions : "rw";
	int r;

	if (!is_path(n->path) || (n->host_path && !is_path(n->host_path)))
		return error_set(err, ERR_INVALID, "a device node needs absolute paths");
	if (permissions[strspn(permissions, "rwm")] != 0)
		return error_set(err, ERR_INVALID, "\"%s\": permissions are of r, w, m",
				 permissions);
	cdi_file_put(a, node, "path", n->path);
	if (n->host_path)
		cdi_file_put(a, node, "hostPath", n->host_path);
	r = add_numbers(a, node, n, err);
	if (r == 0)
		r = add_access(a, node, n, permissions, err);
	json_append(list, node);
	return r;
}

static int add_mount(struct arena *a, struct json *list, const struct dp_mount *m,
		     struct error *err)
{
	struct json *mount = json_make_object(a), *options;

	if (!is_path(m->path) || !is_path(m->host_path))
		return error_set(err, ERR_INVALID, "a mount needs absolute paths");
	cdi_file_put(a, mount, "hostPath", m->host_path);
	cdi_file_put(a, mount, "containerPath", m->path);
	options = json_need_array(a, mount, "options");
	json_append(options, json_make_str(a, m->read_only ? STR("ro") : STR("rw")));
	json_append(options, json_make_str(a, STR("nosuid")));
	json_append(options, json_make_str(a, STR("nodev")));
	json_append(options, json_make_str(a, STR("bind")));
	json_append(list, mount);
	return 0;
}

static bool is_hook_name(const char *name)
{
	static const char *const names[] = { "prestart",       "createRuntime", "createContainer",
					     "startContainer", "poststart",     "poststop" };

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int add_hook(struct arena *a, struct json *list, const struct dp_hook *h, struct error *err)
{
	struct json *hook = json_make_object(a);
	int r;

	if (!is_hook_name(h->name))
		return error_set(err, ERR_INVALID, "\"%s\" is not a hook such as createContainer",
				 h->name ? h->name : "");
	if (!is_path(h->path))
		return error_set(err, ERR_INVALID, "a hook needs an absolute path");
	cdi_file_put(a, hook, "hookName", h->name);
	cdi_file_put(a, hook, "path", h->path);
	for (const char *const *arg = h->args; arg && *arg; arg++) {
		if (!str_is_utf8(str_from(*arg)))
			return error_set(err, ERR_INVALID, "an argument of a hook is not UTF-8");
		json_append(json_need_array(a, hook, "args"),
			    json_make_str(a, arena_str(a, str_from(*arg))));
	}
	r = add_env(a, hook, h->env, err);
	if (h->timeout_s > 0)
		json_put_i64(a, hook, "timeout", h->timeout_s);
	json_append(list, hook);
	return r;
}

static int add_hooks(struct arena *a, struct json *edits, const struct dp_edits *e,
		     struct error *err)
{
	struct dp_hook h;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < e->nhooks; i++) {
		if (!ABI_READ(&h, e->hooks, i))
			return error_set(err, ERR_INVALID, "struct dp_hook has no size");
		r = add_hook(a, json_need_array(a, edits, "hooks"), &h, err);
	}
	return r;
}

int cdi_file_edit(struct arena *a, struct json *edits, const struct dp_edits *given,
		  struct error *err)
{
	struct dp_edits e;
	struct dp_mount m;
	struct dp_node n;
	int r;

	if (!given || !ABI_READ_GROWN(&e, given, 0, hooks))
		return error_set(err, ERR_INVALID, "struct dp_edits has no size");
	r = add_env(a, edits, e.env, err);
	for (uint32_t i = 0; r == 0 && i < e.nnodes; i++) {
		if (!ABI_READ_GROWN(&n, e.nodes, i, type))
			return error_set(err, ERR_INVALID, "struct dp_node has no size");
		r = add_node(a, json_need_array(a, edits, "deviceNodes"), &n, err);
	}
	for (uint32_t i = 0; r == 0 && i < e.nmounts; i++) {
		if (!ABI_READ(&m, e.mounts, i))
			return error_set(err, ERR_INVALID, "struct dp_mount has no size");
		r = add_mount(a, json_need_array(a, edits, "mounts"), &m, err);
	}
	return r == 0 ? add_hooks(a, edits, &e, err) : r;
}

struct json *cdi_file_device(struct arena *a, struct str name, struct json *edits)
{
	struct json *device = json_make_object(a);

	json_put_str(a, device, "name", name);
	json_setz(device, "containerEdits", edits);
	return device;
}

struct str cdi_file_id(struct arena *a, const struct cdi_file *f, struct str name)
{
	return str_from(arena_printf(a, "k8s.%s/%s=%.*s", f->driver, f->class, STR_ARG(name)));
}

bool cdi_file_is_safe(struct str id)
{
	if (id.n == 0 || id.n > 128)
		return false;
	for (size_t i = 0; i < id.n; i++) {
		char c = id.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9');

		if (!plain && (i == 0 || i == id.n - 1 || !strchr("-_.", c)))
			return false;
	}
	return true;
}

static struct str file_path(const struct cdi_file *f, struct buf *path)
{
	(void)buf_printf(path, "%s/k8s.%s-%s-%s.json", f->dir, f->driver, f->class, f->id);
	return buf_str(path);
}

int cdi_file_write(const struct cdi_file *f, struct arena *a, struct json *devices,
		   struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_CLAIM_MAX);
	struct json_style style = { .indent = 2 };
	struct json *tree = json_make_object(a);
	int r;

	json_put_str(a, tree, "cdiVersion", STR("0.5.0"));
	json_put_str(a, tree, "kind", str_from(arena_printf(a, "k8s.%s/%s", f->driver, f->class)));
	json_setz(tree, "devices", devices);
	r = json_print(&text, tree, &style);
	if (r < 0)
		return error_set(err, ERR_TOO_LARGE, "the CDI file would be too large");
	(void)buf_addc(&text, '\n');
	r = folder_make(f->dir, 0755, err);
	if (r < 0)
		return r;
	/* Readable by all: runtimes may run as a different user, and it has no secrets. */
	return file_write_atomic(file_path(f, &path).p, buf_str(&text), 0644, err);
}

bool cdi_file_exists(const struct cdi_file *f)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);

	return access(file_path(f, &path).p, F_OK) == 0;
}

int cdi_file_remove(const struct cdi_file *f, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);

	if (unlink(file_path(f, &path).p) < 0 && errno != ENOENT)
		return error_set_errno(err, ERR_IO, errno, "cannot remove %s", path.p);
	return 0;
}
