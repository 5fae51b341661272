/*
 * The process is `devplane confine`, which becomes the role. It has its own session, so that
 * Ctrl-C reaches only the supervisor, which then stops everything in order.
 */
#include "cli/up/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/up/port.h"
#include "client/kubeconfig/kubeconfig.h"

enum {
	ASK_FIRST_MS = 2,
	ASK_MOST_MS = 50,
	LINE_BYTES = 64 * 1024,
	READS_MOST = 16, /* in one turn; a pipe holds that much */
	ARGV_MAX = 512, /* a role's WORDS_MAX, and its sandbox */
	RESTART_MS = 20 * 1000, /* time for an orderly end before a restart */
};

/* --- readiness -------------------------------------------------------------------------------- */

static void forget_health(struct up_child *c)
{
	loop_timer_stop(&c->ask);
	client_cancel(&c->request);
	client_free(TAKE(c->client));
}

static void become_ready(struct up_child *c)
{
	supervised_ready(&c->supervised, loop_now(c->loop));
	c->ops->on_change(c->arg, c);
}

static void child_on_health(struct client_request *r, const struct client_answer *a UNUSED,
			    const struct error *err)
{
	struct up_child *c = r->arg;
	int64_t age = loop_now(c->loop) - c->supervised.started_ms;

	if (!err) {
		/* Freed later, because the client is calling us. */
		loop_timer_start(&c->ask, 0);
		become_ready(c);
		return;
	}
	loop_timer_start(&c->ask, MIN(ASK_MOST_MS, MAX(ASK_FIRST_MS, age / 16)));
}

static void on_ask(struct loop_timer *t)
{
	struct up_child *c = CONTAINER_OF(t, struct up_child, ask);

	if (c->supervised.state != SUPERVISED_STARTING) {
		forget_health(c);
		return;
	}
	c->request = (struct client_request){ .path = c->role->program ? STR("/healthz")
								       : STR("/readyz"),
					      .accept = STR("text/plain"),
					      .timeout_ms = 5000,
					      .no_retry = true,
					      .on_done = child_on_health,
					      .arg = c };
	client_send(c->client, &c->request);
}

static void ask_health(struct up_child *c)
{
	static const struct kubeconfig_env nothing = { 0 };
	struct kubeconfig_opts k = { .server = c->url, .env = &nothing };
	struct kubeconfig config = { 0 };
	struct client_opts o = { .config = &config, .role = "up" };

	forget_health(c);
	if (kubeconfig_load(&config, &k, NULL) == 0) {
		/* Another program has a certificate of its own making; we send it no secret. */
		config.insecure = c->role->program != NULL;
		if (client_new(c->loop, &o, &c->client, NULL) == 0)
			loop_timer_start(&c->ask, 0);
	}
	kubeconfig_release(&config);
}

/* --- its output ------------------------------------------------------------------------------- */

/* Reads the text after `words` in the line, up to a space. */
static bool read_word(struct str line, struct str words, char *ret_word, size_t size)
{
	ptrdiff_t at = str_find(line, words);
	struct str rest = at < 0 ? STR_NULL : str_skip(line, (size_t)at + words.n), word;

	if (at < 0 || !str_split(&rest, ' ', &word) || word.n == 0 || word.n >= size)
		return false;
	(void)snprintf(ret_word, size, "%.*s", STR_ARG(word));
	return true;
}

/* A server that listens on all addresses is reached at this one, which is in its certificate. */
static void make_local(struct up_child *c)
{
	static const char *const all[] = { "https://0.0.0.0:", "https://[::]:" };
	char url[sizeof(c->url)];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		size_t n = strlen(all[i]);

		if (strncmp(c->url, all[i], n) != 0)
			continue;
		(void)snprintf(url, sizeof(url), "https://127.0.0.1:%s", c->url + n);
		memcpy(c->url, url, sizeof(url));
		return;
	}
}

static void read_announcement(struct up_child *c, struct str line)
{
	if (c->supervised.state != SUPERVISED_STARTING)
		return;
	if (c->role->kind == UP_SERVER) {
		if (!read_word(line, STR("devplane server is ready at "), c->url, sizeof(c->url)))
			return;
		make_local(c);
		become_ready(c);
	} else if (read_word(line, STR("  health and metrics at "), c->url, sizeof(c->url))) {
		ask_health(c);
		c->ops->on_change(c->arg, c);
	}
}

/* The start of a line that says why the program ends: ours, or one that is not ours. */
static bool is_complaint(const struct up_child *c, struct str line, struct str *ret_text)
{
	struct str start = c->role->program ? STR("Error: ") : STR("devplane: ");

	*ret_text = str_skip(line, MIN(start.n, line.n));
	if (str_starts(line, start))
		return true;
	*ret_text = line;
	/* Upstream's log begins a line with the severity and the date, as "E1119 ". */
	return c->role->program && line.n > 5 && (line.p[0] == 'E' || line.p[0] == 'F') &&
	       line.p[5] == ' ';
}

static void read_line(struct up_child *c, struct str line)
{
	struct str complaint;

	up_log_line(&c->log, line, loop_clock(c->loop));
	if (is_complaint(c, line, &complaint))
		(void)snprintf(c->said, sizeof(c->said), "%.*s", STR_ARG(complaint));
	else if (!c->role->program && !up_log_is_json(line))
		read_announcement(c, line);
}

static void read_lines(struct up_child *c, bool all)
{
	ptrdiff_t end;

	while ((end = str_chr(buf_str(&c->line), '\n')) >= 0) {
		read_line(c, str_of(c->line.p, (size_t)end));
		buf_consume(&c->line, (size_t)end + 1);
	}
	if (c->line.n > 0 && (all || c->line.n >= LINE_BYTES)) {
		read_line(c, buf_str(&c->line));
		buf_clear(&c->line);
	}
}

static void close_output(struct up_child *c)
{
	if (c->reader)
		loop_fd_free(TAKE(c->reader));
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
}

/*
 * Reads the available output, but not endlessly: others need their turn. Returns false at the end.
 */
static bool read_output(struct up_child *c)
{
	char piece[LINE_BYTES];
	ssize_t n = 1;

	for (int reads = 0; reads < READS_MOST && n > 0; reads++) {
		n = read(c->fd, piece, sizeof(piece));
		if (n > 0)
			(void)buf_add(&c->line, piece, (size_t)n);
		read_lines(c, false);
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void on_output(void *arg)
{
	struct up_child *c = arg;

	if (!read_output(c))
		close_output(c);
}

/* --- life ------------------------------------------------------------------------------------- */

static void explain_end(struct up_child *c, int status, int signum)
{
	/* Another program's last error may be old; a signal ended it without a word. */
	bool said = c->said[0] && !(c->role->program && signum);

	if (said)
		(void)snprintf(c->failure, sizeof(c->failure), "%s", c->said);
	else if (signum)
		(void)snprintf(c->failure, sizeof(c->failure), "killed by signal %d (%s)", signum,
			       sigabbrev_np(signum) ? sigabbrev_np(signum) : "?");
	else
		(void)snprintf(c->failure, sizeof(c->failure), "ended with status %d", status);
	c->said[0] = 0;
}

static void child_decide(struct up_child *c, int status, int signum)
{
	struct supervised_end end = { .status = status, .signum = signum, .first = c->first };
	int64_t delay = 0;
	enum supervised_verdict verdict;

	verdict = supervised_ended(&c->supervised, &end, loop_now(c->loop), loop_prng(c->loop),
				   &delay);
	if (verdict == SUPERVISED_AGAIN)
		loop_timer_start(&c->again, delay);
	c->ops->on_change(c->arg, c);
	c->ops->on_end(c->arg, c, verdict, delay);
}

static void on_exit_(void *arg, int status, int signum)
{
	struct up_child *c = arg;

	if (c->fd >= 0)
		(void)read_output(c);
	read_lines(c, true);
	close_output(c);
	forget_health(c);
	loop_timer_stop(&c->hurry);
	loop_child_free(TAKE(c->process));
	if (c->role->kind != UP_SERVER)
		c->url[0] = 0;
	if (c->supervised.state != SUPERVISED_STOPPING)
		explain_end(c, status, signum);
	child_decide(c, status, signum);
}

static int make_pipe(struct up_child *c, int *ret_theirs, struct error *err)
{
	int ends[2];
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a pipe");
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	c->fd = ends[0];
	r = loop_fd_new(c->loop, c->fd, on_output, c, &c->reader, err);
	if (r < 0) {
		close_output(c);
		(void)close(ends[1]);
		return r;
	}
	*ret_theirs = ends[1];
	return 0;
}

/* --- its words -------------------------------------------------------------------------------- */

struct argv {
	struct arena *arena;
	const char **words;
	size_t n;
};

static void child_add(struct argv *v, const char *word)
{
	assert(v->n + 1 < ARGV_MAX);
	v->words[v->n++] = word;
}

static void add_paths(struct argv *v, const char *flag, const char *const *paths)
{
	for (size_t i = 0; paths[i]; i++)
		child_add(v, arena_printf(v->arena, "--%s=%s", flag, paths[i]));
}

static void add_user(struct argv *v, struct up_user user)
{
	if (user.uid)
		child_add(v, arena_printf(v->arena, "--uid=%u", user.uid));
	for (size_t i = 0; i < user.ngroups; i++)
		child_add(v, arena_printf(v->arena, "--groups=%u", user.groups[i]));
}

static void add_sandbox(struct argv *v, struct up_sandbox s)
{
	child_add(v, arena_printf(v->arena, "--syscalls=%s", s.syscalls));
	if (!s.landlock)
		return;
	child_add(v, "--landlock");
	add_paths(v, "execute", s.execute);
	add_paths(v, "read", s.read);
	add_paths(v, "write", s.write);
}

const char *const *up_child_argv(const struct up_plan *p, const struct up_role *r,
				 const char *const *words)
{
	struct arena *a = p->arena;
	struct argv v = { .arena = a };

	v.words = ARENA_ARRAY(a, const char *, ARGV_MAX);
	child_add(&v, "/proc/self/exe");
	child_add(&v, "confine");
	child_add(&v, arena_printf(a, "--parent=%d", (int)getpid()));
	child_add(&v, arena_printf(a, "--capabilities=%s", up_role_capabilities(p, r)));
	if (r->kind != UP_EXPLAIN)
		child_add(&v, arena_printf(a, "--folder=%s", p->layout.dir));
	if (r->program)
		child_add(&v, arena_printf(a, "--program=%s", r->program));
	add_user(&v, up_role_user(p, r));
	add_sandbox(&v, up_role_sandbox(p, r));
	child_add(&v, "--");
	for (size_t i = 0; words[i]; i++)
		child_add(&v, words[i]);
	return v.words;
}

/* A program that is not ours does not say where it serves its health, so we choose. */
static int pick_ports(struct up_child *c, struct up_plan *p, struct error *err)
{
	int r = 0;

	for (size_t i = 0; c->role->program && r == 0 && i < ARRAY_SIZE(p->ports); i++)
		r = up_port_pick(&p->ports[i], err);
	return r;
}

static int spawn(struct up_child *c, struct up_plan *p, struct error *err)
{
	struct loop_child_opts o = { .group = true, .on_exit = on_exit_, .arg = c };
	const char *health;
	int theirs = -1;
	int r = c->ops->prepare(c->arg, c, p, err);

	if (r == 0)
		r = pick_ports(c, p, err);
	if (r == 0)
		r = make_pipe(c, &theirs, err);
	if (r < 0)
		return r;
	o.argv = up_child_argv(p, c->role, up_role_words(p, c->role));
	o.in_fd = c->in_fd;
	o.out_fd = o.err_fd = theirs;
	r = loop_child_new(c->loop, &o, &c->process, err);
	(void)close(theirs);
	if (c->in_fd)
		(void)close(c->in_fd);
	c->in_fd = 0;
	if (r < 0) {
		close_output(c);
		return r;
	}
	health = up_role_health(p, c->role);
	if (health) {
		(void)snprintf(c->url, sizeof(c->url), "%s", health);
		ask_health(c);
	}
	return 0;
}

/*
 * Words and paths of a start are freed after it, because a child may be restarted any number of
 * times.
 */
static int spawn_once(struct up_child *c, struct error *err)
{
	struct up_plan p = *c->plan;
	struct arena a;
	int r;

	arena_init(&a, SIZE_MAX);
	p.arena = p.layout.arena = &a;
	r = spawn(c, &p, err);
	arena_release(&a);
	return r;
}

void up_child_start(struct up_child *c)
{
	struct error err;

	supervised_started(&c->supervised, loop_now(c->loop));
	buf_clear(&c->line);
	if (spawn_once(c, &err) < 0) {
		(void)snprintf(c->failure, sizeof(c->failure), "%s", err.msg);
		child_decide(c, 1, 0);
		return;
	}
	c->ops->on_change(c->arg, c);
}

static void on_hurry(struct loop_timer *t)
{
	struct up_child *c = CONTAINER_OF(t, struct up_child, hurry);

	if (c->process)
		(void)loop_child_kill(c->process, SIGKILL, NULL);
}

static void child_on_again(struct loop_timer *t)
{
	up_child_start(CONTAINER_OF(t, struct up_child, again));
}

int up_child_init(struct up_child *c, struct loop *l, struct up_plan *p, const struct up_role *r,
		  struct error *err)
{
	*c = (struct up_child){ .loop = l, .plan = p, .role = r, .first = true, .fd = -1 };
	supervised_init(&c->supervised, loop_now(l));
	loop_timer_init(&c->again, l, child_on_again);
	loop_timer_init(&c->ask, l, on_ask);
	loop_timer_init(&c->hurry, l, on_hurry);
	buf_init(&c->line, (size_t)4 * LINE_BYTES);
	return up_log_open(&c->log, up_layout_log(&p->layout, r->name), err);
}

void up_child_stop(struct up_child *c, bool now)
{
	loop_timer_stop(&c->again);
	if (c->supervised.state != SUPERVISED_STOPPING) {
		supervised_stopping(&c->supervised, loop_now(c->loop));
		c->ops->on_change(c->arg, c);
	}
	if (c->process)
		(void)loop_child_kill(c->process, now ? SIGKILL : SIGTERM, NULL);
	else
		c->ops->on_end(c->arg, c, SUPERVISED_DONE, 0);
}

void up_child_restart(struct up_child *c, const char *why)
{
	if (!c->process || c->supervised.state == SUPERVISED_STOPPING)
		return;
	(void)snprintf(c->said, sizeof(c->said), "%s", why);
	(void)loop_child_kill(c->process, SIGTERM, NULL);
	if (!loop_timer_running(&c->hurry))
		loop_timer_start(&c->hurry, RESTART_MS);
}

int up_child_pid(const struct up_child *c)
{
	return c->process ? loop_child_pid(c->process) : 0;
}

void up_child_release(struct up_child *c)
{
	loop_timer_stop(&c->again);
	loop_timer_stop(&c->hurry);
	forget_health(c);
	close_output(c);
	buf_release(&c->line);
	up_log_close(&c->log);
}
