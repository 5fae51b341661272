/*
 * Admission of proxied requests: operation CONNECT, with the options as the object. Webhooks may
 * change the options; then they count as if the client had requested them.
 */
#include "server/connect/connect_impl.h"
#include "server/plugins/table.h"
#include "server/request/connect_options.h"
#include "server/verbs/mutation.h"

static int take_changes(struct connect *c)
{
	struct arena *a = &c->x->work;
	const struct json *options = c->m->req.tree;
	struct field_errors errs;
	struct str query;
	int r;

	if (json_equal(options, c->options))
		return 0;
	if (c->proxy)
		return connect_options_path(a, options, &c->tail, &c->err);
	field_errors_init(&errs, a);
	r = connect_options_query(a, options, &query, &c->err);
	if (r == 0)
		r = connect_query_parse(c->x->request.subresource, query, a, &c->query, &errs,
					&c->err);
	return r;
}

int connect_admit(struct connect *c)
{
	struct mutation *m = c->m;
	int r;

	if (!c->options)
		return 0;
	mutation_prepare_tip(&m->req);
	r = admission_connect(&m->req, m->req.tree, &c->err);
	if (r == 0)
		r = admission_check_memory(m->write.arena, &c->err);
	return r < 0 ? r : take_changes(c);
}
