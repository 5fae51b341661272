/*
 * system_log - serves the files of a folder, such as /var/log: a list in HTML, or a file.
 *
 * Nothing outside of the folder can be reached: the kernel resolves the path beneath it
 * (openat2 with RESOLVE_BENEATH), so ".." and symbolic links that lead out fail. Without that call,
 * symbolic links are not followed at all. Only regular files and folders are served. A file is sent
 * up to the size that it had when it was opened, as fast as the client reads.
 * Threads: the loop's.
 */
#ifndef NODE_KUBELET_SYSTEM_LOG_H
#define NODE_KUBELET_SYSTEM_LOG_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"

struct http_stream;
struct loop;
struct system_log;

struct system_log_opts {
	struct loop *loop;
	struct http_stream *http;
	const char *folder;
	struct str path; /* decoded, relative to the folder; empty: the folder itself */
};

/*
 * Replies. *ret_log is a file that is being sent, or NULL. -ERR_NOT_FOUND, -ERR_FORBIDDEN: nothing
 * was sent.
 */
int system_log_serve(const struct system_log_opts *opts, struct system_log **ret_log,
		     struct error *err);
/* There is room for more output. */
void system_log_writable(struct system_log *s);
void system_log_free(struct system_log *s); /* NULL allowed */

/* --- for tests ------------------------------------------------------------------------ */

/* Opens a path below the folder. `plain`: as on a kernel without openat2. */
int system_log_open(const char *folder, struct str path, bool plain, int *ret_fd,
		    struct error *err);
/* Appends the list of a folder; takes the descriptor. */
int system_log_list(int fd, struct arena *a, struct buf *out, struct error *err);

#endif
