/*
 * struct error holds only the beginning of a conflict's message; the server's reply has all of it.
 * A dry run cannot hand anything over. If only managers are in the way whose fields would have
 * been handed over, it forces the apply instead. That shows the same result, except for fields
 * that would be removed.
 */
#include "cli/apply/server.h"

#include "api/managed/client_side.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "cli/connect/manifest.h"
#include "cli/program/cli.h"

#define NAMED_MAX 10UL /* fields that a warning names */

static int send_tree(const struct apply_server *s, bool force, struct json **ret_object,
		     struct error *err)
{
	struct kube_target t = s->target;

	if (force)
		t.query = str_from(
			arena_printf(s->kube->arena, "%.*s&force=true", STR_ARG(t.query)));
	s->kube->refusal = STR_NULL;
	return kube_patch(s->kube, &t, CLIENT_PATCH_APPLY, s->tree, ret_object, err);
}

/* --- conflicts ------------------------------------------------------------------------------- */

/* The conflicts of the last reply, as a list; NULL if the reply was about something else. */
static struct json *causes_of(struct apply_server *s)
{
	struct json *status = NULL, *causes;
	struct error ignored;

	if (json_parse(s->kube->arena, s->kube->refusal, NULL, &status, &ignored) < 0)
		return NULL;
	causes = json_getz(json_getz(status, "details"), "causes");
	if (!str_eq(json_text_at(json_first(causes), "reason"), STR("FieldManagerConflict")))
		return NULL;
	s->conflict = arena_strdup(s->kube->arena, json_text_at(status, "message"));
	return causes;
}

/* The manager's name in: conflict with "NAME" using v1 */
static struct str rival(const struct json *cause)
{
	struct str rest = json_text_at(cause, "message"), name = STR_NULL;

	if (str_split(&rest, '"', &name))
		(void)str_split(&rest, '"', &name);
	return name;
}

/* Whether the fields of all of these managers will be handed over. */
static bool are_predecessors(const struct json *live, const struct json *causes)
{
	JSON_FOREACH (it, causes) {
		struct str name = rival(it);

		if (name.n == 0 || !client_side_owns(live, name))
			return false;
	}
	return true;
}

/* --- handing over ---------------------------------------------------------------------------- */

static void add_replace(struct arena *a, struct json *patch, const char *path, struct json *value)
{
	struct json *op = json_make_object(a);

	json_put_str(a, op, "op", STR("replace"));
	json_put_str(a, op, "path", str_from(path));
	json_setz(op, "value", value);
	json_append(patch, op);
}

/* Carries the resourceVersion that was read, so that a concurrent write causes a conflict. */
static int write_entries(const struct apply_server *s, struct json *live, struct error *err)
{
	struct arena *a = s->kube->arena;
	struct json *meta = json_getz(live, "metadata"), *patch = json_make_array(a), *ignored;
	struct str version = json_text_at(meta, "resourceVersion");

	add_replace(a, patch, "/metadata/managedFields", json_remove(meta, STR("managedFields")));
	add_replace(a, patch, "/metadata/resourceVersion", json_make_str(a, version));
	return kube_patch(s->kube, &s->target, CLIENT_PATCH_JSON, patch, &ignored, err);
}

/* Returns 1 if something was handed over (*ret_fields), 0 if there was nothing. */
static int server_hand_over(struct apply_server *s, struct json **ret_fields, struct error *err)
{
	struct json *live;
	int r, tries = 0;

	do {
		r = kube_read_target(s->kube, &s->target, &live, err);
		if (r < 0)
			return r;
		*ret_fields = client_side_fields(s->kube->arena, live);
		if (!client_side_hand_over(s->kube->arena, live, s->manager))
			return 0;
		r = write_entries(s, live, err);
	} while (r == -ERR_CONFLICT && ++tries < APPLY_TRIES_MAX);
	s->handed |= r == 0;
	return r < 0 ? r : 1;
}

struct names {
	struct buf text;
	size_t n;
};

static bool server_add_name(void *arg, struct str path)
{
	struct names *names = arg;

	if (names->n++ < NAMED_MAX)
		(void)buf_printf(&names->text, "%s%.*s", names->n > 1 ? ", " : "", STR_ARG(path));
	return true;
}

/*
 * A partial manifest is easily mistaken for a complete one, and removed fields cannot be restored.
 */
static void warn(const struct apply_server *s, const struct json *object, struct json *fields)
{
	struct names lost = { .text = BUF_INIT(MIB) };
	const char *name = manifest_name(s->kube->arena, s->tree);

	client_side_lost(s->kube->arena, object, fields, server_add_name, &lost);
	if (lost.n > NAMED_MAX)
		(void)buf_printf(&lost.text, " and %zu more", lost.n - NAMED_MAX);
	if (lost.n > 0)
		cli_warn(s->kube->cli,
			 "%s was applied on the client's side: what the manifest does not have %s: "
			 "%.*s",
			 name, s->dry_run ? "would be removed, too" : "was removed",
			 STR_ARG(buf_str(&lost.text)));
	else if (s->dry_run)
		cli_warn(s->kube->cli,
			 "%s was applied on the client's side: its fields would be handed over to "
			 "\"%.*s\"",
			 name, STR_ARG(s->manager));
	buf_release(&lost.text);
}

/* --- applying -------------------------------------------------------------------------------- */

/*
 * Resolves a conflict if only managers are in the way whose fields are handed over; otherwise the
 * rejection stands.
 */
static int overcome(struct apply_server *s, const struct json *causes, struct json **ret_object,
		    struct error *err)
{
	struct str refusal = s->kube->refusal;
	struct json *live = NULL, *fields = NULL;
	struct error why;
	int r = kube_read_target(s->kube, &s->target, &live, &why);

	if (r == 0)
		r = are_predecessors(live, causes);
	if (r > 0 && !s->dry_run)
		r = server_hand_over(s, &fields, &why);
	if (r <= 0) {
		s->kube->refusal = refusal;
		return -ERR_CONFLICT;
	}
	r = send_tree(s, s->dry_run, ret_object, err);
	if (r == 0 && fields)
		warn(s, *ret_object, fields);
	return r;
}

static void clean_up_dry(struct apply_server *s, const struct json *object)
{
	struct json *fields = client_side_fields(s->kube->arena, object);

	if (!fields)
		return;
	s->handed = true;
	warn(s, object, fields);
}

/* The object has been applied, whatever happens here. */
static void clean_up(struct apply_server *s, struct json **object)
{
	const char *name = manifest_name(s->kube->arena, s->tree);
	struct json *fields = NULL;
	struct error err;
	int r;

	if (!client_side_owns(*object, STR_NULL))
		return;
	r = server_hand_over(s, &fields, &err);
	if (r < 0)
		cli_warn(s->kube->cli,
			 "%s was applied, but not what client-side apply set before handed over: "
			 "%s; apply it again",
			 name, err.msg);
	if (r <= 0)
		return;
	r = send_tree(s, s->force, object, &err);
	if (r < 0)
		cli_warn(
			s->kube->cli,
			"%s was applied, and what client-side apply set before handed over, but "
			"what the manifest does not have could not be removed: %s; apply the whole "
			"manifest",
			name, err.msg);
	else
		warn(s, *object, fields);
}

int apply_server(struct apply_server *s, struct json **ret_object, struct error *err)
{
	bool whole = s->target.name.subresource.n == 0;
	struct json *object = NULL, *causes;
	int r = send_tree(s, s->force, &object, err);

	if (r == -ERR_CONFLICT && whole && (causes = causes_of(s)))
		r = overcome(s, causes, &object, err);
	s->conflict = NULL;
	if (r == -ERR_CONFLICT)
		(void)causes_of(s); /* of the last rejection */
	if (r < 0)
		return r;
	if (whole && s->dry_run)
		clean_up_dry(s, object);
	else if (whole)
		clean_up(s, &object);
	*ret_object = object;
	return 0;
}
