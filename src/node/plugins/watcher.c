/*
 * Every notification leads to one walk at the end of the turn, which compares the folders with the
 * state known before. Folders are few and small, so a walk is cheaper than interpreting
 * notifications that may be merged, lost or late. A folder is watched before it is read, so that
 * files that appear in between are noticed.
 *
 * Changes are collected first and reported afterwards, removed sockets first. So a callback may do
 * anything, even free the watcher, whose memory then stays until the end of the turn.
 */
#include "node/plugins/watcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/ordered/omap.h"
#include "base/system/folder.h"
#include "net/loop/loop.h"
#include "node/node_limits.h"
#include "node/plugins/plugins_impl.h"

enum {
	LOOK_MS = 30 * 1000, /* in case a notification was lost */
	LOOK_BLIND_MS = 1000, /* while a folder cannot be watched */
};

/*
 * Distinguishes a file from another one under the same name. A socket's mtime is its creation time,
 * but only in ticks of the kernel, and an inode number may be reused within a tick. If the file
 * system provides handles, they include a generation.
 */
struct identity {
	dev_t dev;
	ino_t inode;
	struct timespec made;
	uint64_t handle; /* hash of the handle; 0: none */
};

struct watched_folder {
	struct plugin_watcher *owner;
	char *path;
	struct identity id;
	struct loop_watch *watch; /* NULL: could not be watched */
	uint64_t round; /* the last walk that saw it */
};

struct watched_socket {
	struct list link; /* in `fresh` or `gone` while results of a walk are reported */
	char *path;
	struct identity id;
	uint64_t round;
};

struct plugin_watcher {
	struct plugin_watcher_opts opts;
	char *dir;
	struct omap folders, sockets; /* by path */
	struct list fresh, gone;
	uint64_t round;
	bool blind; /* the last walk found a folder that cannot be watched or read */
	bool missing; /* the folder of another process does not exist yet */
	bool troubled; /* and that was reported */
	struct error trouble;
	bool freed;
	struct loop_task task;
	struct loop_timer timer;
};

static uint64_t handle_of(const char *path)
{
	struct {
		struct file_handle head;
		unsigned char room[MAX_HANDLE_SZ];
	} h = { .head.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	if (name_to_handle_at(AT_FDCWD, path, &h.head, &mount, AT_SYMLINK_FOLLOW) < 0)
		return 0;
	return hash_bytes(str_of(h.head.f_handle, h.head.handle_bytes), 0);
}

static struct identity identity_of(const char *path, const struct stat *st)
{
	return (struct identity){ st->st_dev, st->st_ino, st->st_mtim, handle_of(path) };
}

static bool is_same_file(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->handle == b->handle;
}

static bool watcher_is_same(const struct identity *a, const struct identity *b)
{
	return is_same_file(a, b) && a->made.tv_sec == b->made.tv_sec &&
	       a->made.tv_nsec == b->made.tv_nsec;
}

static void note_trouble(struct plugin_watcher *w, const struct error *err)
{
	if (!w->blind)
		w->trouble = *err;
	w->blind = true;
}

/* --- folders ------------------------------------------------------------------------- */

static void on_notice(void *arg, struct str name UNUSED, const struct error *err)
{
	struct watched_folder *f = arg;

	if (err)
		loop_watch_free(TAKE(f->watch));
	loop_defer(f->owner->opts.loop, &f->owner->task);
}

static void folder_free(struct watched_folder *f)
{
	if (f->watch)
		loop_watch_free(f->watch);
	free(f->path);
	free(f);
}

static struct watched_folder *folder_of(struct plugin_watcher *w, const char *path)
{
	struct watched_folder *f = omap_get(&w->folders, str_from(path));

	if (f)
		return f;
	f = XNEW(struct watched_folder);
	f->owner = w;
	f->path = xstrdup(path);
	(void)omap_put(&w->folders, str_from(f->path), f);
	return f;
}

static void watch_folder(struct plugin_watcher *w, const char *path, const struct stat *st)
{
	struct watched_folder *f = folder_of(w, path);
	struct identity id = identity_of(path, st);
	struct error err;

	f->round = w->round;
	if (f->watch && is_same_file(&f->id, &id))
		return;
	if (f->watch)
		loop_watch_free(TAKE(f->watch));
	f->id = id;
	if (loop_watch_new(w->opts.loop, path, on_notice, f, &f->watch, &err) < 0)
		note_trouble(w, &err);
}

/* --- a walk -------------------------------------------------------------------------- */

static void see_socket(struct plugin_watcher *w, const char *path, const struct stat *st)
{
	struct watched_socket *s = omap_get(&w->sockets, str_from(path));
	struct identity id = identity_of(path, st);
	struct error err;

	if (s && watcher_is_same(&s->id, &id)) {
		s->round = w->round;
		return;
	}
	if (s) {
		(void)omap_remove(&w->sockets, str_from(path));
		list_push_back(&w->gone, &s->link);
	}
	if (w->sockets.n >= PLUGIN_SOCKETS_MAX) {
		(void)error_set(&err, ERR_TOO_LARGE, "more than %d sockets; %s is not looked at",
				PLUGIN_SOCKETS_MAX, path);
		note_trouble(w, &err);
		return;
	}
	s = XNEW(struct watched_socket);
	s->path = xstrdup(path);
	s->id = id;
	s->round = w->round;
	(void)omap_put(&w->sockets, str_from(s->path), s);
	list_push_back(&w->fresh, &s->link);
}

static void watcher_walk(struct plugin_watcher *w, const char *path, unsigned depth);

static void see_entry(struct plugin_watcher *w, const char *path, unsigned depth)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		watcher_walk(w, path, depth + 1);
	else if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		see_socket(w, path, &st);
}

static void watcher_walk(struct plugin_watcher *w, const char *path, unsigned depth)
{
	char below[PLUGIN_PATH_MAX];
	struct dirent *e;
	struct error err;
	struct stat st;
	DIR *d;

	if (depth > PLUGIN_FOLDER_DEPTH_MAX || w->folders.n > PLUGIN_SOCKETS_MAX)
		return;
	if (stat(path, &st) == 0)
		watch_folder(w, path, &st);
	d = opendir(path);
	if (!d) {
		/* A folder that vanished meanwhile is not an error: the walk will not see it. */
		(void)error_set_errno(&err, ERR_IO, errno, "cannot read %s", path);
		w->missing = err.sys_errno == ENOENT && depth == 0 && w->opts.foreign;
		if (err.sys_errno != ENOENT || (depth == 0 && !w->missing))
			note_trouble(w, &err);
		return;
	}
	while ((e = readdir(d))) {
		int n = snprintf(below, sizeof(below), "%s/%s", path, e->d_name);

		if (e->d_name[0] != '.' && n > 0 && (size_t)n < sizeof(below))
			see_entry(w, below, depth);
	}
	(void)closedir(d);
}

/* Removes everything that the walk did not see. */
static void sweep(struct plugin_watcher *w)
{
	struct omap_cursor c;
	struct str at = STR_NULL;

	for (bool ok = omap_first(&w->sockets, &c); ok; ok = omap_seek_after(&w->sockets, &c, at)) {
		struct watched_socket *s = omap_value(&c);

		at = omap_key(&c);
		if (s->round == w->round)
			continue;
		(void)omap_remove(&w->sockets, at);
		list_push_back(&w->gone, &s->link);
	}
	for (bool ok = omap_first(&w->folders, &c); ok;) {
		struct watched_folder *f = omap_value(&c);

		if (f->round == w->round) {
			ok = omap_next(&c);
			continue;
		}
		(void)omap_remove(&w->folders, str_from(f->path));
		folder_free(f);
		ok = omap_first(&w->folders, &c);
	}
}

/* If several sockets are new at once, the oldest comes first: it registers first. */
static struct watched_socket *take_oldest(struct list *fresh)
{
	struct watched_socket *oldest = NULL;

	LIST_FOREACH (it, fresh) {
		struct watched_socket *s = LIST_ENTRY(it, struct watched_socket, link);

		if (!oldest || s->id.made.tv_sec < oldest->id.made.tv_sec ||
		    (s->id.made.tv_sec == oldest->id.made.tv_sec &&
		     s->id.made.tv_nsec < oldest->id.made.tv_nsec))
			oldest = s;
	}
	list_remove(&oldest->link);
	return oldest;
}

static void socket_free(struct watched_socket *s)
{
	free(s->path);
	free(s);
}

static void watcher_tell(struct plugin_watcher *w)
{
	struct list *node;

	while (!w->freed && (node = list_pop_front(&w->gone))) {
		struct watched_socket *s = LIST_ENTRY(node, struct watched_socket, link);

		w->opts.on_gone(w->opts.arg, str_from(s->path));
		socket_free(s);
	}
	while (!w->freed && !list_empty(&w->fresh)) {
		struct watched_socket *s = take_oldest(&w->fresh);

		w->opts.on_socket(w->opts.arg, str_from(s->path));
	}
	if (!w->freed && w->blind && !w->troubled)
		w->opts.on_problem(w->opts.arg, &w->trouble);
	w->troubled = w->blind;
}

static void watcher_look(struct plugin_watcher *w)
{
	struct error err;

	w->round++;
	w->blind = w->missing = false;
	if (!w->opts.foreign && folder_make(w->dir, 0750, &err) < 0)
		note_trouble(w, &err);
	watcher_walk(w, w->dir, 0);
	sweep(w);
	loop_timer_start(&w->timer, w->blind || w->missing ? LOOK_BLIND_MS : LOOK_MS);
	watcher_tell(w);
}

static void watcher_on_task(struct loop_task *t)
{
	watcher_look(CONTAINER_OF(t, struct plugin_watcher, task));
}

static void watcher_on_timer(struct loop_timer *t)
{
	watcher_look(CONTAINER_OF(t, struct plugin_watcher, timer));
}

/* --- life ---------------------------------------------------------------------------- */

struct plugin_watcher *plugin_watcher_new(const struct plugin_watcher_opts *opts)
{
	struct plugin_watcher *w = XNEW(struct plugin_watcher);

	w->opts = *opts;
	w->dir = xstrdup(opts->dir);
	omap_init(&w->folders);
	omap_init(&w->sockets);
	list_init(&w->fresh);
	list_init(&w->gone);
	loop_task_init(&w->task, watcher_on_task);
	loop_timer_init(&w->timer, opts->loop, watcher_on_timer);
	loop_defer(opts->loop, &w->task);
	return w;
}

int plugin_watcher_check(const struct plugin_watcher *w, struct error *err)
{
	if (w->round == 0)
		return error_set(err, ERR_UNAVAILABLE, "%s was not read yet", w->dir);
	if (w->missing)
		return error_set(err, ERR_NOT_FOUND,
				 "the folder %s does not exist; check that the kubelet's root "
				 "folder is given",
				 w->dir);
	return w->blind ? error_copy(err, &w->trouble) : 0;
}

static void watcher_release(struct loop_task *t)
{
	struct plugin_watcher *w = CONTAINER_OF(t, struct plugin_watcher, task);
	struct list *node;

	while ((node = list_pop_front(&w->gone)))
		socket_free(LIST_ENTRY(node, struct watched_socket, link));
	for (struct omap_cursor c; omap_first(&w->sockets, &c);) {
		struct watched_socket *s = omap_remove(&w->sockets, omap_key(&c));

		socket_free(s);
	}
	omap_release(&w->sockets);
	omap_release(&w->folders);
	free(w->dir);
	free(w);
}

void plugin_watcher_free(struct plugin_watcher *w)
{
	if (!w || w->freed)
		return;
	w->freed = true;
	loop_timer_stop(&w->timer);
	loop_task_cancel(&w->task);
	for (struct omap_cursor c; omap_first(&w->folders, &c);) {
		struct watched_folder *f = omap_remove(&w->folders, omap_key(&c));

		folder_free(f);
	}
	w->task.fn = watcher_release;
	loop_defer(w->opts.loop, &w->task);
}
