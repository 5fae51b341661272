/*
 * The server ends first and the book last, so that streams are closed before their book is freed.
 */
#include "node/agent/attached.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"

struct attached {
	struct podres *book;
	struct podres_server *server;
	struct attach *attach;
	struct beside *beside; /* NULL: without health */
	void (*done)(void *arg);
	void *arg;
};

static void on_known(void *arg)
{
	struct attached *n = arg;

	if (n->server)
		podres_server_begin(n->server);
}

static int make_beside(struct attached *n, const struct attached_opts *opts, struct error *err)
{
	struct beside_opts o = opts->health;

	if (opts->no_health)
		return 0;
	o.loop = opts->attach.loop;
	o.client = opts->attach.client;
	o.node_name = opts->attach.node_name;
	o.metrics = opts->attach.metrics;
	o.log = opts->attach.log;
	o.book = n->book;
	return beside_new(&o, &n->beside, err);
}

/* With the health of devices, if that is wanted. */
static int make_attach(struct attached *n, const struct attached_opts *opts, struct error *err)
{
	struct attach_opts o = opts->attach;
	struct attach_hooks hooks;
	int r = make_beside(n, opts, err);

	if (r < 0)
		return r;
	o.book = n->book;
	o.on_known = on_known;
	o.arg = n;
	if (n->beside) {
		hooks = beside_hooks(n->beside);
		o.hooks = &hooks;
	}
	r = attach_new(&o, &n->attach, err);
	if (r == 0 && n->beside)
		beside_follow(n->beside, attach_pods(n->attach), attach_node(n->attach));
	return r;
}

int attached_new(const struct attached_opts *opts, struct attached **ret_attached,
		 struct error *err)
{
	struct attached *n = XNEW(struct attached);
	struct podres_server_opts server = opts->server;
	int r;

	n->book = podres_new(clock_wall(loop_clock(opts->attach.loop)) / 1000);
	server.book = n->book;
	server.waits = true;
	r = podres_server_new(&server, &n->server, err);
	if (r == 0)
		r = make_attach(n, opts, err);
	if (r < 0) {
		attached_free(n);
		return r;
	}
	*ret_attached = n;
	return 0;
}

static void on_beside_stopped(void *arg)
{
	struct attached *n = arg;

	attach_stop(n->attach, n->done, n->arg);
}

static void on_server_closed(void *arg)
{
	struct attached *n = arg;

	if (n->beside)
		beside_stop(n->beside, on_beside_stopped, n);
	else
		on_beside_stopped(n);
}

void attached_stop(struct attached *n, void (*done)(void *arg), void *arg)
{
	n->done = done;
	n->arg = arg;
	podres_server_close(TAKE(n->server), on_server_closed, n);
}

void attached_free(struct attached *n)
{
	if (!n)
		return;
	attach_free(n->attach);
	podres_server_free(n->server);
	beside_free(n->beside);
	podres_free(n->book);
	free(n);
}

int attached_check(const struct attached *n, struct error *err)
{
	return attach_check(n->attach, err);
}

int attached_check_socket(const struct attached *n, struct error *err)
{
	return attach_check_socket(n->attach, err);
}

int attached_check_registry(const struct attached *n, struct error *err)
{
	return n->beside ? beside_check_registry(n->beside, err) : 0;
}

int attached_drivers(const struct attached *n)
{
	return n->beside ? (int)beside_drivers(n->beside) : -1;
}
