/*
 * Any text as the value of Cookie fields, one per line. A found value lies in one of them, and one
 * field with all cookies gives the same result as several fields with its parts.
 */
#include "net/http/http.h"
#include "web/session/cookie.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_field fields[16] = { 0 }, joined = { .name = STR("cookie") };
	struct http_fields f = { .v = fields }, one = { .v = &joined, .n = 1 };
	struct str rest = str_of(data, size), value = STR_NULL, again = STR_NULL, line;
	enum ui_cookie found;

	while (f.n < 16 && str_split(&rest, '\n', &line))
		fields[f.n++] = (struct http_field){ .name = STR("cookie"), .value = line };
	found = ui_cookie_read(&ui_cookie_host, &f, &value);
	if (found != UI_COOKIE_NONE)
		require(value.p >= (const char *)data &&
			value.p + value.n <= (const char *)data + size);
	joined.value = str_of(data, size);
	if (f.n == 1)
		require(ui_cookie_read(&ui_cookie_host, &one, &again) == found);
	return 0;
}
