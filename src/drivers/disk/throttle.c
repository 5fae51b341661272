/* Keeps no state between calls: containers come and go, and others may write these files. */
#include "drivers/disk/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "drivers/disk/host.h"
#include "drivers/drivers_limits.h"

enum { FOLDER_DEPTH = 4 }; /* below a pod's folder */

/* The file's line for the device, without its number. p is NULL if there is no line or file. */
static struct str read_line(const char *file, const struct disk_throttle *t, struct buf *text)
{
	char device[32];
	struct str rest, line;
	int n = snprintf(device, sizeof(device), "%u:%u ", t->major, t->minor);

	buf_clear(text);
	if (file_read(file, text, NULL) < 0)
		return STR_NULL;
	rest = buf_str(text);
	while (str_split(&rest, '\n', &line))
		if (line.n > (size_t)n && memcmp(line.p, device, (size_t)n) == 0)
			return str_skip(line, (size_t)n);
	return STR_NULL;
}

static int write_line(const char *file, const struct disk_throttle *t, const char *says,
		      struct error *err)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%u:%u %s\n", t->major, t->minor, says);
	int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, line, (size_t)n) == n;
	int why = errno;

	if (fd >= 0)
		(void)close(fd);
	if (written || (fd >= 0 && (why == ENODEV || why == EOPNOTSUPP)))
		return 0;
	return error_set_errno(err, ERR_IO, why, "cannot write \"%.*s\" to %s", n - 1, line, file);
}

/* Ignores the error if the pod's folder is gone. */
static int unless_gone(const char *path, int r)
{
	return r < 0 && access(path, F_OK) < 0 ? 0 : r;
}

/* --- version 2 ------------------------------------------------------------------------------- */

static void rate_text(char out[static 24], int64_t rate)
{
	if (rate)
		(void)snprintf(out, 24, "%" PRId64, rate);
	else
		(void)snprintf(out, 24, "max");
}

static bool has_prefix_word(struct str line, const char *word)
{
	size_t n = strlen(word);

	return line.n >= n && memcmp(line.p, word, n) == 0 && (line.n == n || line.p[n] == ' ');
}

static int set_v2(const char *path, const struct disk_throttle *t, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DISK_GROUP_FILE_MAX);
	char file[PATH_MAX], read[24], write[24], says[64];
	struct str line;

	rate_text(read, t->limit[DISK_READ]);
	rate_text(write, t->limit[DISK_WRITE]);
	(void)snprintf(says, sizeof(says), "rbps=%s wbps=%s", read, write);
	if (snprintf(file, sizeof(file), "%s/io.max", path) >= (int)sizeof(file))
		return 0;
	line = read_line(file, t, &text);
	if (line.p ? has_prefix_word(line, says) : strcmp(says, "rbps=max wbps=max") == 0)
		return 0;
	return write_line(file, t, says, err);
}

/* The kernel lists only devices whose weight is not the default. */
static int set_weight(const char *path, const struct disk_throttle *t, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DISK_GROUP_FILE_MAX);
	char file[PATH_MAX], says[24];
	struct str line;

	if (snprintf(file, sizeof(file), "%s/io.weight", path) >= (int)sizeof(file) ||
	    access(file, F_OK) < 0)
		return 0;
	if (t->weight)
		(void)snprintf(says, sizeof(says), "%u", t->weight);
	else
		(void)snprintf(says, sizeof(says), "default");
	line = read_line(file, t, &text);
	if (line.p ? str_eqz(line, says) : t->weight == 0)
		return 0;
	return write_line(file, t, says, err);
}

/* --- version 1 ------------------------------------------------------------------------------- */

struct v1_walk {
	const struct disk_throttle *throttle; /* the pod's limits */
	struct buf text;
	int64_t users[DISK_DIRECTIONS]; /* number of folders that have used the device */
	struct error *err;
	int r; /* the first error */
};

static void count_folder(void *arg, const char *path, const char *name UNUSED, int depth)
{
	struct v1_walk *w = arg;
	struct disk_group_stat s;
	char file[PATH_MAX];
	struct str text;

	buf_clear(&w->text);
	if (snprintf(file, sizeof(file), "%s/blkio.throttle.io_service_bytes", path) <
		    (int)sizeof(file) &&
	    file_read(file, &w->text, NULL) == 0) {
		text = buf_str(&w->text);
		while (disk_group_v1_next(&text, &s)) {
			if (s.major != w->throttle->major || s.minor != w->throttle->minor)
				continue;
			w->users[DISK_READ] += s.read_bytes > 0;
			w->users[DISK_WRITE] += s.write_bytes > 0;
		}
	}
	if (depth < FOLDER_DEPTH)
		disk_host_each_folder(path, count_folder, w, depth + 1);
}

static void set_v1_rate(struct v1_walk *w, const char *path, enum disk_direction x)
{
	static const char *const names[] = { [DISK_READ] = "read", [DISK_WRITE] = "write" };
	int64_t rate = w->throttle->limit[x] / MAX(w->users[x], (int64_t)1);
	char file[PATH_MAX], says[24];
	struct str line;

	(void)snprintf(says, sizeof(says), "%" PRId64, rate);
	if (snprintf(file, sizeof(file), "%s/blkio.throttle.%s_bps_device", path, names[x]) >=
	    (int)sizeof(file))
		return;
	line = read_line(file, w->throttle, &w->text);
	if (line.p ? !str_eqz(line, says) : rate > 0)
		w->r = write_line(file, w->throttle, says, w->err);
}

static void set_folder(void *arg, const char *path, const char *name UNUSED, int depth)
{
	struct v1_walk *w = arg;

	for (int x = 0; w->r == 0 && x < DISK_DIRECTIONS; x++) {
		set_v1_rate(w, path, (enum disk_direction)x);
		w->r = unless_gone(path, w->r);
	}
	if (depth < FOLDER_DEPTH)
		disk_host_each_folder(path, set_folder, w, depth + 1);
}

static int set_v1(const char *path, const struct disk_throttle *t, struct error *err)
{
	struct v1_walk w = { .throttle = t, .text = BUF_INIT(DISK_GROUP_FILE_MAX), .err = err };

	count_folder(&w, path, NULL, 0);
	set_folder(&w, path, NULL, 0);
	buf_release(&w.text);
	return w.r;
}

bool disk_throttle_weighs(const struct disk_host *h, const char *path)
{
	char file[PATH_MAX];

	return h->groups == DISK_GROUPS_V2 &&
	       snprintf(file, sizeof(file), "%s/io.weight", path) < (int)sizeof(file) &&
	       access(file, F_OK) == 0;
}

int disk_throttle_set(const struct disk_host *h, const char *path, const struct disk_throttle *t,
		      struct error *err)
{
	int r;

	if (h->groups == DISK_GROUPS_NONE)
		return error_set(err, ERR_NOT_FOUND, "%s", h->groups_why.msg);
	if (h->groups == DISK_GROUPS_V1)
		return set_v1(path, t, err);
	r = set_v2(path, t, err);
	if (r == 0)
		r = set_weight(path, t, err);
	return unless_gone(path, r);
}
