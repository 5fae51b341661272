/*
 * Sets up each kind of volume. Setting one up again is harmless and writes only changes. An
 * emptyDir gets its owner once, before a container uses it: a file beside the volumes marks it as
 * ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "base/report/log.h"
#include "net/loop/loop.h"
#include "node/volumes/dir.h"
#include "node/volumes/subpath.h"
#include "node/volumes/volumes_impl.h"
#include "node/volumes/writer.h"

#define MEMORY_MAX (INT64_MAX / 8)

static const struct {
	const char *type, *dir;
} kinds[] = {
	[VOLUME_EMPTY_DIR] = { "emptyDir", "kubernetes.io~empty-dir" },
	[VOLUME_HOST_PATH] = { "hostPath", NULL },
	[VOLUME_CONFIG_MAP] = { "configMap", "kubernetes.io~configmap" },
	[VOLUME_SECRET] = { "secret", "kubernetes.io~secret" },
	[VOLUME_DOWNWARD] = { "downwardAPI", "kubernetes.io~downward-api" },
	[VOLUME_PROJECTED] = { "projected", "kubernetes.io~projected" },
};

/* --- kinds and paths ------------------------------------------------------------------------ */

enum volume_kind volume_kind(const struct json *volume)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (json_is(json_getz(volume, kinds[i].type), JSON_OBJECT))
			return (enum volume_kind)i;
	}
	return VOLUME_OTHER;
}

/* The type as the API names it ("nfs"); empty if it has none. */
static struct str type_of(const struct json *volume)
{
	JSON_FOREACH (it, volume) {
		if (json_is(it, JSON_OBJECT))
			return json_key(it);
	}
	return STR_NULL;
}

struct json *volume_named(const struct pod *pod, struct str name)
{
	return json_find(json_getz(pod->spec, "volumes"), "name", name);
}

const char *volume_pod_dir(const struct volumes *v, struct str uid, struct arena *a)
{
	return arena_printf(a, "%s/%.*s", v->root, STR_ARG(uid));
}

const char *volume_path(const struct volumes *v, const struct pod *pod, const struct json *volume,
			struct arena *a)
{
	enum volume_kind kind = volume_kind(volume);

	if (kind == VOLUME_HOST_PATH)
		return arena_strdup(a, json_text_at(json_getz(volume, "hostPath"), "path"));
	return arena_printf(a, "%s/volumes/%s/%.*s", volume_pod_dir(v, pod->uid, a),
			    kinds[kind].dir, STR_ARG(json_text_at(volume, "name")));
}

/* --- hostPath ------------------------------------------------------------------------------- */

static const struct {
	const char *name, *words;
	mode_t format;
	bool create;
} host_types[] = {
	{ "DirectoryOrCreate", "directory", S_IFDIR, true },
	{ "Directory", "directory", S_IFDIR, false },
	{ "FileOrCreate", "file", S_IFREG, true },
	{ "File", "file", S_IFREG, false },
	{ "Socket", "socket file", S_IFSOCK, false },
	{ "CharDevice", "character device", S_IFCHR, false },
	{ "BlockDevice", "block device", S_IFBLK, false },
};

static const char *format_name(mode_t mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_types); i++) {
		if (!host_types[i].create && host_types[i].format == (mode & S_IFMT))
			return host_types[i].name;
	}
	return NULL;
}

static int make_host(const char *path, mode_t format, struct error *err)
{
	int fd;

	if (format == S_IFDIR)
		return volume_dir_make(path, 0755, err);
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "open %s", path);
	(void)close(fd);
	return 0;
}

static int check_host(const char *path, size_t type, struct error *err)
{
	const char *words = host_types[type].words;
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno == ENOENT && host_types[type].create)
			return make_host(path, host_types[type].format, err);
		if (errno != ENOENT)
			return error_set_errno(err, ERR_INVALID, errno,
					       "hostPath type check failed, %s is not a %s, unable "
					       "to determine its type",
					       path, words);
		return error_set(err, ERR_INVALID,
				 "hostPath type check failed, %s is not a %s, unable to determine "
				 "its type: path \"%s\" does not exist",
				 path, words, path);
	}
	if ((st.st_mode & S_IFMT) == host_types[type].format)
		return 0;
	if (!format_name(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "hostPath type check failed, %s is not a %s, unable to determine "
				 "its type: only recognise file, directory, socket, block device "
				 "and character device",
				 path, words);
	return error_set(err, ERR_INVALID, "hostPath type check failed: %s is not a %s, it's a %s",
			 path, words, format_name(st.st_mode));
}

static int set_up_host(const struct json *source, struct arena *a, struct error *err)
{
	struct str path = json_text_at(source, "path"), type = json_text_at(source, "type");
	const char *fault = volume_subpath_fault(path);

	if (fault)
		return error_set(err, ERR_INVALID, "invalid HostPath `%.*s`: %s", STR_ARG(path),
				 fault);
	if (type.n == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(host_types); i++) {
		if (str_eqz(type, host_types[i].name))
			return check_host(arena_strdup(a, path), i, err);
	}
	return error_set(err, ERR_INVALID, "%.*s is an invalid volume type", STR_ARG(type));
}

/* --- emptyDir, and folders of other volumes -------------------------------------------------- */

/* At most MEMORY_MAX, so that a few of them can be added. */
static int64_t memory_of(const struct json *v)
{
	struct quantity q;

	return quantity_read(v, &q) ? MIN(quantity_value(q), (int64_t)MEMORY_MAX) : 0;
}

/* The limit of a container, or of a pod's spec. */
static int64_t memory_limit(const struct json *v)
{
	return memory_of(json_getz(json_getz(json_getz(v, "resources"), "limits"), "memory"));
}

/*
 * The pod's memory limit as the kubelet computes it for the cgroup; 0 if it has none, because a
 * container has none. An init container without a limit counts as limited if sidecars before it
 * are, as upstream.
 */
static int64_t pod_memory(const struct pod *pod)
{
	struct pod_containers c = pod_containers(pod);
	int64_t overhead = memory_of(json_getz(json_getz(pod->spec, "overhead"), "memory"));
	int64_t main = 0, sidecars = 0, most = 0, now;

	if (memory_limit(pod->spec) > 0)
		return memory_limit(pod->spec) + overhead;
	while (pod_containers_next(&c) && c.kind != POD_EPHEMERAL) {
		now = memory_limit(c.container);
		if (c.kind == POD_MAIN)
			main = MIN(main + now, (int64_t)MEMORY_MAX);
		else
			now = MIN(sidecars + now, (int64_t)MEMORY_MAX);
		if (c.kind == POD_SIDECAR)
			sidecars = now;
		if (now <= 0)
			return 0;
		most = MAX(most, now);
	}
	return MAX(main + sidecars, most) + overhead;
}

static int64_t smaller(int64_t limit, int64_t other)
{
	return other > 0 && (limit == 0 || other < limit) ? other : limit;
}

/* Size limit of a volume in memory: the smallest of the node's, the pod's and the volume's. */
static int64_t memory_size(const struct volumes *v, const struct pod *pod, const struct json *size)
{
	return smaller(smaller(v->memory, pod_memory(pod)), memory_of(size));
}

/* A volume's folder: in memory if `memory`; failing that is an error if `must`. */
struct place {
	const char *dir;
	int64_t size;
	bool memory, must;
};

static int make_place(struct volumes *v, const struct place *p, struct error *err)
{
	struct error why;
	int r;

	r = volume_dir_make(p->dir, 0750, err);
	if (r == 0 && chmod(p->dir, 0777) < 0 && !p->memory)
		return error_set_errno(err, ERR_IO, errno, "chmod %s", p->dir);
	if (r < 0 || !p->memory)
		return r;
	r = volume_dir_mount_tmpfs(p->dir, p->size, &why);
	if (r < 0 && (p->must || (why.sys_errno != EPERM && why.sys_errno != EACCES))) {
		if (err)
			*err = why;
		return r;
	}
	if (r < 0 && !v->plain_told && v->log) {
		v->plain_told = true;
		log_warn(v->log,
			 "no permission to mount tmpfs: secrets are kept in normal folders on disk",
			 LOG_ERR(&why));
	}
	return 0;
}

static int set_ready(const char *path, struct arena *a, struct error *err)
{
	struct str dir = str_of(path, (size_t)(strrchr(path, '/') - path));
	int fd, r;

	r = volume_dir_make(arena_strdup(a, dir), 0750, err);
	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "create %s", path);
	(void)close(fd);
	return 0;
}

static int set_up_empty(struct volumes *v, const struct volume_context *c,
			const struct json *volume, struct arena *a, struct error *err)
{
	const struct json *source = json_getz(volume, "emptyDir");
	struct str medium = json_text_at(source, "medium"), name = json_text_at(volume, "name");
	const char *ready = arena_printf(a, "%s/plugins/kubernetes.io~empty-dir/%.*s/ready",
					 volume_pod_dir(v, c->pod->uid, a), STR_ARG(name));
	struct volume_owner owner = { .group = c->fs_group };
	struct place p = { .dir = volume_path(v, c->pod, volume, a), .must = true };
	int64_t mode = json_i64_at(source, "mode", -1);
	int r;

	if (str_starts(medium, STR("HugePages")))
		return error_set(err, ERR_UNIMPLEMENTED,
				 "emptyDir with medium %.*s is not supported by this node",
				 STR_ARG(medium));
	if (medium.n > 0 && !str_eqz(medium, "Memory"))
		return error_set(err, ERR_INVALID, "unknown storage medium \"%.*s\"",
				 STR_ARG(medium));
	p.memory = medium.n > 0;
	if (access(ready, F_OK) == 0 && access(p.dir, F_OK) == 0 &&
	    (!p.memory || volume_dir_is_mount(p.dir)))
		return 0;
	if (p.memory)
		p.size = memory_size(v, c->pod, json_getz(source, "sizeLimit"));
	r = make_place(v, &p, err);
	if (r < 0)
		return r;
	if (mode >= 0 && chmod(p.dir, (mode_t)mode & 01777) < 0)
		return error_set_errno(err, ERR_IO, errno, "chmod %s", p.dir);
	volume_dir_own(AT_FDCWD, p.dir, &owner);
	return set_ready(ready, a, err);
}

/* --- volumes from the API ------------------------------------------------------------------- */

/* The part of the path below `mine`; else empty. */
static struct str setup_below(struct str path, struct str mine)
{
	while (mine.n > 1 && mine.p[mine.n - 1] == '/')
		mine.n--;
	if (!str_starts(path, mine) || path.n <= mine.n + 1 || path.p[mine.n] != '/')
		return STR_NULL;
	return str_skip(path, mine.n + 1);
}

/*
 * Creates folders in the volume where the container mounts other volumes, because the volume is
 * read-only for the runtime.
 */
static int nest_in(const struct json *mounts, struct str name, struct str mine, const char *dir,
		   struct error *err)
{
	JSON_FOREACH (it, mounts) {
		struct str rest = setup_below(json_text_at(it, "mountPath"), mine);
		int fd = -1, r;

		if (rest.n == 0 || str_eq(json_text_at(it, "name"), name))
			continue;
		r = volume_subpath_open(dir, rest, 0755, &fd, err);
		if (r < 0)
			return error_wrap(err, r, "unable to create nested volume mountpoints");
		(void)close(fd);
	}
	return 0;
}

static int make_nested(const struct pod *pod, struct str name, const char *dir, struct error *err)
{
	struct pod_containers c = pod_containers(pod);
	int r = 0;

	while (r == 0 && pod_containers_next(&c)) {
		const struct json *mounts = json_getz(c.container, "volumeMounts");

		JSON_FOREACH (it, mounts) {
			struct str at = json_text_at(it, "mountPath");

			if (r == 0 && str_eq(json_text_at(it, "name"), name))
				r = nest_in(mounts, name, at, dir, err);
		}
	}
	return r;
}

static int set_up_files(struct volumes *v, const struct volume_context *c,
			const struct json *volume, struct arena *a, struct error *err)
{
	struct place p = { .dir = volume_path(v, c->pod, volume, a),
			   .size = memory_size(v, c->pod, NULL),
			   .memory = volume_kind(volume) != VOLUME_CONFIG_MAP };
	struct volume_owner owner = { .group = c->fs_group, .readonly = true };
	struct volume_payload payload;
	int r;

	volume_payload_init(&payload, a);
	r = volume_payload_make(c, volume, &payload, err);
	if (r == 0 && (access(p.dir, F_OK) < 0 || (p.memory && !volume_dir_is_mount(p.dir))))
		r = make_place(v, &p, err);
	if (r == 0) {
		volume_dir_own(AT_FDCWD, p.dir, &owner);
		r = make_nested(c->pod, json_text_at(volume, "name"), p.dir, err);
	}
	if (r == 0)
		r = volume_writer_write(p.dir, &payload, &owner, clock_wall(loop_clock(v->loop)),
					NULL, err);
	volume_payload_release(&payload);
	return r;
}

int volume_set_up(struct volumes *v, const struct volume_context *c, const struct json *volume,
		  struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct str type;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!volume_is_plain(json_text_at(volume, "name")))
		return error_set(err, ERR_INVALID, "not a volume's name");
	switch (volume_kind(volume)) {
	case VOLUME_EMPTY_DIR:
		return set_up_empty(v, c, volume, &a, err);
	case VOLUME_HOST_PATH:
		return set_up_host(json_getz(volume, "hostPath"), &a, err);
	case VOLUME_OTHER:
		type = type_of(volume);
		return error_set(err, ERR_UNIMPLEMENTED,
				 "volumes of type %.*s are not supported by this node",
				 STR_ARG(type));
	default:
		return set_up_files(v, c, volume, &a, err);
	}
}
