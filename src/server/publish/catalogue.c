/*
 * One list of kinds, from which all documents are printed. Custom kinds follow the compiled-in
 * kinds of their group (or come at the end), ordered by version as clients expect it, then by
 * name.
 */
#include "server/publish/catalogue.h"

#include <stdlib.h>

#include "api/crd/crd.h"
#include "base/core/mem.h"
#include "server/publish/discovery.h"
#include "server/publish/openapi.h"

void catalogue_builder_init(struct catalogue_builder *b, const struct gates *gates)
{
	b->gates = gates;
	vec_init(&b->crds, SIZE_MAX);
}

void catalogue_add(struct catalogue_builder *b, struct crd *crd)
{
	(void)vec_push(&b->crds, crd_ref(crd));
}

/* --- the list ------------------------------------------------------------------------- */

static int order(const void *a, const void *b)
{
	const struct schema_kind *x = *(const struct schema_kind *const *)a;
	const struct schema_kind *y = *(const struct schema_kind *const *)b;
	int r = str_cmp(x->group, y->group);

	if (r == 0)
		r = crd_version_cmp(x->version, y->version);
	return r ? r : str_cmp(x->resource, y->resource);
}

/* The served versions of all definitions. An array to free. */
static const struct schema_kind **served_kinds(const struct catalogue *c, size_t *ret_n)
{
	const struct schema_kind **all, *const *kinds;
	size_t n, total = 0, used = 0;

	for (size_t i = 0; i < c->ncrds; i++) {
		(void)crd_kinds(c->crds[i], &n);
		total += n;
	}
	all = xcalloc(total + 1, sizeof(struct schema_kind *));
	for (size_t i = 0; i < c->ncrds; i++) {
		kinds = crd_kinds(c->crds[i], &n);
		for (size_t j = 0; j < n; j++)
			if (crd_served(c->crds[i], j))
				all[used++] = kinds[j];
	}
	if (used)
		qsort(all, used, sizeof(*all), order);
	*ret_n = used;
	return all;
}

/* Moves the kinds of one group (or, with `version`, of one group version) to the list. */
static void catalogue_take(struct catalogue *c, const struct schema_kind **custom, size_t n,
			   const struct schema_kind *like, bool version)
{
	for (size_t i = 0; i < n; i++) {
		if (!custom[i] || !str_eq(custom[i]->group, like->group) ||
		    (version && !str_eq(custom[i]->version, like->version)))
			continue;
		c->kinds[c->nkinds++] = custom[i];
		custom[i] = NULL;
	}
}

static void catalogue_merge(struct catalogue *c)
{
	size_t n, ncustom;
	const struct schema_kind *const *kinds = schema_kinds(&n);
	const struct schema_kind **custom = served_kinds(c, &ncustom);

	c->kinds = xcalloc(n + ncustom, sizeof(struct schema_kind *));
	for (size_t i = 0; i < n; i++) {
		const struct schema_kind *k = kinds[i], *next = i + 1 < n ? kinds[i + 1] : NULL;

		c->kinds[c->nkinds++] = k;
		if (!ncustom)
			continue;
		if (!next || !str_eq(next->api_version, k->api_version))
			catalogue_take(c, custom, ncustom, k, true);
		if (!next || !str_eq(next->group, k->group))
			catalogue_take(c, custom, ncustom, k, false);
	}
	for (size_t i = 0; i < ncustom; i++)
		if (custom[i])
			c->kinds[c->nkinds++] = custom[i];
	free(custom);
}

/* --- lifecycle ------------------------------------------------------------------------ */

struct catalogue *catalogue_build(struct catalogue_builder *b, const struct catalogue *before)
{
	struct catalogue *c = XNEW(struct catalogue);

	atomic_init(&c->refs, 1);
	c->crds = b->crds.v;
	c->ncrds = b->crds.n;
	catalogue_merge(c);
	c->discovery = discovery_new(b->gates, c->kinds, c->nkinds);
	c->openapi = openapi_new(b->gates, c->kinds, c->nkinds, before ? before->openapi : NULL);
	return c;
}

struct catalogue *catalogue_ref(struct catalogue *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void catalogue_unref(struct catalogue *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
		return;
	openapi_free(c->openapi);
	discovery_free(c->discovery);
	for (size_t i = 0; i < c->ncrds; i++)
		crd_unref(c->crds[i]);
	free(c->crds);
	free(c->kinds);
	free(c);
}
