/*
 * `devplane apply`: makes objects match their manifests (see apply/object.h). Objects are applied
 * in the order of the files. A failure is printed and the others continue.
 */
#include "base/json/json.h"
#include "cli/apply/object.h"
#include "cli/commands/commands.h"
#include "cli/connect/kube.h"
#include "cli/connect/manifest.h"
#include "cli/connect/object_args.h"
#include "cli/output/output.h"
#include "client/api/discovery.h"

struct options {
	struct apply_options apply;
	const char *output;
	const char *dry_run; /* or NULL */
	bool show_managed;
};

static const struct flag flags[] = {
	APPLY_FLAGS(struct options, apply),
	{ "dry-run", 0, FLAG_STRING(struct options, dry_run), .alone = "server",
	  .choices = "server|client|none|true|false",
	  .help = "change nothing: server validates the request, client sends nothing; true means "
		  "server, false means none" },
	{ "output", 'o', FLAG_STRING(struct options, output), .choices = "name|json|yaml",
	  .help = "print names or objects instead of one line per result" },
	{ "show-managed-fields", 0, FLAG_BOOL(struct options, show_managed),
	  .help = "keep metadata.managedFields in JSON and YAML" },
	KUBE_FLAGS(struct options, apply.kube),
	{ NULL },
};

struct work {
	struct cli *cli;
	const struct options *options;
	struct kube kube;
	struct apply apply;
	struct json *results; /* objects for -o json and yaml */
	size_t failed;
	bool conflicts; /* other managers own fields */
};

/* --- printing -------------------------------------------------------------------------------- */

static const char *const dry_words[] = { [APPLY_DRY_NONE] = "",
					 [APPLY_DRY_CLIENT] = " (dry run)",
					 [APPLY_DRY_SERVER] = " (server dry run)" };

static void apply_say(struct work *p, const struct applied *w)
{
	struct str word = object_args_word(&p->cli->arena, w->type);
	const char *output = p->options->output;

	if (output && strcmp(output, "name") != 0) {
		if (!p->options->show_managed)
			(void)json_remove(json_getz(w->result, "metadata"), STR("managedFields"));
		json_append(p->results, w->result);
		return;
	}
	(void)fprintf(p->cli->out, "%.*s/%.*s%s%s%s\n", STR_ARG(word), STR_ARG(w->name.name),
		      output ? "" : " ", output ? "" : w->done,
		      output ? "" : dry_words[p->apply.dry]);
	(void)fflush(p->cli->out);
}

static int print_results(struct work *p, struct error *err)
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

static void apply_complain(struct work *p, const struct manifest_item *item,
			   const struct applied *w, const struct error *err)
{
	cli_complain(p->cli, "%s: %s: %s", item->where, manifest_name(&p->cli->arena, item->tree),
		     w->conflict ? w->conflict : err->msg);
	p->conflicts |= w->conflict != NULL;
	p->failed++;
}

static void apply_item(struct work *p, const struct manifest_item *item)
{
	struct applied w;
	struct error err;

	if (!item->tree) {
		cli_complain(p->cli, "%s: %s", item->where, item->err.msg);
		p->failed++;
	} else if (apply_object(&p->apply, item->tree, &w, &err) < 0) {
		apply_complain(p, item, &w, &err);
	} else {
		apply_say(p, &w);
	}
}

/* --- the command ----------------------------------------------------------------------------- */

static int commands_apply(struct work *p, const struct manifest *m, struct error *err)
{
	int r = kube_open(&p->kube, p->cli, &p->options->apply.kube, err);

	if (r < 0)
		return r;
	p->results = json_make_array(&p->cli->arena);
	for (size_t i = 0; i < m->items.n; i++)
		apply_item(p, &m->items.v[i]);
	if (p->conflicts)
		apply_advise(p->cli);
	r = print_results(p, err);
	if (r == 0 && m->items.n == 0)
		r = error_set(err, ERR_BAD_REQUEST, "the manifests contain no objects");
	/* The failure of a single object was reported: one message is enough. */
	if (r == 0 && p->failed > 0 && m->items.n == 1)
		p->cli->status = CLI_FAILURE;
	else if (r == 0 && p->failed > 0)
		r = error_set(err, ERR_INVALID, "%zu of %zu objects could not be applied",
			      p->failed, m->items.n);
	return r;
}

/* kubectl's words; our flag used to be a boolean. */
static enum apply_dry dry_of(const char *word)
{
	if (!word || strcmp(word, "none") == 0 || strcmp(word, "false") == 0)
		return APPLY_DRY_NONE;
	return strcmp(word, "client") == 0 ? APPLY_DRY_CLIENT : APPLY_DRY_SERVER;
}

static int apply_run(struct cli *cli, struct error *err)
{
	const struct options *o = cli->options;
	enum apply_dry dry = dry_of(o->dry_run);
	struct work p = { .cli = cli, .options = o };
	struct manifest m;
	int r = apply_check_options(cli, &o->apply, dry, err);

	if (r < 0)
		return r;
	p.apply = (struct apply){ .kube = &p.kube, .options = &o->apply, .dry = dry };
	manifest_read(&m, &cli->arena, &o->apply.files);
	r = commands_apply(&p, &m, err);
	kube_close(&p.kube);
	manifest_release(&m);
	return r;
}

const struct command cmd_apply = {
	.name = "apply",
	.summary = "create or update objects from manifests",
	.usage = "-f FILE|DIR|- [FLAGS]",
	.about = "Creates missing objects and patches those that differ, as `kubectl apply` does. "
		 "Both use the same annotation, so you can use either on one object. Fields that "
		 "you removed from the manifest are removed from the object; fields that were "
		 "never in it are kept.\n\n"
		 "With --server-side the server does the merge: it records which manager set each "
		 "field, and rejects changes to fields of other managers unless you add "
		 "--force-conflicts. Objects that were applied without --server-side before are "
		 "migrated.\n\n"
		 "Objects are applied in the order of the files. If one fails, the others are "
		 "still applied, and the exit code is 1.",
	.examples = "  devplane apply -f pod.yaml\n"
		    "  devplane apply -f manifests/ -n team-a\n"
		    "  devplane apply -f pod.yaml --server-side --field-manager ci\n"
		    "  generate | devplane apply -f - --dry-run\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct options),
	.run = apply_run,
};
