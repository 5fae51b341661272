/*
 * Each line is one write(2), so that readers see whole lines. Followers notice a replaced file by
 * its inode number.
 */
#include "cli/up/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "cli/output/output.h"

#define LINE_MAX_BYTES (256UL * KIB)

int up_log_open(struct up_log *l, const char *path, struct error *err)
{
	struct stat st;

	*l = (struct up_log){ .path = path };
	l->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", path);
	l->size = fstat(l->fd, &st) == 0 ? st.st_size : 0;
	return 0;
}

void up_log_close(struct up_log *l)
{
	if (l->fd >= 0)
		(void)close(l->fd);
	l->fd = -1;
}

/* The new file is created before the old one is renamed, so there is always one to write to. */
int up_log_rotate(const char *path, int fd)
{
	char old[PATH_MAX], next[PATH_MAX];
	int n = snprintf(old, sizeof(old), "%s.1", path), made;

	if (n < 0 || n >= (int)sizeof(old) - 4)
		return -ERR_INVALID;
	(void)snprintf(next, sizeof(next), "%s.new", path);
	(void)unlink(next);
	made = open(next, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (made < 0)
		return -ERR_IO;
	n = rename(path, old);
	if (n < 0 || rename(next, path) < 0) {
		if (n == 0)
			(void)rename(old, path);
		(void)unlink(next);
		(void)close(made);
		return -ERR_IO;
	}
	(void)dup3(made, fd, O_CLOEXEC);
	(void)close(made);
	return 0;
}

bool up_log_is_json(struct str line)
{
	return str_starts(line, STR("{\"ts\":\"")) && line.p[line.n - 1] == '}';
}

static void log_wrap(struct buf *out, struct str line, const struct clock *clock)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT(LINE_MAX_BYTES);
	bool bad = str_starts(line, STR("devplane: "));
	char ts[TIMESTAMP_SIZE];

	output_clean_text(&clean, line, "");
	(void)buf_printf(out, "{\"ts\":\"%s\",\"level\":\"%s\",\"msg\":",
			 timestamp_print(clock_wall(clock), TIMESTAMP_MICRO, ts).p,
			 bad ? "error" : "info");
	(void)json_print_str(out, str_is_utf8(buf_str(&clean)) ? buf_str(&clean) : STR("?"), NULL);
	(void)buf_addc(out, '}');
}

void up_log_line(struct up_log *l, struct str line, const struct clock *clock)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * LINE_MAX_BYTES);

	if (str_trim(line).n == 0 || l->fd < 0)
		return;
	if (up_log_is_json(line))
		(void)buf_add_str(&out, line);
	else
		log_wrap(&out, line, clock);
	(void)buf_addc(&out, '\n');
	if (l->size + (int64_t)out.n > UP_LOG_MAX)
		l->size = up_log_rotate(l->path, l->fd) == 0 ? 0 : l->size;
	if (write(l->fd, out.p, out.n) == (ssize_t)out.n)
		l->size += (int64_t)out.n;
}
