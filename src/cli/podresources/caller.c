/*
 * One channel to one socket, without a back-off: single calls fail at once, and a watch does its
 * own waiting.
 */
#include "cli/podresources/caller.h"

#include <errno.h>
#include <unistd.h>

#include "net/loop/loop.h"
#include "node/book/methods.h"

enum { TIMEOUT_MS = 10000, RETRY_MS = 1 };

#define DEFAULT_SOCKET "pod-resources/kubelet.sock"
#define ATTACH_SOCKET  "pod-resources/devplane.sock"

/* --- failures ----------------------------------------------------------------------------- */

static int explain_connect(const struct podres_caller *c, struct error *err)
{
	switch (c->why.sys_errno) {
	case ENOENT:
	case ENOTDIR:
		return error_set(
			err, ERR_UNAVAILABLE,
			"no socket %s: is devplane node or the kubelet running? Name its folder "
			"with --root-dir, or the socket with --socket",
			c->path);
	case ECONNREFUSED:
		return error_set(err, ERR_UNAVAILABLE,
				 "nothing listens on %s: devplane node or the kubelet has stopped; "
				 "start it again",
				 c->path);
	case EACCES:
	case EPERM:
		return error_set(
			err, ERR_FORBIDDEN,
			"%s may not be opened: it is root's, or of the group that devplane "
			"node was given with --pod-resources-socket-group",
			c->path);
	default:
		return error_set(err, ERR_UNAVAILABLE, "%s: %s", c->path, c->why.msg);
	}
}

static bool is_watch(const struct grpc_method *m)
{
	return m->kind == GRPC_SERVER_STREAM;
}

static int explain_unimplemented(const struct podres_caller *c, const struct grpc_method *m,
				 struct error *err)
{
	if (!is_watch(m))
		return error_set(err, ERR_UNIMPLEMENTED,
				 "%s does not offer %s: the kubelet there is too old for it",
				 c->path, m->path);
	return error_set(err, ERR_UNIMPLEMENTED,
			 "%s does not offer the watch. A kubelet does not have it: run `devplane "
			 "node --attach` beside it, and watch that one's socket (" ATTACH_SOCKET
			 "). Of devplane node it is switched on by --feature-gates "
			 "KubeletPodResourcesWatch=true",
			 c->path);
}

static int explain_limit(const struct podres_caller *c, const struct grpc_method *m,
			 const struct grpc_status *st, struct error *err)
{
	if (is_watch(m))
		return error_set(err, ERR_TOO_MANY_REQUESTS,
				 "%s: %.*s: too many watches are open; --pod-resources-streams and "
				 "--pod-resources-client-streams of devplane node are the limits",
				 c->path, STR_ARG(st->message));
	return error_set(
		err, ERR_TOO_MANY_REQUESTS,
		"%s: %.*s: there were too many calls; try again in a moment. A kubelet has "
		"one limit for all its clients, devplane node one for each "
		"(--pod-resources-qps)",
		c->path, STR_ARG(st->message));
}

int podres_caller_explain(const struct podres_caller *c, const struct grpc_method *method,
			  const struct grpc_status *st, struct error *err)
{
	int r;

	switch (st->code) {
	case GRPC_UNIMPLEMENTED:
		return explain_unimplemented(c, method, err);
	case GRPC_RESOURCE_EXHAUSTED:
		return explain_limit(c, method, st, err);
	case GRPC_DEADLINE_EXCEEDED:
		return error_set(err, ERR_TIMEOUT, "%s does not answer within %d s", c->path,
				 TIMEOUT_MS / 1000);
	case GRPC_UNAVAILABLE:
		if (c->why.code != ERR_OK)
			return explain_connect(c, err);
		break;
	default:
		break;
	}
	r = grpc_status_error(st, err);
	if (method == &podres_method_get && podres_method_get_found_none(st))
		r = error_set(err, ERR_NOT_FOUND, "%.*s", STR_ARG(st->message));
	return error_wrap(err, r, "%s", c->path);
}

/* --- life --------------------------------------------------------------------------------- */

static void caller_on_state(void *arg, enum grpc_channel_state state, const struct error *err)
{
	struct podres_caller *c = arg;

	if (state == GRPC_CHANNEL_READY) {
		c->why = (struct error){ 0 };
		c->ready = true;
		if (c->on_ready)
			c->on_ready(c->arg);
	} else if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && err) {
		c->why = *err;
	}
}

static const char *socket_path(struct cli *cli, const struct podres_options *o, bool watch)
{
	const char *path;

	if (o->socket)
		return str_starts(str_from(o->socket), STR("unix:")) ? o->socket + 5 : o->socket;
	path = arena_printf(&cli->arena, "%s/" ATTACH_SOCKET, o->root_dir);
	if (watch && access(path, F_OK) == 0)
		return path;
	return arena_printf(&cli->arena, "%s/" DEFAULT_SOCKET, o->root_dir);
}

int podres_caller_open(struct podres_caller *c, struct cli *cli, const struct podres_options *o,
		       bool watch, struct error *err)
{
	struct grpc_channel_opts opts = { .on_state = caller_on_state,
					  .arg = c,
					  .backoff_initial_ms = RETRY_MS,
					  .backoff_max_ms = RETRY_MS };
	int r;

	c->cli = cli;
	c->path = socket_path(cli, o, watch);
	r = addr_parse(&opts.to, str_from(arena_printf(&cli->arena, "unix:%s", c->path)), 0, err);
	if (r < 0)
		return cli_bad_usage(cli, err,
				     "%s is too long for a socket's path: use a shorter --root-dir "
				     "or --socket",
				     c->path);
	r = loop_new(&c->loop, err);
	if (r == 0)
		c->channel = grpc_channel_new(c->loop, &opts);
	return r;
}

void podres_caller_close(struct podres_caller *c)
{
	grpc_call_unref(c->call);
	grpc_channel_free(c->channel);
	loop_free(c->loop);
}

/* --- one call ----------------------------------------------------------------------------- */

static void caller_on_done(void *arg, struct grpc_call *call, const struct grpc_status *st,
			   const void *reply)
{
	struct podres_caller *c = arg;

	if (st->code != GRPC_OK)
		(void)podres_caller_explain(c, grpc_call_method(call), st, &c->err);
	c->reply = reply;
	loop_stop(c->loop);
}

int podres_caller_ask(struct podres_caller *c, const struct grpc_method *method,
		      const ProtobufCMessage *request, const void **ret_reply, struct error *err)
{
	static const struct grpc_call_opts opts = { .deadline_ms = TIMEOUT_MS };

	grpc_call_unref(TAKE(c->call));
	c->call = grpc_call_ref(
		grpc_channel_unary(c->channel, method, request, &opts, caller_on_done, c));
	loop_run(c->loop);
	if (c->err.code != ERR_OK)
		return error_copy(err, &c->err);
	*ret_reply = c->reply;
	return 0;
}
