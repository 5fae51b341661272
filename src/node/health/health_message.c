/*
 * Almost all messages are clean already, and are only checked. For the others only as many bytes
 * are read as can end up in the result: a character shrinks from two bytes to one at most.
 */
#include "node/health/health_message.h"

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/text/print.h"

enum {
	INPUT_MAX = 3 * RESOURCE_HEALTH_MESSAGE_MAX,
	WORK_MAX = 3 * INPUT_MAX, /* an invalid byte becomes three */
};

/* Unicode's category Cc. */
static bool is_control(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7f && rune <= 0x9f);
}

/* `s` is UTF-8. */
static bool has_controls(struct str s)
{
	for (size_t at = 0; at < s.n;)
		if (is_control(str_rune(s, &at)))
			return true;
	return false;
}

/* `b` is UTF-8, and stays so. */
static void blank_controls(struct buf *b)
{
	size_t to = 0;

	for (size_t at = 0, from = 0; at < b->n; from = at) {
		if (is_control(str_rune(buf_str(b), &at))) {
			if (to > 0) /* at the front they would be trimmed */
				b->p[to++] = ' ';
			continue;
		}
		memmove(b->p + to, b->p + from, at - from);
		to += at - from;
	}
	b->n = to;
}

static void health_message_cut(struct buf *b)
{
	struct str dots = STR("...");

	if (b->n <= RESOURCE_HEALTH_MESSAGE_MAX)
		return;
	b->n = RESOURCE_HEALTH_MESSAGE_MAX - dots.n;
	while (b->n > 0 && ((unsigned char)b->p[b->n] & 0xc0) == 0x80)
		b->n--;
	(void)buf_add_str(b, dots);
}

struct str health_message_clean(struct str message, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(WORK_MAX);
	struct str s = str_trim_space(message);

	if (s.n <= RESOURCE_HEALTH_MESSAGE_MAX && str_is_utf8(s) && !has_controls(s))
		return s;
	(void)print_utf8(&b, str_of(s.p, MIN(s.n, (size_t)INPUT_MAX)));
	blank_controls(&b);
	health_message_cut(&b);
	return arena_str(a, str_trim_space(buf_str(&b)));
}
