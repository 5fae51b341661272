/*
 * Which webhooks are called, and what their answers mean. Mutating webhooks are called one at a
 * time. If a later one changes the object, earlier ones that want to know are called once more in
 * a second round (plugins/table.c runs it, because the built-in plugins see the change too). All
 * validating webhooks are called before the first answer is evaluated.
 */
#include "base/core/limits.h"
#include "base/core/map.h"
#include "server/admission/attr.h"
#include "server/admission/form.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/http/audit.h"
#include "server/webhooks/webhooks_impl.h"

/* A write and the webhooks of one type. */
struct dispatch {
	struct admission_request *req;
	enum webhook_type type;
	struct webhook_set *set;
	const struct json *old;
	struct json *object; /* NULL: absent */
	struct admission_attr attr;
};

/* Finds the next webhook; false at the end. Zero *at first. */
struct hook_cursor {
	struct omap_cursor config;
	bool begun;
	size_t hook; /* index in the configuration */
	size_t index; /* index among all webhooks */
};

static const struct webhook *next_hook(const struct webhook_set *set, struct hook_cursor *at)
{
	const struct webhook_config *c;
	bool ok = at->begun || omap_first(&set->configs, &at->config);

	if (at->begun) {
		at->hook++;
		at->index++;
	}
	at->begun = true;
	while (ok) {
		c = omap_value(&at->config);
		if (at->hook < c->n)
			return &c->hooks[at->hook];
		at->hook = 0;
		ok = omap_next(&at->config);
	}
	return NULL;
}

static int refuse_unreadable(const struct webhook_set *set, struct error *err)
{
	const struct webhook_config *c = NULL;
	struct omap_cursor at;

	for (bool ok = omap_first(&set->configs, &at); ok && !(c && c->unreadable);
	     ok = omap_next(&at))
		c = omap_value(&at);
	return error_set(err, ERR_FORBIDDEN,
			 "not yet ready to handle request: %s \"%.*s\" cannot be read",
			 set->type == WEBHOOK_MUTATING ? "MutatingWebhookConfiguration"
						       : "ValidatingWebhookConfiguration",
			 STR_ARG(c->name));
}

static int dispatch_init(struct dispatch *d, struct admission_request *req, enum webhook_type type,
			 const struct json *old, struct json *object, struct error *err)
{
	/* An update that removes an object is shown as the object that it would have become. */
	if (!object && req->op == ADMIT_UPDATE)
		object = req->write->last;
	*d = (struct dispatch){ .req = req,
				.type = type,
				.set = &req->server->webhooks->sets[type],
				.old = old,
				.object = req->op == ADMIT_DELETE ? NULL : object };
	if (d->set->nunreadable)
		return refuse_unreadable(d->set, err);
	return admission_attr(req, old, object, &d->attr, err);
}

/* Whether its conditions are true; if they fail, failurePolicy decides. */
static int conditions_hold(struct dispatch *d, const struct webhook *h,
			   const struct schema_kind *kind, struct error *err)
{
	struct admission_cel cel;
	const char *fault = NULL;
	int r;

	admission_cel_begin(&cel, d->req, &d->attr);
	r = admission_conditions_hold(&cel, &h->conditions, kind, NULL, NULL, &fault);
	admission_cel_end(&cel);
	if (r >= 0)
		return r;
	return h->fails_open ? 0 : error_set(err, ERR_FORBIDDEN, "%s", fault);
}

/* Returns 1 if the webhook matches, with the version in *ret_kind; 0 if not; or an error. */
static int is_asked(struct dispatch *d, const struct webhook *h,
		    const struct schema_kind **ret_kind, struct error *err)
{
	if (!admission_matches(&h->match, &d->attr, ret_kind))
		return 0;
	return h->conditions.n ? conditions_hold(d, h, *ret_kind, err) : 1;
}

static struct str name_for(const struct dispatch *d)
{
	struct str name = d->attr.name;

	/* A generated name is shown to webhooks that are called when it is final. */
	if (!name.n && d->type == WEBHOOK_VALIDATING && d->req->op == ADMIT_CREATE)
		name = json_text_at(json_getz(d->object, "metadata"), "name");
	return name;
}

/*
 * If an object cannot be encoded, the webhook is not called: without it anything might be
 * allowed.
 */
static int question_of(struct dispatch *d, const struct webhook *h, const struct schema_kind *kind,
		       const struct json *shown, struct webhook_question *q, struct error *err)
{
	struct admission_request *req = d->req;
	struct admission_attr attr = d->attr;

	attr.name = name_for(d);
	*q = (struct webhook_question){
		.version = h->version,
		.request = admission_request_tree(req, &attr, kind),
		.object = shown ? shown : admission_seen(req, &d->attr, d->attr.object, kind),
		.old = admission_seen(req, &d->attr, d->attr.old, kind),
	};
	if ((d->attr.object && !q->object) || (d->attr.old && !q->old))
		return error_set(err, ERR_INTERNAL,
				 "admission webhook \"%.*s\" cannot be called: the object cannot "
				 "be converted to %.*s",
				 STR_ARG(h->name), STR_ARG(kind->api_version));
	return 0;
}

bool webhooks_mutate_match(struct admission_request *req, const struct json *old,
			   struct json *object)
{
	struct hook_cursor at = { 0 };
	const struct schema_kind *kind;
	const struct webhook *h;
	struct dispatch d;
	struct error err;

	if (dispatch_init(&d, req, WEBHOOK_MUTATING, old, object, &err) < 0)
		return true;
	while ((h = next_hook(d.set, &at)))
		if (admission_matches(&h->match, &d.attr, &kind))
			return true;
	return false;
}

/* Begins a call, or finds the answer. */
static int dispatch_ask(struct dispatch *d, const struct webhook *h, const struct schema_kind *kind,
			const struct json *shown, struct webhook_answer **ret_answer,
			struct error *err)
{
	struct admission_request *req = d->req;
	struct webhook_question q;
	int r;

	if (req->dry_run && h->side_effects)
		return error_set(err, ERR_BAD_REQUEST,
				 "admission webhook \"%.*s\" does not support dry run",
				 STR_ARG(h->name));
	/* Webhooks must not see a state that may never be committed. */
	if (req->base_pending)
		return admission_park_for_base(req, err);
	r = question_of(d, h, kind, shown, &q, err);
	return r < 0 ? r : webhook_ask(req, h, d->type, &q, ret_answer, err);
}

/* --- answers ---------------------------------------------------------------------- */

static void dispatch_note(struct admission_request *req, struct str key, struct str value)
{
	audit_annotate(&req->about.annotations, req->work, key, value);
}

static void annotate(struct admission_request *req, const struct webhook *h,
		     const struct json *annotations)
{
	JSON_FOREACH (it, annotations) {
		const char *key = arena_printf(req->work, "%.*s/%.*s", STR_ARG(h->name),
					       STR_ARG(json_key(it)));

		if (json_str(it).p)
			dispatch_note(req, str_from(key), json_str(it));
	}
}

static int dispatch_fail(const struct webhook *h, const struct webhook_answer *answer,
			 struct error *err)
{
	if (answer->stopped)
		return error_set(err, ERR_UNAVAILABLE, "the server is being stopped");
	return error_set(err, ERR_INTERNAL, "failed calling webhook \"%.*s\": %s", STR_ARG(h->name),
			 answer->err->msg);
}

/* Evaluates an answer. Returns 0 if the write proceeds, also if the webhook failed open. */
static int dispatch_judge(struct dispatch *d, const struct webhook *h, size_t index, int round,
			  const struct webhook_answer *answer, struct error *err)
{
	struct admission_request *req = d->req;
	const struct webhook_verdict *v = &answer->verdict;
	int code;

	if (answer->err && (!h->fails_open || answer->stopped))
		return dispatch_fail(h, answer, err);
	/* The call timed out because the request did: its result no longer matters. */
	if (answer->err && answer->late)
		return error_set(err, ERR_TIMEOUT,
				 "request did not complete within requested timeout");
	if (answer->err) {
		dispatch_note(req,
			      str_from(arena_printf(req->work,
						    "failed-open.%s.webhook.admission.k8s.io/"
						    "round_%d_index_%zu",
						    d->type == WEBHOOK_MUTATING ? "mutation"
										: "validating",
						    round, index)),
			      h->name);
		return 0;
	}
	annotate(req, h, v->annotations);
	JSON_FOREACH (it, v->warnings)
		write_warn(req->write, "%.*s", STR_ARG(json_str(it)));
	if (v->allowed)
		return 0;
	req->about.status = webhook_review_refusal(req->work, h->name, v, &code);
	return error_set(err, ERR_FORBIDDEN, "admission webhook \"%.*s\" denied the request",
			 STR_ARG(h->name));
}

/* --- mutating --------------------------------------------------------------------- */

/* The object has changed: webhooks that were called before and want to know are called again. */
static void require_again(struct webhook_rounds *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		r->again[i] = r->again[i] || r->invoked[i];
		r->invoked[i] = false;
	}
}

static struct webhook_rounds *begin_round(struct dispatch *d)
{
	struct webhook_rounds *r = webhook_rounds(d->req);
	size_t n = d->set->nhooks;

	if (!d->req->reinvoking) {
		r->invoked = ARENA_ARRAY(d->req->write->arena, bool, n + 1);
		r->again = ARENA_ARRAY(d->req->write->arena, bool, n + 1);
	} else if (admission_hash(d->object) != r->left) {
		require_again(r, n); /* a built-in plugin changed it */
	}
	return r;
}

static void note_mutation(struct dispatch *d, const struct webhook *h, size_t index, bool changed)
{
	CLEANUP(buf_release) struct buf value = BUF_INIT(4 * KIB);
	struct admission_request *req = d->req;

	(void)buf_addz(&value, "{\"configuration\":");
	(void)json_print_str(&value, h->config, NULL);
	(void)buf_addz(&value, ",\"webhook\":");
	(void)json_print_str(&value, h->name, NULL);
	(void)buf_printf(&value, ",\"mutated\":%s}", changed ? "true" : "false");
	dispatch_note(req,
		      str_from(arena_printf(req->work,
					    "mutation.webhook.admission.k8s.io/"
					    "round_%d_index_%zu",
					    req->reinvoking ? 1 : 0, index)),
		      buf_str(&value));
}

/* Applies a patch to the shown object, and takes the result. */
static int take_doc(struct dispatch *d, const struct schema_kind *kind, struct json *shown,
		    const struct json *patch, bool *ret_changed, struct error *err)
{
	struct str version = json_text_at(shown, "apiVersion"), name = json_text_at(shown, "kind");
	struct arena *a = d->req->write->arena;
	struct json *doc = shown;
	int r;

	r = patch_json(a, &doc, patch, err);
	if (r == 0 && json_is(doc, JSON_OBJECT)) {
		json_put_str(a, doc, "apiVersion", version);
		json_put_str(a, doc, "kind", name);
	}
	if (r == 0)
		r = admission_take(d->req, &d->attr, kind, doc, d->object, ret_changed, err);
	return r < 0 ? error_recode(err, ERR_INTERNAL) : 0;
}

static int take_patch(struct dispatch *d, const struct webhook *h, const struct schema_kind *kind,
		      struct json *shown, const struct json *patch, bool *ret_changed,
		      struct error *err)
{
	int r;

	*ret_changed = false;
	if (!patch)
		return 0;
	if (!d->object)
		return error_set(err, ERR_INTERNAL,
				 "admission webhook \"%.*s\" attempted to modify the object, which "
				 "is not supported for this operation",
				 STR_ARG(h->name));
	r = take_doc(d, kind, shown, patch, ret_changed, err);
	if (r < 0)
		return error_wrap(err, r, "the patch of admission webhook \"%.*s\" does not apply",
				  STR_ARG(h->name));
	/* After a patch, the next webhooks see other trees. */
	return *ret_changed ? admission_attr(d->req, d->old, d->object, &d->attr, err) : 0;
}

static int mutate_by(struct dispatch *d, const struct webhook *h, size_t index,
		     struct webhook_rounds *rounds, struct error *err)
{
	const struct schema_kind *kind = NULL;
	struct webhook_answer *answer = NULL;
	struct json *shown = NULL;
	bool changed = false;
	int r;

	r = is_asked(d, h, &kind, err);
	if (r <= 0 || (d->req->reinvoking && !rounds->again[index]))
		return r;
	r = d->object ? admission_show(d->req, &d->attr, kind, &shown, err) : 0;
	if (r == 0)
		r = dispatch_ask(d, h, kind, shown, &answer, err);
	if (r < 0)
		return r;
	if (!answer->done)
		return admission_park(d->req, err);
	r = dispatch_judge(d, h, index, d->req->reinvoking, answer, err);
	if (r == 0 && !answer->err)
		r = take_patch(d, h, kind, shown, answer->verdict.patch, &changed, err);
	note_mutation(d, h, index, changed);
	if (changed) {
		require_again(rounds, d->set->nhooks);
		d->req->reinvoke = true;
	}
	if (h->reinvoked)
		rounds->invoked[index] = true;
	return r;
}

static int mutate(struct admission_request *req, const struct json *old, struct json *object,
		  struct error *err)
{
	struct hook_cursor at = { .begun = false };
	struct webhook_rounds *rounds;
	const struct webhook *h;
	struct dispatch d;
	int r;

	r = dispatch_init(&d, req, WEBHOOK_MUTATING, old, object, err);
	if (r < 0)
		return r;
	rounds = begin_round(&d);
	while (r >= 0 && (h = next_hook(d.set, &at)))
		r = mutate_by(&d, h, at.index, rounds, err);
	if (r >= 0 && req->reinvoke)
		rounds->left = admission_hash(d.object);
	return MIN(r, 0);
}

int webhooks_mutate(struct admission_request *req, const struct json *old, struct json *object,
		    struct error *err)
{
	return mutate(req, old, object, err);
}

int webhooks_mutate_deletion(struct admission_request *req, const struct json *old,
			     struct json *object, struct error *err)
{
	return req->op == ADMIT_DELETE ? mutate(req, old, object, err) : 0;
}

/* --- validating ------------------------------------------------------------------- */

/* A webhook that was called, and its answer. */
struct asked {
	const struct webhook *hook;
	struct webhook_answer *answer;
};

/* Calls all of them; sets *ret_open if any has not answered yet. */
static int ask_all(struct dispatch *d, struct asked *list, size_t *ret_n, bool *ret_open,
		   struct error *err)
{
	struct hook_cursor at = { .begun = false };
	const struct schema_kind *kind = NULL;
	const struct webhook *h;
	int r = 0;

	while (r >= 0 && (h = next_hook(d->set, &at))) {
		struct asked *one = &list[*ret_n];

		r = is_asked(d, h, &kind, err);
		if (r <= 0)
			continue;
		r = dispatch_ask(d, h, kind, NULL, &one->answer, err);
		if (r < 0)
			continue;
		one->hook = h;
		*ret_open |= !one->answer->done;
		(*ret_n)++;
	}
	return MIN(r, 0);
}

int webhooks_validate(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err)
{
	struct asked *list;
	struct dispatch d;
	struct error one;
	bool open = false;
	size_t n = 0;
	int r, ruling, result = 0;

	r = dispatch_init(&d, req, WEBHOOK_VALIDATING, old, object, err);
	if (r < 0)
		return r;
	list = ARENA_ARRAY(req->write->arena, struct asked, d.set->nhooks);
	r = ask_all(&d, list, &n, &open, err);
	/* Waits for all calls that began, also before a rejection. */
	if (open)
		return admission_park(req, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct json *refusal = req->about.status;

		ruling = dispatch_judge(&d, list[i].hook, i, 0, list[i].answer,
					result ? &one : err);
		if (result) /* the first rejection is reported */
			req->about.status = refusal;
		else
			result = ruling;
	}
	return r < 0 ? r : result;
}
