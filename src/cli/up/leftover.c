/*
 * A process number may have been reused since the state file was written. A process belongs to the
 * state if it runs this program, or if it started while the supervisor ran and before the last
 * change of its role. The program alone does not suffice: a process that ends loses its memory,
 * and with it the link to its program, before the kernel closes its sockets.
 */
#include "cli/up/leftover.h"

#include <inttypes.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/system/file.h"

enum { LOOK_MS = 5, SAY_MS = 300, WAIT_MS = 30 * 1000 };

/* Fields of /proc/PID/stat behind the command's name, counted from 0: proc(5) counts from 3. */
enum { STAT_STATE = 0, STAT_THREADS = 20 - 3, STAT_START = 22 - 3 };

/* Ticks and the supervisor's own times are not exact. */
#define ROUNDING_NS CLOCK_SEC

bool up_process_parse(struct str text, struct up_process *ret_process)
{
	/* The name may hold spaces and parentheses; the last one ends it. */
	const char *end = text.n ? memrchr(text.p, ')', text.n) : NULL;
	struct str rest = end ? str_skip(text, (size_t)(end - text.p) + 2) : STR_NULL;
	struct up_process p = { 0 };
	struct str field;
	bool ok = false;

	for (size_t i = 0; i <= STAT_START && str_split(&rest, ' ', &field); i++) {
		if (i == STAT_STATE)
			p.state = field.n == 1 ? field.p[0] : 0;
		else if (i == STAT_THREADS)
			(void)str_to_u64(field, &p.threads);
		else if (i == STAT_START)
			ok = p.state && str_to_u64(field, &p.start_ticks);
	}
	if (ok)
		*ret_process = p;
	return ok;
}

/* The first thread of a process may have ended while others still have its files open. */
static bool process_runs(int64_t pid, struct up_process *ret_process)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIi64 "/stat", pid);
	if (pid <= 0 || file_read(path, &text, NULL) < 0 ||
	    !up_process_parse(buf_str(&text), ret_process))
		return false;
	return (ret_process->state != 'Z' && ret_process->state != 'X') || ret_process->threads > 1;
}

static bool runs_this_program(int64_t pid)
{
	char path[64], own[PATH_MAX], theirs[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own)), m;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIi64 "/exe", pid);
	m = readlink(path, theirs, sizeof(theirs));
	return n > 0 && m >= n && memcmp(own, theirs, (size_t)n) == 0;
}

static int64_t process_start(const struct up_process *p)
{
	int64_t ticks = sysconf(_SC_CLK_TCK);
	struct timespec boot;

	if (ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) < 0)
		return INT64_MAX;
	return clock_wall(clock_system()) - (boot.tv_sec * CLOCK_SEC + boot.tv_nsec) +
	       (int64_t)(p->start_ticks / (uint64_t)ticks) * CLOCK_SEC;
}

static bool is_leftover(const struct up_state *s, const struct up_state_role *r)
{
	struct up_process p;
	int64_t start;

	if (!process_runs(r->pid, &p))
		return false;
	start = process_start(&p);
	return runs_this_program(r->pid) ||
	       (start >= s->start_ns - ROUNDING_NS && start <= r->since_ns + ROUNDING_NS);
}

const struct up_state_role *up_leftover_find(const struct up_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_leftover(s, &s->roles[i]))
			return &s->roles[i];
	return NULL;
}

void up_leftover_wait(const struct up_state *s,
		      void (*say)(void *arg, const struct up_state_role *left), void *arg)
{
	const struct up_state_role *left;

	for (int looks = 0; looks < WAIT_MS / LOOK_MS && (left = up_leftover_find(s)); looks++) {
		if (looks == SAY_MS / LOOK_MS)
			say(arg, left);
		(void)nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * CLOCK_MS }, NULL);
	}
}
