/*
 * A keyring is a JSON object from registry to credentials, below "auths" in the newer of the two
 * forms. Its keys are hosts with an optional port and path, sometimes written as URLs; a label of
 * the host may be "*".
 */
#include "node/pull_secrets.h"

#include "base/base64.h"
#include "node/sources.h"

/* What is looked for: "docker.io/library/x:tag" comes to the host docker.io and a path. */
struct wanted {
	struct str host, path;
};

static struct str without(struct str s, const char *prefix)
{
	return str_starts(s, str_from(prefix)) ? str_skip(s, strlen(prefix)) : s;
}

static struct wanted split(struct str s)
{
	ptrdiff_t slash;

	s = without(without(s, "https://"), "http://");
	slash = str_chr(s, '/');
	if (slash < 0)
		return (struct wanted){ s, STR("") };
	return (struct wanted){ str_of(s.p, (size_t)slash),
				str_of(s.p + slash, s.n - (size_t)slash) };
}

/* A first part without a dot or a colon is no host: the image is of docker.io. */
static struct wanted wanted_of(struct str image)
{
	struct wanted w = split(image);

	if (w.path.n > 0 && (str_chr(w.host, '.') >= 0 || str_chr(w.host, ':') >= 0 ||
			     str_eqz(w.host, "localhost")))
		return w;
	return (struct wanted){ STR("docker.io"), image };
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

static bool entry_matches(struct str key, const struct wanted *w)
{
	struct wanted e = split(key);

	if (str_eqz(e.path, "/") || str_eqz(e.path, "/v1/") || str_eqz(e.path, "/v2/"))
		e.path = STR("");
	return host_matches(e.host, w->host) && str_starts(w->path, e.path);
}

/* "user:password" in base64, where the parts are not written apart. */
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

static const struct json *best_entry(const struct json *keyring, const struct wanted *w)
{
	const struct json *best = NULL;

	JSON_FOREACH (it, keyring) {
		if (entry_matches(json_key(it), w) && (!best || it->key_n > best->key_n))
			best = it;
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
	struct wanted w = wanted_of(image);

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
