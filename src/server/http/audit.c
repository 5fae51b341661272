/*
 * A line is written with one write(2) to a file opened for appending: the kernel keeps lines
 * apart. If only a part of it could be written, as on a full disk, the next line begins with a
 * newline, so that no other line is damaged.
 */
#include "server/http/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/system/uuid.h"
#include "base/time/timestamp.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"
#include "server/server_limits.h"

struct audit {
	int fd;
	bool owned, strict;
	atomic_bool torn; /* the last line is incomplete */
	atomic_bool failing; /* the last line could not be written, and that was logged */
	struct metrics_counter *events, *errors;
	const struct log *log;
};

static int audit_add_metrics(struct audit *a, struct metrics *m, struct error *err)
{
	static const char *const labels[] = { "plugin" };
	struct metrics_spec events = { .name = "apiserver_audit_event_total",
				       .help = "Lines written to the audit log.",
				       .type = METRICS_COUNTER };
	struct metrics_spec errors = { .name = "apiserver_audit_error_total",
				       .help = "Audit log lines that could not be written.",
				       .type = METRICS_COUNTER,
				       .labels = labels,
				       .labels_n = 1 };
	struct metrics_family *f;
	int r = metrics_register(m, &events, &f, err);

	if (r < 0)
		return r;
	a->events = metrics_counter_of(f, NULL, 0);
	r = metrics_register(m, &errors, &f, err);
	if (r == 0)
		a->errors = metrics_counter(f, STR("log"));
	return r;
}

int audit_open(const struct audit_opts *opts, struct audit **ret_audit, struct error *err)
{
	CLEANUP(audit_close) struct audit *a = XNEW(struct audit);
	int r;

	a->strict = opts->strict;
	a->log = opts->log;
	a->owned = strcmp(opts->path, "-") != 0;
	a->fd = STDOUT_FILENO;
	if (a->owned)
		a->fd = open(opts->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (a->fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open the audit log %s",
				       opts->path);
	r = audit_add_metrics(a, opts->metrics, err);
	if (r < 0)
		return r;
	*ret_audit = a;
	a = NULL;
	return 0;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	if (a->owned && a->fd >= 0)
		(void)close(a->fd);
	free(a);
}

void audit_begin(struct exchange *x)
{
	struct str given = http_fields_get(&x->stream->in.fields, STR("audit-id"));
	struct uuid id;

	if (given.n && given.n < sizeof(x->audit_id)) {
		str_put(x->audit_id, given);
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
	member(w, "name", x->about.name.n ? x->about.name : r->name);
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

static void audit_write_status(struct json_writer *w, const struct exchange *x)
{
	json_writer_keyz(w, "responseStatus");
	json_writer_begin_object(w);
	json_writer_keyz(w, "code");
	json_writer_i64(w, x->status);
	json_writer_end_object(w);
}

/* Returns false if not all of it could be written. */
static bool audit_append(struct audit *a, struct str line)
{
	ssize_t n;

	if (atomic_load(&a->torn) && write(a->fd, "\n", 1) == 1)
		atomic_store(&a->torn, false);
	do
		n = write(a->fd, line.p, line.n);
	while (n < 0 && errno == EINTR);
	if (n > 0 && (size_t)n < line.n)
		atomic_store(&a->torn, true);
	return n == (ssize_t)line.n;
}

static bool write_line(struct exchange *x, const char *stage, int64_t now_ns)
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
	if (x->status)
		audit_write_status(&w, x);
	member_time(&w, "requestReceivedTimestamp", x->wall_ns);
	member_time(&w, "stageTimestamp", now_ns);
	write_annotations(&w, x->about.annotations);
	json_writer_end_object(&w);
	if (json_writer_finish(&w) < 0 || buf_addc(&line, '\n') < 0)
		return false;
	return audit_append(x->server->audit, buf_str(&line));
}

/* Writes the line of a stage and counts it. */
static bool audit_tell(struct exchange *x, const char *stage)
{
	struct audit *a = x->server->audit;
	bool written;

	if (!a)
		return true;
	written = write_line(x, stage, clock_wall(x->server->clock));
	metrics_counter_add(written ? a->events : a->errors, 1);
	if (!written && !atomic_exchange(&a->failing, true))
		log_error(a->log, "cannot write the audit log",
			  LOG_Z("requests", a->strict ? "are refused" : "go on"));
	else if (written && atomic_load(&a->failing) && atomic_exchange(&a->failing, false))
		log_info(a->log, "the audit log can be written again");
	return written;
}

bool audit_received(struct exchange *x)
{
	const struct audit *a = x->server->audit;

	return !a || !a->strict || audit_tell(x, "RequestReceived");
}

void audit_started(struct exchange *x)
{
	(void)audit_tell(x, "ResponseStarted");
}

void audit_end(struct exchange *x)
{
	(void)audit_tell(x, "ResponseComplete");
}
