/*
 * plugin_watcher - reports the sockets in a folder and its subfolders.
 *
 * Sockets that exist at the start are reported first, oldest first. A socket that is recreated
 * under its old name (another inode or creation time; a new mode does not count) is reported as
 * gone and then as new. Names that begin with a dot, symbolic links to folders, and files that are
 * not sockets are ignored. A watched folder that vanishes is created again, unless it belongs to
 * another process. A notification only
 * triggers a new scan of everything, and there are periodic scans too, so a lost notification
 * delays a report only for a short time.
 * Threads: the loop's.
 */
#ifndef NODE_PLUGINS_WATCHER_H
#define NODE_PLUGINS_WATCHER_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct plugin_watcher;

struct plugin_watcher_opts {
	struct loop *loop;
	const char *dir; /* created if missing */
	/*
	 * Another process owns the folder: it is not created. A missing folder has no sockets.
	 */
	bool foreign;
	/*
	 * Path is borrowed until return. Never called from within plugin_watcher_new(). May free
	 * the watcher.
	 */
	void (*on_socket)(void *arg, struct str path);
	void (*on_gone)(void *arg, struct str path);
	/* A folder cannot be watched or read. Called once until it works again. */
	void (*on_problem)(void *arg, const struct error *err);
	void *arg;
};

struct plugin_watcher *plugin_watcher_new(const struct plugin_watcher_opts *opts);
/*
 * Returns 0 if the last scan could read and watch all folders. A missing folder of another process
 * is an error here, but is not reported to on_problem: it may come later.
 */
int plugin_watcher_check(const struct plugin_watcher *w, struct error *err);
void plugin_watcher_free(struct plugin_watcher *w); /* NULL allowed */

#endif
