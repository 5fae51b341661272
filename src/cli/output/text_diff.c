/*
 * Equal lines at both ends are set aside. For the rest, a table has the length of the longest
 * common subsequence after each pair of lines, and a path through it is the edit. Objects have
 * hundreds of lines, so the product of both sizes is small.
 */
#include "cli/output/text_diff.h"

#define CELLS_MAX (4UL << 20) /* cells of the table */
#define CONTEXT   3UL /* lines around a change */

struct lines {
	struct str *v;
	size_t n;
};

/* An edit is a text with a letter for each line: ' ' unchanged, '-' removed, '+' added. */
struct edit {
	const struct text_diff *diff;
	struct lines before, after;
	struct buf *out;
	char *ops;
	size_t n;
};

static struct lines text_diff_split(struct arena *a, struct str text)
{
	struct lines l = { .v = ARENA_ARRAY(a, struct str, 1) };
	struct str rest, line;

	if (text.n == 0)
		return l;
	if (text.p[text.n - 1] == '\n')
		text.n--;
	rest = text;
	while (str_split(&rest, '\n', &line))
		l.n++;
	l.v = ARENA_ARRAY(a, struct str, l.n);
	l.n = 0;
	rest = text;
	while (str_split(&rest, '\n', &line))
		l.v[l.n++] = line;
	return l;
}

/* --- the edit -------------------------------------------------------------------------------- */

static void add_ops(struct edit *e, char op, size_t n)
{
	if (n > 0)
		memset(&e->ops[e->n], op, n);
	e->n += n;
}

/* The table's rows are lines of `x`; the last row and column are zero. */
static uint32_t *fill_table(struct arena *a, struct lines x, struct lines y)
{
	size_t width = y.n + 1;
	uint32_t *t = ARENA_ARRAY(a, uint32_t, (x.n + 1) * width);

	memset(t, 0, (x.n + 1) * width * sizeof(*t));
	for (size_t i = x.n; i-- > 0;) {
		for (size_t j = y.n; j-- > 0;)
			t[i * width + j] = str_eq(x.v[i], y.v[j]) ? t[(i + 1) * width + j + 1] + 1
								  : MAX(t[(i + 1) * width + j],
									t[i * width + j + 1]);
	}
	return t;
}

static void edit_middle(struct edit *e, struct arena *a, struct lines x, struct lines y)
{
	size_t i = 0, j = 0, width = y.n + 1;
	const uint32_t *t;

	if (x.n < CELLS_MAX && y.n < CELLS_MAX && (x.n + 1) * width <= CELLS_MAX) {
		t = fill_table(a, x, y);
		while (i < x.n && j < y.n) {
			bool same = str_eq(x.v[i], y.v[j]);
			bool goes = t[(i + 1) * width + j] >= t[i * width + j + 1];

			add_ops(e, same ? ' ' : goes ? '-' : '+', 1);
			i += same || goes;
			j += same || !goes;
		}
	}
	add_ops(e, '-', x.n - i);
	add_ops(e, '+', y.n - j);
}

static void make_edit(struct edit *e, struct arena *a)
{
	struct lines x = e->before, y = e->after;
	size_t head = 0, tail = 0;

	e->ops = arena_alloc(a, x.n + y.n + 1);
	while (head < x.n && head < y.n && str_eq(x.v[head], y.v[head]))
		head++;
	while (tail < x.n - head && tail < y.n - head &&
	       str_eq(x.v[x.n - tail - 1], y.v[y.n - tail - 1]))
		tail++;
	add_ops(e, ' ', head);
	edit_middle(e, a, (struct lines){ x.v + head, x.n - head - tail },
		    (struct lines){ y.v + head, y.n - head - tail });
	add_ops(e, ' ', tail);
}

/* --- printing -------------------------------------------------------------------------------- */

static void text_diff_print_line(const struct edit *e, const char *colour, char mark,
				 struct str text)
{
	bool coloured = e->diff->colour && *colour;

	(void)buf_printf(e->out, "%s%.1s%.*s%s\n", coloured ? colour : "", mark ? &mark : "",
			 STR_ARG(text), coloured ? "\033[0m" : "");
}

static void print_op(const struct edit *e, char op, size_t before, size_t after)
{
	if (op == '-')
		text_diff_print_line(e, "\033[31m", '-', e->before.v[before]);
	else if (op == '+')
		text_diff_print_line(e, "\033[32m", '+', e->after.v[after]);
	else
		text_diff_print_line(e, "", ' ', e->before.v[before]);
}

/* The start of a part and its number of lines; an empty part is positioned at the line before. */
static void print_range(struct buf *b, char mark, size_t from, size_t n)
{
	(void)buf_printf(b, "%c%zu", mark, n > 0 ? from + 1 : from);
	if (n != 1)
		(void)buf_printf(b, ",%zu", n);
}

/* The end of the part that begins with a change; changes with few lines between them are joined. */
static size_t hunk_end(const struct edit *e, size_t at)
{
	size_t end = at;

	for (size_t i = at; i < e->n && i - end <= 2 * CONTEXT; i++) {
		if (e->ops[i] != ' ')
			end = i + 1;
	}
	return MIN(end + CONTEXT, e->n);
}

static size_t text_diff_count(const struct edit *e, size_t from, size_t to, char not )
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += e->ops[i] != not ;
	return n;
}

static void print_hunk(const struct edit *e, size_t from, size_t to)
{
	CLEANUP(buf_release) struct buf head = BUF_INIT(256);
	size_t before = text_diff_count(e, 0, from, '+'), after = text_diff_count(e, 0, from, '-');

	(void)buf_addz(&head, "@@ ");
	print_range(&head, '-', before, text_diff_count(e, from, to, '+'));
	(void)buf_addc(&head, ' ');
	print_range(&head, '+', after, text_diff_count(e, from, to, '-'));
	(void)buf_addz(&head, " @@");
	text_diff_print_line(e, "\033[36m", '\0', buf_str(&head));
	for (size_t i = from; i < to; i++) {
		print_op(e, e->ops[i], before, after);
		before += e->ops[i] != '+';
		after += e->ops[i] != '-';
	}
}

static void text_diff_print_name(const struct edit *e, const char *mark, struct str name)
{
	const char *bold = e->diff->colour ? "\033[1m" : "",
		   *end = e->diff->colour ? "\033[0m" : "";

	(void)buf_printf(e->out, "%s%s %.*s%s\n", bold, mark, STR_ARG(name), end);
}

bool text_diff_print(struct arena *a, const struct text_diff *d, struct buf *out)
{
	struct edit e = { .diff = d, .out = out };
	size_t i = 0, end;

	if (str_eq(d->before, d->after))
		return false;
	e.before = text_diff_split(a, d->before);
	e.after = text_diff_split(a, d->after);
	make_edit(&e, a);
	text_diff_print_name(&e, "---", d->before_name);
	text_diff_print_name(&e, "+++", d->after_name);
	while (i < e.n) {
		if (e.ops[i] == ' ') {
			i++;
			continue;
		}
		end = hunk_end(&e, i);
		print_hunk(&e, i - MIN(i, CONTEXT), end);
		i = end;
	}
	return true;
}
