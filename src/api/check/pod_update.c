/*
 * The fields of a pod that may change once it exists: very few, and each subresource has its own.
 * The two specs are compared member by member, so that the error can name what changed.
 */
#include "api/api_limits.h"
#include "api/check/pod.h"

static bool is_one_of(struct str name, const char *const *names)
{
	for (; *names; names++) {
		if (str_eqz(name, *names))
			return true;
	}
	return false;
}

static bool pod_update_same(const struct json *a, const struct json *b)
{
	if (validate_is_unset(a) || validate_is_unset(b))
		return validate_is_unset(a) && validate_is_unset(b);
	return json_equal(a, b);
}

/* Whether two objects are equal except for the named members. */
static bool same_but(const struct json *a, const struct json *b, const char *const *but)
{
	JSON_FOREACH (member, a) {
		if (!is_one_of(json_key(member), but) &&
		    !pod_update_same(member, json_get(b, json_key(member))))
			return false;
	}
	JSON_FOREACH (member, b) {
		if (!is_one_of(json_key(member), but) && !json_get(a, json_key(member)) &&
		    !validate_is_unset(member))
			return false;
	}
	return true;
}

static bool same_containers(const struct json *containers, const struct json *old,
			    const char *const *but)
{
	const struct json *other = json_first(old);

	JSON_FOREACH (container, containers) {
		if (!other || !same_but(container, other, but))
			return false;
		other = other->next;
	}
	return !other;
}

/* Members of the spec, and of its containers, that one kind of write may change. */
struct part {
	const char *spec[6], *container[3];
	const char *words;
};

#define UPDATABLE                                                                  \
	"pod updates may not change fields other than `spec.containers[*].image`," \
	"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"             \
	"`spec.tolerations` (only additions to existing tolerations),"             \
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was " \
	"previously negative)"

static const struct part main_part = {
	.spec = { "activeDeadlineSeconds", "schedulingGates", "tolerations" },
	.container = { "image" },
	.words = UPDATABLE,
};

static const struct part ephemeral_part = {
	.spec = { "ephemeralContainers" },
	.words = "pod updates may not change fields other than `spec.ephemeralContainers`",
};

static const struct part resize_part = {
	.spec = { "resources" },
	.container = { "resources", "resizePolicy" },
	.words = "only cpu and memory resources are mutable",
};

/* Pods with scheduling gates may still change where they run. */
static const struct part gated_part = {
	.spec = { "activeDeadlineSeconds", "schedulingGates", "tolerations", "nodeSelector",
		  "affinity" },
	.container = { "image" },
	.words = UPDATABLE,
};

/* Appends the names of members that changed and must not. */
static void list_changes(const struct json *spec, const struct json *old, const struct part *part,
			 struct buf *out)
{
	JSON_FOREACH (member, spec) {
		struct str key = json_key(member);
		const struct json *stored = json_get(old, key);
		bool fine;

		if (str_eqz(key, "containers") || str_eqz(key, "initContainers"))
			fine = same_containers(member, stored, part->container);
		else
			fine = is_one_of(key, part->spec) || pod_update_same(member, stored);
		if (!fine)
			(void)buf_printf(out, "%sspec.%.*s", out->n ? ", " : "", STR_ARG(key));
	}
	JSON_FOREACH (member, old) {
		struct str key = json_key(member);

		if (!json_get(spec, key) && !validate_is_unset(member) &&
		    !is_one_of(key, part->spec))
			(void)buf_printf(out, "%sspec.%.*s", out->n ? ", " : "", STR_ARG(key));
	}
}

static bool check_container_number(struct validation *v, const struct json *spec,
				   const struct json *old, const char *name)
{
	struct field_path root = field_path_name(NULL, "spec");
	struct field_path at = field_path_name(&root, name);

	if (json_count(json_getz(spec, name)) == json_count(json_getz(old, name)))
		return true;
	field_errors_forbidden(v->errs, &at, "pod updates may not add or remove containers");
	return false;
}

static void check_deadline(struct validation *v, const struct json *spec, const struct json *old,
			   const struct field_path *path)
{
	struct field_path at = field_path_name(path, "activeDeadlineSeconds");
	int64_t now = 0, before = 0;
	bool has = json_i64(json_getz(spec, "activeDeadlineSeconds"), &now);
	bool had = json_i64(json_getz(old, "activeDeadlineSeconds"), &before);

	if (had && !has)
		field_errors_invalid(v->errs, &at, FIELD_JSON(STR("null")),
				     "must not update from a positive integer to nil value");
	else if (had && now > before)
		field_errors_invalid(v->errs, &at, FIELD_I64(now),
				     "must be less than or equal to previous value");
}

/*
 * Makes a key of a toleration without its duration. JSON text cannot contain the separating byte.
 */
static struct str tolerated(struct arena *a, const struct json *toleration)
{
	return str_from(arena_printf(a, "%.*s\xff%.*s\xff%.*s\xff%.*s",
				     STR_ARG(json_text_at(toleration, "key")),
				     STR_ARG(json_text_at(toleration, "operator")),
				     STR_ARG(json_text_at(toleration, "value")),
				     STR_ARG(json_text_at(toleration, "effect"))));
}

/* Tolerations may be added, and their duration may change. */
static void check_tolerations(struct validation *v, const struct json *spec, const struct json *old,
			      const struct field_path *path)
{
	CLEANUP(map_release) struct map has;
	struct field_path at = field_path_name(path, "tolerations");

	map_init(&has);
	JSON_FOREACH (toleration, json_getz(spec, "tolerations"))
		(void)map_put(&has, tolerated(v->arena, toleration), toleration);
	JSON_FOREACH (toleration, json_getz(old, "tolerations")) {
		if (map_get(&has, tolerated(v->arena, toleration)))
			continue;
		field_errors_forbidden(v->errs, &at,
				       "existing toleration can not be modified except its "
				       "tolerationSeconds");
		return;
	}
}

static void check_gates(struct validation *v, const struct json *spec, const struct json *old,
			const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index had;
	struct field_path list = field_path_name(path, "schedulingGates");
	size_t i = 0;

	json_index_init(&had, json_getz(old, "schedulingGates"), "name");
	JSON_FOREACH (gate, json_getz(spec, "schedulingGates")) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item, "name");
		struct str name = json_text_at(gate, "name");

		if (!json_index_get(&had, name))
			field_errors_addf(v->errs, FIELD_FORBIDDEN, &at, FIELD_OMITTED,
					  "only deletion is allowed, but found new scheduling gate "
					  "'%.*s'",
					  STR_ARG(name));
	}
}

/* Labels may be added to the selector, but not removed or changed. */
static void check_node_selector_additions(struct validation *v, const struct json *spec,
					  const struct json *old, const struct field_path *path)
{
	struct field_path at = field_path_name(path, "nodeSelector");
	const struct json *selector = json_getz(spec, "nodeSelector");
	CLEANUP(json_index_release) struct json_index labels;

	json_index_init(&labels, selector, NULL);
	JSON_FOREACH (label, json_getz(old, "nodeSelector")) {
		if (pod_update_same(label, json_index_get(&labels, json_key(label))))
			continue;
		field_errors_invalid(
			v->errs, &at, validate_shown(v, selector),
			"only additions to spec.nodeSelector are allowed (no mutations "
			"or deletions)");
		return;
	}
}

static const struct part *part_of(const struct validation *v, const struct json *old)
{
	if (str_eqz(v->subresource, "ephemeralcontainers"))
		return &ephemeral_part;
	if (str_eqz(v->subresource, "resize"))
		return &resize_part;
	return json_count(json_getz(old, "schedulingGates")) ? &gated_part : &main_part;
}

/* The annotation of a mirror pod cannot be added, changed or removed. */
void check_pod_mirror(struct validation *v, const struct json *pod, const struct json *old)
{
	static const struct str key = { "kubernetes.io/config.mirror", 27 };
	struct field_path meta = field_path_name(NULL, "metadata");
	struct field_path list = field_path_name(&meta, "annotations");
	struct field_path at = field_path_key(&list, key);
	const struct json *is = json_get(json_getz(json_getz(pod, "metadata"), "annotations"), key);
	const struct json *was = json_get(json_getz(json_getz(old, "metadata"), "annotations"),
					  key);

	if (was && !json_equal(is, was))
		field_errors_forbidden(v->errs, &at,
				       "may not remove or update mirror pod annotation");
	else if (is && !was)
		field_errors_forbidden(v->errs, &at, "may not add mirror pod annotation");
}

void check_pod_update(struct validation *v, const struct json *pod, const struct json *old_pod)
{
	CLEANUP(buf_release) struct buf changes = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct field_path path = field_path_name(NULL, "spec");
	const struct json *spec = json_getz(pod, "spec"), *old = json_getz(old_pod, "spec");
	const struct part *part = part_of(v, old);

	check_pod_mirror(v, pod, old_pod);
	if (json_equal(spec, old))
		return;
	if (!check_container_number(v, spec, old, "containers") ||
	    !check_container_number(v, spec, old, "initContainers"))
		return;
	check_deadline(v, spec, old, &path);
	check_tolerations(v, spec, old, &path);
	check_gates(v, spec, old, &path);
	if (part == &gated_part)
		check_node_selector_additions(v, spec, old, &path);
	list_changes(spec, old, part, &changes);
	if (changes.n)
		field_errors_addf(v->errs, FIELD_FORBIDDEN, &path, FIELD_OMITTED, "%s\nchanged: %s",
				  part->words, changes.p);
}
