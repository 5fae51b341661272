/*
 * Lines are made in the exchange's arena-free buffer and written with one
 * write(2) to a file opened for appending: the kernel keeps them apart. A line
 * that cannot be written is lost and counted nowhere; requests do not wait for
 * their log.
 */
#include "server/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "base/uuid.h"
#include "net/addr.h"
#include "net/conn.h"
#include "server/exchange.h"
#include "server/server_impl.h"

struct audit {
	int fd;
	bool owned;
};

int audit_open(const char *path, struct audit **ret_audit, struct error *err)
{
	struct audit *a;
	bool to_stdout = strcmp(path, "-") == 0;
	int fd = STDOUT_FILENO;

	if (!to_stdout)
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open the audit log %s", path);
	a = xcalloc(1, sizeof(*a));
	a->fd = fd;
	a->owned = !to_stdout;
	*ret_audit = a;
	return 0;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	if (a->owned)
		(void)close(a->fd);
	free(a);
}

void audit_begin(struct exchange *x)
{
	struct str given = http_fields_get(&x->stream->in.fields, STR("audit-id"));
	struct uuid id;

	if (given.n && given.n < sizeof(x->audit_id)) {
		memcpy(x->audit_id, given.p, given.n);
		x->audit_id[given.n] = '\0';
		return;
	}
	uuid_make_seeded(&id, loop_prng(http_stream_loop(x->stream)));
	(void)uuid_print(&id, x->audit_id);
}

void audit_annotate(struct audit_annotation **list, struct arena *a, struct str key,
		    struct str value)
{
	struct audit_annotation *made;

	while (*list && !str_eq((*list)->key, key))
		list = &(*list)->next;
	if (*list)
		return;
	made = ARENA_NEW(a, struct audit_annotation);
	made->key = arena_str(a, key);
	made->value = arena_str(a, value);
	*list = made;
}

/* --- a line ------------------------------------------------------------------------------- */

static struct str readable(struct str value)
{
	return str_is_utf8(value) ? value : STR("(not UTF-8)");
}

static void member(struct json_writer *w, const char *key, struct str value)
{
	if (!value.n)
		return;
	json_writer_keyz(w, key);
	json_writer_str(w, readable(value));
}

static void member_time(struct json_writer *w, const char *key, int64_t wall_ns)
{
	char text[TIMESTAMP_SIZE];

	member(w, key, timestamp_print(wall_ns, TIMESTAMP_MICRO, text));
}

static void write_user(struct json_writer *w, const char *key, const struct user *u)
{
	json_writer_keyz(w, key);
	json_writer_begin_object(w);
	member(w, "username", u->name);
	member(w, "uid", u->uid);
	json_writer_keyz(w, "groups");
	json_writer_begin_array(w);
	for (size_t i = 0; i < u->ngroups; i++)
		json_writer_str(w, readable(u->groups[i]));
	json_writer_end_array(w);
	json_writer_end_object(w);
}

static void write_object_ref(struct json_writer *w, const struct exchange *x)
{
	const struct request *r = &x->request;

	if (!r->resource.n)
		return;
	json_writer_keyz(w, "objectRef");
	json_writer_begin_object(w);
	member(w, "resource", r->resource);
	member(w, "namespace", r->ns);
	member(w, "name", x->about_name.n ? x->about_name : r->name);
	member(w, "apiGroup", r->group);
	member(w, "apiVersion", r->version);
	member(w, "subresource", r->subresource);
	json_writer_end_object(w);
}

static void write_source(struct json_writer *w, const struct exchange *x)
{
	const struct conn *c = http_stream_conn(x->stream);
	const struct addr *peer = c ? conn_peer(c) : NULL;

	json_writer_keyz(w, "sourceIPs");
	json_writer_begin_array(w);
	if (peer && peer->kind == ADDR_INET)
		json_writer_strz(w, peer->host);
	json_writer_end_array(w);
}

static const char *verb_of(const struct exchange *x, char method[static 16])
{
	struct str m = x->stream->in.method;

	if (x->request.verb != REQUEST_NONE)
		return request_verb_name(x->request.verb);
	for (size_t i = 0; i < m.n && i < 15; i++)
		method[i] = (char)(m.p[i] | 0x20);
	method[MIN(m.n, (size_t)15)] = '\0';
	return method;
}

static void write_annotations(struct json_writer *w, const struct audit_annotation *list)
{
	if (!list)
		return;
	json_writer_keyz(w, "annotations");
	json_writer_begin_object(w);
	for (; list; list = list->next) {
		json_writer_key(w, readable(list->key));
		json_writer_str(w, readable(list->value));
	}
	json_writer_end_object(w);
}

static void write_line(struct exchange *x, const char *stage, int64_t now_ns)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(AUDIT_LINE_MAX);
	struct json_writer w;
	char method[16];

	json_writer_init(&w, &line, NULL);
	json_writer_begin_object(&w);
	member(&w, "kind", STR("Event"));
	member(&w, "apiVersion", STR("audit.k8s.io/v1"));
	member(&w, "level", STR("Metadata"));
	member(&w, "auditID", str_from(x->audit_id));
	member(&w, "stage", str_from(stage));
	member(&w, "requestURI", x->stream->in.target);
	member(&w, "verb", str_from(verb_of(x, method)));
	write_user(&w, "user", x->impersonator ? x->impersonator : &x->user);
	if (x->impersonator)
		write_user(&w, "impersonatedUser", &x->user);
	write_source(&w, x);
	member(&w, "userAgent", http_fields_get(&x->stream->in.fields, STR("user-agent")));
	write_object_ref(&w, x);
	json_writer_keyz(&w, "responseStatus");
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "code");
	json_writer_i64(&w, x->status);
	json_writer_end_object(&w);
	member_time(&w, "requestReceivedTimestamp", x->wall_ns);
	member_time(&w, "stageTimestamp", now_ns);
	write_annotations(&w, x->annotations);
	json_writer_end_object(&w);
	if (json_writer_finish(&w) < 0 || buf_addc(&line, '\n') < 0)
		return;
	while (write(x->server->audit->fd, line.p, line.n) < 0 && errno == EINTR)
		;
}

void audit_started(struct exchange *x)
{
	if (x->server->audit)
		write_line(x, "ResponseStarted", clock_wall(x->server->clock));
}

void audit_end(struct exchange *x)
{
	if (x->server->audit)
		write_line(x, "ResponseComplete", clock_wall(x->server->clock));
}
