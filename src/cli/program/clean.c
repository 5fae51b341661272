/*
 * Processes runes, because bytes of C1 controls are part of many letters in UTF-8.
 */
#include "cli/program/clean.h"

#include <string.h>

static bool is_control(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c < 0xa0);
}

void output_clean_text(struct buf *out, struct str text, const char *keep)
{
	for (size_t at = 0; at < text.n;) {
		struct str raw = str_skip(text, at);
		size_t from = at;
		uint32_t c = str_rune(text, &at);

		raw.n = at - from;
		if (c == '\033')
			(void)buf_addz(out, "^[");
		else if (is_control(c) && (c == 0 || c > ' ' || !strchr(keep, (int)c)))
			(void)buf_addc(out, ' ');
		else if (c == 0xfffd)
			(void)buf_addz(out, "\xef\xbf\xbd");
		else
			(void)buf_add_str(out, raw);
	}
}

void output_clean(struct buf *out, struct str text)
{
	size_t n = 0;

	while (n < text.n && !strchr("\n\r\f", text.p[n] ? text.p[n] : ' '))
		n++;
	output_clean_text(out, str_of(text.p, n), "");
	if (n < text.n)
		(void)buf_addz(out, "...");
}
