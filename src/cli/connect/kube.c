/*
 * The loop runs only within kube_wait_for(); other code may stop it meanwhile without harm. As
 * kubectl does, lists are requested in pages, so that a server never has to make a large reply at
 * once; the pages are put together again.
 */
#include "cli/connect/kube.h"

#include "api/api_limits.h"
#include "base/json/json.h"
#include "base/text/nearest.h"
#include "client/api/discovery.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"

#define PAGE "500"

struct wait {
	struct kube *kube;
	struct str body;
	struct error err;
	int result;
	bool done;
};

/* --- one request ----------------------------------------------------------------------------- */

/* A failed connection's own message says little, so the error is extended. */
static void kube_explain(const struct kube *k, struct error *failure)
{
	char why[256];

	if (failure->code != ERR_UNAVAILABLE && failure->code != ERR_UNAUTHORIZED)
		return;
	(void)snprintf(why, sizeof(why), "%.200s", failure->msg);
	if (failure->code == ERR_UNAUTHORIZED)
		(void)error_set(failure, ERR_UNAUTHORIZED,
				"%.*s rejected the credentials: %s; they come from %.*s",
				STR_ARG(k->config.server), why, STR_ARG(k->config.source));
	else
		(void)error_set(failure, ERR_UNAVAILABLE,
				"cannot reach %.*s: %s; is the server running? Its address comes "
				"from %.*s",
				STR_ARG(k->config.server), why, STR_ARG(k->server_from));
}

static bool was_told(const struct kube *k, struct str text)
{
	for (const struct kube_told *t = k->told; t; t = t->next) {
		if (str_eq(t->text, text))
			return true;
	}
	return false;
}

static void say_warnings(struct kube *k, const struct client_answer *answer)
{
	for (size_t i = 0; i < answer->nwarnings; i++) {
		struct str text = answer->warnings[i];
		struct kube_told *t;

		if (was_told(k, text))
			continue;
		cli_warn(k->cli, "%.*s", STR_ARG(text));
		t = ARENA_NEW(&k->cli->arena, struct kube_told);
		*t = (struct kube_told){ k->told, arena_str(&k->cli->arena, text) };
		k->told = t;
	}
}

static void kube_on_done(struct client_request *r, const struct client_answer *answer,
			 const struct error *err)
{
	struct wait *w = r->arg;

	say_warnings(w->kube, answer);
	if (err) {
		w->err = *err;
		w->result = -(int)err->code;
		w->kube->refusal = arena_str(w->kube->arena, answer->body);
	} else {
		w->body = arena_str(w->kube->arena, answer->body);
	}
	w->done = true;
	loop_stop(w->kube->loop);
}

static int kube_wait_for(struct wait *w, struct error *err)
{
	while (!w->done && !w->kube->interrupted)
		loop_run(w->kube->loop);
	if (!w->done)
		return error_set(err, ERR_CANCELED, "interrupted");
	if (w->result >= 0)
		return w->result;
	kube_explain(w->kube, &w->err);
	(void)error_copy(err, &w->err);
	return w->result;
}

static void prepare(struct wait *w, struct client_request *r, struct kube *k)
{
	*w = (struct wait){ .kube = k };
	r->on_done = kube_on_done;
	r->arg = w;
}

static int kube_finish(struct wait *w, struct client_request *r, struct str *ret_body,
		       struct error *err)
{
	int ret = kube_wait_for(w, err);

	client_cancel(r);
	if (ret == 0)
		*ret_body = w->body;
	return ret;
}

static int send_and_wait(struct kube *k, struct client_request *r, struct str *ret_body,
			 struct error *err)
{
	struct wait w;

	prepare(&w, r, k);
	client_send(k->client, r);
	return kube_finish(&w, r, ret_body, err);
}

static int finish_tree(struct wait *w, struct client_request *r, struct json **ret_tree,
		       struct error *err)
{
	struct str body;
	int ret = kube_finish(w, r, &body, err);

	return ret < 0 ? ret : json_parse(w->kube->arena, body, NULL, ret_tree, err);
}

/* --- reading --------------------------------------------------------------------------------- */

static void make_query(const struct kube_query *q, struct str token, struct buf *out)
{
	if (q->label_selector.n > 0)
		client_query_add(out, "labelSelector", q->label_selector);
	if (q->field_selector.n > 0)
		client_query_add(out, "fieldSelector", q->field_selector);
	if (q->name.n == 0)
		client_query_add(out, "limit", STR(PAGE));
	if (q->whole)
		client_query_add(out, "includeObject", STR("Object"));
	if (token.n > 0)
		client_query_add(out, "continue", token);
}

static int read_page(struct kube *k, const struct kube_query *q, struct str token,
		     struct json **ret_tree, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(HTTP_TARGET_MAX);
	CLEANUP(buf_release) struct buf query = BUF_INIT(HTTP_TARGET_MAX);
	struct client_request r = { .accept = q->accept };
	struct str body;
	int ret;

	resource_path(&path, q->resource, (struct resource_name){ .ns = q->ns, .name = q->name });
	make_query(q, token, &query);
	r.path = buf_str(&path);
	r.query = buf_str(&query);
	ret = send_and_wait(k, &r, &body, err);
	if (ret < 0)
		return ret;
	return json_parse(k->arena, body, NULL, ret_tree, err);
}

/* Lists have items, tables have rows. */
static struct json *entries(const struct json *list)
{
	struct json *v = json_getz(list, "items");

	return v ? v : json_getz(list, "rows");
}

static void append_page(struct json *list, const struct json *page)
{
	struct json *into = entries(list), *from = entries(page);

	if (!into || !from)
		return;
	JSON_FOREACH_SAFE (it, from)
		json_append(into, json_unlink(from, it));
}

int kube_read(struct kube *k, const struct kube_query *q, struct json **ret_tree, struct error *err)
{
	struct json *page = NULL, *list = NULL, *meta;
	struct str token = STR_NULL;
	int r;

	do {
		r = read_page(k, q, token, &page, err);
		if (r < 0)
			return r;
		meta = json_getz(page, "metadata");
		token = json_text_at(meta, "continue");
		if (list)
			append_page(list, page);
		else
			list = page;
		if (k->objects_max && json_count(entries(list)) > k->objects_max)
			return error_set(err, ERR_TOO_LARGE, "the cluster has more than %zu %.*s",
					 k->objects_max, STR_ARG(q->resource->resource));
	} while (q->name.n == 0 && token.n > 0);
	*ret_tree = list;
	return 0;
}

int kube_read_target(struct kube *k, const struct kube_target *t, struct json **ret_object,
		     struct error *err)
{
	struct kube_query q = { .resource = t->resource, .ns = t->name.ns, .name = t->name.name };

	return kube_read(k, &q, ret_object, err);
}

/* --- writing --------------------------------------------------------------------------------- */

int kube_create(struct kube *k, const struct kube_target *t, const struct json *object,
		struct json **ret_object, struct error *err)
{
	struct client_request r = { .query = t->query };
	struct wait w;

	prepare(&w, &r, k);
	client_create(k->client, &r, t->resource, t->name.ns, object);
	return finish_tree(&w, &r, ret_object, err);
}

int kube_patch(struct kube *k, const struct kube_target *t, enum client_patch_type type,
	       const struct json *patch, struct json **ret_object, struct error *err)
{
	struct client_request r = { .query = t->query };
	struct wait w;

	prepare(&w, &r, k);
	client_patch(k->client, &r, t->resource, t->name, type, patch);
	return finish_tree(&w, &r, ret_object, err);
}

int kube_delete(struct kube *k, const struct kube_target *t, const struct client_delete_opts *opts,
		struct json **ret_answer, struct error *err)
{
	struct client_request r = { .query = t->query };
	struct wait w;

	prepare(&w, &r, k);
	client_delete(k->client, &r, t->resource, t->name.ns, t->name.name, opts);
	return finish_tree(&w, &r, ret_answer, err);
}

static void on_pause_over(struct loop_timer *t)
{
	loop_stop(t->loop);
}

void kube_pause(struct kube *k, int64_t ms)
{
	struct loop_timer t;

	loop_timer_init(&t, k->loop, on_pause_over);
	loop_timer_start(&t, ms);
	while (loop_timer_running(&t) && !k->interrupted)
		loop_run(k->loop);
	loop_timer_stop(&t);
}

/* --- rights ---------------------------------------------------------------------------------- */

static int ask_may(struct kube *k, const char *verb, const struct resource *r, struct str ns,
		   bool *ret_may, struct error *err)
{
	struct resource reviews = resource_builtin("authorization.k8s.io", "v1",
						   "selfsubjectaccessreviews");
	struct arena *a = k->arena;
	struct json *review = json_make_object(a), *answer = NULL, *what;
	int ret;

	json_put_str(a, review, "apiVersion", STR("authorization.k8s.io/v1"));
	json_put_str(a, review, "kind", STR("SelfSubjectAccessReview"));
	what = json_need_object(a, json_need_object(a, review, "spec"), "resourceAttributes");
	json_put_str(a, what, "verb", str_from(verb));
	json_put_str(a, what, "group", r->group);
	json_put_str(a, what, "resource", r->resource);
	if (ns.n > 0)
		json_put_str(a, what, "namespace", ns);
	ret = kube_create(k, &(struct kube_target){ .resource = &reviews }, review, &answer, err);
	if (ret == 0)
		*ret_may = json_true_at(json_getz(answer, "status"), "allowed");
	return ret;
}

int kube_may(struct kube *k, const char *verb, const struct resource *r, struct str ns,
	     bool *ret_may, struct error *err)
{
	struct arena scratch, *was = k->arena;
	int ret;

	arena_init(&scratch, REQUEST_WORK_MAX);
	k->arena = &scratch;
	ret = ask_may(k, verb, r, ns, ret_may, err);
	k->arena = was;
	k->refusal = STR_NULL;
	arena_release(&scratch);
	return ret;
}

/* --- resources ------------------------------------------------------------------------------- */

static void on_discovered(void *arg, const struct error *err)
{
	struct wait *w = arg;

	if (err) {
		w->err = *err;
		w->result = -(int)err->code;
	}
	w->done = true;
	loop_stop(w->kube->loop);
}

static int discover(struct kube *k, struct error *err)
{
	struct wait w = { .kube = k };
	int r;

	if (k->discovery)
		return 0;
	k->discovery = discovery_open(k->client);
	discovery_refresh(k->discovery, on_discovered, &w);
	r = kube_wait_for(&w, err);
	if (r < 0) {
		discovery_close(k->discovery);
		k->discovery = NULL;
	}
	return r;
}

static bool has_short_name(const struct discovery_resource *d, struct str word)
{
	struct str rest = d->short_names, name;

	while (str_split(&rest, ',', &name)) {
		if (str_eq(name, word))
			return true;
	}
	return false;
}

static bool is_called(const struct discovery_resource *d, struct str word)
{
	return str_ieq(d->resource.resource, word) || str_ieq(d->singular, word) ||
	       str_ieq(d->resource.kind, word) || has_short_name(d, word);
}

/* `rest` is the part after the name: "", "apps", "v1.apps". */
static bool is_of(const struct discovery_resource *d, struct str rest)
{
	struct str version;

	if (rest.n == 0)
		return d->preferred;
	if (str_eq(rest, d->resource.group))
		return d->preferred;
	return str_split(&rest, '.', &version) && str_eq(version, d->resource.version) &&
	       str_eq(rest, d->resource.group);
}

static const struct discovery_resource *kube_find(const struct discovery *d, struct str word)
{
	struct str rest = word, name;
	size_t n;
	const struct discovery_resource *v = discovery_resources(d, &n);

	(void)str_split(&rest, '.', &name);
	for (size_t i = 0; i < n; i++) {
		if (is_called(&v[i], name) && is_of(&v[i], rest))
			return &v[i];
	}
	return NULL;
}

static struct str nearest_word(const struct discovery *d, struct str word)
{
	struct nearest near;
	size_t n;
	const struct discovery_resource *v = discovery_resources(d, &n);

	nearest_init(&near, word);
	for (size_t i = 0; i < n; i++) {
		nearest_offer(&near, v[i].resource.resource);
		nearest_offer(&near, v[i].singular);
	}
	return nearest_get(&near);
}

int kube_resource(struct kube *k, struct str word, const struct discovery_resource **ret_resource,
		  struct error *err)
{
	const struct discovery_resource *d;
	struct str near;
	int r = discover(k, err);

	if (r < 0)
		return r;
	d = word.n > 0 ? kube_find(k->discovery, word) : NULL;
	if (d) {
		*ret_resource = d;
		return 0;
	}
	near = nearest_word(k->discovery, word);
	if (near.n > 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the server doesn't have a resource type \"%.*s\"; did you mean "
				 "\"%.*s\"?",
				 STR_ARG(word), STR_ARG(near));
	return error_set(err, ERR_NOT_FOUND, "the server doesn't have a resource type \"%.*s\"%s",
			 STR_ARG(word),
			 discovery_incomplete(k->discovery)
				 ? " in its discovery, which is incomplete: a part of the server "
				   "does not answer"
				 : "");
}

int kube_kind(struct kube *k, struct str api_version, struct str kind,
	      const struct discovery_resource **ret_resource, struct error *err)
{
	bool asked = !k->discovery;
	int r = discover(k, err);

	if (r < 0)
		return r;
	*ret_resource = discovery_find_kind(k->discovery, api_version, kind);
	if (*ret_resource)
		return 0;
	if (asked)
		return error_set(err, ERR_NOT_FOUND,
				 "no matches for kind \"%.*s\" in version \"%.*s\"; ensure that "
				 "CRDs are installed first",
				 STR_ARG(kind), STR_ARG(api_version));
	/* It may have been defined since, even by us. */
	discovery_close(TAKE(k->discovery));
	return kube_kind(k, api_version, kind, ret_resource, err);
}

/* --- life ------------------------------------------------------------------------------------ */

int kube_open(struct kube *k, struct cli *cli, const struct kube_options *o, struct error *err)
{
	struct client_opts c = { .config = &k->config,
				 .role = "cli",
				 .timeout_ms = o->request_timeout > 0
						       ? MAX(o->request_timeout / CLOCK_MS, 1)
						       : -1 };
	int r;

	*k = (struct kube){ .cli = cli, .arena = &cli->arena };
	r = kube_flags_load(o, &k->config, err);
	k->server_from = o->server ? STR("--server") : k->config.source;
	if (r == 0)
		r = loop_new(&k->loop, err);
	if (r == 0)
		r = client_new(k->loop, &c, &k->client, err);
	return r;
}

void kube_interrupt(struct kube *k)
{
	k->interrupted = true;
	loop_stop(k->loop);
}

int kube_login(struct kube *k, struct error *err)
{
	struct client_request r = { .path = STR("/version") };
	struct str body;

	return k->config.exec ? send_and_wait(k, &r, &body, err) : 0;
}

static void kube_on_last(struct loop_timer *t)
{
	loop_stop(t->loop);
}

void kube_close(struct kube *k)
{
	struct loop_timer last;

	discovery_close(k->discovery);
	client_free(k->client);
	if (k->loop) {
		/* Connections free their memory in the loop's next turn. */
		loop_timer_init(&last, k->loop, kube_on_last);
		loop_timer_start(&last, 0);
		loop_run(k->loop);
	}
	loop_free(k->loop);
	kubeconfig_release(&k->config);
}

int kube_namespace(const struct kube *k, const struct kube_options *o, const struct resource *r,
		   struct str said, struct str *ret_ns, struct error *err)
{
	*ret_ns = STR_NULL;
	if (!r->namespaced)
		return 0;
	if (said.n > 0 && o->ns && !str_eqz(said, o->ns))
		return error_set(err, ERR_BAD_REQUEST,
				 "its namespace is \"%.*s\", but --namespace is \"%s\"",
				 STR_ARG(said), o->ns);
	*ret_ns = said.n > 0 ? said : k->config.ns;
	return 0;
}
