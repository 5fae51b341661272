/*
 * Validated values are used as they are. A value that validation would reject (in an object of an
 * older release) makes a webhook that cannot be called; its failurePolicy then decides.
 */
#include "server/webhooks/config.h"

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/text/base64.h"
#include "net/net_limits.h"

static struct str config_text_of(struct webhook_config *c, const struct json *tree, const char *key)
{
	return arena_str(&c->arena, json_text_at(tree, key));
}

struct str webhook_target_within(struct arena *a, const struct webhook *h, int64_t seconds)
{
	return str_from(
		arena_printf(a, "%.*s?timeout=%llds", STR_ARG(h->path), (long long)seconds));
}

static void read_path(struct webhook_config *c, struct webhook *h, struct str path)
{
	bool rooted = path.n && path.p[0] == '/';

	h->path = str_from(arena_printf(&c->arena, "%s%.*s", rooted ? "" : "/", STR_ARG(path)));
	h->target = webhook_target_within(&c->arena, h, h->timeout_s);
}

static void read_service(struct webhook_config *c, struct webhook *h, const struct json *service)
{
	h->service_ns = config_text_of(c, service, "namespace");
	h->service = config_text_of(c, service, "name");
	h->port = (uint16_t)json_i64_at(service, "port", 443);
	h->server_name = arena_printf(&c->arena, "%.*s.%.*s.svc", STR_ARG(h->service),
				      STR_ARG(h->service_ns));
	h->authority = str_from(arena_printf(&c->arena, "%s:%u", h->server_name, h->port));
	read_path(c, h, json_text_at(service, "path"));
}

static void read_url(struct webhook_config *c, struct webhook *h, struct str url)
{
	struct str rest = str_starts(url, STR("https://")) ? str_skip(url, 8) : STR_NULL;
	ptrdiff_t slash = str_chr(rest, '/');
	struct str host = slash < 0 ? rest : str_of(rest.p, (size_t)slash);

	if (!host.n)
		(void)error_set(&h->unusable, ERR_UNAVAILABLE, "unparsable URL");
	else
		(void)addr_parse(&h->to, host, 443, &h->unusable);
	h->authority = arena_str(&c->arena, host);
	h->server_name = arena_strdup(&c->arena, str_from(h->to.host));
	read_path(c, h, slash < 0 ? STR_NULL : str_skip(rest, (size_t)slash));
}

static void read_client(struct webhook_config *c, struct webhook *h, const struct json *client)
{
	CLEANUP(buf_release) struct buf ca = BUF_INIT(PEM_FILE_MAX);
	const struct json *service = json_getz(client, "service");

	if (base64_decode(&ca, json_text_at(client, "caBundle"), BASE64_STD, NULL) < 0)
		(void)error_set(&h->unusable, ERR_UNAVAILABLE, "the caBundle cannot be read");
	h->ca = arena_str(&c->arena, buf_str(&ca));
	if (json_is(service, JSON_OBJECT))
		read_service(c, h, service);
	else
		read_url(c, h, json_text_at(client, "url"));
}

/* `before`: the previous version's webhooks, by name. */
static struct webhook_peer *peer_of(struct loop *l, const struct webhook *h,
				    const struct map *before)
{
	const struct webhook *was = map_get(before, h->name);

	return was && str_eq(was->ca, h->ca) ? webhook_peer_ref(was->peer)
					     : webhook_peer_new(l, h->ca);
}

static void config_compile(struct webhook_config *c, struct webhook *h, const struct json *tree)
{
	struct str effects = json_text_at(tree, "sideEffects");

	h->name = config_text_of(c, tree, "name");
	h->config = c->name;
	h->match = admission_match_webhook(&c->arena, tree);
	h->conditions = admission_conditions(&c->arena, json_getz(tree, "matchConditions"),
					     (struct cel_policy_options){ .authorizer = true });
	h->version = webhook_review_version(json_getz(tree, "admissionReviewVersions"));
	h->fails_open = str_eqz(json_text_at(tree, "failurePolicy"), "Ignore");
	h->reinvoked = str_eqz(json_text_at(tree, "reinvocationPolicy"), "IfNeeded");
	h->side_effects = !str_eqz(effects, "None") && !str_eqz(effects, "NoneOnDryRun");
	h->timeout_s = json_i64_at(tree, "timeoutSeconds", 10);
	if (h->timeout_s < 1 || h->timeout_s > 30)
		h->timeout_s = 10;
	read_client(c, h, json_getz(tree, "clientConfig"));
}

struct webhook_config *webhook_config_new(struct loop *l, const struct json *tree,
					  const struct webhook_config *before, uint64_t *next_id)
{
	struct webhook_config *c = XNEW(struct webhook_config);
	const struct json *list = json_getz(tree, "webhooks");
	CLEANUP(map_release) struct map former;

	map_init(&former);
	for (size_t i = 0; before && i < before->n; i++)
		(void)map_put(&former, before->hooks[i].name, &before->hooks[i]);
	arena_init(&c->arena, REQUEST_WORK_MAX);
	c->name = config_text_of(c, json_getz(tree, "metadata"), "name");
	c->hooks = ARENA_ARRAY(&c->arena, struct webhook, json_count(list) + 1);
	JSON_FOREACH (it, list) {
		struct webhook *h = &c->hooks[c->n++];

		config_compile(c, h, it);
		h->id = ++*next_id;
		h->peer = peer_of(l, h, &former);
	}
	return c;
}

struct webhook_config *webhook_config_unreadable(struct str name)
{
	struct webhook_config *c = XNEW(struct webhook_config);

	arena_init(&c->arena, REQUEST_WORK_MAX);
	c->name = arena_str(&c->arena, name);
	c->unreadable = true;
	return c;
}

void webhook_config_free(struct webhook_config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		webhook_peer_unref(c->hooks[i].peer);
	arena_release(&c->arena);
	free(c);
}
