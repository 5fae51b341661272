/*
 * Each pod has three texts: the wanted status, the status in flight, and the server's status as
 * known from replies and the watch. A patch is the difference between the wanted and the server's
 * status at the time of sending, so nothing queues: the next patch contains everything that was set
 * meanwhile.
 *
 * A server may accept a status and store another (it drops a field that it does not know, or whose
 * gate is off). So a successful reply counts as written, even if the reply differs from the wanted
 * status. The writer writes again only if the watch shows a difference that the last reply did not
 * have. Otherwise two writers would correct each other for ever.
 *
 * A patch without a reply may have been applied, or may be applied later, so the server's status is
 * uncertain. If the reply to the next patch differs in fields that this patch did not contain, the
 * writer patches again.
 */
#include "node/status/writer.h"

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "net/loop/loop.h"
#include "node/status/writer_patch.h"

enum {
	RETRY_FIRST_MS = 100,
	RETRY_MAX_MS = 5000,
	/* A request that hangs is retried, perhaps on another connection. */
	TIMEOUT_MS = 15000,
	STACK_BLOCK = 16 * 1024, /* first block of the arena: large enough for most statuses */
};

enum outcome { WRITTEN, REFUSED, FAILED, GONE, OUTCOMES };

/* A status at some resourceVersion. */
struct version {
	char *text; /* reduced; or NULL */
	uint64_t rv; /* 0: not a number, counts as newer than anything */
};

struct entry {
	struct status_writer *writer;
	char *uid, *ns, *name;
	char *wanted; /* whole; NULL until one is set */
	char *sent; /* the status in flight, or NULL; may be `wanted` itself */
	struct version known; /* the server's status */
	struct version later; /* what the watch showed while a patch was in flight */
	struct client_request request;
	struct loop_timer again;
	struct backoff backoff;
	bool dirty; /* `wanted` must be written */
	bool doubted; /* a patch got no reply: `known` may differ from the server's status */
	bool no_pod_level; /* the server has rejected that field */
	bool to_delete, deleted; /* requested; done */
	bool gone; /* the server has no such pod */
};

struct status_writer {
	struct status_writer_opts opts;
	struct resource pods;
	struct map entries; /* by uid */
	struct metrics_counter *counts[OUTCOMES];
};

static void next(struct entry *e);

/* --- texts ----------------------------------------------------------------------------------- */

static char *writer_print(const struct json *v)
{
	struct buf b = BUF_INIT(OBJECT_MAX);

	(void)json_print(&b, v, NULL);
	return buf_take(&b);
}

/* Parses a stored text; returns an empty object for NULL. */
static struct json *writer_tree_of(struct arena *a, const char *text)
{
	struct json *v = NULL;

	if (!text || json_parse(a, str_from(text), NULL, &v, NULL) < 0)
		return json_make_object(a);
	return v;
}

static uint64_t revision_of(const struct json *object)
{
	uint64_t rv = 0;

	(void)str_to_u64(json_text_at(json_getz(object, "metadata"), "resourceVersion"), &rv);
	return rv;
}

static struct version version_of(const struct json *pod)
{
	char block[STACK_BLOCK] UNZEROED;
	struct buf text = BUF_INIT(OBJECT_MAX);
	struct arena a;

	arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
	status_patch_reduce(&a, json_getz(pod, "status"), &text);
	arena_release(&a);
	return (struct version){ buf_take(&text), revision_of(pod) };
}

static bool is_newer(const struct version *v, const struct version *than)
{
	return v->rv == 0 || than->rv == 0 || v->rv > than->rv;
}

/* Moves the text of *from, which is left empty. */
static void version_move(struct version *to, struct version *from)
{
	free(to->text);
	*to = *from;
	from->text = NULL;
	from->rv = 0;
}

/* --- what differs ---------------------------------------------------------------------------- */

static struct json *writer_patch(const struct entry *e, struct arena *a, const char *server,
				 const struct json *wanted, bool pod_level)
{
	const char *condition = e->writer->opts.condition;
	const struct json *now = writer_tree_of(a, server);

	if (condition)
		return status_patch_condition(a, now, wanted, str_from(condition));
	return status_patch_make(a, now, wanted, pod_level);
}

/* Returns NULL if nothing differs. Borrows the text of both versions. */
static struct json *difference(const struct entry *e, struct arena *a, const char *server)
{
	return writer_patch(e, a, server, writer_tree_of(a, e->wanted), !e->no_pod_level);
}

/* Whether each condition type of patch list `list` also occurs in `of`. */
static bool has_conditions(const struct json *list, const struct json *of)
{
	JSON_FOREACH (it, list) {
		if (!json_find(of, "type", json_text_at(it, "type")))
			return false;
	}
	return true;
}

/* Whether every field in which the reply still differs was part of the patch in flight. */
static bool said_all(const struct entry *e, struct arena *a, const char *answer)
{
	struct json *sent = writer_tree_of(a, e->sent);
	struct json *patch = writer_patch(e, a, e->known.text, sent, true);
	struct json *rest = writer_patch(e, a, answer, sent, !e->no_pod_level);

	JSON_FOREACH (it, rest) {
		const struct json *said = json_get(patch, json_key(it));

		if (!said || (str_eqz(json_key(it), "conditions") && !has_conditions(it, said)))
			return false;
	}
	return true;
}

/* The server's status changed. If someone else changed our fields, ours must be written again. */
static void absorb(struct entry *e, struct version *seen)
{
	char block[STACK_BLOCK] UNZEROED;
	struct json *before, *now;
	struct arena a;

	arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
	if (e->wanted && !e->dirty && strcmp(seen->text, e->known.text) != 0) {
		before = difference(e, &a, e->known.text);
		now = difference(e, &a, seen->text);
		e->dirty = now && (!before || !json_equal(before, now));
	}
	arena_release(&a);
	version_move(&e->known, seen);
}

/* --- entries --------------------------------------------------------------------------------- */

static void forget_texts(struct entry *e)
{
	if (e->sent != e->wanted)
		free(e->sent);
	free(e->wanted);
	free(e->known.text);
	free(e->later.text);
	e->sent = e->wanted = e->known.text = e->later.text = NULL;
}

static void writer_entry_free(struct entry *e)
{
	client_cancel(&e->request);
	loop_timer_stop(&e->again);
	forget_texts(e);
	free(e->uid);
	free(e->ns);
	free(e->name);
	free(e);
}

static void writer_on_again(struct loop_timer *t)
{
	next(CONTAINER_OF(t, struct entry, again));
}

static struct entry *writer_entry_of(struct status_writer *w, const struct pod *pod)
{
	struct entry *e = map_get(&w->entries, pod->uid);

	if (e)
		return e;
	e = XNEW(struct entry);
	e->writer = w;
	e->uid = str_dup(pod->uid);
	e->ns = str_dup(pod->ns);
	e->name = str_dup(pod->name);
	e->known = version_of(pod->tree);
	e->backoff = (struct backoff){
		.initial_ms = RETRY_FIRST_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	loop_timer_init(&e->again, w->opts.loop, writer_on_again);
	(void)map_put(&w->entries, str_from(e->uid), e);
	return e;
}

static void writer_count(const struct status_writer *w, enum outcome o)
{
	if (w->counts[o])
		metrics_counter_add(w->counts[o], 1);
}

/* --- outcomes -------------------------------------------------------------------------------- */

/*
 * The server has no such pod: there is nothing left to write. The entry stays until it is
 * forgotten.
 */
static void gone(struct entry *e)
{
	writer_count(e->writer, GONE);
	forget_texts(e);
	e->gone = true;
	e->dirty = false;
}

static bool is_final(const struct error *err)
{
	switch (err->code) {
	case ERR_BAD_REQUEST:
	case ERR_INVALID:
	case ERR_TOO_LARGE:
	case ERR_UNSUPPORTED_MEDIA_TYPE:
		return true;
	default:
		return false;
	}
}

static void try_later(struct entry *e)
{
	writer_count(e->writer, FAILED);
	loop_timer_start(&e->again, backoff_next(&e->backoff, loop_prng(e->writer->opts.loop)));
}

/* The patch in flight has ended. Frees its text, unless it is still the wanted one. */
static void end_patch(struct entry *e, bool taken)
{
	struct version later = e->later;
	char *sent = TAKE(e->sent);

	e->later = (struct version){ 0 };
	e->dirty = !taken || e->wanted != sent;
	if (e->wanted != sent)
		free(sent);
	if (later.text && is_newer(&later, &e->known))
		absorb(e, &later);
	free(later.text);
}

static void patch_taken(struct entry *e, const struct client_answer *answer)
{
	struct status_writer *w = e->writer;
	struct json *tree, *status = NULL;
	struct version version;
	char *uid = xstrdup(e->uid);
	bool all = true;
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	writer_count(w, WRITTEN);
	backoff_reset(&e->backoff);
	if (w->opts.on_written)
		status = writer_tree_of(&a, arena_strdup(&a, str_from(e->sent)));
	if (client_answer_tree(answer, &a, &tree, NULL) == 0) {
		version = version_of(tree);
		all = !e->doubted || said_all(e, &a, version.text);
		e->doubted = !all;
		version_move(&e->known, &version);
	}
	end_patch(e, all);
	next(e);
	/* Last: it may set, delete or forget this pod. */
	if (status)
		w->opts.on_written(w->opts.arg, str_from(uid), status);
	arena_release(&a);
	free(uid);
}

static void patch_refused(struct entry *e, const struct client_answer *answer,
			  const struct error *err)
{
	struct status_writer *w = e->writer;
	struct str field = STR("status.allocatedResourcesStatus");
	char *uid = xstrdup(e->uid);
	bool without = !e->no_pod_level && client_answer_blames(answer, field);

	writer_count(w, REFUSED);
	e->no_pod_level |= without;
	end_patch(e, !without);
	next(e);
	if (w->opts.on_refused)
		w->opts.on_refused(w->opts.arg, str_from(uid), err);
	free(uid);
}

static void look_done(struct client_request *r, const struct client_answer *answer,
		      const struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct entry *e = r->arg;
	struct json *pod;

	arena_init(&a, REQUEST_WORK_MAX);
	if (err ? err->code == ERR_NOT_FOUND
		: client_answer_tree(answer, &a, &pod, NULL) == 0 &&
			    !str_eqz(json_text_at(json_getz(pod, "metadata"), "uid"), e->uid))
		gone(e);
	else
		try_later(e);
}

/*
 * A conflict is either about the pod's uid or about another write. Only the human-readable message
 * distinguishes them, so we read which pod has the name now.
 */
static void writer_look(struct entry *e)
{
	e->request = (struct client_request){ .on_done = look_done,
					      .arg = e,
					      .timeout_ms = TIMEOUT_MS };
	client_get(e->writer->opts.client, &e->request, &e->writer->pods, str_from(e->ns),
		   str_from(e->name));
}

static void patch_done(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct entry *e = r->arg;

	if (!err) {
		patch_taken(e, answer);
	} else if (err->code == ERR_NOT_FOUND) {
		gone(e);
	} else if (is_final(err)) {
		patch_refused(e, answer, err);
	} else if (err->code == ERR_CONFLICT) {
		end_patch(e, false);
		writer_look(e);
	} else {
		e->doubted = true;
		end_patch(e, false);
		try_later(e);
		if (e->writer->opts.on_failed)
			e->writer->opts.on_failed(e->writer->opts.arg, err);
	}
}

static void delete_done(struct client_request *r, const struct client_answer *answer UNUSED,
			const struct error *err)
{
	struct entry *e = r->arg;

	if (!err) {
		e->deleted = true;
		next(e);
	} else if (err->code == ERR_NOT_FOUND) {
		gone(e);
	} else if (err->code == ERR_CONFLICT) {
		writer_look(e);
	} else {
		try_later(e);
	}
}

/* --- requests -------------------------------------------------------------------------------- */

static void send_patch(struct entry *e, struct arena *a, struct json *status)
{
	struct resource_name name = { str_from(e->ns), str_from(e->name), STR("status") };
	struct json *patch = json_make_object(a);

	json_put_str(a, json_need_object(a, patch, "metadata"), "uid", str_from(e->uid));
	json_setz(patch, "status", status);
	e->sent = e->wanted;
	e->request = (struct client_request){ .on_done = patch_done,
					      .arg = e,
					      .timeout_ms = TIMEOUT_MS };
	client_patch(e->writer->opts.client, &e->request, &e->writer->pods, name,
		     CLIENT_PATCH_STRATEGIC, patch);
}

static void send_delete(struct entry *e)
{
	struct client_delete_opts opts = { .uid = str_from(e->uid), .has_grace = true };

	e->request = (struct client_request){ .on_done = delete_done,
					      .arg = e,
					      .timeout_ms = TIMEOUT_MS };
	client_delete(e->writer->opts.client, &e->request, &e->writer->pods, str_from(e->ns),
		      str_from(e->name), &opts);
}

/* Starts the next request, if none is in flight. */
static void next(struct entry *e)
{
	char block[STACK_BLOCK] UNZEROED;
	struct json *status;
	struct arena a;

	if (e->gone || client_busy(&e->request) || loop_timer_running(&e->again))
		return;
	if (e->dirty) {
		arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
		status = difference(e, &a, e->known.text);
		e->dirty = status != NULL;
		if (status)
			send_patch(e, &a, status);
		arena_release(&a);
	}
	if (!e->dirty && e->to_delete && !e->deleted)
		send_delete(e);
}

/* --- public ---------------------------------------------------------------------------------- */

static void writer_make_metrics(struct status_writer *w)
{
	static const char *const labels[] = { "result" };
	static const struct str results[OUTCOMES] = { [WRITTEN] = { "written", 7 },
						      [REFUSED] = { "refused", 7 },
						      [FAILED] = { "failed", 6 },
						      [GONE] = { "gone", 4 } };
	struct metrics_spec spec = {
		.name = "devplane_node_status_writes_total",
		.help = "Requests that write a pod's status or delete a terminated pod, by result.",
		.type = METRICS_COUNTER,
		.labels = labels,
		.labels_n = 1
	};
	struct metrics_family *f = NULL;

	if (!w->opts.metrics || metrics_register(w->opts.metrics, &spec, &f, NULL) < 0)
		return;
	for (int i = 0; i < OUTCOMES; i++)
		w->counts[i] = metrics_counter(f, results[i]);
}

struct status_writer *status_writer_new(const struct status_writer_opts *opts)
{
	struct status_writer *w = XNEW(struct status_writer);

	w->opts = *opts;
	w->pods = resource_builtin("", "v1", "pods");
	map_init(&w->entries);
	writer_make_metrics(w);
	return w;
}

void status_writer_free(struct status_writer *w)
{
	struct str key;
	size_t at = 0;
	void *e;

	if (!w)
		return;
	while (map_next(&w->entries, &at, &key, &e))
		writer_entry_free(e);
	map_release(&w->entries);
	free(w);
}

void status_writer_set(struct status_writer *w, const struct pod *pod, const struct json *status)
{
	struct entry *e = writer_entry_of(w, pod);
	char *text;

	if (e->gone)
		return;
	text = writer_print(status);
	if (!e->wanted || strcmp(text, e->wanted) != 0) {
		if (e->wanted != e->sent)
			free(e->wanted);
		e->wanted = TAKE(text);
		e->dirty = true;
	}
	free(text);
	status_writer_seen(w, pod);
	next(e);
}

void status_writer_seen(struct status_writer *w, const struct pod *pod)
{
	struct entry *e = map_get(&w->entries, pod->uid);
	struct version seen = { .rv = revision_of(pod->tree) };

	if (!e || e->gone || !is_newer(&seen, &e->known))
		return;
	if (e->sent && e->later.text && !is_newer(&seen, &e->later))
		return;
	seen = version_of(pod->tree);
	if (e->sent) {
		version_move(&e->later, &seen);
		return;
	}
	absorb(e, &seen);
	next(e);
}

struct str status_writer_wanted(const struct status_writer *w, struct str pod_uid)
{
	const struct entry *e = map_get(&w->entries, pod_uid);

	return e && e->wanted ? str_from(e->wanted) : STR_NULL;
}

bool status_writer_settled(const struct status_writer *w, struct str pod_uid)
{
	const struct entry *e = map_get(&w->entries, pod_uid);

	return !e || (!e->dirty && !e->sent);
}

void status_writer_forget(struct status_writer *w, struct str pod_uid)
{
	struct entry *e = map_remove(&w->entries, pod_uid);

	if (e)
		writer_entry_free(e);
}

void status_writer_delete(struct status_writer *w, const struct pod *pod)
{
	struct entry *e = writer_entry_of(w, pod);

	e->to_delete = true;
	next(e);
}

size_t status_writer_pending(const struct status_writer *w)
{
	struct str key;
	size_t at = 0, n = 0;
	void *v;

	while (map_next(&w->entries, &at, &key, &v)) {
		const struct entry *e = v;

		n += e->dirty || e->sent || client_busy(&e->request) ||
		     (e->to_delete && !e->deleted && !e->gone);
	}
	return n;
}
