/*
 * `devplane store check`: reads everything and reports whether it is consistent.
 */
#include <inttypes.h>

#include "base/json/json.h"
#include "cli/output/output.h"
#include "cli/program/cli.h"
#include "cli/store/store_dir.h"
#include "store/lmdb/tools.h"

struct check_options {
	const char *data_dir, *output;
};

static const struct flag flags[] = {
	STORE_DIR_FLAG(struct check_options),
	{ "output", 'o', FLAG_STRING(struct check_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	{ NULL },
};

static void check_print_text(FILE *out, const struct store_lmdb_report *r)
{
	(void)fprintf(out, "cluster id   %s\n", r->cluster_id);
	(void)fprintf(out, "revision     %" PRId64 ", readable since %" PRId64 "\n", r->revision,
		      r->compacted);
	(void)fprintf(out, "objects      %zu of %zu resources, %zu bytes\n", r->objects,
		      r->resources, r->object_bytes);
	(void)fprintf(out, "past         %zu changes, %zu superseded versions, %zu bytes\n",
		      r->changes, r->superseded, r->superseded_bytes);
	(void)fprintf(out, "file         %zu bytes, %zu of them free\n", r->file_bytes,
		      r->free_bytes);
	(void)fprintf(out, "faults       %zu\n%s", r->faults, r->text.n ? r->text.p : "");
}

static void add_count(struct arena *a, struct json *tree, const char *name, size_t n)
{
	json_add(tree, str_from(name), json_make_u64(a, n));
}

static struct json *check_tree_of(struct arena *a, const struct store_lmdb_report *r)
{
	struct json *tree = json_make_object(a), *faults = json_make_array(a);
	struct str rest = r->text.n ? str_of(r->text.p, r->text.n) : STR_NULL, line;

	json_add(tree, STR("clusterID"), json_make_str(a, str_from(r->cluster_id)));
	json_add(tree, STR("revision"), json_make_i64(a, r->revision));
	json_add(tree, STR("compactedRevision"), json_make_i64(a, r->compacted));
	add_count(a, tree, "resources", r->resources);
	add_count(a, tree, "objects", r->objects);
	add_count(a, tree, "objectBytes", r->object_bytes);
	add_count(a, tree, "changes", r->changes);
	add_count(a, tree, "superseded", r->superseded);
	add_count(a, tree, "supersededBytes", r->superseded_bytes);
	add_count(a, tree, "fileBytes", r->file_bytes);
	add_count(a, tree, "freeBytes", r->free_bytes);
	while (str_split(&rest, '\n', &line))
		if (line.n)
			json_append(faults, json_make_str(a, arena_str(a, line)));
	add_count(a, tree, "faultCount", r->faults);
	json_add(tree, STR("faults"), faults);
	return tree;
}

static int check_run(struct cli *cli, struct error *err)
{
	const struct check_options *o = cli->options;
	struct store_lmdb_report report;
	int r = store_lmdb_check(store_dir(cli, o->data_dir), &report, err);

	if (r == 0 && strcmp(o->output, "text") == 0)
		check_print_text(cli->out, &report);
	else if (r == 0)
		r = output_tree(cli, o->output, check_tree_of(&cli->arena, &report), err);
	if (r == 0 && report.faults)
		r = error_set(err, ERR_INVALID, "%s has %zu faults", o->data_dir, report.faults);
	store_lmdb_report_release(&report);
	return r;
}

const struct command cmd_store_check = {
	.name = "check",
	.summary = "verify that a store is intact",
	.about = "Reads all objects and their history, and verifies the references between them. "
		 "Prints a summary, and fails if something is wrong. The server can keep running. "
		 "If a server was killed and has left writes in its journal, start it or make a "
		 "backup first.",
	.examples = "devplane store check --data-dir /var/lib/devplane\n"
		    "devplane store check -d /var/lib/devplane -o json",
	.flags = flags,
	.options_size = sizeof(struct check_options),
	.run = check_run,
};
