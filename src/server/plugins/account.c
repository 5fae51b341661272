/*
 * The account is parsed only here, when a pod is created. A namespace without a "default"
 * account is not a reason to reject the pod, but has an effect that is as grave: the pod gets no
 * token. So, like a rejection, it is not decided while another server may have created the
 * account.
 */
#include "server/plugins/account.h"

#include "base/core/map.h"
#include "server/admission/request.h"
#include "api/check/pod_refs.h"

#define VOLUME_PREFIX "kube-api-access-"
#define MOUNT_PATH    "/var/run/secrets/kubernetes.io/serviceaccount"

/* 3607 s: by the odd seven upstream recognizes tokens that admission mounted. */
static const char token_volume[] =
	"{\"name\":\"%.*s\",\"projected\":{\"sources\":["
	"{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
	"{\"configMap\":{\"name\":\"kube-root-ca.crt\","
	"\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},"
	"{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\","
	"\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],"
	"\"defaultMode\":420}}";

/* One pod and its account. */
struct admit_account {
	struct arena *arena;
	struct json *spec; /* the pod's */
	const struct json *account;
	struct str name; /* the account's */
};

/* --- the token -------------------------------------------------------------------- */

static bool wants_token(const struct admit_account *t)
{
	bool wants = true;

	if (!json_bool(json_getz(t->spec, "automountServiceAccountToken"), &wants))
		(void)json_bool(json_getz(t->account, "automountServiceAccountToken"), &wants);
	return wants;
}

/* A volume that looks like ours is treated as ours, as upstream does. */
static struct str token_volume_name(const struct json *spec)
{
	JSON_FOREACH (volume, json_getz(spec, "volumes"))
		if (str_starts(json_text_at(volume, "name"), STR(VOLUME_PREFIX)))
			return json_text_at(volume, "name");
	return STR_NULL;
}

static bool has_mount(const struct json *container)
{
	JSON_FOREACH (mount, json_getz(container, "volumeMounts"))
		if (str_eq(json_text_at(mount, "mountPath"), STR(MOUNT_PATH)))
			return true;
	return false;
}

/* Returns whether any container of the list got the mount. */
static bool mount_in(struct admit_account *t, const char *list, struct str volume)
{
	bool any = false;

	JSON_FOREACH (container, json_getz(t->spec, list)) {
		struct json *mount;

		if (has_mount(container))
			continue;
		mount = json_make_object(t->arena);
		json_add(mount, STR("name"), json_make_str(t->arena, volume));
		json_add(mount, STR("readOnly"), json_make_bool(t->arena, true));
		json_add(mount, STR("mountPath"), json_make_str(t->arena, STR(MOUNT_PATH)));
		json_append(json_need_array(t->arena, container, "volumeMounts"), mount);
		any = true;
	}
	return any;
}

/* The same name for each try of the write. */
static struct str new_volume_name(struct admission_request *req)
{
	static const char key;
	struct str *name = admission_memo(req, &key, sizeof(*name));

	if (!name->n)
		*name = arena_str(req->work, write_generate_name(req->write, STR(VOLUME_PREFIX)));
	return *name;
}

static int mount_token(struct admit_account *t, struct admission_request *req, struct error *err)
{
	struct str found = token_volume_name(t->spec);
	struct str name = found.n ? found : new_volume_name(req);
	bool any = mount_in(t, "initContainers", name);
	struct json *volume;
	int r;

	any = mount_in(t, "containers", name) || any;
	if (found.n || !any)
		return 0;
	r = json_parse(t->arena, str_from(arena_printf(t->arena, token_volume, STR_ARG(name))),
		       NULL, &volume, err);
	if (r == 0)
		json_append(json_need_array(t->arena, t->spec, "volumes"), volume);
	return r;
}

/* --- secrets ---------------------------------------------------------------------- */

static void give_pull_secrets(struct admit_account *t)
{
	const struct json *secrets = json_getz(t->account, "imagePullSecrets");
	struct json *list;

	if (!json_count(secrets) || json_count(json_getz(t->spec, "imagePullSecrets")))
		return;
	list = json_need_array(t->arena, t->spec, "imagePullSecrets");
	JSON_FOREACH (secret, secrets) {
		struct json *reference = json_make_object(t->arena);
		struct str name = json_text_at(secret, "name");

		if (name.n)
			json_add(reference, STR("name"), json_make_str(t->arena, name));
		json_append(list, reference);
	}
}

/* As Go's strconv.ParseBool; an unknown value is false. */
static bool is_true(struct str s)
{
	static const char *const words[] = { "1", "t", "T", "TRUE", "true", "True" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eqz(s, words[i]))
			return true;
	return false;
}

static bool is_limited(const struct json *account)
{
	const struct json *annotations = json_getz(json_getz(account, "metadata"), "annotations");

	return is_true(json_text_at(annotations, "kubernetes.io/enforce-mountable-secrets"));
}

/*
 * Adds the names of a list of references. The client's lists may be long, so they are not
 * searched linearly.
 */
static void put_names(struct map *names, const struct json *list)
{
	JSON_FOREACH (it, list) {
		struct str name = json_text_at(it, "name");

		/* An omitted name is the empty one. */
		map_put(names, name.p ? name : STR(""), it);
	}
}

static bool has_name(const struct map *names, struct str name)
{
	return map_get(names, name.p ? name : STR("")) != NULL;
}

/* Checks one container; `sort` is upstream's word for it. */
static int limit_container(const struct admit_account *t, const struct map *secrets,
			   const char *sort, const struct json *container, struct error *err)
{
	struct str name = json_text_at(container, "name");

	JSON_FOREACH (env, json_getz(container, "env")) {
		const struct json *ref = json_getz(json_getz(env, "valueFrom"), "secretKeyRef");

		if (ref && !has_name(secrets, json_text_at(ref, "name")))
			return error_set(err, ERR_FORBIDDEN,
					 "%s %.*s with envVar %.*s referencing "
					 "secret.secretName=\"%.*s\" is not allowed because "
					 "service account %.*s does not reference that secret",
					 sort, STR_ARG(name), STR_ARG(json_text_at(env, "name")),
					 STR_ARG(json_text_at(ref, "name")), STR_ARG(t->name));
	}
	JSON_FOREACH (from, json_getz(container, "envFrom")) {
		const struct json *ref = json_getz(from, "secretRef");

		if (ref && !has_name(secrets, json_text_at(ref, "name")))
			return error_set(err, ERR_FORBIDDEN,
					 "%s %.*s with envFrom referencing "
					 "secret.secretName=\"%.*s\" is not allowed because "
					 "service account %.*s does not reference that secret",
					 sort, STR_ARG(name), STR_ARG(json_text_at(ref, "name")),
					 STR_ARG(t->name));
	}
	return 0;
}

static int limit_containers(const struct admit_account *t, const struct map *secrets,
			    const char *list, const char *sort, struct error *err)
{
	JSON_FOREACH (container, json_getz(t->spec, list)) {
		int r = limit_container(t, secrets, sort, container, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int limit_volumes(const struct admit_account *t, const struct map *secrets,
			 struct error *err)
{
	JSON_FOREACH (volume, json_getz(t->spec, "volumes")) {
		const struct json *source = json_getz(volume, "secret");
		struct str name = json_text_at(source, "secretName");

		if (source && !has_name(secrets, name))
			return error_set(err, ERR_FORBIDDEN,
					 "volume with secret.secretName=\"%.*s\" is not allowed "
					 "because service account %.*s does not reference that "
					 "secret",
					 STR_ARG(name), STR_ARG(t->name));
	}
	return 0;
}

static int limit_pull_secrets(const struct admit_account *t, struct error *err)
{
	CLEANUP(map_release) struct map names;
	size_t i = 0;

	map_init(&names);
	put_names(&names, json_getz(t->account, "imagePullSecrets"));
	JSON_FOREACH (secret, json_getz(t->spec, "imagePullSecrets")) {
		struct str name = json_text_at(secret, "name");

		if (!has_name(&names, name))
			return error_set(err, ERR_FORBIDDEN,
					 "imagePullSecrets[%zu].name=\"%.*s\" is not allowed "
					 "because service account %.*s does not reference that "
					 "imagePullSecret",
					 i, STR_ARG(name), STR_ARG(t->name));
		i++;
	}
	return 0;
}

/* Only the account's own secrets are allowed, in a new pod or in its new `ephemeral` containers. */
static int limit_secrets(const struct admit_account *t, bool ephemeral, struct error *err)
{
	CLEANUP(map_release) struct map secrets;
	int r;

	map_init(&secrets);
	put_names(&secrets, json_getz(t->account, "secrets"));
	if (ephemeral)
		return limit_containers(t, &secrets, "ephemeralContainers", "ephemeral container",
					err);
	r = limit_volumes(t, &secrets, err);
	if (r == 0)
		r = limit_containers(t, &secrets, "initContainers", "init container", err);
	if (r == 0)
		r = limit_containers(t, &secrets, "containers", "container", err);
	return r < 0 ? r : limit_pull_secrets(t, err);
}

/* --- mirror pods ------------------------------------------------------------------ */

static bool projects_token(const struct json *spec)
{
	JSON_FOREACH (volume, json_getz(spec, "volumes"))
		JSON_FOREACH (source, json_getz(json_getz(volume, "projected"), "sources"))
			if (json_getz(source, "serviceAccountToken"))
				return true;
	return false;
}

static int check_mirror(const struct json *pod, struct error *err)
{
	const struct json *spec = json_getz(pod, "spec");

	if (json_text_at(spec, "serviceAccountName").n)
		return error_set(err, ERR_FORBIDDEN,
				 "a mirror pod may not reference service accounts");
	if (pod_refs_has(pod, POD_REFS_SECRET, STR_NULL))
		return error_set(err, ERR_FORBIDDEN, "a mirror pod may not reference secrets");
	if (projects_token(spec))
		return error_set(err, ERR_FORBIDDEN,
				 "a mirror pod may not use ServiceAccountToken volume projections");
	return 0;
}

/* --- pods ------------------------------------------------------------------------- */

static struct object *find_account(struct admission_request *req, struct str name)
{
	return admission_object(req,
				schema_find_resource(STR(""), STR("v1"), STR("serviceaccounts")),
				req->ns, name);
}

static int refuse_missing(struct admission_request *req, struct str name, struct error *err)
{
	return error_set(err, ERR_FORBIDDEN,
			 "error looking up service account %.*s/%.*s: serviceaccount \"%.*s\" not "
			 "found",
			 STR_ARG(req->ns), STR_ARG(name), STR_ARG(name));
}

static int admit_new(struct admission_request *req, struct json *pod, struct error *err)
{
	struct admit_account t = { .arena = req->work, .spec = json_getz(pod, "spec") };
	struct str named = json_text_at(t.spec, "serviceAccountName");
	struct object *object;
	struct json *account;
	int r;

	if (pod_refs_is_mirror(pod))
		return check_mirror(pod, err);
	t.name = named.n ? named : STR("default");
	object = find_account(req, t.name);
	if (!object && !named.n && admission_is_current(req))
		return 0;
	if (!object)
		return refuse_missing(req, t.name, err);
	r = object_tree(object, t.arena, &account, err);
	if (r < 0)
		return r;
	t.account = account;
	if (!named.n) {
		json_put_str(t.arena, t.spec, "serviceAccountName", t.name);
		json_put_str(t.arena, t.spec, "serviceAccount", t.name);
	}
	if (wants_token(&t))
		r = mount_token(&t, req, err);
	if (r < 0)
		return r;
	give_pull_secrets(&t);
	return is_limited(account) ? limit_secrets(&t, false, err) : 0;
}

static int admit_ephemeral(struct admission_request *req, struct json *pod, struct error *err)
{
	struct admit_account t = { .arena = req->work, .spec = json_getz(pod, "spec") };
	struct object *object;
	struct json *account;
	int r;

	t.name = json_text_at(t.spec, "serviceAccountName");
	if (!t.name.n && !pod_refs_is_mirror(pod))
		return 0;
	if (!t.name.n)
		return error_set(err, ERR_FORBIDDEN,
				 "no service account specified for pod %.*s/%.*s", STR_ARG(req->ns),
				 STR_ARG(req->name));
	object = find_account(req, t.name);
	if (!object)
		return refuse_missing(req, t.name, err);
	r = object_tree(object, t.arena, &account, err);
	if (r < 0)
		return r;
	t.account = account;
	return is_limited(account) ? limit_secrets(&t, true, err) : 0;
}

bool admit_account_concerns(const struct admission_request *req)
{
	struct str sub = req->write->subresource;

	return sub.n ? str_eq(sub, STR("ephemeralcontainers")) : req->op == ADMIT_CREATE;
}

int admit_account(struct admission_request *req, const struct json *old, struct json *pod,
		  struct error *err)
{
	int r;

	if (old)
		return admit_ephemeral(req, pod, err);
	r = admit_new(req, pod, err);
	/* Upstream generates the name after admission. */
	if (r < 0 && req->write->generated_from.n)
		req->about.name = req->write->generated_from;
	return r;
}
