/*
 * A table of kinds. The stored object is parsed only where somebody asks.
 */
#include "server/admission.h"

#include "server/authz.h"
#include "server/custom.h"
#include "server/verb_impl.h"

static const struct {
	struct str group;
	int (*check)(struct mutation *m, const struct json *old, struct json *object,
		     struct error *err);
} rows[] = {
	{ { "apiextensions.k8s.io", 20 }, custom_admit },
	{ { "rbac.authorization.k8s.io", 25 }, authz_admit_rbac },
};

typedef int (*admission_fn)(struct mutation *m, const struct json *old, struct json *object,
			    struct error *err);

static admission_fn find(const struct mutation *m)
{
	if (user_node(&m->x->user).p)
		return authz_admit_node;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eq(rows[i].group, m->kind->group))
			return rows[i].check;
	return NULL;
}

int admission_check(struct mutation *m, struct object *base, struct json *object, struct error *err)
{
	admission_fn check = find(m);
	struct json *old = NULL;
	int r = 0;

	if (!check)
		return 0;
	if (base)
		r = object_tree(base, &m->x->work, &old, err);
	return r < 0 ? r : check(m, old, object, err);
}
