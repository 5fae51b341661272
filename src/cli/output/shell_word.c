/*
 * Single quotes protect everything but themselves. Text of known harmless characters needs no
 * quotes.
 */
#include "cli/output/shell_word.h"

#include "base/core/limits.h"

#define HARMLESS                                                         \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"/._-+:@%,"

void shell_word_quote(struct buf *out, const char *text)
{
	(void)buf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			(void)buf_addz(out, "'\\''");
		else
			(void)buf_addc(out, *text);
	}
	(void)buf_addc(out, '\'');
}

const char *shell_word(struct arena *a, const char *text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	if (text[0] && text[strspn(text, HARMLESS)] == 0)
		return text;
	shell_word_quote(&out, text);
	return arena_strdup(a, buf_str(&out));
}
