/*
 * Signals, folders and children of the simulated world. Each handle is a source that is due when
 * the test says so. Pending events are merged where the kernel may merge them.
 */
#include "net/sim/sim_impl.h"

#include <errno.h>
#include <signal.h>

#include "base/core/mem.h"

enum {
	NOTICE_MAX_NS = 2 * 1000 * 1000, /* until a signal or a change is noticed */
	NAMES_MAX = 16, /* per watch; beyond them the kernel's queue is full */
};

static void notice_soon(struct sim_source *src)
{
	struct sim *s = src->loop->sim;

	if (src->due == SIM_NEVER)
		sim_source_set(src, s->now + sim_between(s, 0, NOTICE_MAX_NS));
}

/* Calls fn for each open source of one kind. */
static void for_each_source(struct sim *s, void (*kind)(struct sim_source *src),
			    void (*fn)(struct sim_source *src, const void *arg), const void *arg)
{
	for (size_t i = 0; i < s->loops.n; i++) {
		struct sim_loop *l = s->loops.v[i];

		for (size_t k = 0; k < l->sources.n && !l->crashed; k++)
			if (l->sources.v[k]->fire == kind)
				fn(l->sources.v[k], arg);
	}
}

/* --- signals -------------------------------------------------------------------------- */

struct sim_signal {
	struct loop_signal handle;
	struct sim_source src;
	int signum;
	void (*fn)(void *arg, int signum);
	void *arg;
};

static struct sim_signal *signal_of(struct sim_source *src)
{
	return CONTAINER_OF(src, struct sim_signal, src);
}

static void fire_signal(struct sim_source *src)
{
	struct sim_signal *g = signal_of(src);

	sim_trace(src->loop->sim, src->loop, "signal %d", g->signum);
	sim_source_set(src, SIM_NEVER);
	g->fn(g->arg, g->signum);
}

static void destroy_signal(struct sim_source *src)
{
	free(signal_of(src));
}

static void free_signal(struct loop_signal *handle)
{
	struct sim_signal *g = CONTAINER_OF(handle, struct sim_signal, handle);

	sim_check_thread(g->src.loop);
	sim_source_close(&g->src);
}

int sim_signal_new(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
		   struct loop_signal **ret_signal, struct error *err)
{
	struct sim_signal *g;

	sim_check_thread(sim_loop_of(l));
	if (signum <= 0 || signum == SIGKILL || signum == SIGSTOP)
		return error_set_errno(err, ERR_IO, EINVAL, "cannot watch a signal");
	g = XNEW(struct sim_signal);
	*g = (struct sim_signal){ .handle = { .free = free_signal },
				  .src = { .fire = fire_signal, .destroy = destroy_signal },
				  .signum = signum,
				  .fn = fn,
				  .arg = arg };
	sim_source_add(&g->src, sim_loop_of(l));
	*ret_signal = &g->handle;
	return 0;
}

struct raised {
	const struct sim_host *host;
	int signum;
};

static void raise_on(struct sim_source *src, const void *arg)
{
	const struct raised *r = arg;

	if (src->loop->host == r->host && signal_of(src)->signum == r->signum)
		notice_soon(src);
}

void sim_raise(struct loop *l, int signum)
{
	struct raised r = { sim_loop_of(l)->host, signum };

	for_each_source(sim_loop_of(l)->sim, fire_signal, raise_on, &r);
}

/* --- folders -------------------------------------------------------------------------- */

struct sim_watch {
	struct loop_watch handle;
	struct sim_source src;
	char *path;
	void (*fn)(void *arg, struct str name, const struct error *err);
	void *arg;
	VEC(char *) names; /* that have changed */
	bool gone; /* the folder was removed */
};

static struct sim_watch *watch_of(struct sim_source *src)
{
	return CONTAINER_OF(src, struct sim_watch, src);
}

static void clear_names(struct sim_watch *w)
{
	for (size_t i = 0; i < w->names.n; i++)
		free(w->names.v[i]);
	w->names.n = 0;
}

static int no_folder(struct error *err, const char *path)
{
	return error_set_errno(err, ERR_NOT_FOUND, ENOENT, "%s", path);
}

static void fire_watch(struct sim_source *src)
{
	struct sim_watch *w = watch_of(src);
	CLEANUP(free) char *name = NULL;
	struct error err;

	sim_source_set(src, SIM_NEVER);
	if (w->gone) {
		clear_names(w);
		(void)no_folder(&err, w->path);
		w->fn(w->arg, STR_NULL, &err);
		return;
	}
	name = w->names.v[0];
	vec_remove(&w->names, 0);
	if (w->names.n)
		notice_soon(src);
	sim_trace(src->loop->sim, src->loop, "changed %s/%s", w->path, name);
	w->fn(w->arg, str_from(name), NULL);
}

static void destroy_watch(struct sim_source *src)
{
	struct sim_watch *w = watch_of(src);

	clear_names(w);
	vec_release(&w->names);
	free(w->path);
	free(w);
}

static void free_watch(struct loop_watch *handle)
{
	struct sim_watch *w = CONTAINER_OF(handle, struct sim_watch, handle);

	sim_check_thread(w->src.loop);
	sim_source_close(&w->src);
}

static ptrdiff_t find_removed(const struct sim *s, const char *path)
{
	for (size_t i = 0; i < s->removed.n; i++)
		if (strcmp(s->removed.v[i], path) == 0)
			return (ptrdiff_t)i;
	return -1;
}

int sim_watch_new(struct loop *l, const char *path,
		  void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
		  struct loop_watch **ret_watch, struct error *err)
{
	struct sim_watch *w;

	sim_check_thread(sim_loop_of(l));
	if (find_removed(sim_loop_of(l)->sim, path) >= 0)
		return no_folder(err, path);
	w = XNEW(struct sim_watch);
	*w = (struct sim_watch){ .handle = { .free = free_watch },
				 .src = { .fire = fire_watch, .destroy = destroy_watch },
				 .path = xstrdup(path),
				 .fn = fn,
				 .arg = arg };
	vec_init(&w->names, NAMES_MAX);
	sim_source_add(&w->src, sim_loop_of(l));
	*ret_watch = &w->handle;
	return 0;
}

struct touched {
	const char *path, *name;
};

/* A pending name is merged. Beyond the limit, or by chance, the event comes without a name. */
static void touch_watch(struct sim_source *src, const void *arg)
{
	const struct touched *t = arg;
	struct sim_watch *w = watch_of(src);
	const char *name = t->name;

	if (w->gone || strcmp(w->path, t->path) != 0)
		return;
	if (sim_chance(src->loop->sim, 0.125))
		name = "";
	for (size_t i = 0; i < w->names.n; i++)
		if (strcmp(w->names.v[i], name) == 0)
			return;
	if (w->names.n == NAMES_MAX) {
		clear_names(w);
		name = "";
	}
	(void)vec_push(&w->names, xstrdup(name));
	notice_soon(src);
}

void sim_touch(struct sim *s, const char *path, const char *name)
{
	struct touched t = { path, name };

	for_each_source(s, fire_watch, touch_watch, &t);
}

static void end_watch(struct sim_source *src, const void *arg)
{
	if (strcmp(watch_of(src)->path, arg) != 0)
		return;
	watch_of(src)->gone = true;
	notice_soon(src);
}

void sim_rmdir(struct sim *s, const char *path)
{
	if (find_removed(s, path) >= 0)
		return;
	(void)vec_push(&s->removed, xstrdup(path));
	for_each_source(s, fire_watch, end_watch, path);
}

void sim_mkdir(struct sim *s, const char *path)
{
	ptrdiff_t at = find_removed(s, path);

	if (at < 0)
		return;
	free(s->removed.v[at]);
	vec_remove_swap(&s->removed, at);
}

/* --- descriptors ---------------------------------------------------------------------- */

int sim_fd_new(struct loop *l UNUSED, int fd, void (*fn)(void *arg) UNUSED, void *arg UNUSED,
	       struct loop_fd **ret_fd UNUSED, struct error *err)
{
	return error_set(err, ERR_UNIMPLEMENTED,
			 "cannot watch descriptor %d: a simulated world has none", fd);
}

/* --- children ------------------------------------------------------------------------- */

struct sim_child {
	struct loop_child handle;
	struct sim_source src;
	struct sim_fate fate;
	void (*on_exit)(void *arg, int status, int signal);
	void *arg;
	bool exited;
};

static struct sim_child *child_of(struct sim_source *src)
{
	return CONTAINER_OF(src, struct sim_child, src);
}

static void fire_child(struct sim_source *src)
{
	struct sim_child *c = child_of(src);

	sim_trace(src->loop->sim, src->loop, "child %d exits %d, signal %d", c->handle.pid,
		  c->fate.status, c->fate.signal);
	sim_source_set(src, SIM_NEVER);
	c->exited = true;
	if (c->on_exit)
		c->on_exit(c->arg, c->fate.status, c->fate.signal);
}

/* Replaces all its plans by this end. */
static void end_child(struct sim_child *c, int64_t after_ms, int status, int signum)
{
	struct sim *s = c->src.loop->sim;
	int64_t due = s->now + after_ms * CLOCK_MS + sim_between(s, 0, NOTICE_MAX_NS);

	if (due >= c->src.due)
		return;
	c->fate.status = status;
	c->fate.signal = signum;
	sim_source_set(&c->src, due);
}

static bool is_harmless(int signum)
{
	return signum == 0 || signum == SIGCHLD || signum == SIGCONT || signum == SIGURG ||
	       signum == SIGWINCH;
}

static int kill_child(struct loop_child *handle, int signum, struct error *err)
{
	struct sim_child *c = CONTAINER_OF(handle, struct sim_child, handle);

	sim_check_thread(c->src.loop);
	if (c->exited)
		return error_set_errno(err, ERR_NOT_FOUND, ESRCH,
				       "cannot signal the child process");
	if (is_harmless(signum) || (signum == SIGTERM && c->fate.term_ms < 0))
		return 0;
	if (signum == SIGTERM && c->fate.term_ms > 0)
		end_child(c, c->fate.term_ms, 0, 0);
	else
		end_child(c, 0, 0, signum);
	return 0;
}

static void destroy_child(struct sim_source *src)
{
	free(child_of(src));
}

static void free_child(struct loop_child *handle)
{
	struct sim_child *c = CONTAINER_OF(handle, struct sim_child, handle);

	sim_check_thread(c->src.loop);
	sim_source_close(&c->src);
}

int sim_child_new(struct loop *loop, const struct loop_child_opts *opts,
		  struct loop_child **ret_child, struct error *err)
{
	struct sim_loop *l = sim_loop_of(loop);
	struct sim *s = l->sim;
	struct sim_fate fate = { .missing = true };
	struct sim_child *c;

	sim_check_thread(l);
	if (s->opts.spawn) {
		fate = (struct sim_fate){ 0 };
		s->opts.spawn(s->opts.arg, opts, &fate);
	}
	if (fate.missing)
		return error_set_errno(err, ERR_NOT_FOUND, ENOENT, "%s", opts->argv[0]);
	c = XNEW(struct sim_child);
	*c = (struct sim_child){
		.handle = { .pid = s->next_pid++, .kill = kill_child, .free = free_child },
		.src = { .fire = fire_child, .destroy = destroy_child },
		.fate = fate,
		.on_exit = opts->on_exit,
		.arg = opts->arg,
	};
	sim_source_add(&c->src, l);
	sim_trace(s, l, "child %d starts: %s", c->handle.pid, opts->argv[0]);
	if (fate.after_ms >= 0)
		end_child(c, fate.after_ms, fate.status, fate.signal);
	*ret_child = &c->handle;
	return 0;
}
