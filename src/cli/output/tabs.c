/*
 * Two passes over the cells: the widths of each run of lines, column by column, then the text. A
 * line with a cell in a column has one in all columns before, so runs nest, and columns can be
 * processed one after the other.
 */
#include "cli/output/tabs.h"

#include "base/core/mem.h"
#include "base/core/vec.h"

struct cell {
	struct str text;
	size_t width; /* of its column; 0 for the last of a line */
};

struct line {
	size_t first, n; /* cells, including the last one */
};

struct layout {
	VEC(struct cell) cells;
	VEC(struct line) lines;
};

/* The number of code points that a terminal shows. */
static size_t width_of(struct str text)
{
	size_t n = 0, i = 0;

	while (i < text.n) {
		unsigned char c = (unsigned char)text.p[i++];

		if (c == '\033') {
			while (i < text.n && text.p[i] != 'm')
				i++;
			i += i < text.n;
		} else {
			n += (c & 0xc0) != 0x80;
		}
	}
	return n;
}

static void tabs_cut(struct layout *l, struct str text)
{
	struct str line, cell;

	while (text.n > 0 && str_split(&text, '\n', &line)) {
		struct line at = { l->cells.n, 0 };

		if (!line.p)
			line = STR("");
		while (str_split(&line, '\t', &cell)) {
			(void)vec_push(&l->cells, (struct cell){ .text = cell });
			at.n++;
		}
		(void)vec_push(&l->lines, at);
	}
}

static bool has_column(const struct layout *l, size_t line, size_t column)
{
	return line < l->lines.n && column + 1 < l->lines.v[line].n;
}

/* Measures the run of lines from `begin` on that have this column; returns its end. */
static size_t tabs_measure(struct layout *l, size_t begin, size_t column,
			   const struct tabs_style *s, struct tabs_memory *memory)
{
	size_t width = s->min, end;

	if (memory && column < TABS_COLUMNS_MAX)
		width = MAX(width, memory->width[column]);
	for (end = begin; has_column(l, end, column); end++) {
		const struct cell *c = &l->cells.v[l->lines.v[end].first + column];

		width = MAX(width, width_of(c->text) + s->padding);
	}
	for (size_t i = begin; i < end; i++)
		l->cells.v[l->lines.v[i].first + column].width = width;
	if (memory && column < TABS_COLUMNS_MAX)
		memory->width[column] = width;
	return end;
}

static bool measure_column(struct layout *l, size_t column, const struct tabs_style *s,
			   struct tabs_memory *memory)
{
	bool any = false;

	for (size_t i = 0; i < l->lines.n; i++) {
		if (!has_column(l, i, column))
			continue;
		any = true;
		i = tabs_measure(l, i, column, s, memory);
	}
	return any;
}

static void tabs_print_line(const struct layout *l, const struct line *line, struct buf *out)
{
	for (size_t i = 0; i < line->n; i++) {
		const struct cell *c = &l->cells.v[line->first + i];
		size_t shown = width_of(c->text);

		(void)buf_add_str(out, c->text);
		for (; shown < c->width; shown++)
			(void)buf_addc(out, ' ');
	}
	(void)buf_addc(out, '\n');
}

void tabs_align_more(struct buf *out, struct str text, const struct tabs_style *style,
		     struct tabs_memory *memory)
{
	struct layout l;

	vec_init(&l.cells, SIZE_MAX / sizeof(struct cell));
	vec_init(&l.lines, SIZE_MAX / sizeof(struct line));
	tabs_cut(&l, text);
	for (size_t column = 0; measure_column(&l, column, style, memory); column++)
		;
	for (size_t i = 0; i < l.lines.n; i++)
		tabs_print_line(&l, &l.lines.v[i], out);
	vec_release(&l.cells);
	vec_release(&l.lines);
}

void tabs_align(struct buf *out, struct str text, const struct tabs_style *style)
{
	tabs_align_more(out, text, style, NULL);
}
