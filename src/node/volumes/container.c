/*
 * A container's mounts. Errors about subPath do not show what was found on the disk: the pod's
 * author may not be allowed to know.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/volumes/dir.h"
#include "node/volumes/subpath.h"
#include "node/volumes/volumes_impl.h"

#define ETC_HOSTS "/etc/hosts"

struct mounts {
	struct volumes *volumes;
	struct pod *pod;
	const struct json *container;
	const struct volumes_paths *paths;
	struct arena *arena;
	struct runtime_mount *v;
	size_t n;
};

static struct str container_name(const struct mounts *m)
{
	return json_text_at(m->container, "name");
}

/* --- subPath -------------------------------------------------------------------------------- */

/* Creates an empty folder or file as the mount point for the descriptor's file. */
static int make_target(const char *target, int fd, struct error *err)
{
	struct stat st;
	int made, r;

	r = volume_dir_unmount_below(target, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return volume_dir_make(target, 0750, err);
	made = open(target, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (made < 0)
		return error_set_errno(err, ERR_IO, errno, "create %s", target);
	(void)close(made);
	return 0;
}

/* The path of an open file, for an agent that may not mount. */
static int path_of(int fd, struct arena *a, const char **ret_path, struct error *err)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || n == (ssize_t)sizeof(path))
		return error_set_errno(err, ERR_IO, errno, "read %s", link);
	*ret_path = arena_strdup(a, str_of(path, (size_t)n));
	return 0;
}

static int bind_subpath(struct mounts *m, int fd, struct str volume, size_t index,
			const char **ret_path, struct error *err)
{
	struct arena *a = m->arena;
	const char *dir = arena_printf(a, "%s/volume-subpaths/%.*s/%.*s",
				       volume_pod_dir(m->volumes, m->pod->uid, a), STR_ARG(volume),
				       STR_ARG(container_name(m)));
	const char *target = arena_printf(a, "%s/%zu", dir, index);
	struct error why = { 0 };
	int r;

	r = volume_dir_make(dir, 0750, err);
	if (r == 0)
		r = make_target(target, fd, err);
	if (r < 0)
		return r;
	r = volume_dir_bind(fd, target, &why);
	if (r < 0 && (why.sys_errno == EPERM || why.sys_errno == EACCES))
		return path_of(fd, a, ret_path, err);
	if (r < 0)
		(void)error_copy(err, &why);
	*ret_path = target;
	return r;
}

static int find_subpath(struct mounts *m, const struct json *mount, struct str subpath,
			const char **io_path, struct error *err)
{
	struct str volume = json_text_at(mount, "name");
	size_t index = 0;
	struct stat st;
	int fd = -1, r;

	JSON_FOREACH (it, json_getz(m->container, "volumeMounts")) {
		if (it == mount)
			break;
		index++;
	}
	if (stat(*io_path, &st) < 0)
		return error_set_errno(err, ERR_IO, errno, "stat %s", *io_path);
	r = volume_subpath_open(*io_path, subpath, st.st_mode & 07777, &fd, NULL);
	if (r < 0)
		return error_set(
			err, ERR_INVALID,
			"failed to create subPath directory for volumeMount \"%.*s\" of container "
			"\"%.*s\"",
			STR_ARG(volume), STR_ARG(container_name(m)));
	r = bind_subpath(m, fd, volume, index, io_path, NULL);
	(void)close(fd);
	if (r < 0)
		return error_set(
			err, ERR_IO,
			"failed to prepare subPath for volumeMount \"%.*s\" of container \"%.*s\"",
			STR_ARG(volume), STR_ARG(container_name(m)));
	return 0;
}

static int read_subpath(struct mounts *m, const struct json *mount, struct str *ret_subpath,
			struct error *err)
{
	static const struct runtime_pairs none;
	struct str expr = json_text_at(mount, "subPathExpr");
	const char *fault;
	int r;

	*ret_subpath = json_text_at(mount, "subPath");
	if (expr.n > 0) {
		r = env_expand_all(expr, m->paths->env ? m->paths->env : &none, m->arena,
				   ret_subpath, err);
		if (r < 0)
			return r;
	}
	if (ret_subpath->n > 0 && ret_subpath->p[0] == '/')
		return error_set(err, ERR_INVALID,
				 "error SubPath `%.*s` must not be an absolute path",
				 STR_ARG(*ret_subpath));
	fault = volume_subpath_fault(*ret_subpath);
	if (fault)
		return error_set(err, ERR_INVALID, "unable to provision SubPath `%.*s`: %s",
				 STR_ARG(*ret_subpath), fault);
	return 0;
}

/* --- volumeMounts --------------------------------------------------------------------------- */

static int read_propagation(const struct json *mount, enum runtime_propagation *ret_p,
			    struct error *err)
{
	struct str s = json_text_at(mount, "mountPropagation");

	if (s.n == 0 || str_eqz(s, "None"))
		*ret_p = RUNTIME_PRIVATE;
	else if (str_eqz(s, "HostToContainer"))
		*ret_p = RUNTIME_HOST_TO_CONTAINER;
	else if (str_eqz(s, "Bidirectional"))
		*ret_p = RUNTIME_BIDIRECTIONAL;
	else
		return error_set(err, ERR_INVALID, "invalid MountPropagation mode: \"%.*s\"",
				 STR_ARG(s));
	return 0;
}

static int add_mount(struct mounts *m, const struct json *mount, struct error *err)
{
	struct str name = json_text_at(mount, "name"), at = json_text_at(mount, "mountPath");
	const struct json *volume = volume_named(m->pod, name);
	enum volume_kind kind = volume_kind(volume);
	struct runtime_mount *out = &m->v[m->n];
	struct str subpath;
	const char *path;
	int r;

	if (!volume || kind == VOLUME_OTHER)
		return error_set(err, ERR_INVALID,
				 "cannot find volume \"%.*s\" to mount into container \"%.*s\"",
				 STR_ARG(name), STR_ARG(container_name(m)));
	if (str_eqz(json_text_at(mount, "recursiveReadOnly"), "Enabled"))
		return error_set(err, ERR_UNIMPLEMENTED,
				 "volumeMount \"%.*s\": recursiveReadOnly Enabled is not supported "
				 "by this node",
				 STR_ARG(name));
	r = read_subpath(m, mount, &subpath, err);
	if (r < 0)
		return r;
	path = volume_path(m->volumes, m->pod, volume, m->arena);
	if (subpath.n > 0)
		r = find_subpath(m, mount, subpath, &path, err);
	if (r == 0)
		r = read_propagation(mount, &out->propagation, err);
	if (r < 0)
		return r;
	out->host_path = str_from(path);
	out->container_path = at;
	if (at.n == 0 || at.p[0] != '/')
		out->container_path = str_from(arena_printf(m->arena, "/%.*s", STR_ARG(at)));
	out->readonly = json_true_at(mount, "readOnly") ||
			(kind != VOLUME_EMPTY_DIR && kind != VOLUME_HOST_PATH);
	m->n++;
	return 0;
}

static bool is_mounted(const struct mounts *m, const char *at)
{
	for (size_t i = 0; i < m->n; i++) {
		if (str_eqz(m->v[i].container_path, at))
			return true;
	}
	return false;
}

/* --- our own files -------------------------------------------------------------------------- */

static void add_file(struct mounts *m, const char *path, struct str at)
{
	m->v[m->n++] = (struct runtime_mount){ .container_path = at, .host_path = str_from(path) };
}

static int add_hosts(struct mounts *m, struct error *err)
{
	const char *dir = volume_pod_dir(m->volumes, m->pod->uid, m->arena);
	const char *path = arena_printf(m->arena, "%s/etc-hosts", dir);
	int r;

	if (is_mounted(m, ETC_HOSTS) || (m->paths->npod_ips == 0 && !pod_host_network(m->pod)))
		return 0;
	r = volume_write_hosts(m->volumes, m->pod, m->paths, path, err);
	if (r == 0)
		add_file(m, path, STR(ETC_HOSTS));
	return r;
}

static int add_termination_log(struct mounts *m, struct error *err)
{
	struct str at = json_text_at(m->container, "terminationMessagePath");
	const char *dir = arena_printf(m->arena, "%s/containers/%.*s",
				       volume_pod_dir(m->volumes, m->pod->uid, m->arena),
				       STR_ARG(container_name(m)));
	const char *path = arena_printf(m->arena, "%s/%u", dir, m->paths->attempt);
	int fd, r;

	if (at.n == 0)
		return 0;
	r = volume_dir_make(dir, 0750, err);
	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0 || fchmod(fd, 0666) < 0)
		r = error_set_errno(err, ERR_IO, errno, "create %s", path);
	if (fd >= 0)
		(void)close(fd);
	if (r == 0)
		add_file(m, path,
			 at.p[0] == '/' ? at
					: str_from(arena_printf(m->arena, "/%.*s", STR_ARG(at))));
	return r;
}

int volumes_container(struct volumes *v, struct pod *pod, const struct json *container,
		      const struct volumes_paths *paths, struct arena *a,
		      struct runtime_mount **ret_mounts, size_t *ret_n, struct error *err)
{
	const struct json *wanted = json_getz(container, "volumeMounts");
	struct mounts m = {
		.volumes = v, .pod = pod, .container = container, .paths = paths, .arena = a
	};
	int r;

	if (json_count(json_getz(container, "volumeDevices")) > 0)
		return error_set(
			err, ERR_UNIMPLEMENTED,
			"volumeDevices of container \"%.*s\" are not supported by this node",
			STR_ARG(json_text_at(container, "name")));
	if (!volume_is_plain(container_name(&m)) || !volume_is_plain(pod->uid))
		return error_set(err, ERR_INVALID, "not a container's name or a pod's uid");
	m.v = ARENA_ARRAY(a, struct runtime_mount, json_count(wanted) + 2);
	r = volume_dir_make(volume_pod_dir(v, pod->uid, a), 0750, err);
	JSON_FOREACH (it, wanted) {
		if (r == 0)
			r = add_mount(&m, it, err);
	}
	if (r == 0)
		r = add_hosts(&m, err);
	if (r == 0)
		r = add_termination_log(&m, err);
	if (r < 0)
		return r;
	*ret_mounts = m.v;
	*ret_n = m.n;
	return 0;
}
