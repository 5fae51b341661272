/*
 * `devplane delete`: deletes objects by name or by manifest, and waits until they are gone. It
 * first sends all deletions and then waits, so that an object that blocks another does not block
 * us. An object that is created again under the same name has another uid, and is not waited for.
 */
#include "base/json/json.h"
#include "cli/commands/commands.h"
#include "cli/connect/kube.h"
#include "cli/connect/manifest.h"
#include "cli/connect/object_args.h"
#include "client/api/discovery.h"

enum { LOOK_FIRST_MS = 10, LOOK_MAX_MS = 500 };

struct delete_options {
	struct kube_options kube;
	struct flag_list files;
	const char *output;
	int64_t grace, timeout;
	bool ignore_not_found, wait, now;
};

static const struct flag flags[] = {
	{ "filename", 'f', FLAG_REPEAT(struct delete_options, files), .arg = "FILE",
	  .help = "delete the objects in this manifest or folder; - is standard input; may be "
		  "repeated" },
	{ "ignore-not-found", 0, FLAG_BOOL(struct delete_options, ignore_not_found),
	  .help = "do not fail if an object does not exist" },
	{ "grace-period", 0, FLAG_INT(struct delete_options, grace), .arg = "SECONDS",
	  .initial = "-1", .min = -1, .max = INT32_MAX,
	  .help = "time for a pod to terminate, in seconds; -1: the pod's own grace period" },
	{ "now", 0, FLAG_BOOL(struct delete_options, now), .help = "the same as --grace-period 1" },
	{ "wait", 0, FLAG_BOOL(struct delete_options, wait), .initial = "true",
	  .help = "wait until the objects are gone" },
	{ "timeout", 0, FLAG_DURATION(struct delete_options, timeout), .arg = "TIME",
	  .initial = "0s", .max = 86400 * CLOCK_SEC, .seconds = true,
	  .help = "how long to wait for each object; 0: no limit" },
	{ "output", 'o', FLAG_STRING(struct delete_options, output), .choices = "name",
	  .help = "print only names" },
	KUBE_FLAGS(struct delete_options, kube),
	{ NULL },
};

/* A deleted object. Texts are in the run's arena. */
struct doomed {
	struct resource resource;
	struct str word; /* "pod" */
	struct str ns, name, uid;
};

struct deletion {
	struct cli *cli;
	const struct delete_options *options;
	struct kube kube;
	VEC(struct doomed) doomed;
	size_t asked, failed;
};

/* --- deleting -------------------------------------------------------------------------------- */

static void delete_say(struct deletion *d, const struct doomed *o)
{
	if (d->options->output)
		(void)fprintf(d->cli->out, "%.*s/%.*s\n", STR_ARG(o->word), STR_ARG(o->name));
	else
		(void)fprintf(d->cli->out, "%.*s \"%.*s\" deleted\n", STR_ARG(o->word),
			      STR_ARG(o->name));
	(void)fflush(d->cli->out);
}

/* The uid of an object; if the reply is a Status, of the object that it describes. */
static struct str uid_of(const struct json *answer)
{
	struct str uid = json_text_at(json_getz(answer, "metadata"), "uid");

	return uid.n > 0 ? uid : json_text_at(json_getz(answer, "details"), "uid");
}

static int delete_one(struct deletion *d, struct doomed *o, struct error *err)
{
	const struct delete_options *opts = d->options;
	struct client_delete_opts how = { .propagation = "Background",
					  .has_grace = opts->grace >= 0 || opts->now,
					  .grace_s = opts->now ? 1 : opts->grace };
	struct kube_target t = { .resource = &o->resource,
				 .name = { .ns = o->ns, .name = o->name } };
	struct json *answer = NULL;
	int r = kube_delete(&d->kube, &t, &how, &answer, err);

	if (r == -ERR_NOT_FOUND && opts->ignore_not_found)
		return 0;
	if (r < 0)
		return r;
	o->uid = uid_of(answer);
	(void)vec_push(&d->doomed, *o);
	delete_say(d, o);
	return 0;
}

/* `ns` is the namespace in the manifest `where`, if there is one. */
static void delete_named(struct deletion *d, const struct discovery_resource *type, struct str ns,
			 struct str name, const char *where)
{
	struct arena *a = &d->cli->arena;
	struct doomed o = { .resource = resource_copy(a, &type->resource),
			    .word = object_args_word(a, type),
			    .name = name };
	struct error err;

	d->asked++;
	if (kube_namespace(&d->kube, &d->options->kube, &o.resource, ns, &o.ns, &err) == 0 &&
	    delete_one(d, &o, &err) == 0)
		return;
	d->failed++;
	if (where)
		cli_complain(d->cli, "%s: %.*s/%.*s: %s", where, STR_ARG(o.word), STR_ARG(name),
			     err.msg);
	else
		cli_complain(d->cli, "%.*s/%.*s: %s", STR_ARG(o.word), STR_ARG(name), err.msg);
}

static int delete_args(struct deletion *d, struct error *err)
{
	struct object_args args;
	int r = object_args_parse(&d->kube, &d->cli->operands, &args, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < args.n; i++)
		if (args.v[i].name.n == 0)
			return cli_bad_usage(d->cli, err, "name the objects to delete");
	for (size_t i = 0; i < args.n; i++)
		delete_named(d, args.v[i].type, STR_NULL, args.v[i].name, NULL);
	return 0;
}

static void delete_item(struct deletion *d, const struct manifest_item *item)
{
	const struct discovery_resource *type;
	const struct json *meta = json_getz(item->tree, "metadata");
	struct error err = item->err;
	int r = item->tree ? kube_kind(&d->kube, json_text_at(item->tree, "apiVersion"),
				       json_text_at(item->tree, "kind"), &type, &err)
			   : -1;

	if (r == 0) {
		delete_named(d, type, json_text_at(meta, "namespace"), json_text_at(meta, "name"),
			     item->where);
		return;
	}
	d->asked++;
	/* If the kind is not served, the object does not exist. */
	if (r == -ERR_NOT_FOUND && d->options->ignore_not_found)
		return;
	d->failed++;
	cli_complain(d->cli, "%s: %s", item->where, err.msg);
}

static void delete_files(struct deletion *d)
{
	struct manifest m;

	manifest_read(&m, &d->cli->arena, &d->options->files);
	for (size_t i = 0; i < m.items.n; i++)
		delete_item(d, &m.items.v[i]);
	manifest_release(&m);
}

/* --- waiting --------------------------------------------------------------------------------- */

static bool delete_is_gone(struct deletion *d, const struct doomed *o, int *ret_failure,
			   struct error *err)
{
	struct kube_query q = { .resource = &o->resource, .ns = o->ns, .name = o->name };
	struct arena scratch, *was = d->kube.arena;
	struct json *live = NULL;
	bool gone;
	int r;

	arena_init(&scratch, d->cli->arena.max);
	d->kube.arena = &scratch;
	r = kube_read(&d->kube, &q, &live, err);
	gone = r == -ERR_NOT_FOUND || (r == 0 && o->uid.n > 0 && !str_eq(uid_of(live), o->uid));
	*ret_failure = r == -ERR_NOT_FOUND ? 0 : r;
	d->kube.arena = was;
	arena_release(&scratch);
	return gone;
}

static int delete_wait_for(struct deletion *d, const struct doomed *o, struct error *err)
{
	int64_t begin = clock_monotonic(clock_system()), pause = LOOK_FIRST_MS;
	int r;

	while (!delete_is_gone(d, o, &r, err)) {
		if (r < 0)
			return r;
		if (d->options->timeout > 0 &&
		    clock_monotonic(clock_system()) - begin > d->options->timeout)
			return error_set(err, ERR_TIMEOUT,
					 "%.*s/%.*s still exists; its metadata.finalizers name "
					 "what blocks the deletion",
					 STR_ARG(o->word), STR_ARG(o->name));
		kube_pause(&d->kube, pause);
		pause = MIN(pause * 2, LOOK_MAX_MS);
	}
	return 0;
}

/* --- the command ----------------------------------------------------------------------------- */

static int delete_all(struct deletion *d, struct error *err)
{
	bool files = d->options->files.n > 0;
	int r = 0;

	if (files == (d->cli->operands.n > 0))
		return cli_bad_usage(d->cli, err,
				     files ? "names and -f exclude each other"
					   : "name the objects to delete: TYPE NAME.., TYPE/NAME.. "
					     "or -f FILE");
	r = kube_open(&d->kube, d->cli, &d->options->kube, err);
	if (r == 0 && files)
		delete_files(d);
	else if (r == 0)
		r = delete_args(d, err);
	for (size_t i = 0; r == 0 && d->options->wait && i < d->doomed.n; i++)
		r = delete_wait_for(d, &d->doomed.v[i], err);
	/* The failure of a single object was reported: one message is enough. */
	if (r == 0 && d->failed > 0 && d->asked == 1)
		d->cli->status = CLI_FAILURE;
	else if (r == 0 && d->failed > 0)
		r = error_set(err, ERR_INVALID, "%zu of %zu objects could not be deleted",
			      d->failed, d->asked);
	return r;
}

static int delete_run(struct cli *cli, struct error *err)
{
	struct deletion d = { .cli = cli, .options = cli->options };
	int r;

	vec_init(&d.doomed, SIZE_MAX / sizeof(struct doomed));
	r = delete_all(&d, err);
	kube_close(&d.kube);
	vec_release(&d.doomed);
	return r;
}

const struct command cmd_delete = {
	.name = "delete",
	.summary = "delete objects",
	.usage = "TYPE NAME.. | TYPE/NAME.. | -f FILE [FLAGS]",
	.about = "Deletes objects by name, or the objects in manifests, and waits until they are "
		 "gone. If one fails, the others are still deleted, and the exit code is 1.",
	.examples = "  devplane delete pod web\n"
		    "  devplane delete pod/web resourceclaim/gpu --now\n"
		    "  devplane delete -f manifests/ --ignore-not-found --wait=false\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct delete_options),
	.operands_max = COMMAND_ANY,
	.types = true,
	.run = delete_run,
};
