/*
 * `devplane diff`: shows what apply would change. The server does a dry run; the current and the
 * resulting object are printed as YAML and compared line by line.
 */
#include "api/patch/last_applied.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/yaml/yaml.h"
#include "cli/apply/object.h"
#include "cli/commands/commands.h"
#include "cli/connect/kube.h"
#include "cli/connect/manifest.h"
#include "cli/output/text_diff.h"
#include "client/api/discovery.h"

enum { SAME = 0, DIFFERS = 1, FAILED = 2 };

struct options {
	struct apply_options apply;
	bool show_managed;
};

static const struct flag flags[] = {
	APPLY_FLAGS(struct options, apply),
	{ "show-managed-fields", 0, FLAG_BOOL(struct options, show_managed),
	  .help = "also compare metadata.managedFields and the annotation of client-side apply" },
	KUBE_FLAGS(struct options, apply.kube),
	{ NULL },
};

struct work {
	struct cli *cli;
	const struct options *options;
	struct kube kube;
	struct apply apply;
	bool conflicts;
};

/* --- hidden parts ---------------------------------------------------------------------------- */

static void hide_value(struct arena *a, struct json *data, struct json *value, const char *word,
		       bool differs)
{
	const char *text = differs ? arena_printf(a, "*** (%s)", word) : "***";

	json_set(data, json_key(value), json_make_str(a, str_from(text)));
}

/* Hides the values of one map, on both sides. */
static void hide_values(struct arena *a, struct json *before, struct json *after)
{
	JSON_FOREACH_SAFE (value, before) {
		struct json *other = json_get(after, json_key(value));
		bool differs = other && !json_equal(value, other);

		if (other)
			hide_value(a, after, other, "after", differs);
		hide_value(a, before, value, "before", differs);
	}
	JSON_FOREACH_SAFE (value, after) {
		if (!json_get(before, json_key(value)))
			hide_value(a, after, value, "after", false);
	}
}

static struct json *notes_of(const struct json *object)
{
	return json_getz(json_getz(object, "metadata"), "annotations");
}

/* The annotation of client-side apply contains values, too. */
static void hide_applied(struct arena *a, struct json *live, struct json *wanted)
{
	struct json *before = json_getz(notes_of(live), LAST_APPLIED_ANNOTATION);
	struct json *after = json_getz(notes_of(wanted), LAST_APPLIED_ANNOTATION);
	bool differs = before && after && !json_equal(before, after);

	if (before)
		hide_value(a, notes_of(live), before, "before", differs);
	if (after)
		hide_value(a, notes_of(wanted), after, "after", differs);
}

/* For a secret's values, shows only whether they differ. */
static void hide_secret(struct arena *a, struct json *live, struct json *wanted)
{
	if (!str_eq(json_text_at(wanted, "kind"), STR("Secret")) ||
	    !str_eq(json_text_at(wanted, "apiVersion"), STR("v1")))
		return;
	hide_values(a, json_getz(live, "data"), json_getz(wanted, "data"));
	hide_applied(a, live, wanted);
}

/* Removes managedFields and the last applied configuration: they only describe the other fields. */
static void hide_books(struct json *object)
{
	struct json *meta = json_getz(object, "metadata"), *notes = json_getz(meta, "annotations");

	(void)json_remove(meta, STR("managedFields"));
	if (notes)
		(void)json_remove(notes, STR(LAST_APPLIED_ANNOTATION));
	if (notes && json_count(notes) == 0)
		(void)json_remove(meta, STR("annotations"));
}

/* Escapes control characters. */
static int print_yaml(const struct work *p, struct json *object, struct buf *out, struct error *err)
{
	if (!object)
		return 0;
	if (!p->options->show_managed)
		hide_books(object);
	json_sort(p->kube.arena, object);
	return yaml_print(out, object, NULL, err);
}

/* --- one object ------------------------------------------------------------------------------ */

/* "live/v1.ConfigMap.default.box" */
static struct str side_name(struct arena *a, const char *side, const struct applied *w)
{
	const struct resource *t = &w->type->resource;
	const char *dot = t->group.n > 0 ? "." : "", *before = w->name.ns.n > 0 ? "." : "";

	return str_from(arena_printf(a, "%s/%.*s%s%.*s.%.*s%s%.*s.%.*s", side, STR_ARG(t->group),
				     dot, STR_ARG(t->version), STR_ARG(t->kind), before,
				     STR_ARG(w->name.ns), STR_ARG(w->name.name)));
}

static int diff_show(struct work *p, const struct applied *w, struct error *err)
{
	CLEANUP(buf_release) struct buf before = BUF_INIT(64 * MIB), after = BUF_INIT(64 * MIB);
	CLEANUP(buf_release) struct buf out = BUF_INIT(256 * MIB);
	struct arena *a = p->kube.arena;
	struct text_diff d = { .before_name = side_name(a, "live", w),
			       .after_name = side_name(a, "merged", w),
			       .colour = p->cli->out_colour };
	int r;

	hide_secret(a, w->live, w->result);
	r = print_yaml(p, w->live, &before, err);
	if (r == 0)
		r = print_yaml(p, w->result, &after, err);
	if (r < 0)
		return r;
	d.before = buf_str(&before);
	d.after = buf_str(&after);
	if (text_diff_print(a, &d, &out))
		p->cli->status = MAX(p->cli->status, DIFFERS);
	(void)fwrite(out.p, 1, out.n, p->cli->out);
	return 0;
}

static int diff_compare(struct work *p, struct json *tree, struct applied *w, struct error *err)
{
	int r = apply_object(&p->apply, tree, w, err);

	if (r < 0)
		return r;
	if (w->handed) /* the dry run does not show all effects of the handover */
		p->cli->status = MAX(p->cli->status, DIFFERS);
	return w->live == w->result ? 0 : diff_show(p, w, err);
}

static void diff_tree(struct work *p, const struct manifest_item *item)
{
	struct applied w = { 0 };
	struct error err;

	if (diff_compare(p, item->tree, &w, &err) == 0)
		return;
	cli_complain(p->cli, "%s: %s: %s", item->where, manifest_name(p->kube.arena, item->tree),
		     w.conflict ? w.conflict : err.msg);
	p->conflicts |= w.conflict != NULL;
	p->cli->status = FAILED;
}

/* There may be many objects, and a comparison takes much memory: it is freed after each. */
static void diff_item(struct work *p, const struct manifest_item *item)
{
	struct arena scratch, *was = p->kube.arena;

	if (!item->tree) {
		cli_complain(p->cli, "%s: %s", item->where, item->err.msg);
		p->cli->status = FAILED;
		return;
	}
	arena_init(&scratch, was->max);
	p->kube.arena = &scratch;
	diff_tree(p, item);
	p->kube.arena = was;
	p->kube.refusal = STR_NULL;
	arena_release(&scratch);
}

/* --- the command ----------------------------------------------------------------------------- */

static int diff(struct work *p, const struct manifest *m, struct error *err)
{
	int r = kube_open(&p->kube, p->cli, &p->options->apply.kube, err);

	if (r < 0)
		return r;
	if (m->items.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "the manifests contain no objects");
	for (size_t i = 0; i < m->items.n; i++)
		diff_item(p, &m->items.v[i]);
	if (p->conflicts)
		apply_advise(p->cli);
	return 0;
}

static int diff_run(struct cli *cli, struct error *err)
{
	const struct options *o = cli->options;
	struct work p = { .cli = cli, .options = o };
	struct manifest m;
	int r = apply_check_options(cli, &o->apply, APPLY_DRY_SERVER, err);

	if (r < 0)
		return r;
	p.apply = (struct apply){
		.kube = &p.kube, .options = &o->apply, .dry = APPLY_DRY_SERVER, .want_live = true
	};
	manifest_read(&m, &cli->arena, &o->apply.files);
	r = diff(&p, &m, err);
	kube_close(&p.kube);
	manifest_release(&m);
	return r;
}

static const struct command_note exit_status[] = {
	{ "0", "nothing would change" },
	{ "1", "something would change" },
	{ "2", "the comparison failed, or the command line is not valid" },
	{ NULL, NULL },
};

const struct command cmd_diff = {
	.name = "diff",
	.summary = "show what apply would change",
	.usage = "-f FILE|DIR|- [FLAGS]",
	.about = "Sends what `devplane apply` would send as a dry run, and prints how each object "
		 "would change, in the format of `diff -u`. Values of secrets are not shown.",
	.examples = "  devplane diff -f pod.yaml\n"
		    "  devplane diff -f manifests/ --server-side && echo as wanted\n",
	.exit_status = exit_status,
	.failure = FAILED,
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct options),
	.run = diff_run,
};
