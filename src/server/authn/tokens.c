/*
 * The token file is CSV as Go's encoding/csv reads it, as far as tokens need it: fields may be
 * quoted, a quote inside is doubled, lines that begin with '#' and empty lines are skipped. All
 * text lives in one arena.
 */
#include "server/authn/tokens.h"

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "server/core/user.h"
#include "server/server_limits.h"

#define TOKEN_FIELDS_MIN 3 /* token, user, uid */

struct token {
	struct str text;
	struct user user;
};

struct tokens {
	struct arena arena;
	struct map by_text;
};

/* Removes a field from the line; returns false if a quote is not closed. */
static bool take_field(struct str *line, struct arena *a, struct str *ret_field)
{
	char *out;
	size_t n = 0, i = 1;
	ptrdiff_t comma;

	if (!line->n || line->p[0] != '"') {
		comma = str_chr(*line, ',');
		*ret_field = comma < 0 ? *line : str_of(line->p, (size_t)comma);
		*line = comma < 0 ? STR_NULL : str_skip(*line, (size_t)comma + 1);
		return true;
	}
	out = arena_alloc(a, line->n);
	for (; i < line->n; i++) {
		if (line->p[i] == '"' && (i + 1 == line->n || line->p[i + 1] != '"'))
			break;
		if (line->p[i] == '"')
			i++;
		out[n++] = line->p[i];
	}
	if (i >= line->n || (i + 1 < line->n && line->p[i + 1] != ','))
		return false;
	*ret_field = str_of(out, n);
	*line = i + 1 < line->n ? str_skip(*line, i + 2) : STR_NULL;
	return true;
}

/* "a,b" becomes a, b and system:authenticated. */
static void set_groups(struct user *u, struct arena *a, struct str list)
{
	struct str *groups = ARENA_ARRAY(a, struct str, list.n + 2);
	struct str group;
	size_t n = 0;

	while (list.n && str_split(&list, ',', &group)) {
		group = str_trim(group);
		if (group.n)
			groups[n++] = group;
	}
	groups[n++] = STR("system:authenticated");
	u->groups = groups;
	u->ngroups = n;
}

static int tokens_add_line(struct tokens *t, struct str line, size_t number, struct error *err)
{
	struct str fields[TOKEN_FIELDS_MIN + 1] = { 0 };
	struct token *token;
	size_t n = 0;

	while (n < ARRAY_SIZE(fields) && line.p) {
		if (!take_field(&line, &t->arena, &fields[n++]))
			return error_set(err, ERR_INVALID, "line %zu: a quote is not closed",
					 number);
	}
	if (n < TOKEN_FIELDS_MIN)
		return error_set(
			err, ERR_INVALID,
			"line %zu: want token,user,uid[,\"group,group\"], found %zu fields", number,
			n);
	if (!fields[0].n || !fields[1].n)
		return error_set(err, ERR_INVALID, "line %zu: token and user may not be empty",
				 number);
	token = ARENA_NEW(&t->arena, struct token);
	token->text = fields[0];
	token->user = (struct user){ .name = fields[1], .uid = fields[2], .authenticated = true };
	set_groups(&token->user, &t->arena, fields[3]);
	(void)map_put(&t->by_text, token->text, token);
	return 0;
}

int tokens_parse(struct str text, struct tokens **ret_tokens, struct error *err)
{
	CLEANUP(tokens_free) struct tokens *t = xcalloc(1, sizeof(*t));
	struct str line;
	int r;

	arena_init(&t->arena, SIZE_MAX);
	map_init(&t->by_text);
	text = arena_str(&t->arena, text);
	for (size_t number = 1; str_split(&text, '\n', &line); number++) {
		line = str_trim(line);
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (!line.n || line.p[0] == '#')
			continue;
		r = tokens_add_line(t, line, number, err);
		if (r < 0)
			return r;
	}
	*ret_tokens = TAKE(t);
	return 0;
}

int tokens_load(const char *path, struct tokens **ret_tokens, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(TOKEN_FILE_MAX);
	int r;

	r = file_read(path, &text, err);
	if (r == 0)
		r = tokens_parse(buf_str(&text), ret_tokens, err);
	return r < 0 ? error_wrap(err, r, "token file %s", path) : 0;
}

void tokens_free(struct tokens *t)
{
	if (!t)
		return;
	map_release(&t->by_text);
	arena_release(&t->arena);
	free(t);
}

/* The map's hash has a secret key, so timing does not show where two tokens differ. */
const struct user *tokens_find(const struct tokens *t, struct str token)
{
	const struct token *found = map_get(&t->by_text, token);

	return found ? &found->user : NULL;
}
