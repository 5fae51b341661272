/*
 * The members and their order are upstream's. Header fields and names may have any bytes; JSON has
 * UTF-8 only.
 */
#include "server/audit/event.h"

#include "base/json/writer.h"
#include "base/time/timestamp.h"
#include "server/core/user.h"
#include "server/server_limits.h"

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

/* --- parts of an event -------------------------------------------------------------------- */

static struct str readable(struct str value)
{
	return str_is_utf8(value) ? value : STR("(not UTF-8)");
}

static void write_text(struct json_writer *w, const char *key, struct str value)
{
	if (!value.n)
		return;
	json_writer_keyz(w, key);
	json_writer_str(w, readable(value));
}

static void write_time(struct json_writer *w, const char *key, int64_t wall_ns)
{
	char text[TIMESTAMP_SIZE];

	write_text(w, key, timestamp_print(wall_ns, TIMESTAMP_MICRO, text));
}

static void write_texts(struct json_writer *w, struct str key, const struct str *v, size_t n)
{
	json_writer_key(w, readable(key));
	json_writer_begin_array(w);
	for (size_t i = 0; i < n; i++)
		json_writer_str(w, readable(v[i]));
	json_writer_end_array(w);
}

static void write_user(struct json_writer *w, const char *key, const struct user *u)
{
	json_writer_keyz(w, key);
	json_writer_begin_object(w);
	write_text(w, "username", u->name);
	write_text(w, "uid", u->uid);
	write_texts(w, STR("groups"), u->groups, u->ngroups);
	if (u->nextras) {
		json_writer_keyz(w, "extra");
		json_writer_begin_object(w);
		for (size_t i = 0; i < u->nextras; i++)
			write_texts(w, u->extras[i].key, u->extras[i].values, u->extras[i].nvalues);
		json_writer_end_object(w);
	}
	json_writer_end_object(w);
}

static void write_object_ref(struct json_writer *w, const struct audit_event *e)
{
	if (!e->resource.n)
		return;
	json_writer_keyz(w, "objectRef");
	json_writer_begin_object(w);
	write_text(w, "resource", e->resource);
	write_text(w, "namespace", e->ns);
	write_text(w, "name", e->name);
	write_text(w, "uid", e->uid);
	write_text(w, "apiGroup", e->group);
	write_text(w, "apiVersion", e->version);
	write_text(w, "resourceVersion", e->resource_version);
	write_text(w, "subresource", e->subresource);
	json_writer_end_object(w);
}

static void write_source(struct json_writer *w, const struct audit_event *e)
{
	json_writer_keyz(w, "sourceIPs");
	json_writer_begin_array(w);
	if (e->source)
		json_writer_strz(w, e->source);
	json_writer_end_array(w);
}

/* Of a failure, what its Status says: no kind, as it is a member and not an object. */
static void write_status(struct json_writer *w, const struct audit_event *e)
{
	CLEANUP(arena_release) struct arena scratch;
	struct json *status;

	arena_init(&scratch, AUDIT_TREE_MAX);
	if (!e->code)
		return;
	json_writer_keyz(w, "responseStatus");
	if (e->status.n && json_parse(&scratch, e->status, NULL, &status, NULL) == 0 &&
	    json_is(status, JSON_OBJECT)) {
		(void)json_remove(status, STR("kind"));
		(void)json_remove(status, STR("apiVersion"));
		json_writer_tree(w, status);
		return;
	}
	json_writer_begin_object(w);
	json_writer_keyz(w, "code");
	json_writer_i64(w, e->code);
	json_writer_end_object(w);
}

static void write_object(struct json_writer *w, const char *key, struct str text)
{
	if (!text.n)
		return;
	json_writer_keyz(w, key);
	json_writer_raw(w, text);
}

static void write_annotations(struct json_writer *w, const struct audit_event *e)
{
	if (!e->annotations && !e->cut && !e->decision.n)
		return;
	json_writer_keyz(w, "annotations");
	json_writer_begin_object(w);
	if (e->decision.n) {
		write_text(w, "authorization.k8s.io/decision", e->decision);
		json_writer_keyz(w, "authorization.k8s.io/reason");
		json_writer_str(w, readable(e->reason));
	}
	for (const struct audit_annotation *it = e->annotations; it; it = it->next) {
		json_writer_key(w, readable(it->key));
		json_writer_str(w, readable(it->value));
	}
	if (e->cut)
		write_text(w, "audit.k8s.io/truncated", STR("true"));
	json_writer_end_object(w);
}

int audit_event_print(const struct audit_event *e, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	write_text(&w, "kind", STR("Event"));
	write_text(&w, "apiVersion", STR("audit.k8s.io/v1"));
	write_text(&w, "level", str_from(audit_level_name(e->level)));
	write_text(&w, "auditID", e->id);
	write_text(&w, "stage", str_from(audit_stage_name(e->stage)));
	write_text(&w, "requestURI", e->uri);
	write_text(&w, "verb", e->verb);
	write_user(&w, "user", e->user);
	if (e->impersonated)
		write_user(&w, "impersonatedUser", e->impersonated);
	write_source(&w, e);
	write_text(&w, "userAgent", e->user_agent);
	write_object_ref(&w, e);
	write_status(&w, e);
	write_object(&w, "requestObject", e->request);
	write_object(&w, "responseObject", e->response);
	write_time(&w, "requestReceivedTimestamp", e->received_ns);
	write_time(&w, "stageTimestamp", e->now_ns);
	write_annotations(&w, e);
	json_writer_end_object(&w);
	if (json_writer_finish(&w) < 0)
		return -ERR_TOO_LARGE;
	return buf_addc(out, '\n');
}

/* --- objects ------------------------------------------------------------------------------ */

static void strip_object(struct json *object)
{
	struct json *meta = json_getz(object, "metadata");

	if (json_is(meta, JSON_OBJECT))
		(void)json_remove(meta, STR("managedFields"));
}

/* An object, a list of objects, or a Table of them. */
static void strip(struct json *tree)
{
	strip_object(tree);
	JSON_FOREACH (it, json_getz(tree, "items"))
		strip_object(it);
	JSON_FOREACH (it, json_getz(tree, "rows"))
		strip_object(json_getz(it, "object"));
}

static struct bytes *print_object(const struct json *tree)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(AUDIT_OBJECT_MAX);

	return json_print(&out, tree, NULL) < 0 ? NULL : bytes_copy(buf_str(&out));
}

struct bytes *audit_object_of_text(struct str text, bool omit_managed)
{
	CLEANUP(arena_release) struct arena scratch;
	struct json *tree;

	arena_init(&scratch, AUDIT_TREE_MAX);
	if (text.n > AUDIT_OBJECT_MAX || json_parse(&scratch, text, NULL, &tree, NULL) < 0)
		return NULL;
	if (omit_managed)
		strip(tree);
	return print_object(tree);
}

struct bytes *audit_object_of_tree(const struct json *tree, bool omit_managed)
{
	struct bytes *text = print_object(tree), *stripped;

	if (!text || !omit_managed)
		return text;
	stripped = audit_object_of_text(bytes_str(text), true);
	bytes_unref(text);
	return stripped;
}
