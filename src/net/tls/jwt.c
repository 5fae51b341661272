/*
 * A token is parsed from the left: nothing is decoded before the number of its parts and its size
 * are valid. The limits keep the arena's use to a small multiple of the token's size.
 */
#include "net/tls/jwt.h"

#include "base/json/writer.h"
#include "base/text/base64.h"
#include "net/net_limits.h"

#define JWT_DEPTH_MAX 16 /* nesting depth; usual tokens have 4 */

static int jwt_refuse(struct error *err, const char *what)
{
	return error_set(err, ERR_UNAUTHORIZED, "malformed token: %s", what);
}

/* Decodes a part into the arena. */
static int decode_part(struct str part, struct arena *a, struct str *ret_bytes, struct error *err)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(part.n);

	if (!part.n || base64_decode(&bytes, part, BASE64_URL_RAW, NULL) < 0)
		return jwt_refuse(err, "a part is not base64url");
	*ret_bytes = arena_str(a, buf_str(&bytes));
	return 0;
}

static int parse_part(struct str part, struct arena *a, const struct json **ret_object,
		      struct error *err)
{
	struct json_report report = { 0 };
	const struct json_options options = { .size_max = JWT_MAX,
					      .depth_max = JWT_DEPTH_MAX,
					      .report = &report };
	struct str text;
	struct json *v;
	int r;

	r = decode_part(part, a, &text, err);
	if (r < 0)
		return r;
	if (json_parse(a, text, &options, &v, NULL) < 0 || !json_is(v, JSON_OBJECT))
		return jwt_refuse(err, "a part is not a JSON object");
	if (report.duplicate_count)
		return jwt_refuse(err, "a member is repeated");
	*ret_object = v;
	return 0;
}

static int read_header(struct jwt *t, struct error *err)
{
	const struct json *kid = json_getz(t->header, "kid");

	if (!pki_alg_find(json_text_at(t->header, "alg"), &t->alg))
		return jwt_refuse(err, "the algorithm is not supported");
	if (json_getz(t->header, "crit"))
		return jwt_refuse(err, "it has critical extensions");
	if (kid && !json_is(kid, JSON_STRING))
		return jwt_refuse(err, "the key id is not text");
	t->kid = json_str(kid);
	return 0;
}

int jwt_parse(struct str token, struct arena *a, struct jwt *ret_jwt, struct error *err)
{
	struct jwt t = { 0 };
	struct str rest = token, parts[3];
	size_t n = 0;
	int r;

	if (token.n > JWT_MAX)
		return jwt_refuse(err, "it is too long");
	while (n < ARRAY_SIZE(parts) && str_split(&rest, '.', &parts[n]))
		n++;
	if (n != ARRAY_SIZE(parts) || rest.p)
		return jwt_refuse(err, "want three parts");
	t.message = str_of(token.p, parts[0].n + 1 + parts[1].n);
	r = parse_part(parts[0], a, &t.header, err);
	if (r == 0)
		r = read_header(&t, err);
	if (r == 0)
		r = parse_part(parts[1], a, &t.payload, err);
	if (r == 0)
		r = decode_part(parts[2], a, &t.signature, err);
	if (r == 0)
		*ret_jwt = t;
	return r;
}

bool jwt_verify(const struct jwt *t, const struct pki_key *key)
{
	return t->alg == pki_key_alg(key) && pki_verify(key, t->message, t->signature);
}

int jwt_print(const struct pki_key *key, struct str payload, struct buf *out, struct error *err)
{
	CLEANUP(buf_release) struct buf header = BUF_INIT(256);
	CLEANUP(buf_release) struct buf signature = BUF_INIT(PKI_SIGNATURE_MAX);
	size_t start = out->n;
	int r;

	(void)buf_printf(&header, "{\"alg\":\"%.*s\",\"kid\":\"%.*s\"}",
			 STR_ARG(pki_alg_name(pki_key_alg(key))), STR_ARG(pki_key_id(key)));
	(void)base64_encode(out, buf_str(&header), BASE64_URL_RAW);
	(void)buf_addc(out, '.');
	(void)base64_encode(out, payload, BASE64_URL_RAW);
	if (!out->overflow) {
		r = pki_sign(key, str_of(out->p + start, out->n - start), &signature, err);
		if (r < 0)
			return r;
	}
	(void)buf_addc(out, '.');
	(void)base64_encode(out, buf_str(&signature), BASE64_URL_RAW);
	if (out->overflow || out->n - start > JWT_MAX)
		return error_set(err, ERR_TOO_LARGE, "the token is larger than %lu bytes", JWT_MAX);
	return 0;
}

bool jwt_time(const struct jwt *t, const char *claim, int64_t *ret_seconds)
{
	const struct json *v = json_getz(t->payload, claim);
	double d;

	if (json_i64(v, ret_seconds))
		return true;
	/* Beyond 2^53 a double does not hold exact seconds. */
	if (!json_f64(v, &d) || !(d > -9e15 && d < 9e15))
		return false;
	*ret_seconds = (int64_t)d;
	return true;
}
