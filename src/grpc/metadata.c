/*
 * Outgoing entries are encoded when they are added, so that the caller gets the error; incoming
 * ones are decoded once, when the head is complete. Several binary values may share a field,
 * separated by commas: intermediaries may join them.
 */
#include "grpc/metadata.h"

#include "base/core/clock.h"
#include "base/text/base64.h"
#include "grpc/grpc_limits.h"
#include "net/net_limits.h"

static bool is_binary(struct str key)
{
	return str_ends(key, STR("-bin"));
}

/* Names used by HTTP or by the protocol itself. */
static bool is_reserved(struct str key)
{
	static const char *const names[] = {
		"connection", "content-length", "content-type",      "date",    "host",
		"te",         "trailer",        "transfer-encoding", "upgrade", "user-agent"
	};

	/* Applications may read and send the details of a status. */
	if (str_eq(key, STR("grpc-status-details-bin")))
		return false;
	if (key.n == 0 || key.p[0] == ':' || str_starts(key, STR("grpc-")))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eqz(key, names[i]))
			return true;
	return false;
}

static bool is_key(struct str key)
{
	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		if (!(c >= 'a' && c <= 'z') && !str_is_digit(c) && c != '_' && c != '-' && c != '.')
			return false;
	}
	return key.n > 0;
}

static bool is_ascii_value(struct str value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < ' ' || value.p[i] > '~')
			return false;
	return true;
}

static int metadata_check(const struct http_fields *f, struct grpc_metadata md, struct error *err)
{
	size_t n = md.key.n + (is_binary(md.key) ? base64_encoded_size(md.value.n) : md.value.n);

	if (!is_key(md.key) || is_reserved(md.key))
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a metadata key",
				 STR_ARG(md.key));
	if (!is_binary(md.key) && !is_ascii_value(md.value))
		return error_set(err, ERR_INVALID, "the value of metadata \"%.*s\" is not ASCII",
				 STR_ARG(md.key));
	if (f->n >= GRPC_METADATA_COUNT_MAX || n > GRPC_METADATA_MAX - f->bytes)
		return error_set(err, ERR_TOO_LARGE, "too much metadata");
	return 0;
}

int grpc_metadata_add(struct http_fields *f, struct arena *a, struct grpc_metadata md,
		      struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GRPC_METADATA_MAX);
	int r;

	r = metadata_check(f, md, err);
	if (r < 0)
		return r;
	if (!is_binary(md.key))
		return http_fields_add(f, a, md.key, md.value);
	r = base64_encode(&text, md.value, BASE64_STD_RAW);
	return r < 0 ? r : http_fields_add(f, a, md.key, buf_str(&text));
}

/* --- reading ----------------------------------------------------------------------- */

static size_t count_entries(const struct http_fields *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		n++;
		for (size_t k = 0; is_binary(f->v[i].name) && k < f->v[i].value.n; k++)
			n += f->v[i].value.p[k] == ',';
	}
	return n;
}

static int metadata_decode(struct str text, struct arena *a, struct str *ret_value,
			   struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(HTTP_HEADERS_MAX);
	bool padded = text.n % 4 == 0;
	int r;

	r = base64_decode(&b, text, padded ? BASE64_STD : BASE64_STD_RAW, err);
	if (r == 0)
		*ret_value = arena_str(a, buf_str(&b));
	return r;
}

static int read_binary(const struct http_field *field, struct arena *a,
		       struct grpc_metadata_list *l, struct error *err)
{
	struct str rest = field->value, piece, value;
	struct error why;

	while (str_split(&rest, ',', &piece)) {
		if (metadata_decode(str_trim(piece), a, &value, &why) < 0)
			return error_set(err, ERR_PROTOCOL,
					 "malformed binary metadata in header \"%.*s\": %s",
					 STR_ARG(field->name), why.msg);
		l->v[l->n++] = (struct grpc_metadata){ field->name, value };
	}
	return 0;
}

int grpc_metadata_read(const struct http_fields *f, struct arena *a,
		       struct grpc_metadata_list *ret_list, struct error *err)
{
	struct grpc_metadata_list l = { 0 };
	int r;

	l.v = ARENA_ARRAY(a, struct grpc_metadata, count_entries(f));
	for (size_t i = 0; i < f->n; i++) {
		if (is_reserved(f->v[i].name))
			continue;
		if (!is_binary(f->v[i].name)) {
			l.v[l.n++] = (struct grpc_metadata){ f->v[i].name, f->v[i].value };
			continue;
		}
		r = read_binary(&f->v[i], a, &l, err);
		if (r < 0)
			return r;
	}
	*ret_list = l;
	return 0;
}

struct str grpc_metadata_get(const struct grpc_metadata_list *l, struct str key)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->v[i].key, key))
			return l->v[i].value;
	return STR_NULL;
}

/* --- time -------------------------------------------------------------------------- */

enum { TIMEOUT_DIGITS = 8 };
#define TIMEOUT_MAX 99999999 /* the largest number with eight digits */

struct unit {
	char letter;
	int64_t ns;
};

static const struct unit units[] = {
	{ 'n', 1 },         { 'u', 1000 },           { 'm', CLOCK_MS },
	{ 'S', CLOCK_SEC }, { 'M', 60 * CLOCK_SEC }, { 'H', 3600 * CLOCK_SEC },
};

int grpc_timeout_parse(struct str text, int64_t *ret_ms, struct error *err)
{
	uint64_t value;

	if (text.n < 2 || text.n > TIMEOUT_DIGITS + 1)
		return error_set(err, ERR_PROTOCOL, "timeout string is too %s: \"%.*s\"",
				 text.n < 2 ? "short" : "long", STR_ARG(text));
	if (!str_to_u64(str_of(text.p, text.n - 1), &value))
		return error_set(err, ERR_PROTOCOL, "timeout is not a number: \"%.*s\"",
				 STR_ARG(text));
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (units[i].letter != text.p[text.n - 1])
			continue;
		/* Eight digits of hours overflow nanoseconds, but not milliseconds. */
		if (units[i].ns >= CLOCK_MS)
			*ret_ms = (int64_t)value * (units[i].ns / CLOCK_MS);
		else
			*ret_ms = ((int64_t)value * units[i].ns + CLOCK_MS - 1) / CLOCK_MS;
		return 0;
	}
	return error_set(err, ERR_PROTOCOL, "timeout unit is not recognized: \"%.*s\"",
			 STR_ARG(text));
}

void grpc_timeout_format(int64_t ms, char ret_text[GRPC_TIMEOUT_TEXT])
{
	int64_t value = MAX(ms, (int64_t)0), per;
	size_t i = 2; /* ms */

	for (; i < ARRAY_SIZE(units) - 1 && value > TIMEOUT_MAX; i++) {
		per = units[i + 1].ns / units[i].ns;
		value = value / per + (value % per != 0);
	}
	(void)snprintf(ret_text, GRPC_TIMEOUT_TEXT, "%u%c", (unsigned)MIN(value, TIMEOUT_MAX),
		       units[i].letter);
}
