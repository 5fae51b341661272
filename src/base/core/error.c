/*
 * The failure table and the formatting of messages. Messages are cut at the
 * struct's size rather than allocated, so an error can be copied, logged and
 * dropped anywhere.
 */
#include "base/core/error.h"

#include <errno.h>
#include <stdarg.h>

#include "base/core/str.h"

struct error_row {
	const char *reason;
	int http;
	int grpc;
};

#define ERROR_ROW(name, reason_, http_, grpc_) \
	[ERR_##name] = { .reason = (reason_), .http = (http_), .grpc = (grpc_) },
static const struct error_row rows[ERR_COUNT] = {
	[ERR_OK] = { .reason = "", .http = 200, .grpc = 0 }, ERROR_MAP(ERROR_ROW)
};
#undef ERROR_ROW

static const struct error_row *row_of(int code)
{
	if (code < 0)
		code = -code;
	return &rows[code < ERR_COUNT ? code : ERR_INTERNAL];
}

/*
 * A message that fills the struct may have been cut inside a character. It then ends before that
 * character, since messages go into JSON.
 */
static void trim_cut(struct error *failure)
{
	size_t n = strlen(failure->msg), back = 0;

	if (n + 1 < sizeof(failure->msg))
		return;
	/* At most three bytes follow the first byte of a character. */
	while (back < 3 && (failure->msg[n - 1 - back] & 0xc0) == 0x80)
		back++;
	if (!str_is_utf8(str_of(failure->msg + n - 1 - back, back + 1)))
		failure->msg[n - 1 - back] = '\0';
}

int error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		err->sys_errno = 0;
		va_start(ap, fmt);
		(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
		trim_cut(err);
	}
	return -(int)code;
}

int error_set_errno(struct error *err, enum error_code code, int sys_errno, const char *fmt, ...)
{
	char text[128];
	size_t n;
	va_list ap;

	if (err) {
		err->code = code;
		err->sys_errno = sys_errno;
		va_start(ap, fmt);
		(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
		n = strlen(err->msg);
		(void)snprintf(err->msg + n, sizeof(err->msg) - n, ": %s",
			       strerror_r(sys_errno, text, sizeof(text)));
		trim_cut(err);
	}
	return -(int)code;
}

int error_wrap(struct error *err, int r, const char *fmt, ...)
{
	char below[sizeof(err->msg)];
	size_t n;
	va_list ap;

	if (err) {
		memcpy(below, err->msg, sizeof(below));
		va_start(ap, fmt);
		(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
		n = strlen(err->msg);
		(void)snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", below);
		trim_cut(err);
	}
	return r;
}

int error_copy(struct error *err, const struct error *from)
{
	if (err)
		*err = *from;
	return -(int)from->code;
}

int error_recode(struct error *err, enum error_code code)
{
	if (err)
		err->code = code;
	return -(int)code;
}

const char *error_reason(int code)
{
	return row_of(code)->reason;
}

int error_http_status(int code)
{
	return row_of(code)->http;
}

int error_grpc_status(int code)
{
	return row_of(code)->grpc;
}
