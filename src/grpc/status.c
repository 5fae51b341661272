/*
 * A table of codes. error.h has the mapping from our errors; the mapping back is here, because it
 * is not the inverse: several errors share a code.
 */
#include "grpc/grpc_limits.h"
#include "grpc/status.h"

struct code_row {
	const char *name;
	enum error_code error;
	bool exact; /* the error is equivalent to the code */
};

static const struct code_row rows[GRPC_CODES] = {
	[GRPC_OK] = { "OK", ERR_OK, true },
	[GRPC_CANCELLED] = { "CANCELLED", ERR_CANCELED, true },
	[GRPC_UNKNOWN] = { "UNKNOWN", ERR_INTERNAL, false },
	[GRPC_INVALID_ARGUMENT] = { "INVALID_ARGUMENT", ERR_BAD_REQUEST, true },
	[GRPC_DEADLINE_EXCEEDED] = { "DEADLINE_EXCEEDED", ERR_TIMEOUT, true },
	[GRPC_NOT_FOUND] = { "NOT_FOUND", ERR_NOT_FOUND, true },
	[GRPC_ALREADY_EXISTS] = { "ALREADY_EXISTS", ERR_ALREADY_EXISTS, true },
	[GRPC_PERMISSION_DENIED] = { "PERMISSION_DENIED", ERR_FORBIDDEN, true },
	[GRPC_RESOURCE_EXHAUSTED] = { "RESOURCE_EXHAUSTED", ERR_TOO_MANY_REQUESTS, true },
	[GRPC_FAILED_PRECONDITION] = { "FAILED_PRECONDITION", ERR_CONFLICT, false },
	[GRPC_ABORTED] = { "ABORTED", ERR_CONFLICT, true },
	/* etcd's code for a compacted revision. */
	[GRPC_OUT_OF_RANGE] = { "OUT_OF_RANGE", ERR_EXPIRED, true },
	[GRPC_UNIMPLEMENTED] = { "UNIMPLEMENTED", ERR_UNIMPLEMENTED, true },
	[GRPC_INTERNAL] = { "INTERNAL", ERR_INTERNAL, true },
	[GRPC_UNAVAILABLE] = { "UNAVAILABLE", ERR_UNAVAILABLE, true },
	[GRPC_DATA_LOSS] = { "DATA_LOSS", ERR_INTERNAL, false },
	[GRPC_UNAUTHENTICATED] = { "UNAUTHENTICATED", ERR_UNAUTHORIZED, true },
};

static const struct code_row *row_of(enum grpc_code code)
{
	return &rows[(unsigned)code < GRPC_CODES ? code : GRPC_UNKNOWN];
}

const char *grpc_code_name(enum grpc_code code)
{
	return row_of(code)->name;
}

bool grpc_code_parse(struct str text, enum grpc_code *ret_code)
{
	uint64_t number;

	if (str_to_u64(text, &number) && number < GRPC_CODES) {
		*ret_code = (enum grpc_code)number;
		return true;
	}
	for (unsigned i = 0; i < GRPC_CODES; i++) {
		if (str_ieq(text, str_from(rows[i].name))) {
			*ret_code = (enum grpc_code)i;
			return true;
		}
	}
	return false;
}

struct grpc_status grpc_status_of_error(const struct error *err)
{
	return (struct grpc_status){ (enum grpc_code)error_grpc_status((int)err->code),
				     str_from(err->msg) };
}

int grpc_status_error(const struct grpc_status *st, struct error *err)
{
	const struct code_row *row = row_of(st->code);

	if (st->code == GRPC_OK)
		return 0;
	if (st->message.n == 0)
		return error_set(err, row->error, "%s", row->name);
	if (row->exact)
		return error_set(err, row->error, "%.*s", STR_ARG(st->message));
	return error_set(err, row->error, "%s: %.*s", row->name, STR_ARG(st->message));
}

enum grpc_code grpc_code_of_http(int http_status)
{
	switch (http_status) {
	case 400:
		return GRPC_INTERNAL;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

enum grpc_code grpc_code_of_field(struct str value)
{
	uint64_t number;

	if (!str_to_u64(value, &number) || number >= GRPC_CODES)
		return GRPC_UNKNOWN;
	return (enum grpc_code)number;
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c <= '~' && c != '%';
}

/* The longest prefix of the text whose encoding keeps the limit, without splitting a character. */
static struct str cut_to_limit(struct str text)
{
	size_t i, encoded = 0;

	for (i = 0; i < text.n; i++) {
		encoded += is_plain((unsigned char)text.p[i]) ? 1 : 3;
		if (encoded > GRPC_STATUS_TEXT_MAX)
			break;
	}
	while (i < text.n && i > 0 && (text.p[i] & 0xC0) == 0x80)
		i--;
	return str_of(text.p, i);
}

void grpc_status_text_encode(struct str text, struct buf *out)
{
	static const char hex[] = "0123456789ABCDEF";

	text = cut_to_limit(text);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (is_plain(c)) {
			(void)buf_addc(out, (char)c);
		} else {
			(void)buf_addc(out, '%');
			(void)buf_addc(out, hex[c >> 4]);
			(void)buf_addc(out, hex[c & 15]);
		}
	}
}

void grpc_status_text_decode(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		int high = -1, low = -1;

		if (text.p[i] == '%' && text.n - i > 2) {
			high = str_hex_digit(text.p[i + 1]);
			low = str_hex_digit(text.p[i + 2]);
		}
		if (high < 0 || low < 0) {
			(void)buf_addc(out, text.p[i]);
			continue;
		}
		(void)buf_addc(out, (char)(high << 4 | low));
		i += 2;
	}
}
