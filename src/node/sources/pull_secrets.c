/*
 * A keyring is a JSON object from registry to credentials; in the newer of the two formats it is
 * below "auths". Its keys are hosts with an optional port and path, sometimes written as URLs. A
 * label of the host may be "*".
 */
#include "node/sources/pull_secrets.h"

#include "base/text/base64.h"
#include "node/runtime/cri_image.h"
#include "node/sources/sources.h"

/* A registry's host with its port, and a path that begins with '/' or is empty. */
struct place {
	struct str host, path;
};

static struct str without(struct str s, const char *prefix)
{
	return str_starts(s, str_from(prefix)) ? str_skip(s, strlen(prefix)) : s;
}

static struct place pull_secrets_split(struct str s)
{
	ptrdiff_t slash;

	s = without(without(s, "https://"), "http://");
	slash = str_chr(s, '/');
	if (slash < 0)
		return (struct place){ s, STR("") };
	return (struct place){ str_of(s.p, (size_t)slash),
			       str_of(s.p + slash, s.n - (size_t)slash) };
}

static bool label_matches(struct str pattern, struct str label)
{
	ptrdiff_t star = str_chr(pattern, '*');

	if (star < 0)
		return str_eq(pattern, label);
	return label.n + 1 >= pattern.n && str_starts(label, str_of(pattern.p, (size_t)star)) &&
	       str_ends(label, str_skip(pattern, (size_t)star + 1));
}

static bool host_matches(struct str pattern, struct str host)
{
	struct str a, b;
	bool more;

	if (str_eqz(pattern, "index.docker.io"))
		pattern = STR("docker.io");
	do {
		more = str_split(&pattern, '.', &a);
		if (more != str_split(&host, '.', &b))
			return false;
		if (more && !label_matches(a, b))
			return false;
	} while (more);
	return true;
}

/* "/v1/" and "/v2/" at the beginning of an entry's path belong to the API, not to the image. */
static struct place pull_secrets_entry_of(struct str key)
{
	struct place e = pull_secrets_split(key);

	if (str_starts(e.path, STR("/v1/")) || str_starts(e.path, STR("/v2/")))
		e.path = str_skip(e.path, strlen("/v1"));
	if (str_eqz(e.path, "/"))
		e.path = STR("");
	return e;
}

/* "user:password" in base64, used if the two are not given separately. */
static void read_auth(const struct json *entry, struct arena *a, struct runtime_auth *ret)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(64 * 1024);
	struct str rest, user;

	ret->username = json_text_at(entry, "username");
	ret->password = json_text_at(entry, "password");
	ret->identity_token = json_text_at(entry, "identitytoken");
	ret->registry_token = json_text_at(entry, "registrytoken");
	if (ret->username.n > 0 ||
	    base64_decode(&plain, json_text_at(entry, "auth"), BASE64_STD, NULL) < 0)
		return;
	rest = arena_str(a, buf_str(&plain));
	if (str_split(&rest, ':', &user)) {
		ret->username = user;
		ret->password = rest;
	}
}

static const struct json *best_entry(const struct json *keyring, const struct place *w)
{
	const struct json *best = NULL;
	size_t longest = 0;

	JSON_FOREACH (it, keyring) {
		struct place e = pull_secrets_entry_of(json_key(it));

		if (e.host.n + e.path.n > longest && host_matches(e.host, w->host) &&
		    str_starts(w->path, e.path)) {
			best = it;
			longest = e.host.n + e.path.n;
		}
	}
	return best;
}

static struct json *keyring_of(const struct json *secret, struct arena *a)
{
	const struct json *data = json_getz(secret, "data");
	bool old = str_eqz(json_text_at(secret, "type"), "kubernetes.io/dockercfg");
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * 1024 * 1024);
	struct json *tree = NULL;

	if (base64_decode(&text, json_text_at(data, old ? ".dockercfg" : ".dockerconfigjson"),
			  BASE64_STD, NULL) < 0 ||
	    json_parse(a, arena_str(a, buf_str(&text)), NULL, &tree, NULL) < 0)
		return NULL;
	return old ? tree : json_getz(tree, "auths");
}

bool pull_secrets_find(const struct sources *s, const struct pod *pod, struct str image,
		       struct arena *a, struct runtime_auth *ret_auth)
{
	struct str full;
	struct place w;

	if (cri_image_full(image, a, &full, NULL) < 0)
		return false;
	w = pull_secrets_split(full);
	JSON_FOREACH (it, json_getz(pod->spec, "imagePullSecrets")) {
		struct json *secret = sources_secret(s, pod->ns, json_text_at(it, "name"), a);
		const struct json *entry = best_entry(keyring_of(secret, a), &w);

		if (!entry)
			continue;
		read_auth(entry, a, ret_auth);
		ret_auth->server_address = w.host;
		return true;
	}
	return false;
}
