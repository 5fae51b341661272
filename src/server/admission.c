/*
 * A table of kinds. The stored object is parsed only where somebody asks.
 */
#include "server/admission.h"

#include "server/admit_account.h"
#include "server/authz.h"
#include "server/custom.h"
#include "server/verb_impl.h"

typedef int (*admission_fn)(struct mutation *m, const struct json *old, struct json *object,
			    struct error *err);

static const struct row {
	struct str group;
	struct str resource; /* empty: all of the group */
	/* Which of their writes; spares the others a parse of what is stored. NULL: all. */
	bool (*concerns)(const struct mutation *m, bool is_new, const struct json *object);
	admission_fn check;
} rows[] = {
	{ { "", 0 }, { "pods", 4 }, admit_account_concerns, admit_account },
	{ { "apiextensions.k8s.io", 20 }, { "", 0 }, NULL, custom_admit },
	{ { "certificates.k8s.io", 19 }, { "", 0 }, NULL, authz_admit_certificate },
	{ { "rbac.authorization.k8s.io", 25 }, { "", 0 }, NULL, authz_admit_rbac },
};

static bool is_of(const struct row *row, const struct schema_kind *kind)
{
	return str_eq(row->group, kind->group) &&
	       (!row->resource.n || str_eq(row->resource, kind->resource));
}

static admission_fn find(const struct mutation *m, bool is_new, const struct json *object)
{
	for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++)
		if (is_of(row, m->kind) && (!row->concerns || row->concerns(m, is_new, object)))
			return row->check;
	return NULL;
}

static bool is_node(const struct mutation *m)
{
	return user_node(&m->x->user).p != NULL;
}

int admission_check_tree(struct mutation *m, const struct json *old, struct json *object,
			 struct error *err)
{
	admission_fn check = find(m, !old, object);
	int r = 0;

	if (is_node(m))
		r = authz_admit_node(m, old, object, err);
	return r == 0 && check ? check(m, old, object, err) : r;
}

int admission_check(struct mutation *m, struct object *base, struct json *object, struct error *err)
{
	struct json *old = NULL;
	int r = 0;

	if (!find(m, !base, object) && !is_node(m))
		return 0;
	if (base)
		r = object_tree(base, m->write.arena, &old, err);
	return r < 0 ? r : admission_check_tree(m, old, object, err);
}
