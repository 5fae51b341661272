/*
 * The lock uses flock(2): it is released when its process ends, however that happens. Children do
 * not inherit it, because the descriptor is close-on-exec.
 */
#include "cli/up/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/system/file.h"
#include "base/time/timestamp.h"

#define STATE_MAX (4UL * MIB)

/* --- writing --------------------------------------------------------------------------------- */

static void put_str(struct json_writer *w, const char *key, struct str v)
{
	if (v.n == 0)
		return;
	json_writer_keyz(w, key);
	json_writer_str(w, v);
}

static void put_i64(struct json_writer *w, const char *key, int64_t v)
{
	json_writer_keyz(w, key);
	json_writer_i64(w, v);
}

static void state_put_time(struct json_writer *w, const char *key, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	put_str(w, key, timestamp_print(ns, TIMESTAMP_MICRO, text));
}

static void put_role(struct json_writer *w, const struct up_state_role *r)
{
	json_writer_begin_object(w);
	put_str(w, "name", r->name);
	put_str(w, "state", r->state);
	if (r->pid)
		put_i64(w, "pid", r->pid);
	put_i64(w, "restarts", r->restarts);
	state_put_time(w, "since", r->since_ns);
	put_str(w, "metrics", r->metrics);
	put_str(w, "health", r->health);
	put_str(w, "lastFailure", str_is_utf8(r->failure) ? r->failure : STR("unreadable"));
	json_writer_end_object(w);
}

void up_state_print(const struct up_state *s, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, &(struct json_style){ .indent = 2 });
	json_writer_begin_object(&w);
	put_i64(&w, "format", UP_STATE_FORMAT);
	put_i64(&w, "pid", s->pid);
	state_put_time(&w, "startTime", s->start_ns);
	put_str(&w, "version", s->version);
	put_str(&w, "server", s->server);
	put_str(&w, "kubeconfig", s->kubeconfig);
	put_str(&w, "page", s->page);
	json_writer_keyz(&w, "ready");
	json_writer_bool(&w, s->ready);
	json_writer_keyz(&w, "roles");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < s->n; i++)
		put_role(&w, &s->roles[i]);
	json_writer_end_array(&w);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	(void)buf_addc(out, '\n');
}

/* --- reading --------------------------------------------------------------------------------- */

static int64_t state_read_time(const struct json *v, const char *key)
{
	int64_t ns = 0;

	(void)timestamp_parse(json_text_at(v, key), &ns, NULL);
	return ns;
}

static void read_role(const struct json *v, struct up_state_role *r)
{
	*r = (struct up_state_role){ .name = json_text_at(v, "name"),
				     .state = json_text_at(v, "state"),
				     .metrics = json_text_at(v, "metrics"),
				     .health = json_text_at(v, "health"),
				     .failure = json_text_at(v, "lastFailure"),
				     .pid = json_i64_at(v, "pid", 0),
				     .restarts = json_i64_at(v, "restarts", 0),
				     .since_ns = state_read_time(v, "since") };
}

int up_state_parse(struct str text, struct arena *a, struct up_state *ret_state, struct error *err)
{
	struct up_state s = { 0 };
	struct json *tree, *roles;
	int r = json_parse(a, arena_str(a, text), NULL, &tree, err);
	int64_t format;

	if (r < 0)
		return error_set(err, ERR_INVALID, "it is not JSON");
	format = json_i64_at(tree, "format", 0);
	if (format > UP_STATE_FORMAT)
		return error_set(err, ERR_INVALID,
				 "it was written by a newer devplane (format %d, this one knows "
				 "%d): use that one",
				 (int)format, UP_STATE_FORMAT);
	if (format < 1)
		return error_set(err, ERR_INVALID, "it is not devplane's");
	s.pid = json_i64_at(tree, "pid", 0);
	s.start_ns = state_read_time(tree, "startTime");
	s.version = json_text_at(tree, "version");
	s.server = json_text_at(tree, "server");
	s.kubeconfig = json_text_at(tree, "kubeconfig");
	s.page = json_text_at(tree, "page");
	s.ready = json_true_at(tree, "ready");
	roles = json_getz(tree, "roles");
	s.roles = ARENA_ARRAY(a, struct up_state_role, json_count(roles) + 1);
	JSON_FOREACH (it, roles)
		read_role(it, &s.roles[s.n++]);
	*ret_state = s;
	return 0;
}

int up_state_read(const struct up_layout *l, struct up_state *ret_state, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(STATE_MAX);
	int r = file_read(l->state, &text, err);

	if (r == 0)
		r = up_state_parse(buf_str(&text), l->arena, ret_state, err);
	return r == -ERR_INVALID ? error_wrap(err, r, "%s", l->state) : r;
}

const struct up_state_role *up_state_find(const struct up_state *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->roles[i].name, name))
			return &s->roles[i];
	return NULL;
}

/* --- the lock -------------------------------------------------------------------------------- */

int up_state_lock(const struct up_layout *l, int *ret_fd, struct error *err)
{
	int fd = open(l->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND | O_NOFOLLOW, 0600);
	int r = 0, tries = 0;

	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", l->lock);
	/* A process that only checks the lock holds it for a moment. */
	while ((r = flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK && ++tries < 10)
		(void)nanosleep(&(struct timespec){ .tv_nsec = 5 * 1000 * 1000 }, NULL);
	if (r < 0)
		r = errno == EWOULDBLOCK
			    ? error_set(err, ERR_ALREADY_EXISTS, "%s is held", l->lock)
			    : error_set_errno(err, ERR_IO, errno, "cannot lock %s", l->lock);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	up_state_sign(fd);
	*ret_fd = fd;
	return 0;
}

void up_state_sign(int lock_fd)
{
	BEST_EFFORT(ftruncate(lock_fd, 0));
	(void)dprintf(lock_fd, "%d\n", (int)getpid());
}

void up_state_unlock(int lock_fd)
{
	BEST_EFFORT(ftruncate(lock_fd, 0));
	(void)close(lock_fd);
}

/* The pid left by a killed process most likely belongs to no running one. */
static int64_t read_pid(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	int64_t pid;

	if (n < 2 || !str_to_i64(str_of(text, (size_t)n - 1), &pid) || pid < 1)
		return -1;
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH ? -1 : pid;
}

int64_t up_state_holder(const struct up_layout *l)
{
	int fd = open(l->lock, O_RDONLY | O_CLOEXEC);
	int64_t holder = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		holder = read_pid(fd);
	(void)close(fd);
	return holder;
}
