/*
 * A line is written with one write(2) to a file opened for appending: the kernel keeps lines
 * apart. If only a part of it could be written, as on a full disk, the next line begins with a
 * newline, so that no other line is damaged. A file that is rotated has a lock, too, so that one
 * thread renames it while no other writes. Renaming takes microseconds; whatever takes longer is
 * the business of the file's thread.
 */
#include "server/audit/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "net/loop/loop.h"
#include "server/audit/bound.h"
#include "server/audit/worker.h"

struct audit_file {
	struct audit_file_opts opts;
	char *path;
	bool owned; /* it is our own descriptor */
	bool rotates;
	struct lock lock; /* for a file that rotates: fd, size */
	int fd;
	int64_t size;
	atomic_bool stuck; /* it could not be renamed, and that was logged */
	atomic_bool torn; /* the last line is incomplete */
	struct audit_worker *worker; /* or NULL */
	struct loop_msg tidy, end;
	atomic_bool tidying; /* `tidy` is under way */
	struct audit_bound waiting; /* lines that were sent */
};

/* A line on its way to the file's thread. */
struct sent_line {
	struct loop_msg msg;
	struct audit_file *file;
	struct bytes *line;
};

/* --- the file ----------------------------------------------------------------------------- */

static int open_file(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

/* Returns false if not all of it could be written. */
static bool append(struct audit_file *f, struct str line)
{
	ssize_t n;

	if (atomic_load(&f->torn) && write(f->fd, "\n", 1) == 1)
		atomic_store(&f->torn, false);
	do
		n = write(f->fd, line.p, line.n);
	while (n < 0 && errno == EINTR);
	if (n > 0 && (size_t)n < line.n)
		atomic_store(&f->torn, true);
	return n == (ssize_t)line.n;
}

/* --- rotation ----------------------------------------------------------------------------- */

static void on_tidy(struct loop_msg *m)
{
	struct audit_file *f = CONTAINER_OF(m, struct audit_file, tidy);
	struct error err;

	atomic_store(&f->tidying, false);
	if (audit_rotate_tidy(f->path, &f->opts.rotation, clock_wall(clock_system()), &err) < 0)
		log_warn(f->opts.log, "cannot tidy older audit logs", LOG_ERR(&err));
}

static void ask_to_tidy(struct audit_file *f)
{
	if (!atomic_exchange(&f->tidying, true))
		loop_post(audit_worker_loop(f->worker), &f->tidy);
}

/* A name that is free: two files may end within a millisecond. */
static const char *free_name(struct arena *a, const char *path)
{
	int64_t now = clock_wall(clock_system());
	const char *name = audit_rotate_name(a, path, now);

	for (int i = 0; i < 1000 && access(name, F_OK) == 0; i++)
		name = audit_rotate_name(a, path, now += CLOCK_MS);
	return name;
}

/*
 * Returns 0 or errno. If it fails, the same file gets longer, and the next try is after as much
 * again.
 */
static int rotate(struct audit_file *f)
{
	CLEANUP(arena_release) struct arena a;
	char block[4096] UNZEROED;
	int fd = -1;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	f->size = 0;
	if (rename(f->path, free_name(&a, f->path)) == 0 || errno == ENOENT)
		fd = open_file(f->path);
	if (fd < 0)
		return errno;
	(void)close(f->fd);
	f->fd = fd;
	atomic_store(&f->torn, false);
	ask_to_tidy(f);
	return 0;
}

/* Logged without the file's lock, and once until it works again. */
static void tell_of_rotation(struct audit_file *f, int failed)
{
	if (!failed)
		atomic_store(&f->stuck, false);
	else if (!atomic_exchange(&f->stuck, true))
		log_error(f->opts.log, "cannot rotate the audit log", LOG_Z("path", f->path),
			  LOG_INT("errno", failed));
}

bool audit_file_write(struct audit_file *f, struct str line)
{
	int failed = 0;
	bool full, written;

	if (!f->rotates)
		return append(f, line);
	lock_acquire(&f->lock);
	full = f->size > 0 && f->size + (int64_t)line.n > f->opts.rotation.max_bytes;
	if (full)
		failed = rotate(f);
	written = append(f, line);
	if (written) /* a full disk must not lead to rotations, which remove older files */
		f->size += (int64_t)line.n;
	lock_release(&f->lock);
	if (full)
		tell_of_rotation(f, failed);
	return written;
}

/* --- lines that are sent ------------------------------------------------------------------ */

static void on_line(struct loop_msg *m)
{
	struct sent_line *s = CONTAINER_OF(m, struct sent_line, msg);
	struct audit_file *f = s->file;

	f->opts.sent(f->opts.arg, audit_file_write(f, bytes_str(s->line)));
	audit_bound_give(&f->waiting, s->line->n);
	bytes_unref(s->line);
	free(s);
}

bool audit_file_send(struct audit_file *f, struct bytes *line)
{
	struct sent_line *s;

	if (!audit_bound_take(&f->waiting, line->n))
		return false;
	s = XNEW(struct sent_line);
	s->msg.fn = on_line;
	s->file = f;
	s->line = bytes_ref(line);
	loop_post(audit_worker_loop(f->worker), &s->msg);
	return true;
}

/* --- lifecycle ---------------------------------------------------------------------------- */

static void on_end(struct loop_msg *m)
{
	audit_worker_end(CONTAINER_OF(m, struct audit_file, end)->worker);
}

static int start_worker(struct audit_file *f, struct error *err)
{
	struct audit_worker *w;
	int r = audit_worker_new(&w, err);

	if (r < 0)
		return r;
	r = audit_worker_start(w, "audit-log", err);
	if (r < 0) {
		audit_worker_free(w);
		return r;
	}
	f->worker = w;
	if (f->rotates)
		ask_to_tidy(f);
	return 0;
}

static int open_first(struct audit_file *f, struct error *err)
{
	struct stat st;

	f->owned = strcmp(f->path, "-") != 0;
	f->fd = f->owned ? open_file(f->path) : STDOUT_FILENO;
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open the audit log %s", f->path);
	f->size = st.st_size;
	f->rotates = f->owned && S_ISREG(st.st_mode) && f->opts.rotation.max_bytes > 0;
	return 0;
}

int audit_file_open(const struct audit_file_opts *opts, struct audit_file **ret_file,
		    struct error *err)
{
	struct audit_file *f = XNEW(struct audit_file);
	int r;

	f->opts = *opts;
	f->path = xstrdup(opts->path);
	f->tidy.fn = on_tidy;
	f->end.fn = on_end;
	audit_bound_init(&f->waiting, opts->queue_max);
	lock_init(&f->lock);
	r = open_first(f, err);
	if (r == 0 && (f->rotates || opts->queue_max))
		r = start_worker(f, err);
	if (r < 0)
		audit_file_close(f);
	else
		*ret_file = f;
	return r;
}

void audit_file_close(struct audit_file *f)
{
	if (!f)
		return;
	if (f->worker)
		loop_post(audit_worker_loop(f->worker), &f->end);
	audit_worker_free(f->worker);
	if (f->owned && f->fd >= 0)
		(void)close(f->fd);
	lock_destroy(&f->lock);
	free(f->path);
	free(f);
}
