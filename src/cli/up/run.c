/*
 * The state advances in one direction: server, objects, roles, nodes, running, stopping.
 * up/child.h handles each child; this file only checks whether all have come far enough for the
 * next step.
 */
#include "cli/up/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/system/version.h"
#include "cli/roles/notify.h"
#include "cli/up/api.h"
#include "cli/up/child.h"
#include "cli/up/credentials.h"
#include "cli/up/explainer.h"
#include "cli/up/prometheus.h"
#include "cli/up/state.h"
#include "net/loop/program_host.h"

enum {
	SAVE_MS = 10, /* changes within this time are written once */
	SAVE_AGAIN_MS = 1000, /* after a failure */
	RETRY_MS = 5, /* for a node that does not exist yet */
	START_MS = 60 * 1000, /* limit of the first start */
	LOAD_MS = 10 * START_MS, /* limit for a living server to load its objects */
	TELL_MS = 60 * 1000, /* between two messages about the same token */
	STOP_MS = 12 * 1000, /* for roles that stop together; a server gives requests ten seconds */
	RENEW_MS = 10 * 1000, /* between checks of tokens */
	TOKEN_TRIES_MS = 2000,
};

/* The life of a certificate less a day, and two thirds of it. */
#define CERTIFICATE_NS (INT64_C(364) * 86400 * CLOCK_SEC)
#define RENEW_NS       (INT64_C(240) * 86400 * CLOCK_SEC)

enum phase { PHASE_SERVER, PHASE_OBJECTS, PHASE_ROLES, PHASE_NODES, PHASE_RUNNING, PHASE_STOPPING };

struct up;

/* One role. */
struct member {
	struct up *up;
	struct up_child child;
	struct loop_timer retry; /* for its token */
	int64_t token_ns; /* when the token was issued; wall clock */
	int64_t certificate_ns; /* the same for its certificate */
	char url[128]; /* the server's URL in its kubeconfig; "" before it was written */
	int64_t told_ms; /* when the missing token was reported; 0: never */
	char node_uid[64]; /* of the Node its token is bound to; "" before it was read */
	bool asking; /* a token is requested */
	bool looking; /* the Node is being read */
	bool moved; /* the Node was replaced: restart the role with a new token */
};

struct up {
	const struct up_run_opts *opts;
	struct up_plan *plan;
	struct loop *loop;
	struct loop_signal *signals[3];
	struct log log;
	const char *log_path;
	int log_fd;
	struct notify notify; /* the service manager, if any */
	struct up_api api;
	struct member *members;
	size_t n;
	enum phase phase;
	struct loop_timer save, deadline, look, renew, last;
	int stop_kind; /* the kind being stopped; negative: all have been stopped */
	bool stepping; /* members are being stopped right now */
	char url[128], code[128];
	bool ready, killed;
	int64_t start_ns;
	uint64_t targets; /* a hash of prometheus.json */
	struct program_host *explainer; /* runs explanations for the server's page */
	struct error failure;
};

static void begin_stop(struct up *u);

/* --- up.json --------------------------------------------------------------------------------- */

static void fill_role(const struct member *m, struct up_state_role *r)
{
	const struct up_child *c = &m->child;
	const struct clock *clock = loop_clock(c->loop);
	int64_t age = clock_monotonic(clock) - c->supervised.since_ms * CLOCK_MS;
	struct str url = str_from(c->url), scheme = STR("http://");

	*r = (struct up_state_role){ .name = str_from(c->role->name),
				     .state = str_from(supervised_state_name(c->supervised.state)),
				     .failure = str_from(c->failure),
				     .pid = up_child_pid(c),
				     .restarts = c->supervised.restarts,
				     .since_ns = clock_wall(clock) - age };
	if (c->role->program)
		r->health = url;
	else if (str_starts(url, scheme))
		r->metrics = str_skip(url, scheme.n);
}

/* Rewrites prometheus.json if an endpoint has changed. */
static int save_targets(struct up *u, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * MIB);
	struct up_target targets[64];
	size_t n = 0;
	uint64_t hash;
	int r;

	for (; n < u->n && n < ARRAY_SIZE(targets); n++)
		targets[n] = (struct up_target){ .role = u->members[n].child.role,
						 .url = str_from(u->members[n].child.url) };
	up_prometheus_print(targets, n, &out);
	hash = hash_bytes(buf_str(&out), 0);
	if (hash == u->targets)
		return 0;
	r = file_write_atomic(u->plan->layout.prometheus, buf_str(&out), 0644, err);
	if (r == 0)
		u->targets = hash;
	return r;
}

static int save(struct up *u)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * MIB);
	struct up_state_role roles[64];
	char page[192] = "";
	struct up_state s = { .pid = getpid(),
			      .start_ns = u->start_ns,
			      .version = str_from(version_get()->version),
			      .server = str_from(u->url),
			      .kubeconfig = str_from(u->plan->layout.admin),
			      .ready = u->ready,
			      .roles = roles };
	struct error err;
	int r;

	if (u->ready)
		(void)snprintf(page, sizeof(page), "%s/ui/", u->url);
	s.page = str_from(page);
	for (; s.n < u->n && s.n < ARRAY_SIZE(roles); s.n++)
		fill_role(&u->members[s.n], &roles[s.n]);
	up_state_print(&s, &out);
	r = file_write_atomic(u->plan->layout.state, buf_str(&out), 0600, &err);
	if (r == 0)
		r = save_targets(u, &err);
	if (r < 0)
		log_warn(&u->log, "cannot write the state file; trying again", LOG_ERR(&err));
	return r;
}

/* A full disk must not leave pids of roles that were restarted meanwhile. */
static void on_save(struct loop_timer *t)
{
	if (save(CONTAINER_OF(t, struct up, save)) < 0)
		loop_timer_start(t, SAVE_AGAIN_MS);
}

/* --- its own log ------------------------------------------------------------------------------ */

/* Limits the supervisor's own log; if detached, its streams are the same file. */
static void bound_log(struct up *u)
{
	const char *path = u->log_path;
	struct stat log, stream;
	bool same[3] = { false };

	if (fstat(u->log_fd, &log) < 0 || log.st_size < UP_LOG_MAX)
		return;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		same[fd] = fstat(fd, &stream) == 0 && stream.st_ino == log.st_ino &&
			   stream.st_dev == log.st_dev;
	if (up_log_rotate(path, u->log_fd) < 0)
		return;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (same[fd])
			(void)dup2(u->log_fd, fd);
}

/* --- ready ------------------------------------------------------------------------------------ */

static void run_fail(struct up *u, const struct error *err)
{
	if (u->failure.code == ERR_OK)
		u->failure = *err;
	log_error(&u->log, "startup failed", LOG_ERR(err));
	begin_stop(u);
}

static int64_t start_took(const struct up *u)
{
	return clock_monotonic(loop_clock(u->loop)) - u->opts->began_ns;
}

static void become_ready(struct up *u)
{
	struct up_ready ready = { .server = u->url,
				  .code = u->code,
				  .ms = start_took(u) / CLOCK_MS };

	u->phase = PHASE_RUNNING;
	u->ready = true;
	loop_timer_stop(&u->deadline);
	for (size_t i = 0; i < u->n; i++)
		u->members[i].child.first = false;
	if (save(u) < 0)
		loop_timer_start(&u->save, SAVE_AGAIN_MS);
	log_info(&u->log, "ready", LOG_INT("ms", ready.ms));
	notify_send(&u->notify, "READY=1");
	u->opts->on_ready(u->opts->arg, &ready);
}

static void on_link(void *arg, struct str text, const struct error *err)
{
	struct up *u = arg;

	if (u->phase == PHASE_STOPPING)
		return;
	if (!err)
		(void)snprintf(u->code, sizeof(u->code), "%.*s", STR_ARG(text));
	become_ready(u);
}

static void on_nodes(void *arg, struct str text, const struct error *err)
{
	struct up *u = arg;
	int64_t n = 0;

	if (u->phase != PHASE_NODES)
		return;
	if (err || !str_to_i64(text, &n) || n < (int64_t)up_plan_nodes(u->plan))
		loop_timer_start(&u->look, RETRY_MS);
	else if (u->opts->want_code)
		up_api_link(&u->api, on_link, u);
	else
		become_ready(u);
}

static void run_on_look(struct loop_timer *t)
{
	struct up *u = CONTAINER_OF(t, struct up, look);

	if (u->phase == PHASE_NODES)
		up_api_nodes(&u->api, on_nodes, u);
}

static void look_whether_all_are_ready(struct up *u)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->members[i].child.supervised.state != SUPERVISED_READY)
			return;
	u->phase = PHASE_NODES;
	loop_timer_start(&u->look, 0);
}

/*
 * Whether the server still loads its objects, which takes long if there are many. A server that
 * ended meanwhile does not get this time.
 */
static bool server_loads(const struct up *u)
{
	const struct supervised *s = &u->members[0].child.supervised;

	return u->phase == PHASE_SERVER && s->state == SUPERVISED_STARTING && s->restarts == 0 &&
	       start_took(u) < LOAD_MS * CLOCK_MS;
}

static void on_deadline(struct loop_timer *t)
{
	struct up *u = CONTAINER_OF(t, struct up, deadline);
	struct error err;
	const char *late = NULL;

	if (server_loads(u)) {
		log_info(&u->log, "the server is still loading");
		loop_timer_start(t, START_MS);
		return;
	}
	for (size_t i = 0; i < u->n; i++)
		if (!late && u->members[i].child.supervised.state != SUPERVISED_READY)
			late = u->members[i].child.role->name;
	(void)error_set(&err, ERR_TIMEOUT, "%s is not ready after %d s; see %s/%s.log",
			late ? late : "a node", (int)(start_took(u) / CLOCK_SEC),
			u->plan->layout.logs, late ? late : "up");
	run_fail(u, &err);
}

/* --- tokens of drivers ------------------------------------------------------------------------ */

static void ask_token(struct member *m);

static void on_node_uid(void *arg, struct str text, const struct error *err)
{
	struct member *m = arg;

	m->looking = false;
	if (err || m->up->phase == PHASE_STOPPING || text.n >= sizeof(m->node_uid))
		return;
	if (m->node_uid[0] && !str_eqz(text, m->node_uid)) {
		m->moved = true;
		ask_token(m);
	}
	(void)snprintf(m->node_uid, sizeof(m->node_uid), "%.*s", STR_ARG(text));
}

static void look_at_node(struct member *m)
{
	if (m->looking)
		return;
	m->looking = true;
	up_api_node_uid(&m->up->api, m->child.role->node, on_node_uid, m);
}

static void tell_no_token(struct member *m, const struct error *err)
{
	int64_t now = loop_now(m->up->loop);

	if (err->code == ERR_NOT_FOUND || (m->told_ms && now - m->told_ms < TELL_MS))
		return;
	m->told_ms = now;
	log_warn(&m->up->log, "no token yet", LOG_Z("role", m->child.role->name), LOG_ERR(err));
}

static void on_token(void *arg, struct str text, const struct error *err)
{
	struct member *m = arg;
	struct up *u = m->up;
	struct error bad;

	m->asking = false;
	if (u->phase == PHASE_STOPPING)
		return;
	if (!err && up_credentials_write_token(u->plan, m->child.role, text, &bad) < 0)
		err = &bad;
	if (err) {
		tell_no_token(m, err);
		loop_timer_start(&m->retry, u->ready ? TOKEN_TRIES_MS : RETRY_MS);
		return;
	}
	m->token_ns = clock_wall(loop_clock(u->loop));
	if (m->moved)
		up_child_restart(&m->child, "its Node is another one");
	m->moved = false;
	if (!m->node_uid[0])
		look_at_node(m);
	if (m->child.supervised.state == SUPERVISED_WAITING)
		up_child_start(&m->child);
}

static void ask_token(struct member *m)
{
	if (m->asking || m->up->phase == PHASE_STOPPING)
		return;
	m->asking = true;
	up_api_token(&m->up->api, m->child.role, on_token, m);
}

static void run_on_retry(struct loop_timer *t)
{
	ask_token(CONTAINER_OF(t, struct member, retry));
}

/*
 * A token ends with its lifetime, and with the Node that it is bound to. Uses the wall clock,
 * because tokens expire while a machine sleeps, too.
 */
static void renew_token(struct member *m, int64_t now_ns)
{
	if (m->token_ns == 0)
		return;
	if (now_ns - m->token_ns > UP_TOKEN_SECONDS / 2 * CLOCK_SEC)
		ask_token(m);
	look_at_node(m);
}

/*
 * Returns true if the role is restarted, with certificates that are valid for most of their life.
 */
static bool renew_certificate(struct member *m, int64_t now_ns)
{
	if (m->child.supervised.state != SUPERVISED_READY || now_ns - m->certificate_ns < RENEW_NS)
		return false;
	up_child_restart(&m->child, "its certificates were due for new ones");
	return true;
}

/* Renews one role at a time. */
static void on_renew(struct loop_timer *t)
{
	struct up *u = CONTAINER_OF(t, struct up, renew);
	int64_t now = clock_wall(loop_clock(u->loop));
	bool renewed = false;

	for (size_t i = 0; i < u->n; i++) {
		struct member *m = &u->members[i];

		if (m->child.role->kind == UP_DRIVER)
			renew_token(m, now);
		else if (!renewed)
			renewed = renew_certificate(m, now);
	}
	bound_log(u);
	loop_timer_start(t, RENEW_MS);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void start_roles(struct up *u)
{
	u->phase = PHASE_ROLES;
	for (size_t i = 0; i < u->n && u->phase == PHASE_ROLES; i++) {
		struct member *m = &u->members[i];

		if (m->child.role->kind == UP_DRIVER)
			ask_token(m);
		else if (m->child.role->kind != UP_SERVER)
			up_child_start(&m->child);
	}
}

static void on_objects(void *arg, const struct error *err)
{
	struct up *u = arg;

	if (u->phase != PHASE_OBJECTS)
		return;
	if (err)
		run_fail(u, err);
	else
		start_roles(u);
}

/* Keeps the port that was picked, so that kubeconfigs remain valid. */
static void keep_port(struct up *u)
{
	const char *colon = strrchr(u->url, ':');
	int64_t port;

	if (colon && str_to_i64(str_from(colon + 1), &port))
		u->plan->port = (int)port;
}

static int write_admin(struct up *u, struct error *err)
{
	struct up_plan p = *u->plan;
	struct arena a;
	int r;

	arena_init(&a, SIZE_MAX);
	p.arena = p.layout.arena = &a;
	r = up_credentials_write_admin(&p, u->url, err);
	arena_release(&a);
	return r;
}

static void server_is_ready(struct up *u, const struct up_child *c)
{
	struct error err;

	(void)snprintf(u->url, sizeof(u->url), "%s", c->url);
	keep_port(u);
	loop_timer_start(&u->deadline, START_MS);
	if (write_admin(u, &err) < 0 || up_api_open(&u->api, &err) < 0) {
		run_fail(u, &err);
		return;
	}
	u->phase = PHASE_OBJECTS;
	if (u->plan->demo)
		up_api_make_demo(&u->api, on_objects, u);
	else
		start_roles(u);
}

/* The administrator gets a new certificate, as at every start of the server. */
static void server_is_back(struct up *u)
{
	struct error err;

	if (write_admin(u, &err) < 0)
		log_warn(&u->log, "cannot write the administrator's kubeconfig", LOG_ERR(&err));
	if (up_api_reopen(&u->api, &err) < 0)
		log_warn(&u->log, "cannot read the administrator's kubeconfig", LOG_ERR(&err));
}

static void run_on_change(void *arg, struct up_child *c)
{
	struct up *u = ((struct member *)arg)->up;
	bool server = c->role->kind == UP_SERVER && c->supervised.state == SUPERVISED_READY;

	if (!loop_timer_running(&u->save))
		loop_timer_start(&u->save, SAVE_MS);
	if (u->phase == PHASE_SERVER && server)
		server_is_ready(u, c);
	else if (u->phase == PHASE_RUNNING && server)
		server_is_back(u);
	else if (u->phase == PHASE_ROLES)
		look_whether_all_are_ready(u);
}

/* A server gets a socket of its own at each start. */
static int prepare_server(struct up *u, struct up_child *c, struct error *err)
{
	if (c->in_fd)
		(void)close(c->in_fd);
	c->in_fd = 0;
	return program_host_open(u->explainer, &c->in_fd, err);
}

/* If the disk is full, a role uses the files written for it before, which are still valid. */
static int prepare(void *arg, struct up_child *c, const struct up_plan *p, struct error *err)
{
	struct member *m = arg;
	struct up *u = m->up;
	int64_t now = clock_wall(loop_clock(u->loop));
	int r = c->role->kind == UP_SERVER ? prepare_server(u, c, err)
					   : up_credentials_write(p, c->role, u->url, err);

	if (r < 0 && strcmp(m->url, u->url) == 0 && now - m->certificate_ns < CERTIFICATE_NS) {
		log_warn(&u->log, "a role keeps its old kubeconfig", LOG_Z("role", c->role->name),
			 LOG_ERR(err));
		return 0;
	}
	if (r < 0)
		return r;
	m->certificate_ns = now;
	(void)snprintf(m->url, sizeof(m->url), "%s", u->url);
	return 0;
}

/* --- children that end ------------------------------------------------------------------------ */

static void run_tell(struct up *u, const struct up_child *c, enum supervised_verdict verdict,
		     int64_t delay_ms)
{
	char text[512];

	if (verdict == SUPERVISED_AGAIN) {
		log_warn(&u->log, "a role exited", LOG_Z("role", c->role->name),
			 LOG_Z("why", c->failure), LOG_NS("delay", delay_ms * CLOCK_MS));
		(void)snprintf(text, sizeof(text), "%s ended: %s; starting it again", c->role->name,
			       c->failure);
	} else {
		log_error(&u->log, "a role keeps failing and is not restarted",
			  LOG_Z("role", c->role->name), LOG_Z("why", c->failure));
		(void)snprintf(text, sizeof(text), "%s cannot start: %s", c->role->name,
			       c->failure);
	}
	if (u->opts->on_trouble && u->ready)
		u->opts->on_trouble(u->opts->arg, text);
}

static void stop_next(struct up *u);

static void run_on_end(void *arg, struct up_child *c, enum supervised_verdict verdict,
		       int64_t delay_ms)
{
	struct up *u = ((struct member *)arg)->up;
	struct error err;

	if (verdict == SUPERVISED_DONE) {
		if (!u->stepping)
			stop_next(u);
		return;
	}
	run_tell(u, c, verdict, delay_ms);
	if (verdict != SUPERVISED_GIVE_ALL_UP)
		return;
	(void)error_set(&err, ERR_UNAVAILABLE, "%s cannot start: %s", c->role->name, c->failure);
	run_fail(u, &err);
}

static void run_on_last(struct loop_timer *t)
{
	loop_stop(t->loop);
}

/* Nodes of both kinds stop together. */
static int stage(enum up_kind kind)
{
	return kind == UP_HOLLOW ? UP_NODE : (int)kind;
}

static bool stage_runs(const struct up *u)
{
	for (size_t i = 0; i < u->n; i++)
		if (stage(u->members[i].child.role->kind) == u->stop_kind &&
		    supervised_runs(&u->members[i].child.supervised))
			return true;
	return false;
}

static void stop_stage(struct up *u)
{
	u->stepping = true;
	for (size_t i = 0; i < u->n; i++)
		if (stage(u->members[i].child.role->kind) == u->stop_kind)
			up_child_stop(&u->members[i].child, u->killed);
	u->stepping = false;
	loop_timer_start(&u->deadline, STOP_MS);
}

static void stop_next(struct up *u)
{
	if (stage_runs(u))
		return;
	while (--u->stop_kind >= 0) {
		stop_stage(u);
		if (stage_runs(u))
			return;
	}
	if (u->stop_kind == -1)
		loop_timer_start(&u->last, 0);
}

static void kill_all(struct up *u)
{
	u->killed = true;
	u->stepping = true;
	for (size_t i = 0; i < u->n; i++)
		if (supervised_runs(&u->members[i].child.supervised))
			up_child_stop(&u->members[i].child, true);
	u->stepping = false;
}

static void on_stop_deadline(struct loop_timer *t)
{
	struct up *u = CONTAINER_OF(t, struct up, deadline);

	for (size_t i = 0; i < u->n; i++) {
		struct up_child *c = &u->members[i].child;

		if (stage(c->role->kind) != u->stop_kind || !supervised_runs(&c->supervised))
			continue;
		log_warn(&u->log, "a role did not stop in time; killing it",
			 LOG_Z("role", c->role->name));
		up_child_stop(c, true);
	}
}

static void begin_stop(struct up *u)
{
	if (u->phase == PHASE_STOPPING)
		return;
	u->phase = PHASE_STOPPING;
	u->stop_kind = UP_KINDS;
	notify_send(&u->notify, "STOPPING=1");
	for (size_t i = 0; i < u->n; i++)
		loop_timer_stop(&u->members[i].retry);
	loop_timer_stop(&u->look);
	loop_timer_stop(&u->renew);
	loop_timer_stop(&u->deadline);
	loop_timer_init(&u->deadline, u->loop, on_stop_deadline);
	stop_next(u);
}

static void run_on_signal(void *arg, int signum)
{
	struct up *u = arg;

	log_info(&u->log, "stopping", LOG_INT("signal", signum));
	if (u->phase == PHASE_STOPPING)
		kill_all(u);
	else
		begin_stop(u);
}

/* --- life ------------------------------------------------------------------------------------- */

static int init_members(struct up *u, struct error *err)
{
	static const struct up_child_ops ops = { run_on_change, prepare, run_on_end };
	int r = 0;

	u->members = ARENA_ARRAY(u->plan->arena, struct member, u->plan->n);
	for (size_t i = 0; i < u->plan->n && r == 0; i++) {
		struct member *m = &u->members[u->n];

		r = up_child_init(&m->child, u->loop, u->plan, &u->plan->roles[i], err);
		if (r < 0)
			break;
		m->up = u;
		m->child.ops = &ops;
		m->child.arg = m;
		loop_timer_init(&m->retry, u->loop, run_on_retry);
		u->n++;
	}
	return r;
}

static int init_signals(struct up *u, struct error *err)
{
	static const int signums[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction hangup;
	bool nohup = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(signums) - nohup && r == 0; i++)
		r = loop_signal_new(u->loop, signums[i], run_on_signal, u, &u->signals[i], err);
	return r;
}

static void init_timers(struct up *u)
{
	loop_timer_init(&u->save, u->loop, on_save);
	loop_timer_init(&u->deadline, u->loop, on_deadline);
	loop_timer_init(&u->look, u->loop, run_on_look);
	loop_timer_init(&u->renew, u->loop, on_renew);
	loop_timer_init(&u->last, u->loop, run_on_last);
}

static void init_log(struct up *u)
{
	struct log_options o = { .level = LOG_LEVEL_INFO, .format = LOG_FORMAT_JSON };

	u->log_path = up_layout_log(&u->plan->layout, "up");
	u->log_fd = open(u->log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	o.fd = u->log_fd;
	log_init(&u->log, &o);
	bound_log(u);
}

static void run_release(struct up *u)
{
	for (size_t i = 0; i < u->n; i++)
		up_child_release(&u->members[i].child);
	for (size_t i = 0; i < ARRAY_SIZE(u->signals); i++)
		if (u->signals[i])
			loop_signal_free(u->signals[i]);
	loop_timer_stop(&u->save);
	loop_timer_stop(&u->deadline);
	up_api_close(&u->api);
	if (u->n > 0 && u->members[0].child.in_fd)
		(void)close(u->members[0].child.in_fd);
	program_host_free(u->explainer);
}

static int cli_up_run(struct up *u, struct error *err)
{
	int r = init_signals(u, err);

	if (r == 0)
		r = init_members(u, err);
	if (r == 0) {
		loop_timer_start(&u->deadline, START_MS);
		loop_timer_start(&u->renew, RENEW_MS);
		log_info(&u->log, "starting", LOG_INT("pid", getpid()));
		up_child_start(&u->members[0].child);
		loop_run(u->loop);
		(void)save(u);
	}
	run_release(u);
	/* Connections and handles free their memory in the next turn. */
	loop_timer_start(&u->last, 0);
	loop_run(u->loop);
	return r;
}

int up_run(const struct up_run_opts *opts, struct error *err)
{
	struct up u = { .opts = opts, .plan = opts->plan, .start_ns = clock_wall(clock_system()) };
	int r = loop_new(&u.loop, err);

	if (r < 0)
		return r;
	notify_init(&u.notify);
	init_timers(&u);
	init_log(&u);
	up_api_init(&u.api, u.loop, u.plan);
	u.explainer = up_explainer_new(u.loop, u.plan);
	r = cli_up_run(&u, err);
	loop_free(u.loop);
	log_release(&u.log);
	(void)close(u.log_fd);
	return r != 0 || u.failure.code == ERR_OK ? r : error_copy(err, &u.failure);
}
