/* Fields, status texts and dates, shared by both protocols and their users. */
#include "net/http/http.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "net/net_limits.h"

enum { FIELDS_FIRST = 8 };

struct str http_fields_get(const struct http_fields *f, struct str name)
{
	for (size_t i = 0; i < f->n; i++)
		if (str_eq(f->v[i].name, name))
			return f->v[i].value;
	return STR_NULL;
}

bool http_fields_has_token(const struct http_fields *f, struct str name, struct str token)
{
	struct str rest, piece;

	for (size_t i = 0; i < f->n; i++) {
		if (!str_eq(f->v[i].name, name))
			continue;
		rest = f->v[i].value;
		while (str_split(&rest, ',', &piece))
			if (str_ieq(str_trim(piece), token))
				return true;
	}
	return false;
}

bool http_fields_is_of_hop(const struct http_fields *f, struct str name)
{
	static const char *const names[] = { "connection",
					     "keep-alive",
					     "proxy-authenticate",
					     "proxy-authorization",
					     "proxy-connection",
					     "te",
					     "trailer",
					     "transfer-encoding",
					     "upgrade" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eqz(name, names[i]))
			return true;
	return http_fields_has_token(f, STR("connection"), name);
}

/* Room for one more; NULL beyond the limits. */
static struct http_field *next_field(struct http_fields *f, struct arena *a, size_t bytes)
{
	struct http_field *v;

	if (f->n >= HTTP_HEADER_COUNT_MAX || bytes > HTTP_HEADERS_MAX - f->bytes)
		return NULL;
	if (f->n == f->cap) {
		f->cap = f->cap ? f->cap * 2 : FIELDS_FIRST;
		v = arena_alloc(a, f->cap * sizeof(*v));
		if (f->n)
			memcpy(v, f->v, f->n * sizeof(*v));
		f->v = v;
	}
	f->bytes += bytes;
	return &f->v[f->n++];
}

int http_fields_add_field(struct http_fields *f, struct arena *a, const struct http_field *field)
{
	struct str name = field->name, value = field->value;
	struct http_field *to = next_field(f, a, name.n + value.n);
	char *text;

	if (!to)
		return -ERR_HEADERS_TOO_LARGE;
	*to = *field;
	if (field->lasting)
		return 0;
	text = arena_alloc(a, name.n + value.n + 1);
	str_put(text, name);
	str_put(text + name.n, value);
	text[name.n + value.n] = '\0';
	to->name.p = text;
	to->value.p = text + name.n;
	return 0;
}

int http_fields_add(struct http_fields *f, struct arena *a, struct str name, struct str value)
{
	return http_fields_add_field(f, a, &(struct http_field){ .name = name, .value = value });
}

const char *http_status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{ 100, "Continue" },
		{ 101, "Switching Protocols" },
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 411, "Length Required" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 499, "Client Closed Request" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "";
}

void http_date(char ret_text[HTTP_DATE_LEN + 1], int64_t wall_ns)
{
	static const char days[] = "ThuFriSatSunMonTueWed"; /* 1970 began on a Thursday */
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t day = wall_ns / CLOCK_SEC / 86400;
	char iso[TIMESTAMP_SIZE];
	unsigned month;

	(void)timestamp_print(wall_ns, TIMESTAMP_SECONDS, iso);
	month = (unsigned)(iso[5] - '0') * 10 + (unsigned)(iso[6] - '0') - 1;
	(void)snprintf(ret_text, HTTP_DATE_LEN + 1, "%.3s, %.2s %.3s %.4s %.8s GMT",
		       days + day % 7 * 3, iso + 8, months + month % 12 * 3, iso, iso + 11);
}
