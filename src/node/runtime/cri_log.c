/*
 * Containers write both files, so they are not trusted: only regular files are read, and only a
 * limited part at the end.
 */
#include "node/runtime/cri_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/print.h"
#include "node/node_limits.h"
#include "node/runtime/cri_messages.h"

/* The part of a log that is searched for the last lines; each has a prefix, and may be long. */
enum { LOG_READ_MAX = 64 * 1024 };

/* The last `max` bytes of a regular file. Returns false, with errno, if it cannot be read. */
static bool read_end(const char *path, size_t max, struct arena *a, struct str *ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;
	char *p;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		off_t from = st.st_size > (off_t)max ? st.st_size - (off_t)max : 0;

		p = arena_alloc(a, max);
		n = pread(fd, p, max, from);
		if (n >= 0)
			*ret_text = str_of(p, (size_t)n);
	} else {
		errno = EINVAL;
	}
	(void)close(fd);
	return n >= 0;
}

static struct str cri_log_clean(struct arena *a, struct str text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * TERMINATION_MESSAGE_MAX);

	if (str_is_utf8(text))
		return text;
	(void)print_utf8(&b, text);
	return arena_str(a, buf_str(&b));
}

/* --- logs ----------------------------------------------------------------------------------- */

/* The text of one line, and whether it is complete. Returns false if it is not a valid log line. */
static bool line_text(struct str line, struct str *ret_text, bool *ret_full)
{
	struct str time, stream, tag;

	if (!str_split(&line, ' ', &time) || !str_split(&line, ' ', &stream) ||
	    !str_split(&line, ' ', &tag) || !line.p)
		return false;
	if (!str_eqz(stream, "stdout") && !str_eqz(stream, "stderr"))
		return false;
	*ret_full = !str_starts(tag, STR("P"));
	*ret_text = line;
	return true;
}

struct str cri_log_tail(struct str log, struct arena *a)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * LOG_READ_MAX);
	struct str starts[TERMINATION_LOG_LINES_MAX], rest = log, line, text;
	size_t n = 0;
	bool full;

	if (rest.n > 0 && rest.p[rest.n - 1] == '\n')
		rest.n--;
	/* A ring of the starts of the last lines. */
	for (struct str at = rest; at.n > 0 && str_split(&at, '\n', &line);)
		starts[n++ % TERMINATION_LOG_LINES_MAX] = line;
	for (size_t i = n > TERMINATION_LOG_LINES_MAX ? n - TERMINATION_LOG_LINES_MAX : 0; i < n;
	     i++) {
		if (!line_text(starts[i % TERMINATION_LOG_LINES_MAX], &text, &full))
			continue;
		(void)buf_add_str(&out, text);
		if (full)
			(void)buf_addc(&out, '\n');
	}
	text = buf_str(&out);
	if (text.n > TERMINATION_LOG_MAX)
		text = str_skip(text, text.n - TERMINATION_LOG_MAX);
	return arena_str(a, text);
}

static struct str log_end(const char *path, struct arena *a)
{
	struct str text;

	if (!read_end(path, LOG_READ_MAX, a, &text))
		return str_from(
			arena_printf(a, "Error on reading termination message from logs: %s: %s",
				     path, strerrordesc_np(errno)));
	/* The first line may be incomplete. */
	if (text.n == LOG_READ_MAX && str_chr(text, '\n') >= 0)
		text = str_skip(text, (size_t)str_chr(text, '\n') + 1);
	return cri_log_tail(text, a);
}

/* --- termination ---------------------------------------------------------------------------- */

static const char *host_path(const Cri__ContainerStatus *st, struct str container_path)
{
	for (size_t i = 0; i < st->n_mounts; i++) {
		if (str_eqz(container_path, st->mounts[i]->container_path))
			return st->mounts[i]->host_path;
	}
	return NULL;
}

static struct str written(const Cri__ContainerStatus *st, bool fallback, struct arena *a)
{
	struct str path = cri_pair(st->annotations, st->n_annotations,
				   CRI_ANNOTATION_TERMINATION_PATH);
	const char *host;
	struct str text = STR_NULL;

	/* As upstream, a slash in front makes it absolute. */
	if (path.n > 0 && path.p[0] != '/')
		path = str_from(arena_printf(a, "/%.*s", STR_ARG(path)));
	host = path.n > 0 ? host_path(st, path) : NULL;
	if (host && !read_end(host, TERMINATION_MESSAGE_MAX, a, &text) && errno != ENOENT)
		return str_from(arena_printf(a, "Error on reading termination log %s: %s", host,
					     strerrordesc_np(errno)));
	if (text.n == 0 && fallback)
		return log_end(st->log_path, a);
	return text;
}

struct str cri_log_termination(const Cri__ContainerStatus *st, struct arena *a)
{
	struct str policy = cri_pair(st->annotations, st->n_annotations,
				     CRI_ANNOTATION_TERMINATION_POLICY);
	bool fallback = str_eqz(policy, "FallbackToLogsOnError") && st->exit_code != 0 &&
			strcmp(st->reason, "ContainerCannotRun") != 0;
	struct str text = written(st, fallback, a);

	if (text.n == 0 || st->message[0] == '\0')
		return cri_log_clean(a, text.n == 0 ? arena_str(a, str_from(st->message)) : text);
	return cri_log_clean(a, str_from(arena_printf(a, "%s: %.*s", st->message, STR_ARG(text))));
}
