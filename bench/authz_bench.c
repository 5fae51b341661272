/*
 * Authorization decisions with 1,000 roles and 1,000 bindings beside the policy that every
 * cluster has: by the index, and, as a yardstick, by a walk over all bindings as upstream
 * does it.
 *
 *	authz_bench
 *
 * One line: decisions per second of both, NAME RATE each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/random.h"
#include "server/authz/authorizers.h"
#include "server/authz/policy_table.h"

enum { ROLES = 1000, USERS = 1000, GROUPS = 50, NAMESPACES = 100, QUERIES = 4096, ROUNDS = 64 };

struct bench {
	struct arena arena;
	struct authz *authz;
	struct json *bindings; /* all, for the walk */
	struct rbac_rules *walk_rules; /* of each binding */
	struct prng prng;
	struct user users[USERS];
	struct authz_query queries[QUERIES];
};

static const char *const resources[] = { "pods",           "pods/log",    "secrets",
					 "configmaps",     "deployments", "resourceclaims",
					 "resourceslices", "nodes" };
static const char *const verbs[] = {
	"get", "list", "watch", "create", "update", "patch", "delete"
};

static struct str pick(struct bench *b, const char *const *list, size_t n)
{
	return str_from(list[prng_below(&b->prng, n)]);
}

static struct json *make_role(struct bench *b)
{
	struct json *role = json_make_object(&b->arena);
	struct rbac_rule rules[3];
	struct str texts[3][4];

	for (size_t i = 0; i < 3; i++) {
		texts[i][0] = pick(b, verbs, ARRAY_SIZE(verbs));
		texts[i][1] = pick(b, verbs, ARRAY_SIZE(verbs));
		texts[i][2] = pick(b, resources, ARRAY_SIZE(resources));
		texts[i][3] = STR("");
		rules[i] = (struct rbac_rule){ .verbs = { &texts[i][0], 2 },
					       .resources = { &texts[i][2], 1 },
					       .groups = { &texts[i][3], 1 } };
	}
	json_setz(role, "rules", rbac_rules_tree(&b->arena, (struct rbac_rules){ rules, 3 }));
	return role;
}

static struct json *make_binding(struct bench *b, const char *ns, const char *role)
{
	bool group = prng_below(&b->prng, 4) == 0;
	const char *text = arena_printf(
		&b->arena,
		"{\"metadata\":{\"namespace\":\"%s\"},\"roleRef\":{\"kind\":\"ClusterRole\","
		"\"name\":\"%s\"},\"subjects\":[{\"kind\":\"%s\",\"name\":\"%c%" PRIu64 "\"}]}",
		ns, role, group ? "Group" : "User", group ? 'g' : 'u',
		prng_below(&b->prng, group ? GROUPS : USERS));
	struct json *binding;

	if (json_parse(&b->arena, str_from(text), NULL, &binding, NULL) < 0)
		abort();
	return binding;
}

static void add_policy(struct bench *b)
{
	struct json *objects;
	struct error err;

	if (policy_table_parse(&b->arena, str_from(policy_text), &objects, &err) < 0)
		abort();
	JSON_FOREACH_SAFE (it, objects) {
		const struct json *meta = json_getz(it, "metadata");
		struct str ns = json_text_at(meta, "namespace");
		struct str name = json_text_at(meta, "name");

		if (!json_getz(it, "roleRef")) {
			rbac_set_role(b->authz->rbac, ns, name, it);
			continue;
		}
		rbac_set_binding(b->authz->rbac, ns, name, it);
		json_append(b->bindings, json_unlink(objects, it));
	}
}

static void add_roles(struct bench *b)
{
	for (int i = 0; i < ROLES; i++) {
		char name[32], ns[32] = "";
		struct json *binding;

		(void)snprintf(name, sizeof(name), "role-%d", i);
		if (i % 2)
			(void)snprintf(ns, sizeof(ns), "ns-%d", i % NAMESPACES);
		rbac_set_role(b->authz->rbac, STR(""), str_from(name), make_role(b));
		binding = make_binding(b, arena_strdup(&b->arena, str_from(ns)),
				       arena_strdup(&b->arena, str_from(name)));
		rbac_set_binding(b->authz->rbac, str_from(ns), str_from(name), binding);
		json_append(b->bindings, binding);
	}
}

static void make_queries(struct bench *b)
{
	for (size_t i = 0; i < USERS; i++) {
		struct str *groups = ARENA_ARRAY(&b->arena, struct str, 3);

		groups[0] = str_from(arena_printf(&b->arena, "g%zu", i % GROUPS));
		groups[1] = str_from(arena_printf(&b->arena, "g%zu", i * 7 % GROUPS));
		groups[2] = USER_AUTHENTICATED;
		b->users[i] = (struct user){ .name = str_from(arena_printf(&b->arena, "u%zu", i)),
					     .groups = groups,
					     .ngroups = 3 };
	}
	for (size_t i = 0; i < QUERIES; i++) {
		struct authz_query *q = &b->queries[i];

		*q = (struct authz_query){
			.user = &b->users[prng_below(&b->prng, USERS)],
			.verb = pick(b, verbs, ARRAY_SIZE(verbs)),
			.resource = pick(b, resources, ARRAY_SIZE(resources)),
			.ns = str_from(arena_printf(&b->arena, "ns-%" PRIu64,
						    prng_below(&b->prng, NAMESPACES))),
			.name = STR("some-object"),
		};
	}
}

/* --- the walk ----------------------------------------------------------------------- */

static void prepare_walk(struct bench *b)
{
	size_t i = 0;

	b->walk_rules = ARENA_ARRAY(&b->arena, struct rbac_rules, json_count(b->bindings));
	JSON_FOREACH (it, b->bindings) {
		const struct json *ref = json_getz(it, "roleRef");
		bool local = str_eqz(json_text_at(ref, "kind"), "Role");
		struct str ns = json_text_at(json_getz(it, "metadata"), "namespace");
		const struct rbac_rules *rules;

		rules = rbac_role(b->authz->rbac, local ? ns : STR(""), json_text_at(ref, "name"));
		b->walk_rules[i++] = rules ? *rules : (struct rbac_rules){ NULL, 0 };
	}
}

static bool applies(const struct json *binding, const struct authz_query *q)
{
	struct str ns = json_text_at(json_getz(binding, "metadata"), "namespace");

	if (ns.n && !str_eq(ns, q->ns))
		return false;
	JSON_FOREACH (it, json_getz(binding, "subjects")) {
		struct str name = json_text_at(it, "name");

		if (str_eqz(json_text_at(it, "kind"), "Group") ? user_in_group(q->user, name)
							       : str_eq(q->user->name, name))
			return true;
	}
	return false;
}

static bool walk_allows(const struct bench *b, const struct authz_query *q)
{
	size_t i = 0;

	JSON_FOREACH (it, b->bindings) {
		struct rbac_rules rules = b->walk_rules[i++];

		if (applies(it, q) && rbac_rules_allow(rules, q))
			return true;
	}
	return false;
}

/* --- measuring ------------------------------------------------------------------------ */

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double rate_of_index(struct bench *b, size_t *ret_allowed)
{
	double begun = seconds();

	*ret_allowed = 0;
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < QUERIES; i++)
			*ret_allowed += authz_decide(b->authz, &b->queries[i], &b->arena, NULL) ==
					AUTHZ_ALLOW;
	return ROUNDS * QUERIES / (seconds() - begun);
}

static double rate_of_walk(struct bench *b, size_t *ret_allowed)
{
	double begun = seconds();

	*ret_allowed = 0;
	for (size_t i = 0; i < QUERIES; i++)
		*ret_allowed += walk_allows(b, &b->queries[i]);
	return QUERIES / (seconds() - begun);
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	size_t by_index, by_walk;
	double index, walk;

	if (!b)
		return 1;
	arena_init(&b->arena, SIZE_MAX);
	prng_init(&b->prng, 1);
	b->authz = authz_new(1);
	b->bindings = json_make_array(&b->arena);
	add_policy(b);
	add_roles(b);
	make_queries(b);
	prepare_walk(b);
	(void)rate_of_index(b, &by_index);
	index = rate_of_index(b, &by_index);
	walk = rate_of_walk(b, &by_walk);
	if (by_index != ROUNDS * by_walk || by_walk == 0) {
		fprintf(stderr, "the index allows %zu, the walk %zu\n", by_index / ROUNDS, by_walk);
		return 1;
	}
	printf("index %.0f walk %.0f\n", index, walk);
	authz_free(b->authz);
	arena_release(&b->arena);
	free(b);
	return 0;
}
