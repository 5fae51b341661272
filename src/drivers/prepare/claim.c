/* The vendor gets NUL-terminated text, so all text is copied into the claim's arena. */
#include "drivers/prepare/claim.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/cdi_file.h"

struct dp_claim *claim_new(struct str uid, struct str ns, struct str name)
{
	struct dp_claim *c = XNEW(struct dp_claim);

	arena_init(&c->arena, DRIVER_CLAIM_MAX);
	c->uid = str_dup(uid);
	c->ns = str_dup(ns);
	c->name = str_dup(name);
	list_init(&c->ops);
	return c;
}

/* Drops the content, to start over. */
static void clear(struct dp_claim *c)
{
	arena_clear(&c->arena);
	c->results = NULL;
	c->nresults = 0;
	c->consumers = NULL;
	c->nconsumers = 0;
	c->own_file = false;
	c->failure[0] = 0;
}

void claim_free(struct dp_claim *c)
{
	if (!c)
		return;
	claim_free(c->again);
	client_cancel(&c->get);
	arena_release(&c->arena);
	free(c->uid);
	free(c->ns);
	free(c->name);
	free(c);
}

void claim_adopt(struct dp_claim *c, struct dp_claim *from)
{
	arena_release(&c->arena);
	c->arena = from->arena;
	arena_init(&from->arena, DRIVER_CLAIM_MAX);
	c->results = from->results;
	c->nresults = from->nresults;
	c->consumers = from->consumers;
	c->nconsumers = from->nconsumers;
	c->own_file = from->own_file;
	c->state = from->state;
	claim_free(from);
}

/* --- from the API server ------------------------------------------------------------------ */

/* A config for "request" also names "request/sub". */
static bool config_names(const struct json *config, struct str request)
{
	const struct json *names = json_getz(config, "requests");
	ptrdiff_t slash = str_chr(request, '/');

	return json_has_text(names, request) ||
	       (slash > 0 && json_has_text(names, str_of(request.p, (size_t)slash)));
}

static bool config_applies(const struct json *config, struct str request)
{
	return json_count(json_getz(config, "requests")) == 0 || config_names(config, request);
}

static const struct dp_opaque *make_opaque(struct arena *a, const struct json *config,
					   struct str request)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OPAQUE_PARAMETERS_MAX * 8);
	struct dp_opaque *o = ARENA_NEW(a, struct dp_opaque);

	(void)json_print(&text, json_getz(json_getz(config, "opaque"), "parameters"), NULL);
	o->size = sizeof(*o);
	o->source = str_eqz(json_text_at(config, "source"), "FromClaim") ? DP_FROM_CLAIM
									 : DP_FROM_CLASS;
	o->parameters = arena_strdup(a, buf_str(&text));
	o->named = config_names(config, request);
	return o;
}

/* Configs of the claim take precedence over those of the class, so they come last. */
static void add_configs(struct dp_claim *c, struct dp_result *r, const struct json *configs,
			struct str request, struct str driver)
{
	const struct dp_opaque **v = ARENA_ARRAY(&c->arena, const struct dp_opaque *,
						 json_count(configs) + 1);

	for (uint32_t source = DP_FROM_CLASS; source <= DP_FROM_CLAIM; source++) {
		JSON_FOREACH (it, configs) {
			const struct json *opaque = json_getz(it, "opaque");
			bool claims = str_eqz(json_text_at(it, "source"), "FromClaim");

			if (claims == (source == DP_FROM_CLAIM) && config_applies(it, request) &&
			    str_eq(json_text_at(opaque, "driver"), driver) &&
			    json_getz(opaque, "parameters"))
				v[r->nconfigs++] = make_opaque(&c->arena, it, request);
		}
	}
	r->configs = v;
}

static char *text_at(struct arena *a, const struct json *o, const char *key)
{
	struct str s = json_text_at(o, key);

	return s.n > 0 ? arena_strdup(a, s) : NULL;
}

static void read_consumed(struct arena *a, struct dp_result *r, const struct json *map)
{
	struct dp_capacity *v;

	if (json_count(map) == 0)
		return;
	v = ARENA_ARRAY(a, struct dp_capacity, json_count(map));
	JSON_FOREACH (it, map)
		v[r->nconsumed++] = (struct dp_capacity){
			.size = sizeof(v[0]),
			.name = arena_strdup(a, json_key(it)),
			.quantity = arena_strdup(a, json_str(it)),
		};
	r->consumed = v;
}

/* A list of strings, ended by NULL; NULL if it is empty. */
static const char *const *read_texts(struct arena *a, const struct json *list)
{
	const char **v;
	size_t n = 0;

	if (json_count(list) == 0)
		return NULL;
	v = ARENA_ARRAY(a, const char *, json_count(list) + 1);
	JSON_FOREACH (it, list)
		v[n++] = arena_strdup(a, json_str(it));
	return v;
}

static void fill_result(struct dp_claim *c, struct claim_result *r, const struct json *from)
{
	struct str request = json_text_at(from, "request");
	ptrdiff_t slash = str_chr(request, '/');
	struct arena *a = &c->arena;

	r->result.size = sizeof(r->result);
	r->result.admin = json_true_at(from, "adminAccess");
	if (slash >= 0) {
		r->result.subrequest = arena_strdup(a, str_skip(request, (size_t)slash + 1));
		request.n = (size_t)slash;
	}
	r->result.request = arena_strdup(a, request);
	r->result.pool = arena_strdup(a, json_text_at(from, "pool"));
	r->result.device = arena_strdup(a, json_text_at(from, "device"));
	r->result.share_id = text_at(a, from, "shareID");
	read_consumed(a, &r->result, json_getz(from, "consumedCapacity"));
	r->result.binding_conditions = read_texts(a, json_getz(from, "bindingConditions"));
	r->result.binding_failure_conditions = read_texts(
		a, json_getz(from, "bindingFailureConditions"));
	r->cdi = json_make_array(a);
}

static void read_consumers(struct dp_claim *c, const struct json *list)
{
	c->consumers = ARENA_ARRAY(&c->arena, struct dp_consumer, json_count(list) + 1);
	JSON_FOREACH (it, list)
		c->consumers[c->nconsumers++] = (struct dp_consumer){
			.size = sizeof(struct dp_consumer),
			.api_group = arena_strdup(&c->arena, json_text_at(it, "apiGroup")),
			.resource = arena_strdup(&c->arena, json_text_at(it, "resource")),
			.name = arena_strdup(&c->arena, json_text_at(it, "name")),
			.uid = arena_strdup(&c->arena, json_text_at(it, "uid")),
		};
}

int claim_read(struct dp_claim *c, const struct json *object, struct str driver, struct error *err)
{
	const struct json *devices = json_pointer(object, STR("/status/allocation/devices"));
	const struct json *results = json_getz(devices, "results");

	if (!json_getz(json_getz(object, "status"), "allocation"))
		return error_set(err, ERR_NOT_FOUND, "claim %s/%s not allocated", c->ns, c->name);
	if (!str_eqz(json_text_at(json_getz(object, "metadata"), "uid"), c->uid))
		return error_set(err, ERR_CONFLICT, "claim %s/%s got replaced", c->ns, c->name);
	clear(c);
	c->results = ARENA_ARRAY(&c->arena, struct claim_result, json_count(results) + 1);
	JSON_FOREACH (it, results) {
		struct claim_result *r = &c->results[c->nresults];

		if (!str_eq(json_text_at(it, "driver"), driver))
			continue;
		fill_result(c, r, it);
		add_configs(c, &r->result, json_getz(devices, "config"),
			    json_text_at(it, "request"), driver);
		c->nresults++;
	}
	read_consumers(c, json_getz(json_getz(object, "status"), "reservedFor"));
	return 0;
}

/* --- CDI ---------------------------------------------------------------------------------- */

/* "UID-DEVICE", followed by the result's index if the claim has the device twice. */
static struct str cdi_name(struct dp_claim *c, size_t i)
{
	const char *device = c->results[i].result.device;

	for (size_t k = 0; k < i; k++)
		if (c->results[k].edits && strcmp(c->results[k].result.device, device) == 0)
			return str_from(arena_printf(&c->arena, "%s-%s-%zu", c->uid, device, i));
	return str_from(arena_printf(&c->arena, "%s-%s", c->uid, device));
}

int claim_write_cdi(struct dp_claim *c, const char *dir, const char *driver, struct error *err)
{
	struct cdi_file f = { .dir = dir, .driver = driver, .class = "claim", .id = c->uid };
	struct json *devices = json_make_array(&c->arena);

	for (size_t i = 0; i < c->nresults; i++) {
		struct claim_result *r = &c->results[i];
		struct str name;

		if (!r->edits)
			continue;
		name = cdi_name(c, i);
		json_append(devices, cdi_file_device(&c->arena, name, r->edits));
		json_append(r->cdi, json_make_str(&c->arena, cdi_file_id(&c->arena, &f, name)));
	}
	c->own_file = json_count(devices) > 0;
	return c->own_file ? cdi_file_write(&f, &c->arena, devices, err) : 0;
}

/* --- the checkpoint's form ---------------------------------------------------------------- */

static void claim_put(struct arena *a, struct json *o, const char *key, const char *text)
{
	if (text)
		json_put_str(a, o, key, arena_str(a, str_from(text)));
}

static void claim_put_texts(struct arena *a, struct json *o, const char *key,
			    const char *const *texts)
{
	for (; texts && *texts; texts++)
		json_append(json_need_array(a, o, key),
			    json_make_str(a, arena_str(a, str_from(*texts))));
}

/* Members have the names of the API's, which fill_result() reads as well. */
static struct json *result_tree(const struct dp_result *r, struct arena *a)
{
	struct json *o = json_make_object(a);

	claim_put(a, o, "request", r->request);
	claim_put(a, o, "subrequest", r->subrequest);
	claim_put(a, o, "pool", r->pool);
	claim_put(a, o, "device", r->device);
	claim_put(a, o, "shareID", r->share_id);
	json_put_bool(a, o, "adminAccess", r->admin != 0);
	for (size_t i = 0; i < r->nconsumed; i++)
		claim_put(a, json_need_object(a, o, "consumedCapacity"), r->consumed[i].name,
			  r->consumed[i].quantity);
	claim_put_texts(a, o, "bindingConditions", r->binding_conditions);
	claim_put_texts(a, o, "bindingFailureConditions", r->binding_failure_conditions);
	return o;
}

struct json *claim_tree(const struct dp_claim *c, struct arena *a)
{
	struct json *tree = json_make_object(a), *list, *o, *cdi;

	claim_put(a, tree, "uid", c->uid);
	claim_put(a, tree, "namespace", c->ns);
	claim_put(a, tree, "name", c->name);
	json_put_bool(a, tree, "prepared", c->state == CLAIM_PREPARED);
	json_put_bool(a, tree, "ownFile", c->own_file);
	list = json_need_array(a, tree, "results");
	for (size_t i = 0; i < c->nresults; i++) {
		o = result_tree(&c->results[i].result, a);
		(void)json_copy(a, c->results[i].cdi, &cdi, NULL);
		json_setz(o, "cdi", cdi);
		json_append(list, o);
	}
	return tree;
}

int claim_from_tree(const struct json *tree, struct dp_claim **ret_claim, struct error *err)
{
	const struct json *results = json_getz(tree, "results");
	struct str uid = json_text_at(tree, "uid");
	struct dp_claim *c;

	if (!cdi_file_is_safe(uid))
		return error_set(err, ERR_INVALID, "a claim without a proper uid");
	c = claim_new(uid, json_text_at(tree, "namespace"), json_text_at(tree, "name"));
	c->state = json_true_at(tree, "prepared") ? CLAIM_PREPARED : CLAIM_STARTED;
	c->own_file = json_true_at(tree, "ownFile");
	c->results = ARENA_ARRAY(&c->arena, struct claim_result, json_count(results) + 1);
	JSON_FOREACH (it, results) {
		struct claim_result *r = &c->results[c->nresults++];

		fill_result(c, r, it);
		r->result.subrequest = text_at(&c->arena, it, "subrequest");
		JSON_FOREACH (id, json_getz(it, "cdi"))
			json_append(r->cdi,
				    json_make_str(&c->arena, arena_str(&c->arena, json_str(id))));
	}
	*ret_claim = c;
	return 0;
}

/* --- the vendor's view -------------------------------------------------------------------- */

const char *dp_claim_namespace(const struct dp_claim *c)
{
	return c->ns;
}

const char *dp_claim_name(const struct dp_claim *c)
{
	return c->name;
}

const char *dp_claim_uid(const struct dp_claim *c)
{
	return c->uid;
}

size_t dp_claim_count(const struct dp_claim *c)
{
	return c->nresults;
}

const struct dp_result *dp_claim_result(const struct dp_claim *c, size_t i)
{
	return i < c->nresults ? &c->results[i].result : NULL;
}

size_t dp_claim_consumer_count(const struct dp_claim *c)
{
	return c->nconsumers;
}

const struct dp_consumer *dp_claim_consumer(const struct dp_claim *c, size_t i)
{
	return i < c->nconsumers ? &c->consumers[i] : NULL;
}

int dp_claim_fail(struct dp_claim *c, const char *message)
{
	(void)snprintf(c->failure, sizeof(c->failure), "%s", message ? message : "");
	return -1;
}

int dp_claim_edit(struct dp_claim *c, size_t i, const struct dp_edits *e)
{
	struct claim_result *r = i < c->nresults ? &c->results[i] : NULL;
	struct error err;

	if (!r)
		return dp_claim_fail(c, "the claim has no such result");
	if (!r->edits)
		r->edits = json_make_object(&c->arena);
	if (cdi_file_edit(&c->arena, r->edits, e, &err) < 0)
		return dp_claim_fail(c, err.msg);
	return 0;
}

int dp_claim_add_cdi(struct dp_claim *c, size_t i, const char *id)
{
	if (i >= c->nresults || !id || !*id)
		return dp_claim_fail(c, "a CDI name for a result that is not there, or none");
	json_append(c->results[i].cdi,
		    json_make_str(&c->arena, arena_str(&c->arena, str_from(id))));
	return 0;
}
