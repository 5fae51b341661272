/*
 * $(NAME) in texts, with upstream's rules: "$$" is a literal "$"; "$(" without its end and "$"
 * before any other character stand for themselves. Values are inserted as they are, never expanded
 * again.
 */
#include "node/node_limits.h"
#include "node/sources/env_impl.h"

/* The token at text[at] == '$': its length, and either text or a name to look up. */
struct piece {
	size_t taken;
	struct str text, name;
	bool is_name;
};

static struct piece read_piece(struct str rest)
{
	ptrdiff_t end;

	if (rest.p[1] == '$')
		return (struct piece){ .taken = 2, .text = str_of(rest.p, 1) };
	if (rest.p[1] != '(')
		return (struct piece){ .taken = 2, .text = str_of(rest.p, 2) };
	end = str_chr(rest, ')');
	if (end < 0)
		return (struct piece){ .taken = 2, .text = str_of(rest.p, 2) };
	return (struct piece){ .taken = (size_t)end + 1,
			       .text = str_of(rest.p, (size_t)end + 1),
			       .name = str_of(rest.p + 2, (size_t)end - 2),
			       .is_name = true };
}

static void add_piece(struct buf *out, const struct piece *p, env_lookup *lookup, void *arg)
{
	struct str value = p->text;

	if (p->is_name && !lookup(arg, p->name, &value))
		value = p->text;
	(void)buf_add_str(out, value);
}

int env_replace(struct str text, env_lookup *lookup, void *arg, struct arena *a,
		struct str *ret_text, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(ENV_VALUE_MAX);
	struct str rest = text;
	ptrdiff_t at;

	if (str_chr(text, '$') < 0) {
		*ret_text = text;
		return 0;
	}
	while ((at = str_chr(rest, '$')) >= 0 && (size_t)at + 1 < rest.n && !out.overflow) {
		struct piece p = read_piece(str_skip(rest, (size_t)at));

		(void)buf_add(&out, rest.p, (size_t)at);
		add_piece(&out, &p, lookup, arg);
		rest = str_skip(rest, (size_t)at + p.taken);
	}
	(void)buf_add_str(&out, rest);
	if (out.overflow)
		return error_set(err, ERR_TOO_LARGE,
				 "a text with variables is longer than %lu bytes", ENV_VALUE_MAX);
	*ret_text = arena_str(a, buf_str(&out));
	return 0;
}

static bool find_pair(void *arg, struct str name, struct str *ret_value)
{
	const struct runtime_pairs *env = arg;

	for (size_t i = 0; i < env->n; i++) {
		if (!str_eq(env->v[i].key, name))
			continue;
		*ret_value = env->v[i].value;
		return true;
	}
	return false;
}

struct str env_expand(struct str text, const struct runtime_pairs *env, struct arena *a)
{
	struct str out = text;

	(void)env_replace(text, find_pair, (void *)(uintptr_t)env, a, &out, NULL);
	return out;
}

/* Expansion that records missing names. */
struct strict {
	const struct runtime_pairs *env;
	struct buf missing;
};

static bool find_strictly(void *arg, struct str name, struct str *ret_value)
{
	struct strict *s = arg;
	struct str value = STR_NULL;

	if (find_pair((void *)(uintptr_t)s->env, name, &value) && value.n > 0) {
		*ret_value = value;
		return true;
	}
	if (s->missing.n > 0)
		(void)buf_addz(&s->missing, ", ");
	(void)buf_add_str(&s->missing, name);
	return false;
}

int env_expand_all(struct str text, const struct runtime_pairs *env, struct arena *a,
		   struct str *ret_text, struct error *err)
{
	struct strict s = { .env = env, .missing = BUF_INIT(ENV_VALUE_MAX) };
	struct str out;
	int r;

	r = env_replace(text, find_strictly, &s, a, &out, err);
	if (r == 0 && s.missing.n > 0)
		r = error_set(err, ERR_INVALID, "missing value for %s", s.missing.p);
	buf_release(&s.missing);
	if (r == 0)
		*ret_text = out;
	return r;
}
