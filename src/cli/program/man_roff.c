/*
 * Characters that troff treats specially become names of glyphs. A dot at the beginning of a line
 * would be a request, so it gets an empty character before it.
 */
#include "cli/program/man_roff.h"

static void add_char(struct buf *out, char c)
{
	static const struct {
		char c;
		const char *roff;
	} glyphs[] = {
		{ '\\', "\\(rs" }, { '-', "\\-" },   { '\'', "\\(aq" },
		{ '`', "\\(ga" },  { '^', "\\(ha" }, { '~', "\\(ti" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(glyphs); i++) {
		if (glyphs[i].c == c) {
			(void)buf_addz(out, glyphs[i].roff);
			return;
		}
	}
	if (c == '.' && (out->n == 0 || out->p[out->n - 1] == '\n'))
		(void)buf_addz(out, "\\&");
	(void)buf_addc(out, c);
}

void man_roff_literal(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		add_char(out, s.p[i]);
}

/* A grave accent without a partner is literal. */
static void man_roff_add_line(struct buf *out, struct str line)
{
	struct str piece;
	ptrdiff_t end;

	while (line.n > 0) {
		end = line.p[0] == '`' ? str_chr(str_skip(line, 1), '`') : -1;
		if (end >= 0) {
			piece = str_of(line.p + 1, (size_t)end);
			(void)buf_addz(out, "\\fB");
			man_roff_literal(out, piece);
			(void)buf_addz(out, "\\fP");
			line = str_skip(line, (size_t)end + 2);
			continue;
		}
		add_char(out, line.p[0]);
		line = str_skip(line, 1);
	}
	(void)buf_addc(out, '\n');
}

void man_roff_prose(struct buf *out, struct str s)
{
	bool text = false, paragraph = false;
	struct str line;

	while (str_split(&s, '\n', &line)) {
		line = str_trim(line);
		if (line.n == 0) {
			paragraph = text;
			continue;
		}
		if (text)
			(void)buf_addz(out, paragraph ? ".PP\n" : ".br\n");
		man_roff_add_line(out, line);
		text = true;
		paragraph = false;
	}
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_small(char c)
{
	return c == '-' || (c >= 'a' && c <= 'z');
}

static size_t run_of(struct str s, bool (*is)(char c))
{
	size_t n = 0;

	while (n < s.n && is(s.p[n]))
		n++;
	return n;
}

void man_roff_usage(struct buf *out, struct str s)
{
	while (s.n > 0) {
		bool capital = is_capital(s.p[0]);
		size_t n = run_of(s, capital ? is_capital : is_small);

		if (n == 0) {
			add_char(out, s.p[0]);
			s = str_skip(s, 1);
			continue;
		}
		(void)buf_addz(out, capital ? "\\fI" : "\\fB");
		man_roff_literal(out, str_of(s.p, n));
		(void)buf_addz(out, "\\fP");
		s = str_skip(s, n);
	}
	(void)buf_addc(out, '\n');
}

static size_t blanks(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] == ' ')
		n++;
	return n;
}

void man_roff_lines(struct buf *out, struct str s)
{
	size_t indent = blanks(s);
	struct str line;

	while (str_split(&s, '\n', &line)) {
		if (line.n == 0 && s.n == 0)
			break;
		man_roff_literal(out, str_skip(line, MIN(indent, blanks(line))));
		(void)buf_addc(out, '\n');
	}
}
