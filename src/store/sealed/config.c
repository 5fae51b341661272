/*
 * Upstream's rules for this file. Providers that upstream has and we do not are refused by name,
 * with what to use instead. A resource that is listed twice opens with the providers of both.
 *
 * The file is parsed in one block that is wiped afterwards. The YAML parser's own copies are only
 * freed; a process with keys makes no core dumps (cli/commands/server.c).
 */
#include "store/sealed/config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/field_errors.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "base/time/duration.h"
#include "base/yaml/yaml.h"
#include "net/tls/seal.h"
#include "store/store_limits.h"

enum { KMS_TIMEOUT_MS = 3000, SCRATCH = 256 * 1024 };

/* What is read, and where faults and results go. */
struct reading {
	struct sealed_config *config;
	struct field_errors *errs;
	struct arena *a; /* of the result */
};

static const struct str any = STR("*");

/* --- checking ----------------------------------------------------------------------- */

static void config_type(struct reading *r, const struct field_path *at, const char *must)
{
	field_errors_add(r->errs, FIELD_TYPE_INVALID, at, FIELD_OMITTED, str_from(must));
}

/* An object with these members only; anything else is a fault. */
static void config_object(struct reading *r, const struct field_path *at, const struct json *v,
			  const char *const *known, size_t n)
{
	if (v && !json_is(v, JSON_OBJECT))
		config_type(r, at, "must be an object");
	JSON_FOREACH (it, json_is(v, JSON_OBJECT) ? v : NULL) {
		struct field_path member = { at, json_key(it), 0, FIELD_PATH_NAME };
		bool found = false;

		for (size_t i = 0; i < n && !found; i++)
			found = str_eqz(json_key(it), known[i]);
		if (!found)
			field_errors_forbidden(r->errs, &member, "unknown field");
	}
}

/* A list with at least one element; NULL after a fault. */
static const struct json *config_list(struct reading *r, const struct field_path *at,
				      const struct json *v)
{
	if (v && !json_is(v, JSON_ARRAY) && !json_is(v, JSON_NULL))
		config_type(r, at, "must be a list");
	else if (json_count(v) == 0)
		field_errors_required(r->errs, at, "at least one is required");
	return json_is(v, JSON_ARRAY) ? v : NULL;
}

static struct str config_text(struct reading *r, const struct field_path *at, const struct json *v)
{
	if (v && !json_is(v, JSON_STRING) && !json_is(v, JSON_NULL))
		config_type(r, at, "must be a string");
	return json_str(v);
}

/* --- keys --------------------------------------------------------------------------- */

/* The lengths that a kind's secret may have. */
static bool config_fits(enum sealed_kind kind, size_t n)
{
	return n == 32 || (kind == SEALED_AESGCM && (n == 16 || n == 24));
}

static void read_secret(struct reading *r, const struct field_path *at, struct str text,
			enum sealed_kind kind, struct sealed_key *k)
{
	struct buf secret = BUF_INIT(64);

	if (!text.n) {
		field_errors_required(r->errs, at, "secret is a mandatory field for a key");
		return;
	}
	if (base64_decode(&secret, text, BASE64_STD, NULL) < 0)
		field_errors_invalid(r->errs, at, FIELD_STR(STR("REDACTED")),
				     "secrets must be base64 encoded");
	else if (!config_fits(kind, secret.n))
		field_errors_invalid(
			r->errs, at, FIELD_STR(STR("REDACTED")),
			kind == SEALED_AESGCM
				? "secret is not of the expected length: 16, 24 or 32 bytes"
				: "secret is not of the expected length: 32 bytes");
	else
		k->key = seal_key_new(buf_str(&secret));
	if (secret.p)
		seal_wipe(secret.p, secret.cap);
	buf_release(&secret);
}

static void read_keys(struct reading *r, const struct field_path *at, const struct json *v,
		      struct sealed_provider *p)
{
	static const char *const known[] = { "keys" }, *const members[] = { "name", "secret" };
	struct field_path keys = field_path_name(at, "keys");

	config_object(r, at, v, known, ARRAY_SIZE(known));
	v = config_list(r, &keys, json_getz(v, "keys"));
	p->keys = ARENA_ARRAY(r->a, struct sealed_key, json_count(v));
	JSON_FOREACH (it, v) {
		struct field_path key = field_path_index(&keys, p->nkeys);
		struct field_path name = field_path_name(&key, "name");
		struct field_path secret = field_path_name(&key, "secret");
		struct sealed_key *k = &p->keys[p->nkeys++];

		config_object(r, &key, it, members, ARRAY_SIZE(members));
		k->name = arena_str(r->a, config_text(r, &name, json_getz(it, "name")));
		if (!k->name.n)
			field_errors_required(r->errs, &name,
					      "name is a mandatory field for a key");
		else if (k->name.n > SEALED_NAME_MAX || str_chr(k->name, ':') >= 0)
			field_errors_invalid(r->errs, &name, FIELD_STR(k->name),
					     "must not contain ':', nor be longer than 253 bytes");
		read_secret(r, &secret, config_text(r, &secret, json_getz(it, "secret")), p->kind,
			    k);
	}
}

/* --- kms ---------------------------------------------------------------------------- */

static void read_timeout(struct reading *r, const struct field_path *kms, const struct json *v,
			 struct sealed_provider *p)
{
	struct field_path at = field_path_name(kms, "timeout");
	struct str text = config_text(r, &at, v);
	int64_t ns = KMS_TIMEOUT_MS * CLOCK_MS;

	if (text.n && duration_parse(text, &ns, NULL) < 0)
		field_errors_invalid(r->errs, &at, FIELD_STR(text), "must be a duration");
	else if (ns <= 0)
		field_errors_invalid(r->errs, &at, FIELD_STR(text),
				     "timeout should be a positive value");
	p->timeout_ms = MAX(ns / CLOCK_MS, 1);
}

static void check_kms_name(struct reading *r, const struct field_path *kms,
			   const struct sealed_provider *p)
{
	struct field_path at = field_path_name(kms, "name");

	if (!p->name.n)
		field_errors_required(r->errs, &at, "name is a mandatory field for a provider");
	if (p->name.n > SEALED_NAME_MAX || str_chr(p->name, ':') >= 0)
		field_errors_invalid(r->errs, &at, FIELD_STR(p->name),
				     "must not contain ':', nor be longer than 253 bytes");
	for (size_t i = 0; i < r->config->nproviders; i++) {
		const struct sealed_provider *other = r->config->providers[i];

		if (other != p && other->kind == SEALED_KMS && str_eq(other->name, p->name))
			field_errors_duplicate(r->errs, &at, FIELD_STR(p->name));
	}
}

static void read_kms(struct reading *r, const struct field_path *at, const struct json *v,
		     struct sealed_provider *p)
{
	static const char *const known[] = { "apiVersion", "name", "endpoint", "cachesize",
					     "timeout" };
	struct field_path version = field_path_name(at, "apiVersion");
	struct field_path endpoint = field_path_name(at, "endpoint");
	struct field_path cache = field_path_name(at, "cachesize");
	struct field_path name = field_path_name(at, "name");

	config_object(r, at, v, known, ARRAY_SIZE(known));
	p->name = arena_str(r->a, config_text(r, &name, json_getz(v, "name")));
	p->endpoint = arena_str(r->a, config_text(r, &endpoint, json_getz(v, "endpoint")));
	check_kms_name(r, at, p);
	if (!str_eqz(config_text(r, &version, json_getz(v, "apiVersion")), "v2"))
		field_errors_invalid(r->errs, &version, FIELD_STR(json_text_at(v, "apiVersion")),
				     "KMS v1 is not supported: use a plugin with apiVersion v2");
	if (json_getz(v, "cachesize"))
		field_errors_forbidden(r->errs, &cache, "cachesize is not supported in v2");
	if (!p->endpoint.n)
		field_errors_required(r->errs, &endpoint,
				      "endpoint is a mandatory field for a kms");
	else if (!str_starts(p->endpoint, STR("unix:")))
		field_errors_invalid(r->errs, &endpoint, FIELD_STR(p->endpoint),
				     "unsupported scheme, only unix is supported");
	read_timeout(r, at, json_getz(v, "timeout"), p);
}

/* --- providers ---------------------------------------------------------------------- */

static void read_identity(struct reading *r, const struct field_path *at, const struct json *v,
			  struct sealed_provider *p UNUSED)
{
	config_object(r, at, v, NULL, 0);
}

static void refuse_cbc(struct reading *r, const struct field_path *at, const struct json *v UNUSED,
		       struct sealed_provider *p UNUSED)
{
	field_errors_forbidden(r->errs, at,
			       "aescbc is not supported, because it does not protect values "
			       "against changes: use aesgcm, secretbox or kms");
}

static const struct {
	const char *name;
	enum sealed_kind kind;
	void (*read)(struct reading *, const struct field_path *, const struct json *,
		     struct sealed_provider *);
} kinds[] = {
	{ "aesgcm", SEALED_AESGCM, read_keys },    { "secretbox", SEALED_SECRETBOX, read_keys },
	{ "kms", SEALED_KMS, read_kms },           { "identity", SEALED_IDENTITY, read_identity },
	{ "aescbc", SEALED_IDENTITY, refuse_cbc },
};

static void read_provider(struct reading *r, const struct field_path *at, const struct json *v,
			  struct sealed_provider *p)
{
	const char *known[ARRAY_SIZE(kinds)];
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		known[i] = kinds[i].name;
	config_object(r, at, v, known, ARRAY_SIZE(known));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct json *member = json_getz(v, kinds[i].name);
		struct field_path name = field_path_name(at, kinds[i].name);

		if (!member || found++ > 0)
			continue;
		p->kind = kinds[i].kind;
		kinds[i].read(r, &name, json_is(member, JSON_NULL) ? NULL : member, p);
	}
	if (found > 1)
		field_errors_forbidden(r->errs, at,
				       "more than one provider specified in a single element, "
				       "should split into different list elements");
	else if (found == 0)
		field_errors_required(r->errs, at,
				      "one of kms, aesgcm, secretbox and identity is required");
}

/* --- resources ---------------------------------------------------------------------- */

/* "secrets", "deployments.apps", "*.", "*.apps", "*.*". */
static void config_split(struct str text, struct sealed_rule *rule)
{
	ptrdiff_t dot = str_chr(text, '.');

	rule->resource = dot < 0 ? text : str_of(text.p, (size_t)dot);
	rule->group = dot < 0 ? STR("") : str_skip(text, (size_t)dot + 1);
}

static bool config_has_capital(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] >= 'A' && text.p[i] <= 'Z')
			return true;
	return false;
}

static const char *config_wrong_name(struct str text, const struct sealed_rule *rule)
{
	static const char *const internal[] = { "apiserveripinfo", "serviceipallocations",
						"servicenodeportallocations" };

	if (!rule->resource.n)
		return "must be a resource, such as secrets or deployments.apps";
	if (config_has_capital(text))
		return "resource name should not contain capital letters";
	if (str_eq(text, any))
		return "use '*.' to encrypt all the resources from core API group or *.* to "
		       "encrypt all resources";
	for (size_t i = 0; i < ARRAY_SIZE(internal); i++)
		if (str_eqz(text, internal[i]))
			return "resources which do not have REST API/s cannot be encrypted";
	if (str_eqz(rule->group, "events.k8s.io"))
		return "'*.events.k8s.io' objects are stored using the 'events' API group. Use "
		       "'events' instead in the config file";
	if (str_eqz(rule->group, "extensions"))
		return "'extensions' group has been removed and cannot be used for encryption";
	if (str_eq(rule->group, any) && !str_eq(rule->resource, any))
		return "encrypting the same resource across groups is not supported";
	return NULL;
}

static bool rule_is(const struct sealed_rule *r, struct str resource, struct str group)
{
	return str_eq(r->resource, resource) && str_eq(r->group, group);
}

/* Whether `wide` covers `r` and is another rule. */
static bool rule_covers(const struct sealed_rule *wide, const struct sealed_rule *r)
{
	return !rule_is(wide, r->resource, r->group) && str_eq(wide->resource, any) &&
	       (str_eq(wide->group, any) || str_eq(wide->group, r->group));
}

/*
 * Within a list no name may cover another one, and in later lists none may be covered by an earlier
 * one: it would have no effect. `first` is the first rule of this list.
 */
static const char *config_masked(const struct sealed_config *c, const struct sealed_rule *rule,
				 size_t first)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct sealed_rule *other = &c->rules[i];

		if (rule_covers(other, rule) || (i >= first && rule_covers(rule, other)))
			return "it is masked by, or masks, another name in the same list or an "
			       "earlier one";
		if (i >= first && rule_is(other, rule->resource, rule->group))
			return "the same resource cannot be specified multiple times";
	}
	return NULL;
}

/* Adds a list's providers to those that an earlier list has for the same resource. */
static void config_join(struct reading *r, const struct sealed_rule *rule)
{
	struct sealed_config *c = r->config;
	struct sealed_provider **all;

	for (size_t i = 0; i < c->n; i++) {
		struct sealed_rule *old = &c->rules[i];

		if (!rule_is(old, rule->resource, rule->group))
			continue;
		all = ARENA_ARRAY(r->a, struct sealed_provider *, old->n + rule->n);
		memcpy(all, old->providers, old->n * sizeof(struct sealed_provider *));
		memcpy(all + old->n, rule->providers, rule->n * sizeof(struct sealed_provider *));
		old->providers = all;
		old->n += rule->n;
		return;
	}
	c->rules[c->n++] = *rule;
}

static void read_resources(struct reading *r, const struct field_path *parent,
			   const struct json *list, const struct sealed_rule *providers)
{
	struct field_path at = field_path_name(parent, "resources");
	size_t first = r->config->n, i = 0;

	JSON_FOREACH (it, config_list(r, &at, list)) {
		struct field_path item = field_path_index(&at, i++);
		struct str text = arena_str(r->a, config_text(r, &item, it));
		struct sealed_rule rule = *providers;
		const char *wrong;

		config_split(text, &rule);
		wrong = config_wrong_name(text, &rule);
		if (!wrong)
			wrong = config_masked(r->config, &rule, first);
		if (wrong)
			field_errors_invalid(r->errs, &item, FIELD_STR(text), wrong);
		else
			config_join(r, &rule);
	}
}

static void read_rule(struct reading *r, const struct field_path *at, const struct json *v)
{
	static const char *const known[] = { "resources", "providers" };
	struct field_path providers = field_path_name(at, "providers");
	const struct json *list;
	struct sealed_rule rule = { 0 };

	config_object(r, at, v, known, ARRAY_SIZE(known));
	list = config_list(r, &providers, json_getz(v, "providers"));
	rule.providers = ARENA_ARRAY(r->a, struct sealed_provider *, json_count(list));
	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&providers, rule.n);
		struct sealed_provider *p = ARENA_NEW(r->a, struct sealed_provider);

		rule.providers[rule.n++] = p;
		r->config->providers[r->config->nproviders++] = p;
		read_provider(r, &item, it, p);
	}
	read_resources(r, at, json_getz(v, "resources"), &rule);
}

/* --- the file ----------------------------------------------------------------------- */

/* Makes room for all rules and providers. */
static void config_reserve(struct reading *r, const struct json *list)
{
	size_t rules = 0, providers = 0;

	JSON_FOREACH (it, list) {
		rules += json_count(json_getz(it, "resources"));
		providers += json_count(json_getz(it, "providers"));
	}
	r->config->rules = ARENA_ARRAY(r->a, struct sealed_rule, rules);
	r->config->providers = ARENA_ARRAY(r->a, struct sealed_provider *, providers);
}

static int config_verdict(const struct field_errors *errs, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	if (!field_errors_any(errs))
		return 0;
	(void)field_errors_aggregate(errs, &text);
	return error_set(err, ERR_INVALID, "%.*s", STR_ARG(buf_str(&text)));
}

static int read_tree(const struct json *tree, struct arena *scratch, struct sealed_config *c,
		     struct error *err)
{
	static const char *const known[] = { "apiVersion", "kind", "resources" };
	struct field_path at = field_path_name(NULL, "resources");
	struct field_errors errs;
	struct reading r = { .config = c, .errs = &errs, .a = &c->arena };
	const struct json *list;
	struct str version = json_text_at(tree, "apiVersion");
	size_t i = 0;

	if (!str_eqz(json_text_at(tree, "kind"), "EncryptionConfiguration") ||
	    !str_eqz(version, "apiserver.config.k8s.io/v1"))
		return error_set(
			err, ERR_INVALID,
			"expected an EncryptionConfiguration of apiserver.config.k8s.io/v1");
	field_errors_init(&errs, scratch);
	config_object(&r, NULL, tree, known, ARRAY_SIZE(known));
	list = config_list(&r, &at, json_getz(tree, "resources"));
	config_reserve(&r, list);
	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&at, i++);

		read_rule(&r, &item, it);
	}
	return config_verdict(&errs, err);
}

int sealed_config_parse(struct str text, struct sealed_config *ret_config, struct error *err)
{
	struct json_report report = { 0 };
	const struct yaml_options options = { .size_max = SEALED_CONFIG_MAX, .report = &report };
	char *block = xmalloc(SCRATCH);
	struct arena scratch;
	struct json *tree;
	int r;

	*ret_config = (struct sealed_config){ 0 };
	arena_init(&ret_config->arena, SEALED_CONFIG_MAX);
	arena_init_in(&scratch, SIZE_MAX, block, SCRATCH);
	r = yaml_parse(&scratch, text, &options, &tree, err);
	if (r == 0 && report.duplicate_count)
		r = error_set(err, ERR_INVALID, "a key is repeated");
	if (r == 0)
		r = read_tree(tree, &scratch, ret_config, err);
	arena_release(&scratch);
	seal_wipe(block, SCRATCH);
	free(block);
	return r < 0 ? error_recode(err, ERR_INVALID) : 0;
}

int sealed_config_read(const char *path, struct sealed_config *ret_config, struct error *err)
{
	struct buf text = BUF_INIT(SEALED_CONFIG_MAX);
	int r = file_read(path, &text, err);

	*ret_config = (struct sealed_config){ 0 };
	if (r == 0)
		r = sealed_config_parse(buf_str(&text), ret_config, err);
	if (text.p)
		seal_wipe(text.p, text.cap);
	buf_release(&text);
	return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

void sealed_config_release(struct sealed_config *c)
{
	for (size_t i = 0; i < c->nproviders; i++)
		for (size_t k = 0; k < c->providers[i]->nkeys; k++)
			seal_key_free(c->providers[i]->keys[k].key);
	arena_release(&c->arena);
	*c = (struct sealed_config){ 0 };
}

/* --- lookup ------------------------------------------------------------------------- */

static const struct sealed_rule *find_rule(const struct sealed_config *c, struct str resource,
					   struct str group)
{
	for (size_t i = 0; i < c->n; i++)
		if (rule_is(&c->rules[i], resource, group))
			return &c->rules[i];
	return NULL;
}

const struct sealed_rule *sealed_config_rule(const struct sealed_config *c, struct str resource)
{
	ptrdiff_t slash = str_chr(resource, '/');
	struct str name = str_skip(resource, (size_t)(slash + 1));
	struct str group = slash < 0 ? STR("") : str_of(resource.p, (size_t)slash);
	const struct sealed_rule *found;

	if (str_eqz(group, "core"))
		group = STR("");
	found = find_rule(c, name, group);
	if (!found)
		found = find_rule(c, any, group);
	return found ? found : find_rule(c, any, any);
}
