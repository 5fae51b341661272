/*
 * A request is copied, because it may wait for the kernel, the API server or another plugin, and
 * the client may be killed meanwhile. So an ask has its own memory, freed only on completion. It
 * drops its reference to the stream when that closes, and to the socket when that is freed.
 */
#include "drivers/cni/nic_socket.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/cdi_file.h"
#include "drivers/prepare/socket_path.h"
#include "net/http/server.h"

enum { GRACE_MS = 2000 };

struct nic_socket {
	struct nic_socket_opts opts; /* `path` is not valid */
	struct loop *loop;
	struct http_server *http;
	struct list asks;
	size_t nasks;
};

struct nic_ask {
	struct list link; /* in the socket's list */
	struct nic_socket *socket; /* NULL after that was freed */
	struct http_stream *stream; /* a reference; NULL after it was closed */
	struct arena arena;
	struct nic_question question;
};

int nic_socket_path(const char *root, const char *driver, struct buf *path, struct error *err)
{
	(void)buf_printf(path, "%s/plugins/%s/cni.sock", root, driver);
	if (path->overflow || path->n > SOCKET_PATH_MAX)
		return error_set(err, ERR_INVALID,
				 "the socket's path %s is longer than the kernel allows (%d "
				 "bytes): choose a shorter root folder",
				 path->p, SOCKET_PATH_MAX);
	return 0;
}

int nic_marks_path(const char *root, const char *driver, const char *marks, struct buf *path,
		   struct error *err)
{
	if (buf_printf(path, "%s/plugins/%s/%s", root, driver, marks) < 0)
		return error_set(err, ERR_INVALID, "the root folder's path is too long");
	return 0;
}

static bool has_entries(const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	bool any = false;

	while (d && !any && (e = readdir(d)))
		any = e->d_name[0] != '.';
	if (d)
		(void)closedir(d);
	return any;
}

bool nic_marks_has(const char *root, const char *driver, const char *marks, struct str name)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(8 * KIB);

	if (nic_marks_path(root, driver, marks, &path, NULL) < 0)
		return true;
	if (!cdi_file_is_safe(name))
		return has_entries(path.p);
	(void)buf_printf(&path, "/%.*s", STR_ARG(name));
	return path.overflow || access(path.p, F_OK) == 0 || errno != ENOENT;
}

/* --- answers ------------------------------------------------------------------------------ */

static void on_close_done(struct http_stream *s UNUSED, const struct error *err UNUSED)
{
}

static const struct http_stream_ops done_ops = { .on_close = on_close_done };

/* Takes ownership of `text`. */
static void reply(struct http_stream *s, int status, struct buf *text)
{
	struct http_field type = HTTP_FIELD("content-type", STR("application/json"));

	s->ops = &done_ops;
	(void)buf_addc(text, '\n');
	if (text->overflow) {
		status = error_http_status(ERR_INTERNAL);
		buf_clear(text);
		(void)buf_printf(text, "{\"code\":%d,\"message\":\"the answer is too large\"}\n",
				 CNI_OTHER);
	}
	if (http_stream_respond(s, status, &type, 1, (int64_t)text->n) == 0) {
		(void)http_stream_send_copy(s, buf_str(text));
		(void)http_stream_end(s, NULL, 0);
	}
	buf_release(text);
}

static void reply_refusal(struct http_stream *s, int status, int cni_code, const char *message)
{
	struct buf text = BUF_INIT(CNI_OUTPUT_MAX);
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "code");
	json_writer_i64(&w, cni_code);
	json_writer_keyz(&w, "message");
	json_writer_strz(&w, message);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	reply(s, status, &text);
}

/* Frees the ask. Returns the stream for the reply, with its reference, or NULL. */
static struct http_stream *ask_end(struct nic_ask *a)
{
	struct http_stream *s = a->stream;

	if (a->socket)
		a->socket->nasks--;
	list_remove(&a->link);
	arena_release(&a->arena);
	free(a);
	return s;
}

void nic_ask_answer(struct nic_ask *a, const char *interfaces)
{
	struct http_stream *s = ask_end(a);
	struct buf text = BUF_INIT(CNI_OUTPUT_MAX);

	if (!s)
		return;
	(void)buf_printf(&text, "{\"interfaces\":%s}", interfaces ? interfaces : "[]");
	reply(s, 200, &text);
	http_stream_unref(s);
}

static int nic_socket_status_of(int cni_code)
{
	if (cni_code == CNI_TRY_AGAIN || cni_code == CNI_NOT_AVAILABLE)
		return error_http_status(ERR_UNAVAILABLE);
	return error_http_status(ERR_INVALID);
}

void nic_ask_refuse(struct nic_ask *a, int cni_code, const char *message)
{
	CLEANUP(free) char *text = xstrdup(message); /* it may be in the ask's memory */
	struct http_stream *s = ask_end(a);

	if (!s)
		return;
	reply_refusal(s, nic_socket_status_of(cni_code), cni_code, text);
	http_stream_unref(s);
}

/* --- questions ---------------------------------------------------------------------------- */

static void nic_socket_on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct nic_ask *a = s->data;

	a->stream = NULL;
	http_stream_unref(s);
	if (a->socket && a->socket->opts.on_gone)
		a->socket->opts.on_gone(a->socket->opts.arg, a);
}

static const struct http_stream_ops ask_ops = { .on_close = nic_socket_on_close };

/* A missing member is "". */
static int nic_socket_read_text(struct nic_ask *a, const struct json *body, const char *key,
				const char **ret_text, struct error *err)
{
	const struct json *v = json_getz(body, key);
	struct str text = json_str(v);

	if (v && (v->type != JSON_STRING || memchr(text.p, 0, text.n)))
		return error_set(err, ERR_BAD_REQUEST, "%s: must be text", key);
	*ret_text = arena_strdup(&a->arena, text);
	return 0;
}

static int read_valid(struct nic_ask *a, const struct json *body, struct error *err)
{
	const struct json *valid = json_getz(body, "valid");

	if (!*a->question.network)
		return error_set(err, ERR_BAD_REQUEST, "network: must be set");
	if (!json_is(valid, JSON_ARRAY))
		return error_set(err, ERR_BAD_REQUEST, "valid: must be a list");
	JSON_FOREACH (it, valid)
		if (!json_text_at(it, "containerID").p || !json_text_at(it, "ifname").p)
			return error_set(err, ERR_BAD_REQUEST,
					 "valid: must be a list of {\"containerID\", \"ifname\"}");
	a->question.valid = valid;
	return 0;
}

static int read_question(struct nic_ask *a, struct str text, struct error *err)
{
	struct nic_question *q = &a->question;
	const struct {
		const char *key, **to;
	} members[] = {
		{ "containerID", &q->container_id },
		{ "netns", &q->netns },
		{ "ifname", &q->ifname },
		{ "path", &q->path },
		{ "podUID", &q->pod_uid },
		{ "podName", &q->pod_name },
		{ "podNamespace", &q->pod_namespace },
		{ "network", &q->network },
	};
	struct json *body = NULL;
	int r = 0;

	if (text.n > 0)
		r = json_parse(&a->arena, arena_str(&a->arena, text), NULL, &body, err);
	if (r == 0 && body && body->type != JSON_OBJECT)
		r = error_set(err, ERR_BAD_REQUEST, "the request must be an object");
	for (size_t i = 0; i < ARRAY_SIZE(members) && r == 0; i++)
		r = nic_socket_read_text(a, body, members[i].key, members[i].to, err);
	if (r == 0 && q->command == CNI_GC)
		r = read_valid(a, body, err);
	return r;
}

static bool find_command(const struct http_head *head, enum cni_command *ret_command)
{
	static const struct {
		const char *method, *path;
		enum cni_command command;
	} rows[] = {
		{ "POST", "/add", CNI_ADD },      { "POST", "/del", CNI_DEL },
		{ "POST", "/check", CNI_CHECK },  { "POST", "/gc", CNI_GC },
		{ "GET", "/status", CNI_STATUS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eqz(head->method, rows[i].method) && str_eqz(head->path, rows[i].path)) {
			*ret_command = rows[i].command;
			return true;
		}
	return false;
}

static void nic_socket_ask(struct nic_socket *n, struct http_stream *s, enum cni_command command,
			   struct str body)
{
	struct nic_ask *a = XNEW(struct nic_ask);
	struct error err;

	a->socket = n;
	a->question.command = command;
	arena_init(&a->arena, CNI_WORK_MAX);
	list_push_back(&n->asks, &a->link);
	n->nasks++;
	if (read_question(a, body, &err) < 0) {
		(void)ask_end(a);
		reply_refusal(s, error_http_status((int)err.code), CNI_DECODE, err.msg);
		return;
	}
	a->stream = http_stream_ref(s);
	s->data = a;
	s->ops = &ask_ops;
	n->opts.on_question(n->opts.arg, a, &a->question);
}

static void list(struct nic_socket *n, struct http_stream *s)
{
	struct buf text = BUF_INIT(64 * MIB);
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	n->opts.on_list(n->opts.arg, &w);
	(void)json_writer_finish(&w);
	reply(s, 200, &text);
}

static void nic_socket_on_body(struct http_stream *s, struct str body)
{
	struct nic_socket *n = s->data;
	enum cni_command command;

	if (find_command(&s->in, &command) && n->nasks < NIC_ASKS_MAX)
		nic_socket_ask(n, s, command, body);
	else if (find_command(&s->in, &command))
		reply_refusal(s, nic_socket_status_of(CNI_TRY_AGAIN), CNI_TRY_AGAIN,
			      "too many questions wait for the net driver");
	else if (n->opts.on_list && str_eqz(s->in.method, "GET") && str_eqz(s->in.path, "/devices"))
		list(n, s);
	else
		reply_refusal(s, error_http_status(ERR_NOT_FOUND), CNI_OTHER,
			      "there is POST /add, /del, /check and /gc, GET /status and /devices");
}

static void nic_socket_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	s->ops = &done_ops;
	s->data = arg;
	http_stream_limit_body(s, (int64_t)CNI_INPUT_MAX);
	http_stream_collect(s, nic_socket_on_body);
}

/* --- life --------------------------------------------------------------------------------- */

static int listen_at(struct nic_socket *n, const char *path, struct error *err)
{
	CLEANUP(free) char *folder = xstrdup(path);
	struct addr at;
	int r;

	r = folder_make(dirname(folder), 0750, err);
	if (r == 0)
		r = socket_path_addr(str_from(path), &at, err);
	if (r == 0)
		r = http_server_listen(n->http, &at, NULL, 0600, NULL, err);
	return r;
}

int nic_socket_new(const struct nic_socket_opts *opts, struct nic_socket **ret_socket,
		   struct error *err)
{
	struct nic_socket *n = XNEW(struct nic_socket);
	struct http_server_opts o = { .nloops = 1, .handler = nic_socket_on_request, .arg = n };
	int r;

	n->opts = *opts;
	n->opts.path = NULL;
	n->loop = opts->loop;
	list_init(&n->asks);
	o.loops = &n->loop;
	o.config.eof_cancels = true;
	n->http = http_server_new(&o);
	r = listen_at(n, opts->path, err);
	if (r < 0) {
		nic_socket_free(n);
		return r;
	}
	*ret_socket = n;
	return 0;
}

void nic_socket_stop(struct nic_socket *n, void (*done)(void *arg), void *arg)
{
	http_server_drain(n->http, GRACE_MS, done, arg);
}

void nic_socket_free(struct nic_socket *n)
{
	struct list *link;

	if (!n)
		return;
	while ((link = list_pop_front(&n->asks)))
		LIST_ENTRY(link, struct nic_ask, link)->socket = NULL;
	http_server_free(n->http);
	free(n);
}
