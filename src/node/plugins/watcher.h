/*
 * plugin_watcher - tells which sockets are in a folder and its subfolders.
 *
 * Those that are there at the beginning come first, oldest first. A socket that is made anew
 * under its old name (another inode or time of creation; a change of its mode is none) is gone
 * and then there. Names that begin with a dot, links to folders, and what is no socket are not
 * looked at. A watched folder that vanishes is made again. Notices are only a hint to look at
 * everything again, so none can be missed for long: it also looks now and then. Threads: the
 * loop's.
 */
#ifndef NODE_PLUGINS_WATCHER_H
#define NODE_PLUGINS_WATCHER_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct plugin_watcher;

struct plugin_watcher_opts {
	struct loop *loop;
	const char *dir; /* made when missing */
	/* Borrowed until return; never from within plugin_watcher_new(). May free the watcher. */
	void (*on_socket)(void *arg, struct str path);
	void (*on_gone)(void *arg, struct str path);
	/* A folder cannot be watched or read; told once until it can. */
	void (*on_problem)(void *arg, const struct error *err);
	void *arg;
};

struct plugin_watcher *plugin_watcher_new(const struct plugin_watcher_opts *opts);
void plugin_watcher_free(struct plugin_watcher *w); /* NULL allowed */

#endif
