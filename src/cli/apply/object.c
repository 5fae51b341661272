/*
 * Others may create, delete or change the object between our read and our write: then it is
 * retried.
 */
#include "cli/apply/object.h"

#include "api/patch/diff.h"
#include "api/patch/last_applied.h"
#include "api/schema/schema.h"
#include "base/json/json.h"
#include "cli/apply/server.h"
#include "cli/connect/kube.h"
#include "cli/connect/manifest.h"
#include "cli/program/cli.h"
#include "client/api/discovery.h"
#include "net/net_limits.h"

/* One object being applied. */
struct wish {
	const struct apply *apply;
	struct json *tree;
	struct kube_target target;
	struct applied *applied;
};

static struct arena *arena_of(const struct wish *w)
{
	return w->apply->kube->arena;
}

int apply_check_options(struct cli *cli, const struct apply_options *o, enum apply_dry dry,
			struct error *err)
{
	if (o->force && !o->server_side)
		return cli_bad_usage(cli, err, "--force-conflicts needs --server-side");
	if (dry == APPLY_DRY_CLIENT && o->server_side)
		return cli_bad_usage(cli, err,
				     "--dry-run=client and --server-side exclude each other: use "
				     "--dry-run=server");
	if (o->manager && !*o->manager)
		return cli_bad_usage(cli, err, "--field-manager needs a name");
	return 0;
}

void apply_advise(const struct cli *cli)
{
	(void)fprintf(cli->err, "Other managers set these fields to other values. You can:\n"
				"* take them over: add --force-conflicts\n"
				"* leave them to the others: remove them from the manifest\n"
				"* share them: set them to their current values in the manifest\n");
}

/* --- the wanted object ----------------------------------------------------------------------- */

static const char *manager_of(const struct apply_options *o)
{
	if (o->manager)
		return o->manager;
	return o->server_side ? "devplane" : "devplane-client-side-apply";
}

static struct str make_query(const struct apply *p)
{
	CLEANUP(buf_release) struct buf query = BUF_INIT(HTTP_TARGET_MAX);

	client_query_add(&query, "fieldManager", str_from(manager_of(p->options)));
	if (p->dry == APPLY_DRY_SERVER)
		client_query_add(&query, "dryRun", STR("All"));
	return arena_str(p->kube->arena, buf_str(&query));
}

static int find_target(struct wish *w, struct error *err)
{
	const struct apply *p = w->apply;
	struct json *meta = json_getz(w->tree, "metadata");
	struct str ns = json_text_at(meta, "namespace");
	int r = kube_kind(p->kube, json_text_at(w->tree, "apiVersion"),
			  json_text_at(w->tree, "kind"), &w->applied->type, err);

	if (r < 0)
		return r;
	w->target = (struct kube_target){ .resource = &w->applied->type->resource,
					  .query = make_query(p) };
	w->target.name.name = json_text_at(meta, "name");
	w->target.name.subresource = str_from(p->options->subresource);
	r = kube_namespace(p->kube, &p->options->kube, w->target.resource, ns, &w->target.name.ns,
			   err);
	if (r == 0 && ns.n == 0 && w->target.name.ns.n > 0)
		json_put_str(arena_of(w), meta, "namespace", w->target.name.ns);
	w->applied->name = w->target.name;
	return r;
}

/* Generated manifests contain these empty members without meaning anything by them. */
static void drop_empty(struct json *tree)
{
	struct json *meta = json_getz(tree, "metadata"), *status = json_getz(tree, "status");

	if (json_is(json_getz(meta, "creationTimestamp"), JSON_NULL))
		(void)json_remove(meta, STR("creationTimestamp"));
	if (status && json_count(status) == 0)
		(void)json_remove(tree, STR("status"));
}

/* A missing object is not an error. */
static int read_live(struct wish *w, struct error *err)
{
	struct json *live = NULL;
	int r = kube_read_target(w->apply->kube, &w->target, &live, err);

	if (r < 0 && r != -ERR_NOT_FOUND)
		return r;
	w->applied->live = live;
	return 0;
}

/* --- on the client's side -------------------------------------------------------------------- */

static int refuse_part(struct error *err)
{
	return error_set(err, ERR_NOT_FOUND,
			 "it does not exist: apply it without --subresource first");
}

static int object_create(struct wish *w, struct error *err)
{
	struct kube_target t = w->target;

	if (w->apply->options->subresource)
		return refuse_part(err);
	t.name.name = STR_NULL;
	w->applied->done = "created";
	w->applied->result = w->tree;
	if (w->apply->dry == APPLY_DRY_CLIENT)
		return 0;
	return kube_create(w->apply->kube, &t, w->tree, &w->applied->result, err);
}

static int object_change(struct wish *w, const struct json *live, struct error *err)
{
	const struct apply *p = w->apply;
	struct arena *a = arena_of(w);
	const struct schema_kind *kind = schema_find_kind(json_text_at(w->tree, "apiVersion"),
							  json_text_at(w->tree, "kind"));
	struct json *last = last_applied_get(a, live), *patch = NULL;
	struct patch_sides sides = { last, w->tree, live };
	int r;

	if (last)
		drop_empty(last);
	if (p->options->subresource)
		sides.last = NULL; /* the annotation describes only the main resource */
	r = patch_diff(a, kind ? kind->type : NULL, &sides, &patch, err);
	if (r < 0)
		return r;
	w->applied->done = json_first(patch) ? "configured" : "unchanged";
	w->applied->result = (struct json *)live;
	if (!json_first(patch))
		return 0;
	if (!last && !p->options->subresource)
		cli_warn(p->kube->cli,
			 "%s was not made by apply: what its manifest does not say stays as it is",
			 manifest_name(a, w->tree));
	if (p->dry == APPLY_DRY_CLIENT) {
		w->applied->result = w->tree;
		return 0;
	}
	return kube_patch(p->kube, &w->target, kind ? CLIENT_PATCH_STRATEGIC : CLIENT_PATCH_MERGE,
			  patch, &w->applied->result, err);
}

static int try_once(struct wish *w, struct error *err)
{
	int r = read_live(w, err);

	if (r < 0)
		return r;
	return w->applied->live ? object_change(w, w->applied->live, err) : object_create(w, err);
}

static bool is_race(int r)
{
	return r == -ERR_CONFLICT || r == -ERR_ALREADY_EXISTS;
}

static int on_client(struct wish *w, struct error *err)
{
	int r = 0, tries = 0;

	if (!w->apply->options->subresource)
		r = last_applied_put(arena_of(w), w->tree, err);
	if (r < 0)
		return r;
	drop_empty(w->tree);
	do
		r = try_once(w, err);
	while (is_race(r) && ++tries < APPLY_TRIES_MAX);
	return r;
}

/* --- either side ----------------------------------------------------------------------------- */

static int on_server(struct wish *w, struct error *err)
{
	const struct apply_options *o = w->apply->options;
	struct apply_server s = { .kube = w->apply->kube,
				  .target = w->target,
				  .tree = w->tree,
				  .manager = str_from(manager_of(o)),
				  .force = o->force,
				  .dry_run = w->apply->dry != APPLY_DRY_NONE };
	int r = w->apply->want_live ? read_live(w, err) : 0;

	if (r < 0)
		return r;
	drop_empty(w->tree);
	w->applied->done = "serverside-applied";
	r = apply_server(&s, &w->applied->result, err);
	w->applied->conflict = s.conflict;
	w->applied->handed = s.handed;
	return r == -ERR_NOT_FOUND && o->subresource ? refuse_part(err) : r;
}

int apply_object(const struct apply *p, struct json *tree, struct applied *ret, struct error *err)
{
	struct wish w = { .apply = p, .tree = tree, .applied = ret };
	int r;

	*ret = (struct applied){ 0 };
	r = find_target(&w, err);
	if (r < 0)
		return r;
	return p->options->server_side ? on_server(&w, err) : on_client(&w, err);
}
