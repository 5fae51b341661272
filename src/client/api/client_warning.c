/*
 * Warnings of a server: a header has a list of `299 - "text" ["date"]`. As in client-go, only
 * those with code 299 are shown to users, and a malformed entry ends the list of its header.
 */
#include "client/api/client_impl.h"

#define CODE_SIZE 3 /* digits */

static void skip_spaces(struct str *rest)
{
	while (rest->n > 0 && (rest->p[0] == ' ' || rest->p[0] == '\t'))
		*rest = str_skip(*rest, 1);
}

/*
 * Reads a quoted string and removes its quotes and escapes. Returns false if it does not start
 * here.
 */
static bool read_quoted(struct arena *a, struct str *rest, struct str *ret_text)
{
	size_t end = 1, n = 0;
	char *out;

	if (rest->n == 0 || rest->p[0] != '"')
		return false;
	while (end < rest->n && rest->p[end] != '"')
		end += rest->p[end] == '\\' ? 2 : 1;
	if (end >= rest->n)
		return false;
	out = arena_alloc(a, end);
	for (size_t i = 1; i < end; i++) {
		i += rest->p[i] == '\\';
		out[n++] = rest->p[i];
	}
	*rest = str_skip(*rest, end + 1);
	*ret_text = str_of(out, n);
	return true;
}

/* Reads one warning, and the comma after it. */
static bool read_warning(struct arena *a, struct str *rest, struct str *ret_code,
			 struct str *ret_text)
{
	struct str agent, date;

	skip_spaces(rest);
	if (!str_split(rest, ' ', ret_code) || ret_code->n != CODE_SIZE ||
	    !str_split(rest, ' ', &agent) || agent.n == 0 || !read_quoted(a, rest, ret_text))
		return false;
	skip_spaces(rest);
	if (read_quoted(a, rest, &date))
		skip_spaces(rest);
	if (rest->n == 0)
		return true;
	if (rest->p[0] != ',')
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

/* The array grows whenever the count reaches a power of two. */
static void client_warning_push(struct client_answer *answer, struct arena *a, struct str text)
{
	size_t n = answer->nwarnings;
	struct str *v = (struct str *)answer->warnings;

	if ((n & (n - 1)) == 0) {
		v = ARENA_ARRAY(a, struct str, n ? n * 2 : 1);
		if (n)
			memcpy(v, answer->warnings, n * sizeof(*v));
		answer->warnings = v;
	}
	v[answer->nwarnings++] = text;
}

void client_warning_read(struct client_answer *answer, struct arena *a, struct str field)
{
	struct str rest = field, code, text;

	while (rest.n > 0 && read_warning(a, &rest, &code, &text)) {
		if (str_eqz(code, "299") && text.n > 0)
			client_warning_push(answer, a, text);
	}
}
