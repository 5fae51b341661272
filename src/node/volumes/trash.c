/*
 * A pod may leave millions of files in its volumes. So its folder is renamed, which is fast, and
 * removed some entries per turn while the loop does other work. The new name lets the next agent
 * continue.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/core/random.h"
#include "base/report/log.h"
#include "node/volumes/dir.h"
#include "node/volumes/volumes_impl.h"

#define PREFIX ".rm-"

/* This many entries take about a millisecond. Failures are retried later. */
enum { AT_A_TIME = 64, PAUSE_MS = 1, RETRY_MS = 60000 };

static int empty_one(struct volumes *v, const char *name)
{
	DIR *root = opendir(v->root);
	struct error err;
	int r;

	if (!root)
		return 0;
	r = volume_dir_remove_some(dirfd(root), name, AT_A_TIME, &err);
	(void)closedir(root);
	if (r < 0 && v->log)
		log_warn(v->log, "cannot remove the volumes of a pod",
			 LOG_STR("folder", str_from(name)), LOG_ERR(&err));
	return r;
}

static void on_trash(struct loop_timer *t)
{
	struct volumes *v = CONTAINER_OF(t, struct volumes, trash);
	DIR *root = opendir(v->root);
	const struct dirent *e;
	bool failed = false;

	while (root && (e = readdir(root))) {
		if (!str_starts(str_from(e->d_name), STR(PREFIX)))
			continue;
		if (empty_one(v, e->d_name) >= 0) {
			loop_timer_start(t, PAUSE_MS);
			failed = false;
			break;
		}
		failed = true;
	}
	if (root)
		(void)closedir(root);
	if (failed)
		loop_timer_start(t, RETRY_MS);
}

void volume_trash_begin(struct volumes *v)
{
	loop_timer_init(&v->trash, v->loop, on_trash);
	loop_timer_start(&v->trash, 0);
}

int volume_trash(struct volumes *v, const char *path, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	const char *to;

	arena_init(&a, SIZE_MAX);
	to = arena_printf(&a, "%s/" PREFIX "%016llx", v->root, (unsigned long long)random_u64());
	if (rename(path, to) < 0)
		return error_set_errno(err, ERR_IO, errno, "remove %s", path);
	loop_timer_start(&v->trash, PAUSE_MS);
	return 0;
}
