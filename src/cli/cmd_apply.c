/*
 * `devplane apply`: brings objects to what manifests say, as kubectl's client-side apply does.
 *
 * What is not there is created. What is there gets the patch of api/patch_diff.h: strategic for
 * kinds that we know, JSON merge for others, none when nothing changed. Objects come in the order
 * of the files; a failure is said and the others go on.
 */
#include "api/last_applied.h"
#include "api/patch_diff.h"
#include "api/schema.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/commands.h"
#include "cli/kube.h"
#include "cli/manifest.h"
#include "cli/object_args.h"
#include "cli/output.h"
#include "client/discovery.h"

#define MANAGER "devplane-client-side-apply"

/* Others may create, delete or change the object between our read and our write. */
#define TRIES_MAX 5

struct apply_options {
	struct kube_options kube;
	struct flag_list files;
	const char *output, *subresource;
	bool dry_run;
};

static const struct flag flags[] = {
	{ "filename", 'f', FLAG_REPEAT(struct apply_options, files), .arg = "FILE",
	  .help = "a manifest, a folder of them, or - for standard input; may be repeated",
	  .required = true },
	{ "dry-run", 0, FLAG_BOOL(struct apply_options, dry_run),
	  .help = "let the server check everything and change nothing" },
	{ "output", 'o', FLAG_STRING(struct apply_options, output), .choices = "name|json|yaml",
	  .help = "print names or objects instead of what was done" },
	{ "subresource", 0, FLAG_STRING(struct apply_options, subresource), .choices = "status",
	  .help = "write this part of objects that exist, as their controller would" },
	KUBE_FLAGS(struct apply_options, kube),
	{ NULL },
};

struct apply {
	struct cli *cli;
	const struct apply_options *options;
	struct kube kube;
	struct str query;
	struct json *results; /* objects for -o json and yaml */
	size_t failed;
};

/* One object on its way. */
struct wish {
	struct json *tree;
	const struct discovery_resource *type;
	struct kube_target target;
	struct json *result; /* what the server has then */
};

/* --- the wanted object ----------------------------------------------------------------------- */

static int find_target(struct apply *p, struct wish *w, struct error *err)
{
	struct json *meta = json_getz(w->tree, "metadata");
	struct str ns = json_text_at(meta, "namespace");
	int r = kube_kind(&p->kube, json_text_at(w->tree, "apiVersion"),
			  json_text_at(w->tree, "kind"), &w->type, err);

	if (r < 0)
		return r;
	w->target = (struct kube_target){ .resource = &w->type->resource, .query = p->query };
	w->target.name.name = json_text_at(meta, "name");
	w->target.name.subresource = str_from(p->options->subresource);
	r = kube_namespace(&p->kube, &p->options->kube, w->target.resource, ns, &w->target.name.ns,
			   err);
	if (r == 0 && ns.n == 0 && w->target.name.ns.n > 0)
		json_put_str(&p->cli->arena, meta, "namespace", w->target.name.ns);
	return r;
}

/* Generated manifests have these; they want nothing by them. */
static void drop_empty(struct json *tree)
{
	struct json *meta = json_getz(tree, "metadata"), *status = json_getz(tree, "status");

	if (json_is(json_getz(meta, "creationTimestamp"), JSON_NULL))
		(void)json_remove(meta, STR("creationTimestamp"));
	if (status && json_count(status) == 0)
		(void)json_remove(tree, STR("status"));
}

/* --- writing --------------------------------------------------------------------------------- */

static int create(struct apply *p, struct wish *w, const char **ret_done, struct error *err)
{
	struct kube_target t = w->target;

	if (p->options->subresource)
		return error_set(err, ERR_NOT_FOUND,
				 "it does not exist: apply it without --subresource first");
	t.name.name = STR_NULL;
	*ret_done = "created";
	return kube_create(&p->kube, &t, w->tree, &w->result, err);
}

static int change(struct apply *p, struct wish *w, const struct json *live, const char **ret_done,
		  struct error *err)
{
	struct arena *a = &p->cli->arena;
	const struct schema_kind *kind = schema_find_kind(json_text_at(w->tree, "apiVersion"),
							  json_text_at(w->tree, "kind"));
	struct json *last = last_applied_get(a, live), *patch = NULL;
	struct patch_sides sides = { last, w->tree, live };
	int r;

	if (last)
		drop_empty(last);
	if (p->options->subresource)
		sides.last = NULL; /* the annotation speaks of the rest */
	r = patch_diff(a, kind ? kind->type : NULL, &sides, &patch, err);
	if (r < 0)
		return r;
	*ret_done = json_first(patch) ? "configured" : "unchanged";
	w->result = (struct json *)live;
	if (!json_first(patch))
		return 0;
	if (!last && !p->options->subresource)
		(void)fprintf(p->cli->err,
			      "Warning: %s was not made by apply: what its manifest does not say "
			      "stays as it is\n",
			      manifest_name(a, w->tree));
	return kube_patch(&p->kube, &w->target, kind ? CLIENT_PATCH_STRATEGIC : CLIENT_PATCH_MERGE,
			  patch, &w->result, err);
}

static int try_once(struct apply *p, struct wish *w, const char **ret_done, struct error *err)
{
	struct kube_query q = { .resource = w->target.resource,
				.ns = w->target.name.ns,
				.name = w->target.name.name };
	struct json *live = NULL;
	int r = kube_read(&p->kube, &q, &live, err);

	if (r == -ERR_NOT_FOUND)
		return create(p, w, ret_done, err);
	return r < 0 ? r : change(p, w, live, ret_done, err);
}

static bool is_race(int r)
{
	return r == -ERR_CONFLICT || r == -ERR_ALREADY_EXISTS;
}

static int bring(struct apply *p, struct wish *w, const char **ret_done, struct error *err)
{
	int r = find_target(p, w, err), tries = 0;

	if (r == 0 && !p->options->subresource)
		r = last_applied_put(&p->cli->arena, w->tree, err);
	if (r < 0)
		return r;
	drop_empty(w->tree);
	do
		r = try_once(p, w, ret_done, err);
	while (is_race(r) && ++tries < TRIES_MAX);
	return r;
}

/* --- saying ---------------------------------------------------------------------------------- */

static void say(struct apply *p, const struct wish *w, const char *done)
{
	struct str word = object_args_word(&p->cli->arena, w->type);
	const char *output = p->options->output;

	if (output && strcmp(output, "name") != 0) {
		json_append(p->results, w->result);
		return;
	}
	(void)fprintf(p->cli->out, "%.*s/%.*s%s%s%s\n", STR_ARG(word), STR_ARG(w->target.name.name),
		      output ? "" : " ", output ? "" : done,
		      p->options->dry_run && !output ? " (server dry run)" : "");
	(void)fflush(p->cli->out);
}

static int print_results(struct apply *p, struct error *err)
{
	struct arena *a = &p->cli->arena;
	const char *output = p->options->output;
	struct json *list, *first = json_first(p->results);

	if (!output || strcmp(output, "name") == 0 || !first)
		return 0;
	if (!first->next)
		return output_tree(p->cli, output, first, err);
	list = json_make_object(a);
	json_put_str(a, list, "apiVersion", STR("v1"));
	json_setz(list, "items", p->results);
	json_put_str(a, list, "kind", STR("List"));
	return output_tree(p->cli, output, list, err);
}

static void apply_item(struct apply *p, const struct manifest_item *item)
{
	struct wish w = { .tree = item->tree };
	const char *done = NULL;
	struct error err;

	if (!item->tree) {
		cli_complain(p->cli, "%s: %s", item->where, item->err.msg);
		p->failed++;
	} else if (bring(p, &w, &done, &err) < 0) {
		cli_complain(p->cli, "%s: %s: %s", item->where,
			     manifest_name(&p->cli->arena, item->tree), err.msg);
		p->failed++;
	} else {
		say(p, &w, done);
	}
}

/* --- the command ----------------------------------------------------------------------------- */

static int apply(struct apply *p, const struct manifest *m, struct error *err)
{
	int r = kube_open(&p->kube, p->cli, &p->options->kube, err);

	if (r < 0)
		return r;
	p->query = p->options->dry_run ? STR("fieldManager=" MANAGER "&dryRun=All")
				       : STR("fieldManager=" MANAGER);
	p->results = json_make_array(&p->cli->arena);
	for (size_t i = 0; i < m->items.n; i++)
		apply_item(p, &m->items.v[i]);
	r = print_results(p, err);
	if (r == 0 && m->items.n == 0)
		r = error_set(err, ERR_BAD_REQUEST, "there is no object in what was given");
	if (r == 0 && p->failed > 0)
		r = error_set(err, ERR_INVALID, "%zu of %zu objects could not be applied",
			      p->failed, m->items.n);
	return r;
}

static int run(struct cli *cli, struct error *err)
{
	struct apply p = { .cli = cli, .options = cli->options };
	struct manifest m;
	int r;

	manifest_read(&m, &cli->arena, &p.options->files);
	r = apply(&p, &m, err);
	kube_close(&p.kube);
	manifest_release(&m);
	return r;
}

const struct command cmd_apply = {
	.name = "apply",
	.summary = "bring objects to what manifests say",
	.usage = "-f FILE|DIR|- [FLAGS]",
	.about = "Creates what is missing and patches what differs, as `kubectl apply` does, and "
		 "with the same annotation, so that both can be used on one object. What a "
		 "manifest said before and says no more is removed; what it never said is "
		 "somebody else's, and stays.\n\n"
		 "Objects are applied in the order of the files. When one fails the others go on, "
		 "and the exit code is 1.",
	.examples = "  devplane apply -f pod.yaml\n"
		    "  devplane apply -f manifests/ -n team-a\n"
		    "  generate | devplane apply -f - --dry-run\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct apply_options),
	.run = run,
};
