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
	void (*done)(void *arg);
	void *arg;
};

static void on_known(void *arg)
{
	struct attached *n = arg;

	if (n->server)
		podres_server_begin(n->server);
}

int attached_new(const struct attached_opts *opts, struct attached **ret_attached,
		 struct error *err)
{
	struct attached *n = XNEW(struct attached);
	struct podres_server_opts server = opts->server;
	struct attach_opts attach = opts->attach;
	int r;

	n->book = podres_new(clock_wall(loop_clock(attach.loop)) / 1000);
	server.book = attach.book = n->book;
	server.waits = true;
	attach.on_known = on_known;
	attach.arg = n;
	r = podres_server_new(&server, &n->server, err);
	if (r == 0)
		r = attach_new(&attach, &n->attach, err);
	if (r < 0) {
		attached_free(n);
		return r;
	}
	*ret_attached = n;
	return 0;
}

static void on_server_closed(void *arg)
{
	struct attached *n = arg;

	attach_stop(n->attach, n->done, n->arg);
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
	podres_free(n->book);
	free(n);
}

int attached_check(const struct attached *n, struct error *err)
{
	return attach_check(n->attach, err);
}
