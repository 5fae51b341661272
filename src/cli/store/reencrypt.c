/*
 * `devplane store reencrypt`: has the server write objects again that are sealed with an old key.
 *
 * Each object gets an empty patch. The server writes an object that a write leaves as it is only
 * if it is stored in an old form, so an object that is sealed with the present key costs nothing,
 * and the command may be run again at any time.
 */
#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "cli/program/cli.h"
#include "cli/store/store_dir.h"
#include "client/api/discovery.h"

struct reencrypt_options {
	struct kube_options kube;
};

static const struct flag flags[] = {
	KUBE_FLAGS(struct reencrypt_options, kube),
	{ NULL },
};

struct reencrypt {
	struct cli *cli;
	struct kube kube;
	const struct discovery_resource *type; /* in hand */
	size_t objects, written; /* of it */
	size_t failed; /* of all */
};

static struct str version_of(const struct json *object)
{
	return json_text_at(json_getz(object, "metadata"), "resourceVersion");
}

/* "secrets" or "deployments.apps". */
static const char *reencrypt_word(struct reencrypt *e)
{
	const struct resource *r = &e->type->resource;

	return arena_printf(&e->cli->arena, "%.*s%s%.*s", STR_ARG(r->resource),
			    r->group.n ? "." : "", STR_ARG(r->group));
}

static void reencrypt_one(struct reencrypt *e, const struct json *object)
{
	const struct json *meta = json_getz(object, "metadata");
	struct kube_target t = { .resource = &e->type->resource,
				 .name = { .ns = json_text_at(meta, "namespace"),
					   .name = json_text_at(meta, "name") } };
	struct arena scratch, *was = e->kube.arena;
	struct json *after = NULL;
	struct error err;
	int r;

	arena_init(&scratch, was->max);
	e->kube.arena = &scratch;
	r = kube_patch(&e->kube, &t, CLIENT_PATCH_MERGE, json_make_object(&scratch), &after, &err);
	if (r == 0)
		e->written += !str_eq(version_of(after), version_of(object));
	else if (r != -ERR_NOT_FOUND) /* deleted meanwhile */
		cli_complain(e->cli, "%s %.*s%s%.*s: %s", reencrypt_word(e), STR_ARG(t.name.ns),
			     t.name.ns.n ? "/" : "", STR_ARG(t.name.name), err.msg);
	e->failed += r != 0 && r != -ERR_NOT_FOUND;
	e->kube.arena = was;
	arena_release(&scratch);
}

static int reencrypt_type(struct reencrypt *e, const struct discovery_resource *type,
			  struct error *err)
{
	const struct kube_query q = {
		.resource = &type->resource,
		.accept = STR("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
			      "application/json"),
	};
	struct arena scratch, *was = e->kube.arena;
	struct json *list = NULL;
	int r;

	arena_init(&scratch, was->max);
	e->kube.arena = &scratch;
	e->type = type;
	e->objects = e->written = 0;
	r = kube_read(&e->kube, &q, &list, err);
	JSON_FOREACH (it, r == 0 ? json_getz(list, "items") : NULL) {
		e->objects++;
		reencrypt_one(e, it);
	}
	if (r == 0 && e->objects)
		(void)fprintf(e->cli->out, "%s: wrote %zu of %zu objects\n", reencrypt_word(e),
			      e->written, e->objects);
	(void)fflush(e->cli->out);
	e->kube.arena = was;
	arena_release(&scratch);
	return r < 0 ? error_wrap(err, r, "%s", reencrypt_word(e)) : 0;
}

/* Events have two groups and are stored once. */
static bool reencrypt_is_stored(const struct discovery_resource *t)
{
	const unsigned need = DISCOVERY_LIST | DISCOVERY_PATCH;

	return t->preferred && (t->verbs & need) == need &&
	       !str_eqz(t->resource.group, "events.k8s.io");
}

static int reencrypt_all(struct reencrypt *e, struct error *err)
{
	const struct discovery_resource *v, *any;
	size_t n;
	int r = kube_resource(&e->kube, STR("secrets"), &any, err); /* reads discovery */

	if (r < 0)
		return r;
	v = discovery_resources(e->kube.discovery, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		if (reencrypt_is_stored(&v[i]))
			r = reencrypt_type(e, &v[i], err);
	return r;
}

static int reencrypt_named(struct reencrypt *e, struct error *err)
{
	const struct flag_list *names = &e->cli->operands;
	const struct discovery_resource *type;
	int r = 0;

	for (size_t i = 0; i < names->n && r == 0; i++) {
		r = kube_resource(&e->kube, str_from(names->v[i]), &type, err);
		if (r == 0)
			r = reencrypt_type(e, type, err);
	}
	return r;
}

static int reencrypt_run(struct cli *cli, struct error *err)
{
	const struct reencrypt_options *o = cli->options;
	struct reencrypt e = { .cli = cli };
	int r = kube_open(&e.kube, cli, &o->kube, err);

	if (r == 0)
		r = cli->operands.n ? reencrypt_named(&e, err) : reencrypt_all(&e, err);
	if (r == 0 && e.failed)
		r = error_set(err, ERR_INTERNAL, "%zu objects could not be written", e.failed);
	kube_close(&e.kube);
	return r;
}

const struct command cmd_store_reencrypt = {
	.name = "reencrypt",
	.summary = "encrypt objects again after a change of keys",
	.about =
		"Asks a running server to write each object again that is stored in clear although "
		"it should be encrypted, or is encrypted with an old key. Objects that are up to "
		"date are not written. Name resources, such as secrets or deployments.apps, or "
		"none for all. Run it after you have changed the file of "
		"--encryption-provider-config, and before you remove a key from it. Works with a "
		"server on etcd, too.",
	.usage = "[RESOURCE..] [FLAGS]",
	.examples = "devplane store reencrypt\n"
		    "devplane store reencrypt secrets configmaps",
	.flags = flags,
	.options_size = sizeof(struct reencrypt_options),
	.operands_max = COMMAND_ANY,
	.run = reencrypt_run,
};
