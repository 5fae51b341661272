/* Stateless: each request gets one reply. */
#include "drivers/sim/control.h"

#include <libgen.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/socket_path.h"
#include "drivers/sim/vendor.h"
#include "net/http/server.h"

enum { GRACE_MS = 1000 };

struct vendor_control {
	struct loop *loop;
	struct vendor *vendor;
	struct http_server *http;
};

int vendor_control_path(const char *root, const char *name, const char *instance, struct buf *path,
			struct error *err)
{
	(void)buf_printf(path, "%s/%s/%s%s%s.sock", root, VENDOR_CONTROL_DIR, name,
			 instance ? "-" : "", instance ? instance : "");
	if (path->n > SOCKET_PATH_MAX)
		return error_set(err, ERR_INVALID,
				 "the control socket's path %s is longer than %d bytes: choose a "
				 "shorter --root-dir",
				 path->p, SOCKET_PATH_MAX);
	return 0;
}

static void control_answer(struct http_stream *s, struct buf *text)
{
	struct http_field type = HTTP_FIELD("content-type", STR("application/json"));

	(void)buf_addc(text, '\n');
	if (http_stream_respond(s, 200, &type, 1, (int64_t)text->n) == 0) {
		(void)http_stream_send_copy(s, buf_str(text));
		(void)http_stream_end(s, NULL, 0);
	}
}

static int control_serve(struct vendor_control *c, const struct http_head *head, struct str body,
			 struct buf *text, struct error *err)
{
	CLEANUP(free) char *message = str_dup(body);
	struct json_writer w;
	enum vendor_command command;
	int r = 0;

	json_writer_init(&w, text, NULL);
	if (str_eqz(head->method, "GET") && str_eqz(head->path, "/devices")) {
		vendor_list(c->vendor, &w);
		return json_writer_finish(&w);
	}
	if (!str_eqz(head->method, "POST") ||
	    !vendor_command_parse(str_skip(head->path, 1), &command))
		return error_set(err, ERR_NOT_FOUND,
				 "there is GET /devices and POST /COMMAND?DEVICE");
	r = vendor_do(c->vendor, command, head->query, message, &w, err);
	return r < 0 ? r : json_writer_finish(&w);
}

static void control_on_body(struct http_stream *s, struct str body)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * MIB);
	struct error err;

	if (control_serve(s->data, &s->in, body, &text, &err) < 0)
		http_stream_fail(s, &err);
	else
		control_answer(s, &text);
}

static void control_on_close(struct http_stream *s UNUSED, const struct error *err UNUSED)
{
}

static const struct http_stream_ops ops = { .on_close = control_on_close };

static void control_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	s->ops = &ops;
	s->data = arg;
	http_stream_limit_body(s, (int64_t)DRIVER_MESSAGE_MAX * 2);
	http_stream_collect(s, control_on_body);
}

int vendor_control_new(struct loop *l, struct vendor *v, struct str path,
		       struct vendor_control **ret_control, struct error *err)
{
	CLEANUP(free) char *folder = str_dup(path);
	struct vendor_control *c = XNEW(struct vendor_control);
	struct http_server_opts o = { .nloops = 1, .handler = control_on_request, .arg = c };
	struct addr at;
	int r;

	c->loop = l;
	c->vendor = v;
	o.loops = &c->loop;
	c->http = http_server_new(&o);
	r = folder_make(dirname(folder), 0750, err);
	if (r == 0)
		r = socket_path_addr(path, &at, err);
	if (r == 0)
		r = http_server_listen(c->http, &at, NULL, 0, NULL, err);
	if (r < 0) {
		vendor_control_free(c);
		return r;
	}
	*ret_control = c;
	return 0;
}

void vendor_control_stop(struct vendor_control *c, void (*done)(void *arg), void *arg)
{
	http_server_drain(c->http, GRACE_MS, done, arg);
}

void vendor_control_free(struct vendor_control *c)
{
	if (!c)
		return;
	http_server_free(c->http);
	free(c);
}
