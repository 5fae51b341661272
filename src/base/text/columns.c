/*
 * Greedy wrapping. Rows and paragraphs work the same way: words are laid into lines that begin at
 * some column; only the text before the first line differs. The caller checks the limit of the
 * output buffer.
 */
#include "base/text/columns.h"

size_t columns_count(struct str s)
{
	return str_is_utf8(s) ? str_characters(s) : s.n;
}

static void add_spaces(struct buf *out, size_t n)
{
	while (n-- > 0)
		(void)buf_addc(out, ' ');
}

/*
 * Lays one source line into the space from column `from` to `width`. The first
 * output line is already filled up to `from`; the last is left open.
 */
static void columns_add_line(struct buf *out, size_t from, size_t width, struct str line)
{
	size_t at = from, n;
	struct str word;

	while (str_split(&line, ' ', &word)) {
		n = columns_count(word);
		if (n == 0)
			continue;
		if (at > from && at + 1 + n > width) {
			(void)buf_addc(out, '\n');
			add_spaces(out, from);
			at = from;
		}
		if (at > from) {
			(void)buf_addc(out, ' ');
			at++;
		}
		(void)buf_add_str(out, word);
		at += n;
	}
	(void)buf_addc(out, '\n');
}

size_t columns_left(size_t indent, size_t longest, size_t width)
{
	size_t half = width / 2;
	size_t used = indent + COLUMNS_GAP;

	return half > used ? MIN(longest, half - used) : longest;
}

void columns_row(struct buf *out, const struct columns *c, struct str left, struct str right)
{
	size_t from = c->indent + c->left + COLUMNS_GAP;
	size_t n = columns_count(left);
	struct str line;

	add_spaces(out, c->indent);
	(void)buf_add_str(out, left);
	if (right.n == 0) {
		(void)buf_addc(out, '\n');
		return;
	}
	if (n > c->left) {
		(void)buf_addc(out, '\n');
		add_spaces(out, from);
	} else {
		add_spaces(out, c->left - n + COLUMNS_GAP);
	}
	for (bool first = true; str_split(&right, '\n', &line); first = false) {
		if (!first)
			add_spaces(out, from);
		columns_add_line(out, from, c->width, line);
	}
}

void columns_paragraph(struct buf *out, size_t indent, size_t width, struct str text)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (line.n > 0)
			add_spaces(out, indent);
		columns_add_line(out, indent, width, line);
	}
}
