/*
 * The network: addresses, listeners, cuts.
 *
 * A connect travels to its address and finds a listener or not, and the owner is notified a little
 * later; meanwhile the server may have accepted, responded and closed. Listeners accept like the
 * real one, some at a time, and hand over to other loops by message.
 */
#include "net/sim/sim_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/net_limits.h"

struct sim_listener {
	struct listener listener;
	struct sim_source src;
	struct sim_port *port; /* NULL: nobody can connect any more */
	struct listener_opts opts;
	struct loop **lanes; /* never empty */
	size_t nlanes, next;
	struct list backlog;
	ino_t inode; /* of its file; 0: no file */
};

/* A connection on its way to its loop. */
struct handover {
	struct loop_msg msg;
	struct list link; /* the loop's */
	struct sim_loop *loop;
	struct sim_conn *conn;
	void (*on_accept)(void *arg, struct conn *c, size_t lane);
	void *arg;
	size_t lane;
};

static struct sim_listener *listener_of(struct sim_source *src)
{
	return CONTAINER_OF(src, struct sim_listener, src);
}

/* --- paths --------------------------------------------------------------------------- */

static bool cuts_path(const struct sim_cut *cut, const struct sim_host *a, const struct sim_host *b)
{
	return (!cut->a || cut->a == a) && (!cut->b || cut->b == b);
}

bool sim_path_open(const struct sim *s, const struct sim_host *a, const struct sim_host *b)
{
	if (a == b || !b)
		return true;
	if (a->down || b->down)
		return false;
	for (size_t i = 0; i < s->cuts.n; i++)
		if (cuts_path(&s->cuts.v[i], a, b) || cuts_path(&s->cuts.v[i], b, a))
			return false;
	return true;
}

int64_t sim_latency(struct sim *s, const struct sim_host *a, const struct sim_host *b)
{
	int64_t ns = sim_between(s, s->opts.latency_min_us, s->opts.latency_max_us) * 1000;

	return a == b ? ns / 10 : ns;
}

/* All ends in use whose path is open, or all whose path is not. */
static void for_each_end(struct sim *s, bool open, void (*fn)(struct sim_conn *c))
{
	LIST_FOREACH (it, &s->ends) {
		struct sim_conn *c = LIST_ENTRY(it, struct sim_conn, link);

		if (!c->conn.closed && sim_path_open(s, c->near, c->far) == open)
			fn(c);
	}
}

void sim_cut(struct sim *s, const char *a, const char *b)
{
	struct sim_cut cut = { sim_host_get(s, a), sim_host_get(s, b) };

	sim_trace(s, NULL, "cut %s %s", a ? a : "*", b ? b : "*");
	(void)vec_push(&s->cuts, cut);
	for_each_end(s, false, sim_conn_hold);
}

void sim_heal(struct sim *s, const char *a, const char *b)
{
	struct sim_cut cut = { sim_host_get(s, a), sim_host_get(s, b) };

	sim_trace(s, NULL, "heal %s %s", a ? a : "*", b ? b : "*");
	for (size_t i = s->cuts.n; i-- > 0;)
		if ((!a && !b) || (s->cuts.v[i].a == cut.a && s->cuts.v[i].b == cut.b) ||
		    (s->cuts.v[i].a == cut.b && s->cuts.v[i].b == cut.a))
			vec_remove(&s->cuts, i);
	for_each_end(s, true, sim_conn_resend);
}

size_t sim_break_conns(struct sim *s, double chance)
{
	size_t n = 0;

	LIST_FOREACH (it, &s->ends) {
		struct sim_conn *c = LIST_ENTRY(it, struct sim_conn, link);

		/* Each connection once, through its client's end. */
		if (c->peer && !c->server && !c->conn.closed && sim_chance(s, chance)) {
			sim_conn_break(c);
			n++;
		}
	}
	return n;
}

size_t sim_conns(const struct sim *s)
{
	size_t n = 0;

	LIST_FOREACH (it, &s->ends)
		n += !LIST_ENTRY(it, struct sim_conn, link)->conn.closed;
	return n;
}

/* --- addresses ------------------------------------------------------------------------ */

static bool answers(const struct sim_port *p, const struct addr *to)
{
	if (strcmp(p->at.text, to->text) == 0)
		return true;
	if (p->at.kind == ADDR_UNIX || to->kind == ADDR_UNIX || p->at.port != to->port)
		return false;
	if (to->kind == ADDR_NAME)
		return strcmp(p->host->name, to->host) == 0;
	/* An address of its host, if it listens on all of them. */
	return strcmp(p->at.host, "::") == 0 || strcmp(p->at.host, "0.0.0.0") == 0;
}

static struct sim_port *find_port(struct sim *s, const struct addr *to)
{
	LIST_FOREACH (it, &s->ports) {
		struct sim_port *p = LIST_ENTRY(it, struct sim_port, link);

		if (answers(p, to))
			return p;
	}
	return NULL;
}

static void free_port(struct sim_port *p)
{
	list_remove(&p->link);
	free(p);
}

/* A host's own address with a fresh port, as the peer of a TCP connection sees it. */
static void host_address(struct sim *s, const struct sim_host *host, struct addr *ret_addr)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "10.%u.%u.%u:%u", host->number >> 16 & 255,
		       host->number >> 8 & 255, host->number & 255, s->next_port++ & 65535);
	(void)addr_parse(ret_addr, str_from(text), 0, NULL);
}

void sim_host_restart(struct sim *s, struct sim_host *host)
{
	host->down = false;
	LIST_FOREACH_SAFE (it, &s->ports) {
		struct sim_port *p = LIST_ENTRY(it, struct sim_port, link);

		if (p->host == host && !p->listener)
			free_port(p);
	}
	for_each_end(s, true, sim_conn_resend);
}

/* --- connecting ------------------------------------------------------------------------ */

static bool is_forbidden(const struct addr *to)
{
	return !addr_allows(to, to);
}

static void net_refuse(struct sim_conn *c)
{
	struct error err;

	if (is_forbidden(&c->peer_addr))
		(void)error_set(&err, ERR_FORBIDDEN, "address not allowed");
	else
		(void)error_set_errno(&err, ERR_UNAVAILABLE, ECONNREFUSED, "cannot connect to %s",
				      c->peer_addr.text);
	sim_conn_fail(c, &err);
}

static void update_listener(struct sim_listener *ln)
{
	struct list *first = ln->backlog.next;
	int64_t due = SIM_NEVER;

	if (!list_empty(&ln->backlog))
		due = LIST_ENTRY(first, struct sim_conn, backlog)->open_due;
	if (ln->src.loop)
		sim_source_set(&ln->src, due);
}

static void establish(struct sim_conn *c, struct sim_port *port)
{
	struct sim *s = c->sim;
	struct addr peer = port->at;
	struct sim_conn *server;

	if (peer.kind != ADDR_UNIX)
		host_address(s, c->near, &peer);
	server = sim_conn_new(s, port->host, c->near, &peer);
	server->id = c->id;
	server->server = true;
	server->peer = c;
	server->state = SIM_WAITING;
	server->open_due = s->now;
	server->eof = (struct sim_notice){ .sent = c->shut, .due = s->now };
	list_push_back(&port->listener->backlog, &server->backlog);
	update_listener(port->listener);
	c->peer = server;
	c->state = SIM_ANSWERED;
	c->open_due = s->now + sim_latency(s, c->near, c->far);
}

void sim_conn_dial(struct sim_conn *c)
{
	struct sim_port *port = find_port(c->sim, &c->peer_addr);

	if (!port || is_forbidden(&c->peer_addr) || sim_chance(c->sim, c->sim->opts.refuse)) {
		net_refuse(c);
		return;
	}
	c->far = port->host;
	/* The next attempt comes only when the path opens. */
	if (!sim_path_open(c->sim, c->near, c->far))
		c->open_due = SIM_NEVER;
	else
		establish(c, port);
}

int sim_connect(struct loop *loop, const struct addr *to, const struct conn_events *events,
		void *arg, struct conn **ret_conn, struct error *err)
{
	struct sim_loop *l = sim_loop_of(loop);
	struct sim *s = l->sim;
	struct sim_conn *c;

	sim_check_thread(l);
	if (l->crashed)
		return error_set(err, ERR_UNAVAILABLE, "the host has crashed");
	c = sim_conn_new(s, l->host, NULL, to);
	c->id = ++s->next_conn;
	c->open_due = s->now + sim_latency(s, l->host, NULL);
	conn_set_events(&c->conn, events, arg);
	sim_conn_adopt(c, l);
	sim_trace(s, l, "c%u connect %s", c->id, to->text);
	*ret_conn = &c->conn;
	return 0;
}

/* --- accepting ------------------------------------------------------------------------- */

static void on_handover(struct loop_msg *m)
{
	struct handover *h = CONTAINER_OF(m, struct handover, msg);

	list_remove(&h->link);
	sim_conn_adopt(h->conn, h->loop);
	h->on_accept(h->arg, &h->conn->conn, h->lane);
	free(h);
}

static void net_deliver(struct sim_listener *ln, struct sim_conn *c)
{
	size_t lane = ln->next++ % ln->nlanes;
	struct handover *h;

	sim_trace(c->sim, ln->src.loop, "c%u accept for lane %zu", c->id, lane);
	if (sim_loop_of(ln->lanes[lane]) == ln->src.loop) {
		sim_conn_adopt(c, ln->src.loop);
		ln->opts.on_accept(ln->opts.arg, &c->conn, lane);
		return;
	}
	h = XNEW(struct handover);
	*h = (struct handover){ .msg = { .fn = on_handover },
				.loop = sim_loop_of(ln->lanes[lane]),
				.conn = c,
				.on_accept = ln->opts.on_accept,
				.arg = ln->opts.arg,
				.lane = lane };
	list_push_back(&h->loop->handovers, &h->link);
	loop_post(&h->loop->loop, &h->msg);
}

static void accept_some(struct sim_source *src)
{
	struct sim_listener *ln = listener_of(src);
	struct sim *s = src->loop->sim;
	struct sim_conn *c;

	do {
		if (list_empty(&ln->backlog))
			break;
		c = LIST_ENTRY(ln->backlog.next, struct sim_conn, backlog);
		if (c->open_due > s->now)
			break;
		list_remove(&c->backlog);
		net_deliver(ln, c);
	} while (ln->src.loop && !sim_chance(s, 0.25));
	update_listener(ln);
}

void sim_handovers_crash(struct sim_loop *l, enum sim_crash how)
{
	LIST_FOREACH (it, &l->handovers)
		sim_conn_crash(LIST_ENTRY(it, struct handover, link)->conn, how);
}

void sim_handovers_drop(struct sim_loop *l)
{
	struct list *node;

	while ((node = list_pop_front(&l->handovers))) {
		struct handover *h = LIST_ENTRY(node, struct handover, link);

		h->conn->conn.closed = true;
		sim_source_close(&h->conn->src);
		free(h);
	}
}

/* --- listeners ------------------------------------------------------------------------- */

static void refuse_backlog(struct sim_listener *ln)
{
	while (!list_empty(&ln->backlog))
		sim_conn_refuse(LIST_ENTRY(ln->backlog.next, struct sim_conn, backlog));
}

static void crash_listener(struct sim_source *src, enum sim_crash how)
{
	struct sim_listener *ln = listener_of(src);

	if (how == SIM_CRASH_MACHINE)
		LIST_FOREACH (it, &ln->backlog)
			sim_conn_crash(LIST_ENTRY(it, struct sim_conn, backlog), how);
	refuse_backlog(ln);
	if (how == SIM_CRASH_PROCESS)
		free_port(ln->port);
	else
		ln->port->listener = NULL;
	ln->port = NULL;
}

static void touch_file(struct sim_listener *ln)
{
	CLEANUP(free) char *folder = xstrdup(ln->listener.at.host);
	CLEANUP(free) char *name = xstrdup(ln->listener.at.host);

	sim_touch(ln->src.loop->sim, dirname(folder), basename(name));
}

/* Its timestamp is the world's, so that two files in a row differ in every run. */
static int make_file(struct sim_listener *ln, struct error *err)
{
	const char *path = ln->listener.at.host;
	int64_t ns = clock_wall(&ln->src.loop->clock);
	struct timespec made = { ns / CLOCK_SEC, ns % CLOCK_SEC };
	struct stat st;

	(void)unlink(path);
	if (mknod(path, S_IFSOCK | 0600, 0) < 0 || stat(path, &st) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make the socket %s", path);
	(void)utimensat(AT_FDCWD, path, (struct timespec[]){ made, made }, 0);
	ln->inode = st.st_ino;
	touch_file(ln);
	return 0;
}

static void remove_file(struct sim_listener *ln)
{
	struct stat st;

	if (!ln->inode || stat(ln->listener.at.host, &st) < 0 || st.st_ino != ln->inode)
		return;
	(void)unlink(ln->listener.at.host);
	touch_file(ln);
}

static void destroy_listener(struct sim_source *src)
{
	free(listener_of(src)->lanes);
	free(listener_of(src));
}

static void free_listener(struct listener *listener)
{
	struct sim_listener *ln = CONTAINER_OF(listener, struct sim_listener, listener);
	struct sim_loop *l = ln->src.loop;

	sim_check_thread(l);
	sim_trace(l->sim, l, "unlisten %s", listener->at.text);
	refuse_backlog(ln);
	if (ln->port) {
		free_port(ln->port);
		remove_file(ln);
	}
	sim_source_close(&ln->src);
}

/* As in reality: a TCP port in use is a bind error; a unix path belongs to its listener. */
static int check_free(struct sim *s, const struct addr *at, struct error *err)
{
	LIST_FOREACH (it, &s->ports) {
		struct sim_port *p = LIST_ENTRY(it, struct sim_port, link);

		if (!p->listener || strcmp(p->at.text, at->text) != 0)
			continue;
		if (at->kind == ADDR_UNIX)
			return error_set(err, ERR_ALREADY_EXISTS, "%s is in use by another process",
					 at->text);
		return error_set_errno(err, ERR_UNAVAILABLE, EADDRINUSE, "cannot listen on %s",
				       at->text);
	}
	return 0;
}

static void choose_port(struct sim *s, struct addr *at)
{
	char text[NET_ADDRESS_MAX + 8];

	if (at->kind != ADDR_INET || at->port != 0)
		return;
	(void)snprintf(text, sizeof(text), strchr(at->host, ':') ? "[%s]:%u" : "%s:%u", at->host,
		       s->next_port++ & 65535);
	(void)addr_parse(at, str_from(text), 0, NULL);
}

/* Any earlier owner of the port is dead. */
static void open_port(struct sim_listener *ln, struct sim *s, struct sim_host *host)
{
	struct sim_port *p = XNEW(struct sim_port);

	LIST_FOREACH_SAFE (it, &s->ports) {
		struct sim_port *old = LIST_ENTRY(it, struct sim_port, link);

		if (strcmp(old->at.text, ln->listener.at.text) == 0)
			free_port(old);
	}
	*p = (struct sim_port){ .at = ln->listener.at, .host = host, .listener = ln };
	list_push_back(&s->ports, &p->link);
	ln->port = p;
}

int sim_listen(struct loop *loop, const struct addr *at, const struct listener_opts *opts,
	       struct listener **ret_listener, struct error *err)
{
	struct sim_loop *l = sim_loop_of(loop);
	struct sim_listener *ln;
	int r;

	sim_check_thread(l);
	if (at->kind == ADDR_NAME)
		return error_set(err, ERR_INVALID, "%s: listening needs a numeric address",
				 at->text);
	r = check_free(l->sim, at, err);
	if (r < 0)
		return r;
	ln = XNEW(struct sim_listener);
	ln->listener = (struct listener){ .at = *at, .free = free_listener };
	ln->src = (struct sim_source){ .fire = accept_some,
				       .crash = crash_listener,
				       .destroy = destroy_listener };
	ln->opts = *opts;
	ln->nlanes = opts->nloops ? opts->nloops : 1;
	ln->lanes = xcalloc(ln->nlanes, sizeof(struct loop *));
	ln->lanes[0] = loop;
	for (size_t i = 0; i < opts->nloops; i++)
		ln->lanes[i] = opts->loops[i];
	list_init(&ln->backlog);
	choose_port(l->sim, &ln->listener.at);
	open_port(ln, l->sim, l->host);
	sim_source_add(&ln->src, l);
	sim_trace(l->sim, l, "listen %s", ln->listener.at.text);
	r = l->sim->opts.unix_files && at->kind == ADDR_UNIX ? make_file(ln, err) : 0;
	if (r < 0)
		free_listener(&ln->listener);
	else
		*ret_listener = &ln->listener;
	return r;
}
