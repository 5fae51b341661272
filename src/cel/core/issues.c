/*
 * Issues are kept in the order in which they were found and sorted when they are printed:
 * there are at most CEL_ISSUES_MAX. Columns count characters and an indicator under a wide
 * character is wide, so that it stands below it.
 */
#include "cel/cel_limits.h"
#include "cel/core/issues.h"

/* Maximum length of a line in messages, in bytes, as in cel-go. */
enum { SNIPPET_MAX = 16384 };

void cel_issues_init(struct cel_issues *issues, struct arena *a, struct str text)
{
	*issues = (struct cel_issues){ .arena = a, .text = text };
}

/* Formatted in a buffer first: a message may quote much of the text. */
static struct str format(struct arena *a, const char *fmt, va_list ap)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * CEL_TEXT_MAX);

	(void)buf_vprintf(&b, fmt, ap);
	return arena_str(a, buf_str(&b));
}

void cel_issue_add(struct cel_issues *issues, size_t offset, const char *fmt, ...)
{
	struct cel_issue *issue;
	va_list ap;

	if (issues->n++ >= CEL_ISSUES_MAX)
		return;
	issue = ARENA_NEW(issues->arena, struct cel_issue);
	issue->offset = offset;
	va_start(ap, fmt);
	issue->message = format(issues->arena, fmt, ap);
	va_end(ap);
	if (issues->last)
		issues->last->next = issue;
	else
		issues->first = issue;
	issues->last = issue;
}

/* Where the line of an offset begins, and its number from 1. */
static size_t line_of(struct str text, size_t offset, size_t *ret_number)
{
	size_t start = 0, number = 1;

	for (size_t i = 0; i < MIN(offset, text.n); i++) {
		if (text.p[i] != '\n')
			continue;
		start = i + 1;
		number++;
	}
	*ret_number = number;
	return start;
}

void cel_issue_place(const struct cel_issues *issues, const struct cel_issue *issue,
		     size_t *ret_line, size_t *ret_column)
{
	size_t offset = MIN(issue->offset, issues->text.n);
	size_t start = line_of(issues->text, offset, ret_line);

	*ret_column = str_characters(str_of(issues->text.p + start, offset - start)) + 1;
}

/* The line, and below it dots up to the place and a caret. */
static void print_snippet(const struct cel_issues *issues, size_t offset, struct buf *out)
{
	size_t number, start = line_of(issues->text, offset, &number), i;
	struct str line = str_skip(issues->text, start);
	ptrdiff_t end = str_chr(line, '\n');

	if (end >= 0)
		line.n = (size_t)end;
	if (line.n > SNIPPET_MAX || issues->text.n == 0)
		return;
	(void)buf_addz(out, "\n | ");
	for (i = 0; i < line.n; i++)
		(void)buf_addc(out, (char)(line.p[i] == '\t' ? ' ' : line.p[i]));
	(void)buf_addz(out, "\n | ");
	for (i = 0; i < MIN(offset - start, line.n); i++) {
		unsigned char c = (unsigned char)line.p[i];

		if (c < 0x80)
			(void)buf_addc(out, '.');
		else if (c >= 0xc0)
			(void)buf_addz(out, "\xef\xbc\x8e");
	}
	if (i < line.n && (unsigned char)line.p[i] >= 0x80)
		(void)buf_addz(out, "\xef\xbc\xbe");
	else
		(void)buf_addc(out, '^');
}

static void print_one(const struct cel_issues *issues, const struct cel_issue *issue,
		      struct buf *out)
{
	size_t line, column;

	if (issue->offset == SIZE_MAX) {
		(void)buf_addz(out, "ERROR: <input>:-1:0: ");
		(void)buf_add_str(out, issue->message);
		return;
	}
	cel_issue_place(issues, issue, &line, &column);
	if (issues->text.n == 0) /* a line of nothing has no first column */
		column = 0;
	(void)buf_printf(out, "ERROR: <input>:%zu:%zu: ", line, column);
	(void)buf_add_str(out, issue->message);
	print_snippet(issues, MIN(issue->offset, issues->text.n), out);
}

/* By place, those of one place as they were found; those without one are first. */
static size_t sorted(const struct cel_issues *issues,
		     const struct cel_issue *ret_order[CEL_ISSUES_MAX])
{
	size_t n = 0, at;

	for (const struct cel_issue *issue = issues->first; issue; issue = issue->next) {
		for (at = n; at > 0 && ret_order[at - 1]->offset + 1 > issue->offset + 1; at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = issue;
		n++;
	}
	return n;
}

void cel_issues_print(const struct cel_issues *issues, struct buf *out)
{
	const struct cel_issue *order[CEL_ISSUES_MAX];
	size_t n = sorted(issues, order);

	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			(void)buf_addc(out, '\n');
		print_one(issues, order[i], out);
	}
	if (issues->n > n)
		(void)buf_printf(out, "\n%zu more errors were truncated", issues->n - n);
}
