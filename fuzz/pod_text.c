/*
 * Texts of pods that the node agent expands or joins: "VARIABLE text" as a variable's value and a
 * command, a path of a volume's file, a redirect. Nothing may be read beyond its end; a file's path
 * never leads out of its volume; a redirect keeps a host and a path.
 */
#include "base/core/limits.h"
#include "node/node_limits.h"
#include "node/probes/run_impl.h"
#include "node/sources/env.h"
#include "node/volumes/payload.h"
#include "node/volumes/subpath.h"
#include "target.h"

static void expand(struct arena *a, struct str text)
{
	struct str rest = text, value = STR_NULL;
	struct runtime_pair v[2] = { { .key = STR("A") }, { .key = STR("EMPTY") } };
	struct runtime_pairs env = { .v = v, .n = 2 };
	struct str out;
	struct error err;

	(void)str_split(&rest, ' ', &value);
	v[0].value = value;
	out = env_expand(rest, &env, a);
	require(out.n <= ENV_VALUE_MAX || out.n == rest.n);
	require(str_chr(rest, '$') >= 0 || str_eq(out, rest));
	if (env_expand_all(rest, &env, a, &out, &err) < 0)
		require(err.msg[0]);
}

static void join(struct arena *a, struct str text)
{
	struct volume_file f = { .path = text, .mode = 0644, .user = -1 };
	struct volume_payload p;
	struct error err;

	volume_payload_init(&p, a);
	if (volume_payload_add(&p, &f, &err) == 0) {
		struct str path = p.files.v[0]->path;

		require(path.n > 0 && path.n <= text.n && path.p[0] != '/');
		require(!str_starts(path, STR("..")) && !volume_subpath_fault(path));
		require(path.p[path.n] == '\0' && str_find(path, STR("//")) < 0);
	} else {
		require(err.msg[0]);
	}
	volume_payload_release(&p);
}

static void redirect(struct arena *a, struct str text)
{
	struct probe_url base = { .host = STR("10.0.0.1"),
				  .authority = STR("10.0.0.1:80"),
				  .port = 80,
				  .target = STR("/a/b?c=/d") };
	struct probe_url u;

	if (!probe_url_resolve(&base, text, a, &u))
		return;
	require(u.host.n > 0 && u.port > 0 && u.target.n > 0 && u.target.p[0] == '/');
	require(probe_url_print(&u, a).n > u.host.n);
}

static void name_field(struct arena *a, struct str text)
{
	CLEANUP(pod_unref) struct pod *pod = NULL;
	struct env_context c = { .pod_ip = STR("1.2.3.4") };
	struct str value = STR_NULL;
	struct error err;

	require(pod_parse(STR("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"labels\":{\"a\":\"b\"}"
			      "}}"),
			  &pod, NULL) == 0);
	if (env_field(pod, text, &c, a, &value, &err) < 0)
		require(err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str text = str_of(data, size);

	arena_init(&a, 64 * MIB);
	expand(&a, text);
	join(&a, text);
	redirect(&a, text);
	name_field(&a, text);
	return 0;
}
