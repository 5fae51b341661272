/*
 * Parsed line by line: a line that begins with a tab belongs to the role above it.
 */
#include "server/authz/policy_table.h"

#include "base/core/compiler.h"

#define WORDS_MAX 64

struct reader {
	struct arena *arena;
	struct json *objects;
	struct json *role; /* the role that following rule lines belong to */
	struct str words[WORDS_MAX];
	size_t n;
};

static struct json *text(struct reader *r, struct str s)
{
	return json_make_str(r->arena, s);
}

static struct json *child(struct reader *r, struct json *object, const char *key)
{
	struct json *v = json_getz(object, key);

	if (!v) {
		v = json_make_object(r->arena);
		json_setz(object, key, v);
	}
	return v;
}

static struct json *list(struct reader *r, struct json *object, const char *key)
{
	struct json *v = json_getz(object, key);

	if (!v) {
		v = json_make_array(r->arena);
		json_setz(object, key, v);
	}
	return v;
}

/* Splits at the first `sep`; returns false if there is no `sep`. */
static bool policy_table_cut(struct str s, char sep, struct str *ret_head, struct str *ret_tail)
{
	ptrdiff_t at = str_chr(s, sep);

	if (at < 0)
		return false;
	*ret_head = str_of(s.p, (size_t)at);
	*ret_tail = str_skip(s, (size_t)at + 1);
	return true;
}

static bool add_pair(struct reader *r, struct json *object, struct str word)
{
	struct str key, value;

	if (!policy_table_cut(word, '=', &key, &value))
		return false;
	json_set(object, key, text(r, value));
	return true;
}

/* The common fields: kind, name, and the labels of our own objects. */
static struct json *object_new(struct reader *r, const char *kind, bool namespaced)
{
	struct json *object = json_make_object(r->arena), *meta;
	struct str ns, name = r->words[1];

	json_setz(object, "apiVersion", text(r, STR("rbac.authorization.k8s.io/v1")));
	json_setz(object, "kind", text(r, str_from(kind)));
	meta = child(r, object, "metadata");
	if (namespaced) {
		if (!policy_table_cut(name, '/', &ns, &name))
			return NULL;
		json_setz(meta, "namespace", text(r, ns));
	}
	json_setz(meta, "name", text(r, name));
	json_setz(child(r, meta, "labels"), "kubernetes.io/bootstrapping",
		  text(r, STR("rbac-defaults")));
	json_setz(child(r, meta, "annotations"), "rbac.authorization.kubernetes.io/autoupdate",
		  text(r, STR("true")));
	json_append(r->objects, object);
	return object;
}

static bool read_role(struct reader *r, const char *kind, bool namespaced)
{
	r->role = object_new(r, kind, namespaced);
	if (!r->role)
		return false;
	(void)list(r, r->role, "rules");
	for (size_t i = 2; i < r->n; i++)
		if (!add_pair(r, json_getz(json_getz(r->role, "metadata"), "labels"), r->words[i]))
			return false;
	return true;
}

static bool add_subject(struct reader *r, struct json *object, struct str word)
{
	struct json *subject = json_make_object(r->arena);
	struct str kind, name, ns;

	if (!policy_table_cut(word, ':', &kind, &name))
		return false;
	if (str_eq(kind, STR("account"))) {
		json_setz(subject, "kind", text(r, STR("ServiceAccount")));
		if (!policy_table_cut(name, '/', &ns, &name))
			return false;
		json_setz(subject, "namespace", text(r, ns));
	} else if (str_eq(kind, STR("user")) || str_eq(kind, STR("group"))) {
		json_setz(subject, "kind", text(r, kind.p[0] == 'u' ? STR("User") : STR("Group")));
		json_setz(subject, "apiGroup", text(r, STR("rbac.authorization.k8s.io")));
	} else {
		return false;
	}
	json_setz(subject, "name", text(r, name));
	json_append(list(r, object, "subjects"), subject);
	return true;
}

static bool read_binding(struct reader *r, const char *kind, bool namespaced)
{
	struct json *object = object_new(r, kind, namespaced), *ref;
	struct str role_kind, role;

	r->role = NULL;
	if (!object || r->n < 3 || !policy_table_cut(r->words[2], ':', &role_kind, &role))
		return false;
	ref = child(r, object, "roleRef");
	json_setz(ref, "apiGroup", text(r, STR("rbac.authorization.k8s.io")));
	json_setz(ref, "kind",
		  text(r, str_eqz(role_kind, "role") ? STR("Role") : STR("ClusterRole")));
	json_setz(ref, "name", text(r, role));
	for (size_t i = 3; i < r->n; i++)
		if (!add_subject(r, object, r->words[i]))
			return false;
	return true;
}

static void policy_table_add_list(struct reader *r, struct json *rule, const char *key,
				  struct str words)
{
	struct json *v = list(r, rule, key);
	struct str piece;

	while (str_split(&words, ',', &piece))
		json_append(v, text(r, str_eqz(piece, "core") ? STR("") : piece));
}

static bool read_rule(struct reader *r)
{
	struct json *rule = json_make_object(r->arena);

	if (!r->role || r->n < 2)
		return false;
	if (str_eqz(r->words[0], "aggregate")) {
		struct json *selector = json_make_object(r->arena);

		json_append(list(r, child(r, r->role, "aggregationRule"), "clusterRoleSelectors"),
			    selector);
		return add_pair(r, child(r, selector, "matchLabels"), r->words[1]);
	}
	if (r->n < 3)
		return false;
	if (str_eqz(r->words[1], "url")) {
		policy_table_add_list(r, rule, "nonResourceURLs", r->words[2]);
	} else {
		policy_table_add_list(r, rule, "apiGroups", r->words[1]);
		if (r->n > 3)
			policy_table_add_list(r, rule, "resourceNames", r->words[3]);
		policy_table_add_list(r, rule, "resources", r->words[2]);
	}
	policy_table_add_list(r, rule, "verbs", r->words[0]);
	json_append(list(r, r->role, "rules"), rule);
	return true;
}

static const struct {
	const char *word, *kind;
	bool (*read)(struct reader *r, const char *kind, bool namespaced);
	bool namespaced;
} heads[] = {
	{ "clusterrole", "ClusterRole", read_role, false },
	{ "role", "Role", read_role, true },
	{ "clusterrolebinding", "ClusterRoleBinding", read_binding, false },
	{ "rolebinding", "RoleBinding", read_binding, true },
};

static bool read_line(struct reader *r, struct str line)
{
	bool inner = line.n && line.p[0] == '\t';
	struct str word;

	r->n = 0;
	line = str_trim(line);
	while (str_split(&line, ' ', &word)) {
		if (r->n == WORDS_MAX)
			return false;
		r->words[r->n++] = word;
	}
	if (inner)
		return read_rule(r);
	for (size_t i = 0; r->n > 1 && i < ARRAY_SIZE(heads); i++)
		if (str_eqz(r->words[0], heads[i].word))
			return heads[i].read(r, heads[i].kind, heads[i].namespaced);
	return false;
}

int policy_table_parse(struct arena *a, struct str source, struct json **ret_objects,
		       struct error *err)
{
	struct reader r = { .arena = a, .objects = json_make_array(a) };
	struct str line;

	while (str_split(&source, '\n', &line))
		if (line.n && !read_line(&r, line))
			return error_set(err, ERR_INVALID, "policy: cannot read \"%.*s\"",
					 STR_ARG(line));
	*ret_objects = r.objects;
	return 0;
}

struct json *policy_table_rules(struct arena *a, struct str name)
{
	struct json *objects = NULL;

	(void)policy_table_parse(a, str_from(policy_text), &objects, NULL);
	JSON_FOREACH (it, objects) {
		if (str_eq(json_text_at(json_getz(it, "metadata"), "name"), name))
			return json_getz(it, "rules");
	}
	return NULL;
}
