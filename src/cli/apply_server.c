/*
 * Of a conflict, struct error holds the beginning; all of it is in the server's answer. A dry run
 * cannot hand anything over: where nobody but those is in the way who would have been, it forces,
 * which shows the same result but for fields that would be removed.
 */
#include "cli/apply_server.h"

#include "api/client_side.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/manifest.h"

#define TRIES_MAX 5

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

/* What stands in the way, a list; NULL when the last answer was about something else. */
static struct json *causes_of(const struct apply_server *s, const char **ret_message)
{
	struct json *status = NULL, *causes;
	struct error ignored;

	if (json_parse(s->kube->arena, s->kube->refusal, NULL, &status, &ignored) < 0)
		return NULL;
	causes = json_getz(json_getz(status, "details"), "causes");
	if (!str_eq(json_text_at(json_first(causes), "reason"), STR("FieldManagerConflict")))
		return NULL;
	*ret_message = arena_strdup(s->kube->arena, json_text_at(status, "message"));
	return causes;
}

/* The manager's name of: conflict with "NAME" using v1 */
static struct str rival(const struct json *cause)
{
	struct str rest = json_text_at(cause, "message"), name = STR_NULL;

	if (str_split(&rest, '"', &name))
		(void)str_split(&rest, '"', &name);
	return name;
}

/* Whether all of them will be handed over. */
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

static int read_live(const struct apply_server *s, struct json **ret_live, struct error *err)
{
	struct kube_query q = { .resource = s->target.resource,
				.ns = s->target.name.ns,
				.name = s->target.name.name };

	return kube_read(s->kube, &q, ret_live, err);
}

static void add_replace(struct arena *a, struct json *patch, const char *path, struct json *value)
{
	struct json *op = json_make_object(a);

	json_put_str(a, op, "op", STR("replace"));
	json_put_str(a, op, "path", str_from(path));
	json_setz(op, "value", value);
	json_append(patch, op);
}

/* With the resourceVersion that was read: who else writes meanwhile makes it a conflict. */
static int write_entries(const struct apply_server *s, struct json *live, struct error *err)
{
	struct arena *a = s->kube->arena;
	struct json *meta = json_getz(live, "metadata"), *patch = json_make_array(a), *ignored;
	struct str version = json_text_at(meta, "resourceVersion");

	add_replace(a, patch, "/metadata/managedFields", json_remove(meta, STR("managedFields")));
	add_replace(a, patch, "/metadata/resourceVersion", json_make_str(a, version));
	return kube_patch(s->kube, &s->target, CLIENT_PATCH_JSON, patch, &ignored, err);
}

/* 1 when something was handed over, 0 when there was nothing. */
static int hand_over(const struct apply_server *s, struct error *err)
{
	struct json *live;
	int r, tries = 0;

	do {
		r = read_live(s, &live, err);
		if (r < 0)
			return r;
		if (!client_side_hand_over(s->kube->arena, live, s->manager))
			return 0;
		r = write_entries(s, live, err);
	} while (r == -ERR_CONFLICT && ++tries < TRIES_MAX);
	return r < 0 ? r : 1;
}

/* --- applying -------------------------------------------------------------------------------- */

/* Whether a refusal with these causes was overcome; 0 or what came of it. */
static int overcome(struct apply_server *s, const struct json *causes, struct json **ret_object,
		    struct error *err)
{
	struct error was = *err;
	struct json *live = NULL;
	int r = read_live(s, &live, err);

	if (r == 0 && are_predecessors(live, causes)) {
		r = s->dry_run ? 1 : hand_over(s, err);
		if (r > 0)
			return send_tree(s, s->dry_run, ret_object, err);
	}
	*err = was;
	return -ERR_CONFLICT;
}

/* What was applied is applied, whatever comes of this. */
static void clean_up(struct apply_server *s, struct json **object)
{
	struct error err;
	int r;

	if (s->dry_run || s->target.name.subresource.n > 0 || !client_side_owns(*object, STR_NULL))
		return;
	r = hand_over(s, &err);
	if (r > 0)
		r = send_tree(s, s->force, object, &err);
	if (r < 0)
		(void)fprintf(s->kube->cli->err,
			      "Warning: %s was applied, but not what client-side apply set before "
			      "handed over: %s; apply it again\n",
			      manifest_name(s->kube->arena, s->tree), err.msg);
}

int apply_server(struct apply_server *s, struct json **ret_object, struct error *err)
{
	struct json *object = NULL, *causes;
	const char *message = NULL;
	int r = send_tree(s, s->force, &object, err);

	if (r == -ERR_CONFLICT && (causes = causes_of(s, &message))) {
		r = s->target.name.subresource.n > 0 ? r : overcome(s, causes, &object, err);
		if (r == -ERR_CONFLICT)
			s->conflict = message;
	}
	if (r < 0)
		return r;
	clean_up(s, &object);
	*ret_object = object;
	return 0;
}
