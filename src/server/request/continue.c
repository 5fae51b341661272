/*
 * Continue tokens are upstream's: base64url without padding of a small JSON object, so that a
 * list begun at one server can be continued at another. Upstream writes the key to begin at,
 * which is the last key and a NUL. Callers here use the last key; these two functions add and
 * remove the NUL.
 */
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/json/writer.h"
#include "base/text/base64.h"
#include "server/request/request.h"

struct str request_continue_print(struct arena *a, int64_t revision, struct str key)
{
	CLEANUP(buf_release) struct buf json = BUF_INIT(64 * KIB);
	CLEANUP(buf_release) struct buf token = BUF_INIT(128 * KIB);
	struct json_writer w;
	char *start = arena_alloc(a, key.n + 1);

	str_put(start, key);
	start[key.n] = '\0';
	json_writer_init(&w, &json, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "v");
	json_writer_strz(&w, "meta.k8s.io/v1");
	json_writer_keyz(&w, "rv");
	json_writer_i64(&w, revision);
	json_writer_keyz(&w, "start");
	json_writer_str(&w, str_of(start, key.n + 1));
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	(void)base64_encode(&token, buf_str(&json), BASE64_URL_RAW);
	return arena_str(a, buf_str(&token));
}

static int invalid(struct error *err, const char *why)
{
	return error_set(err, ERR_BAD_REQUEST,
			 "invalid continue token: continue key is not valid%s", why);
}

/* Whether it is a valid key, "namespace/name" or "name", to continue a list after. */
static bool is_key(struct str key)
{
	struct str piece;
	size_t n = 0;

	while (str_split(&key, '/', &piece)) {
		if (!piece.n || str_eq(piece, STR(".")) || str_eq(piece, STR("..")))
			return false;
		n++;
	}
	return n == 1 || n == 2;
}

int request_continue_parse(struct str token, struct arena *a, int64_t *ret_revision,
			   struct str *ret_key, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(token.n + 4);
	struct json *tree;
	int64_t revision;
	struct str key;

	if (base64_decode(&text, token, BASE64_URL_RAW, NULL) < 0 ||
	    json_parse(a, arena_str(a, buf_str(&text)), NULL, &tree, NULL) < 0)
		return invalid(err, "");
	if (!str_eq(json_text_at(tree, "v"), STR("meta.k8s.io/v1")))
		return invalid(err, ": server does not recognize this encoded version");
	if (!json_i64(json_getz(tree, "rv"), &revision) || revision == 0)
		return invalid(
			err, ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
	key = json_text_at(tree, "start");
	if (!key.n)
		return invalid(err, ": encoded start key empty (version meta.k8s.io/v1)");
	if (key.p[0] == '/')
		key = str_skip(key, 1);
	if (key.n && key.p[key.n - 1] == '\0')
		key.n--;
	if (!is_key(key) || str_chr(key, '\0') >= 0)
		return invalid(err, "");
	*ret_revision = revision;
	*ret_key = key;
	return 0;
}
