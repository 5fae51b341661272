/*
 * Labels in the runtime do not say which agent made a pod: a kubelet's are the same. But its uid,
 * which is unique, names the folder of its volumes. Files are removed without following links and
 * without crossing into other file systems, in case a mount could not be removed.
 */
#include "cli/up/remains.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "cli/up/check.h"
#include "net/loop/loop.h"
#include "node/runtime/cri.h"

enum { REMAINS_MAX = 100000, FILES_OPEN = 16 };

#define MOUNTINFO_MAX (64UL * MIB)

/* --- the runtime ------------------------------------------------------------------------------ */

/* One call of the runtime after the other. */
struct caller {
	struct up_remains *remains;
	struct loop *loop;
	struct runtime *runtime;
	struct error err;
	bool done;
};

static const char *remains_text(struct up_remains *r, struct str text)
{
	return arena_strdup(&r->cli->arena, text);
}

static void call_end(struct caller *c, const struct error *err)
{
	if (err)
		c->err = *err;
	c->done = true;
	loop_stop(c->loop);
}

static void on_called(void *arg, const struct error *err)
{
	call_end(arg, err);
}

static int call_wait(struct caller *c, struct error *err)
{
	while (!c->done)
		loop_run(c->loop);
	c->done = false;
	return c->err.code == ERR_OK ? 0 : error_copy(err, &c->err);
}

static void caller_on_last(struct loop_timer *t)
{
	loop_stop(t->loop);
}

static void caller_close(struct caller *c)
{
	struct loop_timer last;

	runtime_free(c->runtime);
	if (c->loop) {
		/* Connections free their memory in the next turn. */
		loop_timer_init(&last, c->loop, caller_on_last);
		loop_timer_start(&last, 0);
		loop_run(c->loop);
	}
	loop_free(c->loop);
}

static int caller_open(struct caller *c, struct up_remains *r, struct error *err)
{
	struct runtime_cri_opts o = { .endpoint = r->endpoint };
	int ret;

	*c = (struct caller){ .remains = r };
	ret = loop_new(&c->loop, err);
	o.loop = c->loop;
	return ret < 0 ? ret : runtime_cri_new(&o, &c->runtime, err);
}

/* --- pods ------------------------------------------------------------------------------------- */

/* Whether a node of ours has a folder for the pod. A uid is a name, never a path. */
static bool has_folder(struct up_remains *r, struct str uid)
{
	DIR *nodes = opendir(r->layout->nodes);
	const struct dirent *e;
	bool found = false;

	while (nodes && !found && uid.n > 0 && str_chr(uid, '/') < 0 && (e = readdir(nodes))) {
		if (e->d_name[0] == '.')
			continue;
		found = access(arena_printf(&r->cli->arena, "%s/%s/pods/%.*s", r->layout->nodes,
					    e->d_name, STR_ARG(uid)),
			       F_OK) == 0;
	}
	if (nodes)
		(void)closedir(nodes);
	return found;
}

static void add_pod(struct up_remains *r, const struct runtime_pod *p)
{
	struct arena *a = &r->cli->arena;
	struct up_remains_pod pod = {
		.name = arena_printf(a, "%.*s/%.*s", STR_ARG(p->ns), STR_ARG(p->name)),
		.sandboxes = ARENA_ARRAY(a, const char *, p->nsandboxes + 1),
		.nsandboxes = p->nsandboxes,
	};

	for (size_t i = 0; i < p->nsandboxes; i++)
		pod.sandboxes[i] = remains_text(r, p->sandboxes[i].id);
	(void)vec_push(&r->pods, pod);
}

static void on_pods(void *arg, const struct runtime_pods *pods, const struct error *err)
{
	struct caller *c = arg;

	for (size_t i = 0; !err && i < pods->n; i++)
		if (has_folder(c->remains, pods->v[i].uid))
			add_pod(c->remains, &pods->v[i]);
	call_end(c, err);
}

static int find_pods(struct up_remains *r, struct error *err)
{
	struct caller c;
	int ret = caller_open(&c, r, err);

	if (ret == 0) {
		c.runtime->ops->list(c.runtime, on_pods, &c);
		ret = call_wait(&c, err);
	}
	caller_close(&c);
	return ret;
}

static int remove_pod(struct caller *c, const struct up_remains_pod *p, struct error *err)
{
	const struct runtime_ops *ops = c->runtime->ops;
	int r = 0;

	for (size_t i = 0; i < p->nsandboxes && r == 0; i++) {
		ops->stop_sandbox(c->runtime, str_from(p->sandboxes[i]), on_called, c);
		r = call_wait(c, err);
		if (r == 0) {
			ops->remove_sandbox(c->runtime, str_from(p->sandboxes[i]), on_called, c);
			r = call_wait(c, err);
		}
	}
	return r < 0 ? error_wrap(err, r, "cannot remove the pod %s", p->name) : 0;
}

static int remove_pods(struct up_remains *r, struct error *err)
{
	struct caller c;
	int ret;

	if (r->pods.n == 0)
		return 0;
	ret = caller_open(&c, r, err);
	for (size_t i = 0; i < r->pods.n && ret == 0; i++)
		ret = remove_pod(&c, &r->pods.v[i], err);
	caller_close(&c);
	return ret;
}

/* --- mounts ----------------------------------------------------------------------------------- */

/* The kernel writes a space as "\040". */
static const char *unescape(struct up_remains *r, struct str text)
{
	char *out = arena_strdup(&r->cli->arena, text), *to = out;

	for (const char *from = out; *from; to++) {
		bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] &&
			     from[3];

		*to = octal ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'))
			    : *from;
		from += octal ? 4 : 1;
	}
	*to = '\0';
	return out;
}

/* Later mounts may be on earlier ones. The directory itself may be a mount of its owner's. */
static int find_mounts(struct up_remains *r, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MOUNTINFO_MAX);
	char real[PATH_MAX];
	struct str rest, line, field = STR_NULL, below;
	int ret = file_read("/proc/self/mountinfo", &text, err);

	if (ret < 0 || !realpath(r->layout->dir, real))
		return ret;
	below = str_from(arena_printf(&r->cli->arena, "%s/", real));
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line)) {
		const char *path;

		for (int i = 0; i < 5; i++)
			(void)str_split(&line, ' ', &field);
		path = unescape(r, field);
		if (str_starts(str_from(path), below))
			(void)vec_push(&r->mounts, path);
	}
	for (size_t i = 0; i < r->mounts.n / 2; i++) {
		const char *path = r->mounts.v[i];

		r->mounts.v[i] = r->mounts.v[r->mounts.n - 1 - i];
		r->mounts.v[r->mounts.n - 1 - i] = path;
	}
	return 0;
}

static int remove_mounts(struct up_remains *r, struct error *err)
{
	for (size_t i = 0; i < r->mounts.n; i++) {
		const char *path = r->mounts.v[i];

		if (umount2(path, UMOUNT_NOFOLLOW) < 0 &&
		    umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) < 0 && errno != EINVAL)
			return error_set_errno(err, ERR_IO, errno, "cannot unmount %s", path);
	}
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* In the order in which they are removed: the state and the lock show whose directory it is. */
static const char *const remains_own[] = {
	"nodes",
	"cdi",
	"log",
	"kubeconfig",
	"store",
	"pki",
	"admin.kubeconfig",
	"server-id",
	"scheduler.yaml",
	"scheduler-plugin.so",
	"prometheus.json",
	"up.json",
	"up.lock",
};

static bool is_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(remains_own); i++)
		if (strcmp(name, remains_own[i]) == 0)
			return true;
	return false;
}

static int find_files(struct up_remains *r, struct error *err)
{
	DIR *d = opendir(r->layout->dir);
	const struct dirent *e;

	if (!d)
		return errno == ENOENT ? 0
				       : error_set_errno(err, ERR_IO, errno, "cannot read %s",
							 r->layout->dir);
	r->exists = true;
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    !is_own(e->d_name))
			(void)vec_push(&r->foreign, remains_text(r, str_from(e->d_name)));
	}
	(void)closedir(d);
	for (size_t i = 0; i < ARRAY_SIZE(remains_own); i++) {
		const char *path = arena_printf(&r->cli->arena, "%s/%s", r->layout->dir,
						remains_own[i]);

		if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			(void)vec_push(&r->files, path);
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
		      struct FTW *at UNUSED)
{
	return remove(path) < 0 ? errno : 0;
}

static int remove_files(struct up_remains *r, struct error *err)
{
	for (size_t i = 0; i < r->files.n; i++) {
		int failed = nftw(r->files.v[i], remove_one, FILES_OPEN,
				  FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

		if (failed != 0)
			return error_set_errno(err, ERR_IO, failed < 0 ? errno : failed,
					       "cannot remove all of %s", r->files.v[i]);
	}
	if (r->foreign.n == 0 && r->exists && rmdir(r->layout->dir) < 0 && errno != EBUSY)
		return error_set_errno(err, ERR_IO, errno, "cannot remove %s", r->layout->dir);
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

int up_remains_find(struct up_remains *r, struct cli *cli, const struct up_layout *l,
		    const char *endpoint, struct error *err)
{
	const char *what;
	int ret;

	*r = (struct up_remains){ .cli = cli, .layout = l };
	vec_init(&r->pods, REMAINS_MAX);
	vec_init(&r->mounts, REMAINS_MAX);
	vec_init(&r->files, REMAINS_MAX);
	vec_init(&r->foreign, REMAINS_MAX);
	ret = find_files(r, err);
	if (ret == 0)
		ret = find_mounts(r, err);
	if (ret < 0 || access(l->nodes, F_OK) < 0)
		return ret;
	ret = up_check_runtime(cli, endpoint, &r->endpoint, &what, err);
	if (ret < 0) {
		r->endpoint = NULL;
		return endpoint ? ret : 0;
	}
	return find_pods(r, err);
}

int up_remains_remove(struct up_remains *r, struct error *err)
{
	int ret = remove_pods(r, err);

	if (ret == 0)
		ret = remove_mounts(r, err);
	return ret < 0 ? ret : remove_files(r, err);
}

void up_remains_release(struct up_remains *r)
{
	vec_release(&r->pods);
	vec_release(&r->mounts);
	vec_release(&r->files);
	vec_release(&r->foreign);
}
