/* Answers are kept: a cluster has far fewer namespaces than claims. */
#include "cli/claim_sight.h"

#include "base/json.h"
#include "base/map.h"
#include "cli/kube.h"

struct claim_sight {
	struct kube *kube; /* NULL: what is not known is a no */
	bool asked_all, all;
	struct map namespaces; /* name -> &yes or &no */
};

static const char yes, no;

static void release(void *sight)
{
	map_release(&((struct claim_sight *)sight)->namespaces);
}

static struct claim_sight *make(struct arena *a, struct kube *k)
{
	struct claim_sight *s = ARENA_NEW(a, struct claim_sight);

	s->kube = k;
	map_init(&s->namespaces);
	arena_hold(a, release, s);
	return s;
}

struct claim_sight *claim_sight_new(struct kube *k)
{
	return make(&k->cli->arena, k);
}

struct claim_sight *claim_sight_known(struct arena *a, bool all, const struct str *namespaces,
				      size_t n)
{
	struct claim_sight *s = make(a, NULL);

	s->all = all;
	for (size_t i = 0; i < n; i++)
		(void)map_put(&s->namespaces, namespaces[i], (void *)&yes);
	return s;
}

/* An empty namespace asks about all of them. */
static bool ask(struct claim_sight *s, struct str ns)
{
	struct arena *a = &s->kube->cli->arena;
	struct resource reviews = resource_builtin("authorization.k8s.io", "v1",
						   "selfsubjectaccessreviews");
	struct json *review = json_make_object(a), *answer = NULL, *what;
	struct error err;

	json_put_str(a, review, "apiVersion", STR("authorization.k8s.io/v1"));
	json_put_str(a, review, "kind", STR("SelfSubjectAccessReview"));
	what = json_need_object(a, json_need_object(a, review, "spec"), "resourceAttributes");
	json_put_str(a, what, "verb", STR("get"));
	json_put_str(a, what, "group", STR("resource.k8s.io"));
	json_put_str(a, what, "resource", STR("resourceclaims"));
	if (ns.n > 0)
		json_put_str(a, what, "namespace", ns);
	if (kube_create(s->kube, &reviews, STR_NULL, review, &answer, &err) < 0)
		return false;
	return json_true_at(json_getz(answer, "status"), "allowed");
}

bool claim_sight_may(struct claim_sight *s, struct str ns)
{
	const void *known;

	if (s->kube && !s->asked_all) {
		s->all = ask(s, STR_NULL);
		s->asked_all = true;
	}
	if (s->all)
		return true;
	if (ns.n == 0)
		return false;
	known = map_get(&s->namespaces, ns);
	if (!known && s->kube) {
		known = ask(s, ns) ? &yes : &no;
		(void)map_put(&s->namespaces, arena_str(&s->kube->cli->arena, ns), (void *)known);
	}
	return known == &yes;
}
